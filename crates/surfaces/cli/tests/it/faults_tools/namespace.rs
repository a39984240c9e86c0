//! A world of its own for mounts: whatever is mounted in it is gone with the last process in it, however that ends.

use crate::support::{Ran, finish};
use std::process::{Command, Stdio};

pub struct Namespace {
    /// How to get in: directly as root, through a user namespace otherwise.
    unshare: Vec<&'static str>,
}

impl Namespace {
    /// None, and a line that says so, where the system does not allow it.
    #[allow(clippy::print_stdout, reason = "a skipped test must be seen")]
    pub fn new() -> Option<Self> {
        let ways = [vec!["--mount"], vec!["--mount", "--map-root-user"]];
        let works = |way: &Vec<&str>| {
            let mut probe = Command::new("unshare");
            probe.args(way).args(["sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]);
            probe
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        let way = ways.into_iter().find(works);
        if way.is_none() {
            println!("SKIPPED: this system allows no mounts of our own");
        }
        way.map(|unshare| Namespace { unshare })
    }

    /// Prepares with a piece of shell, then becomes the program.
    pub fn run(&self, prepare: &str, program: &Command) -> Ran {
        self.script(&format!("{prepare}; exec \"$0\" \"$@\""), program)
    }

    /// A piece of shell in which `"$0" "$@"` is the program.
    pub fn script(&self, script: &str, program: &Command) -> Ran {
        let mut command = Command::new("unshare");
        command.args(&self.unshare).args(["sh", "-euc", script]);
        command.arg(program.get_program()).args(program.get_args());
        command.current_dir(program.get_current_dir().unwrap()).env_clear();
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command.spawn().unwrap())
    }
}
