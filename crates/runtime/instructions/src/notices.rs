//! A bounded report of what was not read, or only in part.

use std::collections::BTreeMap;

/// Lines of one cause, and characters of one line.
const MOST: usize = 5;
const CHARS: usize = 400;

/// In the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// It leads out of where it may be read from, or cannot be read.
    Refused,
    /// There was no room.
    Full,
    /// A front matter that is not understood.
    Wrong,
    /// An import of what is not there, or goes too deep.
    Import,
}

impl Cause {
    fn more(self, n: usize) -> String {
        let what = match self {
            Cause::Refused => "instruction files that were not read",
            Cause::Full => "instruction files that were left out or cut",
            Cause::Wrong => "mistakes in the front matter of rules",
            Cause::Import => "imports of missing files",
        };
        format!("and {n} more {what}")
    }
}

#[derive(Debug, Default)]
pub(crate) struct LoadNotices {
    by_cause: BTreeMap<Cause, (Vec<String>, usize)>,
}

impl LoadNotices {
    pub(crate) fn push(&mut self, cause: Cause, text: &str) {
        let (lines, more) = self.by_cause.entry(cause).or_default();
        let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let mut line: String = plain.take(CHARS).collect();
        if text.chars().nth(CHARS).is_some() {
            line.push('…');
        }
        if lines.contains(&line) {
            return;
        }
        match lines.len() < MOST {
            true => lines.push(line),
            false => *more += 1,
        }
    }

    pub(crate) fn lines(self) -> Vec<String> {
        let mut all = Vec::new();
        for (cause, (lines, more)) in self.by_cause {
            all.extend(lines);
            all.extend((more > 0).then(|| cause.more(more)));
        }
        all
    }
}
