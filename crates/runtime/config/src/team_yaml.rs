//! `team.yaml`: who is in the team. What is not understood is an error with its line.

use crate::permissions_yaml::{line, yaml};
use crate::{ConfigError, misspelling};
use ostler_core::agent_definition::{AgentDefinition, AgentIsolation};
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::path::Path;

/// Teammates that need no role: it ships.
const SHIPPED: [&str; 2] = ["explorer", "writer"];
const MOST: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTeam {
    teammates: Vec<Spanned<RawTeammate>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTeammate {
    name: String,
    description: Option<String>,
    role: Option<String>,
    tools: Option<Vec<String>>,
    model: Option<String>,
    isolation: Option<String>,
    plan: Option<String>,
}

/// The teammates of a file, in its order. A role that is empty is one that ships.
///
/// # Errors
/// On the first thing in the text that is not understood, with its line.
pub fn parse(text: &str, file: &Path) -> Result<Vec<AgentDefinition>, ConfigError> {
    let raw: Option<RawTeam> = yaml(text, file)?;
    let raw = raw.ok_or_else(|| {
        ConfigError::new(file, 1, "it is empty; list teammates or delete the file")
    })?;
    let mut team: Vec<AgentDefinition> = Vec::new();
    for spanned in raw.teammates {
        let at = line(&spanned.referenced).unwrap_or(1);
        let wrong = |what: String| ConfigError::new(file, at, what);
        let teammate = teammate(spanned.value).map_err(wrong)?;
        if team.iter().any(|other| other.name == teammate.name) {
            return Err(wrong(format!("two teammates are called \"{}\"", teammate.name)));
        }
        if team.len() == MOST {
            return Err(wrong(format!("a team has at most {MOST} teammates")));
        }
        team.push(teammate);
    }
    Ok(team)
}

fn teammate(raw: RawTeammate) -> Result<AgentDefinition, String> {
    let RawTeammate { name, description, role, tools, model, isolation, plan } = raw;
    if let Some(why) = AgentDefinition::no_teammate(&name) {
        return Err(format!("\"{name}\" cannot be the name of a teammate: {why}"));
    }
    let role = role.map(|role| role.trim().to_owned()).filter(|role| !role.is_empty());
    if role.is_none() && !SHIPPED.contains(&name.as_str()) {
        let meant = misspelling::nearest(&name, &SHIPPED);
        let meant = meant.map(|meant| format!(" (did you mean \"{meant}\"?)")).unwrap_or_default();
        return Err(format!("teammate \"{name}\" has no role{meant}"));
    }
    let isolation = match isolation.as_deref() {
        None | Some("none") => AgentIsolation::None,
        Some("worktree") => AgentIsolation::Worktree,
        Some(other) => {
            return Err(format!("isolation \"{other}\" is unknown; use none or worktree"));
        }
    };
    let plan_required = match plan.as_deref() {
        None | Some("none") => false,
        Some("required") => true,
        Some(other) => return Err(format!("plan \"{other}\" is unknown; use required or none")),
    };
    Ok(AgentDefinition {
        name,
        description: description.unwrap_or_default(),
        prompt: role.unwrap_or_default(),
        tools,
        model: model.filter(|model| model != "inherit"),
        isolation,
        plan_required,
        ..AgentDefinition::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<AgentDefinition>, String> {
        parse(text, Path::new("/p/team.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_names_the_teammates() {
        let team = parsed(
            "teammates:\n  - name: writer\n  - name: tester\n    description: runs tests\n    role: |\n      Run the tests.\n    \
             tools: [Read, Bash]\n    model: haiku\n    isolation: worktree\n",
        )
        .unwrap();
        let [writer, tester] = team.as_slice() else { panic!("{team:?}") };
        assert_eq!((writer.name.as_str(), writer.prompt.as_str()), ("writer", ""), "it ships");
        assert_eq!(
            (tester.prompt.as_str(), tester.description.as_str()),
            ("Run the tests.", "runs tests")
        );
        assert_eq!(tester.tools, Some(vec!["Read".to_owned(), "Bash".to_owned()]));
        assert_eq!(tester.model.as_deref(), Some("haiku"));
        let isolation = [writer, tester].map(|teammate| teammate.isolation);
        assert_eq!(isolation, [AgentIsolation::None, AgentIsolation::Worktree]);
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        for (text, at, what) in [
            ("", 1, "it is empty"),
            ("teammates:\n  - name: writer\n    modle: x\n", 3, "modle"),
            ("teammates:\n  - name: writer\n    plan: maybe\n", 2, "use required or none"),
            ("team: []\n", 1, "team"),
            ("teammates:\n  - name: a/b\n    role: x\n", 2, "cannot be the name"),
            ("teammates:\n  - name: writer\n  - name: lead\n    role: x\n", 3, "is the lead"),
            ("teammates:\n  - name: writer-2\n    role: x\n", 2, "a number"),
            ("teammates:\n  - name: tester\n", 2, "has no role"),
            ("teammates:\n  - name: writre\n", 2, "has no role"),
            (
                "teammates:\n  - name: writer\n    isolation: vm\n",
                2,
                "isolation \"vm\" is unknown; use none or worktree",
            ),
            ("teammates:\n  - name: writer\n  - name: writer\n", 3, "two teammates"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(
                error.contains(&format!("/p/team.yaml:{at}")) && error.contains(what),
                "{error}"
            );
        }
    }
}
