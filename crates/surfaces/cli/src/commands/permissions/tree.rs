//! The commands of a shell text as a tree: each with what it does, what it touches and what speaks against it.

use crate::output::paint::Paint;
use crate::output::visible_text::visible;
use ostler::{Act, Commands, Effect, PathScope, Position, Step, Touch, Word};
use std::path::PathBuf;

/// Steps that are shown; a text has seldom more than a few.
const STEPS: usize = 200;
/// Levels that are indented.
const DEEP: usize = 16;

pub fn lines(commands: &Commands, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, step) in commands.steps.iter().enumerate().take(STEPS) {
        let indent = "  ".repeat(1 + depth(commands, index));
        let position = position(step.position).map(|p| format!("  ({p})")).unwrap_or_default();
        lines.push(format!("{indent}{}{}", paint.bold(&words(step)), paint.dim(&position)));
        lines.extend(about(step).into_iter().map(|line| format!("{indent}    {line}")));
    }
    let more = commands.steps.len().saturating_sub(STEPS);
    if more > 0 {
        lines.push(format!("  and {more} more commands"));
    }
    lines
}

/// How many steps it is inside of.
fn depth(commands: &Commands, index: usize) -> usize {
    let (mut depth, mut at) = (0, index);
    while let Some(outer) = commands.steps.get(at).and_then(|step| step.inside) {
        // A step comes after the one it is inside.
        if depth == DEEP || outer >= at {
            break;
        }
        (depth, at) = (depth + 1, outer);
    }
    depth
}

fn words(step: &Step) -> String {
    if step.words.is_empty() {
        return "(no program)".into();
    }
    let word = |word: &Word| match word {
        Word::Literal(text) => quoted(text),
        Word::Glob(text) => visible(text),
        Word::Dynamic { source, .. } => visible(source),
    };
    step.words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// So that one word looks like one.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@+,%~".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => visible(text),
        false => format!("'{}'", visible(text).replace('\'', r"'\''")),
    }
}

fn position(position: Position) -> Option<&'static str> {
    match position {
        Position::Plain => None,
        Position::Background => Some("in the background"),
        Position::Conditional => Some("in a branch or loop"),
        Position::Function => Some("in a function"),
        Position::Substitution => Some("in a substitution"),
        Position::Wrapped => Some("started by the command above"),
    }
}

fn about(step: &Step) -> Vec<String> {
    let mut lines = Vec::new();
    let effect = match &step.effect {
        _ if step.transparent => "only starts the commands inside".to_owned(),
        Effect::Reads => "only reads".into(),
        Effect::Writes => "changes only the files it names".into(),
        Effect::Nothing => "touches nothing".into(),
        Effect::Unknown(why) => format!("may do anything: {}", visible(why)),
        Effect::Ruin(why) => format!("would do serious damage: {}", visible(why)),
    };
    lines.push(effect);
    match &step.folder {
        None => lines.push("in an unknown directory".into()),
        Some(folders) if !folders.is_empty() => {
            let is_there = folders.iter().collect::<PathBuf>().is_dir();
            let folders: Vec<String> = folders.iter().map(|folder| visible(folder)).collect();
            let missing = if is_there { "" } else { ", which does not exist" };
            lines.push(format!("in the directory {}{missing}", folders.join(", then ")));
        }
        Some(_) => {}
    }
    lines.extend(step.touches.iter().map(touch));
    lines.extend(step.hosts.iter().map(|host| match host.as_str() {
        "*" => "contacts any host".to_owned(),
        host => format!("contacts {}", visible(host)),
    }));
    lines.extend(step.variables.iter().map(|name| format!("sets {}", visible(name))));
    lines.extend(step.cautions.iter().map(|caution| format!("caution: {}", visible(&caution.why))));
    // Each word before a script has the same caution.
    lines.dedup();
    lines
}

fn touch(touch: &Touch) -> String {
    let act = match touch.act {
        Act::Read => "reads",
        Act::Write => "changes",
        Act::Redirect => "is redirected to",
        Act::Run => "runs the file",
    };
    let leads = match &touch.scopes {
        None => "(where this leads is not known)".to_owned(),
        Some(scopes) if scopes.is_empty() => "which does not exist".into(),
        Some(scopes) => {
            let shown = |scope: &PathScope| match scope {
                PathScope::File(path) => visible(&path.to_string_lossy()),
                PathScope::Tree(path) => {
                    format!("{} and everything below", visible(&path.to_string_lossy()))
                }
            };
            let more = scopes.len().saturating_sub(3);
            let named: Vec<String> = scopes.iter().take(3).map(shown).collect();
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("→ {}{rest}", named.join(", "))
        }
    };
    match touch.path.is_empty() {
        true => format!("{act} the repository {leads}"),
        false => format!("{act} {} {leads}", visible(&touch.path)),
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
