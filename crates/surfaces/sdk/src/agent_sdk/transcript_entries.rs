//! The entries of a transcript by the messages that the model gets: an answer has one entry for each of its blocks.

use serde_json::Value;

/// How markers begin that only readers get.
const INTERRUPTED: &str = "[Request interrupted by user";

#[derive(Default)]
pub(super) struct EntryList {
    all: Vec<EntryFacts>,
    newest: Part,
    /// Messages so far.
    messages: usize,
}

struct EntryFacts {
    uuid: String,
    turn: usize,
    /// The message that it is a part of; none: the model does not get it.
    message: Option<usize>,
}

/// What the newest entry is a part of.
#[derive(Default, PartialEq)]
enum Part {
    #[default]
    Whole,
    Answer(String),
    Results,
}

impl EntryList {
    pub(super) fn add(&mut self, uuid: &str, entry: &Value, turn: usize) {
        let message = part(entry).map(|part| {
            if part == Part::Whole || part != self.newest {
                self.messages += 1;
            }
            self.newest = part;
            self.messages
        });
        self.all.push(EntryFacts { uuid: uuid.to_owned(), turn, message });
    }

    pub(super) fn turn_of(&self, uuid: &str) -> Option<usize> {
        self.all.iter().find(|entry| entry.uuid == uuid).map(|entry| entry.turn)
    }

    pub(super) fn newest(&self) -> Option<&str> {
        self.all.last().map(|entry| entry.uuid.as_str())
    }

    /// Forgets everything after this turn.
    pub(super) fn rewind(&mut self, turn: usize) {
        self.all.retain(|entry| entry.turn <= turn);
        self.newest = Part::Whole;
    }

    /// The entries of the newest messages, so many of them, and the last prompt in front of them, as a compaction keeps it.
    pub(super) fn kept<'a>(&'a self, messages: usize, prompt: Option<&'a str>) -> Vec<&'a str> {
        let before = self.messages.saturating_sub(messages);
        let is_kept = |entry: &&EntryFacts| entry.message.is_some_and(|message| message > before);
        let kept: Vec<&str> =
            self.all.iter().filter(is_kept).map(|entry| entry.uuid.as_str()).collect();
        let prompt = prompt.filter(|prompt| !kept.contains(prompt));
        prompt.into_iter().chain(kept).collect()
    }
}

/// None: the model does not get it.
fn part(entry: &Value) -> Option<Part> {
    let message = &entry["message"];
    match entry["type"].as_str()? {
        "assistant" if entry["isApiErrorMessage"] == true => None,
        "user" if entry["isCompactSummary"] == true => None,
        "assistant" => Some(Part::Answer(message["id"].as_str().unwrap_or_default().to_owned())),
        "user" => {
            let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let text = blocks.first().and_then(|block| block["text"].as_str());
            match blocks.iter().any(|block| block["type"] == "tool_result") {
                true => Some(Part::Results),
                false if text.is_some_and(|text| text.starts_with(INTERRUPTED)) => None,
                false => Some(Part::Whole),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_blocks_of_an_answer_are_kept_together() {
        let mut list = EntryList::default();
        let result = json!([{"type": "tool_result"}]);
        for (uuid, kind, id, content) in [
            ("u", "user", "", json!("go")),
            ("a", "assistant", "m1", json!([])),
            ("b", "assistant", "m1", json!([])),
            ("r", "user", "", result.clone()),
            ("s", "user", "", result),
            ("c", "assistant", "m2", json!([])),
            ("i", "user", "", json!([{"type": "text", "text": "[Request interrupted by user]"}])),
        ] {
            let entry = json!({"type": kind, "message": {"id": id, "content": content}});
            list.add(uuid, &entry, 1);
        }
        assert_eq!(list.kept(1, None), ["c"]);
        assert_eq!(list.kept(2, None), ["r", "s", "c"]);
        assert_eq!(list.kept(3, Some("u")), ["u", "a", "b", "r", "s", "c"]);
        assert_eq!(list.kept(99, Some("u")).len(), 6);
        assert_eq!(list.turn_of("i"), Some(1));
        list.rewind(0);
        assert_eq!(list.newest(), None);
    }
}
