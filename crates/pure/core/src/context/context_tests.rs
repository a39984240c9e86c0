//! What applies to every session and every cut.

use super::boundary::Draft;
use super::story::{is_seam, newest};
use super::*;
use crate::ids::{CallId, ModelId};
use crate::message::{Block, Message, ResultPart};
use crate::pairing;
use crate::session::{Entry, SessionRecord};
use crate::test_tools::tools;
use crate::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;

#[derive(Clone, Debug)]
struct Exchange {
    calls: Vec<(u8, usize, bool)>,
    thinking: bool,
    note: bool,
}

#[derive(Clone, Debug)]
struct Told {
    prompt: usize,
    exchanges: Vec<Exchange>,
    answer: bool,
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let call = (0u8..4, prop_oneof![0usize..200, 500usize..5_000], prop::bool::weighted(0.1));
    (prop::collection::vec(call, 1..4), any::<bool>(), prop::bool::weighted(0.2))
        .prop_map(|(calls, thinking, note)| Exchange { calls, thinking, note })
}

fn turns() -> impl Strategy<Value = Vec<Told>> {
    let turn = (1usize..400, prop::collection::vec(exchange(), 0..6), prop::bool::weighted(0.8))
        .prop_map(|(prompt, exchanges, answer)| Told { prompt, exchanges, answer });
    prop::collection::vec(turn, 1..7)
}

fn messages(turns: &[Told]) -> Vec<Message> {
    let model = ModelId::new("m");
    let (mut all, mut n) = (Vec::new(), 0);
    for (at, turn) in turns.iter().enumerate() {
        all.push(Message::user(format!("{at} {}", "ask ".repeat(turn.prompt))));
        for exchange in &turn.exchanges {
            let (mut said, mut results) = (Vec::new(), Vec::new());
            if exchange.thinking {
                said.push(Block::Thinking { text: format!("hm {n}"), signature: Some("s".into()) });
            }
            for (tool, size, is_error) in &exchange.calls {
                n += 1;
                let id = CallId::new(format!("c{n}"));
                // Few tools and inputs, so that the same call is made again.
                let name = ["Read", "Edit", "Bash", "Skill"][usize::from(*tool)];
                let input = json!({ "file_path": format!("f{}", n % 3) });
                said.push(Block::ToolUse { id: id.clone(), name: name.into(), input, via: None });
                let content = vec![ResultPart::text(format!("r{n} {}", "x".repeat(*size)))];
                results.push(Block::ToolResult { id, content, is_error: *is_error });
            }
            all.push(Message::assistant(&model, said));
            all.push(Message::User { content: results });
            if exchange.note {
                all.push(Message::meta("[a note]"));
            }
        }
        if turn.answer {
            all.push(Message::assistant(&model, vec![Block::text("so it is")]));
        }
    }
    all
}

fn pressure(keep: usize, window: u64) -> Pressure {
    Pressure { tokens: window, window, threshold: window, target: window / 2, overhead: 0, keep }
}

fn wrong(view: &View) -> Vec<String> {
    pairing::check(&view.messages().collect::<Vec<_>>())
}

fn thinking(view: &View) -> Vec<&Block> {
    view.messages().flat_map(|message| message.blocks()).filter(|b| b.is_thinking()).collect()
}

/// The last prompt is there, word for word.
fn assert_prompt_stays(before: &View, after: &View) {
    let said = |view: &View| {
        let at = last_prompt(view).expect("a prompt");
        view.items()[at].message().text()
    };
    assert_eq!(said(before), said(after));
}

/// Everything from the newest exchange on is untouched.
fn assert_newest_stays(before: &View, after: &View) {
    let tail: Vec<_> = before.messages().skip(newest(before)).collect();
    let count = after.items().len();
    let kept: Vec<_> = after.messages().skip(count - tail.len()).collect();
    assert_eq!(tail, kept);
}

/// What skills said, by call.
fn skills(view: &View) -> Vec<&Block> {
    let standing = story::standing(view.messages(), &tools());
    let results = view.messages().flat_map(|message| message.blocks());
    let of_skill = |block: &&Block| matches!(block, Block::ToolResult { id, is_error: false, .. } if standing.contains(id));
    results.filter(of_skill).collect()
}

/// How failures begin that are carried on.
fn failures(carry: &CarryOver) -> Vec<&str> {
    carry.failed.iter().map(|line| line.split('x').next().unwrap_or_default()).collect()
}

proptest! {
    #[test]
    fn stages_keep_what_must_be_kept(turns in turns(), keep in 1usize..10) {
        let mut view = View::from_messages(messages(&turns));
        let pressure = pressure(keep, 10_000);
        for stage in stages() {
            let changes = stage.plan(&view, &pressure, &tools());
            let mut after = view.clone();
            apply_all(&mut after, &changes);
            prop_assert_eq!(wrong(&after), Vec::<String>::new());
            prop_assert!(after.weight() <= view.weight(), "{:?} made it heavier", stage.name());
            prop_assert!(changes.is_empty() || after.weight() < view.weight());
            prop_assert_eq!(changes.is_empty(), after == view, "no change, no difference");
            assert_prompt_stays(&view, &after);
            assert_newest_stays(&view, &after);
            prop_assert!(stage.plan(&after, &pressure, &tools()).is_empty(), "{:?} twice", stage.name());
            // Thinking is kept as it is, or goes with the whole exchange of a finished turn.
            let (had, has) = (thinking(&view), thinking(&after));
            if stage.name() == StageName::Collapse {
                let open = last_prompt(&view).unwrap_or(0);
                let of_open: Vec<_> = view.messages().skip(open).flat_map(|m| m.blocks()).collect();
                prop_assert!(of_open.iter().filter(|b| b.is_thinking()).all(|b| has.contains(b)));
                prop_assert!(has.iter().all(|block| had.contains(block)));
            } else {
                prop_assert_eq!(had, has);
            }
            // A skill is in use until it is loaded again.
            if stage.name() != StageName::Snip {
                prop_assert_eq!(skills(&view), skills(&after), "{:?}", stage.name());
            }
            // Up to the first change the very same messages are sent.
            let same = view.items().iter().zip(after.items());
            let shared = same.take_while(|(a, b)| std::sync::Arc::ptr_eq(a, b)).count();
            let equal = view.messages().zip(after.messages()).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(shared, equal, "nothing that did not change is rendered again");
            view = after;
        }
    }

    /// The fold of the recorded changes is what the driver has.
    #[test]
    fn the_log_says_the_same(turns in turns(), keep in 1usize..6) {
        let mut session = SessionRecord::fold_with(tools(), []);
        session.view = View::from_messages(messages(&turns));
        let mut view = session.view.clone();
        let pressure = pressure(keep, 10_000);
        for stage in stages() {
            let changes = stage.plan(&view, &pressure, &tools());
            apply_all(&mut view, &changes);
            let (mut results, mut stories) = (Vec::new(), Vec::new());
            for change in changes {
                match change {
                    ViewChange::Elide(elision) => results.push(elision),
                    ViewChange::Collapse(story) => stories.push(story),
                }
            }
            let saved = Saved::default();
            for entry in [
                Entry::Elided { stage: stage.name(), results, saved },
                Entry::Collapsed { stories, saved },
            ] {
                let line = serde_json::to_string(&entry).expect("a line");
                session.apply(serde_json::from_str(&line).expect("an entry"));
            }
            prop_assert!(session.view == view);
        }
        // Whatever the stages made of them: what was changed and what failed would be carried on.
        let before = CarryOver::of(&messages(&turns), &tools());
        let after = session.carry.clone().and(CarryOver::of(session.view.messages(), &tools()));
        let sorted = |carry: &CarryOver| -> std::collections::BTreeSet<String> {
            carry.files.iter().cloned().collect()
        };
        prop_assert_eq!(sorted(&before), sorted(&after));
        if after.failed.len() < 15 {
            let (was, is) = (failures(&before), failures(&after));
            prop_assert!(was.iter().all(|one| is.contains(one)), "{:?} of {:?}", is, was);
        }
        prop_assert_eq!(before.goal, after.goal);
    }

    #[test]
    fn a_boundary_splits_nothing(turns in turns(), keep in 1usize..10, window in 100u64..20_000) {
        let view = View::from_messages(messages(&turns));
        let Some(cut) = cut::plan(&view, &pressure(keep, window), |bytes| bytes / 4) else {
            return Ok(());
        };
        prop_assert!(cut > 0 && cut <= newest(&view) && is_seam(&view, cut));
        let draft = Draft {
            view: &view,
            cut,
            before: vec!["<instructions>".into()],
            summary: "<summary>".into(),
            after: vec!["<file>".into()],
        };
        let boundary = Boundary {
            head: draft.head(),
            kept: draft.kept_messages(),
            carry: CarryOver::of(draft.dropped(), &tools()),
            receipt: receipt(),
            turns: 1,
            title: String::new(),
            seen: Vec::new(),
            at: Timestamp(0),
            inbox: Vec::new(),
            questions: Vec::new(),
            jobs: Vec::new(),
            control: None,
        };
        let after = boundary.view();
        prop_assert_eq!(wrong(&after), Vec::<String>::new());
        assert_prompt_stays(&view, &after);
        assert_newest_stays(&view, &after);
        let tail: Vec<_> = view.messages().skip(cut).collect();
        let kept: Vec<_> = after.messages().skip(boundary.head.len()).collect();
        prop_assert_eq!(tail, kept, "what is kept is kept word for word");
        prop_assert!(boundary.view_sharing(&view) == after);
        // As the log has it.
        let line = serde_json::to_string(&Entry::Boundary(Box::new(boundary))).expect("a line");
        let mut session = SessionRecord::fold_with(tools(), []);
        session.view = view.clone();
        session.apply(serde_json::from_str(&line).expect("an entry"));
        prop_assert!(session.view == after);
        // A second one finds something to do only if it is smaller for it.
        let goal = session.carry.goal.as_str();
        prop_assert!(goal.starts_with("0 ask"), "{}", goal);
    }

    #[test]
    fn pieces_cover_everything_in_order(turns in turns(), room in 0u64..30_000) {
        let view = View::from_messages(messages(&turns));
        let all = view.items().len();
        let (mut from, mut pieces) = (0, 0);
        while from < all {
            let to = cut::piece(&view, from, all, room);
            prop_assert!(to > from && to <= all && (to == all || is_seam(&view, to)));
            from = to;
            pieces += 1;
        }
        prop_assert!(pieces <= all);
    }
}

fn receipt() -> Receipt {
    Receipt {
        trigger: Trigger::Auto,
        made: Made::Extract { why: "test".into() },
        messages: 0,
        calls: Vec::new(),
        calls_dropped: 0,
        kept: 0,
        before: 0,
        after: 0,
        requests: 0,
        attached: Vec::new(),
    }
}

/// Results that come together and are too much.
#[test]
fn the_largest_results_of_a_message_go_beside() {
    let turn = |sizes: &[usize]| Told {
        prompt: 1,
        exchanges: vec![Exchange {
            calls: sizes.iter().map(|size| (0, *size, false)).collect(),
            thinking: false,
            note: true,
        }],
        answer: false,
    };
    let chosen = |sizes: &[usize], window: u64| {
        let view = View::from_messages(messages(&[turn(sizes)]));
        let plan = budget::plan(&view, &pressure(6, window), 4.0);
        plan.into_iter().map(|(call, _)| call.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&[50_000, 50_000], 1_000_000), [] as [&str; 0]);
    assert_eq!(chosen(&[50_000, 90_000, 80_000], 1_000_000), ["c2"]);
    assert_eq!(chosen(&[90_000, 90_000, 90_000], 1_000_000), ["c1"]);
    // A quarter of a small window.
    assert_eq!(chosen(&[9_000, 30_000, 2_000], 30_000), ["c2"]);
    assert_eq!(chosen(&[7_000, 7_000, 7_000], 10_000), [] as [&str; 0], "not worth a file");
}
