//! The board of a run, as every process opens it.

use crate::plan::{Plan, Planted, Store};
use ostler_board::SharedBoard;
use ostler_board_redis::{Address, RedisBoard, RedisSetup, Scripts};
use std::path::Path;
use std::time::Duration;

/// Longer than a server is away.
const PATIENCE: Duration = Duration::from_secs(60);
/// The comparison that makes a fence a fence, as the script has it.
const FENCE_CHECK: &str = "task.fence ~= fence or fence == 0";

pub fn open(plan: &Plan, directory: &Path) -> Result<Box<dyn SharedBoard>, String> {
    if plan.store == Store::Sqlite {
        let board = ostler::open_board(&directory.join("board.db"));
        return Ok(Box::new(board.map_err(|why| why.to_string())?));
    }
    let mut setup = RedisSetup { patience: PATIENCE, ..RedisSetup::new(ostler::new_uuid()) };
    if plan.planted == Some(Planted::NoFencing) {
        let broken = Scripts::default().with(FENCE_CHECK, "false");
        setup.scripts = broken.ok_or("the script has no such check any more")?;
    }
    let address = Address::parse(&plan.address, "chaos").map_err(|why| why.to_string())?;
    let board = RedisBoard::open(&address, setup).map_err(|why| why.to_string())?;
    Ok(Box::new(board))
}
