//! Agents that an agent starts. Each is a session of its own on the same host: a fresh context and its own log, the rights
//! of the one who started it and never more, money from its purse, and questions to the person who attends the first of
//! them. Its events appear in the stream of the one above, and only its last text goes back.

mod agent_job;
mod agent_tree;
mod child;
mod child_options;
mod kinds;
mod lineage;
mod refusal;
mod relay;
mod roster;
mod slots;
mod written_text;

pub(crate) use agent_job::end_of_lost_agent;
pub(crate) use agent_tree::TeammateTree;
pub(crate) use child::{AgentReport, FirstInput};
pub(crate) use lineage::Lineage;
pub(crate) use roster::{AgentRun, Roster, add as add_usage};

use crate::assembly;
use crate::error::Error;
use crate::kit::known_tools;
use crate::log_choice;
use crate::session::{Session, SessionShared};
use crate::session_agents::AgentInput;
use crate::session_events::SessionEvents;
use crate::session_options::SessionOptions;
use agent_job::AgentCall;
use agent_tree::{AgentTree, WantedTree};
use child::Child;
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::event::{AgentPath, SessionRules};
use ostler_core::ids::{CallId, SessionId};
use ostler_core::ledger::Usage;
use ostler_core::message::Message;
use ostler_core::ports::{AgentOrder, BoxFuture, Delegate, JobPlace, Jobs, Teamwork, ToolContext};
use ostler_core::session::{AgentRecord, AgentState};
use ostler_core::tool::ToolOutput;
use ostler_worktrees::Worktrees;
pub(crate) use refusal::AgentRefused;
use refusal::MessageRefused;
use relay::Relay;
use slots::{AgentSlots, Slot};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long the end of agents is waited for when a session is closed.
const ENDING: Duration = Duration::from_secs(15);

/// The agents that one session starts.
pub(crate) struct Subagents {
    /// This session's own place.
    path: AgentPath,
    /// The session that a person began, if it is not this one.
    root: Option<SessionId>,
    slots: Arc<AgentSlots>,
    definitions: Vec<AgentDefinition>,
    session: OnceLock<Weak<SessionShared>>,
    /// The worktrees of the project; opened when the first agent needs one.
    trees: tokio::sync::OnceCell<Arc<Worktrees>>,
    pub(crate) roster: Arc<Roster>,
    /// The agents in the background end with the session, also if it is dropped without being closed.
    closing: DropGuard,
}

/// A teammate by its definition, and what it can do with the others; none for other agents.
type Member<'a> = Option<(&'a AgentDefinition, &'a Arc<dyn Teamwork>)>;

/// An agent that is ready to work, and the call that it works for.
struct StartedAgent {
    child: Child,
    call: AgentCall,
    events: Arc<SessionEvents>,
    /// Where it goes if the call is not to wait.
    place: Option<JobPlace>,
}

impl Subagents {
    pub(crate) fn new(options: &SessionOptions, lineage: Option<&Lineage>) -> Arc<Self> {
        let slots = match lineage {
            Some(lineage) => lineage.slots.clone(),
            None => AgentSlots::new(options.max_agents, options.max_agent_depth),
        };
        Arc::new(Subagents {
            path: lineage.map(|lineage| lineage.path.clone()).unwrap_or_default(),
            root: lineage.map(|lineage| lineage.root.clone()),
            slots,
            definitions: options.agents.clone(),
            session: OnceLock::new(),
            trees: tokio::sync::OnceCell::new(),
            roster: Roster::new(options.team.names()),
            closing: CancellationToken::new().drop_guard(),
        })
    }

    /// From here on agents can be started.
    pub(crate) fn serving(session: Session) -> Session {
        let agents = &session.shared.parts.subagents;
        let _ = agents.session.set(Arc::downgrade(&session.shared));
        session
    }

    /// The rules of the session were replaced: commands of running agents are held by them, too.
    pub(crate) fn set_rules(&self, rules: &SessionRules) -> Result<(), Error> {
        for session in self.roster.running().iter().filter_map(|run| run.session()) {
            let shared = session.shared();
            shared.parts.rules.set(&shared.agent, &shared.workspace.now(), rules.clone())?;
            shared.parts.subagents.set_rules(rules)?;
        }
        Ok(())
    }

    /// Ends what works in the background, and waits until it is gone with everything it started.
    pub(crate) async fn close(&self) {
        self.closing.token().cancel();
        let ends = self.roster.running().into_iter().map(|run| async move { run.ended().await });
        // Whoever does not end by then ends with the commands of the process.
        let _ = tokio::time::timeout(ENDING, futures_util::future::join_all(ends)).await;
    }

    fn above(&self) -> Option<Arc<SessionShared>> {
        self.session.get().and_then(Weak::upgrade)
    }

    fn start(
        &self,
        order: &AgentOrder,
        call: &CallId,
        slot: Slot,
        tree: Option<AgentTree>,
    ) -> Result<StartedAgent, AgentRefused> {
        let above = self.above().ok_or(AgentRefused::Closing)?;
        let jobs = above.parts.jobs.get().cloned();
        let is_kind = |it: &AgentDefinition| it.name == order.kind && it.background;
        let place = match (order.background, &jobs) {
            // Where nothing can go on in the background, the call waits after all.
            (false, Some(jobs)) if self.definitions.iter().any(is_kind) => jobs.reserve().ok(),
            (false, _) => None,
            (true, Some(jobs)) => Some(jobs.reserve().map_err(AgentRefused::NoJob)?),
            (true, None) => return Err(AgentRefused::NoJob("this session has no jobs".to_owned())),
        };
        // Its mailbox decides when it works.
        let resumed = order.resume.as_deref().and_then(|agent| self.record(agent));
        if let Some(record) = resumed.filter(|record| self.roster.is_teammate(&record.name)) {
            return Err(AgentRefused::Teammate(record.name));
        }
        let (session, record) = match &order.resume {
            Some(agent) => self.resume(&above, agent, (None, tree.as_ref()), (order, call))?,
            None => self.open(&above, order, call, tree.as_ref())?,
        };
        let child = self.begin(&above, session, record, (call, slot), tree)?;
        let call = AgentCall {
            jobs,
            call: call.clone(),
            run: child.run().clone(),
            written: child.written().clone(),
            limit: child.limit(),
        };
        Ok(StartedAgent { child, call, events: above.events.clone(), place })
    }

    /// The log knows of it from here on.
    fn begin(
        &self,
        above: &Arc<SessionShared>,
        session: Session,
        record: AgentRecord,
        (call, slot): (&CallId, Slot),
        tree: Option<AgentTree>,
    ) -> Result<Child, AgentRefused> {
        let journal = above.agent.journal.clone();
        journal.record_agent(record.clone())?;
        let relay = Relay::new(above, record.name.clone(), call.clone());
        let run = AgentRun::new(record, &session);
        self.roster.add(run.clone());
        let end = (self.closing.token().clone(), slot);
        let above = (self.roster.clone(), journal);
        Ok(Child::new(relay, session, run, above, end).in_tree(tree))
    }

    /// A teammate with everything it knows, ready for a mail. `call` names the work in the log and in undo.
    pub(crate) fn start_teammate(
        &self,
        (definition, seat): (&AgentDefinition, &Arc<dyn Teamwork>),
        call: &CallId,
        task: &str,
        TeammateTree(tree): TeammateTree,
    ) -> Result<TeammateAtWork, AgentRefused> {
        let above = self.session.get().and_then(Weak::upgrade).ok_or(AgentRefused::Closing)?;
        let slot = self.slots.take(&self.path)?;
        let order = AgentOrder {
            description: task.to_owned(),
            prompt: String::new(),
            kind: definition.name.clone(),
            model: None,
            resume: Some(definition.name.clone()),
            background: false,
        };
        let member = Some((definition, seat));
        let member = (member, tree.as_ref());
        let known = self.resume(&above, &definition.name, member, (&order, call));
        let (session, record) = match known {
            Err(AgentRefused::NoSuchAgent(_)) => {
                let named = (definition.clone(), definition.name.clone());
                self.open_as(&above, named, (Some(seat), tree.as_ref()), (&order, call))?
            }
            known => known?,
        };
        Ok(TeammateAtWork(self.begin(&above, session, record, (call, slot), tree)?))
    }

    /// The session of a teammate, if it was ever started.
    pub(crate) fn session_of(&self, teammate: &str) -> Option<SessionId> {
        self.record(teammate).filter(|record| record.name == teammate).map(|record| record.session)
    }

    /// The open session of a teammate that is in a turn.
    pub(crate) fn working_session(&self, teammate: &str) -> Option<Session> {
        let running = self.roster.running();
        running.iter().find(|run| run.record.name == teammate)?.session()
    }

    /// Ends the turn of a teammate.
    pub(crate) fn stop_teammate(&self, teammate: &str) {
        let running = self.roster.running();
        running.iter().filter(|run| run.record.name == teammate).for_each(|run| run.stop());
    }

    /// Comes back when another agent may be started.
    pub(crate) async fn slot_free(&self) {
        self.slots.free().await;
    }

    pub(crate) fn closing(&self) -> CancellationToken {
        self.closing.token().clone()
    }

    fn send(&self, agent: &str, text: String) -> Result<String, MessageRefused> {
        let names = || self.roster.running().iter().map(|run| run.record.name.clone()).collect();
        let unknown = || MessageRefused::NoSuchAgent { name: agent.to_owned(), running: names() };
        let above = self.session.get().and_then(Weak::upgrade).ok_or_else(unknown)?;
        let record = self.record(agent).ok_or_else(unknown)?;
        if !record.state.is_running() {
            return Err(MessageRefused::Ended { name: record.name });
        }
        let path = AgentPath::default().child(record.name.as_str());
        let message = AgentInput::Message(Message::user(text));
        Session { shared: above }.send_to_agent(&path, message)?;
        Ok(record.name)
    }

    fn open(
        &self,
        above: &Arc<SessionShared>,
        order: &AgentOrder,
        call: &CallId,
        tree: Option<&AgentTree>,
    ) -> Result<(Session, AgentRecord), AgentRefused> {
        let known = known_tools(&above.origin.1);
        let definition = kinds::find(&order.kind, &self.definitions, &known)
            .ok_or_else(|| AgentRefused::NoSuchKind(order.kind.clone()))?;
        let name = self.roster.new_name(&definition.name, &above.agent.journal);
        self.open_as(above, (definition, name), (None, tree), (order, call))
    }

    fn open_as(
        &self,
        above: &Arc<SessionShared>,
        (definition, name): (AgentDefinition, String),
        (seat, tree): (Option<&Arc<dyn Teamwork>>, Option<&AgentTree>),
        (order, call): (&AgentOrder, &CallId),
    ) -> Result<(Session, AgentRecord), AgentRefused> {
        let lineage = Lineage::of(above, self, &name, call, &definition).seated(seat).in_tree(tree);
        let place = (&lineage.path, order.description.as_str());
        let options = child_options::of(above, &definition, place, order.model.as_deref());
        let options = placed(options, tree);
        let session = assembly::child(&above.origin.0, options, lineage, None)?;
        let record = AgentRecord {
            session: session.id().clone(),
            call: call.clone(),
            name,
            kind: definition.name,
            task: order.description.clone(),
            state: AgentState::Running,
        };
        Ok((session, record))
    }

    /// What it may do is derived again: its definition as it was started with, unless there is a newer one, and those above
    /// it as they are now.
    fn resume(
        &self,
        above: &Arc<SessionShared>,
        agent: &str,
        (member, tree): (Member<'_>, Option<&AgentTree>),
        (order, call): (&AgentOrder, &CallId),
    ) -> Result<(Session, AgentRecord), AgentRefused> {
        let unknown = || AgentRefused::NoSuchAgent(agent.to_owned());
        let record = self.record(agent).ok_or_else(unknown)?;
        if record.state.is_running() {
            return Err(AgentRefused::StillRunning(record.name));
        }
        let (host, _) = &above.origin;
        let home = host.home().ok_or(AgentRefused::NotKept)?;
        let link = log_choice::started_by(home, &record.session)?.ok_or_else(unknown)?;
        // A fork knows the agents of the session that it was copied from, and does not have them.
        let ours = link.session == *above.agent.journal.log().id();
        let definition = link.definition.filter(|_| ours).ok_or_else(unknown)?;
        let definition = member.map_or(definition, |(newer, _)| newer.clone());
        let lineage = Lineage::of(above, self, &record.name, call, &definition)
            .seated(member.map(|(_, seat)| seat))
            .in_tree(tree);
        let place = (&lineage.path, order.description.as_str());
        let options = child_options::of(above, &definition, place, order.model.as_deref());
        let options = placed(options, tree);
        let session = assembly::child(host, options, lineage, Some(&record.session))?;
        check_price(&session)?;
        let (call, task) = (call.clone(), order.description.clone());
        Ok((session, AgentRecord { call, task, state: AgentState::Running, ..record }))
    }

    fn record(&self, agent: &str) -> Option<AgentRecord> {
        let above = self.session.get().and_then(Weak::upgrade)?;
        let all = self.roster.all(&above.agent.journal);
        let jobs = above.parts.jobs.get().map(|jobs| jobs.list()).unwrap_or_default();
        let job = jobs.into_iter().find(|job| job.record.id.as_str() == agent);
        let call = job.map(|job| job.record.call);
        all.into_iter().rev().find(|had| {
            had.name == agent || had.session.as_str() == agent || Some(&had.call) == call.as_ref()
        })
    }
}

fn placed(options: SessionOptions, tree: Option<&AgentTree>) -> SessionOptions {
    match tree {
        Some(tree) => tree.entered_by(options),
        None => options,
    }
}

/// An agent that knows a lot is not resumed to find out that nobody can pay for it.
fn check_price(session: &Session) -> Result<(), AgentRefused> {
    let agent = &session.shared().agent;
    let model = agent.choice().primary;
    let Some(price) = agent.model.info(&model).price else { return Ok(()) };
    let (view, _) = agent.journal.conversation();
    let input = agent.pressure(&view, &model).tokens;
    let needs = price.cost(&Usage { input, ..Usage::default() });
    let sums = agent.budget.sums().into_iter();
    let left = sums.map(|sum| sum.limit - sum.spent - sum.reserved).fold(f64::INFINITY, f64::min);
    match needs > left {
        true => Err(AgentRefused::CannotPay { needs, left: left.max(0.0) }),
        false => Ok(()),
    }
}

/// A teammate that has a mail to answer. Dropping it ends its turn.
pub(crate) struct TeammateAtWork(Child);

impl TeammateAtWork {
    pub(crate) async fn run(self, input: FirstInput) -> AgentReport {
        self.0.work(input).await
    }
}

/// How an agent is started.
enum Beginning {
    Here(Box<StartedAgent>),
    InTree(Arc<SessionShared>, Slot, WantedTree),
}

impl StartedAgent {
    async fn run(self, prompt: String) -> ToolOutput {
        let StartedAgent { child, call, events, place } = self;
        // Nothing of an agent comes before its call, which may be over when the agent says its first word.
        events.begun(&call.call).await;
        let work = Box::pin(child.work(FirstInput::Prompt(prompt)));
        match (place, call.jobs.clone()) {
            (Some(place), Some(jobs)) => call.leave(work, &jobs, &place),
            _ => call.wait(work).await,
        }
    }
}

impl Delegate for Subagents {
    fn delegate(&self, order: AgentOrder, cx: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let slot = self.slots.take(&self.path);
        let above = self.above().ok_or(AgentRefused::Closing);
        let started = slot.and_then(|slot| {
            let above = above?;
            match self.wanted_tree(&above, &order, &cx.call) {
                Some(wanted) => Ok(Beginning::InTree(above, slot, wanted)),
                None => self.start(&order, &cx.call, slot, None).map(Box::new).map(Beginning::Here),
            }
        });
        match started {
            Ok(Beginning::Here(started)) => Box::pin(started.run(order.prompt)),
            Ok(Beginning::InTree(above, slot, wanted)) => Box::pin(async move {
                let agents = above.parts.subagents.clone();
                let tree = agents.tree(&above, wanted).await;
                drop(above);
                let started =
                    tree.and_then(|tree| agents.start(&order, &cx.call, slot, Some(tree)));
                drop(agents);
                match started {
                    Ok(started) => started.run(order.prompt).await,
                    Err(refused) => refused.output(),
                }
            }),
            Err(refused) => Box::pin(std::future::ready(refused.output())),
        }
    }

    fn definitions(&self) -> &[AgentDefinition] {
        &self.definitions
    }

    fn kind_of(&self, agent: &str) -> Option<String> {
        self.record(agent).map(|record| record.kind)
    }

    fn message(&self, agent: &str, text: String) -> ToolOutput {
        match self.send(agent, text) {
            Ok(name) => ToolOutput::text(format!("{name} will read it before its next step.")),
            Err(refused) => refused.output(),
        }
    }
}
