//! An agent made of doubles.

use crate::approver::{FakeApprover, Forgets};
use crate::blobs::TestBlobs;
use crate::log::{LogFault, StalledDisk, TestLog};
use crate::model::{ScriptedModel, ScriptedSummary};
use crate::rig::Rig;
use crate::script::Script;
use crate::timeline::{Timeline, TimelineMoment};
use crate::tools::FakeTool;
use ostler_core::ids::ModelId;
use ostler_core::ledger::{Price, Purse};
use ostler_core::permission::{Mode, Policy, Rule, Workspace};
use ostler_core::ports::{Hooks, Model, NoHooks};
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::time::SteppingClock;
use ostler_core::turn::Limits;
use ostler_engine::{
    Agent, Context, Controls, Gate, HookDesk, Journal, Meter, ModelChoice, Settings, SyncPool,
    ToolDesk, Toolbox,
};
use std::sync::Arc;

/// The only root of a test's workspace. It does not exist.
pub const ROOT: &str = "/ws";

pub const PRICE: Price =
    Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };

/// Builds a [`Rig`]. By default nothing may ask: every question is an error of the test, answered with no.
pub struct TestAgent {
    answers: Vec<Script>,
    tools: Vec<FakeTool>,
    limits: Limits,
    settings: Settings,
    allow: Vec<String>,
    deny: Vec<String>,
    mode: Mode,
    approver: FakeApprover,
    budget: Option<f64>,
    price: Option<Price>,
    prompt_tokens: u64,
    fallback: Option<ModelId>,
    fault: Option<LogFault>,
    disk: Option<Arc<StalledDisk>>,
    syncs: SyncPool,
    blobs: TestBlobs,
    resumed: Vec<Entry>,
    hooks: Arc<dyn Hooks>,
    meter: Meter,
    over: Option<(Arc<dyn Model>, ModelId)>,
    context: Context,
    summary: Option<ScriptedSummary>,
    late_tools: bool,
}

impl Default for TestAgent {
    fn default() -> Self {
        TestAgent::new()
    }
}

impl TestAgent {
    pub fn new() -> Self {
        TestAgent {
            answers: Vec::new(),
            tools: Vec::new(),
            limits: Limits::default(),
            settings: Settings::default(),
            allow: Vec::new(),
            deny: Vec::new(),
            mode: Mode::BypassPermissions,
            approver: FakeApprover::no("the test did not expect a question"),
            budget: None,
            price: Some(PRICE),
            prompt_tokens: 1_000,
            fallback: None,
            fault: None,
            disk: None,
            syncs: SyncPool::default(),
            blobs: TestBlobs::default(),
            resumed: Vec::new(),
            hooks: Arc::new(NoHooks),
            meter: Meter::default(),
            over: None,
            context: Context::default(),
            summary: None,
            late_tools: false,
        }
    }

    pub fn answers(mut self, answers: impl IntoIterator<Item = Script>) -> Self {
        self.answers.extend(answers);
        self
    }

    pub fn tools(mut self, tools: impl IntoIterator<Item = FakeTool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Tools may arrive after the first request.
    pub fn late_tools(mut self) -> Self {
        self.late_tools = true;
        self
    }

    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub fn allow(mut self, rule: &str) -> Self {
        self.allow.push(rule.into());
        self
    }

    pub fn deny(mut self, rule: &str) -> Self {
        self.deny.push(rule.into());
        self
    }

    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Somebody to ask, and the mode in which calls do ask.
    pub fn approver(mut self, approver: FakeApprover) -> Self {
        self.approver = approver;
        self.mode(Mode::Default)
    }

    pub fn budget(mut self, usd: f64) -> Self {
        self.budget = Some(usd);
        self
    }

    pub fn price(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// What the model estimates every prompt at.
    pub fn prompt_tokens(mut self, tokens: u64) -> Self {
        self.prompt_tokens = tokens;
        self
    }

    pub fn fallback(mut self, model: &str) -> Self {
        self.fallback = Some(model.into());
        self.limits.has_fallback = true;
        self
    }

    pub fn fault(mut self, fault: LogFault) -> Self {
        self.fault = Some(fault);
        self
    }

    pub fn disk(mut self, disk: &Arc<StalledDisk>) -> Self {
        self.disk = Some(disk.clone());
        self
    }

    /// The threads that wait for disks, where several agents share them.
    pub fn syncs(mut self, syncs: &SyncPool) -> Self {
        self.syncs = syncs.clone();
        self
    }

    pub fn blobs(mut self, blobs: TestBlobs) -> Self {
        self.blobs = blobs;
        self
    }

    /// Continues with what another process left in its log.
    pub fn resumed(mut self, entries: Vec<Entry>) -> Self {
        self.resumed = entries;
        self
    }

    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.hooks = hooks;
        self
    }

    /// Asks another model than the scripted one, by that name.
    pub fn over(mut self, model: Arc<dyn Model>, name: &str) -> Self {
        self.over = Some((model, name.into()));
        self
    }

    /// Who writes the spending down.
    pub fn meter(mut self, meter: Meter) -> Self {
        self.meter = meter;
        self
    }

    /// The model's window; its estimates then follow the bytes of a request.
    pub fn window(mut self, tokens: u64) -> Self {
        self.settings.context.window = Some(tokens);
        self.prompt_tokens = 0;
        self
    }

    /// Every summary that is asked for has this text, and takes no answer from the list.
    pub fn summaries(mut self, text: &str) -> Self {
        self.summary = Some(ScriptedSummary::Text(text.into()));
        self
    }

    /// No summary that is asked for comes.
    pub fn failing_summaries(mut self) -> Self {
        self.summary = Some(ScriptedSummary::Fails);
        self
    }

    pub fn context(mut self, change: impl FnOnce(&mut Context)) -> Self {
        change(&mut self.context);
        self
    }

    pub fn build(self) -> Rig {
        let timeline = Arc::new(Timeline::default());
        for entry in &self.resumed {
            timeline.add(TimelineMoment::Entry(entry.clone()));
        }
        let tools = self.tools.into_iter().map(|tool| tool.witnessed(&timeline));
        let mut tools = Toolbox::new(tools);
        if self.late_tools {
            tools = tools.expecting_more();
        }
        let session = SessionRecord::fold_with(tools.known().clone(), self.resumed);
        let mut model =
            ScriptedModel::new(self.answers, self.price, self.prompt_tokens, timeline.clone());
        model.summary = self.summary;
        let model = Arc::new(model);
        let mut log = TestLog::new(timeline.clone(), self.fault);
        log.disk = self.disk;
        let log = Arc::new(log);
        let blobs = Arc::new(self.blobs);
        let approver = self.approver.witnessed(&timeline);
        let workspace = Workspace {
            cwd: ROOT.into(),
            roots: vec![ROOT.into()],
            home: "/home/u".into(),
            tools: tools.known().clone(),
            ..Workspace::default()
        };
        let policy = Policy {
            allow: rules(&self.allow, &workspace),
            deny: rules(&self.deny, &workspace),
            ..Policy::default()
        };
        let listed = session.trail.front().map(|front| front.tools.clone());
        let listed = listed.map(|tools| tools.into_iter().map(|(name, _)| name).collect());
        let clock = Arc::new(SteppingClock::default());
        let scripted = || (model.clone() as Arc<dyn Model>, "model".into());
        let (asked, primary) = self.over.unwrap_or_else(scripted);
        let agent = Agent {
            model: asked,
            controls: Controls::new(
                ModelChoice { primary, fallback: self.fallback },
                self.settings.thinking,
            ),
            system: vec!["You are under test.".to_owned()].into(),
            tools: ToolDesk::new(tools, listed),
            gate: Gate::new(policy, self.mode, workspace, approver.clone(), Arc::new(Forgets))
                .into(),
            hooks: HookDesk::new(self.hooks, "startup"),
            journal: Journal::resumed(log.clone(), blobs.clone(), clock.clone(), session)
                .syncing_with(self.syncs),
            budget: Purse::new(self.budget),
            meter: self.meter,
            limits: self.limits,
            settings: self.settings,
            context: self.context,
        };
        Rig { agent: Arc::new(agent), model, timeline, log, blobs, approver, clock }
    }
}

fn rules(texts: &[String], workspace: &Workspace) -> Vec<Rule> {
    let parse = |text: &String| match Rule::parse(text, workspace) {
        Ok(rule) => rule,
        Err(error) => panic!("{error}"),
    };
    texts.iter().map(parse).collect()
}
