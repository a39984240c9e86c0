//! What lives as long as a session, beside its agent.

use crate::carried_parts::CarriedParts;
use crate::host::Host;
use crate::instructions_state::InstructionsState;
use crate::jobs::JobTable;
use crate::kit::{Kit, Others};
use crate::learner::Learner;
use crate::mcp::SessionServers;
use crate::memory::Recalling;
use crate::session_directories::SessionDirectories;
use crate::session_events::{SessionEvents, Voices};
use crate::session_options::SessionOptions;
use crate::session_reach::SessionReach;
use crate::session_rules::RulesInForce;
use crate::skills::AgentHost;
use crate::subagents::{Lineage, Subagents};
use crate::task_board::{BoardClaims, BoardDesk, BoardSeat};
use crate::team::{Addresses, Team};
use crate::undo::UndoNews;
use ostler_core::permission::{Live, Workspace};
use ostler_core::ports::{
    BeforeCompact, Jobs, ModeSwitch, Reminder, SessionLog, TaskBoard, Teamwork,
};
use ostler_core::tool_facts::KnownTools;
use ostler_engine::{Agent, Context, Journal};
use ostler_exec::CommandScope;
use ostler_hooks::Registry;
use ostler_memory::Memories;
use ostler_skills::Skills;
use ostler_tools::confine::Confinement;
use ostler_tools::workspace::Files;
use ostler_tools::{CommandVariables, InUse, Keeping};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

pub(crate) struct SessionParts {
    pub(crate) skills: Arc<Skills>,
    pub(crate) instructions: Arc<InstructionsState>,
    pub(crate) in_use: Arc<InUse>,
    pub(crate) memories: Option<Arc<Memories>>,
    /// What was undone outside of the session.
    pub(crate) undo_news: Option<Arc<UndoNews>>,
    /// The search for the memories of the prompt that is being prepared.
    pub(crate) recalling: Mutex<Option<Recalling>>,
    /// The notice that memories are found by words only is out.
    pub(crate) by_words: Arc<AtomicBool>,
    pub(crate) confinement: Arc<Confinement>,
    pub(crate) registry: Option<Arc<Registry>>,
    /// Its commands.
    pub(crate) scope: CommandScope,
    /// Only models with a price can be asked.
    pub(crate) has_budget: bool,
    pub(crate) rules: RulesInForce,
    pub(crate) directories: Arc<SessionDirectories>,
    pub(crate) reach: SessionReach,
    /// The agents that it starts.
    pub(crate) subagents: Arc<Subagents>,
    /// Its MCP servers.
    pub(crate) servers: Arc<SessionServers>,
    /// The environment of commands.
    pub(crate) environment: Live<CommandVariables>,
    /// What goes on in the background; set once the log is there.
    pub(crate) jobs: OnceLock<Arc<JobTable>>,
    /// Its teammates; set with the jobs, where it has any.
    pub(crate) team: OnceLock<Arc<Team>>,
    /// Its board; set with the jobs, where there is a home.
    pub(crate) board: OnceLock<SessionBoard>,
}

pub(crate) struct SessionBoard {
    /// The only one that opens it.
    pub(crate) desk: Arc<BoardDesk>,
    /// The tasks that its agents have claimed, where they work with the board.
    claims: Option<Arc<BoardClaims>>,
}

impl SessionParts {
    pub(crate) fn claims(&self) -> Option<&Arc<BoardClaims>> {
        self.board.get()?.claims.as_ref()
    }

    /// A teammate has its seat from where it comes from.
    pub(crate) fn kit(
        &self,
        (files, keeping): (Arc<Files>, Keeping),
        log: Arc<dyn SessionLog>,
        lineage: Option<&Lineage>,
    ) -> Kit {
        let seat = lineage.and_then(|lineage| lineage.seat.clone());
        let lead = Addresses::of(log.id()).lead();
        let own_board = self.claims().map(|claims| BoardSeat::new(claims.clone(), lead));
        let own_board = own_board.map(|board| board as Arc<dyn TaskBoard>);
        let others = Others {
            agents: Some(self.subagents.clone()),
            jobs: self.jobs.get().cloned().map(|jobs| jobs as Arc<dyn Jobs>),
            board: own_board.or_else(|| seat.as_ref()?.board()),
            team: self.team.get().cloned().map(|team| team as Arc<dyn Teamwork>).or(seat),
            person: self.reach.mode.clone().map(|mode| mode as Arc<dyn ModeSwitch>),
            web: Some(self.reach.web.clone()),
        };
        Kit {
            executor: self.scope.executor().clone(),
            files,
            keeping,
            confinement: self.confinement.clone(),
            skills: self.skills.clone(),
            memories: self.memories.clone(),
            log,
            environment: self.environment.clone(),
            others,
        }
    }

    /// There is an agent: what needs one gets it.
    pub(crate) fn serve(
        &self,
        agent: &Arc<Agent>,
        workspace: &Workspace,
        events: &SessionEvents,
        learner: Option<Arc<Learner>>,
    ) {
        events.listen_to(Voices { skills: self.skills.clone(), learner });
        self.skills.serve(AgentHost::new(agent, &workspace.cwd));
        self.reach.web.serve(agent);
    }

    /// What needs the log: undos in other terminals are noticed, and what an earlier process left in the background is
    /// reported.
    pub(crate) fn join_log(
        &mut self,
        host: &Host,
        (options, workspace): (&SessionOptions, &Workspace),
        keeping: &Keeping,
        journal: &Journal,
        events: &Arc<SessionEvents>,
    ) {
        self.undo_news = UndoNews::of(keeping, journal);
        let (journal, events) = (journal.clone(), events.clone());
        let (of_team, home) = ((journal.clone(), events.clone()), host.home());
        let table = JobTable::open(home, &workspace.cwd, options.jobs, journal, events);
        let _ = self.jobs.set(table.clone());
        let Some(home) = home else { return };
        let (place, events) = ((home, workspace.cwd.as_path()), of_team.1.clone());
        let desk = BoardDesk::new(&options.board, place, host.fault(), events.clone());
        let has_team = !options.team.teammates.is_empty();
        if !has_team && !options.board.tools {
            let _ = self.board.set(SessionBoard { desk, claims: None });
            return;
        }
        let (addresses, is_resumed) =
            (Addresses::of(of_team.0.log().id()), !of_team.0.conversation().0.is_empty());
        let from = (addresses, is_resumed);
        let closing = self.subagents.closing();
        let claims = BoardClaims::new(desk.clone(), options.board.lease, from, events, closing);
        let board = SessionBoard { desk: desk.clone(), claims: Some(claims.clone()) };
        let _ = self.board.set(board);
        if has_team {
            let board = (desk, claims);
            let team = Team::new(&options.team, home, board, &self.subagents, table, of_team);
            let _ = self.team.set(team);
        }
    }

    /// What is repeated after a compaction, what is added after calls, and what runs before a compaction. `window` is
    /// the model's context window; none if the model cannot use skills.
    pub(crate) fn context(
        &self,
        journal: &Journal,
        tools: &KnownTools,
        window: Option<u64>,
        learner: Option<Arc<Learner>>,
    ) -> Context {
        let mut context = Context::default();
        let (journal, tools) = (journal.clone(), tools.clone());
        let (skills, agents) = (self.skills.clone(), self.subagents.roster.clone());
        let jobs = self.jobs.get().cloned();
        let carried = CarriedParts { journal, skills, window, tools, agents, jobs };
        context.carried = vec![self.instructions.clone(), Arc::new(carried), self.in_use.clone()];
        // The directories come first: the description of the environment names them.
        context.reminders =
            vec![self.directories.clone(), self.instructions.clone(), self.in_use.clone()];
        context.reminders.extend(self.undo_news.clone().map(|news| news as Arc<dyn Reminder>));
        context.before_compact = learner.map(|learner| learner as Arc<dyn BeforeCompact>);
        context
    }

    pub(crate) fn learner(&self, journal: &Journal, workspace: &Workspace) -> Option<Arc<Learner>> {
        let (memories, journal) = (self.memories.clone()?, journal.clone());
        let Workspace { cwd: folder, tools, .. } = workspace.clone();
        Some(Arc::new(Learner::new(memories, journal, folder, tools)))
    }
}
