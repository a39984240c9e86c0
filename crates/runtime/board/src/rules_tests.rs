//! Walks every state that small boards can get into.

use super::*;
use std::collections::{BTreeMap, HashSet};

const LEASE: u64 = 2;
const MOST_FENCE: u64 = 3;
const MOST_TIME: u64 = 4;
const MOST_LOSSES: u32 = 2;

/// A board as the rules see it: what the tasks are does not change, only their states do.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Small {
    states: Vec<TaskState>,
    fence: u64,
    now: u64,
}

struct Shape {
    touches: Vec<Touches>,
    needs: Vec<Vec<usize>>,
    priorities: Vec<Priority>,
}

#[derive(Clone, Debug)]
enum Action {
    ClaimNext,
    Tick,
    On(usize, Change),
}

/// Two that touch the same file, and an urgent one that waits for the first.
fn shape() -> Shape {
    let glob = |glob: &str| Touches::parse(&[glob]).unwrap();
    Shape {
        touches: vec![glob("src/*"), glob("src/a.rs"), Touches::default()],
        needs: vec![vec![], vec![], vec![0]],
        priorities: vec![Priority::Medium, Priority::Medium, Priority::High],
    }
}

fn actions(board: &Small) -> Vec<Action> {
    let mut all = vec![Action::ClaimNext, Action::Tick];
    for task in 0..board.states.len() {
        let on = |change| Action::On(task, change);
        all.extend([Change::Retry, Change::Cancel { reason: Some("no".into()) }].map(on));
        all.push(on(Change::Expire { most_losses: MOST_LOSSES }));
        for fence in 0..=board.fence {
            let until = board.now + LEASE;
            all.push(on(Change::Renew { fence, until }));
            all.push(on(Change::Finish { fence, result: None }));
            all.push(on(Change::Fail { fence, error: "bad".into() }));
            all.push(on(Change::Return { fence, reason: "stopped".into() }));
        }
    }
    all
}

fn choose(board: &Small, shape: &Shape) -> Option<usize> {
    let is = |at: usize, status| board.states[at].status == status;
    let mut candidates: Vec<Candidate<usize>> = (0..board.states.len())
        .filter(|at| is(*at, Status::Pending))
        .map(|at| Candidate {
            key: at,
            priority: shape.priorities[at],
            order: at as u64,
            is_unblocked: shape.needs[at].iter().all(|need| is(*need, Status::Done)),
            touches: shape.touches[at].clone(),
        })
        .collect();
    candidates.sort_by_key(rank);
    let held: Vec<Touches> = (0..board.states.len())
        .filter(|at| is(*at, Status::InProgress))
        .map(|at| shape.touches[at].clone())
        .collect();
    first_claimable(candidates, &held)
}

/// The board after an action, or why not.
fn after(board: &Small, shape: &Shape, action: &Action) -> Result<Small, Option<Objection>> {
    let mut to = board.clone();
    let (task, change) = match action {
        Action::Tick if board.now < MOST_TIME => {
            to.now += 1;
            return Ok(to);
        }
        Action::ClaimNext if board.fence < MOST_FENCE => {
            let task = choose(board, shape).ok_or(None)?;
            to.fence += 1;
            let (fence, until) = (to.fence, board.now + LEASE);
            (task, Change::Claim { worker: "w".into(), fence, until })
        }
        Action::On(task, change) => (*task, change.clone()),
        _ => return Err(None),
    };
    match step(&board.states[task], &change, board.now).map_err(Some)? {
        Step::Recorded => {}
        Step::To(state, event) => {
            assert_eq!(event.is_none(), matches!(change, Change::Renew { .. }), "{change:?}");
            to.states[task] = state;
        }
    }
    Ok(to)
}

fn check(board: &Small, shape: &Shape) {
    let states = &board.states;
    for (at, state) in states.iter().enumerate() {
        let has_started = matches!(state.status, Status::InProgress | Status::Done);
        let needs = &shape.needs[at];
        assert!(!has_started || needs.iter().all(|need| states[*need].status == Status::Done));
        assert_eq!(state.lease_until > 0, state.status == Status::InProgress);
        assert!(state.fence <= board.fence && u64::from(state.attempt) <= board.fence);
        assert_eq!(state.fence == 0, state.attempt == 0);
        let is_lost = state.losses >= MOST_LOSSES;
        assert!(is_lost || state.status != Status::Parked, "{state:?}");
        assert!(!is_lost || !matches!(state.status, Status::Pending | Status::InProgress));
        for other in 0..at {
            let both = [at, other].iter().all(|at| states[*at].status == Status::InProgress);
            assert!(!both || !shape.touches[at].overlap(&shape.touches[other]));
            assert!(state.fence == 0 || state.fence != states[other].fence, "a fence is used once");
        }
    }
}

fn check_step(from: &Small, action: &Action, to: &Result<Small, Option<Objection>>) {
    let Action::On(task, change) = action else { return };
    let (state, now) = (&from.states[*task], from.now);
    let is_held = state.status == Status::InProgress && state.lease_until > now;
    let end = match change {
        Change::Renew { fence, .. } => Some((*fence, Status::InProgress)),
        Change::Finish { fence, .. } => Some((*fence, Status::Done)),
        Change::Fail { fence, .. } => Some((*fence, Status::Failed)),
        _ => None,
    };
    if let Some((fence, end)) = end {
        let is_holder = is_held && fence == state.fence && fence > 0;
        let is_repeated = !matches!(change, Change::Renew { .. })
            && fence == state.fence
            && fence > 0
            && state.status == end;
        assert_eq!(to.is_ok(), is_holder || is_repeated, "{state:?} {change:?} at {now}");
        if let Ok(to) = to {
            assert_eq!(to.states[*task].status, end);
            assert!(!is_repeated || to == from, "a repeated report changes nothing");
        }
    }
    let is_over = state.status == Status::InProgress && !is_held;
    assert!(!matches!(change, Change::Expire { .. }) || to.is_ok() == is_over);
    if state.status == Status::Done {
        assert!(to.as_ref().map_or(true, |to| to.states[*task] == *state), "done is done");
    }
}

#[test]
fn every_state_of_a_small_board_is_in_order() {
    let shape = shape();
    let first = Small { states: vec![TaskState::new(); 3], fence: 0, now: 0 };
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    while let Some(board) = open.pop() {
        check(&board, &shape);
        let is_free = board.states.iter().all(|state| state.status != Status::InProgress);
        let is_claimable = |at: usize| {
            let needs = &shape.needs[at];
            board.states[at].status == Status::Pending
                && needs.iter().all(|need| board.states[*need].status == Status::Done)
        };
        if is_free {
            let expected = [2, 0, 1].into_iter().find(|at| is_claimable(*at));
            assert_eq!(choose(&board, &shape), expected, "urgent first, then the oldest");
        }
        for action in actions(&board) {
            let to = after(&board, &shape, &action);
            check_step(&board, &action, &to);
            match to {
                Ok(to) => {
                    if seen.insert(to.clone()) {
                        open.push(to);
                    }
                }
                Err(why) => *ends.entry(format!("{why:?}")).or_default() += 1,
            }
        }
    }
    let found: HashSet<Status> =
        seen.iter().flat_map(|board| board.states.iter().map(|state| state.status)).collect();
    assert_eq!(found.len(), Status::ALL.len(), "every status was reached");
    assert!(seen.len() > 5_000, "only {} states", seen.len());
    for why in ["Some(Stale)", "Some(LeaseOver)", "Some(Status(Done))", "Some(Status(Cancelled))"] {
        assert!(ends.contains_key(why), "{why} is missing: {ends:?}");
    }
}

#[test]
fn every_small_graph_with_a_circle_is_found_and_no_other() {
    let ids = ["a", "b", "c", "d"];
    for bits in 0_u32..1 << 16 {
        let needs = |from: usize, to: usize| bits >> (from * 4 + to) & 1 == 1;
        let graph: Vec<(&str, Vec<&str>)> = (0..4)
            .map(|from| {
                (ids[from], (0..4).filter(|to| needs(from, *to)).map(|to| ids[to]).collect())
            })
            .collect();
        // Another way: take away what needs nothing, until nothing changes.
        let mut left: Vec<usize> = (0..4).collect();
        while let Some(at) = left.iter().position(|from| !left.iter().any(|to| needs(*from, *to))) {
            left.remove(at);
        }
        let found = cycle(&graph);
        assert_eq!(found.is_some(), !left.is_empty(), "{graph:?}");
        if let Some(path) = found {
            assert_eq!(path.first(), path.last());
            let at = |id: &str| ids.iter().position(|other| *other == id).unwrap();
            assert!(path.windows(2).all(|pair| needs(at(pair[0]), at(pair[1]))), "{path:?}");
        }
    }
    let long: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    let mut chain: Vec<(&str, Vec<&str>)> =
        long.windows(2).map(|pair| (pair[0].as_str(), vec![pair[1].as_str()])).collect();
    assert_eq!(cycle(&chain), None);
    chain.push((long[9_999].as_str(), vec!["0"]));
    assert_eq!(cycle(&chain).unwrap().len(), 10_001);
    assert_eq!(cycle(&[("a", vec!["somewhere else"])]), None);
}
