//! What a server offers, checked: everything in it comes from a stranger.

use crate::configuration::hex;
use crate::metadata;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Tools of one server; further ones are left out.
const MOST_TOOLS: usize = 1_000;
/// Prompts of one server.
const MOST_PROMPTS: usize = 200;
/// Characters of a server's instructions.
const LONGEST_INSTRUCTIONS: usize = 2_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// How the server calls itself.
    pub server: String,
    pub version: String,
    pub protocol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    pub tools: Vec<ToolEntry>,
    #[serde(default)]
    pub prompts: Vec<PromptEntry>,
    /// It has resources.
    #[serde(default)]
    pub resources: bool,
    /// What was left out, one line each.
    #[serde(default)]
    pub faults: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// As the server calls it.
    pub name: String,
    /// The part of its name for the model that comes after the server's.
    pub shown: String,
    #[serde(default)]
    pub title: Option<String>,
    pub description: String,
    pub schema: Value,
    /// The server says that it changes nothing.
    #[serde(default)]
    pub read_only: bool,
    /// The server says that it is always worth listing.
    #[serde(default)]
    pub always_load: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptEntry {
    pub name: String,
    /// The part of its name as a slash command that comes after the server's.
    pub shown: String,
    pub description: String,
    pub arguments: Vec<String>,
}

/// What a server said, before it is checked.
#[derive(Default)]
pub(crate) struct Offered {
    pub(crate) server: String,
    pub(crate) version: String,
    pub(crate) protocol: String,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<rmcp::model::Tool>,
    pub(crate) prompts: Vec<rmcp::model::Prompt>,
    pub(crate) resources: bool,
    /// The list was longer than what was read.
    pub(crate) more_tools: bool,
}

impl Manifest {
    pub(crate) fn checked(offered: Offered) -> Self {
        let mut faults = Vec::new();
        let mut tools: Vec<ToolEntry> = Vec::new();
        let more = offered.more_tools || offered.tools.len() > MOST_TOOLS;
        for tool in offered.tools.into_iter().take(MOST_TOOLS) {
            match tool_entry(tool) {
                Ok(entry) if tools.iter().any(|other| other.shown == entry.shown) => {
                    faults.push(format!("there is another tool with the name {}", entry.shown));
                }
                Ok(entry) => tools.push(entry),
                Err(why) => faults.push(why),
            }
        }
        if more {
            faults.push(format!("only its first {MOST_TOOLS} tools are used"));
        }
        let prompts = offered.prompts.into_iter().take(MOST_PROMPTS).filter_map(prompt_entry);
        let instructions =
            offered.instructions.map(|text| metadata::text(&text, LONGEST_INSTRUCTIONS));
        Manifest {
            server: metadata::text(&offered.server, 100),
            version: metadata::text(&offered.version, 100),
            protocol: metadata::text(&offered.protocol, 40),
            instructions: instructions.filter(|text| !text.is_empty()),
            tools,
            prompts: prompts.collect(),
            resources: offered.resources,
            faults: metadata::few(faults),
        }
    }
}

impl ToolEntry {
    /// Of everything that a model is told about it.
    pub(crate) fn hash(&self) -> String {
        let told = serde_json::json!([self.name, self.title, self.description, self.schema]);
        hex(&Sha256::digest(told.to_string().as_bytes()))
    }
}

fn tool_entry(tool: rmcp::model::Tool) -> Result<ToolEntry, String> {
    let name = tool.name.into_owned();
    let shown = metadata::tool_name(&name)?;
    let schema = Value::Object((*tool.input_schema).clone());
    metadata::check_schema(&schema)
        .map_err(|why| format!("the tool {shown} is left out: {why}"))?;
    let annotations = tool.annotations.unwrap_or_default();
    let title = tool.title.or(annotations.title).map(|title| metadata::text(&title, 200));
    let description = tool.description.as_deref().or(title.as_deref()).unwrap_or_default();
    let always = tool.meta.as_ref().and_then(|meta| {
        meta.iter().find(|(key, _)| key.ends_with("/alwaysLoad")).map(|(_, value)| value)
    });
    Ok(ToolEntry {
        description: metadata::text(description, metadata::LONGEST_DESCRIPTION),
        name,
        shown,
        title,
        schema: metadata::object_schema(schema),
        read_only: annotations.read_only_hint == Some(true),
        always_load: always.and_then(Value::as_bool) == Some(true),
    })
}

fn prompt_entry(prompt: rmcp::model::Prompt) -> Option<PromptEntry> {
    let shown = metadata::tool_name(&prompt.name).ok()?;
    let arguments = prompt.arguments.unwrap_or_default().into_iter().take(20);
    Some(PromptEntry {
        description: metadata::text(prompt.description.as_deref().unwrap_or_default(), 500),
        name: prompt.name,
        shown,
        arguments: arguments.map(|argument| metadata::text(&argument.name, 100)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offered(tools: Value) -> Offered {
        Offered { tools: serde_json::from_value(tools).unwrap(), ..Offered::default() }
    }

    #[test]
    fn what_a_server_says_about_its_tools_is_checked_one_by_one() {
        let schema = json!({"type": "object"});
        let manifest = Manifest::checked(offered(json!([
            {"name": "a b", "description": "One\u{202e}.", "inputSchema": schema},
            {"name": "a_b", "description": "Two.", "inputSchema": schema},
            {"name": "c", "inputSchema": {"$ref": "http://x/"}},
            {"name": "d", "title": "Title", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
            {"name": "e", "inputSchema": schema, "_meta": {"x.example/alwaysLoad": true}},
        ])));
        let shown: Vec<&str> = manifest.tools.iter().map(|tool| tool.shown.as_str()).collect();
        assert_eq!(shown, ["a_b", "d", "e"], "the first of a name counts");
        assert_eq!(
            (manifest.tools[0].name.as_str(), &*manifest.tools[0].description),
            ("a b", "One.")
        );
        assert_eq!((&*manifest.tools[1].description, manifest.tools[1].read_only), ("Title", true));
        assert!(manifest.tools[2].always_load && !manifest.tools[2].read_only);
        assert_eq!(
            manifest.faults,
            [
                "there is another tool with the name a_b",
                "the tool c is left out: its input schema refers to another document"
            ]
        );
    }

    #[test]
    fn the_hash_is_over_everything_that_a_model_is_told() {
        let tool = json!({"name": "a", "title": "t", "description": "d", "inputSchema": {"type": "object"}});
        let hash = |tool: &Value| Manifest::checked(offered(json!([tool]))).tools[0].hash();
        let first = hash(&tool);
        assert_eq!(hash(&tool), first);
        for (key, value) in [
            ("name", json!("b")),
            ("title", json!("u")),
            ("description", json!("e")),
            ("inputSchema", json!({"type": "object", "required": ["x"]})),
        ] {
            let mut other = tool.clone();
            other[key] = value;
            assert_ne!(hash(&other), first, "{key}");
        }
    }

    #[test]
    fn lists_are_bounded() {
        let tool = |n| json!({"name": format!("t{n}"), "inputSchema": {"type": "object"}});
        let tools = (0..MOST_TOOLS + 1).map(tool).collect();
        let manifest = Manifest::checked(offered(Value::Array(tools)));
        assert_eq!(manifest.tools.len(), MOST_TOOLS);
        assert_eq!(manifest.faults, ["only its first 1000 tools are used"]);
        let prompts = (0..MOST_PROMPTS + 1).map(|n| json!({"name": format!("p{n}")})).collect();
        let prompts = serde_json::from_value(Value::Array(prompts)).unwrap();
        let manifest = Manifest::checked(Offered {
            prompts,
            instructions: Some("i".repeat(LONGEST_INSTRUCTIONS + 1)),
            ..Offered::default()
        });
        assert_eq!(manifest.prompts.len(), MOST_PROMPTS);
        assert_eq!(manifest.instructions.unwrap().chars().count(), LONGEST_INSTRUCTIONS + 1);
    }
}
