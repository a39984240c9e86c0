//! The history of each task: one claim at a time, fences that grow, dependencies first, done once.

use super::Findings;
use super::evidence::{Evidence, ExportedEvent, ExportedTask};
use std::collections::{BTreeMap, HashMap};

/// A claim, from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub task: String,
    pub fence: u64,
    pub worker: String,
    pub from: u64,
    pub until: u64,
    pub has_finished: bool,
}

pub fn check(evidence: &Evidence, findings: &mut Findings) -> BTreeMap<u64, Attempt> {
    let done_at: HashMap<&str, u64> = evidence
        .tasks
        .iter()
        .filter_map(|task| Some((task.id.as_str(), finish_of(task)?.at_ms)))
        .collect();
    let mut attempts = BTreeMap::new();
    let mut dependencies = 0;
    for task in &evidence.tasks {
        let walked = walk(task, findings);
        for attempt in &walked {
            dependencies += task.depends_on.len();
            let early = task
                .depends_on
                .iter()
                .find(|need| done_at.get(need.as_str()).is_none_or(|done| *done > attempt.from));
            if let Some(need) = early {
                let Attempt { fence, .. } = attempt;
                findings.violation(format!(
                    "{} was claimed with fence {fence} before {need} was done",
                    task.id
                ));
            }
        }
        for attempt in walked {
            let (fence, id) = (attempt.fence, attempt.task.clone());
            if let Some(other) = attempts.insert(fence, attempt) {
                findings.violation(format!("fence {fence} was given to {} and {id}", other.task));
            }
        }
    }
    check_fence_order(&attempts, findings);
    if evidence.tasks.len() != evidence.plan.tasks {
        findings.violation(format!("the board has {} tasks", evidence.tasks.len()));
    }
    let done = evidence.tasks.iter().filter(|task| task.status == "done").count();
    findings.figure(format!("{done} tasks done once"));
    findings.figure(format!("{} claims", attempts.len()));
    findings.figure(format!("{dependencies} dependencies kept"));
    attempts
}

fn finish_of(task: &ExportedTask) -> Option<&ExportedEvent> {
    task.history.iter().find(|event| event.event == "finished")
}

/// One board counts for all tasks, so a later claim has a higher fence.
fn check_fence_order(attempts: &BTreeMap<u64, Attempt>, findings: &mut Findings) {
    let mut latest = 0;
    for attempt in attempts.values() {
        if attempt.from < latest {
            let Attempt { task, fence, .. } = attempt;
            findings.violation(format!("fence {fence} of {task} is older than a lower fence"));
        }
        latest = latest.max(attempt.from);
    }
}

fn walk(task: &ExportedTask, findings: &mut Findings) -> Vec<Attempt> {
    let id = &task.id;
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut is_open = false;
    let (mut last_time, mut finishes) = (0, 0);
    for event in &task.history {
        let ExportedEvent { at_ms, fence, .. } = *event;
        if at_ms < last_time {
            findings.violation(format!("the history of {id} goes back in time: {}", event.event));
        }
        last_time = at_ms;
        let last = attempts.last().map_or(0, |attempt| attempt.fence);
        match event.event.as_str() {
            "claimed" => {
                if is_open {
                    findings
                        .violation(format!("{id} was claimed with {fence} while {last} held it"));
                }
                if fence <= last {
                    findings.violation(format!("{id} was claimed with {fence} after {last}"));
                }
                let worker = event.worker.clone();
                let (from, until) = (at_ms, u64::MAX);
                let task = id.clone();
                attempts.push(Attempt { task, fence, worker, from, until, has_finished: false });
                is_open = true;
            }
            "finished" | "failed" | "lease_expired" | "parked" => {
                let names_another = event.event != "parked" && fence != last;
                if !is_open || names_another {
                    findings.violation(format!(
                        "{id}: {} by fence {fence}, but the last claim is {last}",
                        event.event
                    ));
                }
                finishes += u32::from(event.event == "finished");
                if let Some(attempt) = attempts.last_mut() {
                    attempt.until = at_ms;
                    attempt.has_finished = event.event == "finished" && !names_another;
                }
                is_open = false;
            }
            _ => {}
        }
    }
    if task.status != "done" || finishes != 1 || is_open {
        findings.violation(format!("{id} is {} and was finished {finishes} times", task.status));
    }
    attempts
}
