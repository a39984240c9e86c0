//! Finds tools of which the model knows only the names.

use crate::session::{Session, SessionShared};
use ostler_core::late_tools::description_line;
use ostler_core::permission::Access;
use ostler_core::ports::{BoxFuture, Tool, ToolContext};
use ostler_core::tool::{ToolOutput, ToolSpec};
use ostler_core::tool_facts::{Subject, ToolFacts};
use serde_json::{Value, json};
use std::sync::{Arc, Weak};

const DESCRIPTION: &str = include_str!("../../../../../prompts/tools/tool-search.md").trim_ascii();

/// Tools that a search by words gives.
const MOST_FOUND: usize = 8;
/// The same by names.
const MOST_NAMED: usize = 30;
/// Characters of a result.
const MOST_CHARS: usize = 40_000;

pub(super) struct ToolSearch {
    session: Weak<SessionShared>,
    spec: ToolSpec,
}

impl ToolSearch {
    const NAME: &'static str = "ToolSearch";

    /// Unless the session has it already.
    pub(super) fn add_to(session: &Session) {
        if session.shared().agent.tools.current().get(Self::NAME).is_some() {
            return;
        }
        let spec = ToolSpec {
            name: Self::NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "A name, several names, or words"},
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
            facts: ToolFacts { subject: Subject::Inputs(&["query"]), ..ToolFacts::UNDECLARED },
        };
        let tool = ToolSearch { session: Arc::downgrade(&session.shared), spec };
        // It is added to the agent itself: a list of tools that a person chose does not name it.
        let _ = session.shared().agent.add_tools(vec![Arc::new(tool)]);
    }

    fn search(&self, query: &str) -> ToolOutput {
        let Some(shared) = self.session.upgrade() else {
            return ToolOutput::error("the session is closed");
        };
        let toolbox = shared.agent.tools.current();
        let candidates: Vec<&ToolSpec> = toolbox.searchable().collect();
        let found = find(query, &candidates);
        if found.is_empty() {
            return ToolOutput::text(format!(
                "No tool fits. There are {} tools to search in; try other words.",
                candidates.len()
            ));
        }
        let mut text = String::new();
        let mut names = Vec::new();
        for spec in found {
            let line = description_line(spec);
            if text.len() + line.len() > MOST_CHARS && !names.is_empty() {
                text.push_str("More tools fit; search for fewer at once.\n");
                break;
            }
            text.push_str(&line);
            text.push('\n');
            names.push(spec.name.clone());
        }
        shared.agent.found_tools(&names);
        ToolOutput::text(text.trim_end())
    }
}

impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, input: &Value) -> Result<Access, ToolOutput> {
        match input.get("query").and_then(Value::as_str) {
            Some(query) if !query.trim().is_empty() => Ok(Access::nothing()),
            _ => Err(ToolOutput::misuse("query must be a text that is not empty")),
        }
    }

    fn run(&self, input: Value, _cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let query = input.get("query").and_then(Value::as_str).unwrap_or_default();
        let output = self.search(query);
        Box::pin(std::future::ready(output))
    }
}

/// By exact names first, else by words. A name of the tool counts more than its description.
fn find<'a>(query: &str, candidates: &[&'a ToolSpec]) -> Vec<&'a ToolSpec> {
    let query = query.trim();
    let names = query.strip_prefix("select:").unwrap_or(query).split([',', ' ', '\n']);
    let names: Vec<&str> = names.map(str::trim).filter(|name| !name.is_empty()).collect();
    let named: Vec<&ToolSpec> = names
        .iter()
        .filter_map(|name| candidates.iter().find(|spec| is_called(spec, name)).copied())
        .take(MOST_NAMED)
        .collect();
    if !named.is_empty() {
        return named;
    }
    let words: Vec<String> = words_of(query);
    let mut scored: Vec<(usize, &ToolSpec)> = candidates
        .iter()
        .map(|spec| (score(&words, spec), *spec))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
    scored.into_iter().take(MOST_FOUND).map(|(_, spec)| spec).collect()
}

/// By its full name, or by the part that its server gave it.
fn is_called(spec: &ToolSpec, name: &str) -> bool {
    spec.name == name || spec.name.eq_ignore_ascii_case(name)
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    words.map(str::to_lowercase).collect()
}

fn score(words: &[String], spec: &ToolSpec) -> usize {
    let (name, described) = (words_of(&spec.name), words_of(&spec.description));
    let is_like = |one: &String, other: &String| {
        one == other || one.len() > 3 && other.starts_with(one.as_str())
    };
    let of = |word: &String| {
        let in_name = name.iter().any(|other| is_like(word, other));
        let in_description = described.iter().any(|other| is_like(word, other));
        usize::from(in_name) * 3 + usize::from(in_description)
    };
    words.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs() -> Vec<ToolSpec> {
        [
            ("mcp__github__create_issue", "[github] Opens a new issue in a repository"),
            ("mcp__github__list_issues", "[github] Lists issues"),
            ("mcp__files__read_file", "[files] Reads a file"),
            ("mcp__files__create", "[files] Makes a file; mentions issue trackers"),
        ]
        .map(|(name, description)| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            ..ToolSpec::default()
        })
        .to_vec()
    }

    fn found(query: &str) -> Vec<String> {
        let specs = specs();
        let candidates: Vec<&ToolSpec> = specs.iter().collect();
        find(query, &candidates).iter().map(|spec| spec.name.clone()).collect()
    }

    #[test]
    fn an_exact_name_always_hits_and_brings_nothing_else() {
        assert_eq!(found("mcp__files__create"), ["mcp__files__create"]);
        let both = ["mcp__files__create", "mcp__github__list_issues"];
        assert_eq!(found("select:mcp__files__create,mcp__github__list_issues"), both);
        assert_eq!(found("mcp__files__create, mcp__github__list_issues"), both);
    }

    #[test]
    fn words_find_the_best_first() {
        assert_eq!(found("create an issue on github")[0], "mcp__github__create_issue");
        assert_eq!(found("read file")[0], "mcp__files__read_file");
        assert_eq!(found("weather"), [] as [String; 0]);
    }
}
