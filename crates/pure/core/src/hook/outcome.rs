//! The answers of hooks, and how they are merged: `Prevent` over `Block` over `Defer` over `Ask` over a change over
//! nothing.

use serde_json::Value;
use std::collections::BTreeMap;

/// How far a hook goes. The order is the strictness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stand {
    #[default]
    Pass,
    /// A person has to approve.
    Ask,
    /// Not now: the turn ends, and continues with this when it is resumed.
    Defer,
    /// This does not happen.
    Block,
    /// This does not happen, and the turn ends.
    Prevent,
}

/// Who said so, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HookReason {
    pub stand: Stand,
    pub hook: String,
    pub why: String,
}

/// The answer of one hook or of many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutcome {
    pub stand: Stand,
    /// In the order the hooks are registered in.
    pub reasons: Vec<HookReason>,
    /// Fields of the call's input and their new values; nothing where a field is to go.
    pub changes: BTreeMap<String, Option<Value>>,
    /// Who changed it.
    pub changed_by: Vec<String>,
    /// For the model, besides what it gets anyway.
    pub context: Vec<String>,
    /// What the model gets instead of the result of the call, and the hook that replaced it.
    pub result: Option<(String, Value)>,
    /// Who answered a question with yes.
    pub allowed_by: Option<String>,
    /// For the person.
    pub notices: Vec<String>,
    /// Which hooks were asked, whatever they said.
    pub heard: Vec<String>,
}

impl HookOutcome {
    pub fn of(stand: Stand, hook: &str, why: impl Into<String>) -> Self {
        let reason = HookReason { stand, hook: hook.to_owned(), why: why.into() };
        HookOutcome { stand, reasons: vec![reason], ..HookOutcome::default() }
    }

    pub fn notice(text: impl Into<String>) -> Self {
        HookOutcome { notices: vec![text.into()], ..HookOutcome::default() }
    }

    /// The rank in the lattice, a change counted between passing and asking.
    pub fn rank(&self) -> u8 {
        let changes = !self.changes.is_empty() || !self.context.is_empty();
        match self.stand {
            Stand::Pass => u8::from(changes),
            Stand::Ask => 2,
            Stand::Defer => 3,
            Stand::Block => 4,
            Stand::Prevent => 5,
        }
    }

    /// An approval counts only if no hook objects.
    pub fn says_yes(&self) -> Option<&str> {
        self.allowed_by.as_deref().filter(|_| self.stand == Stand::Pass)
    }

    /// Why, of those who went furthest: `the hook X: …; the hook Y: …`.
    pub fn why(&self) -> String {
        let said = |reason: &HookReason| format!("the hook {}: {}", reason.hook, reason.why);
        self.furthest().map(said).collect::<Vec<_>>().join("; ")
    }

    /// The same without the names of the hooks, one reason per line.
    pub fn feedback(&self) -> String {
        self.furthest().map(|reason| reason.why.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn furthest(&self) -> impl Iterator<Item = &HookReason> {
        self.reasons.iter().filter(|reason| reason.stand == self.stand)
    }

    /// The call's input with the changes; none if there are none.
    pub fn rewritten(&self, input: &Value) -> Option<Value> {
        if self.changes.is_empty() {
            return None;
        }
        let mut fields = input.as_object().cloned().unwrap_or_default();
        for (name, value) in &self.changes {
            match value {
                Some(value) => _ = fields.insert(name.clone(), value.clone()),
                None => _ = fields.shift_remove(name),
            }
        }
        Some(Value::Object(fields))
    }

    /// The fields in which a rewritten input differs.
    pub fn changes_of(before: &Value, after: &Value) -> BTreeMap<String, Option<Value>> {
        let empty = serde_json::Map::new();
        let before = before.as_object().unwrap_or(&empty);
        let after = after.as_object().unwrap_or(&empty);
        let new = after.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let mut changes: BTreeMap<_, _> =
            new.map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        changes.extend(gone.map(|name| (name.clone(), None)));
        changes
    }
}

/// Merges outcomes, given in the order in which the hooks are registered.
///
/// The strictest stand wins. Changes of different fields are united; two hooks that want different values for one
/// field block, because neither of the two has seen what would run.
pub fn merge(parts: impl IntoIterator<Item = HookOutcome>) -> HookOutcome {
    parts.into_iter().fold(HookOutcome::default(), join)
}

fn join(mut all: HookOutcome, part: HookOutcome) -> HookOutcome {
    let mut disputed = Vec::new();
    for (name, value) in part.changes {
        match all.changes.get(&name) {
            Some(other) if *other != value => disputed.push(name),
            _ => _ = all.changes.insert(name, value),
        }
    }
    all.stand = all.stand.max(part.stand);
    add_new(&mut all.reasons, part.reasons);
    if !disputed.is_empty() {
        let hooks = all.changed_by.iter().chain(&part.changed_by).cloned().collect::<Vec<_>>();
        let why = format!("hooks change the input differently ({})", disputed.join(", "));
        let reason = HookReason { stand: Stand::Block, hook: hooks.join(" and "), why };
        add_new(&mut all.reasons, vec![reason]);
        all.stand = all.stand.max(Stand::Block);
    }
    add_new(&mut all.changed_by, part.changed_by);
    add_new(&mut all.context, part.context);
    add_new(&mut all.notices, part.notices);
    add_new(&mut all.heard, part.heard);
    // Each hook saw the result of the tool; the last one is what stays.
    all.result = part.result.or(all.result);
    all.allowed_by = all.allowed_by.or(part.allowed_by);
    all
}

fn add_new<T: PartialEq>(all: &mut Vec<T>, new: Vec<T>) {
    for item in new {
        if !all.contains(&item) {
            all.push(item);
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
