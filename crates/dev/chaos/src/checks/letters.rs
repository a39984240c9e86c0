//! Every mail that was sent arrived, and was read once.

use super::Findings;
use super::evidence::Evidence;
use crate::facts::Fact;
use std::collections::{BTreeMap, HashMap, HashSet};

pub fn check(evidence: &Evidence, findings: &mut Findings) {
    let (mut tried, mut sent): (HashMap<&str, &str>, HashMap<&str, &str>) = Default::default();
    let mut reads: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut numbers: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for (worker, fact) in evidence.all_facts() {
        match fact {
            Fact::Sending { mail, to } => drop(tried.insert(mail, to)),
            Fact::Sent { mail, to } => drop(sent.insert(mail, to)),
            Fact::Received { mail, from, seq } => {
                reads.entry(mail).or_default().push(worker);
                numbers.entry((from, worker)).or_default().push(*seq);
            }
            _ => {}
        }
    }
    for (mail, to) in &sent {
        if !reads.contains_key(mail) {
            findings.violation(format!("mail {mail} to {to} was sent and never read"));
        }
    }
    for (mail, readers) in &reads {
        if readers.len() > 1 {
            findings.violation(format!("mail {mail} was read {} times", readers.len()));
        }
        match tried.get(mail) {
            Some(to) if readers.iter().all(|reader| reader == to) => {}
            to => findings.violation(format!("mail {mail} to {to:?} was read by {readers:?}")),
        }
    }
    // Each sender's mail arrives in the order in which it was sent, without gaps.
    for ((from, to), numbers) in &numbers {
        if !numbers.iter().copied().eq(1..=numbers.len() as u64) {
            findings.violation(format!("mail from {from} to {to} arrived as {numbers:?}"));
        }
    }
    check_board(evidence, &reads, findings);
    let unsure = tried.keys().filter(|mail| !sent.contains_key(*mail)).count();
    findings.figure(format!("{} mails read once", reads.len()));
    findings.figure(format!("{unsure} whose sender died or was refused in between"));
}

fn check_board(evidence: &Evidence, reads: &HashMap<&str, Vec<&str>>, findings: &mut Findings) {
    let known: HashSet<&str> = evidence.mails.iter().map(|mail| mail.id.as_str()).collect();
    for mail in &evidence.mails {
        if mail.status != "acknowledged" || !reads.contains_key(mail.id.as_str()) {
            findings.violation(format!("mail {} is {} on the board", mail.id, mail.status));
        }
    }
    for mail in reads.keys().filter(|mail| !known.contains(*mail)) {
        findings.violation(format!("mail {mail} was read, but the board does not know it"));
    }
}
