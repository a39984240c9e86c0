//! A log folds to what the live turn saw, wherever the process died.

use super::*;
use crate::ids::ModelId;
use crate::message::{Image, ResultPart};
use crate::model::ModelErrorKind;
use crate::pairing;
use crate::session::Verdict;
use crate::time::Timestamp;
use crate::turn::*;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

#[path = "inbox_tests.rs"]
mod inbox;
#[path = "live_tests.rs"]
mod live;
#[path = "rewind_tests.rs"]
mod rewind;
#[path = "summed_up_tests.rs"]
mod summed_up;
use inbox::arrival;
use live::Live;

const AT: Timestamp = Timestamp(0);

fn prompt(text: &str) -> Entry {
    Entry::prompt(Message::user(text), AT)
}
fn answer(content: Vec<Block>) -> Entry {
    Entry::Answer { message: Message::assistant(&ModelId::new("m"), content), stop: None }
}
fn call(id: &str) -> Block {
    Block::ToolUse { id: id.into(), name: "t".into(), input: json!({}), via: None }
}
fn calls(ids: &[&str]) -> Entry {
    answer(ids.iter().map(|id| call(id)).collect())
}
fn started(id: &str) -> Entry {
    Entry::CallStarted { id: id.into() }
}
fn result(id: &str, said: &str) -> Block {
    Block::ToolResult { id: id.into(), content: vec![ResultPart::text(said)], is_error: false }
}
fn finished(id: &str) -> Entry {
    Entry::CallFinished { result: result(id, "ok"), seen: vec![] }
}
fn note(content: Vec<Block>) -> Entry {
    Entry::note(Message::User { content })
}
fn went(why: Continue) -> Entry {
    Entry::Went { why }
}
fn rewound(turn: u32) -> Entry {
    Entry::Rewound { turn, at: AT }
}
fn end() -> Entry {
    Entry::End { terminal: Terminal::Completed, at: AT }
}
fn checkpoint(call: &str, after: Option<u64>) -> Entry {
    let (cost, only) = Default::default();
    Entry::Checkpoint { call: call.into(), before: 1, after, cost, only }
}
fn image() -> Block {
    Block::Image(Image { media: "image/png".into(), data: "AA==".into(), blob: None })
}
fn thinking() -> Block {
    Block::Thinking { text: "hm".into(), signature: None }
}

/// The model named one file, and a person had another one written.
#[test]
fn what_is_carried_on_goes_by_the_changed_input() {
    let write = |path: &str| json!({ "file_path": path, "content": "" });
    let entries = [
        prompt("go"),
        answer(vec![Block::ToolUse {
            id: "w".into(),
            name: "Write".into(),
            input: write("/a"),
            via: None,
        }]),
        Entry::Decided {
            call: "w".into(),
            verdict: Verdict::Allow,
            why: "yes".into(),
            input: Some(write("/b")),
            question: None,
        },
        started("w"),
        finished("w"),
        went(Continue::NextTurn),
    ];
    let session = SessionRecord::fold_with(crate::test_tools::tools(), entries);
    let carried = session.carry.and_of(session.view.messages(), &crate::test_tools::tools());
    assert_eq!(carried.files, ["/b"]);
}

fn show(view: &View) -> String {
    let message = |message: &Message| {
        let role = if message.is_assistant() { "answer" } else { "user" };
        let blocks: Vec<String> = message.blocks().iter().map(show_block).collect();
        format!("{role} {}", blocks.join(" "))
    };
    view.messages().map(message).collect::<Vec<_>>().join(" | ")
}

fn show_block(block: &Block) -> String {
    let words = |text: &str| match text {
        prompt_texts::LOST_EFFECT => "LOST_EFFECT".to_owned(),
        prompt_texts::LOST_HARMLESS => "LOST_HARMLESS".to_owned(),
        prompt_texts::NO_RESULT => "NO_RESULT".to_owned(),
        prompt_texts::TURN_ENDED => "TURN_ENDED".to_owned(),
        prompt_texts::IMAGE_GONE => "GONE".to_owned(),
        other => other.to_owned(),
    };
    match block {
        Block::Text { text, .. } => words(text),
        Block::ToolUse { id, .. } => format!("{id}?"),
        Block::ToolResult { id, content, .. } => match content.first() {
            Some(ResultPart::Text { text }) => format!("{id}={}", words(text)),
            _ => format!("{id}=img"),
        },
        Block::Image(_) => "img".into(),
        Block::Thinking { .. } | Block::Redacted { .. } | Block::Provider(_) => "~".into(),
    }
}

/// What the model would see if the log ended here and the session were opened again.
fn reopened(entries: Vec<Entry>) -> String {
    show(&SessionRecord::fold(entries).close().view)
}

#[test]
fn results_come_in_the_order_of_the_calls() {
    let mut entries = vec![prompt("go"), calls(&["a", "b", "c"])];
    entries.extend(["c", "a", "b"].map(finished));
    entries.extend([went(Continue::NextTurn), answer(vec![Block::text("done")]), end()]);
    let session = SessionRecord::fold(entries);
    assert_eq!(
        show(&session.view),
        "user go | answer a? b? c? | user a=ok b=ok c=ok | answer done"
    );
}

#[test]
fn a_dead_process_leaves_the_truth() {
    let open = || vec![prompt("go"), calls(&["a", "b", "c"])];
    let table = [
        (vec![], "a=LOST_HARMLESS b=LOST_HARMLESS c=LOST_HARMLESS"),
        (vec![started("b")], "a=LOST_HARMLESS b=LOST_EFFECT c=LOST_HARMLESS"),
        (vec![started("b"), finished("b")], "a=LOST_HARMLESS b=ok c=LOST_HARMLESS"),
        (vec![finished("c"), started("a")], "a=LOST_EFFECT b=LOST_HARMLESS c=ok"),
        (vec![finished("c"), finished("b"), finished("a")], "a=ok b=ok c=ok"),
        (vec![finished("z"), started("z")], "a=LOST_HARMLESS b=LOST_HARMLESS c=LOST_HARMLESS"),
    ];
    for (entries, results) in table {
        let log = [open(), entries].concat();
        assert_eq!(reopened(log.clone()), format!("user go | answer a? b? c? | user {results}"));
        let next = [log, vec![prompt("on")]].concat();
        assert_eq!(reopened(next), format!("user go | answer a? b? c? | user {results} | user on"));
    }
}

#[test]
fn what_started_in_one_iteration_says_nothing_about_the_next() {
    let log = vec![
        prompt("go"),
        calls(&["a"]),
        started("a"),
        finished("a"),
        went(Continue::NextTurn),
        calls(&["b"]),
    ];
    assert_eq!(reopened(log), "user go | answer a? | user a=ok | answer b? | user b=LOST_HARMLESS");
}

#[test]
fn an_open_turn_shows_only_what_is_certain() {
    let session = SessionRecord::fold([prompt("go"), calls(&["a", "b"]), finished("b")]);
    assert_eq!(show(&session.view), "user go | answer a? b?");
}

#[test]
fn a_note_follows_the_results_of_its_iteration() {
    let hook = || note(vec![Block::text("hook")]);
    let log =
        vec![prompt("go"), calls(&["a"]), finished("a"), hook(), hook(), went(Continue::NextTurn)];
    assert_eq!(reopened(log), "user go | answer a? | user a=ok | user hook | user hook");
}

#[test]
fn a_note_may_close_the_calls_itself() {
    let closes = || {
        let results = ["a", "b"].map(|id| Block::error_result(id.into(), prompt_texts::TURN_ENDED));
        note(results.into())
    };
    let open = || vec![prompt("go"), calls(&["a", "b"])];
    let closed = "user go | answer a? b? | user a=TURN_ENDED b=TURN_ENDED";
    assert_eq!(reopened([open(), vec![closes(), end()]].concat()), closed);
    // What was recorded is the better truth.
    let recorded = [open(), vec![started("a"), finished("b"), closes(), end()]].concat();
    assert_eq!(reopened(recorded), "user go | answer a? b? | user a=LOST_EFFECT b=ok");
}

#[test]
fn a_note_that_brings_no_results_hides_nothing() {
    let log = vec![prompt("go"), calls(&["a", "b"]), started("a"), note(vec![Block::text("hook")])];
    assert_eq!(
        reopened(log),
        "user go | answer a? b? | user a=LOST_EFFECT b=LOST_HARMLESS | user hook"
    );
}

#[test]
fn what_was_left_out_stays_out() {
    let asked = || Entry::prompt(Message::User { content: vec![Block::text("go"), image()] }, AT);
    let thought = || answer(vec![thinking(), Block::text("so")]);
    let table = [
        (vec![went(Continue::ImageDropRetry)], "user go GONE | answer ~ so"),
        (vec![went(Continue::ThinkingDropRetry)], "user go img | answer so"),
        (vec![went(Continue::ModelFallback)], "user go img | answer ~ so"),
        (
            vec![went(Continue::ImageDropRetry), thought()],
            "user go GONE | answer ~ so | answer ~ so",
        ),
    ];
    for (entries, expected) in table {
        assert_eq!(reopened([vec![asked(), thought()], entries].concat()), expected);
    }
}

#[test]
fn the_rest_of_the_log_is_kept_in_order() {
    let seen = |path: &str| Seen { path: path.into(), hash: Some("h".into()), part: None };
    let spent = Entry::Spent {
        model: "m".into(),
        usage: Usage::default(),
        cost: Some(0.5),
        charge: None,
        front: None,
    };
    let opened = Entry::Opened {
        format: 1,
        session: "s".into(),
        workspace: "/ws".into(),
        at: AT,
        forked_from: None,
        started_by: None,
    };
    let snapshot = Entry::Snapshot {
        call: "a".into(),
        path: "/ws/f".into(),
        before: None,
        mode: None,
        after: Some("h".into()),
    };
    let finished = |id, paths: &[&str]| Entry::CallFinished {
        result: result(id, "ok"),
        seen: paths.iter().map(|p| seen(p)).collect(),
    };
    let decided = Entry::decided("a".into(), Verdict::Allow, "yes".into());
    let mut log = vec![opened, prompt("first"), spent, calls(&["a", "b"]), decided, snapshot];
    log.extend([
        finished("b", &["/ws/2"]),
        finished("a", &["/ws/1"]),
        went(Continue::NextTurn),
        end(),
    ]);
    let mut session = SessionRecord::fold(log);
    assert_eq!(session.id, Some("s".into()));
    assert_eq!((session.title.as_str(), session.turns), ("first", 1));
    assert_eq!(session.ended, Some(Terminal::Completed));
    assert_eq!(session.seen, [seen("/ws/2"), seen("/ws/1")]);
    assert_eq!(session.snapshots.len(), 1);
    session.apply(prompt("second"));
    assert_eq!((session.title.as_str(), session.turns, session.ended), ("first", 2, None));
}

#[test]
fn checkpoints_are_remembered_once_and_change_no_history() {
    let log = vec![prompt("go"), calls(&["a", "b"]), checkpoint("a", None), started("a")];
    let more = vec![checkpoint("a", Some(2)), finished("a"), checkpoint("b", None)];
    let session = SessionRecord::fold([log.clone(), more].concat());
    let ended: Vec<_> = session.checkpoints.iter().map(|c| (c.call.as_str(), c.after)).collect();
    assert_eq!(ended, [("a", Some(2)), ("b", None)]);
    assert_eq!(show(&session.view), "user go | answer a? b?");
}

fn is_paired(view: &View) -> Vec<String> {
    pairing::check(&view.messages().collect::<Vec<_>>())
}

fn leaves_something_out(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Went { why: Continue::ImageDropRetry | Continue::ThinkingDropRetry }
            | Entry::Rewound { .. }
            | Entry::RewindUndone { .. }
    )
}

/// Any entry at all: logs that no turn has written, as after damage.
fn any_entry() -> impl Strategy<Value = Entry> {
    let id = || prop_oneof![Just("a"), Just("b"), Just("c")];
    let ids =
        prop_oneof![Just(vec!["a"]), Just(vec!["a", "b"]), Just(vec!["c", "a"]), Just(vec![])];
    let why = prop_oneof![
        Just(Continue::NextTurn),
        Just(Continue::ImageDropRetry),
        Just(Continue::ThinkingDropRetry)
    ];
    prop_oneof![
        Just(prompt("go")),
        Just(Entry::prompt(Message::User { content: vec![image()] }, AT)),
        ids.prop_map(|ids| calls(&ids)),
        Just(answer(vec![thinking(), Block::text("so")])),
        Just(note(vec![Block::text("hook")])),
        id().prop_map(|id| note(vec![result(id, "noted")])),
        why.prop_map(went),
        id().prop_map(started),
        id().prop_map(finished),
        Just(end()),
        (0..4u32).prop_map(rewound),
        Just(Entry::RewindUndone { at: AT }),
        Just(checkpoint("a", None)),
    ]
}

/// What is drawn must be worth drawing, or the properties below hold for nothing.
#[test]
fn drawn_turns_go_every_way() {
    let mut seen = BTreeSet::new();
    let mut state = 1u32;
    for _ in 0..600 {
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let live = Live::play((0..100).map(|_| byte()).collect());
        for entry in &live.entries {
            match entry {
                Entry::Went { why } => seen.insert(why.name()),
                Entry::End { terminal, .. } => seen.insert(terminal.name()),
                Entry::Note { message, .. } => {
                    seen.insert(if closes(message) { "closing note" } else { "note" })
                }
                _ => false,
            };
        }
        if live.kills > 0 {
            seen.insert("killed");
        }
    }
    let ways_round = 14;
    // Store failures are not drawn: there the log is what cannot be relied on. Nor are two limits of preparing.
    let ways_out = 16 - 3;
    assert_eq!(seen.len(), ways_round + ways_out + 3, "{seen:?}");
}

fn closes(message: &Message) -> bool {
    message.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }))
}

proptest! {
    /// The equivalence that resuming rests on, through several turns, kills included.
    #[test]
    fn the_log_folds_to_what_the_live_turn_saw(bytes in vec(any::<u8>(), 1..150)) {
        let live = Live::play(bytes);
        prop_assert_eq!(live.disagreement, None);
        let session = SessionRecord::fold(live.entries).close();
        prop_assert_eq!(show(&session.view), show(&live.view));
        prop_assert_eq!(session.view, live.view);
    }

    #[test]
    fn wherever_a_log_ends_the_session_can_go_on(bytes in vec(any::<u8>(), 1..150)) {
        let entries = Live::play(bytes).entries;
        for end in 0..=entries.len() {
            let view = SessionRecord::fold(entries[..end].to_vec()).close().view;
            prop_assert_eq!(is_paired(&view), Vec::<String>::new(), "{} after {} entries", show(&view), end);
        }
    }

    #[test]
    fn any_log_folds_to_a_valid_history(entries in vec(any_entry(), 0..20)) {
        let session = SessionRecord::fold(entries).close();
        prop_assert_eq!(is_paired(&session.view), Vec::<String>::new(), "{}", show(&session.view));
        let again = session.clone().close();
        prop_assert_eq!(session.view, again.view);
    }

    /// Whatever came in between: going back to a turn is as if it had not happened.
    #[test]
    fn rewinding_forgets_exactly_what_came_after(bytes in vec(any::<u8>(), 1..150)) {
        let entries = Live::play(bytes).entries;
        let mut turn = 0;
        for (at, entry) in entries.iter().enumerate() {
            if !matches!(entry, Entry::Prompt { .. }) {
                continue;
            }
            turn += 1;
            let before = SessionRecord::fold(entries[..at].to_vec()).close();
            let after = SessionRecord::fold([entries.clone(), vec![rewound(turn)]].concat()).close();
            prop_assert_eq!(after.turns, before.turns);
            prop_assert_eq!(&after.seen, &before.seen);
            // Images and thinking that were left out later stay out.
            let shape = |session: &SessionRecord| session.view.messages().count();
            prop_assert_eq!(shape(&after), shape(&before));
            prop_assert_eq!(is_paired(&after.view), Vec::<String>::new());
        }
    }

    /// The prefix that was sent stays, byte for byte and rendering included.
    #[test]
    fn appending_never_changes_what_was_there(entries in vec(any_entry(), 0..20)) {
        let mut session = SessionRecord::default();
        for entry in entries {
            let before = session.view.items().to_vec();
            let rewrites = leaves_something_out(&entry);
            session.apply(entry);
            let kept = before.iter().zip(session.view.items()).all(|(had, has)| Arc::ptr_eq(had, has));
            prop_assert!(rewrites || (kept && before.len() <= session.view.items().len()));
        }
    }

    #[test]
    fn entries_survive_their_line(bytes in vec(any::<u8>(), 1..60)) {
        for entry in Live::play(bytes).entries {
            let line = serde_json::to_string(&entry).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), entry);
        }
    }
}

#[test]
fn the_last_plan_counts_wherever_the_process_died() {
    use crate::todo::{NewTask, Plan};
    let new = |subject: &str| NewTask { subject: subject.into(), ..NewTask::default() };
    let (one, _) = Plan::default().with(new("a")).unwrap();
    let (two, _) = one.with(new("b")).unwrap();
    let planned = |plan: &Plan| Entry::Planned { plan: plan.clone() };
    let entries = [
        prompt("go"),
        calls(&["c1", "c2"]),
        planned(&one),
        finished("c1"),
        planned(&two),
        finished("c2"),
        end(),
    ];
    for (kept, expected) in [(2, 0), (3, 1), (4, 1), (5, 2), (7, 2)] {
        let session = SessionRecord::fold(entries[..kept].to_vec()).close();
        assert_eq!(session.plan.tasks.len(), expected, "{kept}");
    }
}
