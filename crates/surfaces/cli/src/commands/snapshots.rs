//! `ostler snapshots`: the kept states of this directory.

use super::sessions::age;
use crate::args::undo::SnapshotsCommand;
use crate::exit::Code;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler_profile::Environment;
use ostler_sdk::escaped;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Characters of a command in the list, and of the id of a session: enough to find it by.
const WIDE: usize = 60;
const SESSION: usize = 13;

pub fn run(environment: &Environment, command: &SnapshotsCommand) -> Result<Code> {
    let home = environment.home()?;
    let cwd = std::env::current_dir()?.canonicalize()?;
    match command {
        SnapshotsCommand::List { json } => list(&home, &cwd, *json),
        SnapshotsCommand::Diff { a, b, json } => diff(&home, &cwd, (*a, *b), *json),
        SnapshotsCommand::Prune { dry_run, json } => prune(&home, &cwd, *dry_run, *json),
    }
}

fn list(home: &Path, cwd: &Path, json: bool) -> Result<Code> {
    let lines = ostler::list_snapshots(home, cwd)?;
    let mut out = std::io::stdout().lock();
    if lines.is_empty() && !json {
        writeln!(out, "No snapshots of this directory yet.")?;
    }
    let now = ostler::now_ms();
    for line in lines {
        if json {
            let line = json!({
                "id": line.id, "at_ms": line.at, "reason": line.reason,
                "session": line.session, "command": line.command,
                "changed": line.changed, "git_changed": line.of_git, "base": line.base,
            });
            writeln!(out, "{}", escaped(&line.to_string()))?;
            continue;
        }
        // Of the first one only the number of all paths is known.
        let what = match (line.base, line.of_git) {
            (true, _) => "paths, with .git",
            (false, 0) => "changed",
            (false, _) => "changed, and git",
        };
        let age = age(now.saturating_sub(line.at));
        let session = line.session.as_deref().map_or("-", |id| id.get(..SESSION).unwrap_or(id));
        let command: Option<String> =
            line.command.map(|command| visible(&command).chars().take(WIDE).collect());
        let command = command.map(|command| format!(": {command}")).unwrap_or_default();
        let reason = visible(&line.reason);
        writeln!(
            out,
            "{:>6}  {age:>8}  {:>7} {what:<16}  {:<SESSION$}  {reason}{command}",
            line.id,
            line.changed,
            visible(session)
        )?;
    }
    Ok(Code::Done)
}

fn diff(home: &Path, cwd: &Path, ids: (Option<u64>, Option<u64>), json: bool) -> Result<Code> {
    let (from, to, changes) = ostler::diff_snapshots(home, cwd, ids.0, ids.1)?;
    let mut out = std::io::stdout().lock();
    if changes.is_empty() && !json {
        writeln!(out, "No differences between {from} and {to}.")?;
    }
    for change in changes {
        let path = change.path.strip_prefix(cwd).unwrap_or(&change.path).to_string_lossy();
        if json {
            let line = json!({"from": from, "to": to, "kind": change.kind, "path": path});
            writeln!(out, "{}", escaped(&line.to_string()))?;
        } else {
            writeln!(out, "{:<8}  {}", change.kind, visible(&path))?;
        }
    }
    Ok(Code::Done)
}

fn prune(home: &Path, cwd: &Path, dry_run: bool, json: bool) -> Result<Code> {
    let pruned = ostler::prune_snapshots(home, cwd, dry_run)?;
    let mut out = std::io::stdout().lock();
    if json {
        let line = json!({
            "dry_run": dry_run, "snapshots": pruned.snapshots, "objects": pruned.objects,
            "bytes": pruned.bytes, "kept": pruned.kept,
        });
        writeln!(out, "{}", escaped(&line.to_string()))?;
        return Ok(Code::Done);
    }
    let verb = if dry_run { "Would drop" } else { "Dropped" };
    writeln!(
        out,
        "{verb} {} snapshots and {} contents ({} KB). {} snapshots remain.",
        pruned.snapshots,
        pruned.objects,
        pruned.bytes / 1024,
        pruned.kept
    )?;
    Ok(Code::Done)
}
