//! The gate is out of the way: a proof is forged for a text that does something else. The kernel holds the text to the
//! proof.

use crate::support::names;
use ostler_core::permission::Workspace;
use ostler_exec::{Command, Executor, SupervisorProgram, bash};
use ostler_tools::confine::{ConfineOptions, Confinement, Terms};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

struct Forgery {
    /// What was proved.
    proof: &'static str,
    /// What runs. `HOME` is a home with a key, `P` a file that must not come to be.
    text: &'static str,
}

const FORGERIES: &[Forgery] = &[
    Forgery { proof: "sed -n 1p f", text: "s=; : ${q:-${s:=1e touch P}}; sed \"$s\" f" },
    Forgery { proof: "sed -n 1p f", text: "s=; : ${q:-${s:=w P}}; sed \"$s\" f" },
    Forgery { proof: ":", text: "for RANDOM in 'a[$(touch P)]'; do :; done" },
    Forgery { proof: ":", text: "for SECONDS in 'a[$(: > P)]'; do :; done" },
    Forgery { proof: "cat f", text: "read RANDOM <<< 'a[$(touch P)]'" },
    Forgery {
        proof: "git status",
        text: "git config alias.x '!touch P'; git x; git init .; touch P",
    },
    Forgery {
        proof: "git describe",
        text: "git -c core.fsmonitor='touch P;false' status; touch P",
    },
    Forgery { proof: "git log", text: "git log --output=P; cp f P" },
    Forgery { proof: "sort f", text: "sort -o P f" },
    Forgery { proof: "sort f | head -1", text: "sort -S 1b --compress-program=./tool f; ./tool" },
    Forgery { proof: "tar tf f", text: "tar -I './tool' -tf f; touch P" },
    Forgery {
        proof: "cat f",
        text: "chmod 666 $HOME/.ssh/id_rsa; /lib64/ld-linux-x86-64.so.2 /usr/bin/chmod 666 $HOME/.ssh/id_rsa; touch P",
    },
    Forgery {
        proof: "find . -name f",
        text: "find . -name f -exec touch P \\; -o -exec ./tool \\; ; touch P",
    },
    Forgery { proof: "find . -name f", text: "find . -name f -fprint P" },
    Forgery { proof: "env cat f", text: "env touch P" },
    Forgery {
        proof: "awk '{print}' f",
        text: "awk 'BEGIN { system(\"touch P\"); print > \"P\" }'",
    },
    Forgery { proof: "cat f", text: "coproc cat { touch P; }; wait; echo > P" },
];

/// A workspace beside a home with a key.
struct World {
    _dir: tempfile::TempDir,
    home: PathBuf,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (home, root) = (base.join("home"), base.join("home/ws"));
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(home.join(".ssh/id_rsa"), "key").unwrap();
        std::fs::write(root.join("f"), "line\n").unwrap();
        std::fs::write(root.join("tool"), "#!/bin/sh\ntouch P\n").unwrap();
        let mode = |path: PathBuf, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(home.join(".ssh/id_rsa"), 0o600);
        mode(root.join("tool"), 0o755);
        World { _dir: dir, home, root }
    }

    /// What is different from a new world.
    fn effects(&self) -> Vec<String> {
        let mut found = names(&self.root);
        found.retain(|name| name != "f" && name != "tool");
        let mode = std::fs::metadata(self.home.join(".ssh/id_rsa")).unwrap().permissions().mode();
        found.extend((mode & 0o777 != 0o600).then(|| format!("mode {mode:o} of the key")));
        found
    }

    fn command(&self, text: &str) -> Command {
        let variables = [("PATH", OsStr::new(PATH)), ("HOME", self.home.as_os_str())];
        let environment = variables.map(|(name, value)| (name.into(), value.into())).to_vec();
        bash(text, &self.root, environment)
    }

    fn confinement(&self, executor: &Executor) -> Confinement {
        let workspace = Workspace {
            cwd: self.root.clone(),
            roots: vec![self.root.clone()],
            home: self.home.clone(),
            tools: ostler_tools::known_tools(),
            ..Workspace::default()
        };
        Confinement::new(executor.clone(), ConfineOptions::default(), workspace, Vec::new())
    }
}

pub async fn check() -> Vec<String> {
    let executor = Executor::new(SupervisorProgram::this_binary([crate::SUPERVISE]));
    let mut faults = Vec::new();
    let mut without_effect = 0;
    for Forgery { proof, text } in FORGERIES {
        let free = World::new();
        executor.run(free.command(text), |_| {}).await.unwrap();
        if free.effects().is_empty() {
            faults.push(format!("{text}: it does nothing without a sandbox either"));
            continue;
        }
        let world = World::new();
        let confinement = world.confinement(&executor);
        let layers = confinement.layers();
        if !layers.landlock || !layers.seccomp {
            println!("SKIPPED forged: this machine has no floor");
            return faults;
        }
        let proof = ostler_shell::steps(proof);
        assert!(proof.only_reads() && proof.programs().is_some(), "{}", proof.text);
        let path = OsStr::new(PATH);
        let terms = Terms { only_reads: true, proof: Some(&proof), path, ..Terms::default() };
        let held = confinement.held(terms).unwrap();
        let mut command = world.command(text);
        confinement.confine(&mut command, &held);
        let output = executor.run(command, |_| {}).await.unwrap().output.to_text();
        match world.effects() {
            effects if effects.is_empty() => without_effect += 1,
            effects => faults.push(format!("{text}: {effects:?}: {output}")),
        }
        drop(held);
        if !names(Path::new(&confinement_temp(&confinement))).is_empty() {
            faults.push(format!("{text}: it left temporary files"));
        }
    }
    println!("forged: {without_effect} of {} texts without effect", FORGERIES.len());
    faults
}

/// Where the session keeps its temporary files.
fn confinement_temp(confinement: &Confinement) -> PathBuf {
    let sandbox = confinement.sandbox(Vec::new(), false, confinement.layers()).unwrap();
    sandbox.temp
}
