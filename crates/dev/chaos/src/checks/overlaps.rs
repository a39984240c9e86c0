//! Tasks that touch the same file were never in progress at the same time. Which files a task touches is found out by
//! looking at all files of the made-up project.

use super::Findings;
use super::evidence::Evidence;
use super::histories::Attempt;
use crate::plan::{FILES, MODULES};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::collections::{BTreeMap, HashMap, HashSet};

pub fn check(
    evidence: &Evidence,
    attempts: &BTreeMap<u64, Attempt>,
    findings: &mut Findings,
) -> Result<(), String> {
    let files: Vec<String> = (0..MODULES)
        .flat_map(|module| (0..FILES).map(move |file| format!("src/m{module}/f{file}.rs")))
        .collect();
    let mut touched: HashMap<&str, HashSet<usize>> = HashMap::new();
    for task in evidence.tasks.iter().filter(|task| !task.touches.is_empty()) {
        let globs = set(&task.touches)?;
        let found = files.iter().enumerate().filter(|(_, file)| globs.is_match(file));
        touched.insert(&task.id, found.map(|(at, _)| at).collect());
    }
    let mut order: Vec<(&Attempt, &HashSet<usize>)> = attempts
        .values()
        .filter_map(|attempt| Some((attempt, touched.get(attempt.task.as_str())?)))
        .collect();
    order.sort_by_key(|(attempt, _)| attempt.from);
    let (mut running, mut compared): (Vec<(&Attempt, &HashSet<usize>)>, u64) = (Vec::new(), 0);
    for (attempt, own) in order {
        running.retain(|(other, _)| other.until > attempt.from);
        for (other, theirs) in &running {
            compared += 1;
            if other.task != attempt.task && !own.is_disjoint(theirs) {
                findings.violation(format!(
                    "{} and {} touch the same file and were in progress together",
                    other.task, attempt.task
                ));
            }
        }
        running.push((attempt, own));
    }
    findings.figure(format!("{compared} pairs side by side without overlap"));
    Ok(())
}

fn set(globs: &[String]) -> Result<GlobSet, String> {
    let mut all = GlobSetBuilder::new();
    for glob in globs {
        let glob = GlobBuilder::new(glob).literal_separator(true).build();
        all.add(glob.map_err(|why| why.to_string())?);
    }
    all.build().map_err(|why| why.to_string())
}
