//! The task board of a project, with its mailboxes: where it is, and what a session does with it.

mod claims;
mod desk;
mod options;
mod patience;
mod quotation;
mod seat;

pub(crate) use claims::BoardClaims;
pub(crate) use desk::BoardDesk;
pub use options::{BoardOptions, BoardPlace};
pub(crate) use patience::{DeskError, Patience};
pub(crate) use seat::BoardSeat;

use crate::system::SystemClock;
use ostler_board::{Board, BoardError, BoardFile, Limits, Setup, SharedBoard, Task, TaskAction};
use ostler_board_redis::{Address, RedisBoard, RedisSetup};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FOLDER: &str = "boards";

/// Where the board of a project is. `home` is where we keep our state.
pub fn board_path(home: &Path, project: &Path) -> PathBuf {
    home.join(FOLDER).join(format!("{}.db", ostler_store::project_name(project)))
}

/// Opens the board of a project, or makes it.
///
/// # Errors
/// If the file cannot be used.
pub fn open_project_board(home: &Path, project: &Path) -> Result<BoardFile, BoardError> {
    let mut folder = std::fs::DirBuilder::new();
    // If that fails, opening the file says why.
    let _ = folder.recursive(true).mode(0o700).create(home.join(FOLDER));
    open_board(&board_path(home, project))
}

/// # Errors
/// If the file cannot be used.
pub fn open_board(path: &Path) -> Result<BoardFile, BoardError> {
    let setup = Setup { clock: Arc::new(SystemClock), limits: Limits::default() };
    BoardFile::open(path, setup)
}

/// Opens the board at this address: `redis://…` or `rediss://…`. Unless the address has a name for the board, it is that of
/// the project's directory, so that every clone of a project has the same one.
///
/// # Errors
/// If the server cannot be used.
pub fn open_board_on_server(url: &str, project: &Path) -> Result<RedisBoard, BoardError> {
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned());
    let address = Address::parse(url, name.as_deref().unwrap_or("default"))?;
    RedisBoard::open(&address, RedisSetup::new(crate::new_uuid()))
}

/// Opens the board at this place. `home` is where we keep our state.
///
/// # Errors
/// If it cannot be used.
pub fn open_board_at(
    place: &BoardPlace,
    home: &Path,
    project: &Path,
) -> Result<Box<dyn SharedBoard>, BoardError> {
    Ok(match place {
        BoardPlace::Project => Box::new(open_project_board(home, project)?),
        BoardPlace::File(path) => Box::new(open_board(path)?),
        BoardPlace::Server { url, .. } => Box::new(open_board_on_server(url, project)?),
    })
}

/// Gives up a claim, so that the task can be claimed again at once. Its history says why.
///
/// # Errors
/// If the claim is over already, or the board cannot be used.
pub fn return_claim<B: Board + ?Sized>(
    board: &mut B,
    (id, fence): (&str, u64),
    why: &str,
) -> Result<Task, BoardError> {
    board.act(id, &TaskAction::Return { fence, reason: why.to_owned() })
}
