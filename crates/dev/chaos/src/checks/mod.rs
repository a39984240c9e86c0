//! Reads what a run has recorded, and says what must not have happened.

mod branches;
#[cfg(test)]
mod checks_tests;
mod evidence;
mod histories;
mod letters;
mod overlaps;
mod reports;

use crate::facts::Fact;
use evidence::Evidence;
use std::path::Path;

/// Violations that are printed.
const SHOWN: usize = 20;

/// What was counted, and what was found.
#[derive(Default)]
pub struct Findings {
    violations: Vec<String>,
    figures: Vec<String>,
}

impl Findings {
    fn violation(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    fn figure(&mut self, what: impl Into<String>) {
        self.figures.push(what.into());
    }
}

/// # Errors
/// If something is missing, or a rule was broken.
pub fn run(directory: &Path) -> Result<(), String> {
    let findings = examine(&Evidence::read(directory)?)?;
    println!("chaos check: {}", findings.figures.join(", "));
    let found = findings.violations.len();
    if found == 0 {
        println!("chaos check: 0 violations");
        return Ok(());
    }
    for violation in findings.violations.iter().take(SHOWN) {
        println!("violation: {violation}");
    }
    Err(format!("chaos check: {found} violations"))
}

fn examine(evidence: &Evidence) -> Result<Findings, String> {
    let mut findings = Findings::default();
    figures(evidence, &mut findings);
    let attempts = histories::check(evidence, &mut findings);
    reports::check(evidence, &attempts, &mut findings);
    overlaps::check(evidence, &attempts, &mut findings)?;
    branches::check(evidence, &mut findings);
    letters::check(evidence, &mut findings);
    Ok(findings)
}

fn figures(evidence: &Evidence, findings: &mut Findings) {
    let count = |is: fn(&Fact) -> bool| evidence.driver.iter().filter(|fact| is(fact)).count();
    let plan = &evidence.plan;
    findings.figure(format!("{} workers", plan.workers));
    findings.figure(format!("{} killed", count(|fact| matches!(fact, Fact::Killed { .. }))));
    findings.figure(format!("{} stopped", count(|fact| matches!(fact, Fact::Stopped { .. }))));
    findings.figure(format!(
        "{} restarts of the server",
        count(|fact| matches!(fact, Fact::ServerRestarted))
    ));
    findings.figure(format!("{} links cut", count(|fact| matches!(fact, Fact::LinkCut { .. }))));
    let is_trouble = |(_, fact): &(&str, &Fact)| matches!(fact, Fact::Trouble { .. });
    let troubles = evidence.all_facts().filter(is_trouble).count();
    findings.figure(format!("{troubles} workers gave up"));
}
