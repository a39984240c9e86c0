//! A board on a server: opening it, and one request.

use crate::address::Address;
use crate::reply::{Asked, Read, Reply, Verdict, refusal};
use crate::script::{Program, Scripts};
use crate::server::{Request, Server};
use crate::watch::bell_of;
use ostler_board::{Bell, BoardError, BoardOverview, Limits, SharedBoard};
use ostler_core::time::Clock;
use std::sync::Arc;
use std::time::Duration;

const FORMAT: i64 = 1;

/// What a board is opened with.
#[derive(Clone)]
pub struct RedisSetup {
    pub limits: Limits,
    /// Different for each handle, on all machines: a random name.
    pub client: String,
    /// How long a server that goes away in the middle is waited for.
    pub patience: Duration,
    /// None: the server's. Only tests have another time.
    pub clock: Option<Arc<dyn Clock>>,
    pub scripts: Scripts,
}

impl RedisSetup {
    pub fn new(client: impl Into<String>) -> Self {
        RedisSetup {
            limits: Limits::default(),
            client: client.into(),
            patience: Duration::from_secs(30),
            clock: None,
            scripts: Scripts::default(),
        }
    }
}

/// An open board with its mailboxes. Not shared between threads: each opens its own.
pub struct RedisBoard {
    server: Server,
    pub(crate) setup: RedisSetup,
    key: String,
    epoch: String,
    requests: u64,
}

impl RedisBoard {
    /// Opens the board, or makes it.
    ///
    /// # Errors
    /// If the server cannot be reached or used, or the board is of a newer version. Nobody waits for a server that is not
    /// there at the beginning.
    pub fn open(address: &Address, setup: RedisSetup) -> Result<Self, BoardError> {
        let mut server = Server::new(address.clone(), setup.patience);
        let key = address.key();
        let request = Request {
            program: &setup.scripts.open,
            key: &key,
            head: Vec::new(),
            tail: vec![setup.client.clone(), FORMAT.to_string()],
        };
        let value = server.perform(&request, true)?;
        let read = Reply::of(value).and_then(|mut reply| Ok((reply.text()?, reply.number()?)));
        let (epoch, format) = read.map_err(|_| foreign(address))?;
        match i64::try_from(format) {
            Ok(FORMAT) => Ok(RedisBoard { server, setup, key, epoch, requests: 0 }),
            _ => Err(too_new(address, format)),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        self.server.address()
    }

    /// What the server says of itself. Empty if this user may not ask.
    pub(crate) fn info(&mut self) -> String {
        self.server.ask_about("INFO", &[]).unwrap_or_default()
    }

    /// A setting of the server, if this user may ask for it.
    pub(crate) fn setting(&mut self, name: &str) -> Option<String> {
        let found: Vec<String> = self.server.ask_about("CONFIG", &["GET", name])?;
        found.into_iter().nth(1)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.setup.limits
    }

    pub(crate) fn tasks(&mut self, words: Vec<String>, asked: Asked) -> Result<Reply, BoardError> {
        let program = self.setup.scripts.tasks.clone();
        self.request(&program, words, asked)
    }

    pub(crate) fn mail(&mut self, words: Vec<String>) -> Result<Reply, BoardError> {
        let program = self.setup.scripts.mail.clone();
        self.request(&program, words, Asked::default())
    }

    fn request(
        &mut self,
        program: &Program,
        words: Vec<String>,
        asked: Asked,
    ) -> Result<Reply, BoardError> {
        self.requests += 1;
        let now = self.setup.clock.as_ref().map(|clock| clock.now().0.to_string());
        let Limits { losses, history, tasks, unread, archive, deliveries, .. } = self.limits();
        let numbers = [
            u64::from(*losses),
            u64::from(*history),
            *tasks,
            *unread,
            *archive,
            u64::from(*deliveries),
        ];
        let number = self.requests.to_string();
        let head =
            vec![self.epoch.clone(), now.unwrap_or_default(), self.setup.client.clone(), number];
        let tail = numbers.iter().map(ToString::to_string).chain(words).collect();
        let request = Request { program, key: &self.key, head, tail };
        let value = self.server.perform(&request, false)?;
        match self.readable(Reply::verdict(value))? {
            Verdict::Done(reply) => Ok(reply),
            Verdict::Refused { reason, mut details } => {
                Err(self.readable(refusal(&reason, &mut details, asked))?.into())
            }
            Verdict::Gone => Err(self.lost()),
        }
    }

    pub(crate) fn readable<T>(&self, read: Read<T>) -> Result<T, BoardError> {
        read.map_err(|_| foreign(self.server.address()))
    }

    fn lost(&self) -> BoardError {
        BoardError::Server {
            address: self.server.address().to_string(),
            why: "the server has lost this board since it was opened".to_owned(),
            hint: "Restore its data, or start again with an empty board; docs/tasks.md says how to make Redis durable",
        }
    }
}

impl SharedBoard for RedisBoard {
    fn bell(&self) -> Arc<Bell> {
        bell_of(self.server.address(), &self.key)
    }

    fn overview(&mut self) -> Result<BoardOverview, BoardError> {
        self.look_over()
    }
}

fn foreign(address: &Address) -> BoardError {
    BoardError::Server {
        address: address.to_string(),
        why: "its data was damaged or written by another program".to_owned(),
        hint: "Choose another board with ?board=NAME",
    }
}

fn too_new(address: &Address, format: u64) -> BoardError {
    BoardError::Server {
        address: address.to_string(),
        why: format!("a newer version of Ostler wrote it (format {format})"),
        hint: "Update Ostler, or choose another board with ?board=NAME",
    }
}
