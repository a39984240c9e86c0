use super::*;
use ostler_core::ids::ModelId;
use ostler_core::message::Block;
use ostler_core::session::FORMAT;

fn log(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for (seq, entry) in (1..).zip(entries) {
        line::encode(seq, entry, &mut out).unwrap();
    }
    out
}

fn opened() -> Entry {
    Entry::Opened {
        format: FORMAT,
        session: "s".into(),
        workspace: "/w".into(),
        at: Timestamp(5),
        forked_from: None,
        started_by: None,
    }
}

fn prompt(content: Vec<Block>) -> Entry {
    Entry::prompt(Message::User { content }, Timestamp(6))
}

fn meta(text: &str) -> Block {
    Block::Text { text: text.into(), meta: true }
}

fn title_of(entries: &[Entry]) -> String {
    summarise(log(entries).as_slice()).unwrap().title
}

#[test]
fn a_summary_counts_messages_and_nothing_else() {
    let answer = Entry::Answer {
        message: Message::assistant(&ModelId::new("m"), vec![Block::text("yes")]),
        stop: None,
    };
    let note = Entry::note(Message::meta("{\"fact\":\"prompt\""));
    let entries = [
        opened(),
        prompt(vec![Block::text("  Fix it\n")]),
        answer,
        note,
        Entry::CallStarted { id: "c".into() },
    ];
    let summary = summarise(log(&entries).as_slice()).unwrap();
    let wanted = LogSummary {
        created: Some(Timestamp(5)),
        workspace: Some("/w".into()),
        title: "Fix it".into(),
        messages: 3,
        is_child: false,
        forked_from: None,
    };
    assert_eq!(summary, wanted);
    assert!(summarise(&b""[..]).unwrap().is_empty());
    assert!(summarise(&b"1 0a"[..]).unwrap().is_empty());
    assert!(!summarise(log(&[opened()]).as_slice()).unwrap().is_empty());
}

/// Prompts longer than what is read of them: the title is their beginning all the same.
#[test]
fn long_prompts_have_titles() {
    let long = "ä\"\\\n😀".repeat(100_000);
    let wanted: String = long.chars().take(TITLE_CHARS).collect();
    assert_eq!(title_of(&[opened(), prompt(vec![Block::text(&*long)])]), wanted);
    let behind_a_note = [opened(), prompt(vec![meta("hint \"x\""), Block::text(&*long)])];
    assert_eq!(title_of(&behind_a_note), wanted);
    for shift in 0..40 {
        let text = format!("{}{}", " ".repeat(shift), "\u{1}😀".repeat(30_000));
        let got = title_of(&[opened(), prompt(vec![Block::text(text)])]);
        assert_eq!(got.chars().count(), TITLE_CHARS, "{shift}");
    }
}

#[test]
fn the_title_of_a_worker_is_that_of_its_task() {
    let text = "<board-task id=\"3f2a\" attempt=\"1\">\nPort the parser\n\nAll of it.";
    for long in ["", &"x".repeat(1_000_000)] {
        let title = title_of(&[opened(), prompt(vec![Block::text(format!("{text}{long}"))])]);
        assert!(title.starts_with("Port the parser\n"), "{title}");
    }
    let typed = "<board-task is a tag";
    assert_eq!(title_of(&[opened(), prompt(vec![Block::text(typed)])]), typed);
}

#[test]
fn the_title_is_the_first_text_of_a_person() {
    let empty = prompt(vec![Block::text("  "), meta("not mine")]);
    assert_eq!(
        title_of(&[
            opened(),
            empty,
            prompt(vec![Block::text("second")]),
            prompt(vec![Block::text("third")])
        ]),
        "second"
    );
    assert_eq!(title_of(&[opened()]), "");
}

#[test]
fn cut_strings_are_unescaped_as_far_as_they_go() {
    for (inner, wanted) in [
        ("abc", "abc"),
        ("a\\n", "a\n"),
        ("a\\", "a"),
        ("a\\u00", "a"),
        ("a\\ud83d", "a"),
        ("a\\ud83d\\ude", "a"),
        ("", ""),
    ] {
        assert_eq!(unescape(inner), wanted, "{inner:?}");
    }
}
