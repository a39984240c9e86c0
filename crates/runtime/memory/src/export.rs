//! `memory.md`: everything, for people.

use crate::recall::date;
use ostler_core::memory::{FactKind, Memory, Scope};

const KINDS: [(FactKind, &str); 4] = [
    (FactKind::Preference, "Preferences"),
    (FactKind::Decision, "Decisions"),
    (FactKind::HowTo, "How to"),
    (FactKind::Fact, "Facts"),
];

/// The first line, by which an export is known again.
pub const MARK: &str = "<!-- Written by `ostler memory export`, which replaces this file. -->";

/// Grouped by kind, newest first, each with its date and where it was learned.
pub fn to_markdown(memories: &[Memory]) -> String {
    let mut out = format!("{MARK}\n# Memory\n");
    for (scope, title) in [(Scope::Project, "This project"), (Scope::User, "All projects")] {
        if memories.iter().all(|memory| memory.scope != scope) {
            continue;
        }
        out += &format!("\n## {title}\n");
        for (kind, title) in KINDS {
            let of_kind: Vec<&Memory> = memories
                .iter()
                .filter(|memory| memory.scope == scope && memory.kind == kind)
                .collect();
            if !of_kind.is_empty() {
                out += &format!("\n### {title}\n\n");
            }
            for memory in of_kind {
                out += &format!("- {} <!-- {} -->\n", plain(&memory.text), origin(memory));
            }
        }
    }
    if memories.is_empty() {
        out += "\nNothing is remembered yet.\n";
    }
    out
}

/// An entry cannot end its line or its comment.
fn plain(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace("<!--", "< !--").replace("-->", "-- >")
}

fn origin(memory: &Memory) -> String {
    let mut parts = vec![memory.id.clone(), date(memory.at)];
    let origin = &memory.origin;
    parts.extend(origin.session.as_ref().map(|session| format!("session {session}")));
    parts.extend(origin.turn.map(|turn| format!("turn {turn}")));
    parts.extend(origin.source.clone());
    plain(&parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::memory::Origin;
    use ostler_core::time::Timestamp;

    #[test]
    fn a_document() {
        let memory = |id: &str, text: &str, kind, scope| Memory {
            id: id.into(),
            text: text.into(),
            kind,
            scope,
            origin: Origin {
                session: Some("s1".into()),
                turn: Some(2),
                source: Some("the user".into()),
            },
            at: Timestamp(1_700_000_000_000),
        };
        let all = [
            memory("p1", "Port 5433 --> x.", FactKind::Fact, Scope::Project),
            memory("p2", "Use pnpm.", FactKind::Preference, Scope::Project),
            memory("u1", "British spelling.", FactKind::Preference, Scope::User),
        ];
        let document = to_markdown(&all);
        assert_eq!(
            document.strip_prefix(&format!("{MARK}\n")).unwrap(),
            "# Memory\n\n## This project\n\n### Preferences\n\n\
             - Use pnpm. <!-- p2, 2023-11-14, session s1, turn 2, the user -->\n\n### Facts\n\n\
             - Port 5433 -- > x. <!-- p1, 2023-11-14, session s1, turn 2, the user -->\n\n## All projects\n\n\
             ### Preferences\n\n- British spelling. <!-- u1, 2023-11-14, session s1, turn 2, the user -->\n"
        );
        assert!(to_markdown(&[]).contains("Nothing"));
    }
}
