//! A small run in which everything is right, and one false fact at a time: each has to be found, by the check whose matter it
//! is. A check that finds nothing would let every run pass.

use super::evidence::{Evidence, ExportedEvent, ExportedMail, ExportedTask};
use super::examine;
use crate::facts::Fact;
use crate::plan::Plan;
use crate::repository;
use std::collections::BTreeMap;

type Spoil = fn(&mut Evidence);

fn event(at_ms: u64, event: &str, fence: u64, worker: &str) -> ExportedEvent {
    ExportedEvent { at_ms, event: event.into(), fence, worker: worker.into() }
}

fn task(id: &str, needs: &[&str], fence: u64, history: Vec<ExportedEvent>) -> ExportedTask {
    ExportedTask {
        id: id.into(),
        status: "done".into(),
        depends_on: needs.iter().map(|need| (*need).to_owned()).collect(),
        touches: vec!["src/m0/*.rs".into()],
        result: Some(repository::branch(id, fence)),
        history,
    }
}

fn claimed(task: &str, fence: u64) -> Fact {
    Fact::Claimed { task: task.into(), fence }
}

fn accepted(task: &str, fence: u64) -> [Fact; 2] {
    let branch = repository::branch(task, fence);
    let task = task.to_owned();
    [Fact::Committed { task: task.clone(), fence, branch }, Fact::FinishAccepted { task, fence }]
}

fn received(mail: &str, seq: u64) -> Fact {
    Fact::Received { mail: mail.into(), from: "w00".into(), seq }
}

/// `t1` needs `t0`. Its first attempt, by `w01`, loses its lease; its second one, by `w00`, is done.
fn evidence() -> Evidence {
    let first = vec![event(10, "claimed", 1, "w00"), event(20, "finished", 1, "w00")];
    let second = vec![
        event(30, "claimed", 2, "w01"),
        event(40, "lease_expired", 2, ""),
        event(50, "claimed", 3, "w00"),
        event(60, "finished", 3, "w00"),
    ];
    let (mail, to) = ("m".to_owned(), "w01".to_owned());
    let mut of_first = vec![claimed("t0", 1)];
    of_first.push(Fact::Renewed { task: "t0".into(), fence: 1, at_ms: 15 });
    of_first.extend(accepted("t0", 1));
    of_first.push(claimed("t1", 3));
    of_first.extend(accepted("t1", 3));
    of_first.push(Fact::Sending { mail: mail.clone(), to: to.clone() });
    of_first.push(Fact::Sent { mail, to });
    let refused = Fact::FinishRefused { task: "t1".into(), fence: 2, why: "stale".into() };
    let of_second = vec![claimed("t1", 2), refused, received("m", 1)];
    let branches = [("t0", 1), ("t1", 2), ("t1", 3)];
    Evidence {
        plan: Plan { workers: 2, tasks: 2, ..Plan::default() },
        facts: BTreeMap::from([("w00".to_owned(), of_first), ("w01".to_owned(), of_second)]),
        driver: Vec::new(),
        tasks: vec![task("t0", &[], 1, first), task("t1", &["t0"], 3, second)],
        mails: vec![ExportedMail { id: "m".into(), status: "acknowledged".into() }],
        merged: vec![("t0".into(), 1), ("t1".into(), 3)],
        files: ["t0", "t1"].map(repository::file).to_vec(),
        branches: branches.map(|(task, fence)| repository::branch(task, fence)).to_vec(),
    }
}

fn violations(evidence: &Evidence) -> Vec<String> {
    examine(evidence).map(|findings| findings.violations).unwrap_or_else(|why| vec![why])
}

#[track_caller]
fn assert_found(rows: &[(&str, Spoil)]) {
    assert_eq!(violations(&evidence()), Vec::<String>::new(), "nothing is wrong yet");
    for (words, spoil) in rows {
        let mut evidence = evidence();
        spoil(&mut evidence);
        let found = violations(&evidence);
        assert!(found.iter().any(|violation| violation.contains(words)), "{words}: {found:?}");
    }
}

fn record(evidence: &mut Evidence, worker: &str, fact: Fact) {
    evidence.facts.get_mut(worker).unwrap().push(fact);
}

/// Removes the facts that this is true of.
fn forget(evidence: &mut Evidence, is_it: fn(&Fact) -> bool) {
    evidence.facts.values_mut().for_each(|facts| facts.retain(|fact| !is_it(fact)));
}

#[test]
fn a_history_that_breaks_a_rule_is_found() {
    assert_found(&[
        ("t1 was claimed with fence 2 before t0 was done", |it| it.tasks[1].history[0].at_ms = 15),
        ("before t9 was done", |it| it.tasks[1].depends_on.push("t9".into())),
        ("t1 was claimed with 3 while 2 held it", |it| drop(it.tasks[1].history.remove(1))),
        ("t1 was claimed with 2 after 2", |it| it.tasks[1].history[2].fence = 2),
        ("the history of t1 goes back in time", |it| it.tasks[1].history[3].at_ms = 45),
        ("finished by fence 2, but the last claim is 3", |it| it.tasks[1].history[3].fence = 2),
        ("t0 is done and was finished 2 times", |it| {
            it.tasks[0].history.push(event(25, "finished", 1, "w00"));
        }),
        ("t0 is pending and was finished 1 times", |it| it.tasks[0].status = "pending".into()),
        ("fence 1 was given to t0 and t1", |it| it.tasks[1].history[0].fence = 1),
        ("is older than a lower fence", |it| {
            it.tasks[0].history[0].fence = 9;
            it.tasks[0].history[1].fence = 9;
        }),
        ("the board has 1 tasks", |it| drop(it.tasks.remove(0))),
    ]);
}

#[test]
fn a_report_that_the_board_should_not_have_believed_is_found() {
    assert_found(&[
        ("were both given 1", |it| record(it, "w01", claimed("t0", 1))),
        ("the board has no claim 8 of w01", |it| record(it, "w01", claimed("t1", 8))),
        ("w01 could renew t1 with fence 2, which was not valid", |it| {
            record(it, "w01", Fact::Renewed { task: "t1".into(), fence: 2, at_ms: 45 });
        }),
        ("finished by fence 2, which is not recorded", |it| {
            record(it, "w01", Fact::FinishAccepted { task: "t1".into(), fence: 2 });
        }),
        ("t1 was finished by 2 attempts", |it| {
            record(it, "w01", Fact::FinishAccepted { task: "t1".into(), fence: 2 });
        }),
        ("w00 finished t0 with fence 1 and was refused", |it| {
            let (task, why) = ("t0".to_owned(), String::new());
            record(it, "w00", Fact::FinishRefused { task, fence: 1, why });
        }),
        ("the result of t1 is", |it| it.tasks[1].result = Some(repository::branch("t1", 2))),
        ("the result of t0 is None", |it| it.tasks[0].result = None),
        ("the result of t0 is", |it| forget(it, |fact| matches!(fact, Fact::Committed { .. }))),
    ]);
}

/// Workers of the product name their branch in the text of the result.
#[test]
fn a_result_of_a_real_worker_that_names_the_work_of_another_task_is_found() {
    let mut real = evidence();
    real.plan.real = "ostler".into();
    for (task, id) in real.tasks.iter_mut().zip(["t0", "t1"]) {
        task.result = Some(format!("Done.\n\nBranch: ostler/{id}-1-task\nCommit: abc"));
    }
    assert_eq!(violations(&real), Vec::<String>::new());
    let of_other = real.tasks[1].result.clone();
    real.tasks[0].result = of_other;
    assert_eq!(violations(&real).len(), 1, "{:?}", violations(&real));
}

#[test]
fn tasks_that_overlap_are_found() {
    assert_found(&[("t0 and t1 touch the same file", |it| {
        it.tasks[1].depends_on.clear();
        it.tasks[1].history[0].at_ms = 15;
    })]);
    // Not if they touch different files.
    let mut apart = evidence();
    apart.tasks[1].depends_on.clear();
    apart.tasks[1].history[0].at_ms = 15;
    apart.tasks[1].touches = vec!["src/m1/*.rs".into()];
    assert_eq!(violations(&apart), Vec::<String>::new());
}

#[test]
fn a_target_with_the_wrong_branches_is_found() {
    assert_found(&[
        ("t1 was finished by Some(3), and these attempts are merged: Some([2])", |it| {
            it.merged[1].1 = 2;
        }),
        ("attempts are merged: Some([3, 2])", |it| it.merged.push(("t1".into(), 2))),
        ("attempts are merged: None", |it| drop(it.merged.remove(0))),
        ("the file of t0 is not on the target", |it| it.files[0] = "done/x".into()),
        ("the target has 3 files", |it| it.files.push("done/x".into())),
    ]);
}

#[test]
fn mail_that_is_lost_or_read_twice_is_found() {
    assert_found(&[
        ("mail m to w01 was sent and never read", |it| {
            forget(it, |fact| matches!(fact, Fact::Received { .. }));
        }),
        ("mail m was read 2 times", |it| record(it, "w01", received("m", 2))),
        ("was read by [\"w00\", \"w01\"]", |it| record(it, "w00", received("m", 1))),
        ("mail from w00 to w01 arrived as [2]", |it| {
            forget(it, |fact| matches!(fact, Fact::Received { .. }));
            record(it, "w01", received("m", 2));
        }),
        ("mail m is unread on the board", |it| it.mails[0].status = "unread".into()),
        ("but the board does not know it", |it| it.mails.clear()),
    ]);
}
