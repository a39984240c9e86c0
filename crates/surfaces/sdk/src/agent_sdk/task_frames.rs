//! Agents and background jobs as tasks: started, at work, over.

use ostler::{CallId, CallOutcome, JobEnd, JobKind, JobStatus, JobView, Usage};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The tasks that were told of and are not over.
#[derive(Default)]
pub(crate) struct TaskFrames {
    open: HashMap<CallId, OpenTask>,
}

struct OpenTask {
    id: String,
    description: String,
    kind: &'static str,
    subagent: Option<String>,
    began: u64,
    tokens: u64,
    calls: u64,
    /// Its call is over, and it goes on.
    job: Option<String>,
}

impl OpenTask {
    fn usage(&self, at: u64) -> Value {
        json!({
            "total_tokens": self.tokens, "tool_uses": self.calls,
            "duration_ms": at.saturating_sub(self.began),
        })
    }
}

/// A frame of the type `system`: its subtype and its fields.
pub(crate) type SystemFrame = (&'static str, Value);

impl TaskFrames {
    /// An agent begins the work of a call. `agent`: its session, which hooks know it by; `job`: where the call does not
    /// wait for it. None: it was told of before.
    pub(crate) fn agent_started(
        &mut self,
        call: &CallId,
        input: &Value,
        (agent, job): (&str, Option<String>),
        at: u64,
    ) -> Option<SystemFrame> {
        if self.open.contains_key(call) {
            return None;
        }
        let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        let is_backgrounded = job.is_some();
        let task = OpenTask {
            id: agent.to_owned(),
            description: text("description").unwrap_or_default(),
            kind: "local_agent",
            subagent: text("subagent_type"),
            began: at,
            tokens: 0,
            calls: 0,
            job,
        };
        let frame = json!({
            "task_id": task.id, "tool_use_id": call.as_str(), "description": task.description,
            "task_type": task.kind, "subagent_type": task.subagent, "prompt": text("prompt"),
            "is_backgrounded": is_backgrounded, "spawn_depth": 1,
        });
        self.open.insert(call.clone(), task);
        Some(("task_started", frame))
    }

    /// Nobody waits for the work of this call.
    pub(crate) fn is_in_background(&self, call: &CallId) -> bool {
        self.open.get(call).is_some_and(|task| task.job.is_some())
    }

    /// An agent got an answer.
    pub(crate) fn agent_spent(&mut self, parent: &CallId, usage: &Usage) {
        if let Some(task) = self.open.get_mut(parent) {
            let Usage { input, output, cache_read, cache_write, .. } = *usage;
            task.tokens = input + output + cache_read + cache_write;
        }
    }

    /// An agent has made a call.
    pub(crate) fn agent_called(
        &mut self,
        parent: &CallId,
        tool: &str,
        at: u64,
    ) -> Option<SystemFrame> {
        let task = self.open.get_mut(parent)?;
        task.calls += 1;
        let frame = json!({
            "task_id": task.id, "tool_use_id": parent.as_str(), "description": task.description,
            "subagent_type": task.subagent, "last_tool_name": tool, "usage": task.usage(at),
        });
        Some(("task_progress", frame))
    }

    /// A call is over: its task too, or it goes on as a job.
    pub(crate) fn call_finished(
        &mut self,
        call: &CallId,
        outcome: CallOutcome,
        job: Option<&JobView>,
        at: u64,
    ) -> Vec<SystemFrame> {
        if let Some(job) = job {
            return self.became_job(call, job, at).into_iter().collect();
        }
        let Some(task) = self.open.remove(call) else { return Vec::new() };
        let (status, word) = match outcome {
            CallOutcome::Succeeded => ("completed", "completed"),
            CallOutcome::Stopped => ("killed", "stopped"),
            _ => ("failed", "failed"),
        };
        let summary = task.description.clone();
        task_over(&task, call, (status, word), "", &summary, at)
    }

    fn became_job(&mut self, call: &CallId, job: &JobView, at: u64) -> Option<SystemFrame> {
        let id = job.record.id.to_string();
        if let Some(task) = self.open.get_mut(call) {
            task.job = Some(id);
            return None;
        }
        let kind = match job.record.kind {
            JobKind::Command => "local_bash",
            JobKind::Agent => "local_agent",
        };
        let task = OpenTask {
            id: id.clone(),
            description: job.record.label.clone(),
            kind,
            subagent: None,
            began: at,
            tokens: 0,
            calls: 0,
            job: Some(id),
        };
        let frame = json!({
            "task_id": task.id, "tool_use_id": call.as_str(), "description": task.description,
            "task_type": task.kind, "is_backgrounded": true,
        });
        self.open.insert(call.clone(), task);
        Some(("task_started", frame))
    }

    /// A job is over.
    pub(crate) fn job_ended(&mut self, job: &JobView, end: &JobEnd, at: u64) -> Vec<SystemFrame> {
        let Some(task) = self.open.remove(&job.record.call) else { return Vec::new() };
        let words = match end.status {
            JobStatus::Completed => ("completed", "completed"),
            JobStatus::Failed | JobStatus::TimedOut => ("failed", "failed"),
            JobStatus::Stopped | JobStatus::Died => ("killed", "stopped"),
        };
        let file = job.record.output.as_ref().map(|path| path.to_string_lossy().into_owned());
        let summary = format!("\"{}\" {}", job.record.label, end.words);
        task_over(&task, &job.record.call, words, &file.unwrap_or_default(), &summary, at)
    }

    /// The job, or the call of the agent, that a program knows by this name.
    pub(crate) fn known(&self, id: &str) -> Option<(CallId, Option<String>)> {
        let found = self.open.iter().find(|(_, task)| task.id == id);
        found.map(|(call, task)| (call.clone(), task.job.clone()))
    }

    /// The kind of the agent that a call started, and what it is for.
    pub(crate) fn about(&self, call: &CallId) -> Option<(Option<&str>, &str)> {
        let task = self.open.get(call)?;
        Some((task.subagent.as_deref(), task.description.as_str()))
    }

    /// All that go on in the background.
    pub(crate) fn in_background(&self) -> Value {
        let open = self.open.values().filter(|task| task.job.is_some());
        let entry = |task: &OpenTask| json!({ "task_id": task.id, "description": task.description, "task_type": task.kind });
        open.map(entry).collect()
    }
}

fn task_over(
    task: &OpenTask,
    call: &CallId,
    (status, word): (&str, &str),
    file: &str,
    summary: &str,
    at: u64,
) -> Vec<SystemFrame> {
    let updated = json!({ "task_id": task.id, "patch": { "status": status, "end_time": at } });
    let told = json!({
        "task_id": task.id, "tool_use_id": call.as_str(), "status": word, "output_file": file,
        "summary": summary, "usage": task.usage(at),
    });
    vec![("task_updated", updated), ("task_notification", told)]
}
