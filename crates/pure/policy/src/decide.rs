//! May this call run? One pure function, used at run time, in tests and by the command line: built-in deny → deny →
//! ask → allow → mode → default, the strictest answer over all parts. When in doubt, ask.

use super::access::{Access, Backing, Denials, Hold, PathScope, Workspace};
use super::commands::Concern;
use super::guarded_names::{protected, sensitive};
use super::mode::Mode;
use super::policy::{Fallback, Policy};
use super::rule::{Matcher, Reach, Rule, Source};
use super::step_verdict::judge_commands;
use crate::tool_facts::ToolKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    pub verdict: Verdict,
    /// What led to it, the deciding reasons only.
    pub reasons: Vec<Reason>,
    /// Rules that would allow it from now on, narrow ones. Empty where "always" must not be offered.
    pub offer: Vec<String>,
}

/// From lenient to strict.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    pub by: By,
    pub why: String,
    /// The command or path it is about, where the call has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<CitedRule>>,
    /// The words of the hooks that decided, without their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// The rule behind a reason, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CitedRule {
    /// What it comes to for this call: a deny rule that may cover it asks.
    pub effect: Verdict,
    pub text: String,
    pub source: Source,
}

impl std::fmt::Display for CitedRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.text, self.source)
    }
}

/// The layer that spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    BuiltIn,
    Rule,
    Mode,
    Default,
    Sandbox,
    /// A hook raised it, or answered in the person's place.
    Hook,
    /// The person answered a question.
    Person,
    /// There was a question and nobody to answer it.
    Nobody,
}

impl Decision {
    /// What one person, hook or mode decided.
    pub fn of(verdict: Verdict, by: By, why: impl Into<String>) -> Self {
        Decision { verdict, reasons: vec![Reason::new(by, why)], offer: Vec::new() }
    }

    /// Who decided: the layer that gave the first reason.
    pub fn by(&self) -> By {
        self.reasons.first().map_or(By::Default, |reason| reason.by)
    }

    /// In one line.
    pub fn why(&self) -> String {
        let mut said: Vec<String> = Vec::new();
        for reason in &self.reasons {
            let text = reason.to_string();
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let more = said.len().saturating_sub(SAID);
        said.truncate(SAID);
        let mut line = said.join("; ");
        if more > 0 {
            line += &format!("; and {more} more");
        }
        line
    }
}

/// Reasons that are kept.
const MOST_REASONS: usize = 100;
/// Reasons in a line.
const SAID: usize = 4;

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{part}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

/// What one part of a call comes to, before the mode has spoken.
#[derive(Clone, Debug)]
pub(super) enum Ruling {
    Deny(Reason),
    /// A rule or a built-in guard wants a person to say yes: holds in every mode.
    Ask(Reason),
    /// The sandbox is weaker than what was allowed relies on: a person says yes, or has given up asking.
    Weak(Reason),
    /// No rule speaks of it.
    Open(Reason),
    Allow(Reason),
}

impl Reason {
    pub fn new(by: By, why: impl Into<String>) -> Self {
        Reason { by, why: why.into(), part: None, rule: None, said: None }
    }
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

impl Decision {
    /// Of two decisions about the same call the one that counts.
    #[must_use]
    pub fn or_stricter(self, other: Decision) -> Decision {
        if other.verdict > self.verdict { other } else { self }
    }
}

pub(super) fn reason(by: By, why: impl Into<String>) -> Reason {
    Reason::new(by, why)
}

pub(super) fn by_rule(rule: &Rule, effect: Verdict) -> Reason {
    let kind = effect.name();
    let why = match &rule.reason {
        Some(why) => format!("the {kind} rule {} covers it: {why}", rule.text()),
        None => format!("the {kind} rule {} covers it", rule.text()),
    };
    let (text, source) = (rule.text().to_owned(), rule.source.clone());
    let rule = Some(Box::new(CitedRule { effect, text, source }));
    Reason { rule, ..reason(By::Rule, why) }
}

/// What all parts of a decision look at.
#[derive(Clone, Copy)]
pub(super) struct DecisionScene<'a> {
    pub(super) policy: &'a Policy,
    pub(super) mode: Mode,
    pub(super) workspace: &'a Workspace,
    /// Who enforces deny rules on files.
    pub(super) denials: &'a Denials,
    pub(super) backing: &'a Backing,
    /// The call reaches hosts, so everything in it may.
    pub(super) network: bool,
}

impl<'a> DecisionScene<'a> {
    pub(super) fn of(
        access: &'a Access,
        policy: &'a Policy,
        mode: Mode,
        workspace: &'a Workspace,
    ) -> Self {
        let Access { denials, backing, hosts, .. } = access;
        DecisionScene { policy, mode, workspace, denials, backing, network: !hosts.is_empty() }
    }

    /// Commands that open a file which a deny rule covers fail, whatever their text says.
    pub(super) fn kernel_denies(&self) -> bool {
        matches!(self.denials, Denials::Kernel { .. })
    }

    /// The sandbox and undo stand behind a rule on a program in this. Code that may also reach a host is not kept to the
    /// workspace.
    pub(super) fn backs(&self, concern: Concern) -> bool {
        *self.backing == Backing::Whole
            && match concern {
                Concern::Writes => true,
                Concern::Code => !self.network,
                Concern::Other => false,
            }
    }
}

pub fn decide(
    tool: &str,
    access: &Access,
    policy: &Policy,
    mode: Mode,
    workspace: &Workspace,
) -> Decision {
    let scene = DecisionScene::of(access, policy, mode, workspace);
    let mut rulings = match (unresolved(access), &access.runs) {
        (Some(path), _) => {
            let why = format!("where {} leads was not resolved first", path.display());
            vec![Ruling::Deny(reason(By::BuiltIn, why))]
        }
        (None, Some(commands)) => {
            let distinct = commands.distinct();
            judge_commands(scene, tool, access, distinct.as_ref().unwrap_or(commands))
        }
        (None, None) => vec![judge_call(scene, tool, access)],
    };
    if mode == Mode::Plan && !may_plan_with(tool, access, workspace) {
        rulings.push(Ruling::Deny(reason(By::Mode, "plan mode allows no changes")));
    }
    // A rule would not help where the sandbox is what is missing.
    let held: Vec<Ruling> = hold(access).into_iter().chain(unenforced(access)).collect();
    let offer = match held.is_empty() && access.person.is_none() {
        true => super::offer::offer(scene, tool, access, &rulings),
        false => Vec::new(),
    };
    rulings.extend(held);
    settle(scene, rulings, offer)
}

/// An agent is started in every mode; plan mode holds for what it does. Pages and searches are reading: which hosts are
/// contacted is for the rules and the person. What a command sends to a host is not known.
fn may_plan_with(tool: &str, access: &Access, workspace: &Workspace) -> bool {
    let kind = super::tool_names::kind(tool, &workspace.tools);
    let fetches = matches!(kind, ToolKind::Fetches | ToolKind::Searches);
    access.is_harmless()
        || access.is_delegation()
        || fetches && access.runs.is_none() && access.changes_nothing()
}

/// The mode and the default have their say, and the strictest answer wins.
fn settle(scene: DecisionScene<'_>, rulings: Vec<Ruling>, offer: Vec<String>) -> Decision {
    let refused = |reason: Reason| Reason {
        why: format!("{}, and this mode does not ask", reason.why),
        ..reason
    };
    let answers: Vec<(Verdict, Reason)> = rulings
        .into_iter()
        .map(|ruling| match (ruling, scene.mode) {
            (Ruling::Deny(reason), _) => (Verdict::Deny, reason),
            (Ruling::Allow(reason), _) => (Verdict::Allow, reason),
            (Ruling::Ask(reason) | Ruling::Weak(reason) | Ruling::Open(reason), Mode::DontAsk) => {
                (Verdict::Deny, refused(reason))
            }
            (Ruling::Ask(reason), _) => (Verdict::Ask, reason),
            (Ruling::Open(_) | Ruling::Weak(_), Mode::BypassPermissions)
                if !scene.policy.no_bypass =>
            {
                (Verdict::Allow, reason(By::Mode, "permissions are bypassed"))
            }
            (Ruling::Weak(reason), _) => (Verdict::Ask, reason),
            (Ruling::Open(reason), _) if scene.policy.fallback == Fallback::Deny => (
                Verdict::Deny,
                Reason { why: format!("{}, and the default is to deny", reason.why), ..reason },
            ),
            (Ruling::Open(reason), _) => (Verdict::Ask, reason),
        })
        .collect();
    let nothing = || reason(By::Default, "there is nothing in it that could be allowed");
    let verdict = answers.iter().map(|(verdict, _)| *verdict).max().unwrap_or(Verdict::Ask);
    let mut reasons: Vec<Reason> = Vec::new();
    for (_, reason) in answers.into_iter().filter(|(found, _)| *found == verdict) {
        if reasons.len() < MOST_REASONS && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        reasons.push(nothing());
    }
    let offer = if verdict == Verdict::Ask { offer } else { Vec::new() };
    Decision { verdict, reasons, offer }
}

/// What stands behind an allow, the sandbox and undo, never loosens anything: without it, what was allowed asks.
fn hold(access: &Access) -> Option<Ruling> {
    match &access.hold {
        Hold::Whole => access.unkept.as_ref().map(|path| {
            let why = format!("it would remove {}, which undo does not cover", path.display());
            Ruling::Weak(reason(By::BuiltIn, why))
        }),
        Hold::Weak(why) => Some(Ruling::Weak(reason(By::Sandbox, why.as_str()))),
        Hold::Lifted => Some(Ruling::Ask(reason(By::Sandbox, "it would run outside the sandbox"))),
    }
}

/// A deny rule that cannot be enforced makes every mode ask, the bypass included.
fn unenforced(access: &Access) -> Option<Ruling> {
    match &access.denials {
        Denials::Unenforced(why) => Some(Ruling::Ask(reason(By::Sandbox, why.as_str()))),
        Denials::Decision | Denials::Kernel { .. } => None,
    }
}

/// A path that may lead elsewhere than its text says: no rule and no root can be compared with it.
fn unresolved(access: &Access) -> Option<&Path> {
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    let mut paths = access.reads.iter().chain(&access.writes).map(PathScope::path);
    paths.find(|path| !path.is_absolute() || climbs(path))
}

/// A call that runs no commands.
pub(super) fn judge_call(scene: DecisionScene<'_>, tool: &str, access: &Access) -> Ruling {
    let DecisionScene { policy, mode, workspace, .. } = scene;
    if let Some(rule) =
        policy.deny.iter().find(|rule| speaks(rule, tool, access, scene) == Reach::Full)
    {
        return Ruling::Deny(by_rule(rule, Verdict::Deny));
    }
    if let Some(rule) = policy.asks().find(|rule| speaks(rule, tool, access, scene) == Reach::Full)
    {
        return Ruling::Ask(by_rule(rule, Verdict::Ask));
    }
    if let Some(request) = &access.person {
        return Ruling::Ask(reason(By::BuiltIn, request.why()));
    }
    let both = || policy.deny.iter().chain(policy.asks());
    if let Some(rule) = both().find(|rule| speaks(rule, tool, access, scene) == Reach::Below)
        && !access.filtered
    {
        let why =
            format!("it searches a directory in which the rule {} covers something", rule.text());
        return Ruling::Ask(Reason { why, ..by_rule(rule, Verdict::Ask) });
    }
    if let Some(why) = guard(scene, &access.reads, &access.writes, access.filtered) {
        return Ruling::Ask(why);
    }
    if let Some(rule) = policy.allow.iter().find(|rule| rule.covers_all(tool, access)) {
        return Ruling::Allow(by_rule(rule, Verdict::Allow));
    }
    let inside = |scope: &PathScope| workspace.contains(scope.path());
    // `acceptEdits` is about tools that change files themselves.
    let writes_inside = access.known
        && workspace.tools.kind(tool) == ToolKind::Edits
        && !access.writes.is_empty()
        && access.writes.iter().chain(&access.reads).all(inside);
    if mode == Mode::AcceptEdits && writes_inside {
        return Ruling::Allow(reason(By::Mode, "edits inside the workspace are accepted"));
    }
    let shipped = |rule: &&Rule| speaks(rule, tool, access, scene) == Reach::Full;
    if let Some(rule) = policy.shipped_asks().find(shipped) {
        return Ruling::Open(by_rule(rule, Verdict::Ask));
    }
    match refusal_of_default(access, workspace) {
        None if access.notes => Ruling::Allow(reason(By::Default, "it only saves a note")),
        None if access.is_delegation() => Ruling::Allow(reason(
            By::Default,
            "each call that the agent makes is judged separately",
        )),
        None => Ruling::Allow(reason(By::Default, "it only reads inside the workspace")),
        Some(why) => Ruling::Open(reason(By::Default, why)),
    }
}

/// How a deny or ask rule meets a call that runs no commands.
fn speaks(rule: &Rule, tool: &str, access: &Access, scene: DecisionScene<'_>) -> Reach {
    let full = |yes: bool| if yes { Reach::Full } else { Reach::None };
    match &rule.matcher {
        Matcher::Whole => full(rule.names(tool)),
        Matcher::Files(_) => rule.touches(tool, access),
        Matcher::Domain(_) => full(
            rule.names(tool)
                && access.hosts.iter().any(|host| {
                    let one = Access { hosts: vec![host.clone()], ..Access::nothing() };
                    rule.covers_all(tool, &one)
                }),
        ),
        // Written for commands, it still speaks of the files they are about; a deny needs the tool's name for that.
        Matcher::Regex(regex) => {
            let asks = scene.policy.ask.iter().any(|other| std::ptr::eq(other, rule));
            let scopes = access.reads.iter().chain(&access.writes);
            full(
                (asks || rule.names(tool))
                    && (scopes.into_iter())
                        .any(|scope| regex.mentions_text(&scene.workspace.shown(scope.path()))),
            )
        }
        Matcher::Skill(_) => full(rule.is_about_skill(tool, access)),
        Matcher::Command(_) => Reach::None,
    }
}

/// Names that need an explicit yes, whatever a broad rule says: what would run later, and secrets.
pub(super) fn guard(
    scene: DecisionScene<'_>,
    reads: &[PathScope],
    writes: &[PathScope],
    filtered: bool,
) -> Option<Reason> {
    let DecisionScene { policy, workspace, .. } = scene;
    let spelled = |path: &Path, writing: bool| {
        policy.allow.iter().any(|rule| match &rule.matcher {
            Matcher::Files(pattern) => {
                let about = if writing { rule.is_about_writing() } else { rule.is_about_reading() };
                let names = |name: &str| {
                    let name = Path::new("/").join(name);
                    protected(&name, workspace).is_some()
                };
                let start = pattern.start();
                let says = if writing {
                    pattern.spelled().any(names) || protected(&start, workspace).is_some()
                } else {
                    sensitive(&start, workspace).is_some()
                };
                about && says && pattern.allows(path)
            }
            _ => false,
        })
    };
    for scope in writes {
        let path = scope.path();
        let whole = matches!(scope, PathScope::Tree(_))
            && workspace.roots.iter().any(|root| root.starts_with(path));
        if whole {
            let shown = path.display();
            return Some(reason(
                By::BuiltIn,
                format!("it would change everything in {shown}, the whole workspace"),
            ));
        }
        if let Some(why) = protected(path, workspace).filter(|_| !spelled(path, true)) {
            let shown = workspace.shown(path);
            return Some(reason(By::BuiltIn, format!("it would change {shown} ({why})")));
        }
    }
    let concealed = |scope: &&PathScope| !(filtered && matches!(scope, PathScope::Tree(_)));
    for scope in reads.iter().filter(concealed) {
        let path = scope.path();
        if let Some(why) = sensitive(path, workspace).filter(|_| !spelled(path, false)) {
            let shown = workspace.shown(path);
            return Some(reason(By::BuiltIn, format!("it would read {shown} ({why})")));
        }
        let holds_home = workspace.home.is_absolute() && workspace.home.starts_with(path);
        if holds_home && matches!(scope, PathScope::Tree(_)) {
            let why =
                "it would read everything in your home directory, including keys and credentials";
            return Some(reason(By::BuiltIn, why));
        }
    }
    None
}

/// Why the read-only default does not allow it.
fn refusal_of_default(access: &Access, workspace: &Workspace) -> Option<String> {
    if !access.known {
        return Some("what it would touch is not known".into());
    }
    if let Some(scope) = access.writes.first() {
        return Some(format!("it would change {}", workspace.shown(scope.path())));
    }
    if let Some(host) = access.hosts.first() {
        return Some(format!("it would contact {host}"));
    }
    if access.board {
        return Some("it would change the task board, which others share".into());
    }
    if let Some(inward) = access.inward.as_ref().filter(|inward| !inward.loosens.is_empty()) {
        return Some(format!("it would allow {} for this turn", inward.loosens.join(", ")));
    }
    let outside = access.reads.iter().find(|scope| !workspace.may_read(scope.path()));
    outside.map(|scope| format!("it would read {} outside the workspace", scope.path().display()))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
