//! The target contains one attempt of each task: the one that finished it.

use super::Findings;
use super::evidence::Evidence;
use crate::repository;
use std::collections::{HashMap, HashSet};

pub fn check(evidence: &Evidence, findings: &mut Findings) {
    let mut merged: HashMap<&str, Vec<u64>> = HashMap::new();
    for (task, fence) in &evidence.merged {
        merged.entry(task).or_default().push(*fence);
    }
    for task in &evidence.tasks {
        let finished = task.history.iter().find(|event| event.event == "finished");
        let expected = finished.map(|event| event.fence);
        match merged.get(task.id.as_str()).map(Vec::as_slice) {
            Some([fence]) if Some(*fence) == expected => {}
            found => findings.violation(format!(
                "{} was finished by {expected:?}, and these attempts are merged: {found:?}",
                task.id
            )),
        }
    }
    let files: HashSet<&str> = evidence.files.iter().map(String::as_str).collect();
    for task in evidence.tasks.iter().filter(|task| !files.contains(&*repository::file(&task.id))) {
        findings.violation(format!("the file of {} is not on the target", task.id));
    }
    if files.len() != evidence.tasks.len() {
        findings.violation(format!("the target has {} files of tasks", files.len()));
    }
    let left = evidence.branches.len().saturating_sub(evidence.merged.len());
    findings.figure(format!("{} branches merged", evidence.merged.len()));
    findings.figure(format!("{left} branches of lost attempts kept"));
}
