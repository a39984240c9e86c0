//! Where a call is allowed, asked about or denied.

use ostler_core::event::SessionRules;
use ostler_core::permission::{
    Access, Act, Anchors, Bound, By, Decision, Live, Mode, Policy, Rule, Source, Tier, Verdict,
    Workspace, decide,
};
use ostler_core::ports::{Approvals, Approver, Reply};
use ostler_core::question::Question;
use ostler_core::time::{Clock, Timestamp};
use ostler_core::tool_facts::ToolFacts;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Calls a user can allow for a session one by one.
const MAX_EXACT: usize = 1000;
const MAX_FOR_TURN: usize = 500;

/// A directory, and the copy of it that an agent works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkCopy {
    pub of: PathBuf,
    pub at: PathBuf,
}

pub struct Gate {
    /// The gate of the agent that started this one: what it says holds here, too, as it is at that moment.
    above: Option<Arc<Gate>>,
    /// The agent works in a copy of the directory that those above work in: they judge it as if it were there.
    copy: Option<WorkCopy>,
    /// Grows when the user accepts a rule.
    policy: RwLock<Policy>,
    mode: RwLock<Mode>,
    /// The rules of the policy that were set in the session, as they were written.
    session_rules: RwLock<SessionRules>,
    /// Its tools and directories grow in number when some are added later.
    workspace: Live<Workspace>,
    approver: Arc<dyn Approver>,
    approvals: Arc<dyn Approvals>,
    /// How often something changed that may make a decision stricter.
    changes: AtomicU64,
    /// Calls the user allowed until the session ends, each with what it touched then.
    exact: Mutex<Vec<(String, Value, Access)>>,
    /// Rules of the policy that go with the turn.
    for_turn: Mutex<Vec<Rule>>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl Gate {
    pub fn new(
        policy: Policy,
        mode: Mode,
        workspace: impl Into<Live<Workspace>>,
        approver: Arc<dyn Approver>,
        approvals: Arc<dyn Approvals>,
    ) -> Self {
        Gate {
            above: None,
            copy: None,
            policy: RwLock::new(policy),
            mode: RwLock::new(mode),
            session_rules: RwLock::default(),
            workspace: workspace.into(),
            approver,
            approvals,
            changes: AtomicU64::new(0),
            exact: Mutex::default(),
            for_turn: Mutex::default(),
            asking: tokio::sync::Mutex::new(()),
        }
    }

    /// The same for an agent that another one started: it can never do what that one may not.
    #[must_use]
    pub fn below(self, above: Arc<Gate>) -> Self {
        Gate { above: Some(above), ..self }
    }

    /// What the rules of those above say of one directory, they also say of the copy, and in their eyes it is where the
    /// agent works.
    #[must_use]
    pub fn in_copy(self, copy: Option<WorkCopy>) -> Self {
        Gate { copy, ..self }
    }

    /// This one, the one above it, and so on up to that of the session's own agent.
    fn chain(&self) -> impl Iterator<Item = &Gate> {
        std::iter::successors(Some(self), |gate| gate.above.as_deref())
    }

    pub(crate) fn question_deadline(&self, clock: &dyn Clock) -> Option<Timestamp> {
        let patience = u64::try_from(self.approver.patience()?.as_millis()).unwrap_or(u64::MAX);
        Some(Timestamp(clock.now().0.saturating_add(patience)))
    }

    pub fn mode(&self) -> Mode {
        *self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls that have not started are judged again.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Adds rules that hold until the session ends. Calls that have not started are judged again.
    pub fn add_rules(&self, rules: Policy) {
        self.policy.write().unwrap_or_else(PoisonError::into_inner).add(rules);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The rules as they are now, with what a person approved.
    pub fn policy(&self) -> Policy {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn session_rules(&self) -> SessionRules {
        self.session_rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the rules that were set in the session before. What a person allowed call by call is asked again: a new
    /// rule may want that. Calls that have not started are judged again.
    pub fn set_session_rules(&self, texts: SessionRules, rules: Policy) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        let of_others = |rule: &Rule| rule.source.tier != Tier::Session;
        policy.deny.retain(of_others);
        policy.ask.retain(of_others);
        policy.allow.retain(of_others);
        policy.add(rules);
        drop(policy);
        *self.session_rules.write().unwrap_or_else(PoisonError::into_inner) = texts;
        self.exact.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// A decision made before this number changed may not apply any more.
    pub(crate) fn changes(&self) -> u64 {
        self.chain().map(|gate| gate.changes.load(Ordering::Acquire)).sum()
    }

    /// The strictest answer of this gate and of all above it.
    pub(crate) fn judge(&self, tool: &str, input: &Value, access: &Access) -> Decision {
        let mut strictest = self.judge_alone(tool, input, access, &[], &self.workspace());
        let mut copies: Vec<&WorkCopy> = Vec::new();
        let mut workspace = None;
        for (below, gate) in self.chain().zip(self.chain().skip(1)) {
            if let Some(copy) = &below.copy {
                copies.insert(0, copy);
                workspace.get_or_insert_with(|| below.workspace());
            }
            let seen_from = workspace.clone().unwrap_or_else(|| gate.workspace());
            let judged = gate.judge_alone(tool, input, access, &copies, &seen_from);
            strictest = strictest.or_stricter(judged);
        }
        strictest
    }

    fn judge_alone(
        &self,
        tool: &str,
        input: &Value,
        access: &Access,
        copies: &[&WorkCopy],
        workspace: &Workspace,
    ) -> Decision {
        let decision = {
            let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner);
            match copies {
                [] => decide(tool, access, &policy, self.mode(), workspace),
                copies => {
                    let covering =
                        |rules: Policy, copy: &&WorkCopy| rules.covering_copy(&copy.of, &copy.at);
                    let policy = copies.iter().fold(policy.clone(), covering);
                    decide(tool, access, &policy, self.mode(), workspace)
                }
            }
        };
        let may_be_settled = decision.verdict == Verdict::Ask && access.person.is_none();
        if may_be_settled && self.is_allowed(tool, input, access) {
            let why = "the user allowed this very call for the session";
            return Decision::of(Verdict::Allow, By::Person, why);
        }
        decision
    }

    /// The same for a call through another tool: a rule about that one can only make it stricter.
    pub(crate) fn judge_via(
        &self,
        (tool, via): (&str, Option<&str>),
        input: &Value,
        access: &Access,
    ) -> Decision {
        let decision = self.judge(tool, input, access);
        match via {
            Some(via) => decision.or_stricter(self.judge(via, input, &Access::nothing())),
            None => decision,
        }
    }

    /// A tool arrived: rules are about it as they are about every tool of its kind.
    pub(crate) fn learn_tool(&self, name: &str, facts: ToolFacts) {
        self.workspace.update(|workspace| {
            let tools = workspace.tools.and(name, facts);
            Workspace { tools, ..workspace.clone() }
        });
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        policy.learn_tool(name, facts.kind);
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.workspace.now()
    }

    /// `opened` is called when the question can be answered, before anybody waits for the answer.
    pub(crate) async fn ask<E>(
        &self,
        question: Question,
        access: &Access,
        opened: impl FnOnce(&Question) -> Result<(), E>,
    ) -> Result<Reply, E> {
        // Agents that run side by side ask one after the other as well.
        let top = self.chain().last().unwrap_or(self);
        let _turn = top.asking.lock().await;
        let answer = self.approver.ask(question.clone());
        opened(&question)?;
        let reply = answer.await;
        let Question { tool, input, decision, .. } = question;
        let offer = decision.offer;
        match reply {
            // The person said it to the session, so it holds for every agent above, too.
            Reply::YesForSession if offer.is_empty() => {
                for gate in self.chain() {
                    gate.allow_exactly(tool.clone(), input.clone(), access.clone());
                }
            }
            Reply::YesForSession => {
                self.chain().for_each(|gate| drop(gate.accept(&offer, access)));
            }
            Reply::YesForProject => {
                self.chain().skip(1).for_each(|gate| drop(gate.accept(&offer, access)));
                let rules = self.accept(&offer, access);
                // It applies to the session in any case; the keeper reports what went wrong.
                let _ = self.approvals.keep(&rules);
            }
            Reply::Yes | Reply::YesWithInput(_) | Reply::No(_) | Reply::Unanswered(_) => {}
        }
        Ok(reply)
    }

    /// A turn begins: rules that were added for the one before are gone.
    pub fn begin_turn(&self) {
        let mut added = self.for_turn.lock().unwrap_or_else(PoisonError::into_inner);
        if !added.is_empty() {
            let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
            policy.allow.retain(|rule| !added.contains(rule));
            added.clear();
        }
    }

    /// Rules that hold until the next turn begins. Like every allow rule they give way to denials, to what a person
    /// wants to be asked about and to guarded names. What is no rule is passed over.
    pub fn allow_for_turn(&self, rules: &[String], source: &Source) {
        let workspace = self.workspace();
        let anchors = Anchors::of(&workspace);
        let parse = |text: &String| Rule::parse_at(text, anchors, source.clone()).ok();
        let mut added = self.for_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        for rule in rules.iter().filter_map(parse) {
            // One that stood there before must not go with the turn.
            if added.len() < MAX_FOR_TURN && !policy.allow.contains(&rule) {
                policy.allow.push(rule.clone());
                added.push(rule);
            }
        }
    }

    /// The user approved exactly this call, and nothing that it touches or runs has changed since.
    fn is_allowed(&self, tool: &str, input: &Value, access: &Access) -> bool {
        let exact = self.exact.lock().unwrap_or_else(PoisonError::into_inner);
        exact.iter().any(|(t, i, a)| t == tool && i == input && a == access)
    }

    fn allow_exactly(&self, tool: String, input: Value, access: Access) {
        let mut exact = self.exact.lock().unwrap_or_else(PoisonError::into_inner);
        if exact.len() < MAX_EXACT {
            exact.push((tool, input, access));
        }
    }

    fn accept(&self, offer: &[String], access: &Access) -> Vec<Rule> {
        let workspace = self.workspace();
        let bound = bound(access, &workspace);
        let source = Source { tier: Tier::Approval, ..Source::default() };
        let parsed = |text: &String| {
            let mut rule = Rule::parse(text, &workspace).ok()?;
            (rule.source, rule.bound) = (source.clone(), bound.clone());
            Some(rule)
        };
        let rules: Vec<Rule> = offer.iter().filter_map(parsed).collect();
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        policy.allow.extend(rules.iter().cloned());
        rules
    }
}

/// An approval of something that runs a file is one of what the file holds.
fn bound(access: &Access, workspace: &Workspace) -> Option<Bound> {
    let steps = access.runs.iter().flat_map(|runs| &runs.steps);
    let files: Vec<_> = steps
        .flat_map(|step| &step.touches)
        .filter(|touch| touch.act == Act::Run)
        .filter_map(|touch| {
            let path = touch.scopes.as_deref()?.first()?.path().to_owned();
            Some((path, touch.content.clone()?))
        })
        .collect();
    (!files.is_empty()).then(|| Bound { folder: workspace.cwd.clone(), files })
}
