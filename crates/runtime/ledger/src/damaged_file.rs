//! A damaged file is set aside, and a new one takes its place: what it said is in the logs.

use crate::db::Db;
use crate::error::{Error, Trouble};
use ostler_database::{beside, set_aside};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const LOCK: &str = ".lock";

/// Somebody repairs it, or has.
pub(crate) fn is_mended(path: &Path) -> bool {
    beside(path, LOCK).exists()
}

/// Opens the file, or if it is damaged a new one in its place. One at a time: who comes second finds the new one.
pub(crate) fn heal(path: &Path) -> Result<Db, Error> {
    let io = Error::io(path);
    let mut lock = OpenOptions::new();
    lock.create(true).append(true).mode(0o600);
    let lock = lock.open(beside(path, LOCK)).map_err(&io)?;
    lock.lock().map_err(&io)?;
    match Db::open_as_it_is(path).and_then(checked) {
        Err(error) if error.is_damage() => {}
        done => return done,
    }
    let aside = set_aside(path).map_err(&io)?;
    let mut db = Db::open_as_it_is(path)?;
    db.set_aside = Some(aside);
    Ok(db)
}

fn checked(db: Db) -> Result<Db, Error> {
    let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let found = db.connection.query_row("PRAGMA quick_check(1)", [], check);
    match found.map_err(Error::of(&db.path))?.as_str() {
        "ok" => Ok(db),
        why => {
            let (path, why) = (db.path.clone(), why.to_owned());
            Err(Error::File { path, why, trouble: Trouble::Damaged })
        }
    }
}
