//! Which file a command names.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program as an absolute path: looked up in `PATH` of the environment, or below `cwd` if it has a slash.
pub(crate) fn find(
    command: &str,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<PathBuf, String> {
    if command.is_empty() {
        return Err("its command is empty".into());
    }
    if command.contains('/') {
        let path = cwd.join(command);
        return match path.metadata() {
            Ok(data) if data.is_file() && data.permissions().mode() & 0o111 != 0 => Ok(path),
            Ok(_) => Err(format!("{} is not a program that can be executed", path.display())),
            Err(error) => Err(format!("cannot run {}: {error}", path.display())),
        };
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let places = path.unwrap_or(OsStr::new("/usr/bin:/bin")).as_bytes().split(|byte| *byte == b':');
    let places = places.map(|place| Path::new(OsStr::from_bytes(place)));
    let mut candidates =
        places.filter(|place| place.is_absolute()).map(|place| place.join(command));
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    candidates.find(is_program).ok_or_else(|| {
        format!("{command} was not found in PATH; install it or configure its full path")
    })
}
