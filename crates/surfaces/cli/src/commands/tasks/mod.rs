//! `ostler tasks`: the board that people, scripts and workers share.

mod graph;
mod svg;
mod text;

pub use text::{damaged, table};

use crate::args::tasks::{AddArgs, BoardArgs, ClaimArgs, ListArgs, TasksArgs, TasksCommand};
use crate::exit::{Code, warn};
use anyhow::Result;
use ostler::board::{NewTask, SharedBoard, Status, Task, TaskAction, TaskId, TaskList, TaskQuery};
use ostler_profile::{Environment, Flags, find_places};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// There is nothing to claim: scripts can tell it from a failure.
pub const NOTHING: Code = Code::Config;
/// A lease may end while nothing else happens.
const LOOK: Duration = Duration::from_secs(1);
const CLEAR: &str = "\x1b[H\x1b[2J";

pub fn run(environment: &Environment, args: &TasksArgs) -> Result<Code> {
    let mut board = open(environment, &args.board)?;
    let json = args.board.json;
    let (id, action, word) = match &args.command {
        TasksCommand::Add(args) => return add(&mut *board, args, json),
        TasksCommand::List(args) => return list(&mut *board, args, json),
        TasksCommand::Show(args) => return shown(&board.show(&args.id)?, json),
        TasksCommand::Next => return next(&mut *board, json),
        TasksCommand::Claim(args) => return claim(&mut *board, args, json),
        TasksCommand::Graph(args) => return graph::run(&mut *board, args.format, json),
        TasksCommand::Renew(args) => {
            let lease = Duration::from_secs(args.lease);
            (&args.id, TaskAction::Renew { fence: args.fence, lease }, "Renewed")
        }
        TasksCommand::Finish(args) => {
            let (fence, result) = (args.fence, args.result.clone());
            (&args.id, TaskAction::Finish { fence, result }, "Finished")
        }
        TasksCommand::Fail(args) => {
            let (fence, error) = (args.fence, args.error.clone());
            (&args.id, TaskAction::Fail { fence, error }, "Failed")
        }
        TasksCommand::Retry(args) => (&args.id, TaskAction::Retry, "Pending again"),
        TasksCommand::Cancel(args) => {
            (&args.id, TaskAction::Cancel { reason: args.reason.clone() }, "Cancelled")
        }
    };
    let task = board.act(id, &action)?;
    say(json.then(|| as_json(&task)), &text::headline(word, &task))
}

/// The board that the flags or the environment name, or the project's. There is no fallback here.
pub fn open(environment: &Environment, args: &BoardArgs) -> Result<Box<dyn SharedBoard>> {
    // A board that cannot be used is one failure, whoever names it.
    let place = environment.board(args.board.as_deref()).map_err(|why| anyhow::anyhow!("{why}"))?;
    let places = find_places(environment, &Flags::default())?;
    Ok(ostler::open_board_at(&place, &places.ostler_home, &places.project)?)
}

/// One answer: the object, or the line for people.
pub fn say(json: Option<Value>, line: &str) -> Result<Code> {
    let mut out = std::io::stdout().lock();
    match json {
        Some(value) => writeln!(out, "{}", escaped(&value.to_string()))?,
        None => writeln!(out, "{line}")?,
    }
    Ok(Code::Done)
}

fn as_json(task: &Task) -> Value {
    serde_json::to_value(task).unwrap_or_default()
}

fn shown(task: &Task, json: bool) -> Result<Code> {
    say(json.then(|| as_json(task)), &text::whole(task).join("\n"))
}

fn add(board: &mut dyn SharedBoard, args: &AddArgs, json: bool) -> Result<Code> {
    let id = TaskId::from_uuid(&ostler::new_uuid());
    let task = NewTask {
        description: args.description.clone(),
        priority: args.priority.into(),
        depends_on: args.depends_on.clone(),
        touches: args.touches.clone(),
        ..NewTask::new(id.clone(), args.title.clone())
    };
    board.add(&[task])?;
    let task = board.show(id.as_str())?;
    say(json.then(|| as_json(&task)), &text::headline("Added", &task))
}

fn next(board: &mut dyn SharedBoard, json: bool) -> Result<Code> {
    match board.next()? {
        Some(task) => shown(&task, json),
        None => nothing(board),
    }
}

fn claim(board: &mut dyn SharedBoard, args: &ClaimArgs, json: bool) -> Result<Code> {
    let lease = Duration::from_secs(args.lease);
    let Some(claimed) = board.claim(args.id.as_deref(), &args.worker, lease)? else {
        return nothing(board);
    };
    let task = board.show(claimed.id.as_str())?;
    let mut value = as_json(&task);
    value["fence"] = json!(claimed.fence);
    value["lease_until"] = json!(claimed.lease_until);
    let line = format!("{} (fence {})", text::headline("Claimed", &task), claimed.fence);
    say(json.then_some(value), &line)
}

fn nothing(board: &mut dyn SharedBoard) -> Result<Code> {
    let mut count = |status| {
        let query = TaskQuery { statuses: vec![status], limit: 0 };
        board.list(&query).map(|list| list.total)
    };
    let (pending, in_progress) = (count(Status::Pending)?, count(Status::InProgress)?);
    let why = match pending {
        0 => "no task is pending".to_owned(),
        n => format!("{n} pending, all of them blocked or touching files of tasks in progress"),
    };
    warn(&format!("nothing to claim: {why}; {in_progress} in progress"));
    Ok(NOTHING)
}

fn list(board: &mut dyn SharedBoard, args: &ListArgs, json: bool) -> Result<Code> {
    let statuses = args.status.iter().map(|name| (*name).into()).collect();
    let query = TaskQuery { statuses, limit: args.limit.get() };
    let bell = board.bell();
    let is_screen = args.watch && !json && std::io::stdout().is_terminal();
    let mut last = String::new();
    loop {
        let ticket = bell.ticket();
        let found = board.list(&query)?;
        let text = if json { tasks_json(&found) } else { text::table(&found).join("\n") };
        if text != last {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}{text}", if is_screen { CLEAR } else { "" })?;
            out.flush()?;
            last = text;
        }
        if !args.watch {
            return Ok(Code::Done);
        }
        bell.wait(ticket, LOOK);
    }
}

fn tasks_json(found: &TaskList) -> String {
    let tasks: Vec<Value> = found.tasks.iter().map(as_json).collect();
    let mut all = json!({"tasks": tasks, "total": found.total});
    if !found.damaged.is_empty() {
        all["damaged"] = json!(found.damaged);
    }
    escaped(&all.to_string())
}
