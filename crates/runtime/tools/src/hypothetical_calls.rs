//! Calls on paper: what a call would touch in a directory that may not be on this machine, for calls that nobody is
//! going to run. Examples of rules and `permissions check` are judged by this.

use crate::typed_tool::ListedTool;
use crate::{TOOLS, input};
use ostler_core::permission::{Access, PathScope, Places, Policy, TouchKind};
use ostler_core::tool::ToolSpec;
use ostler_core::tool_facts::{Extent, FileInput, ToolFacts, ToolKind};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// A workspace as far as somebody describes it.
pub struct Paper<'a> {
    pub policy: &'a Policy,
    /// Says where paths lead.
    pub places: &'a dyn Places,
}

/// Schemas are made once: many calls are judged in a row.
static SPECS: LazyLock<Vec<(&ListedTool, ToolSpec)>> =
    LazyLock::new(|| TOOLS.iter().map(|listed| (listed, (listed.spec)())).collect());

/// What a call would touch.
///
/// # Errors
/// In words, why it cannot be told: such a call asks.
pub fn access_on_paper(tool: &str, input: &Value, paper: &Paper<'_>) -> Result<Access, String> {
    if tool.starts_with("mcp__") {
        return Ok(Access::unknown());
    }
    let listed = SPECS.iter().find(|(listed, _)| listed.name == tool);
    let (listed, spec) = listed.ok_or_else(|| format!("there is no tool {tool}"))?;
    let input = spelled_out(&listed.facts, input)?;
    let input = input::accept(&spec.input_schema, &input).map_err(|wrong| wrong.join("; "))?;
    (listed.on_paper)(&input, paper)
}

/// The name of a tool however it is capitalised; other names are left as they are.
pub fn tool_name(name: &str) -> &str {
    let mut known = TOOLS.iter().map(|listed| listed.name);
    known.find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name)
}

/// What the tool of this name declares.
pub fn facts(name: &str) -> ToolFacts {
    let listed = TOOLS.iter().find(|listed| listed.name == name);
    listed.map_or_else(ToolFacts::default, |listed| listed.facts)
}

/// Shorter names of inputs stand for the long ones.
fn spelled_out(facts: &ToolFacts, input: &Value) -> Result<Value, String> {
    let Some(given) = input.as_object() else { return Ok(input.clone()) };
    let mut fields = Map::new();
    for (name, value) in given {
        let alias = facts.aliases.iter().find(|(short, _)| short == name);
        let name = alias.map_or(name.as_str(), |(_, long)| *long);
        if fields.insert(name.to_owned(), value.clone()).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(Value::Object(fields))
}

impl Paper<'_> {
    /// What the inputs name that are paths.
    pub fn files(&self, facts: &ToolFacts, input: &Value) -> Result<Access, String> {
        if facts.files.is_empty() {
            return match facts.kind {
                ToolKind::Plans => Ok(Access::inward(Default::default())),
                _ => Err("its text does not show what it would touch".into()),
            };
        }
        let mut access = Access::nothing();
        for file in facts.files {
            let text = input.get(file.input).and_then(Value::as_str);
            let scope = match (file, text) {
                (FileInput { extent: Extent::File, .. }, None) => continue,
                (FileInput { extent: Extent::File, .. }, Some(path)) => {
                    self.scope(path, TouchKind::File)?
                }
                (_, path) => self.scope(path.unwrap_or("."), TouchKind::Tree)?,
            };
            // A tool leaves out of a tree what may not be read.
            access.filtered |= matches!(scope, PathScope::Tree(_)) && !file.writes;
            if file.writes { access.writes.push(scope) } else { access.reads.push(scope) }
        }
        Ok(access)
    }

    pub fn scope(&self, path: &str, kind: TouchKind) -> Result<PathScope, String> {
        if path.is_empty() || path.contains('\0') {
            return Err("the path is not valid".into());
        }
        // To the file tools `~` is a name like any other, but hardly ever meant so.
        if path.starts_with('~') {
            return Err("`~` is not expanded: give the absolute path".into());
        }
        let scopes = self.places.look_up(&[], path, kind).unwrap_or_default();
        match <[PathScope; 1]>::try_from(scopes) {
            Ok([scope]) => Ok(scope),
            Err(_) => Err(format!("it is unclear where {path} leads")),
        }
    }
}

#[cfg(test)]
#[path = "hypothetical_calls_tests.rs"]
mod tests;
