//! What an agent may do and with what: its rules and its tools.

use crate::error::Error;
use crate::options::Options;
use crate::undo;
use ostler_core::ids::SessionId;
use ostler_core::permission::{Matcher, Policy, Rule, Workspace};
use ostler_core::ports::SessionLog;
use ostler_core::session::Session;
use ostler_engine::Toolbox;
use ostler_exec::Executor;
use ostler_memory::Memories;
use ostler_skills::Skills;
use ostler_tools::Keeping;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use std::path::Path;
use std::sync::Arc;

/// What tools are made of.
pub(crate) struct Kit {
    pub(crate) executor: Executor,
    pub(crate) files: Arc<Files>,
    pub(crate) keeping: Keeping,
    pub(crate) confinement: Arc<Confinement>,
    pub(crate) skills: Arc<Skills>,
    pub(crate) memories: Option<Arc<Memories>>,
    pub(crate) log: Arc<dyn SessionLog>,
}

pub(crate) fn policy(options: &Options, workspace: &Workspace) -> Result<Policy, Error> {
    let parse = |texts: &[String]| {
        texts.iter().map(|text| rule(text, workspace)).collect::<Result<Vec<_>, _>>()
    };
    let mut policy = options.policy.clone();
    policy.add(Policy {
        allow: parse(&options.allow)?,
        ask: parse(&options.ask)?,
        deny: parse(&options.deny)?,
        ..Policy::default()
    });
    Ok(policy)
}

/// A rule that would silently mean something else than it seems to is refused.
fn rule(text: &str, workspace: &Workspace) -> Result<Rule, Error> {
    let rule = Rule::parse(text, workspace)?;
    let twin = |name: &&&str| name.eq_ignore_ascii_case(&rule.tool) && **name != rule.tool;
    if let Some(name) = ostler_tools::NAMES.iter().find(twin) {
        return Err(Error::RuleCase { rule: text.to_owned(), name: (*name).to_owned() });
    }
    let pattern = text.split_once('(').map_or("", |(_, rest)| rest);
    let first = pattern.trim_start_matches('/').split('/').next().unwrap_or_default();
    let on_files = matches!(rule.matcher, Matcher::Files(_));
    let absolute =
        on_files && pattern.starts_with('/') && !pattern.starts_with("//") && !first.is_empty();
    if absolute && Path::new("/").join(first).exists() && !workspace.cwd.join(first).exists() {
        return Err(Error::RuleRoot(text.to_owned()));
    }
    Ok(rule)
}

/// A tool that is denied as a whole is not offered at all.
fn is_offered(name: &str, options: &Options, policy: &Policy) -> bool {
    let named = |names: &Vec<String>| names.iter().any(|other| other == name);
    options.tools.as_ref().is_none_or(named) && policy.offers(name)
}

pub(crate) fn check_tools(options: &Options, policy: &Policy) -> Result<(), Error> {
    let all = ostler_tools::NAMES;
    let mut names = options.tools.iter().flatten();
    if let Some(name) = names.find(|name| !all.contains(&name.as_str())) {
        return Err(Error::UnknownTool { name: name.clone(), known: all.join(", ") });
    }
    // Said now and not by the first command, when work has been done already.
    if is_offered("Bash", options, policy) {
        ostler_exec::find_bash().map_err(|error| Error::Exec(error.to_string()))?;
    }
    Ok(())
}

/// The files of a session, and how they are kept before a command.
pub(crate) fn files(
    options: &Options,
    workspace: &Workspace,
    session: &Session,
) -> (Arc<Files>, Keeping) {
    let keeping = undo::keeping(options, workspace, session);
    let roots = workspace.roots.clone();
    // What a killed process left behind is in nobody's way, so nobody waits for it to go.
    let _ = std::thread::Builder::new()
        .spawn(move || ostler_tools::workspace::remove_leftovers(&roots));
    let snapshots = match &keeping {
        Keeping::By { snapshots, .. } => undo::levels(session, snapshots),
        _ => session.snapshots.clone(),
    };
    let files = Files::new(workspace.clone(), session.seen.clone(), snapshots);
    if let Keeping::By { snapshots, .. } = &keeping {
        files.remember_contents(snapshots);
    }
    (Arc::new(files), keeping)
}

pub(crate) fn toolbox(options: &Options, policy: &Arc<Policy>, kit: Kit) -> Toolbox {
    let Kit { executor, files, keeping, confinement, skills, memories, log } = kit;
    let session: SessionId = log.id().clone();
    let mut all = ostler_tools::built_in(ostler_tools::Setup {
        files,
        executor,
        environment: options.environment.clone(),
        policy: policy.clone(),
        confinement,
        keeping,
    });
    all.push(ostler_tools::skill_tool(skills));
    all.extend(memories.map(|memories| ostler_tools::memory(memories, session)));
    all.push(ostler_tools::recall(log));
    all.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
    let offered = |name: &str| is_offered(name, options, policy);
    Toolbox::new(all.into_iter().filter(|tool| offered(&tool.spec().name)))
}
