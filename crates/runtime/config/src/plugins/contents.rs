//! What a plugin contains: skills, commands, agents, hooks and MCP servers, under its own name.

use super::folder::PluginFolder;
use super::manifest::Manifest;
use crate::ConfigError;
use crate::agent_files;
use crate::error::one_line;
use crate::hooks_json;
use crate::located_json::Document;
use crate::started_programs::variables_in;
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::hook::{HookAction, HookSpec};
use ostler_core::permission::Tier;
use ostler_core::tool_facts::KnownTools;
use ostler_skills::{Catalog, Folder, SkillLayout, SkillOrigin};
use serde_json::Value;
use std::path::PathBuf;

const HOOKS: &str = "hooks/hooks.json";
const SERVERS: &str = ".mcp.json";
/// Variables that stand for the plugin's own directory.
const ROOTS: [&str; 2] = ["${CLAUDE_PLUGIN_ROOT}", "${OSTLER_PLUGIN_ROOT}"];
const MOST_SERVERS: usize = 50;
const MOST_AGENTS: usize = 200;

/// A plugin as it is on disk now.
#[derive(Clone, Debug)]
pub struct Plugin {
    pub name: String,
    pub version: String,
    pub description: String,
    /// Its directory, free of links.
    pub root: PathBuf,
    /// Over every file in it.
    pub sha256: String,
    pub files: u64,
    pub bytes: u64,
    pub skills: Vec<PluginSkill>,
    pub agents: Vec<PluginAgent>,
    pub hooks: Vec<HookSpec>,
    pub servers: Vec<PluginServer>,
    /// What is in it and is not used, or not understood; one line each.
    pub warnings: Vec<String>,
    /// Where its skills and commands are found.
    pub skill_folders: Vec<Folder>,
    /// Contents of its skills, by hash.
    pub skill_hashes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSkill {
    /// With the plugin's name in front.
    pub name: String,
    pub description: String,
    pub is_command: bool,
    /// What it runs and allows, one line each.
    pub wants: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PluginAgent {
    pub path: PathBuf,
    /// Its name has the plugin's in front.
    pub definition: AgentDefinition,
}

/// An MCP server, as the plugin configures it.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginServer {
    pub plugin: String,
    /// With the plugin's name in front.
    pub name: String,
    /// The entry of `.mcp.json`, in which the plugin's directory is filled in.
    pub config: Value,
    /// Variables of the environment that it names.
    pub variables: Vec<String>,
}

impl PluginServer {
    /// What it starts or calls, with the variables that it reads.
    pub fn summary(&self) -> String {
        let text = |key: &str| self.config.get(key).and_then(Value::as_str);
        let args = self.config.get("args").and_then(Value::as_array).into_iter().flatten();
        let args = args.filter_map(Value::as_str);
        let line = match (text("command"), text("url")) {
            (Some(command), _) => {
                let words: Vec<&str> = std::iter::once(command).chain(args).collect();
                format!("starts {}", words.join(" "))
            }
            (None, Some(url)) => format!("calls {url}"),
            (None, None) => "names neither a command nor a URL".into(),
        };
        let variables = match self.variables.as_slice() {
            [] => String::new(),
            names => format!(" (reads {})", names.join(", ")),
        };
        one_line(&format!("{line}{variables}"))
    }
}

pub(super) fn read(folder: PluginFolder, tools: &KnownTools) -> Result<Plugin, ConfigError> {
    let manifest = Manifest::of(&folder)?;
    let mut plugin = Plugin {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        sha256: folder.sha256.clone(),
        files: folder.files,
        bytes: folder.bytes,
        skills: Vec::new(),
        agents: Vec::new(),
        hooks: Vec::new(),
        servers: Vec::new(),
        warnings: manifest.warnings.clone(),
        skill_folders: Vec::new(),
        skill_hashes: Vec::new(),
        root: folder.root.clone(),
    };
    plugin.read_skills(&folder, tools);
    plugin.read_agents(&folder);
    plugin.read_hooks(&folder, manifest.hooks.as_ref())?;
    plugin.read_servers(&folder, manifest.servers.as_ref())?;
    Ok(plugin)
}

impl Plugin {
    fn read_skills(&mut self, folder: &PluginFolder, tools: &KnownTools) {
        let places = [("skills", SkillLayout::Skills), ("commands", SkillLayout::Commands)];
        self.skill_folders = places
            .iter()
            .map(|(name, layout)| Folder {
                path: self.root.join(name),
                layout: *layout,
                origin: SkillOrigin::Plugin,
                within: Some(self.root.clone()),
                namespace: Some(self.name.clone()),
            })
            .collect();
        let is_skill =
            |name: &str| places.iter().any(|(place, _)| name.starts_with(&format!("{place}/")));
        let texts = folder.texts.iter().filter(|(name, _)| is_skill(name));
        self.skill_hashes = texts.map(|(_, bytes)| ostler_skills::hash(bytes)).collect();
        let hashes = self.skill_hashes.iter().cloned();
        let catalog = Catalog::new(self.skill_folders.clone(), Vec::new(), hashes, tools.clone());
        let commands = self.root.join("commands");
        self.skills = catalog
            .all()
            .iter()
            .map(|skill| PluginSkill {
                name: skill.name.clone(),
                description: one_line(&skill.description),
                is_command: skill.file.starts_with(&commands),
                wants: ostler_skills::wants(skill).iter().map(|want| one_line(want)).collect(),
            })
            .collect();
        self.warnings.extend(catalog.problems().iter().map(ToString::to_string));
    }

    fn read_agents(&mut self, folder: &PluginFolder) {
        let texts = folder.texts.iter();
        let agents = texts.filter(|(name, _)| name.starts_with("agents/") && name.ends_with(".md"));
        for (name, bytes) in agents.take(MOST_AGENTS) {
            let path = self.root.join(name);
            match agent_files::parse(&String::from_utf8_lossy(bytes), &path) {
                Ok(mut definition) => {
                    definition.name = format!("{}:{}", self.name, definition.name);
                    definition.description = one_line(&definition.description);
                    self.agents.push(PluginAgent { path, definition });
                }
                Err(why) => self.warnings.push(one_line(&why)),
            }
        }
    }

    /// What guards calls and is not understood makes the whole plugin unusable.
    fn read_hooks(
        &mut self,
        folder: &PluginFolder,
        inline: Option<&Value>,
    ) -> Result<(), ConfigError> {
        for (path, text) in self.documents(folder, HOOKS, inline)? {
            let root = Document::root(&text, &path)?;
            let inner = root.object("the file")?.into_iter().find(|(key, _)| key == "hooks");
            let value = inner.map_or(root, |(_, value)| value);
            let mut read = hooks_json::parse(value, &path, Tier::Project)?;
            for hook in &mut read.hooks {
                hook.plugin = Some(self.root.clone());
                // A person accepted it; it can never be granted to run outside of the sandbox.
                hook.source.tier = Tier::User;
                hook.outside = false;
                if let HookAction::Command { command, args: Some(args) } = &mut hook.action {
                    *command = self.filled_in(command);
                    for arg in args {
                        *arg = self.filled_in(arg);
                    }
                }
            }
            self.hooks.append(&mut read.hooks);
            let line =
                |(line, what): (usize, String)| ConfigError::new(&path, line, what).to_string();
            self.warnings.extend(read.warnings.into_iter().map(line));
        }
        Ok(())
    }

    fn read_servers(
        &mut self,
        folder: &PluginFolder,
        inline: Option<&Value>,
    ) -> Result<(), ConfigError> {
        for (path, text) in self.documents(folder, SERVERS, inline)? {
            let wrong = |what: String| ConfigError::new(&path, None, what);
            let file: Value = serde_json::from_str(&text)
                .map_err(|error| wrong(format!("this is not JSON: {error}")))?;
            let servers = file.get("mcpServers").unwrap_or(&file).as_object();
            let servers = servers.ok_or_else(|| wrong("mcpServers must be an object".into()))?;
            for (name, config) in servers {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
                    return Err(wrong(format!("\"{name}\" cannot be the name of a server")));
                }
                if self.servers.len() == MOST_SERVERS {
                    return Err(wrong(format!("a plugin can have at most {MOST_SERVERS} servers")));
                }
                let mut config = config.clone();
                each_text(&mut config, &mut |text| *text = self.filled_in(text));
                let mut variables = Vec::new();
                each_text(&mut config, &mut |text| variables.extend(variables_in(text)));
                variables.sort();
                variables.dedup();
                let name = format!("{}:{name}", self.name);
                self.servers.push(PluginServer {
                    plugin: self.name.clone(),
                    name,
                    config,
                    variables,
                });
            }
        }
        Ok(())
    }

    /// A file at its usual place, and what the manifest says besides: inline, or the name of another file.
    fn documents(
        &self,
        folder: &PluginFolder,
        usual: &str,
        named: Option<&Value>,
    ) -> Result<Vec<(PathBuf, String)>, ConfigError> {
        let mut found = Vec::new();
        let mut add = |name: &str| -> Result<(), ConfigError> {
            let path = self.root.join(name);
            let missing = || ConfigError::new(&path, None, "there is no such file in the plugin");
            let bytes = folder.texts.get(name).ok_or_else(missing)?;
            let text = crate::files::text(&path, bytes.clone())?;
            found.push((path, text));
            Ok(())
        };
        if folder.texts.contains_key(usual) {
            add(usual)?;
        }
        match named {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) => {
                let name = name.trim_start_matches("./");
                if name != usual {
                    add(name)?;
                }
            }
            Some(inline) => found.push((self.root.join("plugin.json"), inline.to_string())),
        }
        Ok(found)
    }

    fn filled_in(&self, text: &str) -> String {
        let root = self.root.display().to_string();
        ROOTS.iter().fold(text.to_owned(), |text, variable| text.replace(variable, &root))
    }
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each_text(field, change)),
        _ => {}
    }
}
