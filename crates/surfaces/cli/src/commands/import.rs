//! `ostler import`: sessions of other coding agents become sessions of ours.

use crate::args::import::{ImportArgs, ProgramName};
use crate::commands::sessions::age;
use crate::exit::{Code, warn};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{
    Block, Conversation, Error, ImportedSession, Program, ResultPart, TranscriptInfo,
    TranscriptStep,
};
use ostler_profile::Environment;
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

/// Characters of a title in a listing, and of a call or a result in a conversation.
const TITLE: usize = 60;
const LINE: usize = 200;

pub fn run(environment: &Environment, args: &ImportArgs) -> Result<Code> {
    let program = args.program.map(Program::from);
    match program {
        Some(program) if args.show => show_all(environment, program, &args.ids, args.json),
        Some(program) if args.all => import_all(environment, program, args.json),
        Some(program) if !args.ids.is_empty() => {
            import_each(environment, program, &args.ids, args.json)
        }
        program => list(environment, program, args.everywhere, args.json),
    }
}

/// What can be imported, and what was.
pub fn list(
    environment: &Environment,
    program: Option<Program>,
    everywhere: bool,
    json: bool,
) -> Result<Code> {
    let cwd = cwd()?;
    let places = environment.transcripts()?;
    let mut found = ostler::transcripts(&places, Some(&*cwd).filter(|_| !everywhere));
    found.retain(|info| program.is_none_or(|program| program == info.program));
    let imported: HashMap<String, _> =
        ostler::imported_from(&environment.home()?, &cwd)?.into_iter().collect();
    let mut out = std::io::stdout().lock();
    for info in &found {
        let session = imported.get(&origin(info)).map(ostler::SessionId::as_str);
        let line = match json {
            true => escaped(&as_json(info, session).to_string()),
            false => table_line(info, session),
        };
        writeln!(out, "{line}")?;
    }
    if found.is_empty() && !json {
        let whose = program.map_or_else(|| "other coding agents".into(), |it| it.to_string());
        let place = if everywhere { "" } else { " in this directory (--everywhere lists all)" };
        writeln!(out, "No sessions of {whose}{place}.")?;
    }
    Ok(Code::Done)
}

fn cwd() -> Result<PathBuf> {
    Ok(std::env::current_dir()?.canonicalize()?)
}

fn origin(info: &TranscriptInfo) -> String {
    format!("{}:{}", info.program.word(), info.id)
}

fn table_line(info: &TranscriptInfo, session: Option<&str>) -> String {
    let age = age(ostler::now_ms().saturating_sub(info.modified.0));
    let title: String = visible(&info.title).chars().take(TITLE).collect();
    let branch = info.branch.as_deref().map(|name| format!("  [{}]", visible(name)));
    let session = session.map(|id| format!("  (imported as {id})"));
    format!(
        "{:<8}  {}  {age:>8}  {:>4} messages{}  {title}{}",
        info.program.word(),
        visible(&info.id),
        info.messages,
        branch.unwrap_or_default(),
        session.unwrap_or_default()
    )
}

fn as_json(info: &TranscriptInfo, session: Option<&str>) -> Value {
    json!({
        "program": info.program.word(), "id": info.id, "title": info.title,
        "messages": info.messages, "branch": info.branch, "cwd": info.cwd,
        "created_ms": info.created.map(|at| at.0), "modified_ms": info.modified.0,
        "bytes": info.bytes, "path": info.path, "imported_as": session,
    })
}

fn import_each(
    environment: &Environment,
    program: Program,
    ids: &[String],
    json: bool,
) -> Result<Code> {
    let (home, cwd, places) = (environment.home()?, cwd()?, environment.transcripts()?);
    let mut code = Code::Done;
    for id in ids {
        match ostler::import_transcript(&home, &cwd, &places, program, id) {
            Ok(imported) => say_imported(id, &imported, json)?,
            // The others may be all right.
            Err(error @ (Error::Transcript(_) | Error::NoTranscript { .. })) => {
                warn(&visible(&error.to_string()));
                code = Code::Failed;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(code)
}

fn say_imported(id: &str, imported: &ImportedSession, json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let ImportedSession { id: session, notices } = imported;
    if json {
        let line = json!({ "id": id, "session": session.as_str(), "notices": notices });
        writeln!(out, "{}", escaped(&line.to_string()))?;
    } else {
        for notice in notices {
            writeln!(out, "{}", visible(notice))?;
        }
        writeln!(out, "Resume it with: ostler --resume {session}")?;
    }
    Ok(())
}

/// A session that was imported before is not imported again.
fn import_all(environment: &Environment, program: Program, json: bool) -> Result<Code> {
    let cwd = cwd()?;
    let imported = ostler::imported_from(&environment.home()?, &cwd)?;
    let is_new = |info: &TranscriptInfo| !imported.iter().any(|(from, _)| *from == origin(info));
    let found = ostler::transcripts(&environment.transcripts()?, Some(&cwd));
    let of_program = found.into_iter().filter(|info| info.program == program);
    let (new, old): (Vec<_>, Vec<_>) = of_program.partition(is_new);
    if !json && new.is_empty() {
        let count = old.len();
        writeln!(std::io::stdout(), "Nothing to import; {count} were imported before.")?;
    }
    let ids: Vec<String> = new.into_iter().map(|info| info.id).collect();
    import_each(environment, program, &ids, json)
}

fn show_all(
    environment: &Environment,
    program: Program,
    ids: &[String],
    json: bool,
) -> Result<Code> {
    let places = environment.transcripts()?;
    let mut out = std::io::stdout().lock();
    for id in ids {
        let missing = || Error::NoTranscript {
            program: program.to_string(),
            word: program.word(),
            id: id.clone(),
        };
        let conversation = places.read(Some(program), id)?.ok_or_else(missing)?;
        if json {
            let line = json!({
                "id": conversation.id, "title": conversation.title,
                "messages": conversation.messages(), "broken_lines": conversation.broken_lines,
                "left_out": conversation.left_out, "text": text(&conversation),
            });
            writeln!(out, "{}", escaped(&line.to_string()))?;
        } else {
            for line in text(&conversation) {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(Code::Done)
}

/// The conversation for a person: all words, calls and results in a line each.
fn text(conversation: &Conversation) -> Vec<String> {
    let mut lines = Vec::new();
    for step in &conversation.steps {
        match step {
            TranscriptStep::Prompt { content, .. } => said("> ", content, &mut lines),
            TranscriptStep::Note { content }
            | TranscriptStep::Answer { content, .. }
            | TranscriptStep::Results(content) => said("", content, &mut lines),
            TranscriptStep::Summary { kept, .. } => {
                let kept = kept.len();
                lines.push(format!("--- summarized, {kept} messages kept word for word ---"));
            }
        }
    }
    lines
}

fn said(mark: &str, blocks: &[Block], lines: &mut Vec<String>) {
    for block in blocks {
        match block {
            Block::Text { text, meta: false } => {
                lines.extend(text.lines().map(|line| format!("{mark}{}", visible(line))));
            }
            Block::ToolUse { name, input, .. } => {
                lines.push(format!("● {name} {}", short(&input.to_string())));
            }
            Block::ToolResult { content, is_error, .. } => {
                let first = content.iter().find_map(|part| match part {
                    ResultPart::Text { text } => text.lines().next(),
                    ResultPart::Image(_) => Some("(image)"),
                });
                let mark = if *is_error { "✗" } else { "✓" };
                lines.push(format!("  {mark} {}", short(first.unwrap_or_default())));
            }
            Block::Image(_) => lines.push(format!("{mark}(image)")),
            _ => {}
        }
    }
}

fn short(text: &str) -> String {
    visible(text).chars().take(LINE).collect()
}

impl From<ProgramName> for Program {
    fn from(name: ProgramName) -> Self {
        match name {
            ProgramName::Claude => Program::ClaudeCode,
            ProgramName::Codex => Program::Codex,
            ProgramName::Opencode => Program::OpenCode,
        }
    }
}
