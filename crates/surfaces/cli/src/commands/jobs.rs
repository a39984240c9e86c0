//! `ostler jobs`: background jobs of all sessions, from any terminal.

use super::sessions::age;
use crate::args::jobs::JobsCommand;
use crate::exit::{Code, warn};
use crate::output::visible_text::visible;
use anyhow::{Result, bail};
use ostler::{JobView, MachineJob};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Bytes of an output that are shown.
const SHOWN: u64 = 8_000;
/// Between two looks at the output of a job that runs.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of a line that has not ended; a longer one is shown in parts.
const LONGEST_LINE: usize = 8_000;

pub fn run(environment: &Environment, command: &JobsCommand) -> Result<Code> {
    let home = environment.home()?;
    let mut out = std::io::stdout().lock();
    // Whoever finds that a keeper was killed does what it could not do any more.
    ostler::inspect_lost_jobs(&home).iter().for_each(|line| warn(line));
    match command {
        JobsCommand::List { session, running, json } => {
            let mut jobs = ostler::machine_jobs(&home, session.as_deref());
            jobs.retain(|job| !running || job.view.end.is_none());
            match (jobs.is_empty(), json) {
                (true, false) => writeln!(out, "{}", nothing(session.as_deref(), *running))?,
                (false, false) => writeln!(out, "{HEADER}")?,
                (_, true) => {}
            }
            for job in &jobs {
                let line = if *json { as_json(job)? } else { machine_line(job) };
                writeln!(out, "{line}")?;
            }
            ostler::damaged_jobs(&home).iter().for_each(|line| warn(&visible(line)));
        }
        JobsCommand::Show { id, follow, json } => {
            let job = find(&home, id)?;
            match (json, follow) {
                (true, _) => {
                    let mut shown = serde_json::to_value(&job)?;
                    shown["newest_output"] = job.output_reader().newest(SHOWN).into();
                    writeln!(out, "{}", escaped(&shown.to_string()))?;
                }
                (false, true) => {
                    details(&job).iter().try_for_each(|line| writeln!(out, "{line}"))?;
                    self::follow(&job, &home, &mut out)?;
                }
                (false, false) => {
                    details(&job).iter().try_for_each(|line| writeln!(out, "{line}"))?;
                    let output = job.output_reader().newest(SHOWN);
                    output.lines().try_for_each(|line| writeln!(out, "{}", visible(line)))?;
                }
            }
        }
        JobsCommand::Stop { id, json } => {
            let stopped = ostler::stop_machine_job(&find(&home, id)?)?;
            let job = find(&home, id)?;
            match (json, stopped) {
                (true, _) => writeln!(out, "{}", as_json(&job)?)?,
                (false, true) => writeln!(out, "stopped {}", shown_id(&job.view))?,
                (false, false) => writeln!(out, "{} had ended", shown_id(&job.view))?,
            }
        }
    }
    Ok(Code::Done)
}

/// The jobs of a session, for its own terminal.
pub fn table(jobs: &[JobView]) -> Vec<String> {
    match jobs.is_empty() {
        true => vec!["No background jobs.".to_owned()],
        false => jobs.iter().map(own_line).collect(),
    }
}

/// A job of a session, for its own terminal, with the end of its output.
pub fn shown(job: &JobView) -> Vec<String> {
    let mut lines = vec![own_line(job)];
    if let Some(path) = &job.record.output {
        lines.push(format!("output: {}", visible(&path.display().to_string())));
        lines.extend(ostler::JobOutputReader::new(path).newest(SHOWN).lines().map(visible));
    }
    lines
}

fn own_line(job: &JobView) -> String {
    let until = job.end.as_ref().map_or(Some(ostler::now_ms()), |end| end.at.map(|at| at.0));
    let state = job.end.as_ref().map_or("running", |end| end.status.name());
    line(job, state, until.map(|until| until.saturating_sub(job.record.at.0)))
}

fn nothing(session: Option<&str>, running: bool) -> String {
    let which = if running { "are running" } else { "were found" };
    match session {
        None if running => "No background jobs are running.".to_owned(),
        None => "No background jobs.".to_owned(),
        Some(id) => format!("No background jobs of session \"{}\" {which}.", visible(id)),
    }
}

/// Above the lines of a list.
const HEADER: &str = "ID       STATE      EXIT  DURATION  LABEL";

/// Without a code, it has not ended or a signal ended it.
fn line(job: &JobView, state: &str, duration: Option<u64>) -> String {
    let code = job.end.as_ref().and_then(|end| end.exit_code);
    let code = code.map_or("-".to_owned(), |code| code.to_string());
    let kept = if job.record.kept { "  [kept]" } else { "" };
    let (id, label) = (shown_id(job), visible(&job.record.label));
    let duration = duration.map_or("-".to_owned(), age);
    format!("{id:<7}  {state:<9}  {code:>4}  {duration:>8}  {label}{kept}")
}

/// Read from a file that anybody with the home directory could have written.
fn shown_id(job: &JobView) -> String {
    visible(job.record.id.as_str())
}

fn machine_line(job: &MachineJob) -> String {
    let session: String = job.session.chars().take(13).collect();
    let session = visible(&session);
    let line = line(&job.view, job.state, job.duration_ms);
    format!("{line}  ({} in {})", session, visible(&job.cwd.display().to_string()))
}

/// What is known of a job, a line each.
fn details(job: &MachineJob) -> Vec<String> {
    let (record, end) = (&job.view.record, job.view.end.as_ref());
    let seconds = |millis: u64| format!("{} s", millis as f64 / 1_000.0);
    let whole = |millis: u64| format!("{} s", millis / 1_000);
    let state = match record.kept {
        true => format!("{} (kept)", job.state),
        false => job.state.to_owned(),
    };
    let reader = job.output_reader();
    let output = match reader.fault() {
        None => job.output().display().to_string(),
        Some(why) => format!("{} cannot be read: {why}", job.output().display()),
    };
    let fields = [
        ("id", Some(record.id.to_string())),
        ("kind", Some(record.kind.name().to_owned())),
        ("label", Some(record.label.clone())),
        ("command", record.command.clone()),
        ("state", Some(state)),
        ("exit code", end.and_then(|end| end.exit_code).map(|code| code.to_string())),
        ("ended", end.map(|end| end.words.clone())),
        ("started", Some(ostler::time_text(record.at))),
        ("duration", job.duration_ms.map(whole)),
        ("limit", record.limit_ms.map(seconds)),
        ("session", Some(job.session.clone())),
        ("directory", Some(job.cwd.display().to_string())),
        ("output", Some(output)),
    ];
    let notes = end.into_iter().flat_map(|end| &end.notes).map(|note| ("note", Some(note.clone())));
    let line = |(name, value): (&str, Option<String>)| {
        value.map(|value| format!("{:<11}{}", format!("{name}:"), visible(&value)))
    };
    fields.into_iter().chain(notes).filter_map(line).chain([String::new()]).collect()
}

/// Prints what the job writes until it has ended.
fn follow(job: &MachineJob, home: &Path, out: &mut impl Write) -> Result<()> {
    let mut reader = job.output_reader();
    let mut rest = String::new();
    loop {
        // In this order: what it wrote before its end is read.
        let now = job.now(home);
        let is_running = now.as_ref().is_some_and(|job| job.view.end.is_none());
        let new = reader.new_output();
        rest.push_str(&new);
        while let Some((line, after)) = rest.split_once('\n') {
            writeln!(out, "{}", visible(line))?;
            rest = after.to_owned();
        }
        let is_over = !is_running && new.is_empty();
        if !rest.is_empty() && (is_over || rest.len() > LONGEST_LINE) {
            writeln!(out, "{}", visible(&std::mem::take(&mut rest)))?;
        }
        out.flush()?;
        if is_over {
            let end = now.and_then(|job| job.view.end).map(|end| end.words);
            let end = end.unwrap_or_else(|| "is gone: its directory was removed".to_owned());
            warn(&format!("{} {end}", shown_id(&job.view)));
            return Ok(());
        }
        if new.is_empty() {
            std::thread::sleep(LOOK);
        }
    }
}

fn as_json(job: &MachineJob) -> Result<String> {
    Ok(escaped(&serde_json::to_string(job)?))
}

fn find(home: &Path, id: &str) -> Result<MachineJob> {
    let mut found = ostler::machine_jobs(home, None);
    found.retain(|job| !id.is_empty() && job.view.record.id.as_str().starts_with(id));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => match ostler::damaged_jobs(home).into_iter().find(|line| line.contains(id)) {
            Some(line) if !id.is_empty() => bail!("{}", visible(&line)),
            _ => bail!("there is no job \"{}\"; `ostler jobs list` shows all of them", visible(id)),
        },
        n => bail!("{n} jobs begin with \"{}\"; give more of the id", visible(id)),
    }
}
