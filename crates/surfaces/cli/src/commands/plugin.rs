//! `ostler plugin`: what plugins can do, and which of them are in effect.

use crate::args::plugin::{PluginArgs, PluginCommand};
use crate::exit::{Code, Wrong};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::config::{
    InstalledPlugin, Plugin, PluginSource, PluginState, SettingsPlaces, installed_plugins,
    keep_plugin, plugin_state, read_plugin,
};
use ostler_profile::{Environment, Flags, find_places};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal, Write};

pub fn run(init: &ostler::Init, environment: &Environment, args: &PluginArgs) -> Result<Code> {
    let places = find_places(environment, &Flags::default())?;
    let json = args.json;
    match &args.command {
        PluginCommand::Add { source, yes } => add(init, environment, &places, source, (*yes, json)),
        PluginCommand::List => list(&places, json),
        PluginCommand::Show { name } => show(&places, name, json),
        PluginCommand::Enable { name, yes } => enable(&places, name, (*yes, json)),
        PluginCommand::Disable { name } => {
            let plugin = InstalledPlugin { enabled: false, ..installed(&places, name)? };
            keep_plugin(&places, &plugin).map_err(wrong)?;
            say(json, json!({ "name": name, "state": "disabled" }), &format!("Disabled {name}."))
        }
        PluginCommand::Remove { name } => {
            ostler::remove_plugin(&places, &installed(&places, name)?)?;
            say(json, json!({ "name": name, "state": "removed" }), &format!("Removed {name}."))
        }
    }
}

fn wrong(error: ostler::config::ConfigError) -> Wrong {
    Wrong::Config(error.to_string())
}

fn say(json: bool, object: Value, line: &str) -> Result<Code> {
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", escaped(&object.to_string()))?,
        false => writeln!(out, "{}", visible(line))?,
    }
    Ok(Code::Done)
}

fn installed(places: &SettingsPlaces, name: &str) -> Result<InstalledPlugin> {
    let all = installed_plugins(places).map_err(wrong)?;
    let found = all.into_iter().find(|plugin| plugin.name == name);
    let what = format!("there is no plugin {name}. `ostler plugin list` lists the installed ones");
    Ok(found.ok_or(Wrong::Config(what))?)
}

fn add(
    init: &ostler::Init,
    environment: &Environment,
    places: &SettingsPlaces,
    source: &str,
    (yes, json): (bool, bool),
) -> Result<Code> {
    let variables = environment.for_commands(&[]);
    let found = ostler::block_on(ostler::find_plugin(init, places, variables, source))??;
    if !accepted(&found.plugin, &found.source, (yes, json))? {
        return Ok(Code::Config);
    }
    let installed = ostler::install_plugin(places, found)?;
    let name = &installed.name;
    let object = json!({ "name": name, "state": "enabled", "path": installed.path, "sha256": installed.sha256, "source": installed.source });
    say(json, object, &format!("Installed {name}. It is in effect in new sessions."))
}

fn enable(places: &SettingsPlaces, name: &str, (yes, json): (bool, bool)) -> Result<Code> {
    let known = installed(places, name)?;
    let plugin = read_plugin(&known.path, &places.tools).map_err(wrong)?;
    if plugin.name != *name {
        let now = &plugin.name;
        let what = format!("the name of the plugin is now {now}. Remove {name} and add it again");
        return Err(Wrong::Config(what).into());
    }
    let is_as_accepted = plugin.sha256 == known.sha256;
    if !is_as_accepted && !accepted(&plugin, &known.source, (yes, json))? {
        return Ok(Code::Config);
    }
    let sha256 = plugin.sha256;
    keep_plugin(places, &InstalledPlugin { enabled: true, sha256, ..known }).map_err(wrong)?;
    say(json, json!({ "name": name, "state": "enabled" }), &format!("Enabled {name}."))
}

/// Shows what the plugin can do before anybody says yes.
fn accepted(plugin: &Plugin, source: &PluginSource, (yes, json): (bool, bool)) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    if !json {
        for line in report(plugin, source) {
            writeln!(out, "{line}")?;
        }
    }
    if yes {
        return Ok(true);
    }
    let input = std::io::stdin();
    if json || !input.is_terminal() {
        let what = "nothing was installed, because nobody could be asked. Review what the plugin can do (ostler plugin show), then pass --yes";
        return Err(Wrong::Config(what.into()).into());
    }
    write!(out, "Install and enable this plugin? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn report(plugin: &Plugin, source: &PluginSource) -> Vec<String> {
    let version = match plugin.version.as_str() {
        "" => String::new(),
        version => format!(" {version}"),
    };
    let from = match source {
        PluginSource::Path => plugin.root.display().to_string(),
        PluginSource::Git { url, commit } => format!("{url} at commit {commit}"),
    };
    let mut lines = vec![format!("{}{version}: {}", plugin.name, plugin.description)];
    lines.push(format!("  from {from} ({}, sha256 {})", plugin.size(), plugin.sha256));
    lines.extend(plugin.abilities().iter().map(|line| format!("  {line}")));
    lines.extend(plugin.warnings.iter().map(|line| format!("  warning: {line}")));
    lines.iter().map(|line| visible(line)).collect()
}

fn as_json(plugin: &Plugin) -> Value {
    let servers: Vec<Value> = plugin
        .servers
        .iter()
        .map(|it| json!({ "name": it.name, "config": it.config, "variables": it.variables }))
        .collect();
    let hooks: Vec<Value> = plugin
        .hooks
        .iter()
        .map(|hook| json!({ "event": hook.event.name(), "runs": hook.what() }))
        .collect();
    let agents: Vec<&str> = plugin.agents.iter().map(|it| it.definition.name.as_str()).collect();
    let skills: Vec<Value> = plugin
        .skills
        .iter()
        .map(|it| json!({ "name": it.name, "description": it.description, "wants": it.wants, "command": it.is_command }))
        .collect();
    json!({
        "name": plugin.name, "version": plugin.version, "description": plugin.description,
        "path": plugin.root, "sha256": plugin.sha256, "files": plugin.files, "bytes": plugin.bytes,
        "skills": skills, "agents": agents, "hooks": hooks, "servers": servers,
        "warnings": plugin.warnings,
    })
}

fn list(places: &SettingsPlaces, json: bool) -> Result<Code> {
    let mut out = std::io::stdout().lock();
    let all = installed_plugins(places).map_err(wrong)?;
    for plugin in &all {
        let state = plugin_state(plugin, places);
        if json {
            let why = match &state {
                PluginState::Unusable(why) => Some(why),
                _ => None,
            };
            let line = json!({ "name": plugin.name, "state": state.name(), "why": why, "path": plugin.path, "sha256": plugin.sha256, "source": plugin.source });
            writeln!(out, "{}", escaped(&line.to_string()))?;
            continue;
        }
        let from = match &plugin.source {
            PluginSource::Path => plugin.path.display().to_string(),
            PluginSource::Git { url, commit } => {
                format!("{url} at {}", commit.get(..12).unwrap_or(commit))
            }
        };
        let why = match &state {
            PluginState::Changed(_) => format!("  (changed: ostler plugin enable {})", plugin.name),
            PluginState::Unusable(why) => format!("  ({why})"),
            _ => String::new(),
        };
        writeln!(out, "{}", visible(&format!("{:<9} {}  {from}{why}", state.name(), plugin.name)))?;
    }
    if all.is_empty() && !json {
        writeln!(out, "No plugins are installed.")?;
    }
    Ok(Code::Done)
}

fn show(places: &SettingsPlaces, name: &str, json: bool) -> Result<Code> {
    let all = installed_plugins(places).map_err(wrong)?;
    let known = all.into_iter().find(|plugin| plugin.name == name);
    let (path, source) = match known {
        Some(known) => (known.path, known.source),
        None => (places.cwd.join(name), PluginSource::Path),
    };
    let plugin = read_plugin(&path, &places.tools).map_err(wrong)?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", escaped(&as_json(&plugin).to_string()))?;
    } else {
        for line in report(&plugin, &source) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(Code::Done)
}
