//! What is answered here and not by the model: `/compact`, `/context`, `/cost`, and that `/clear` needs no doing.

use crate::args::Format;
use crate::exit::Code;
use crate::output::printer;
use crate::output::usage::thousands;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::ContextReport;
use ostler_sdk::escaped;

#[derive(Debug, PartialEq, Eq)]
pub enum Local {
    Compact(Option<String>),
    Context,
    Cost,
    Clear,
}

/// Each run starts a new session unless it continues one.
pub const CLEAR: &str = "Nothing to clear: every run with -p starts a new session, unless you pass --continue or --resume. /compact summarizes a session that you continue.";

impl Local {
    pub fn of(prompt: &str) -> Option<Self> {
        let prompt = prompt.trim();
        let (command, rest) = prompt.split_once(char::is_whitespace).unwrap_or((prompt, ""));
        let words = Some(rest.trim().to_owned()).filter(|words| !words.is_empty());
        match (command, words) {
            ("/compact", words) => Some(Local::Compact(words)),
            ("/context", None) => Some(Local::Context),
            ("/cost", None) => Some(Local::Cost),
            ("/clear", None) => Some(Local::Clear),
            _ => None,
        }
    }
}

pub fn print(report: &ContextReport, format: Format) -> Result<Code> {
    match format {
        Format::Text => {
            table(report).iter().try_for_each(|line| printer::print(&format!("{line}\n")))?;
        }
        _ => printer::print(&format!("{}\n", escaped(&serde_json::to_string(report)?)))?,
    }
    Ok(Code::Done)
}

pub fn table(report: &ContextReport) -> Vec<String> {
    let percent = |tokens: u64| match report.window {
        0 => String::new(),
        window => format!("{:.1} %", tokens as f64 * 100.0 / window as f64),
    };
    let mut lines = vec![format!(
        "{}: about {} of {} tokens ({}); compacts at {}",
        visible(&report.model),
        thousands(report.tokens),
        thousands(report.window),
        percent(report.tokens),
        thousands(report.threshold),
    )];
    for share in &report.shares {
        let name = share.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let owner = visible(&format!("{}{name}", share.owner));
        let tokens = thousands(share.tokens);
        lines.push(format!("{tokens:>10}  {:>7}  {owner}", percent(share.tokens)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_commands_are_told_from_prompts() {
        let compact = |words: Option<&str>| Some(Local::Compact(words.map(str::to_owned)));
        for (prompt, expected) in [
            ("/compact", compact(None)),
            (" /compact keep the names\n", compact(Some("keep the names"))),
            ("/context", Some(Local::Context)),
            ("/context of what", None),
            ("/cost", Some(Local::Cost)),
            ("/cost of living", None),
            ("/clear\n", Some(Local::Clear)),
            ("/compacted", None),
            ("/usr/bin", None),
            ("compact", None),
        ] {
            assert_eq!(Local::of(prompt), expected, "{prompt:?}");
        }
    }
}
