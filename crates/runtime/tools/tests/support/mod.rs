//! A workspace in a temporary directory, a log and blobs, and the tools over them.

#![allow(dead_code, reason = "shared by test programs, each of which uses a part")]
#![allow(clippy::result_large_err, reason = "as the port has it")]

use ostler_core::agent_definition::AgentDefinition;
use ostler_core::ids::BlobRef;
use ostler_core::message::ResultPart;
use ostler_core::permission::{Access, Policy, Rule, Workspace};
use ostler_core::ports::{
    AgentOrder, Blobs, BoxFuture, Delegate, NoArrivals, Progress, Recorder, StoreError, Tool,
    ToolContext,
};
use ostler_core::session::{Entry, Snapshot};
use ostler_core::tool::{Seen, ToolOutput};
use ostler_exec::{AvailableLayers, Executor};
use ostler_tools::confine::{ConfineOptions, Confinement};
use ostler_tools::workspace::Files;
use ostler_tools::{SessionParts, ToolSetup, built_in, known_tools};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a session leaves behind, and more than one can be opened on.
#[derive(Default)]
pub struct Log {
    pub snapshots: Mutex<Vec<Snapshot>>,
    seen: Mutex<Vec<Seen>>,
    calls: AtomicU64,
    /// Refuses to record.
    pub broken: std::sync::atomic::AtomicBool,
    pub tails: Mutex<Vec<String>>,
}

impl Recorder for Log {
    fn record(&self, entry: Entry) -> Result<(), StoreError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::BlobLost("no space".into()));
        }
        let Entry::Snapshot { call, path, before, mode, after } = entry else {
            panic!("only snapshots are recorded")
        };
        self.snapshots.lock().unwrap().push(Snapshot { call, path, before, mode, after });
        Ok(())
    }
}

impl Progress for Log {
    fn tail(&self, tail: &str) {
        self.tails.lock().unwrap().push(tail.to_owned());
    }
}

/// Blobs as files, named by a number: nothing may rely on how they are named.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn spills(&self) -> PathBuf {
        self.0.with_file_name("spills")
    }
}

impl Blobs for Folder {
    fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let error = |error: std::io::Error| StoreError::BlobLost(error.to_string());
        fs::create_dir_all(&self.0).map_err(error)?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("blob-{}", NEXT.fetch_add(1, Ordering::SeqCst));
        fs::write(self.0.join(&name), bytes).map_err(error)?;
        Ok(BlobRef::new(name))
    }
    fn get(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        fs::read(self.0.join(blob.as_str())).map_err(|_| StoreError::BlobLost(blob.to_string()))
    }
    fn spill(&self, bytes: &[u8]) -> Result<Option<PathBuf>, StoreError> {
        let blob = Folder(self.spills()).put(bytes)?;
        Ok(Some(self.spills().join(blob.as_str())))
    }
}

pub struct Desk {
    /// The workspace.
    pub root: PathBuf,
    pub log: Arc<Log>,
    pub blobs: Arc<Folder>,
    tools: Vec<Arc<dyn Tool>>,
    executor: Executor,
    environment: Vec<(OsString, OsString)>,
    _dir: Arc<tempfile::TempDir>,
}

impl Desk {
    pub fn new(executor: Executor, environment: Vec<(OsString, OsString)>) -> Desk {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        fs::create_dir(dir.path().join("ws")).unwrap();
        Desk::open(dir, Arc::default(), executor, environment)
    }

    fn open(
        dir: Arc<tempfile::TempDir>,
        log: Arc<Log>,
        executor: Executor,
        environment: Vec<(OsString, OsString)>,
    ) -> Desk {
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("ws");
        let workspace = Workspace {
            cwd: root.clone(),
            roots: vec![root],
            readable: vec![Folder(base.join("blobs")).spills()],
            home: "/home/nobody".into(),
            tools: known_tools(),
            ..Workspace::default()
        };
        let ask = vec![Rule::parse("Read(.secret)", &workspace).unwrap()];
        let policy = Policy { ask, ..Policy::default() };
        Desk::at(dir, log, workspace, policy, executor, environment)
    }

    /// In a workspace of the caller's choice.
    pub fn at(
        dir: Arc<tempfile::TempDir>,
        log: Arc<Log>,
        workspace: Workspace,
        policy: Policy,
        executor: Executor,
        environment: Vec<(OsString, OsString)>,
    ) -> Desk {
        Desk::on(None, dir, log, workspace, policy, executor, environment)
    }

    /// On a machine that has these layers of the sandbox; none: those that it really has.
    pub fn on(
        found: Option<AvailableLayers>,
        dir: Arc<tempfile::TempDir>,
        log: Arc<Log>,
        workspace: Workspace,
        policy: Policy,
        executor: Executor,
        environment: Vec<(OsString, OsString)>,
    ) -> Desk {
        let root = workspace.cwd.clone();
        let blobs = Arc::new(Folder(dir.path().canonicalize().unwrap().join("blobs")));
        let (seen, snapshots) =
            (log.seen.lock().unwrap().clone(), log.snapshots.lock().unwrap().clone());
        let confinement = Confinement::new(
            executor.clone(),
            ConfineOptions::default(),
            workspace.clone(),
            environment.clone(),
        );
        let confinement = confinement.denying(&policy);
        let confinement = Arc::new(match found {
            Some(found) => confinement.on_machine(found),
            None => confinement,
        });
        let files = Arc::new(Files::new(workspace, seen, snapshots));
        let tools = built_in(&ToolSetup {
            files,
            executor: executor.clone(),
            environment: environment.clone().into(),
            policy: policy.into(),
            confinement,
            keeping: ostler_tools::Keeping::Off,
            session: SessionParts { agents: Some(Arc::new(NoAgents)), ..SessionParts::default() },
        });
        Desk { root, log, blobs, tools, executor, environment, _dir: dir }
    }

    pub fn with_environment(&self, environment: Vec<(OsString, OsString)>) -> Desk {
        Desk::open(
            Arc::clone(&self._dir),
            Arc::clone(&self.log),
            self.executor.clone(),
            environment,
        )
    }

    /// As after a restart: nothing but the log is left.
    pub fn resumed(&self) -> Desk {
        Desk::open(
            Arc::clone(&self._dir),
            Arc::clone(&self.log),
            self.executor.clone(),
            self.environment.clone(),
        )
    }

    pub fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    pub fn access(&self, name: &str, input: Value) -> Result<Access, ToolOutput> {
        self.tool(name).access(&input)
    }

    pub fn context(&self) -> ToolContext {
        let call = format!("call-{}", self.log.calls.fetch_add(1, Ordering::SeqCst));
        ToolContext {
            call: call.as_str().into(),
            judged: Access::unknown(),
            beside_others: false,
            progress: self.log.clone(),
            recorder: self.log.clone(),
            blobs: self.blobs.clone(),
            arrivals: Arc::new(NoArrivals),
        }
    }

    /// As the engine does: the access first, then the run, then what was seen goes to the log.
    pub async fn call(&self, name: &str, input: Value) -> ToolOutput {
        match self.access(name, input.clone()) {
            Ok(judged) => self.run(name, input, judged).await,
            Err(output) => output,
        }
    }

    /// A call that was judged by this access.
    pub async fn run(&self, name: &str, input: Value, judged: Access) -> ToolOutput {
        let tool = self.tool(name);
        let output = tool.run(input, ToolContext { judged, ..self.context() }).await;
        tool.recorded(&output.seen);
        self.log.seen.lock().unwrap().extend(output.seen.clone());
        output
    }

    /// The text of a call that succeeds.
    pub async fn ok(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input.clone()).await;
        let text = text(&output);
        assert!(!output.is_error, "{name} {input}: {text}");
        text
    }

    /// The text of a call that fails.
    pub async fn err(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input.clone()).await;
        let text = text(&output);
        assert!(output.is_error, "{name} {input}: {text}");
        text
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Everything in a directory of the workspace, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        names(&self.root.join(path))
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(entry).collect();
    names.sort();
    names
}

pub fn text(output: &ToolOutput) -> String {
    let part = |part: &ResultPart| match part {
        ResultPart::Text { text } => text.clone(),
        ResultPart::Image(image) => format!("<{}>", image.media),
    };
    output.content.iter().map(part).collect::<Vec<_>>().join("\n")
}

/// Starts nobody and says what was asked for.
struct NoAgents;

impl Delegate for NoAgents {
    fn delegate(&self, order: AgentOrder, _: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::text(format!("{order:?}"))))
    }

    fn definitions(&self) -> &[AgentDefinition] {
        &[]
    }

    fn kind_of(&self, agent: &str) -> Option<String> {
        (agent == "explorer-1").then(|| "explorer".to_owned())
    }

    fn message(&self, agent: &str, text: String) -> ToolOutput {
        ToolOutput::text(format!("{agent}: {text}"))
    }
}

/// Says what was expected when it is not there.
#[track_caller]
pub fn has(text: &str, part: &str) {
    assert!(text.contains(part), "expected {part:?} in: {text}");
}
