//! The board at the end, in a file: what the check reads instead of the board.

use ostler_board::{MailQuery, SharedBoard, TaskQuery};
use serde_json::json;
use std::path::Path;

pub const FILE: &str = "board.json";
const MOST: usize = 1_000_000;

pub fn write(board: &mut dyn SharedBoard, directory: &Path) -> Result<(), String> {
    let wrong = |why: ostler_board::BoardError| why.to_string();
    let list = board.list(&TaskQuery { statuses: Vec::new(), limit: MOST }).map_err(wrong)?;
    let mut tasks = Vec::new();
    for task in list.tasks {
        tasks.push(board.show(task.id.as_str()).map_err(wrong)?);
    }
    let query = MailQuery { with_archive: true, limit: MOST, ..MailQuery::default() };
    let mails = board.peek(&query).map_err(wrong)?;
    let all = serde_json::to_vec(&json!({"tasks": tasks, "mails": mails}));
    let all = all.map_err(|why| why.to_string())?;
    std::fs::write(directory.join(FILE), all).map_err(|why| format!("cannot write {FILE}: {why}"))
}
