//! Whatever is pushed, a `View` is a history that a provider accepts, and what was valid stays as it was.

use super::*;
use crate::ids::ModelId;
use crate::prompt_texts::TURN_ENDED;
use crate::rendering::RenderKey;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::cell::Cell;

fn user(content: Vec<Block>) -> Message {
    Message::User { content }
}
fn answer(content: Vec<Block>) -> Message {
    Message::assistant(&ModelId::new("m"), content)
}
fn text(text: &str) -> Block {
    Block::text(text)
}
fn call(id: &str) -> Block {
    Block::ToolUse { id: id.into(), name: "t".into(), input: json!({}), via: None }
}
fn result(id: &str, said: &str) -> Block {
    Block::ToolResult { id: id.into(), content: vec![ResultPart::text(said)], is_error: false }
}
fn thinking() -> Block {
    Block::Thinking { text: "hm".into(), signature: Some("s".into()) }
}
fn redacted() -> Block {
    Block::Redacted { data: "x".into() }
}
fn png() -> Image {
    Image { media: "image/png".into(), data: "AA==".into(), blob: None }
}
fn image() -> Block {
    Block::Image(png())
}
fn image_result(id: &str) -> Block {
    let content = vec![ResultPart::text("see"), ResultPart::Image(png())];
    Block::ToolResult { id: id.into(), content, is_error: false }
}

/// A history as one line: `user go | answer ~ a? | user a=ok`.
fn show<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let line = |message: &Message| {
        let role = if message.is_assistant() { "answer" } else { "user" };
        let blocks: Vec<String> = message.blocks().iter().map(show_block).collect();
        format!("{role} {}", blocks.join(" "))
    };
    messages.into_iter().map(line).collect::<Vec<_>>().join(" | ")
}

fn show_block(block: &Block) -> String {
    match block {
        Block::Text { text, .. } => short(text),
        Block::Thinking { .. } => "~".into(),
        Block::Redacted { .. } => "~x".into(),
        Block::Provider(_) => "~p".into(),
        Block::Image(_) => "img".into(),
        Block::ToolUse { id, .. } => format!("{id}?"),
        Block::ToolResult { id, content, .. } => {
            let part = |part: &ResultPart| match part {
                ResultPart::Text { text } => short(text),
                ResultPart::Image(_) => "img".into(),
            };
            format!("{id}={}", content.iter().map(part).collect::<Vec<_>>().join("+"))
        }
    }
}

fn short(text: &str) -> String {
    match text {
        NO_RESULT => "NO_RESULT".into(),
        TURN_ENDED => "TURN_ENDED".into(),
        IMAGE_GONE => "GONE".into(),
        other => other.into(),
    }
}

fn after(messages: Vec<Message>) -> String {
    show(View::from_messages(messages).messages())
}

#[test]
fn results_are_put_in_order_completed_and_cleared_of_strangers() {
    let asked =
        |ids: &[&str]| vec![Message::user("go"), answer(ids.iter().map(|id| call(id)).collect())];
    let table = [
        (vec![result("b", "2"), result("a", "1")], "user a=1 b=2"),
        (vec![result("b", "2")], "user a=NO_RESULT b=2"),
        (vec![result("a", "1"), result("a", "again"), result("b", "2")], "user a=1 b=2"),
        (vec![result("z", "?"), result("b", "2"), result("a", "1")], "user a=1 b=2"),
        (vec![text("by the way"), result("b", "2"), result("a", "1")], "user a=1 b=2 by the way"),
        (vec![text("never mind")], "user a=NO_RESULT b=NO_RESULT never mind"),
        (vec![], "user a=NO_RESULT b=NO_RESULT"),
    ];
    for (content, expected) in table {
        let messages = [asked(&["a", "b"]), vec![user(content)]].concat();
        assert_eq!(after(messages), format!("user go | answer a? b? | {expected}"));
    }
}

#[test]
fn what_no_provider_accepts_is_left_out() {
    let go = || Message::user("go");
    let table = [
        (vec![answer(vec![text("hi")]), go()], "user go"),
        (vec![user(vec![])], "user (no content)"),
        (vec![user(vec![text(" \n")])], "user (no content)"),
        (vec![go(), user(vec![text("")])], "user go"),
        (vec![go(), user(vec![result("a", "1")])], "user go"),
        (vec![user(vec![result("a", "1"), text("go")])], "user go"),
        (vec![go(), answer(vec![text("a"), thinking(), redacted()])], "user go | answer a"),
        (vec![go(), answer(vec![text("a"), thinking(), text(" ")])], "user go | answer a"),
        (vec![go(), answer(vec![thinking()]), go()], "user go | user go"),
        (vec![go(), answer(vec![call("a"), call("a")])], "user go | answer a?"),
        (vec![go(), answer(vec![result("a", "1"), text("x")])], "user go | answer x"),
        (vec![user(vec![thinking(), call("a"), text("go")])], "user go"),
        (
            vec![go(), answer(vec![call("a")]), answer(vec![text("x")])],
            "user go | answer a? | user a=NO_RESULT | answer x",
        ),
        (
            vec![go(), answer(vec![call("a")]), answer(vec![])],
            "user go | answer a? | user a=NO_RESULT",
        ),
    ];
    for (messages, expected) in table {
        assert_eq!(after(messages), expected);
    }
}

#[test]
fn open_calls_are_those_of_the_last_answer_until_anything_follows() {
    let mut view = View::default();
    let steps = [
        (answer(vec![call("z")]), vec![]),
        (Message::user("go"), vec![]),
        (answer(vec![text("x"), call("a"), call("b")]), vec!["a", "b"]),
        (user(vec![result("a", "1")]), vec![]),
        (answer(vec![call("c")]), vec!["c"]),
        (answer(vec![call("d")]), vec!["d"]),
        (user(vec![]), vec![]),
    ];
    for (message, open) in steps {
        view.push(message);
        let ids: Vec<&str> = view.open_calls().iter().map(CallId::as_str).collect();
        assert_eq!(ids, open);
    }
    for (id, known) in [("a", true), ("d", true), ("z", false), ("go", false)] {
        assert_eq!(view.has_call(&id.into()), known, "{id}");
    }
}

#[test]
fn closing_answers_each_open_call_once() {
    let mut view = View::from_messages([Message::user("go"), answer(vec![call("a"), call("b")])]);
    assert!(view.close_open_calls(TURN_ENDED).is_some());
    assert_eq!(show(view.messages()), "user go | answer a? b? | user a=TURN_ENDED b=TURN_ENDED");
    assert!(view.close_open_calls(TURN_ENDED).is_none());
    assert_eq!(view.items().len(), 3);
}

#[test]
fn images_give_way_to_words_and_the_rest_stays() {
    let table = [
        (vec![user(vec![text("go"), image()])], true, "user go GONE"),
        (
            vec![Message::user("go"), answer(vec![call("a")]), user(vec![image_result("a")])],
            true,
            "user go | answer a? | user a=see+GONE",
        ),
        (vec![Message::user("go")], false, "user go"),
    ];
    for (messages, had, expected) in table {
        let mut view = View::from_messages(messages);
        let before = view.clone();
        assert_eq!(view.drop_images(), had);
        assert_eq!(show(view.messages()), expected);
        assert!(!view.drop_images(), "once is enough");
        for (old, new) in before.items().iter().zip(view.items()) {
            let same = old.message() == new.message();
            assert_eq!(Arc::ptr_eq(old, new), same, "what did not change is shared");
        }
    }
}

#[test]
fn thinking_goes_and_open_calls_stay() {
    let table = [
        (vec![thinking(), text("x")], true, "user go | answer x"),
        (vec![redacted(), thinking(), call("a")], true, "user go | answer a?"),
        (vec![text("x"), call("a")], false, "user go | answer x a?"),
    ];
    for (content, had, expected) in table {
        let mut view = View::from_messages([Message::user("go"), answer(content)]);
        let open = view.open_calls().to_vec();
        assert_eq!(view.drop_thinking(), had);
        assert_eq!(show(view.messages()), expected);
        assert_eq!(view.open_calls(), open);
        assert!(!view.drop_thinking(), "once is enough");
    }
}

/// The check itself, or all that rests on it would prove nothing.
#[test]
fn the_check_of_pairs_finds_each_break() {
    let go = || Message::user("go");
    let asks = || answer(vec![call("a"), call("b")]);
    let both = || vec![result("a", "1"), result("b", "2")];
    let table = [
        (vec![go(), asks(), user(both())], 0),
        (vec![go(), asks(), user(vec![result("b", "2"), result("a", "1")])], 0),
        (vec![go(), asks()], 2),
        (vec![go(), asks(), user(vec![result("a", "1")])], 1),
        (vec![go(), asks(), user([both(), both()].concat())], 2),
        (vec![go(), asks(), user([both(), vec![result("z", "?")]].concat())], 1),
        (vec![go(), asks(), go(), user(both())], 2),
        (vec![go(), answer(vec![text("x")]), user(vec![result("a", "1")])], 1),
        (vec![user(vec![result("a", "1")])], 1),
    ];
    for (messages, breaks) in table {
        let found = pairing::check(&messages.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), breaks, "{} {found:?}", show(&messages));
    }
}

#[test]
fn a_protocol_renders_each_message_once() {
    let view = View::from_messages([Message::user("a"), Message::user("b")]);
    let rendered = Cell::new(0);
    let render = |message: &Message| {
        rendered.set(rendered.get() + 1);
        format!("wire {}", message.text())
    };
    for _ in 0..3 {
        let copy = view.clone();
        let wire: Vec<_> =
            copy.items().iter().map(|item| item.rendered(RenderKey::of("one"), render)).collect();
        assert_eq!(wire.iter().map(|text| text.as_str()).collect::<Vec<_>>(), ["wire a", "wire b"]);
    }
    assert_eq!(rendered.get(), 2);
    let item = &view.items()[0];
    assert!(Arc::ptr_eq(
        &item.rendered(RenderKey::of("one"), render),
        &item.rendered(RenderKey::of("one"), render)
    ));
}

#[test]
fn no_protocol_gets_the_rendering_of_another() {
    let view = View::from_messages([Message::user("a")]);
    let item = &view.items()[0];
    assert_eq!(*item.rendered(RenderKey::of("one"), |_| "first".to_owned()), "first");
    assert_eq!(*item.rendered(RenderKey::of("two"), |_| "second".to_owned()), "second");
    assert_eq!(*item.rendered(RenderKey::of("one"), |_| 7u32), 7, "nor one of another type");
    assert_eq!(*item.rendered(RenderKey::of("one"), |_| "not called".to_owned()), "first");
}

fn any_block() -> impl Strategy<Value = Block> {
    let id = || prop_oneof![Just("a"), Just("b"), Just("c")];
    prop_oneof![
        prop_oneof![Just(""), Just(" "), Just("x")].prop_map(text),
        Just(thinking()),
        Just(redacted()),
        Just(image()),
        id().prop_map(call),
        id().prop_map(call),
        id().prop_map(|id| result(id, "ok")),
        id().prop_map(image_result),
    ]
}

fn any_messages() -> impl Strategy<Value = Vec<Message>> {
    let message = (any::<bool>(), vec(any_block(), 0..6))
        .prop_map(|(is_answer, content)| if is_answer { answer(content) } else { user(content) });
    vec(message, 0..10)
}

/// A history with nothing to repair: each round is a question, an answer with `calls` calls, and their results.
fn valid_messages() -> impl Strategy<Value = Vec<Message>> {
    let round = (any::<bool>(), any::<bool>(), 0..4usize);
    vec(round, 1..6).prop_map(|rounds| {
        let mut messages = Vec::new();
        for (at, (asks, thinks, calls)) in rounds.into_iter().enumerate() {
            if asks || at == 0 {
                messages.push(user(vec![text("go"), image()]));
            }
            let ids: Vec<String> = (0..calls).map(|n| format!("c{at}-{n}")).collect();
            let mut content = if thinks { vec![thinking(), text("so")] } else { vec![text("so")] };
            content.extend(ids.iter().map(|id| call(id)));
            messages.push(answer(content));
            if calls > 0 {
                messages.push(user(ids.iter().map(|id| result(id, "ok")).collect()));
            }
        }
        messages
    })
}

/// As a provider sees it: neighbours of one role are one message.
fn merged(view: &View) -> Vec<Message> {
    let mut wire: Vec<Message> = Vec::new();
    for message in view.messages() {
        match wire.last_mut() {
            Some(last) if last.is_assistant() == message.is_assistant() => {
                last.blocks_mut().extend(message.blocks().iter().cloned());
            }
            _ => wire.push(message.clone()),
        }
    }
    wire
}

fn is_acceptable(view: &View) -> Result<(), String> {
    let wire = merged(view);
    let mut wrong = pairing::check(&wire.iter().collect::<Vec<_>>());
    if wire.first().is_some_and(Message::is_assistant) {
        wrong.push("it starts with an answer".into());
    }
    for message in &wire {
        let (blocks, answers) = (message.blocks(), message.is_assistant());
        if blocks.is_empty() || blocks.iter().any(Block::is_empty) {
            wrong.push("a message or a text is empty".into());
        }
        if answers && blocks.last().is_some_and(Block::is_thinking) {
            wrong.push("thinking stands last".into());
        }
        let misplaced = |block: &Block| match block {
            Block::ToolResult { .. } => answers,
            Block::ToolUse { .. } => !answers,
            block if block.is_thinking() => !answers,
            _ => false,
        };
        if blocks.iter().any(misplaced) {
            wrong.push("a block stands on the wrong side".into());
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} in {}", wrong.join(", "), show(&wire))) }
}

proptest! {
    #[test]
    fn any_messages_become_a_history_that_is_accepted(messages in any_messages()) {
        let mut view = View::from_messages(messages);
        view.close_open_calls(NO_RESULT);
        prop_assert_eq!(is_acceptable(&view), Ok(()));
    }

    #[test]
    fn it_stays_acceptable_when_something_is_left_out(messages in any_messages()) {
        let mut view = View::from_messages(messages);
        view.drop_images();
        view.drop_thinking();
        view.close_open_calls(NO_RESULT);
        prop_assert_eq!(is_acceptable(&view), Ok(()));
        let left = |block: &Block| block.is_thinking() || has_image(block);
        prop_assert!(!view.messages().flat_map(Message::blocks).any(left));
    }

    #[test]
    fn a_valid_history_is_not_touched(messages in valid_messages()) {
        let view = View::from_messages(messages.clone());
        prop_assert_eq!(view.messages().cloned().collect::<Vec<_>>(), messages);
    }

    #[test]
    fn mending_twice_is_mending_once(messages in any_messages()) {
        let once = View::from_messages(messages);
        let twice = View::from_messages(once.messages().cloned());
        prop_assert_eq!(&once, &twice);
        prop_assert_eq!(once.open_calls(), twice.open_calls());
    }

    #[test]
    fn pushing_changes_nothing_that_was_there(messages in any_messages()) {
        let mut view = View::default();
        for message in messages {
            let before = view.items().to_vec();
            let added = view.push(message);
            prop_assert!(before.len() <= view.items().len());
            prop_assert!(before.iter().zip(view.items()).all(|(had, has)| Arc::ptr_eq(had, has)));
            if let (Some(added), Some(last)) = (added, view.items().last()) {
                prop_assert!(Arc::ptr_eq(&added, last));
            }
        }
    }
}
