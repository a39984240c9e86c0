//! `ostler skills`: the available skills, the text of one, and problems.

use crate::args::{ConfigArgs, SkillsCommand};
use crate::exit::{Code, Wrong, warn};
use crate::output::paint::Paint;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{Catalog, Skill, one_line};
use ostler_profile::{Environment, Profile, ProfileError};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::Write;

pub fn run(environment: &Environment, command: &SkillsCommand) -> Result<Code> {
    match command {
        SkillsCommand::List { json, config } => list(&catalog(environment, config)?, *json),
        SkillsCommand::Show { name, json, config } => {
            show(&catalog(environment, config)?, name, *json)
        }
    }
}

fn catalog(environment: &Environment, config: &ConfigArgs) -> Result<Catalog, ProfileError> {
    let profile = Profile::load(environment, config.flags())?;
    let home = &profile.places.ostler_home;
    let home = home.canonicalize().unwrap_or_else(|_| home.clone());
    Ok(ostler::skill_catalog(&profile.skills(), Some(&home)))
}

fn list(catalog: &Catalog, as_json: bool) -> Result<Code> {
    let mut out = std::io::stdout().lock();
    let all = catalog.all();
    for line in if as_json {
        all.iter().map(|skill| escaped(&brief(skill).to_string())).collect()
    } else {
        table(&all)
    } {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    for problem in catalog.problems() {
        warn(&problem.to_string());
    }
    Ok(Code::Done)
}

/// Characters of a description in the table.
const SHOWN: usize = 90;

/// One line a skill.
pub fn table(skills: &[std::sync::Arc<Skill>]) -> Vec<String> {
    let paint = Paint::for_terminal();
    let width = skills.iter().map(|skill| skill.name.chars().count()).max().unwrap_or(0);
    let line = |skill: &std::sync::Arc<Skill>| {
        let name = format!("{:width$}", visible(&skill.name));
        let origin = format!("{:7}", skill.origin.name());
        let text = visible(&one_line(skill));
        let text = match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        };
        format!("{}  {}  {text}{}", paint.bold(&name), paint.dim(&origin), marks(skill))
    };
    skills.iter().map(line).collect()
}

fn marks(skill: &Skill) -> &'static str {
    match (skill.for_model, skill.for_user) {
        (true, true) => "",
        (false, true) => " (only with /name)",
        (true, false) => " (only for the model)",
        (false, false) => " (cannot be used)",
    }
}

fn brief(skill: &Skill) -> Value {
    json!({
        "name": skill.name, "description": skill.description, "when_to_use": skill.when_to_use,
        "argument_hint": skill.argument_hint, "origin": skill.origin.name(), "file": skill.file,
        "for_model": skill.for_model, "for_user": skill.for_user, "allowed_tools": skill.allowed_tools,
        "paths": skill.paths, "model": skill.model, "trusted": skill.trusted,
    })
}

fn show(catalog: &Catalog, name: &str, as_json: bool) -> Result<Code> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let Some(skill) = catalog.find(name) else {
        let all = catalog.all();
        let known: Vec<&str> = all.iter().map(|skill| skill.name.as_str()).collect();
        let what = format!("unknown skill \"{name}\"; available: {}", known.join(", "));
        return Err(Wrong::Usage(what).into());
    };
    let mut out = std::io::stdout().lock();
    if as_json {
        let mut value = brief(&skill);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("text".into(), skill.body.clone().into());
        }
        writeln!(out, "{}", escaped(&value.to_string()))?;
        return Ok(Code::Done);
    }
    let paint = Paint::for_terminal();
    writeln!(out, "{}{}", paint.bold(&visible(&skill.name)), marks(&skill))?;
    let mut row = |key: &str, value: String| match value.is_empty() {
        true => Ok(()),
        false => writeln!(out, "{} {}", paint.dim(&format!("{key}:")), visible(&value)),
    };
    row("description", skill.description.clone())?;
    row("when to use", skill.when_to_use.clone().unwrap_or_default())?;
    row("arguments", skill.argument_hint.clone().unwrap_or_default())?;
    row("file", format!("{} ({})", skill.file.display(), skill.origin.name()))?;
    let trust = if skill.trusted { "" } else { " (ignored: not trusted, run ostler --trust)" };
    if !skill.allowed_tools.is_empty() {
        row("allowed tools", format!("{}{trust}", skill.allowed_tools.join(", ")))?;
    }
    row("for files", skill.paths.join(", "))?;
    row("model", skill.model.clone().unwrap_or_default())?;
    let text: Vec<String> = skill.body.lines().map(visible).collect();
    writeln!(out, "\n{}", text.join("\n"))?;
    Ok(Code::Done)
}
