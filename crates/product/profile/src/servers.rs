//! The MCP servers of a run: from the person's files, the project's and the flags.

use crate::{Profile, ProfileError};
use ostler::config::{ServerLimits, ServersText};
use ostler::mcp_servers::{
    ConfigFault, Configured, ServerConfig, ServerReach, ServerScope, from_json, from_yaml,
};
use ostler::{McpOptions, Tier, server_not_permitted};
use std::path::{Path, PathBuf};

/// Bytes of one file.
const LARGEST: u64 = 1 << 20;

/// Where our own list of servers is, below our home.
const OWN: &str = "mcp.json";

/// The servers of a profile, with what is wrong with those that cannot be used.
#[derive(Debug, Default)]
pub struct ProfileServers {
    /// One of each name, the one that counts.
    pub servers: Vec<ServerConfig>,
    /// One line each, with the file.
    pub faults: Vec<String>,
}

impl Profile {
    /// The MCP servers that a session would have.
    ///
    /// # Errors
    /// If a flag names a file that cannot be used.
    pub fn mcp_servers(&self) -> Result<ProfileServers, ProfileError> {
        let mut found = ProfileServers::default();
        if !self.flags.strict_mcp_config {
            self.own_servers(&mut found);
            self.plugin_servers(&mut found);
            for text in &self.loaded.servers {
                found.add_text(text, &|name| self.environment.text(name));
            }
            let unwanted = &self.loaded.disabled_servers;
            let is_unwanted = |server: &ServerConfig| {
                server.scope == ServerScope::Project && unwanted.contains(&server.name)
            };
            found.servers.retain(|server| !is_unwanted(server));
        }
        for argument in &self.flags.mcp_config {
            self.argument(argument, &mut found)?;
        }
        found.restrict(&self.loaded.server_limits);
        Ok(found)
    }

    pub(crate) fn mcp_options(&self) -> Result<McpOptions, ProfileError> {
        let ProfileServers { servers, .. } = self.mcp_servers()?;
        let limits = self.loaded.server_limits.clone();
        Ok(McpOptions { servers, limits, ..McpOptions::default() })
    }

    /// The file that `ostler mcp add` writes.
    pub fn mcp_file(&self) -> PathBuf {
        self.places.ostler_home.join(OWN)
    }

    /// Those that `ostler mcp add` and Claude Code keep for this person: for all projects, and for this one.
    fn own_servers(&self, found: &mut ProfileServers) {
        if !self.places.sources.user {
            return;
        }
        let claude = self.places.user_home.join(".claude.json");
        for file in [claude, self.mcp_file()] {
            let Ok(text) = read(&file) else { continue };
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&text);
            let Ok(root) = parsed else {
                found
                    .faults
                    .push(format!("{} is not JSON; its MCP servers are ignored", file.display()));
                continue;
            };
            let project = self.places.project.to_string_lossy();
            let of_project = root.get("projects").and_then(|all| all.get(project.as_ref()));
            let lists = [(Some(&root), ServerScope::User), (of_project, ServerScope::Local)];
            for (place, scope) in lists {
                let Some(servers) = place.and_then(|place| place.get("mcpServers")) else {
                    continue;
                };
                let text = servers.to_string();
                found.add(from_json(&text, scope, &|name| self.environment.text(name)), &file);
            }
        }
    }

    /// Those of plugins. Their programs can read the plugin and have nothing else that others have not.
    fn plugin_servers(&self, found: &mut ProfileServers) {
        for plugin in &self.loaded.plugins {
            for server in &plugin.servers {
                let name = format!("plugin_{}", server.name.replace(':', "_"));
                let text = serde_json::json!({ name: server.config }).to_string();
                let value = |name: &str| self.environment.text(name);
                let mut configured = from_json(&text, ServerScope::Plugin, &value);
                for config in &mut configured.servers {
                    config.trusted = false;
                    config.reach = ServerReach::default();
                    config.reach.read.push(plugin.root.clone());
                }
                let is_taken = |config: &ServerConfig| {
                    found.servers.iter().any(|known| {
                        known.scope == ServerScope::Plugin && has_name_of(known, config)
                    })
                };
                if let Some(config) = configured.servers.extract_if(.., |it| is_taken(it)).next() {
                    configured.faults.push(ConfigFault::Server {
                        server: config.name,
                        why: "another plugin has a server of that name".into(),
                    });
                }
                found.add(configured, &plugin.root);
            }
        }
    }

    /// A file or JSON, as `--mcp-config` takes it.
    fn argument(&self, argument: &str, found: &mut ProfileServers) -> Result<(), ProfileError> {
        let usage = |why: String| ProfileError::Usage(format!("--mcp-config: {why}"));
        let value = |name: &str| self.environment.text(name);
        let (configured, label) = if argument.trim_start().starts_with('{') {
            (from_json(argument, ServerScope::Session, &value), PathBuf::from("--mcp-config"))
        } else {
            let file = self.places.cwd.join(argument);
            let text = read(&file)
                .map_err(|error| usage(format!("cannot read {}: {error}", file.display())))?;
            let is_yaml = file.extension().is_some_and(|kind| kind == "yaml" || kind == "yml");
            let parse = if is_yaml { from_yaml } else { from_json };
            (parse(&text, ServerScope::Session, &value), file)
        };
        // What somebody asks for by a flag is there or an error.
        if let Some(fault) = configured.faults.first() {
            return Err(usage(format!("{}: {fault}", label.display())));
        }
        found.add(configured, &label);
        Ok(())
    }
}

impl ProfileServers {
    fn add_text(&mut self, text: &ServersText, value: &dyn Fn(&str) -> Option<String>) {
        let scope = match text.tier {
            Tier::Project => ServerScope::Project,
            Tier::Local => ServerScope::Local,
            Tier::CommandLine => ServerScope::Session,
            _ => ServerScope::User,
        };
        let parse = if text.is_yaml { from_yaml } else { from_json };
        self.add(parse(&text.text, scope, value), &text.file);
    }

    /// Leaves out what settings do not permit, wherever it is configured.
    fn restrict(&mut self, limits: &ServerLimits) {
        for server in std::mem::take(&mut self.servers) {
            match server_not_permitted(limits, &server) {
                None => self.servers.push(server),
                Some(why) => self.faults.push(why),
            }
        }
    }

    /// A later one of the same name counts if its scope is not weaker.
    fn add(&mut self, configured: Configured, file: &Path) {
        let at = |fault: &dyn std::fmt::Display| format!("{}: {fault}", file.display());
        self.faults.extend(configured.faults.iter().map(|fault| at(fault)));
        for server in configured.servers {
            let known = self.servers.iter_mut().find(|known| has_name_of(known, &server));
            match known {
                Some(known) if known.scope <= server.scope => *known = server,
                Some(_) => {}
                None => self.servers.push(server),
            }
        }
    }
}

/// Their tools would have the same names.
fn has_name_of(one: &ServerConfig, other: &ServerConfig) -> bool {
    one.shown_name() == other.shown_name()
}

fn read(file: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let file = std::fs::File::open(file)?;
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LARGEST {
        true => Err(std::io::Error::other("it is larger than 1 MB")),
        false => Ok(text),
    }
}
