//! Starts a program that is none of our business afterwards: a browser. It outlives us, so it is no command: it runs
//! what the user asked for, on the user's desktop, and nothing of a model or a project decides its arguments.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Without a shell, with this environment and no other, in a process group of its own, without our terminal.
///
/// # Errors
/// If it cannot be started.
pub fn start_detached(
    program: &Path,
    args: &[&str],
    environment: &[(OsString, OsString)],
) -> io::Result<()> {
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    // Somebody has to reap it if we outlive it.
    let reaping = std::thread::Builder::new().name("reaper".to_owned()).spawn(move || {
        let _ = child.wait();
    });
    reaping.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_gets_its_words_as_they_are_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        let program = folder.path().join("browser");
        fs::write(&program, "#!/bin/sh\n{ echo \"$#:$1\"; env; } > \"$PIPE\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let url = "https://a.example/?x=$(touch here)&y=`id`;z=\"'";
        start_detached(&program, &[url], &[("PIPE".into(), pipe.clone().into())]).unwrap();
        // Opens when the program does, and ends with it.
        let text = fs::read_to_string(&pipe).unwrap();
        assert!(text.starts_with(&format!("1:{url}\n")), "{text}");
        // Set by this process for its tests; of no concern to others.
        assert!(!text.contains("CARGO"), "{text}");
        assert!(!folder.path().join("here").exists());
        assert!(start_detached(&folder.path().join("missing"), &[], &[]).is_err());
    }
}
