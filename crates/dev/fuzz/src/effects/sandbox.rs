//! The throw-away sandbox in which a worker judges lines and runs them.
//!
//! Everything a line can reach is a tmpfs that dies with the worker, or read-only. The worker is process 1 of its own
//! process namespace: nothing inside can kill it, and every process that a line leaves behind becomes its child.

use super::worker::WorkerTask;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// An ordinary user to become when started as root: limits on processes do not apply to root.
const NOBODY: u32 = 65_534;
/// Directories of programs, all of them private copies inside.
pub const PROGRAMS: [&str; 4] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];
/// Where the sandbox holds what the worker itself needs.
pub const OWN: &str = "/fuzz";
/// A locale in which the second byte of a character can be a backslash.
pub const DOUBLE_BYTE_LOCALE: &str = "zh_CN.gbk";

/// What all workers share: a copy of this program and the seeds, readable by an ordinary user.
pub struct FuzzSandbox {
    directory: tempfile::TempDir,
    bwrap: PathBuf,
    /// Whether the double-byte locale could be made.
    pub has_locale: bool,
}

impl FuzzSandbox {
    /// # Errors
    /// In words, why there is no sandbox on this machine.
    pub fn new(seeds: &[String], with_locale: bool) -> Result<Self, String> {
        let bwrap = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].map(PathBuf::from);
        let bwrap = bwrap.into_iter().find(|path| path.exists()).ok_or("bwrap is not installed")?;
        let wrong = |error: io::Error| format!("cannot prepare the sandbox: {error}");
        let directory = tempfile::Builder::new().prefix("ostler-fuzz-").tempdir().map_err(wrong)?;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).map_err(wrong)?;
        let program = directory.path().join("ostler-fuzz");
        fs::copy(std::env::current_exe().map_err(wrong)?, &program).map_err(wrong)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(wrong)?;
        let seeds = serde_json::to_vec(seeds).map_err(|error| error.to_string())?;
        fs::write(directory.path().join("seeds.json"), seeds).map_err(wrong)?;
        let has_locale = with_locale && make_locale(&directory.path().join("locale"));
        let stage = FuzzSandbox { directory, bwrap, has_locale };
        stage.probe()?;
        Ok(stage)
    }

    fn probe(&self) -> Result<(), String> {
        let mut command = self.bwrap();
        command.args(["--ro-bind", "/", "/", "--", "/bin/true"]).stdin(Stdio::null());
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                Err(format!("bwrap fails: {}", String::from_utf8_lossy(&output.stderr).trim()))
            }
            Err(error) => Err(format!("bwrap does not start: {error}")),
        }
    }

    fn bwrap(&self) -> Command {
        let mut command = Command::new(&self.bwrap);
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir("/");
        command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
        command.args(["--uid", "1000", "--gid", "1000", "--hostname", "fuzz", "--cap-drop", "ALL"]);
        command
    }

    pub fn start(&self, task: &WorkerTask) -> io::Result<Child> {
        let mut command = self.bwrap();
        command.arg("--as-pid-1").args(["--proc", "/proc", "--dev", "/dev"]);
        command.args(["--ro-bind", "/usr", "/usr"]);
        for library in ["/lib", "/lib32", "/lib64"] {
            command.args(["--ro-bind-try", library, library]);
        }
        for programs in PROGRAMS.iter().filter(|path| Path::new(path).is_dir()) {
            tmpfs(&mut command, programs);
            let inside = format!("{OWN}{programs}");
            command.args(["--ro-bind", programs, &inside]);
        }
        for place in ["/etc", "/ws", "/home", "/tmp", "/var/tmp", "/srv", "/bin"] {
            tmpfs(&mut command, place);
        }
        for name in ["/etc/alternatives", "/etc/ld.so.cache"] {
            command.args(["--ro-bind-try", name, name]);
        }
        self.bind_locales(&mut command);
        for name in ["ostler-fuzz", "seeds.json"] {
            command.arg("--ro-bind").arg(self.directory.path().join(name));
            command.arg(format!("{OWN}/{name}"));
        }
        let task = serde_json::to_string(task).map_err(io::Error::other)?;
        command.args([
            "--chdir",
            "/",
            "--",
            &format!("{OWN}/ostler-fuzz"),
            "effects-worker",
            &task,
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
    }

    fn bind_locales(&self, command: &mut Command) {
        if !self.has_locale {
            return;
        }
        tmpfs(command, "/usr/lib/locale");
        for name in ["/usr/lib/locale/C.utf8", "/usr/lib/locale/locale-archive"] {
            command.args(["--ro-bind-try", name, name]);
        }
        command.arg("--ro-bind").arg(self.directory.path().join("locale"));
        command.arg(format!("/usr/lib/locale/{DOUBLE_BYTE_LOCALE}"));
    }
}

fn tmpfs(command: &mut Command, place: &str) {
    const SIZE: &str = "67108864";
    command.args(["--size", SIZE, "--tmpfs", place]);
}

/// Only where the machine has the source of the locale, and a directory to put it in.
fn make_locale(at: &Path) -> bool {
    let mut command = Command::new("localedef");
    command.args(["--no-archive", "-i", "zh_CN", "-f", "GBK"]).arg(at);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let made = command.status().is_ok_and(|status| status.code().is_some_and(|code| code < 2));
    made && at.join("LC_CTYPE").exists() && Path::new("/usr/lib/locale").is_dir()
}
