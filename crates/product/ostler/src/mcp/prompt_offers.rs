//! What servers add to prompts of a person: `/mcp__server__prompt arguments`, and resources by `@server:uri`.

use super::choice::MCP_TOOL;
use super::session_servers::SessionServers;
use ostler_core::message::ResultPart;
use ostler_core::tool::ToolOutput;
use serde_json::{Map, Value};

/// Resources that one prompt names.
const MOST_RESOURCES: usize = 10;
/// Characters of what one of them adds.
const LONGEST: usize = 50_000;

impl SessionServers {
    /// The text of a server's prompt. None: there is no such prompt.
    pub(crate) async fn prompt(&self, name: &str, given: &str) -> Option<Result<String, String>> {
        let rest = name.strip_prefix(MCP_TOOL)?;
        let (server, entry) = self.enabled_servers().into_iter().find_map(|(shown, server)| {
            let prompt = rest.strip_prefix(&shown)?.strip_prefix("__")?;
            let manifest = server.manifest()?;
            let entry = manifest.prompts.iter().find(|entry| entry.shown == prompt)?;
            Some((server, entry.clone()))
        })?;
        let answer = server.prompt(&entry.name, arguments(&entry.arguments, given)).await;
        Some(
            answer
                .map(|output| words(&output))
                .map_err(|error| format!("MCP prompt {name}: {error}")),
        )
    }

    /// What the resources say that a prompt names, one text each.
    pub(crate) async fn resources_in(&self, prompt: &str) -> Vec<String> {
        let mut texts = Vec::new();
        let servers = self.enabled_servers();
        for word in prompt.split_whitespace().filter_map(|word| word.strip_prefix('@')) {
            let named = word.split_once(':').filter(|(_, uri)| !uri.is_empty());
            let Some((name, uri)) = named else { continue };
            let Some((_, server)) = servers.iter().find(|(shown, _)| shown == name) else {
                continue;
            };
            let text = match server.resource(uri).await {
                Ok(output) => words(&output),
                Err(error) => format!("It cannot be read: {error}"),
            };
            texts.push(format!("<mcp-resource server=\"{name}\">\n{text}\n</mcp-resource>"));
            if texts.len() == MOST_RESOURCES {
                break;
            }
        }
        texts
    }
}

/// One word for each argument; the last has the rest.
fn arguments(names: &[String], given: &str) -> Map<String, Value> {
    let mut rest = given.trim();
    let mut arguments = Map::new();
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        let end = rest.find(char::is_whitespace).filter(|_| !is_last).unwrap_or(rest.len());
        let (word, more) = rest.split_at(end);
        if !word.is_empty() {
            arguments.insert(name.clone(), word.into());
        }
        rest = more.trim_start();
    }
    arguments
}

fn words(output: &ToolOutput) -> String {
    let text = |part: &ResultPart| match part {
        ResultPart::Text { text } => text.clone(),
        ResultPart::Image(image) => format!("[an image of the kind {}]", image.media),
    };
    let all = output.content.iter().map(text).collect::<Vec<_>>().join("\n");
    match all.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}\n[the rest was left out]", &all[..at]),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_argument_has_the_rest() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(Value::Object(arguments(&names, " x  y z ")), json!({"a": "x", "b": "y z"}));
        assert_eq!(Value::Object(arguments(&names, "x")), json!({"a": "x"}));
        assert_eq!(Value::Object(arguments(&[], "x")), json!({}));
    }
}
