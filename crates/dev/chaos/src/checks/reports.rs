//! What workers were told, compared with the history: nobody who had lost a claim was believed, nobody who had it refused.

use super::Findings;
use super::evidence::Evidence;
use super::histories::Attempt;
use crate::facts::Fact;
use crate::real_worker::branch_of;
use crate::repository;
use std::collections::{BTreeMap, HashMap, HashSet};

pub fn check(evidence: &Evidence, attempts: &BTreeMap<u64, Attempt>, findings: &mut Findings) {
    let mut claims = HashMap::new();
    let mut accepted: HashMap<&str, HashSet<u64>> = HashMap::new();
    let (mut stale, mut renewals) = (0, 0);
    for (worker, fact) in evidence.all_facts() {
        match fact {
            Fact::Claimed { task, fence } => {
                if let Some((other, _)) = claims.insert(*fence, (worker, task.as_str())) {
                    findings.violation(format!("{other} and {worker} were both given {fence}"));
                }
                let known = attempts.get(fence);
                if known.is_none_or(|known| known.task != *task || known.worker != worker) {
                    findings.violation(format!("the board has no claim {fence} of {worker}"));
                }
            }
            Fact::Renewed { task, fence, at_ms } => {
                renewals += 1;
                let is_valid = |known: &Attempt| (known.from..=known.until).contains(at_ms);
                if !attempts.get(fence).is_some_and(is_valid) {
                    findings.violation(format!(
                        "{worker} could renew {task} with fence {fence}, which was not valid"
                    ));
                }
            }
            Fact::FinishAccepted { task, fence } => {
                accepted.entry(task).or_default().insert(*fence);
                if !attempts.get(fence).is_some_and(|known| known.has_finished) {
                    findings.violation(format!(
                        "{worker} was told that {task} is finished by fence {fence}, which is not recorded"
                    ));
                }
            }
            Fact::FinishRefused { task, fence, why } => {
                stale += 1;
                if attempts.get(fence).is_none_or(|known| known.has_finished) {
                    findings.violation(format!(
                        "{worker} finished {task} with fence {fence} and was refused: {why}"
                    ));
                }
            }
            _ => {}
        }
    }
    for (task, fences) in accepted {
        if fences.len() > 1 {
            findings.violation(format!("{task} was finished by {} attempts", fences.len()));
        }
    }
    check_results(evidence, attempts, findings);
    findings.figure(format!("{renewals} renewals"));
    findings.figure(format!("{stale} stale finishers refused"));
}

/// The result of a task is the branch of the attempt that finished it, and that attempt made it.
fn check_results(evidence: &Evidence, attempts: &BTreeMap<u64, Attempt>, findings: &mut Findings) {
    let committed: HashSet<(&str, &str)> = evidence
        .all_facts()
        .filter_map(|(worker, fact)| match fact {
            Fact::Committed { branch, .. } => Some((worker, branch.as_str())),
            _ => None,
        })
        .collect();
    let results: HashMap<&str, Option<&str>> =
        evidence.tasks.iter().map(|task| (task.id.as_str(), task.result.as_deref())).collect();
    for attempt in attempts.values().filter(|attempt| attempt.has_finished) {
        let result = results.get(attempt.task.as_str()).copied().flatten();
        if !evidence.plan.real.is_empty() {
            // A worker that was killed after its report has not told us of it.
            let branch = result.and_then(branch_of).unwrap_or_default();
            if !branch.starts_with(&format!("ostler/{}-", attempt.task)) {
                findings.violation(format!("the result of {} is {result:?}", attempt.task));
            }
            continue;
        }
        let branch = repository::branch(&attempt.task, attempt.fence);
        if result != Some(&branch) || !committed.contains(&(attempt.worker.as_str(), &branch)) {
            findings.violation(format!("the result of {} is {result:?}", attempt.task));
        }
    }
}
