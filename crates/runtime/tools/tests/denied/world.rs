//! A project with a secret in it, and the tools over it as on a machine with or without bubblewrap.

use crate::support::{Desk, text};
use ostler_core::permission::{Access, Decision, Mode, Policy, Rule, Workspace, decide};
use ostler_exec::{AvailableLayers, Executor, SupervisorProgram};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

pub const SECRET: &str = "TOKEN=the-secret";
/// What the secret looks like in an archive or a listing of bytes.
pub const MARK: &str = "the-secret";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    Whole,
    /// Landlock and seccomp only.
    WithoutBubblewrap,
    /// No layer at all.
    Bare,
}

/// Those that can be had here.
pub async fn machines() -> Vec<Machine> {
    let found = executor().probe().await;
    let layers = found.layers();
    let mut machines = Vec::new();
    for (machine, there) in [
        (Machine::Whole, layers.landlock && layers.seccomp && layers.bubblewrap),
        (Machine::WithoutBubblewrap, layers.landlock && layers.seccomp),
    ] {
        match there {
            true => machines.push(machine),
            false => println!("SKIPPED {machine:?}: this machine has {found:?}"),
        }
    }
    machines
}

fn executor() -> Executor {
    Executor::new(SupervisorProgram::this_binary([crate::SUPERVISE]))
}

pub struct World {
    pub ws: PathBuf,
    pub desk: Desk,
    pub workspace: Workspace,
    pub policy: Policy,
}

impl World {
    /// The deny rules hold; `allow` vouches for commands that would ask.
    pub async fn new(machine: Machine, deny: &[&str], allow: &[&str]) -> World {
        let place = std::env::var_os(crate::PLACE).unwrap();
        let dir = Arc::new(tempfile::tempdir_in(place).unwrap());
        let base = dir.path().canonicalize().unwrap();
        let (ws, home) = (base.join("projects/ws"), base.join("home"));
        fs::create_dir_all(&ws).unwrap();
        fs::create_dir(&home).unwrap();
        let workspace = Workspace {
            cwd: ws.clone(),
            roots: vec![ws.clone()],
            home: home.clone(),
            tools: ostler_tools::known_tools(),
            ..Workspace::default()
        };
        let parse = |rules: &[&str]| {
            rules.iter().map(|rule| Rule::parse(rule, &workspace).unwrap()).collect::<Vec<_>>()
        };
        let policy = Policy { deny: parse(deny), allow: parse(allow), ..Policy::default() };
        let executor = executor();
        let found = match machine {
            Machine::Whole => None,
            Machine::WithoutBubblewrap => {
                let found = executor.probe().await;
                Some(AvailableLayers { bubblewrap: Err("taken away".into()), ..found })
            }
            Machine::Bare => {
                let missing = || Err("taken away".to_owned());
                Some(AvailableLayers {
                    landlock: Err("taken away".into()),
                    seccomp: missing(),
                    bubblewrap: Err("taken away".into()),
                })
            }
        };
        let environment: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), home.into()),
        ];
        let (log, own) = (Arc::default(), workspace.clone());
        let desk = Desk::on(found, dir, log, own, policy.clone(), executor, environment);
        let world = World { ws, desk, workspace, policy };
        world.lay_out();
        world
    }

    /// A repository with a file in it, and a secret that nobody has committed.
    fn lay_out(&self) {
        self.put("a.txt", "plain\n");
        self.put("sub/b.txt", "plain\n");
        self.shell("git init -q . && git add a.txt sub && git commit -qm one");
        self.put(".gitignore", ".env\n");
        self.put(".env", SECRET);
    }

    pub fn put(&self, name: &str, content: &str) {
        let path = self.ws.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn hard_link(&self, from: &str, to: &str) {
        fs::hard_link(self.ws.join(from), self.ws.join(to)).unwrap();
    }

    pub fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.ws.join(name)).unwrap();
    }

    /// By the test itself, outside of every sandbox.
    pub fn shell(&self, script: &str) {
        let name = ["AUTHOR", "COMMITTER"];
        let names = name.map(|who| (format!("GIT_{who}_NAME"), "n"));
        let mails = name.map(|who| (format!("GIT_{who}_EMAIL"), "e@x"));
        let output = Command::new("bash")
            .args(["-ec", script])
            .current_dir(&self.ws)
            .envs(names.into_iter().chain(mails))
            .env("HOME", &self.workspace.home)
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn access(&self, tool: &str, input: Value) -> Access {
        self.desk.access(tool, input).unwrap_or_else(|output| panic!("{}", text(&output)))
    }

    pub fn decision(&self, command: &str, mode: Mode) -> Decision {
        self.judged("Bash", json!({"command": command}), mode)
    }

    pub fn judged(&self, tool: &str, input: Value, mode: Mode) -> Decision {
        decide(tool, &self.access(tool, input), &self.policy, mode, &self.workspace)
    }

    /// Whatever the verdict: as if a person had said yes.
    pub async fn run(&self, command: &str) -> String {
        let input = json!({"command": command});
        let access = self.access("Bash", input.clone());
        text(&self.desk.run("Bash", input, access).await)
    }

    /// Everything that must stay as it was.
    pub fn state(&self) -> Vec<(String, String)> {
        let names = [".env", "sub/.env", "vault/key", "hard"];
        let read = |name: &str| {
            let path = self.ws.join(name);
            (name.to_owned(), fs::read_to_string(path).unwrap_or_else(|error| error.to_string()))
        };
        names.map(read).to_vec()
    }
}
