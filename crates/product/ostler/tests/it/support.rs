//! A project, a home and a model server; and what is asked of a turn.

use futures_util::StreamExt;
use ostler::{
    Driver, Error, Event, Finished, Host, Input, InstructionPlaces, Mode, Observed, Options, Reply,
    Session, SessionChoice, SessionObserver,
};
use ostler_model_server::{ModelServer, Recorded, Script};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than anything takes that does not hang.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct World {
    folder: tempfile::TempDir,
    pub server: ModelServer,
}

impl World {
    pub fn new(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        World { folder, server: ModelServer::start(script).unwrap() }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// In memory, with everything allowed.
    pub fn options(&self) -> Options {
        let mut options = Options::new(self.project(), ostler::api_key("a test", "test-key"));
        options.host.base_url = Some(self.server.url());
        options.session.model = "scripted".into();
        options.session.mode = Mode::BypassPermissions;
        options.session.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        options.session.settings.retries = 0;
        options
    }

    pub fn on_disk(&self) -> Options {
        let mut options = self.options();
        options.host.home = Some(self.root().join("home"));
        options
    }

    /// Instruction files of the project, and nobody else's.
    pub fn instructions(&self) -> InstructionPlaces {
        let project = self.project().canonicalize().unwrap();
        InstructionPlaces {
            trusted: false,
            cwd: project.clone(),
            project,
            home: self.root().into(),
            user: Vec::new(),
        }
    }

    pub fn session(&self) -> Session {
        open(self.options())
    }

    /// The messages of a request, as JSON text.
    pub fn told(&self, request: usize) -> String {
        self.server.requests()[request].json()["messages"].to_string()
    }

    pub fn assert_never_rejected(&self) {
        assert_eq!(self.server.rejected(), Vec::<String>::new());
    }

    /// The facts of the only session in the home.
    pub fn log(&self) -> Vec<serde_json::Value> {
        let logs =
            self.files().into_iter().filter(|(path, _)| path.extension() == Some("log".as_ref()));
        let [(_, log)] = logs.collect::<Vec<_>>().try_into().expect("one log");
        let log = String::from_utf8(log).unwrap();
        log.lines().filter_map(|line| serde_json::from_str(&line[line.find('{')?..]).ok()).collect()
    }

    /// Every file below the world's directory, with its content.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path) -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .flat_map(|e| if e.path().is_dir() { walk(&e.path()) } else { vec![e.path()] })
                .collect()
        }
        let mut files: Vec<_> = walk(self.root())
            .into_iter()
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

pub fn host(options: &Options) -> Host {
    Host::open(&ostler::init(), options.host.clone()).unwrap()
}

pub fn try_open(options: Options) -> Result<Session, Error> {
    Host::open(&ostler::init(), options.host)?.session(options.session)
}

pub fn open(options: Options) -> Session {
    try_open(options).unwrap()
}

pub fn with(mut options: Options, change: impl FnOnce(&mut Options)) -> Options {
    change(&mut options);
    options
}

pub fn with_log(mut options: Options, log: SessionChoice) -> Options {
    options.session.log = log;
    options
}

pub fn interrupt(session: &Session) {
    session.send(Input::Interrupt { cancel_queued: false }).unwrap();
}

/// Answers a question, if the event is one.
pub fn answer(session: &Session, event: &Event, reply: &Reply) {
    if let Event::CallAsked { question: Some(question), .. } = event {
        let (question, by) = (question.id.clone(), "test".into());
        session.send(Input::Answer { question, reply: reply.clone(), by }).unwrap();
    }
}

/// Reads on until an event fits.
pub async fn until(turn: &mut Driver, mut fits: impl FnMut(&Event) -> bool) -> Event {
    loop {
        let event = turn.next().await.expect("the turn ended first").event.clone();
        if fits(&event) {
            return event;
        }
    }
}

pub fn is_text(event: &Event) -> bool {
    matches!(event, Event::TextDelta { .. })
}

/// The next event of an observer that fits.
pub async fn watched(observer: &mut SessionObserver, fits: impl Fn(&Event) -> bool) -> Event {
    loop {
        match observer.next().await.expect("the session goes on") {
            Observed::Event(envelope) if fits(&envelope.event) => return envelope.event.clone(),
            Observed::Event(_) => {}
            Observed::Lagged { missed } => panic!("{missed} events were missed"),
        }
    }
}

/// Reads to the end.
pub async fn finished(mut turn: Driver) -> Finished {
    match until(&mut turn, |event| matches!(event, Event::Finished(_))).await {
        Event::Finished(finished) => {
            assert!(turn.next().await.is_none(), "something follows the end");
            *finished
        }
        _ => unreachable!(),
    }
}

/// A duration for `sleep` that no other process uses.
pub fn unique_sleep() -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("86300.{}{n:04}", std::process::id())
}

/// Whether a process with this in its command line runs.
pub fn runs(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(mark))
}

/// Polls until it is so; not being so in time is the failure.
pub async fn becomes(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Each request begins with the bytes of the one before, apart from cache marks.
pub fn assert_extensions(requests: &[Arc<Recorded>]) {
    for (n, pair) in requests.windows(2).enumerate() {
        let (before, after) = (cached_part(&pair[0]), cached_part(&pair[1]));
        assert!(after.starts_with(&before), "request {} is no extension of {n}", n + 1);
    }
}

/// Tools, system text and messages as they stand in the body, without what closes the list of messages.
fn cached_part(request: &Recorded) -> String {
    const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
    let body = String::from_utf8(request.body.to_vec()).unwrap().replace(MARK, "");
    let keys = ["\"tools\":", "\"system\":", "\"messages\":"];
    let start = keys.iter().filter_map(|key| body.find(key)).min().unwrap();
    let messages =
        serde_json::from_str::<serde_json::Value>(&body).unwrap()["messages"].to_string();
    let end = body.rfind(&messages).expect("rendered as serde would") + messages.len() - 1;
    body[start..end].to_owned()
}
