//! `ostler worktrees`: the worktrees in which agents work, and how their branches come back.

mod command_check;
mod failed_merges;
mod merge;
mod remote_choice;
mod text;
mod waiting_branch;

use crate::args::worktrees::{DiffArgs, DiscardArgs, PruneArgs, WorktreesArgs, WorktreesCommand};
use crate::exit::{Code, Wrong, warn};
use anyhow::Result;
use ostler::worktrees::{Discarded, PruneOptions, TreeEntry, WorktreeError, Worktrees};
use ostler::{ProjectCommandOptions, ProjectCommands};
use ostler_profile::{Environment, Flags, Profile, find_places};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal, Write};

pub fn run(init: &ostler::Init, environment: &Environment, args: &WorktreesArgs) -> Result<Code> {
    ostler::block_on(run_command(init, environment, args))?
}

async fn run_command(
    init: &ostler::Init,
    environment: &Environment,
    args: &WorktreesArgs,
) -> Result<Code> {
    let places = find_places(environment, &Flags::default())?;
    let variables = environment.for_commands(&[]);
    let trees =
        ostler::open_worktrees(init, &places.ostler_home, &places.project, variables).await?;
    match &args.command {
        WorktreesCommand::List => list(&trees, args.json).await,
        WorktreesCommand::Diff(diff) => show_diff(&trees, diff, args.json).await,
        WorktreesCommand::Merge(merge) => {
            merge::run(init, environment, &trees, merge, args.json).await
        }
        WorktreesCommand::Discard(discard) => {
            discard_all(init, environment, &trees, discard, args.json).await
        }
        WorktreesCommand::Prune(prune) => {
            prune_all(init, environment, &trees, prune, args.json).await
        }
    }
}

/// One answer: the object, or the lines for people.
fn say(json: Option<Value>, lines: &[String]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match json {
        Some(value) => writeln!(out, "{}", escaped(&value.to_string()))?,
        None => lines.iter().try_for_each(|line| writeln!(out, "{line}"))?,
    }
    Ok(())
}

async fn list(trees: &Worktrees, json: bool) -> Result<Code> {
    let found = trees.list().await?;
    say(json.then(|| json!({ "worktrees": found })), &text::table(&found))?;
    Ok(Code::Done)
}

async fn show_diff(trees: &Worktrees, args: &DiffArgs, json: bool) -> Result<Code> {
    let diff = trees.diff(&args.name).await?;
    if json || args.stat {
        say(json.then(|| json!(diff)), &text::stat(&diff))?;
        return Ok(Code::Done);
    }
    let bytes = trees.diff_text(&diff).await?;
    let mut out = std::io::stdout().lock();
    match out.is_terminal() {
        // What a terminal would obey is shown.
        true => {
            out.write_all(ostler::strip_terminal(&String::from_utf8_lossy(&bytes)).as_bytes())?
        }
        false => out.write_all(&bytes)?,
    }
    Ok(Code::Done)
}

/// The commands of the project that run when a worktree goes, as far as they are trusted. What is not is named.
fn project_commands(init: &ostler::Init, environment: &Environment) -> Result<ProjectCommands> {
    let profile = Profile::load(environment, Flags::default())?;
    profile.news().iter().for_each(|notice| warn(notice));
    let options = ProjectCommandOptions {
        settings: profile.worktrees(),
        sandbox: profile.sandbox(),
        policy: profile.loaded.policy.clone(),
        environment: profile.environment.for_commands(&profile.loaded.env),
        user_home: profile.places.user_home.clone(),
        home: profile.places.ostler_home.clone(),
    };
    Ok(ProjectCommands::new(init, options))
}

async fn prune_all(
    init: &ostler::Init,
    environment: &Environment,
    trees: &Worktrees,
    args: &PruneArgs,
    json: bool,
) -> Result<Code> {
    let options = PruneOptions { ignored: args.ignored, dry_run: args.dry_run };
    let report = match args.dry_run {
        true => trees.prune(options, None).await?,
        false => {
            let commands = project_commands(init, environment)?;
            let report = trees.prune(options, Some(&commands.of(trees))).await;
            commands.close().await;
            report?
        }
    };
    for warning in &report.warnings {
        warn(&warning.to_string());
    }
    say(json.then(|| json!(report)), &text::pruned(&report, args.dry_run))?;
    Ok(Code::Done)
}

async fn discard_all(
    init: &ostler::Init,
    environment: &Environment,
    trees: &Worktrees,
    args: &DiscardArgs,
    json: bool,
) -> Result<Code> {
    let mut entries = Vec::new();
    for name in &args.names {
        entries.push(trees.find(name).await?);
    }
    if !args.yes && !agrees(&entries, json)? {
        say(None, &["Nothing was changed.".to_owned()])?;
        return Ok(Code::Failed);
    }
    let commands = project_commands(init, environment)?;
    let done = discarded(trees, &entries, &commands).await;
    commands.close().await;
    let done = done?;
    for warning in done.iter().flat_map(|one| &one.warnings) {
        warn(&warning.to_string());
    }
    let lines: Vec<String> = done.iter().flat_map(text::discarded).collect();
    say(json.then(|| json!({ "discarded": done })), &lines)?;
    Ok(Code::Done)
}

async fn discarded(
    trees: &Worktrees,
    entries: &[TreeEntry],
    commands: &ProjectCommands,
) -> Result<Vec<Discarded>, WorktreeError> {
    let mut done = Vec::new();
    for entry in entries {
        done.push(trees.discard(&entry.name, Some(&commands.of(trees))).await?);
    }
    Ok(done)
}

/// Shows what would be lost and asks. Without a person there is nobody to decide.
fn agrees(entries: &[TreeEntry], json: bool) -> Result<bool> {
    let is_person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if json || !is_person {
        let why = "discard deletes work that may exist nowhere else; confirm with --yes";
        return Err(Wrong::Usage(why.into()).into());
    }
    let mut out = std::io::stdout().lock();
    for entry in entries {
        writeln!(out, "{}", text::line(entry))?;
    }
    write!(out, "Delete these worktrees and their branches? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
