use super::*;
use ostler_core::ids::{ModelId, SessionId};
use ostler_core::ports::StoreError;
use ostler_core::time::Timestamp;
use serde_json::json;

struct Kept(SessionId, Vec<Entry>);

impl SessionLog for Kept {
    fn id(&self) -> &SessionId {
        &self.0
    }
    fn append(&self, _: &Entry) -> Result<(), StoreError> {
        Ok(())
    }
    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }
    fn visit(&self, see: &mut dyn FnMut(u64, Entry) -> ControlFlow<()>) -> Result<(), StoreError> {
        for (seq, entry) in (1..).zip(self.1.clone()) {
            if see(seq, entry).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn log() -> Kept {
    let prompt = |text: &str| Entry::prompt(Message::user(text), Timestamp(0));
    let call = |id: &str, name: &str, input| Entry::Answer {
        message: Message::assistant(
            &ModelId::new("m"),
            vec![Block::ToolUse { id: id.into(), name: name.into(), input, via: None }],
        ),
        stop: None,
    };
    let result = |id: &str, text: &str| Entry::CallFinished {
        result: Block::ToolResult {
            id: id.into(),
            content: vec![ResultPart::text(text)],
            is_error: false,
        },
        seen: Vec::new(),
    };
    let long = format!("{}the Needle is here{}", "hay ".repeat(9_000), " straw".repeat(9_000));
    Kept(
        SessionId::new("s"),
        vec![
            prompt("The port is 4711 and the colour is blue."),
            Entry::note(Message::meta("a note about 4711")),
            call("c1", "Bash", json!({ "command": "cat barn" })),
            result("c1", &long),
            call("c2", "Recall", json!({ "query": "4711" })),
            result("c2", "The port is 4711"),
            prompt("Which colour?"),
        ],
    )
}

fn text_of(output: &ToolOutput) -> String {
    joined(&output.content)
}

#[test]
fn words_are_found_wherever_they_stand_best_first() {
    let (log, stop) = (log(), TaskStop::never());
    let found = text_of(&search(&log, "colour 4711", &stop));
    let first = found.lines().next().unwrap();
    assert_eq!(first, "[1 · user]", "{found}");
    assert!(found.contains("[7 · user]"), "one word is enough: {found}");
    assert!(!found.contains("note about") && !found.contains("c2"), "{found}");
    let found = text_of(&search(&log, "NEEDLE", &stop));
    assert!(found.contains("the Needle is here") && found.len() < 1_500, "{}", found.len());
    assert!(text_of(&search(&log, "unicorn", &stop)).starts_with("Nothing"));
}

#[test]
fn a_result_is_shown_whole_page_by_page() {
    let (log, stop) = (log(), TaskStop::never());
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let page = text_of(&one_call(&log, "c1", offset, &stop));
        let body = page.split_once("[result of call c1]\n").unwrap().1;
        match body.rsplit_once("\n[characters ") {
            Some((text, more)) => {
                whole.push_str(text);
                offset =
                    more.split("offset ").nth(1).unwrap().trim_end_matches(']').parse().unwrap();
            }
            None => {
                whole.push_str(body);
                break;
            }
        }
    }
    assert!(
        matches!(&log.1[3], Entry::CallFinished { result: Block::ToolResult { content, .. }, .. }
        if joined(content) == whole)
    );
    assert!(one_call(&log, "c9", 0, &stop).is_error);
}
