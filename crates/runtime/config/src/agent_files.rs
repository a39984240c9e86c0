//! Definitions of agents: Markdown files with a front matter. One that cannot be used is left out and named; a restriction
//! that is not understood leaves out the whole definition.

use crate::error::one_line;
use crate::files::{FileRead, read_in, read_text};
use crate::{ConfigError, SettingsPlaces};
use ostler_core::agent_definition::{AgentDefinition, AgentIsolation};
use ostler_core::model::Effort;
use ostler_core::permission::{Mode, ToolName};
use ostler_core::tool_facts::KnownTools;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of a file, how many files of a directory are read, entries that are looked at, and how deep.
const MOST_BYTES: u64 = 256 * 1024;
const MOST_FILES: usize = 200;
const MOST_ENTRIES: usize = 5_000;
const DEEPEST: usize = 4;

/// Where a project keeps them.
const PROJECT: [&str; 2] = [".ostler/agents", ".claude/agents"];

/// A file in which an agent is defined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentFile {
    /// That of the file, if it cannot be used.
    pub name: String,
    pub description: String,
    pub path: PathBuf,
    #[serde(flatten)]
    pub state: AgentFileState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AgentFileState {
    Used,
    /// Another file defines the same name and comes first.
    Hidden,
    /// The project is not trusted.
    Untrusted,
    Unusable {
        why: String,
    },
}

impl AgentFile {
    pub(crate) fn new(
        path: &Path,
        definition: Option<&AgentDefinition>,
        state: AgentFileState,
    ) -> Self {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        AgentFile {
            name: definition.map_or(stem, |definition| &definition.name).to_owned(),
            description: definition.map(|found| found.description.clone()).unwrap_or_default(),
            path: path.to_owned(),
            state,
        }
    }
}

/// Those of the person. Of a file that cannot be used a line says why.
pub(crate) fn of_user(places: &SettingsPlaces) -> Vec<(PathBuf, Result<AgentDefinition, String>)> {
    let homes = std::iter::once(&places.ostler_home).chain(&places.claude_home);
    let all = homes.flat_map(|home| files(&home.join("agents")));
    let read = |file: PathBuf| {
        let text = read_text(&file, MOST_BYTES).map_err(|error| error.to_string());
        let definition = text.and_then(|text| parse(&text.unwrap_or_default(), &file));
        (file, definition)
    };
    all.map(read).collect()
}

/// A line that names tools which do not exist, if the definition has some. The agent works without them.
pub(crate) fn unknown_tools(
    definition: &AgentDefinition,
    file: &Path,
    known: &KnownTools,
) -> Option<String> {
    let named = definition.tools.iter().flatten().chain(&definition.disallowed_tools);
    let mut unknown: Vec<String> = Vec::new();
    for name in named.map(|rule| rule.split('(').next().unwrap_or_default().trim()) {
        let found = match ToolName::of(name, known) {
            ToolName::Ours | ToolName::Elsewhere => continue,
            ToolName::Mistake(meant) => format!("\"{name}\" (did you mean \"{meant}\"?)"),
            ToolName::Unknown => format!("\"{name}\""),
        };
        if !unknown.contains(&found) {
            unknown.push(found);
        }
    }
    let word = if unknown.len() == 1 { "unknown tool" } else { "unknown tools" };
    let line = format!("{}: {word} {}; ignored", file.display(), unknown.join(", "));
    (!unknown.is_empty()).then(|| one_line(&line))
}

/// The files of a project, with their bytes; `root` is resolved.
pub(crate) fn of_project(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, ConfigError> {
    let mut found = Vec::new();
    for file in PROJECT.iter().flat_map(|folder| files(&root.join(folder))) {
        if let FileRead::Bytes(bytes) = read_in(root, &file)? {
            found.push((file, bytes));
        }
    }
    Ok(found)
}

/// `*.md`, also in directories below. Links to directories are not followed.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut waiting = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MOST_ENTRIES {
                break;
            }
            let (path, kind) = (entry.path(), entry.file_type());
            match kind.is_ok_and(|kind| kind.is_dir()) {
                true if depth < DEEPEST => waiting.push((path, depth + 1)),
                true => {}
                false => found.extend(
                    path.extension().is_some_and(|end| end == "md").then_some(path.clone()),
                ),
            }
        }
    }
    found.sort();
    found.truncate(MOST_FILES);
    found
}

/// # Errors
/// In one line: the file, what is wrong, and that it is left out.
pub(crate) fn parse(text: &str, file: &Path) -> Result<AgentDefinition, String> {
    read(text, file)
        .map_err(|what| format!("{}: {what}; the agent is not available", file.display()))
}

fn read(text: &str, file: &Path) -> Result<AgentDefinition, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let inner =
        text.strip_prefix("---\n").ok_or("it has no front matter; begin it with a line ---")?;
    let (front, body) = inner
        .split_once("\n---")
        .ok_or("the front matter has no end; write a line --- below it")?;
    let body = body.split_once('\n').map_or("", |(_, body)| body).trim();
    if body.is_empty() {
        return Err("there are no instructions after the front matter".into());
    }
    let fields = fields(front);
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = word(&fields, "name")?.unwrap_or_else(|| stem.to_owned());
    if !AgentDefinition::is_name(&name) {
        return Err(format!(
            "\"{name}\" cannot be the name of an agent; use letters, digits, - and _, at most 64"
        ));
    }
    let description = word(&fields, "description")?;
    let description = description.ok_or("it has no description; say when to use the agent")?;
    let tools = list(&fields, "tools")?.filter(|tools| tools.iter().all(|tool| tool != "*"));
    Ok(AgentDefinition {
        name,
        description,
        prompt: body.to_owned(),
        tools,
        disallowed_tools: list(&fields, "disallowedTools")?.unwrap_or_default(),
        model: word(&fields, "model")?.filter(|model| model != "inherit"),
        mode: word(&fields, "permissionMode")?.map(|text| mode(&text)).transpose()?,
        max_turns: max_turns(&fields)?,
        effort: word(&fields, "effort")?.as_deref().and_then(Effort::named),
        background: is_true(&fields, "background"),
        skills: list(&fields, "skills").ok().flatten().unwrap_or_default(),
        plan_required: false,
        isolation: match word(&fields, "isolation")?.as_deref() {
            None | Some("none") => AgentIsolation::None,
            Some("worktree") => AgentIsolation::Worktree,
            Some(other) => {
                return Err(format!("isolation \"{other}\" is unknown; use none or worktree"));
            }
        },
    })
}

fn is_true(fields: &BTreeMap<String, Value>, key: &str) -> bool {
    match fields.get(key) {
        Some(Value::Bool(is_set)) => *is_set,
        Some(Value::String(text)) => text.trim() == "true",
        _ => false,
    }
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::parse(text).ok_or_else(|| {
        let known = Mode::ALL.map(Mode::name).join(", ");
        format!("permissionMode \"{text}\" is unknown; use one of {known}")
    })
}

fn max_turns(fields: &BTreeMap<String, Value>) -> Result<Option<u32>, String> {
    let Some(value) = fields.get("maxTurns").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let number = number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| "maxTurns must be a number from 1 on".to_owned())
}

/// Descriptions are often written as no YAML could be: then each line of a key and a value counts.
fn fields(front: &str) -> BTreeMap<String, Value> {
    let options = serde_saphyr::options! {
        budget: ostler_skills::yaml_budget(2 * MOST_BYTES as usize),
    };
    ostler_yaml::read(front, options).unwrap_or_else(|_| {
        let lines = front.lines().filter(|line| !line.starts_with([' ', '\t', '-', '#']));
        let pairs = lines.filter_map(|line| line.split_once(':'));
        pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().into())).collect()
    })
}

fn word(fields: &BTreeMap<String, Value>, key: &str) -> Result<Option<String>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(format!("{key} must be a text")),
    }
}

/// Commas between the names, or a list. A rule's pattern may contain commas.
fn list(fields: &BTreeMap<String, Value>, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("{key} must be names of tools with commas between them, or a list");
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(ostler_skills::split_rules(text))),
        Some(Value::Array(items)) => {
            let name = |item: &Value| item.as_str().map(str::to_owned);
            items.iter().map(name).collect::<Option<Vec<_>>>().map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<AgentDefinition, String> {
        parse(text, Path::new("/a/reviewer.md"))
    }

    #[test]
    fn a_definition_says_everything() {
        let text = "---\nname: checker\ndescription: Checks things\ntools: Read, Bash(git log:*)\n\
            disallowedTools: [Write]\nmodel: haiku\npermissionMode: plan\nmaxTurns: 5\ncolor: red\n\
            background: true\neffort: xhigh\nskills: [a, b]\n---\nCheck it.\n";
        let expected = AgentDefinition {
            name: "checker".into(),
            description: "Checks things".into(),
            prompt: "Check it.".into(),
            tools: Some(vec!["Read".into(), "Bash(git log:*)".into()]),
            disallowed_tools: vec!["Write".into()],
            model: Some("haiku".into()),
            mode: Some(Mode::Plan),
            max_turns: Some(5),
            effort: Some(Effort::XHigh),
            background: true,
            skills: vec!["a".into(), "b".into()],
            plan_required: false,
            isolation: AgentIsolation::None,
        };
        assert_eq!(parsed(text), Ok(expected));
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let found =
            parsed("---\ndescription: Use it: for \"a\": b\nmodel: inherit\n---\nDo.").unwrap();
        assert_eq!((found.name.as_str(), found.model, found.tools), ("reviewer", None, None));
        assert!(found.description.starts_with("Use it"), "{}", found.description);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (text, what) in [
            ("Do.", "no front matter"),
            ("---\ndescription: x\n", "no end"),
            ("---\ndescription: x\n---\n", "no instructions"),
            ("---\nname: x\n---\nDo.", "no description"),
            ("---\nname: a/b\ndescription: x\n---\nDo.", "\"a/b\" cannot be the name"),
            ("---\ndescription: x\npermissionMode: yolo\n---\nDo.", "permissionMode \"yolo\""),
            ("---\ndescription: x\nmaxTurns: 0\n---\nDo.", "maxTurns"),
            ("---\ndescription: x\nisolation: vm\n---\nDo.", "isolation \"vm\""),
            ("---\ndescription: x\ntools: {a: b}\n---\nDo.", "tools must be"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with("/a/reviewer.md: ") && error.contains(what), "{error}");
        }
    }
}
