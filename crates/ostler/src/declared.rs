//! What a call would touch, from its tool and input alone: for judging calls that nobody is going to run.

use crate::url;
use ostler_core::permission::{Access, Inward, PathScope, Places, Policy, TouchKind};
use serde_json::{Map, Value};

/// A tool's name and what its input may hold. The first list must be there.
struct Shape {
    tool: &'static str,
    must: &'static [&'static str],
    may: &'static [&'static str],
}

const SHAPES: &[Shape] = &[
    Shape {
        tool: "Bash",
        must: &["command"],
        may: &["timeout", "description", "run_in_background", "dangerouslyDisableSandbox"],
    },
    Shape { tool: "Read", must: &["file_path"], may: &["offset", "limit", "pages"] },
    Shape { tool: "Edit", must: &["file_path", "old_string", "new_string"], may: &["replace_all"] },
    Shape { tool: "Write", must: &["file_path", "content"], may: &[] },
    Shape { tool: "Revert", must: &["file_path"], may: &["steps"] },
    Shape { tool: "Glob", must: &["pattern"], may: &["path"] },
    Shape {
        tool: "Grep",
        must: &["pattern"],
        may: &[
            "path",
            "glob",
            "type",
            "output_mode",
            "-A",
            "-B",
            "-C",
            "-n",
            "-i",
            "context",
            "head_limit",
            "offset",
            "multiline",
        ],
    },
    Shape { tool: "Skill", must: &["skill"], may: &["args"] },
    Shape { tool: "TodoWrite", must: &[], may: &["todos"] },
    Shape {
        tool: "TaskCreate",
        must: &["subject", "description"],
        may: &["activeForm", "metadata"],
    },
    Shape { tool: "TaskGet", must: &["taskId"], may: &[] },
    Shape { tool: "TaskList", must: &[], may: &[] },
    Shape {
        tool: "TaskUpdate",
        must: &["taskId"],
        may: &[
            "subject",
            "description",
            "activeForm",
            "status",
            "addBlocks",
            "addBlockedBy",
            "owner",
            "metadata",
        ],
    },
    Shape { tool: "WebFetch", must: &["url"], may: &["prompt"] },
];

/// Shorter names that are understood, too.
const ALIASES: &[(&str, &str)] =
    &[("path", "file_path"), ("old", "old_string"), ("new", "new_string")];

/// The product's name for a tool, however it is capitalised; other names are left as they are.
pub fn tool_name(name: &str) -> &str {
    let known = SHAPES.iter().find(|shape| shape.tool.eq_ignore_ascii_case(name));
    known.map_or(name, |shape| shape.tool)
}

/// # Errors
/// In words, why it cannot be told: such a call asks.
pub fn access(
    tool: &str,
    input: &Value,
    policy: &Policy,
    places: &dyn Places,
) -> Result<Access, String> {
    if tool.starts_with("mcp__") {
        return Ok(Access::unknown());
    }
    let shape = SHAPES.iter().find(|shape| shape.tool == tool);
    let shape = shape.ok_or_else(|| format!("there is no tool {tool}"))?;
    let fields = fields(shape, input)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let file = || scope(places, text("file_path"), TouchKind::File);
    match tool {
        "TodoWrite" | "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" => {
            Ok(Access::inward(Inward::default()))
        }
        // What it would allow stands in its file, which is not looked at here.
        "Skill" => {
            let skill = Some(text("skill").to_owned());
            Ok(Access::inward(Inward { skill, loosens: vec!["what its file names".into()] }))
        }
        "Bash" => Ok(command(text("command"), policy, places)),
        "Read" => Ok(Access::reading(file()?)),
        "Edit" | "Write" | "Revert" => Ok(Access::writing(file()?)),
        "Grep" => {
            let path = fields.get("path").map_or(".", |_| text("path"));
            let tree = scope(places, path, TouchKind::Tree)?;
            Ok(Access { filtered: true, ..Access::reading(tree) })
        }
        "Glob" => {
            let folder = fields.get("path").map_or(".", |_| text("path"));
            let tree = scope(places, &glob_folder(folder, text("pattern"))?, TouchKind::Tree)?;
            Ok(Access { filtered: true, ..Access::reading(tree) })
        }
        "WebFetch" => {
            let host = url::host(text("url"))
                .ok_or("the address is not a plain http or https one, so its host is not known")?;
            Ok(Access { hosts: vec![host], ..Access::nothing() })
        }
        _ => Err(format!("there is no tool {tool}")),
    }
}

/// What a shell text would touch.
pub fn command(text: &str, policy: &Policy, places: &dyn Places) -> Access {
    let mut commands = ostler_shell::steps(text);
    commands.look_up(places);
    commands.access(places, |tree| policy.spoken_of(tree))
}

/// The input under the product's own names. Every field is known and those that matter are texts.
fn fields(shape: &Shape, input: &Value) -> Result<Map<String, Value>, String> {
    let given = input.as_object().ok_or("its input is not an object")?;
    let mut fields = Map::new();
    for (name, value) in given {
        let known = |name: &str| shape.must.contains(&name) || shape.may.contains(&name);
        let alias = ALIASES.iter().find(|(short, long)| short == name && known(long));
        let name = match alias {
            _ if known(name) => name,
            Some((_, long)) => *long,
            None => return Err(format!("its input has a field {name}, which is not known")),
        };
        if fields.insert(name.to_owned(), value.clone()).is_some() {
            return Err(format!("its input has the field {name} twice"));
        }
    }
    for name in shape.must {
        match fields.get(*name) {
            Some(Value::String(_)) => {}
            Some(_) => return Err(format!("the field {name} of its input is not a text")),
            None => return Err(format!("its input lacks the field {name}")),
        }
    }
    if fields.get("path").is_some_and(|path| !path.is_string()) {
        return Err("the field path of its input is not a text".into());
    }
    Ok(fields)
}

fn scope(places: &dyn Places, path: &str, kind: TouchKind) -> Result<PathScope, String> {
    if path.is_empty() || path.contains('\0') {
        return Err("the path is not one".into());
    }
    // To the file tools `~` is a name like any other, but hardly ever meant so.
    if path.starts_with('~') {
        return Err("`~` is not expanded: give the absolute path".into());
    }
    let scopes = places.look_up(&[], path, kind).unwrap_or_default();
    match <[PathScope; 1]>::try_from(scopes) {
        Ok([scope]) => Ok(scope),
        Err(_) => Err(format!("where {path} leads cannot be told")),
    }
}

/// The folder below which everything lies that a pattern can match.
fn glob_folder(folder: &str, pattern: &str) -> Result<String, String> {
    const SPECIAL: [char; 6] = ['*', '?', '[', '{', '\\', '!'];
    if pattern.starts_with('~') || ["{/", ",/", "{~", ",~"].iter().any(|at| pattern.contains(at)) {
        return Err("where an alternative of the pattern leads cannot be told".into());
    }
    let mut parts = pattern.split('/').peekable();
    let mut fixed = if pattern.starts_with('/') { "/".to_owned() } else { format!("{folder}/") };
    while let Some(part) = parts.next_if(|part| !part.contains(SPECIAL)) {
        // What comes last is a name, not a folder to look in.
        if parts.peek().is_some() {
            fixed.push_str(part);
            fixed.push('/');
        }
        if part == ".." && parts.peek().is_none() {
            fixed.push_str("..");
        }
    }
    if parts.any(|part| part.contains("..")) {
        return Err("the pattern climbs to a folder above".into());
    }
    Ok(fixed)
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;
