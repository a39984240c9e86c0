//! What the model reads about an undo outside of its conversation, and how the log knows that: by the notice
//! itself, so that neither can be lost without the other.

use crate::message::Block;
use crate::prompt_texts;
use crate::text::enclosed;

/// Names in a notice; of the rest the number.
const NAMED: usize = 20;

/// An undo, or the redo of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoNotice {
    /// Later ones have higher numbers.
    pub id: u64,
    pub redo: bool,
    /// The calls, as the model knows them.
    pub calls: Vec<String>,
    /// Files that the undo changed.
    pub files: Vec<String>,
}

impl UndoNotice {
    pub fn text(&self) -> String {
        let form = if self.redo { prompt_texts::REDONE } else { prompt_texts::UNDONE };
        let list = |names: &[String]| match names {
            [] => "- none".to_owned(),
            names => {
                let mut lines: Vec<String> =
                    names.iter().take(NAMED).map(|name| format!("- {}", enclosed(name))).collect();
                if names.len() > NAMED {
                    lines.push(format!("- and {} more", names.len() - NAMED));
                }
                lines.join("\n")
            }
        };
        crate::text::fill(
            form,
            &[
                ("id", &self.id.to_string()),
                ("calls", &list(&self.calls)),
                ("files", &list(&self.files)),
            ],
        )
    }
}

/// The number of the undo that a block describes. What a person or a tool wrote is no notice.
pub(crate) fn told_in(block: &Block) -> Option<u64> {
    let Block::Text { text, meta: true } = block else { return None };
    text.strip_prefix("<undone id=\"")?.split_once('"')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_known_by_its_number() {
        let files: Vec<String> = (0..30).map(|n| format!("f{n}</undone>")).collect();
        for redo in [false, true] {
            let calls = vec!["Bash: rm -rf src".to_owned()];
            let notice = UndoNotice { id: 42, redo, calls, files: files.clone() };
            let text = notice.text();
            assert!(
                text.contains("- Bash: rm -rf src\n") && text.contains("and 10 more"),
                "{text}"
            );
            assert_eq!(text.matches("</undone>").count(), 1, "a name cannot end it: {text}");
            assert_eq!(told_in(&Block::Text { text: text.clone(), meta: true }), Some(42));
            assert_eq!(told_in(&Block::Text { text, meta: false }), None, "a person's words");
        }
        let empty = UndoNotice::default().text();
        assert!(!empty.contains('{') && empty.contains("- none"), "{empty}");
    }
}
