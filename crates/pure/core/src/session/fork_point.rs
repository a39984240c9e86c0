//! Where a copy of a session ends.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForkPoint {
    /// Everything is copied.
    #[default]
    End,
    /// The prompt of this turn, counted from 1, and what followed it are left out: the state that a rewind to the turn
    /// leaves.
    BeforeTurn(u32),
    /// The entry of this number is the last one.
    AfterEntry(u64),
}

/// A turn is a bare number, an entry says what it is: the two cannot be confused.
impl FromStr for ForkPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let point = match text.strip_prefix("entry:") {
            Some(entry) => entry.parse().ok().map(ForkPoint::AfterEntry),
            None => text.parse().ok().map(ForkPoint::BeforeTurn),
        };
        point.ok_or_else(|| {
            format!(
                "\"{text}\" is neither a turn nor an entry: use a turn as `ostler rewind` lists it, e.g. 3, or an entry of the log, e.g. entry:57"
            )
        })
    }
}

impl fmt::Display for ForkPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForkPoint::End => f.write_str("the end"),
            ForkPoint::BeforeTurn(turn) => write!(f, "turn {turn}"),
            ForkPoint::AfterEntry(entry) => write!(f, "entry {entry}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_entries_are_told_apart() {
        for (text, expected) in [
            ("3", Some(ForkPoint::BeforeTurn(3))),
            ("0", Some(ForkPoint::BeforeTurn(0))),
            ("entry:57", Some(ForkPoint::AfterEntry(57))),
            ("entry:", None),
            ("entry: 5", None),
            ("entry57", None),
            ("turn:3", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
        ] {
            let point = text.parse::<ForkPoint>();
            assert_eq!(point.clone().ok(), expected, "{text}");
            assert!(point.is_ok() || point.unwrap_err().contains("entry:57"));
        }
    }
}
