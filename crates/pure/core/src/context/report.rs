//! What fills the context window, by category.

use super::weight;
use crate::message::{Block, Message};
use crate::tool::ToolSpec;
use crate::view::View;
use serde::Serialize;

/// One owner's part of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    pub owner: String,
    /// A file or a server, where the owner has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub tokens: u64,
}

/// Shares in a fixed order: first what every request contains, then the conversation.
pub fn report(
    system: &[String],
    tools: &[ToolSpec],
    view: &View,
    tokens: impl Fn(u64) -> u64,
) -> Vec<Share> {
    let mut shares = Shares(Vec::new());
    shares.add("system", None, system.iter().map(|part| part.len() as u64).sum());
    for tool in tools {
        let server = tool.name.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
        match server {
            Some(server) => shares.add("mcp", Some(server), weight::of_tool(tool)),
            None => shares.add("tools", None, weight::of_tool(tool)),
        }
    }
    for message in view.messages() {
        for block in message.blocks() {
            let (owner, name) = owner(message, block);
            shares.add(owner, name.as_deref(), weight::of_block(block));
        }
    }
    // What surrounds the parts, so that the shares add up to the whole.
    let whole = weight::of_prefix(system, tools) + view.weight();
    let parts: u64 = shares.0.iter().map(|(_, _, bytes)| bytes).sum();
    shares.add("framing", None, whole.saturating_sub(parts));
    let share = |(owner, name, bytes): (String, Option<String>, u64)| Share {
        owner,
        name,
        tokens: tokens(bytes),
    };
    shares.0.into_iter().filter(|(_, _, bytes)| *bytes > 0).map(share).collect()
}

struct Shares(Vec<(String, Option<String>, u64)>);

impl Shares {
    fn add(&mut self, owner: &str, name: Option<&str>, bytes: u64) {
        let same =
            |had: &&mut (String, Option<String>, u64)| had.0 == owner && had.1.as_deref() == name;
        match self.0.iter_mut().find(same) {
            Some(had) => had.2 += bytes,
            None => self.0.push((owner.to_owned(), name.map(str::to_owned), bytes)),
        }
    }
}

/// A note of the harness says in its first tag whose it is.
fn owner<'a>(message: &Message, block: &'a Block) -> (&'a str, Option<String>) {
    match block {
        Block::ToolResult { .. } => ("results", None),
        Block::Text { text, meta: true } => match tag(text) {
            Some((tag, attributes)) => (tag, attribute(attributes, "path")),
            None => ("notes", None),
        },
        _ if message.is_assistant() => ("answers", None),
        _ => ("prompts", None),
    }
}

/// `<name …>` at the very beginning.
fn tag(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('<')?.split('>').next()?;
    let name = inside.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_lowercase() || c == '-' || c == '_';
    (!name.is_empty() && name.len() <= 32 && name.chars().all(plain))
        .then(|| (name, inside.get(name.len()..).unwrap_or_default()))
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let rest = attributes.split(&format!("{name}=\"")).nth(1)?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_owner() {
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: "d".repeat(10),
            input_schema: serde_json::json!({}),
            ..ToolSpec::default()
        };
        let tools = [spec("Read"), spec("mcp__git__log"), spec("mcp__git__show"), spec("Edit")];
        let first = Message::User {
            content: vec![
                Block::Text { text: "<environment>\nx</environment>".into(), meta: true },
                Block::Text { text: "<instructions path=\"/p/AGENTS.md\">\nx".into(), meta: true },
                Block::Text { text: "[a note]".into(), meta: true },
                Block::text("<b> do it"),
            ],
        };
        let view = View::from_messages([first]);
        let shares = report(&["s".repeat(9)], &tools, &view, |bytes| bytes);
        let owners: Vec<_> = shares.iter().map(|s| (s.owner.as_str(), s.name.as_deref())).collect();
        assert_eq!(
            owners,
            [
                ("system", None),
                ("tools", None),
                ("mcp", Some("git")),
                ("environment", None),
                ("instructions", Some("/p/AGENTS.md")),
                ("notes", None),
                ("prompts", None),
                ("framing", None),
            ]
        );
        let whole = weight::of_prefix(&["s".repeat(9)], &tools) + view.weight();
        assert_eq!(shares.iter().map(|share| share.tokens).sum::<u64>(), whole);
    }
}
