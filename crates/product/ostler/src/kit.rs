//! What an agent may do and with what: its rules and its tools.

use crate::error::Error;
use crate::host::Host;
use crate::mcp::{MCP_TOOL, McpChoice};
use crate::session_options::SessionOptions;
use crate::undo;
use ostler_core::event::{Notice, SessionRules};
use ostler_core::ids::SessionId;
use ostler_core::late_tools::{USE_TOOL, use_tool_spec};
use ostler_core::permission::{Live, Matcher, Policy, Rule, Tier, ToolName, Workspace};
use ostler_core::ports::{
    Delegate, Jobs, MemoryStore, ModeSwitch, SessionLog, TaskBoard, Teamwork, Tool, Web,
};
use ostler_core::session::SessionRecord;
use ostler_core::tool_facts::{KnownTools, ToolKind};
use ostler_engine::Toolbox;
use ostler_exec::Executor;
use ostler_memory::Memories;
use ostler_skills::Skills;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use ostler_tools::{CommandVariables, Keeping, SessionParts};
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
    pub(crate) environment: Live<CommandVariables>,
    pub(crate) others: Others,
}

/// Those with whom a session works; nobody where no call is going to run.
#[derive(Default)]
pub(crate) struct Others {
    pub(crate) agents: Option<Arc<dyn Delegate>>,
    pub(crate) jobs: Option<Arc<dyn Jobs>>,
    pub(crate) team: Option<Arc<dyn Teamwork>>,
    pub(crate) board: Option<Arc<dyn TaskBoard>>,
    pub(crate) person: Option<Arc<dyn ModeSwitch>>,
    pub(crate) web: Option<Arc<dyn Web>>,
}

pub(crate) fn policy(options: &SessionOptions, workspace: &Workspace) -> Result<Policy, Error> {
    let mut policy = options.policy.clone();
    policy.add(parsed(
        [&options.allow, &options.ask, &options.deny],
        workspace,
        options.late_tools,
    )?);
    Ok(policy)
}

/// For an agent that will work in a copy of the directory: rules that were given as text are about the directory, and are
/// read before it is changed.
pub(crate) fn with_rules_read(
    host: &Host,
    mut options: SessionOptions,
) -> Result<SessionOptions, Error> {
    let workspace = Workspace {
        cwd: options.cwd.clone(),
        roots: vec![options.cwd.clone()],
        home: host.options().user_home.clone(),
        tools: known_tools(&options),
        ..Workspace::default()
    };
    options.policy = policy(&options, &workspace)?;
    let read = [&mut options.allow, &mut options.ask, &mut options.deny];
    read.into_iter().for_each(Vec::clear);
    Ok(options)
}

/// The rules that were set in a session.
pub(crate) fn session_policy(
    rules: &SessionRules,
    workspace: &Workspace,
    late_tools: bool,
) -> Result<Policy, Error> {
    let mut policy = parsed([&rules.allow, &rules.ask, &rules.deny], workspace, late_tools)?;
    let lists = [&mut policy.allow, &mut policy.ask, &mut policy.deny];
    for rule in lists.into_iter().flatten() {
        rule.source.tier = Tier::Session;
    }
    Ok(policy)
}

/// `late_tools`: tools may arrive that do not exist yet.
fn parsed(
    [allow, ask, deny]: [&[String]; 3],
    workspace: &Workspace,
    late_tools: bool,
) -> Result<Policy, Error> {
    let parse = |texts: &[String]| {
        texts.iter().map(|text| rule(text, workspace)).collect::<Result<Vec<_>, _>>()
    };
    // What an allow rule says about a tool that does not exist here is not needed.
    let tools = &workspace.tools;
    let is_elsewhere = |text: &&String| ToolName::of(tool_of(text), tools) == ToolName::Elsewhere;
    // One that may arrive later is another matter, if the rule can be read as it is.
    let may_arrive = |text: &&String| late_tools && Rule::parse(text, workspace).is_ok();
    let ours = |text: &&String| !is_elsewhere(text) || may_arrive(text);
    let allow: Vec<String> = allow.iter().filter(ours).cloned().collect();
    let (allow, ask, deny) = (parse(&allow)?, parse(ask)?, parse(deny)?);
    Ok(Policy { allow, ask, deny, ..Policy::default() })
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
    let fixed = (USE_TOOL.to_owned(), use_tool_spec().facts);
    KnownTools::new(ours.into_iter().chain([fixed]).chain(more))
}

/// The name before the pattern.
fn tool_of(rule: &str) -> &str {
    rule.split('(').next().unwrap_or_default().trim()
}

/// Gives a warning for each name that nobody knows.
pub(crate) fn check_tools(
    options: &SessionOptions,
    policy: &Arc<Policy>,
) -> Result<Vec<Notice>, Error> {
    let tools = known_tools(options);
    for name in options.tools.iter().flatten().map(|name| tool_of(name)) {
        if let ToolName::Mistake(meant) = ToolName::of(name, &tools) {
            return Err(misspelt(name, meant));
        }
    }
    // Reported now rather than by the first command, when work has been done already.
    let choice = ToolChoice::new(options, policy);
    if tools.of_kind(ToolKind::Runs).any(|name| choice.offers(name)) {
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
    host: &Host,
    options: &SessionOptions,
    workspace: &Live<Workspace>,
    session: &SessionRecord,
    id: Option<&SessionId>,
    policy: &Live<Policy>,
    confinement: &Arc<Confinement>,
) -> (Arc<Files>, Keeping) {
    let now = workspace.now();
    let keeping = undo::keeping(host.home(), options, &now, session, id, policy, confinement);
    host.remove_leftovers(&now.roots);
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
    (host, options, workspace): (&Host, &SessionOptions, &Live<Workspace>),
    session: &SessionRecord,
    id: &SessionId,
    policy: &Live<Policy>,
    confinement: &Arc<Confinement>,
) -> (Arc<Files>, Keeping, Option<Notice>) {
    let (files, keeping) = files(host, options, workspace, session, Some(id), policy, confinement);
    let now = workspace.now();
    let remembered = undo::remember(&keeping, host.home(), &now, session, &policy.now());
    let notice = remembered.err().map(|error| Notice::Undo { text: error.to_string() });
    (files, keeping, notice)
}

/// All tools, whether or not they are on offer.
pub(crate) fn tools(
    options: &SessionOptions,
    policy: &Live<Policy>,
    kit: Kit,
) -> Vec<Arc<dyn Tool>> {
    let Kit { executor, files, keeping, confinement, skills, memories, .. } = kit;
    let Others { agents, jobs, team, board, person, web } = kit.others;
    let memory = memories.map(|memories| memories as Arc<dyn MemoryStore>);
    let mut all = ostler_tools::built_in(&ostler_tools::ToolSetup {
        files,
        executor,
        environment: kit.environment,
        policy: policy.clone(),
        confinement,
        keeping,
        session: SessionParts {
            skills: Some(skills),
            memory,
            log: Some(kit.log),
            agents,
            jobs,
            team,
            board,
            person,
            web,
        },
    });
    // A built-in tool cannot be replaced.
    let mut ours: Vec<String> = all.iter().map(|tool| tool.spec().name.clone()).collect();
    ours.push(USE_TOOL.to_owned());
    let more = options.more_tools.iter().filter(|tool| !ours.contains(&tool.spec().name));
    all.extend(more.cloned());
    all
}

/// The tools that the model may call.
pub(crate) fn toolbox(options: &SessionOptions, rules: &Live<Policy>, kit: Kit) -> Toolbox {
    let policy = rules.now();
    let choice = ToolChoice::new(options, &policy);
    let all = tools(options, rules, kit);
    let toolbox = Toolbox::new(all.into_iter().filter(|tool| choice.offers(&tool.spec().name)))
        .knowing(known_tools(options));
    match options.late_tools && policy.offers(USE_TOOL) {
        true => toolbox.expecting_more(),
        false => toolbox,
    }
}

/// Which tools that arrive later are on offer.
pub(crate) struct ToolChoice {
    named: Option<Vec<String>>,
    mcp: McpChoice,
    policy: Arc<Policy>,
}

impl ToolChoice {
    pub(crate) fn new(options: &SessionOptions, policy: &Arc<Policy>) -> Self {
        let known = known_tools(options);
        let first = |name: &String| known.first_name(name).to_owned();
        let named = options.tools.as_ref().map(|names| names.iter().map(first).collect());
        ToolChoice { named, mcp: options.mcp.choice.clone(), policy: policy.clone() }
    }

    /// A tool that is denied as a whole is not offered at all.
    pub(crate) fn offers(&self, name: &str) -> bool {
        if name.starts_with(MCP_TOOL) {
            return self.mcp.offers(name) && self.policy.offers(name);
        }
        let named = |names: &Vec<String>| names.iter().any(|other| other == name);
        self.named.as_ref().is_none_or(named) && self.policy.offers(name)
    }
}
