//! What a file would start, in words: the commands of hooks, MCP servers and helpers, each in one bounded line.

use crate::error::is_plain;
use crate::located_json::{Document, Located};
use std::path::Path;

/// Things of one kind that are named one by one.
const MOST: usize = 40;
/// Characters of a command or value.
const MOST_SHOWN: usize = 200;

/// `what`: "has hooks". If the value is invalid, that is all that is reported.
pub(crate) fn named(key: &str, what: &str, value: Located<'_>) -> Vec<String> {
    let found = match key {
        "hooks" => hooks(value),
        "mcpServers" => servers(value),
        _ => Some(command(value).map(|command| format!("{what}: {command}")).into_iter().collect()),
    };
    let mut lines = found.filter(|lines| !lines.is_empty()).unwrap_or_else(|| vec![what.into()]);
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if more > 0 {
        lines.push(format!("{what}: {more} more"));
    }
    lines
}

/// By event, then by what the hook is for.
fn hooks(value: Located<'_>) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for (event, groups) in value.object("hooks").ok()? {
        for group in groups.list("an event's hooks").ok()? {
            let group = group.object("a group of hooks").ok()?;
            let Some(hooks) = field(&group, "hooks") else { continue };
            for hook in hooks.list("hooks").ok()? {
                let runs = command(hook).unwrap_or_else(|| "(invalid)".into());
                lines.push(format!("has a hook on {}: {runs}", escaped(&event)));
            }
        }
    }
    Some(lines)
}

fn servers(value: Located<'_>) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for (name, server) in value.object("mcpServers").ok()? {
        lines.push(server_line(&name, server));
    }
    Some(lines)
}

/// The same for `servers: [{name, command, args}]`. None: the file is not understood.
pub(crate) fn servers_of_yaml(text: &str) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct File {
        servers: Vec<serde_json::Value>,
    }
    let file: File = ostler_yaml::read(text, serde_saphyr::Options::default()).ok()?;
    let mut lines = Vec::new();
    for server in file.servers.iter().take(MOST) {
        let name = server.get("name").and_then(serde_json::Value::as_str).unwrap_or("(unnamed)");
        let text = server.to_string();
        let located = Document::root(&text, Path::new("")).ok()?;
        lines.push(server_line(name, located));
    }
    let more = file.servers.len().saturating_sub(MOST);
    if more > 0 {
        lines.push(format!("starts MCP servers: {more} more"));
    }
    (!lines.is_empty()).then_some(lines)
}

/// With the variables of the environment that it would read, wherever it names them.
fn server_line(name: &str, server: Located<'_>) -> String {
    let runs = command(server).unwrap_or_else(|| "(invalid)".into());
    let mut used = variables_in(server.raw());
    used.sort();
    used.dedup();
    let used = match used.is_empty() {
        true => String::new(),
        false => format!(" (reads the variables {})", escaped(&used.join(", "))),
    };
    format!("starts the MCP server {}: {runs}{used}", escaped(name))
}

/// The names in `${NAME}` and `${NAME:-default}`.
pub(crate) fn variables_in(text: &str) -> Vec<String> {
    let parts = text.split("${").skip(1).filter_map(|part| part.split_once('}'));
    parts.map(|(inner, _)| inner.split(":-").next().unwrap_or_default().to_owned()).collect()
}

/// A text, or an object's variables, command and arguments, address or prompt.
fn command(value: Located<'_>) -> Option<String> {
    if let Ok(text) = value.text("a command") {
        return Some(escaped(&text));
    }
    let fields = value.object("a command").ok()?;
    let program =
        ["command", "url", "prompt"].iter().find_map(|key| field(&fields, key)?.scalar())?;
    let variables = field(&fields, "env").and_then(|env| env.object("env").ok());
    let variables = variables.unwrap_or_default().into_iter();
    let mut words: Vec<String> = variables
        .map(|(name, value)| format!("{name}={}", value.scalar().unwrap_or_default()))
        .collect();
    words.push(program);
    let arguments = field(&fields, "args").and_then(|args| args.list("args").ok());
    words.extend(arguments.unwrap_or_default().iter().filter_map(Located::scalar));
    Some(escaped(&words.join(" ")))
}

fn field<'a>(fields: &[(String, Located<'a>)], name: &str) -> Option<Located<'a>> {
    fields.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
}

/// One line that hides nothing but its end.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(MOST_SHOWN) {
        match c {
            c if is_plain(c.encode_utf8(&mut [0; 4])) => shown.push(c),
            c => shown.extend(c.escape_default()),
        }
    }
    if text.chars().nth(MOST_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[path = "started_programs_tests.rs"]
mod tests;
