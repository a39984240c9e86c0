//! What an agent may do and with what: its rules and its tools.

use crate::error::Error;
use crate::session_options::SessionOptions;
use crate::undo;
use ostler_core::event::Notice;
use ostler_core::ids::SessionId;
use ostler_core::permission::{Matcher, Policy, Rule, ToolName, Workspace};
use ostler_core::ports::{MemoryStore, SessionLog, Tool};
use ostler_core::session::SessionRecord;
use ostler_core::tool_facts::{KnownTools, ToolKind};
use ostler_engine::Toolbox;
use ostler_exec::Executor;
use ostler_memory::Memories;
use ostler_skills::Skills;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use ostler_tools::{Keeping, SessionParts};
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

pub(crate) fn policy(options: &SessionOptions, workspace: &Workspace) -> Result<Policy, Error> {
    let parse = |texts: &[String]| {
        texts.iter().map(|text| rule(text, workspace)).collect::<Result<Vec<_>, _>>()
    };
    // What an allow rule says about a tool that does not exist here is not needed.
    let tools = &workspace.tools;
    let ours = |text: &&String| ToolName::of(tool_of(text), tools) != ToolName::Elsewhere;
    let allow: Vec<String> = options.allow.iter().filter(ours).cloned().collect();
    let mut policy = options.policy.clone();
    policy.add(Policy {
        allow: parse(&allow)?,
        ask: parse(&options.ask)?,
        deny: parse(&options.deny)?,
        ..Policy::default()
    });
    Ok(policy)
}

/// A rule that would silently mean something other than it seems to is refused.
fn rule(text: &str, workspace: &Workspace) -> Result<Rule, Error> {
    let tool = tool_of(text);
    let text = match ToolName::of(tool, &workspace.tools) {
        ToolName::Mistake(meant) => return Err(misspelt(tool, meant)),
        // A pattern that is not ours: the whole tool is meant at least.
        ToolName::Elsewhere if Rule::parse(text, workspace).is_err() => tool,
        _ => text,
    };
    let rule = Rule::parse(text, workspace)?;
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

fn misspelt(name: &str, meant: &str) -> Error {
    Error::UnknownTool { name: name.to_owned(), meant: meant.to_owned() }
}

/// All tools that rules can name and logs can hold: ours and those of the calling program.
pub(crate) fn known_tools(options: &SessionOptions) -> KnownTools {
    let ours = ostler_tools::known_tools();
    let more = options.more_tools.iter().map(|tool| tool.spec());
    let more = more.map(|spec| (spec.name.clone(), spec.facts));
    let ours: Vec<_> = ours.names().map(|name| (name.to_owned(), ours.facts(name))).collect();
    KnownTools::new(ours.into_iter().chain(more))
}

/// The name before the pattern.
fn tool_of(rule: &str) -> &str {
    rule.split('(').next().unwrap_or_default().trim()
}

/// A tool that is denied as a whole is not offered at all.
fn is_offered(name: &str, options: &SessionOptions, policy: &Policy) -> bool {
    let named = |names: &Vec<String>| names.iter().any(|other| other == name);
    options.tools.as_ref().is_none_or(named) && policy.offers(name)
}

/// Gives a warning for each name that nobody knows.
pub(crate) fn check_tools(options: &SessionOptions, policy: &Policy) -> Result<Vec<Notice>, Error> {
    let tools = known_tools(options);
    for name in options.tools.iter().flatten().map(|name| tool_of(name)) {
        if let ToolName::Mistake(meant) = ToolName::of(name, &tools) {
            return Err(misspelt(name, meant));
        }
    }
    // Reported now rather than by the first command, when work has been done already.
    if tools.of_kind(ToolKind::Runs).any(|name| is_offered(name, options, policy)) {
        ostler_exec::find_bash().map_err(|error| Error::Exec(error.to_string()))?;
    }
    Ok(unknown_tools(options, &tools))
}

fn unknown_tools(options: &SessionOptions, tools: &KnownTools) -> Vec<Notice> {
    let rules = options.allow.iter().chain(&options.deny).chain(&options.ask);
    let of_rules = rules.map(|rule| tool_of(rule));
    let mut warnings: Vec<Notice> = Vec::new();
    for name in of_rules.chain(options.tools.iter().flatten().map(|name| tool_of(name))) {
        let warning = Notice::UnknownTool { name: name.to_owned() };
        if ToolName::of(name, tools) == ToolName::Unknown && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// The files of a session, and how they are kept before a command.
pub(crate) fn files(
    home: Option<&Path>,
    options: &SessionOptions,
    workspace: &Workspace,
    session: &SessionRecord,
    id: Option<&SessionId>,
    policy: &Policy,
    confinement: &Arc<Confinement>,
) -> (Arc<Files>, Keeping) {
    let keeping = undo::keeping(home, options, workspace, session, id, policy, confinement);
    let roots = workspace.roots.clone();
    // What a killed process left behind is in nobody's way, so nobody waits for it to go.
    let _ = std::thread::Builder::new()
        .spawn(move || ostler_tools::workspace::remove_leftovers(&roots));
    let snapshots = match &keeping {
        Keeping::By { snapshots } => undo::levels(session, snapshots),
        _ => session.snapshots.clone(),
    };
    let files = Files::new(workspace.clone(), session.seen.clone(), snapshots);
    if let Keeping::By { snapshots } = &keeping {
        files.remember_contents(snapshots);
    }
    (Arc::new(files), keeping)
}

/// The same for a session that will change them, with a notice if an undo will not know of it.
pub(crate) fn files_of_session(
    (home, options, workspace): (Option<&Path>, &SessionOptions, &Workspace),
    session: &SessionRecord,
    id: &SessionId,
    policy: &Policy,
    confinement: &Arc<Confinement>,
) -> (Arc<Files>, Keeping, Option<Notice>) {
    let (files, keeping) = files(home, options, workspace, session, Some(id), policy, confinement);
    let remembered = undo::remember(&keeping, home, workspace, session, policy);
    let notice = remembered.err().map(|error| Notice::Undo { text: error.to_string() });
    (files, keeping, notice)
}

/// All tools, whether or not they are on offer.
pub(crate) fn tools(
    options: &SessionOptions,
    policy: &Arc<Policy>,
    kit: Kit,
) -> Vec<Arc<dyn Tool>> {
    let Kit { executor, files, keeping, confinement, skills, memories, log } = kit;
    let memory = memories.map(|memories| memories as Arc<dyn MemoryStore>);
    let mut all = ostler_tools::built_in(&ostler_tools::ToolSetup {
        files,
        executor,
        environment: options.environment.clone(),
        policy: policy.clone(),
        confinement,
        keeping,
        session: SessionParts { skills: Some(skills), memory, log: Some(log) },
    });
    // A built-in tool cannot be replaced.
    let ours: Vec<String> = all.iter().map(|tool| tool.spec().name.clone()).collect();
    let more = options.more_tools.iter().filter(|tool| !ours.contains(&tool.spec().name));
    all.extend(more.cloned());
    all
}

/// The tools that the model may call.
pub(crate) fn toolbox(options: &SessionOptions, policy: &Arc<Policy>, kit: Kit) -> Toolbox {
    let offered = |name: &str| is_offered(name, options, policy);
    let all = tools(options, policy, kit);
    Toolbox::new(all.into_iter().filter(|tool| offered(&tool.spec().name)))
        .knowing(known_tools(options))
}
