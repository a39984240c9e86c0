//! Boards on a server, as the suite uses them.

use crate::place::{Place, Witness};
use crate::redis_server::{RedisServer, shared};
use ostler_board::Limits;
use ostler_board_redis::{Address, RedisBoard, RedisSetup, Scripts};
use ostler_core::time::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name that nobody else has.
pub fn fresh_name(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{what}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub fn setup() -> RedisSetup {
    RedisSetup::new(fresh_name("client"))
}

pub fn open(url: &str, board: &str) -> RedisBoard {
    RedisBoard::open(&Address::parse(url, board).unwrap(), setup()).unwrap()
}

impl RedisServer {
    pub fn connection(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }
}

/// An empty board on this server.
pub fn on(server: Arc<RedisServer>, scripts: Scripts) -> Place {
    let name = fresh_name("board");
    let address = Address::parse(&server.url(), &name).unwrap();
    let (heard, channel) = (server.clone(), format!("ostler:{{{name}}}:bell"));
    let witness: Witness = Box::new(move |act| rings(&heard, &channel, act));
    Place::of(witness, move |clock| {
        Box::new(move |limits: Limits| {
            // The server lives as long as its boards.
            let _ = &server;
            let clock: Arc<dyn Clock> = clock.clone();
            let setup =
                RedisSetup { limits, clock: Some(clock), scripts: scripts.clone(), ..setup() };
            Box::new(RedisBoard::open(&address, setup).unwrap())
        })
    })
}

/// The server delivers messages in the order in which they are published, so ours is the last one. In a cluster, that is
/// true of the node that has the board.
fn rings(server: &RedisServer, channel: &str, act: &mut dyn FnMut()) -> bool {
    const LAST: &str = "last";
    let (mut connection, mut publisher) = (owner(server, channel), owner(server, channel));
    let mut messages = connection.as_pubsub();
    messages.subscribe(channel).unwrap();
    act();
    redis::cmd("PUBLISH").arg(channel).arg(LAST).exec(&mut publisher).unwrap();
    let mut next = || messages.get_message().unwrap().get_payload::<String>().unwrap();
    std::iter::from_fn(|| Some(next()).filter(|text| text != LAST)).count() > 0
}

/// The node that has this key; a server that is no cluster has them all.
fn owner(server: &RedisServer, key: &str) -> redis::Connection {
    let mut connection = server.connection();
    let found = redis::cmd("EXISTS").arg(key).exec(&mut connection);
    match found.as_ref().err().map(|error| error.redirect_node()) {
        None => connection,
        Some(node) => {
            let (address, _) = node.unwrap_or_else(|| panic!("{found:?}"));
            redis::Client::open(format!("redis://{address}/")).unwrap().get_connection().unwrap()
        }
    }
}

pub fn redis() -> Option<Place> {
    shared().map(|server| on(server, Scripts::default()))
}
