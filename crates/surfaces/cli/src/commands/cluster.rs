//! `ostler cluster status`: who works at a board, what waits, and how the server is.

use super::sessions::age;
use super::tasks::{damaged, open};
use crate::args::cluster::{ClusterArgs, ClusterCommand};
use crate::exit::Code;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::board::{BoardOverview, MailBacklog, ServerState, WorkerClaim};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Leases end and times pass while nothing else happens.
const LOOK: Duration = Duration::from_secs(1);
const CLEAR: &str = "\x1b[H\x1b[2J";

pub fn run(environment: &Environment, args: &ClusterArgs) -> Result<Code> {
    let ClusterCommand::Status(status) = &args.command;
    let mut board = open(environment, &args.board)?;
    let json = args.board.json;
    let is_screen = status.watch && !json && std::io::stdout().is_terminal();
    let (bell, mut last) = (board.bell(), String::new());
    loop {
        let ticket = bell.ticket();
        let seen = board.overview()?;
        let text = match json {
            true => escaped(&serde_json::to_string(&seen)?),
            false => lines(&seen, ostler::now_ms()).join("\n"),
        };
        if text != last {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}{text}", if is_screen { CLEAR } else { "" })?;
            out.flush()?;
            last = text;
        }
        if !status.watch {
            return Ok(Code::Done);
        }
        bell.wait(ticket, LOOK);
    }
}

fn lines(seen: &BoardOverview, now: u64) -> Vec<String> {
    let (tasks, finished) = (&seen.tasks, &seen.finished);
    let mut lines = vec![
        format!("board     {}", visible(&seen.board)),
        format!(
            "tasks     {} pending ({} ready), {} in progress, {} done, {} failed, {} parked, {} cancelled",
            tasks.pending,
            tasks.ready,
            tasks.in_progress,
            tasks.done,
            tasks.failed,
            tasks.parked,
            tasks.cancelled
        ),
        format!(
            "finished  {} in the last minute, {} in the last 5 minutes",
            finished.last_minute, finished.last_5_minutes
        ),
    ];
    lines.extend(seen.server.as_ref().map(|server| format!("server    {}", server_line(server))));
    lines.extend(damaged(&seen.damaged));
    lines.push(String::new());
    match seen.workers.is_empty() {
        true => lines.push("No worker has a task.".to_owned()),
        false => lines.extend(seen.workers.iter().map(|claim| worker_line(claim, now))),
    }
    let hidden = tasks.in_progress.saturating_sub(seen.workers.len() as u64);
    if hidden > 0 {
        lines.push(format!("… and {hidden} more claims"));
    }
    if !seen.mail.is_empty() {
        lines.push(String::new());
        lines.extend(seen.mail.iter().map(|backlog| mail_line(backlog, now)));
    }
    lines
}

fn worker_line(claim: &WorkerClaim, now: u64) -> String {
    let lease = match claim.lease_until.checked_sub(now) {
        Some(left) => format!("lease ends in {}", age(left)),
        None => "lease has expired".to_owned(),
    };
    let heartbeat = age(now.saturating_sub(claim.heartbeat_ms));
    format!(
        "{:<16}  {} {}  (attempt {}, fence {}; {lease}, heartbeat {heartbeat} ago)",
        visible(&claim.worker),
        claim.task,
        visible(&claim.title),
        claim.attempt,
        claim.fence
    )
}

fn mail_line(backlog: &MailBacklog, now: u64) -> String {
    let oldest = age(now.saturating_sub(backlog.oldest_ms));
    format!(
        "mail to {:<16}  {} unread, {} being read, the oldest is {oldest} old",
        visible(&backlog.to),
        backlog.unread,
        backlog.delivered
    )
}

fn server_line(server: &ServerState) -> String {
    let Some(version) = &server.version else {
        return "does not show its state to this user (+info is missing)".to_owned();
    };
    let product = if server.product.as_deref() == Some("valkey") { "Valkey" } else { "Redis" };
    let role = match server.role.as_deref() {
        Some("master") => format!("primary with {} replicas", server.replicas.unwrap_or(0)),
        Some("slave") => "replica".to_owned(),
        other => other.unwrap_or("role unknown").to_owned(),
    };
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let memory = megabytes(server.memory_bytes.unwrap_or(0));
    let limit = match server.memory_limit_bytes {
        Some(0) | None => "no limit".to_owned(),
        Some(limit) => format!("limit {}", megabytes(limit)),
    };
    let aof = match (server.aof, server.aof_sync.as_deref()) {
        (Some(true), sync) => {
            let sync = sync.map(|sync| format!(" (sync: {})", visible(sync))).unwrap_or_default();
            format!("AOF on{sync}, last write {}", server.aof_last_write.as_deref().unwrap_or("?"))
        }
        _ => "AOF off: a restart loses the board".to_owned(),
    };
    format!("{product} {}, {role}, {memory} used ({limit}), {aof}", visible(version))
}
