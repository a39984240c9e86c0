//! Whether sessions can be kept in a home, without making anything there.

use crate::files::{io_error, own_folder};
use ostler_core::ports::StoreError;
use rustix::fs::Access;
use std::fs;
use std::path::Path;

/// Directories directly below a home that are looked at.
const MOST: usize = 1000;

/// # Errors
/// If the home, or a directory in it, cannot be written to or created.
pub fn check_home(home: &Path) -> Result<(), StoreError> {
    if fs::symlink_metadata(home).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return can_be_made(home);
    }
    own_folder(home)?;
    let entries =
        fs::read_dir(home).map_err(|error| io_error("read the directory", home, error))?;
    for entry in entries.flatten().take(MOST).filter(|entry| entry.path().is_dir()) {
        own_folder(&entry.path())?;
    }
    Ok(())
}

fn can_be_made(home: &Path) -> Result<(), StoreError> {
    let above = home.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(home);
    let wrong = |why: String| Err(io_error("create the directory", home, why));
    if !above.is_dir() {
        return wrong(format!("{} is not a directory", above.display()));
    }
    match rustix::fs::access(above, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(_) => wrong(format!("{} is not writable", above.display())),
    }
}
