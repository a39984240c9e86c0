//! Sequences of actions, and everything that can be seen of them.

use crate::board_cases::task;
use crate::place::{Place, Store, mail};
use ostler_board::{
    AgentChange, BoardError, Delivery, MailQuery, NewTask, Outcome, Priority, TaskAction, TaskQuery,
};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Debug)]
pub enum Action {
    Add {
        priority: u8,
        needs: Vec<u8>,
        touches: u8,
    },
    Claim(Option<u8>),
    Renew(u8, u8),
    Finish(u8, u8),
    Fail(u8, u8),
    Return(u8, u8),
    Retry(u8),
    Cancel(u8),
    Next,
    Pass(u8),
    Send(u8, u8),
    Receive(u8),
    Settle(u8, u8),
    /// An agent finishes, or starts with the other one as its lead.
    Agent(u8, bool),
}

pub fn action() -> impl Strategy<Value = Action> {
    let needs = prop::collection::vec(0_u8..8, 0..3);
    prop_oneof![
        4 => (0_u8..3, needs, 0_u8..5)
            .prop_map(|(priority, needs, touches)| Action::Add { priority, needs, touches }),
        6 => prop::option::weighted(0.3, 0_u8..8).prop_map(Action::Claim),
        1 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Renew(id, fence)),
        5 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Finish(id, fence)),
        2 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Fail(id, fence)),
        1 => (0_u8..8, 0_u8..9).prop_map(|(id, fence)| Action::Return(id, fence)),
        1 => (0_u8..8).prop_map(Action::Retry),
        1 => (0_u8..8).prop_map(Action::Cancel),
        1 => Just(Action::Next),
        2 => (0_u8..3).prop_map(Action::Pass),
        2 => (0_u8..2, 0_u8..2).prop_map(|(from, to)| Action::Send(from, to)),
        2 => (0_u8..2).prop_map(Action::Receive),
        2 => (0_u8..6, 0_u8..3).prop_map(|(delivery, outcome)| Action::Settle(delivery, outcome)),
        1 => (0_u8..2, prop::bool::weighted(0.3)).prop_map(|(who, ends)| Action::Agent(who, ends)),
    ]
}

/// What a run remembers: to name things that exist, and things that do not.
#[derive(Default)]
pub struct Run {
    added: u32,
    sent: u32,
    deliveries: Vec<Delivery>,
    /// The last fence of each task.
    fences: Vec<(String, u64)>,
    /// Why the last action was refused.
    pub refusal: String,
}

impl Run {
    fn seen<T: std::fmt::Debug>(&mut self, done: Result<T, BoardError>) -> String {
        self.refusal = done.as_ref().map_or_else(ToString::to_string, |_| String::new());
        format!("{:?}", done.map_err(drop))
    }
}

const LEASE: Duration = Duration::from_secs(10);

/// Performs it and returns everything that can be seen of it; of a refusal only that it is one. The run knows why.
pub fn perform(action: &Action, store: &mut dyn Store, place: &Place, run: &mut Run) -> String {
    let id = |n: u8| format!("t{n}");
    // Mostly the fence that is right, now and then another one.
    let fence = |run: &Run, n: u8, choice: u8| {
        let own = run.fences.iter().rev().find(|(task, _)| *task == id(n)).map(|(_, fence)| *fence);
        if choice < 6 { own.unwrap_or(u64::from(choice)) } else { u64::from(choice) }
    };
    let mut act = |run: &mut Run, n: u8, action: TaskAction| {
        let done = store.act(&id(n), &action).map(|task| (task.status, task.lease_until));
        run.seen(done)
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
            run.seen(done)
        }
        Action::Claim(n) => {
            let name = n.map(id);
            let done = store.claim(name.as_deref(), "w", LEASE);
            if let Ok(Some(claimed)) = &done {
                run.fences.push((claimed.id.0.clone(), claimed.fence));
            }
            run.seen(done)
        }
        Action::Renew(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(run, *n, TaskAction::Renew { fence, lease: LEASE })
        }
        Action::Finish(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(run, *n, TaskAction::Finish { fence, result: Some("r".into()) })
        }
        Action::Fail(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(run, *n, TaskAction::Fail { fence, error: "e".into() })
        }
        Action::Return(n, choice) => {
            let fence = fence(run, *n, *choice);
            act(run, *n, TaskAction::Return { fence, reason: "b".into() })
        }
        Action::Retry(n) => act(run, *n, TaskAction::Retry),
        Action::Cancel(n) => act(run, *n, TaskAction::Cancel { reason: None }),
        Action::Next => {
            let next = store.next().map(|task| task.map(|task| task.id));
            run.seen(next)
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
            run.seen(store.send(&mail))
        }
        Action::Receive(who) => {
            let done = store.receive(["ann", "eve"][usize::from(*who)], LEASE);
            run.deliveries.extend(done.clone().ok().flatten());
            run.seen(done)
        }
        Action::Agent(who, ends) => {
            let names = ["ann", "eve"];
            let lead = Some(names[1 - usize::from(*who)].to_owned());
            let change = if *ends { AgentChange::Finished } else { AgentChange::Started { lead } };
            run.seen(store.set_agent(names[usize::from(*who)], &change))
        }
        Action::Settle(n, outcome) => {
            let Some(delivery) = run.deliveries.iter().rev().nth(usize::from(*n)).cloned() else {
                return String::new();
            };
            let outcomes = [
                Outcome::Handled,
                Outcome::Replied { text: "re".into() },
                Outcome::Failed { why: "no".into() },
            ];
            run.seen(store.settle(&delivery, &outcomes[usize::from(*outcome)]))
        }
    }
}

pub fn everything(store: &mut dyn Store) -> String {
    let tasks = store.list(&TaskQuery::default()).unwrap().tasks;
    let whole: Vec<_> = tasks.iter().map(|task| store.show(task.id.as_str()).unwrap()).collect();
    let mail = store.peek(&MailQuery { with_archive: true, ..MailQuery::default() }).unwrap();
    format!("{tasks:#?}\n{whole:#?}\n{mail:#?}")
}
