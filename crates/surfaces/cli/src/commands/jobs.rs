//! `ostler jobs`: background jobs of all sessions, from any terminal.

use super::sessions::age;
use crate::args::jobs::JobsCommand;
use crate::exit::Code;
use crate::output::visible::visible;
use anyhow::{Result, bail};
use ostler::{JobView, MachineJob};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes of an output that are shown.
const SHOWN: u64 = 8_000;

pub fn run(environment: &Environment, command: &JobsCommand) -> Result<Code> {
    let home = environment.home()?;
    let mut out = std::io::stdout().lock();
    match command {
        JobsCommand::List { session, running, json } => {
            let mut jobs = ostler::machine_jobs(&home, session.as_deref());
            jobs.retain(|job| !running || job.view.end.is_none());
            if jobs.is_empty() && !json {
                writeln!(out, "No background jobs.")?;
            }
            for job in &jobs {
                let line = if *json { as_json(job)? } else { machine_line(job) };
                writeln!(out, "{line}")?;
            }
        }
        JobsCommand::Show { id, json } => {
            let job = find(&home, id)?;
            let output = newest(&job.output());
            if *json {
                let mut shown = serde_json::to_value(&job)?;
                shown["newest_output"] = output.into();
                writeln!(out, "{}", escaped(&shown.to_string()))?;
            } else {
                writeln!(out, "{}", machine_line(&job))?;
                writeln!(out, "output: {}", visible(&job.output().display().to_string()))?;
                output.lines().try_for_each(|line| writeln!(out, "{}", visible(line)))?;
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
        false => jobs.iter().map(line).collect(),
    }
}

/// A job of a session, for its own terminal, with the end of its output.
pub fn shown(job: &JobView) -> Vec<String> {
    let mut lines = vec![line(job)];
    if let Some(path) = &job.record.output {
        lines.push(format!("output: {}", visible(&path.display().to_string())));
        lines.extend(newest(path).lines().map(visible));
    }
    lines
}

fn line(job: &JobView) -> String {
    let since = age(ostler::now_ms().saturating_sub(job.record.at.0));
    let state = job.end.as_ref().map_or("running", |end| end.status.name());
    let kept = if job.record.kept { "  [kept]" } else { "" };
    format!("{}  {state:<9}  {since:>8}  {}{kept}", shown_id(job), visible(&job.record.label))
}

/// Read from a file that anybody with the home directory could have written.
fn shown_id(job: &JobView) -> String {
    visible(job.record.id.as_str())
}

fn machine_line(job: &MachineJob) -> String {
    let session: String = job.session.chars().take(13).collect();
    let session = visible(&session);
    format!("{}  ({} in {})", line(&job.view), session, visible(&job.cwd.display().to_string()))
}

fn as_json(job: &MachineJob) -> Result<String> {
    Ok(escaped(&serde_json::to_string(job)?))
}

fn find(home: &Path, id: &str) -> Result<MachineJob> {
    let mut found = ostler::machine_jobs(home, None);
    found.retain(|job| !id.is_empty() && job.view.record.id.as_str().starts_with(id));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!("there is no job \"{}\"; `ostler jobs list` shows all of them", visible(id)),
        n => bail!("{n} jobs begin with \"{}\"; give more of the id", visible(id)),
    }
}

fn newest(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(SHOWN);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(SHOWN).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
