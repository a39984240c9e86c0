//! The connection to the server: it is made when it is needed, and made again when it breaks.

use crate::address::Address;
use crate::failure::{Remedy, explain, remedy};
use crate::script::Program;
use ostler_board::BoardError;
use redis::{
    Connection, ConnectionInfo, FromRedisValue, RedisConnectionInfo, RedisError, Value, cmd,
};
use std::time::{Duration, Instant};

/// How long a connection and one answer may take. Longer than any script of ours runs.
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A board moves once at a time; more and the nodes disagree.
const MOST_MOVES: u32 = 8;

pub(crate) struct Server {
    address: Address,
    connection: Option<Connection>,
    /// Which run of the server the connection leads to; empty if this user may not know.
    run: String,
    /// The node of the cluster that has the board, if it is not the one of the address.
    node: Option<ConnectionInfo>,
    /// How long a server that was there may be away.
    patience: Duration,
}

/// What is sent: the same each time, except that the server is told when it may have seen it before.
pub(crate) struct Request<'a> {
    pub(crate) program: &'a Program,
    pub(crate) key: &'a str,
    /// The words before the mark of a repetition and after the run of the server. Without words before it, there is no mark.
    pub(crate) head: Vec<String>,
    pub(crate) tail: Vec<String>,
}

impl Server {
    pub(crate) fn new(address: Address, patience: Duration) -> Self {
        Server { address, connection: None, run: String::new(), node: None, patience }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Performs a request, once in effect, however often it has to be sent. `patience` is how long an absent server is
    /// waited for.
    pub(crate) fn perform(
        &mut self,
        request: &Request<'_>,
        is_opening: bool,
    ) -> Result<Value, BoardError> {
        let begin = Instant::now();
        let (mut pause, mut moves, mut is_repeated) = (FIRST_PAUSE, 0, false);
        loop {
            let was_connected = self.connection.is_some();
            let error = match self.send(request, is_repeated) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let remedy = remedy(&error);
            // Nobody waits for a server that was never there.
            let is_hopeless = is_opening && remedy == Remedy::Reconnect;
            match remedy {
                Remedy::GiveUp => return Err(self.failed(&error)),
                _ if is_hopeless => return Err(self.failed(&error)),
                Remedy::LoadScript if moves < MOST_MOVES => {
                    moves += 1;
                    if let Err(error) = self.load(request.program) {
                        self.connection = None;
                        return Err(self.failed(&error));
                    }
                    continue;
                }
                Remedy::Move { host, port } if moves < MOST_MOVES => {
                    moves += 1;
                    self.go_to(&host, port);
                    continue;
                }
                Remedy::Ask { host, port } if moves < MOST_MOVES => {
                    moves += 1;
                    if let Ok(value) = self.ask(&host, port, request, is_repeated) {
                        return Ok(value);
                    }
                }
                Remedy::Reconnect => {
                    is_repeated = true;
                    (self.connection, self.node) = (None, None);
                    // A connection that broke says little of the server.
                    if was_connected {
                        continue;
                    }
                }
                Remedy::Wait => {}
                _ => return Err(self.failed(&error)),
            }
            if begin.elapsed() + pause > self.patience {
                return Err(self.failed(&error));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn send(&mut self, request: &Request<'_>, is_repeated: bool) -> Result<Value, RedisError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut new = connect(self.node.as_ref().unwrap_or(&self.address.info))?;
                self.run = run_of(&mut new);
                new
            }
        };
        let answer = run(&mut connection, &self.run, request, is_repeated);
        // What arrives later on a connection that was given up would answer the wrong request.
        let is_whole = answer.as_ref().map_or_else(|error| !error.is_io_error(), |_| true);
        self.connection = Some(connection).filter(|_| is_whole);
        answer
    }

    /// A question whose answer nobody depends on: it is asked once, on the connection that is there.
    pub(crate) fn ask_about<T: FromRedisValue>(&mut self, name: &str, words: &[&str]) -> Option<T> {
        let mut connection = self.connection.take()?;
        let answer = cmd(name).arg(words).query::<T>(&mut connection);
        let is_whole = answer.as_ref().map_or_else(|error| !error.is_io_error(), |_| true);
        self.connection = Some(connection).filter(|_| is_whole);
        answer.ok()
    }

    fn load(&mut self, program: &Program) -> Result<(), RedisError> {
        match &mut self.connection {
            Some(connection) => {
                cmd("SCRIPT").arg("LOAD").arg(&program.code).query::<String>(connection).map(drop)
            }
            None => Ok(()),
        }
    }

    fn go_to(&mut self, host: &str, port: u16) {
        // A node that does not know its own name means the one that was asked.
        let host = if host.is_empty() { self.address.host_and_port().0 } else { host }.to_owned();
        (self.connection, self.node) = (None, Some(self.address.at_node(&host, port)));
    }

    /// Once, at another node: the board is not there yet as a whole.
    fn ask(
        &self,
        host: &str,
        port: u16,
        request: &Request<'_>,
        is_repeated: bool,
    ) -> Result<Value, RedisError> {
        let mut connection = connect(&self.address.at_node(host, port))?;
        cmd("SCRIPT").arg("LOAD").arg(&request.program.code).query::<String>(&mut connection)?;
        let place = run_of(&mut connection);
        cmd("ASKING").query::<()>(&mut connection)?;
        run(&mut connection, &place, request, is_repeated)
    }

    fn failed(&self, error: &RedisError) -> BoardError {
        let (why, hint) = explain(error, ANSWER);
        BoardError::Server { address: self.address.to_string(), why, hint }
    }
}

/// A server that was started again, or that took the place of another one, has another name.
fn run_of(connection: &mut Connection) -> String {
    let told = cmd("INFO").arg("server").query::<String>(connection).unwrap_or_default();
    let run = told.lines().find_map(|line| line.strip_prefix("run_id:"));
    run.map(|run| run.trim().to_owned()).unwrap_or_default()
}

fn run(
    connection: &mut Connection,
    place: &str,
    request: &Request<'_>,
    is_repeated: bool,
) -> Result<Value, RedisError> {
    let mut command = cmd("EVALSHA");
    command.arg(&request.program.hash).arg(1).arg(request.key).arg(&request.head);
    if !request.head.is_empty() {
        command.arg(u8::from(is_repeated));
    }
    command.arg(place).arg(&request.tail).query(connection)
}

pub(crate) fn connect(info: &ConnectionInfo) -> Result<Connection, RedisError> {
    // Logging in happens here, because the client would hide why the server refuses it.
    let settings = info.redis_settings();
    let plain = RedisConnectionInfo::default().set_skip_set_lib_name();
    let client = redis::Client::open(info.clone().set_redis_settings(plain))?;
    let mut connection = client.get_connection_with_timeout(CONNECT)?;
    connection.set_read_timeout(Some(ANSWER))?;
    connection.set_write_timeout(Some(ANSWER))?;
    if let Some(password) = settings.password() {
        let mut login = cmd("AUTH");
        if let Some(user) = settings.username() {
            login.arg(user);
        }
        login.arg(password).exec(&mut connection)?;
    }
    if settings.db() != 0 {
        cmd("SELECT").arg(settings.db()).exec(&mut connection)?;
    }
    Ok(connection)
}
