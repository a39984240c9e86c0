//! The plan of a session: what is to be done and how far it is. One list behind TodoWrite and the task tools. Pure.

use crate::message::{Block, Message};
use crate::tool_facts::{KnownTools, ToolKind};
use crate::view::View;
use crate::{prompt_texts, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// After this many calls without an update, the plan is repeated.
pub const QUIET_CALLS: usize = 8;

const MOST_TASKS: usize = 200;
/// Characters of a subject, and of the other short texts.
const MOST_SHORT: usize = 500;
const MOST_DESCRIPTION: usize = 8_000;
/// Bytes of the whole plan: it is recorded with each change.
const MOST_BYTES: usize = 128 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub tasks: Vec<Task>,
    /// How many names were given so far: none is given twice.
    #[serde(default)]
    named: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    pub id: String,
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What is being done while it is in progress: "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Tasks that must be completed first, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
        }
    }
}

/// One line of a list that replaces the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Todo {
    pub content: String,
    pub status: Status,
    pub active_form: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewTask {
    pub subject: String,
    pub description: String,
    pub active_form: Option<String>,
    pub metadata: Map<String, Value>,
}

/// What changes of a task; what is not named stays. A null in the metadata takes its key away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    pub subject: Option<String>,
    pub description: Option<String>,
    pub active_form: Option<String>,
    pub status: Option<Status>,
    pub owner: Option<String>,
    pub add_blocks: Vec<String>,
    pub add_blocked_by: Vec<String>,
    pub metadata: Map<String, Value>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Something of it is still to be done.
    pub fn is_open(&self) -> bool {
        self.tasks.iter().any(|task| task.status != Status::Completed)
    }

    /// How far it is, in one line.
    fn state(&self) -> String {
        let first = |status| self.tasks.iter().find(|task| task.status == status);
        let done = self.tasks.iter().filter(|task| task.status == Status::Completed).count();
        let now = match (first(Status::InProgress), first(Status::Pending)) {
            (Some(task), _) => format!("Now: {}", task.subject),
            (None, Some(task)) => format!("Next: {}", task.subject),
            (None, None) => String::new(),
        };
        let (done, all) = (done.to_string(), self.tasks.len().to_string());
        text::fill(prompt_texts::PLAN_STATE, &[("done", &done), ("all", &all), ("now", &now)])
    }

    /// # Errors
    /// In words for the model, with the ids there are.
    pub fn get(&self, id: &str) -> Result<&Task, String> {
        let plain = plain(id);
        self.tasks.iter().find(|task| task.id == plain).ok_or_else(|| self.unknown(id))
    }

    /// The tasks that wait for this one.
    pub fn blocks(&self, id: &str) -> Vec<&str> {
        let waits = |task: &&Task| task.blocked_by.iter().any(|other| other == id);
        self.tasks.iter().filter(waits).map(|task| task.id.as_str()).collect()
    }

    /// The tasks it still waits for.
    pub fn waits_for<'a>(&'a self, task: &'a Task) -> Vec<&'a str> {
        let open = |id: &&String| self.get(id).is_ok_and(|task| task.status != Status::Completed);
        task.blocked_by.iter().filter(open).map(String::as_str).collect()
    }

    /// The plan with a new list. A line with the words of an old one is the same task and keeps what it knows.
    ///
    /// # Errors
    /// In words for the model; the same below.
    pub fn replaced(&self, todos: Vec<Todo>) -> Result<Plan, String> {
        let mut old = self.tasks.clone();
        let mut plan = Plan { tasks: Vec::new(), named: self.named };
        for todo in todos {
            let known = old.iter().position(|task| task.subject == todo.content.trim());
            let mut task = match known {
                Some(at) => old.remove(at),
                None => plan.fresh(),
            };
            task.subject = todo.content.trim().to_owned();
            task.status = todo.status;
            task.active_form = todo.active_form.filter(|form| !form.trim().is_empty());
            plan.tasks.push(task);
        }
        plan.forget_missing();
        plan.checked()
    }

    /// The plan with one more task, and its id.
    ///
    /// # Errors
    /// As above.
    pub fn with(&self, new: NewTask) -> Result<(Plan, String), String> {
        let mut plan = self.clone();
        let mut task = plan.fresh();
        let id = task.id.clone();
        task.subject = new.subject.trim().to_owned();
        task.description = new.description;
        task.active_form = new.active_form;
        task.metadata = new.metadata;
        task.metadata.retain(|_, value| !value.is_null());
        plan.tasks.push(task);
        Ok((plan.checked()?, id))
    }

    /// # Errors
    /// As above; an id that is not there is named.
    pub fn updated(&self, id: &str, update: Update) -> Result<Plan, String> {
        let id = self.get(id)?.id.clone();
        let blocked: Vec<String> = self.ids(&update.add_blocks)?;
        let blocked_by: Vec<String> = self.ids(&update.add_blocked_by)?;
        let mut plan = self.clone();
        for task in &mut plan.tasks {
            if blocked.contains(&task.id) && !task.blocked_by.contains(&id) {
                task.blocked_by.push(id.clone());
            }
            if task.id == id {
                task.change(&update, &blocked_by);
            }
        }
        plan.checked()
    }

    /// # Errors
    /// As above.
    pub fn without(&self, id: &str) -> Result<Plan, String> {
        let id = self.get(id)?.id.clone();
        let mut plan = self.clone();
        plan.tasks.retain(|task| task.id != id);
        plan.forget_missing();
        Ok(plan)
    }

    /// One line a task, as the model reads it.
    pub fn lines(&self) -> String {
        let line = |task: &Task| {
            let mut line = format!("#{} [{}] {}", task.id, task.status.name(), task.subject);
            if let Some(owner) = &task.owner {
                line += &format!(" (owner: {owner})");
            }
            let waits = self.waits_for(task);
            if !waits.is_empty() {
                line += &format!(" (blocked by #{})", waits.join(", #"));
            }
            line
        };
        self.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Hints that would make it a better plan; none is enforced.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let active: Vec<&Task> =
            self.tasks.iter().filter(|task| task.status == Status::InProgress).collect();
        if active.len() > 1 {
            advice.push(format!(
                "{} tasks are in progress; one at a time is easier to follow.",
                active.len()
            ));
        }
        if active.is_empty() && self.is_open() {
            advice.push("No task is in progress; mark the one you work on.".to_owned());
        }
        for task in active {
            let waits = self.waits_for(task);
            if !waits.is_empty() {
                let first = waits.join(", #");
                advice.push(format!("#{} is in progress but waits for #{first}.", task.id));
            }
        }
        advice
    }

    fn fresh(&mut self) -> Task {
        self.named += 1;
        Task {
            id: self.named.to_string(),
            subject: String::new(),
            description: String::new(),
            active_form: None,
            status: Status::Pending,
            owner: None,
            blocked_by: Vec::new(),
            metadata: Map::new(),
        }
    }

    fn ids(&self, named: &[String]) -> Result<Vec<String>, String> {
        named.iter().map(|id| Ok(self.get(id)?.id.clone())).collect()
    }

    fn unknown(&self, id: &str) -> String {
        let known: Vec<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let id: String = id.chars().take(40).collect();
        format!("There is no task {id:?}. The tasks are: {known}.")
    }

    fn forget_missing(&mut self) {
        let ids: Vec<String> = self.tasks.iter().map(|task| task.id.clone()).collect();
        for task in &mut self.tasks {
            task.blocked_by.retain(|id| ids.contains(id));
        }
    }

    fn checked(self) -> Result<Plan, String> {
        if self.tasks.len() > MOST_TASKS {
            return Err(format!(
                "A plan can have at most {MOST_TASKS} tasks, not {}.",
                self.tasks.len()
            ));
        }
        for (at, task) in self.tasks.iter().enumerate() {
            task.checked().map_err(|why| format!("Task {} of the list: {why}.", at + 1))?;
        }
        if let Some(id) = self.waits_for_itself() {
            return Err(format!("Task #{id} would wait for itself; nothing was changed."));
        }
        match serde_json::to_vec(&self).map(|bytes| bytes.len()) {
            Ok(..=MOST_BYTES) => Ok(self),
            _ => Err(format!("The plan is longer than {MOST_BYTES} bytes; shorten it.")),
        }
    }

    /// Takes away what waits for nothing until nothing of the kind is left; who is left waits in a circle.
    fn waits_for_itself(&self) -> Option<&str> {
        let mut left: Vec<&Task> = self.tasks.iter().collect();
        loop {
            let ids: Vec<&str> = left.iter().map(|task| task.id.as_str()).collect();
            let waits = |task: &&Task| task.blocked_by.iter().any(|id| ids.contains(&id.as_str()));
            let still: Vec<&Task> = left.iter().copied().filter(waits).collect();
            if still.len() == left.len() {
                return left.first().map(|task| task.id.as_str());
            }
            left = still;
        }
    }
}

impl Task {
    fn change(&mut self, update: &Update, blocked_by: &[String]) {
        if let Some(subject) = &update.subject {
            self.subject = subject.trim().to_owned();
        }
        if let Some(description) = &update.description {
            self.description.clone_from(description);
        }
        self.status = update.status.unwrap_or(self.status);
        let set = |had: &mut Option<String>, new: &Option<String>| {
            if let Some(new) = new {
                *had = (!new.trim().is_empty()).then(|| new.clone());
            }
        };
        set(&mut self.active_form, &update.active_form);
        set(&mut self.owner, &update.owner);
        for id in blocked_by {
            if !self.blocked_by.contains(id) {
                self.blocked_by.push(id.clone());
            }
        }
        for (key, value) in &update.metadata {
            match value {
                Value::Null => _ = self.metadata.shift_remove(key),
                value => _ = self.metadata.insert(key.clone(), value.clone()),
            }
        }
    }

    fn checked(&self) -> Result<(), String> {
        if self.subject.is_empty() {
            return Err("it is empty, write what has to be done".into());
        }
        let long = |text: &str, most: usize| text.chars().nth(most).is_some();
        let short = [Some(&self.subject), self.active_form.as_ref(), self.owner.as_ref()];
        if short.into_iter().flatten().any(|text| long(text, MOST_SHORT)) {
            return Err(format!("a text is longer than {MOST_SHORT} characters, shorten it"));
        }
        if long(&self.description, MOST_DESCRIPTION) {
            return Err(format!("its description is longer than {MOST_DESCRIPTION} characters"));
        }
        Ok(())
    }
}

/// `#3` is `3`.
fn plain(id: &str) -> &str {
    let id = id.trim();
    id.strip_prefix('#').unwrap_or(id)
}

/// What to say of the plan after the calls of the last answer: how far it is, in one line, or all of it when nothing has
/// shown it for a while. Nothing if it has just been shown.
pub fn reminder(plan: &Plan, view: &View, tools: &KnownTools) -> Option<Message> {
    let quiet = calls_since_shown(view, tools);
    if !plan.is_open() || quiet == 0 {
        return None;
    }
    let all = || text::fill(prompt_texts::PLAN_REMINDER, &[("plan", &plan.lines())]);
    Some(Message::meta(if quiet < QUIET_CALLS { plan.state() } else { all() }))
}

/// Counts no further than matters.
fn calls_since_shown(view: &View, tools: &KnownTools) -> usize {
    let mut calls = 0;
    for item in view.items().iter().rev() {
        for block in item.message().blocks().iter().rev() {
            match block {
                Block::ToolUse { name, .. } if tools.kind(name) == ToolKind::Plans => return calls,
                Block::Text { text, meta: true } if is_reminder(text) => return calls,
                Block::ToolUse { .. } => calls += 1,
                _ => {}
            }
        }
        if calls >= QUIET_CALLS {
            return calls;
        }
    }
    calls
}

fn is_reminder(text: &str) -> bool {
    text.starts_with("<plan>")
}

#[cfg(test)]
#[path = "todo_tests.rs"]
mod tests;
