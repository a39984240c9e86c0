//! A user's world in miniature: a home with secrets and a repository, things outside, a process,
//! and services that listen.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ostler_exec::{Command, CommandReport, Executor, Layers, Sandbox, SupervisorProgram, bash};

pub const HELPER: &str = env!("CARGO_BIN_EXE_ostler-test-supervisor");

/// Longer than anything here takes on a busy machine; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    pub executor: Executor,
    pub base: PathBuf,
    pub home: PathBuf,
    pub root: PathBuf,
    pub outside: PathBuf,
    pub temp: PathBuf,
    /// Where the sockets of a user's session are: a directory in /tmp.
    pub session: PathBuf,
    pub victim: Child,
    services: Vec<Child>,
    variables: Vec<(String, String)>,
}

impl World {
    pub fn new(base: &Path) -> Self {
        let path = |name: &str| {
            let path = base.join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let (home, root) = (path("home"), path("home/work"));
        let (outside, temp) = (path("outside"), path("temp"));
        let session = tempfile::Builder::new().prefix("session").tempdir_in("/tmp").unwrap().keep();
        std::fs::set_permissions(&temp, std::fs::Permissions::from_mode(0o700)).unwrap();
        for name in [".ssh", ".ostler", ".tools", "work/keys", "work/src"] {
            path(&format!("home/{name}"));
        }
        for name in [".ssh/id", ".ostler/state", ".tools/version", "notes", "work/keys/secret"] {
            std::fs::write(home.join(name), "content\n").unwrap();
        }
        let victim = quiet("sleep", &["1000"]).unwrap();
        let mut world = Self {
            executor: Executor::new(supervisor()),
            base: base.to_path_buf(),
            home,
            root,
            outside,
            temp,
            session,
            victim,
            services: Vec::new(),
            variables: Vec::new(),
        };
        world.reset();
        world.listen();
        world.name_everything();
        world
    }

    /// As it was before an action that succeeded.
    pub fn reset(&self) {
        for folder in [&self.outside, &self.root.join("src")] {
            let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755));
            std::fs::remove_dir_all(folder).unwrap();
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(self.outside.join("victim"), "content\n").unwrap();
        let _ = std::fs::remove_dir_all(self.root.join(".git"));
        for name in ["hooks", "info", "objects", "refs"] {
            std::fs::create_dir_all(self.root.join(".git").join(name)).unwrap();
        }
        std::fs::write(self.root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(self.root.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
    }

    /// Everything outside that an action could change, as text.
    pub fn state(&self) -> String {
        let mut text = String::new();
        for folder in ["outside", "home/work/.git/hooks", "home/work/.git"] {
            let mut entries: Vec<_> =
                std::fs::read_dir(self.base.join(folder)).into_iter().flatten().flatten().collect();
            entries.sort_by_key(|entry| entry.file_name());
            for entry in entries {
                let content = std::fs::read_to_string(entry.path()).unwrap_or_default();
                let mode = entry.metadata().unwrap().permissions().mode();
                text += &format!("{} {mode:o} {content:?}\n", entry.path().display());
            }
        }
        text
    }

    pub fn sandbox(&self, layers: Layers) -> Sandbox {
        Sandbox {
            writable: vec![self.root.clone()],
            readable: vec![self.home.join(".tools"), self.home.join("missing")],
            homes: vec![self.home.clone(), "/root".into(), "/home".into(), "/nonexistent".into()],
            hidden: vec![self.home.join(".ssh"), self.home.join(".ostler"), self.root.join("keys")],
            frozen: [".git/hooks", ".git/config", ".git/info/attributes"]
                .map(|name| self.root.join(name))
                .to_vec(),
            temp: self.temp.clone(),
            network: false,
            layers,
            bounds: None,
        }
    }

    /// An executor that looks for bubblewrap in this directory.
    pub fn looking_in(&self, place: &Path) -> Executor {
        Executor::with_bubblewrap_in(vec![place.to_path_buf()], supervisor())
    }

    pub fn command(&self, script: &str, sandbox: Option<&Sandbox>) -> Command {
        // Without hidden entries below it, the root can be listed with every layer.
        let mut variables = self.variables.clone();
        let temp = sandbox.map_or(self.temp.as_path(), Sandbox::temp_inside);
        variables.push(("TMPDIR".into(), temp.to_str().unwrap().into()));
        let env = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut command = bash(script, &self.root, env);
        command.time_limit = Some(PATIENCE);
        command.sandbox = sandbox.cloned().map(Arc::new);
        command
    }

    pub async fn run(&self, script: &str, sandbox: Option<&Sandbox>) -> CommandReport {
        self.executor.run(self.command(script, sandbox), |_| {}).await.unwrap()
    }

    fn name_everything(&mut self) {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        self.variables.extend([
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), text(&self.home)),
            ("LANG".into(), "C.UTF-8".into()),
            ("ROOT".into(), text(&self.root)),
            ("OUT".into(), text(&self.outside)),
            ("SESSION".into(), text(&self.session)),
            ("BASE".into(), text(&self.base)),
            ("VICTIM".into(), self.victim.id().to_string()),
            ("HARNESS".into(), std::process::id().to_string()),
        ]);
    }

    /// Starts a service that may not be installed.
    pub fn service(&mut self, program: &str, args: &[&str]) {
        self.services.extend(quiet(program, args));
    }

    /// Answers on a socket in the session's directory, one in sight, one without a name, one for
    /// datagrams, TCP and UDP. The threads end with the process.
    fn listen(&mut self) {
        let abstract_name = format!("ostler-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        for listener in [
            UnixListener::bind(self.session.join("bus")).unwrap(),
            UnixListener::bind(self.base.join("sight")).unwrap(),
            UnixListener::bind(self.root.join("inner")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ] {
            std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
        }
        let datagrams = UnixDatagram::bind(self.session.join("log")).unwrap();
        let log = self.base.join("logged");
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while datagrams.recv(&mut bytes).is_ok() {
                std::fs::write(&log, "x").unwrap();
            }
        });
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        self.variables.push(("TCP".into(), tcp.local_addr().unwrap().port().to_string()));
        std::thread::spawn(move || tcp.incoming().flatten().for_each(answer));
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        self.variables.push(("UDP".into(), udp.local_addr().unwrap().port().to_string()));
        self.variables.push(("ABSTRACT".into(), abstract_name));
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while let Ok((_, from)) = udp.recv_from(&mut bytes) {
                let _ = udp.send_to(b"hello", from);
            }
        });
    }
}

fn supervisor() -> SupervisorProgram {
    SupervisorProgram { program: HELPER.into(), args: vec!["supervise".into()] }
}

/// A script that can be executed.
pub fn write_program(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn answer(mut stream: impl Read + Write) {
    let _ = stream.write_all(b"hello");
}

fn quiet(program: &str, args: &[&str]) -> Option<Child> {
    std::process::Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

impl Drop for World {
    fn drop(&mut self) {
        for child in self.services.iter_mut().chain([&mut self.victim]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.session);
        for entry in std::fs::read_dir(&self.base).into_iter().flatten().flatten() {
            let _ = std::fs::remove_dir_all(entry.path());
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The combinations of layers that this machine has; the others are named.
pub async fn combinations(world: &World) -> Vec<(&'static str, Layers)> {
    let found = world.executor.probe().await;
    let layers = |landlock, seccomp, bubblewrap| Layers { landlock, seccomp, bubblewrap };
    let all = [
        ("floor", layers(true, true, false)),
        ("bubblewrap+seccomp", layers(false, true, true)),
        ("bubblewrap+floor", layers(true, true, true)),
    ];
    let here = found.layers();
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, asked)| {
        (here.landlock || !asked.landlock)
            && (here.seccomp || !asked.seccomp)
            && (here.bubblewrap || !asked.bubblewrap)
    });
    for (name, _) in missing {
        println!("SKIPPED {name}: this machine has {found:?}");
    }
    there
}
