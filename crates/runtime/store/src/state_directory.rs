//! The directory of all our state. Its content decides what runs, so nobody else may be able to change it.

use crate::files::{io_error, owned_folder};
use ostler_core::ports::StoreError;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Ours alone. Settings, rules and skills are not listed: people write those, and keep them in repositories of their own.
const FILES: [&str; 6] = [
    "trust.json",
    "ledger.db",
    "ledger.db-wal",
    "ledger.db-shm",
    "ledger.db.lock",
    "ledger.db.missed",
];
const DIRECTORIES: [&str; 4] = ["blobs", "spills", "events", "models"];
/// The same, with a file or directory for each project, address or database.
const COLLECTIONS: [&str; 6] = ["sessions", "snapshots", "memory", "webhooks", "projects", "jobs"];

/// Who may write: the group, and everybody else.
const OTHERS: u32 = 0o022;

/// Refuses a state directory that others can write to, or that leads out of itself. It may be a link as a whole, and it
/// may be missing.
///
/// # Errors
/// What is wrong with it, whose it is, and what to do.
pub fn check_state_directory(home: &Path) -> Result<(), StoreError> {
    if fs::symlink_metadata(home).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    closed_to_others(home, &owned_folder(home)?)?;
    for name in FILES.into_iter().chain(DIRECTORIES) {
        check_entry(&home.join(name))?;
    }
    for name in COLLECTIONS {
        let folder = home.join(name);
        check_entry(&folder)?;
        // One that cannot be listed fails when it is used.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            check_entry(&entry.path())?;
        }
    }
    Ok(())
}

fn check_entry(path: &Path) -> Result<(), StoreError> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let refuse = |why: String| Err(io_error("use", path, why));
    if metadata.is_symlink() {
        return refuse(
            "it is a link. Only the state directory as a whole can be a link: move its target here"
                .into(),
        );
    }
    let (owner, me) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != me && owner != 0 {
        return Err(StoreError::OtherOwner { path: path.to_owned(), owner, me });
    }
    closed_to_others(path, &metadata)
}

fn closed_to_others(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let who = if mode & 0o002 == 0 { "its group" } else { "everybody" };
    let why = format!(
        "{who} can write to it (mode {mode:04o}). Check that nobody changed it, then run: chmod -R go-w {}",
        path.display()
    );
    Err(io_error("use", path, why))
}
