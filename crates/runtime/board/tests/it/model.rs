//! Any sequence of actions has the same outcome on the real board as on the simple one.

use crate::board_cases::task;
use crate::place::{Place, Store, mail, memory, sqlite};
use ostler_board::{Delivery, MailQuery, NewTask, Outcome, Priority, TaskAction, TaskQuery};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Action {
    Add { priority: u8, needs: Vec<u8>, touches: u8 },
    Claim(Option<u8>),
    Renew(u8, u8),
    Finish(u8, u8),
    Fail(u8, u8),
    Retry(u8),
    Cancel(u8),
    Next,
    Pass(u8),
    Send(u8, u8),
    Receive(u8),
    Settle(u8, u8),
}

fn action() -> impl Strategy<Value = Action> {
    let needs = prop::collection::vec(0_u8..8, 0..3);
    prop_oneof![
        4 => (0_u8..3, needs, 0_u8..5)
            .prop_map(|(priority, needs, touches)| Action::Add { priority, needs, touches }),
        6 => prop::option::weighted(0.3, 0_u8..8).prop_map(Action::Claim),
        1 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Renew(id, fence)),
        5 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Finish(id, fence)),
        2 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Fail(id, fence)),
        1 => (0_u8..8).prop_map(Action::Retry),
        1 => (0_u8..8).prop_map(Action::Cancel),
        1 => Just(Action::Next),
        2 => (0_u8..3).prop_map(Action::Pass),
        2 => (0_u8..2, 0_u8..2).prop_map(|(from, to)| Action::Send(from, to)),
        2 => (0_u8..2).prop_map(Action::Receive),
        2 => (0_u8..6, 0_u8..3).prop_map(|(delivery, outcome)| Action::Settle(delivery, outcome)),
    ]
}

/// What a run remembers: to name things that exist, and things that do not.
#[derive(Default)]
struct Run {
    added: u32,
    sent: u32,
    deliveries: Vec<Delivery>,
    /// The last fence of each task.
    fences: Vec<(String, u64)>,
}

const LEASE: Duration = Duration::from_secs(10);

/// Performs it and returns everything that can be seen of it; of a refusal only that it is one.
fn perform(action: &Action, store: &mut dyn Store, place: &Place, run: &mut Run) -> String {
    let id = |n: u8| format!("t{n}");
    // Mostly the fence that is right, now and then another one.
    let fence = |run: &Run, n: u8, choice: u8| {
        let own = run.fences.iter().rev().find(|(task, _)| *task == id(n)).map(|(_, fence)| *fence);
        if choice < 6 { own.unwrap_or(u64::from(choice)) } else { u64::from(choice) }
    };
    let mut act = |n: u8, action: TaskAction| {
        let done = store.act(&id(n), &action).map(|task| (task.status, task.lease_until));
        format!("{:?}", done.map_err(drop))
    };
    match action {
        Action::Add { priority, needs, touches } => {
            let globs = ["src/**", "src/a.rs", "*.md", "docs"];
            let new = NewTask {
                priority: Priority::ALL[usize::from(*priority)],
                depends_on: needs.iter().map(|n| id(*n)).collect(),
                touches: globs
                    .get(usize::from(*touches))
                    .map(ToString::to_string)
                    .into_iter()
                    .collect(),
                ..task(&format!("t{}", run.added))
            };
            let done = store.add(&[new]);
            run.added += u32::from(done.is_ok());
            format!("{:?}", done.map_err(drop))
        }
        Action::Claim(n) => {
            let name = n.map(id);
            let done = store.claim(name.as_deref(), "w", LEASE);
            if let Ok(Some(claimed)) = &done {
                run.fences.push((claimed.id.0.clone(), claimed.fence));
            }
            format!("{:?}", done.map_err(drop))
        }
        Action::Renew(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(*n, TaskAction::Renew { fence, lease: LEASE })
        }
        Action::Finish(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(*n, TaskAction::Finish { fence, result: Some("r".into()) })
        }
        Action::Fail(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(*n, TaskAction::Fail { fence, error: "e".into() })
        }
        Action::Retry(n) => act(*n, TaskAction::Retry),
        Action::Cancel(n) => act(*n, TaskAction::Cancel { reason: None }),
        Action::Next => {
            format!("{:?}", store.next().map(|task| task.map(|task| task.id)).map_err(drop))
        }
        Action::Pass(n) => {
            place.pass(Duration::from_secs(u64::from(*n) * 5));
            String::new()
        }
        Action::Send(from, to) => {
            let names = ["ann", "eve"];
            let (from, to) = (names[usize::from(*from)], names[usize::from(*to)]);
            let mut mail = mail(from, to, "x");
            mail.id.0 = format!("m{}", run.sent);
            run.sent += 1;
            format!("{:?}", store.send(&mail).map_err(drop))
        }
        Action::Receive(who) => {
            let done = store.receive(["ann", "eve"][usize::from(*who)], LEASE).map_err(drop);
            run.deliveries.extend(done.clone().ok().flatten());
            format!("{done:?}")
        }
        Action::Settle(n, outcome) => {
            let Some(delivery) = run.deliveries.iter().rev().nth(usize::from(*n)) else {
                return String::new();
            };
            let outcomes = [
                Outcome::Handled,
                Outcome::Replied { text: "re".into() },
                Outcome::Failed { why: "no".into() },
            ];
            format!("{:?}", store.settle(delivery, &outcomes[usize::from(*outcome)]).map_err(drop))
        }
    }
}

fn everything(store: &mut dyn Store) -> String {
    let tasks = store.list(&TaskQuery::default()).unwrap().tasks;
    let whole: Vec<_> = tasks.iter().map(|task| store.show(task.id.as_str()).unwrap()).collect();
    let mail = store.peek(&MailQuery { with_archive: true, ..MailQuery::default() }).unwrap();
    format!("{tasks:#?}\n{whole:#?}\n{mail:#?}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_file_does_what_the_simple_board_does(actions in prop::collection::vec(action(), 1..60)) {
        let (real, simple) = (sqlite(), memory(None));
        // Two handles, taken in turn.
        let mut handles = [real.open(), real.open()];
        let mut model = simple.open();
        let (mut runs, mut done) = ((Run::default(), Run::default()), Vec::new());
        for (n, action) in actions.iter().enumerate() {
            let found = perform(action, &mut *handles[n % 2], &real, &mut runs.0);
            let expected = perform(action, &mut *model, &simple, &mut runs.1);
            done.push(format!("{action:?}: {expected}"));
            prop_assert_eq!(found, expected, "after {:#?}", done);
        }
        prop_assert_eq!(everything(&mut *handles[0]), everything(&mut *model), "after {:#?}", done);
    }
}
