//! Words made by hand, and steps shown in one line, for tests.

use ostler_policy::script::*;
use ostler_policy::{Act, Commands, Effect, Step, TouchKind};

/// One line for each step: position and parent, words, effect, touches and the rest, as far as there is any.
pub(super) fn shown(commands: &Commands) -> Vec<String> {
    commands.steps.iter().map(line).collect()
}

fn line(step: &Step) -> String {
    let words: Vec<String> = step.compared().iter().map(word).collect();
    let mut line = words.join(" ");
    if let Some(inside) = step.inside {
        line = format!("{inside}> {line}");
    }
    line += match &step.effect {
        Effect::Reads => " = reads",
        Effect::Writes => " = writes",
        Effect::Ruin(_) => " = ruin",
        Effect::Unknown(_) => " = unknown",
        Effect::Nothing if step.transparent => " = hands over",
        Effect::Nothing => " = nothing",
    };
    for touch in &step.touches {
        let act = match touch.act {
            Act::Read => "",
            Act::Write => "w:",
            Act::Redirect => ">:",
            Act::Run => "run:",
        };
        let kind = match touch.kind {
            TouchKind::File => "",
            TouchKind::Tree => "/**",
            TouchKind::Followed => "/**(links)",
            TouchKind::Listed => "/**(names)",
            TouchKind::Names => "/",
            TouchKind::Glob => "(glob)",
            TouchKind::Repository => "(all of git)",
            TouchKind::InRepository => "(in git)",
        };
        line += &format!(" {act}{}{kind}", touch.path);
    }
    match &step.folder {
        Some(folder) if folder.is_empty() => {}
        Some(folder) => line += &format!(" in {}", folder.join(",")),
        None => line += " in ?",
    }
    for host in &step.hosts {
        line += &format!(" @{host}");
    }
    for variable in &step.variables {
        line += &format!(" ${variable}");
    }
    let mut cautions: Vec<String> = step
        .cautions
        .iter()
        .map(|c| match c.word {
            Some(word) => format!(" !{word}"),
            None => " !".to_owned(),
        })
        .collect();
    cautions.dedup();
    line + &cautions.concat()
}

fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) | Word::Glob(text) => text.clone(),
        Word::Dynamic { source, .. } => source.clone(),
    }
}

pub(super) fn literal(text: &str) -> Word {
    Word::Literal(text.into())
}

pub(super) fn dynamic(source: &str, parts: Vec<WordPart>) -> Word {
    Word::Dynamic { why: Dynamic::Parameter, source: source.into(), parts }
}

/// `"$name"`
pub(super) fn quoted(name: &str) -> Word {
    dynamic(&format!("\"${name}\""), vec![parameter(name, Form::Value, true)])
}

/// `$name`
pub(super) fn bare(name: &str) -> Word {
    dynamic(&format!("${name}"), vec![parameter(name, Form::Value, false)])
}

pub(super) fn parameter(name: &str, form: Form, quoted: bool) -> WordPart {
    WordPart::Parameter { name: name.into(), form, quoted, scripts: Vec::new() }
}

/// `~` and what follows.
pub(super) fn home(rest: &str) -> Word {
    dynamic(
        &format!("~{rest}"),
        vec![WordPart::Tilde(String::new()), WordPart::Literal(rest.into())],
    )
}

/// `"$(…)"`
pub(super) fn substitution(script: Script, quoted: bool) -> Word {
    dynamic("$(…)", vec![WordPart::Command { script, quoted }])
}

pub(super) fn command(words: Vec<Word>) -> Command {
    Command { words, ..Command::default() }
}

pub(super) fn script(stages: Vec<PipelineStage>) -> Script {
    let item = |stage| Item {
        first: Pipeline { negated: false, timed: false, stages: vec![stage] },
        rest: Vec::new(),
        background: false,
    };
    Script { items: stages.into_iter().map(item).collect() }
}

/// A script of one simple command.
pub(super) fn simple(words: Vec<Word>) -> Script {
    script(vec![PipelineStage::Simple(command(words))])
}

/// Literal words, apart from the last.
pub(super) fn with(words: &str, last: Word) -> Script {
    let mut words: Vec<Word> = words.split_whitespace().map(literal).collect();
    words.push(last);
    simple(words)
}
