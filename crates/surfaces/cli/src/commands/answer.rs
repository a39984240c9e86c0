//! What a person typed as the answer to a question. Only a plain yes is one.

use crate::exit::warn;
use ostler::{Approvals, Reply, Rule};
use std::sync::Arc;

/// None: it was no answer to what was offered, so it is asked again. No answer at all is the end of input.
pub fn reply(answer: Option<&str>, offered: bool) -> Option<Reply> {
    let no = |why: &str| Reply::No(format!("the user said no{why}"));
    let Some(answer) = answer.map(str::trim) else {
        return Some(Reply::Unanswered("the input ended before the user said yes".into()));
    };
    Some(match answer.to_ascii_lowercase().as_str() {
        "y" | "yes" => Reply::Yes,
        "s" | "session" | "a" | "always" => Reply::YesForSession,
        "p" | "project" if offered => Reply::YesForProject,
        "p" | "project" => return None,
        "" | "n" | "no" => no(""),
        _ => no(&format!(": {answer}")),
    })
}

/// Says so when an accepted rule could not be kept; it then applies to the session.
pub struct Keeper {
    pub kept_by: Arc<dyn Approvals>,
}

impl Approvals for Keeper {
    fn keep(&self, rules: &[Rule]) -> Result<(), String> {
        let kept = self.kept_by.keep(rules);
        if let Err(why) = &kept {
            warn(&format!("the rule applies to this session only: {why}"));
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        let no = |why: &str| Some(Reply::No(format!("the user said no{why}")));
        for (answer, offered, expected) in [
            ("y", true, Some(Reply::Yes)),
            (" YES ", false, Some(Reply::Yes)),
            ("s", true, Some(Reply::YesForSession)),
            ("session", false, Some(Reply::YesForSession)),
            ("a", true, Some(Reply::YesForSession)),
            ("Always", false, Some(Reply::YesForSession)),
            ("p", true, Some(Reply::YesForProject)),
            ("Project", true, Some(Reply::YesForProject)),
            ("p", false, None),
            ("project", false, None),
            ("", true, no("")),
            ("n", true, no("")),
            ("NO", false, no("")),
            ("ya", true, no(": ya")),
            ("sp", true, no(": sp")),
            (" use Make instead ", true, no(": use Make instead")),
        ] {
            assert_eq!(reply(Some(answer), offered), expected, "{answer:?} {offered}");
        }
        let ended = reply(None, true);
        assert!(matches!(ended, Some(Reply::Unanswered(why)) if why.contains("input ended")));
    }
}
