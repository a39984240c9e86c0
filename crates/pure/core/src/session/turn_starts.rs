//! Where the turns of a conversation begin in its log.

use super::Entry;

/// The positions of the prompts. A rewind cuts them off, and gives them back when it is undone.
#[derive(Clone, Debug, Default)]
pub struct TurnStarts {
    starts: Vec<usize>,
    cut_off: Vec<Vec<usize>>,
}

impl TurnStarts {
    pub fn of(entries: &[Entry]) -> Self {
        let mut all = TurnStarts::default();
        entries.iter().enumerate().for_each(|(at, entry)| all.read(at, entry));
        all
    }

    /// Takes the next entry of the log.
    pub fn read(&mut self, at: usize, entry: &Entry) {
        match entry {
            Entry::Prompt { .. } => {
                self.starts.push(at);
                self.cut_off.clear();
            }
            Entry::Rewound { turn, .. } => {
                self.cut_off.push(self.starts.clone());
                self.starts.truncate(turn.saturating_sub(1) as usize);
            }
            Entry::RewindUndone { .. } => {
                if let Some(starts) = self.cut_off.pop() {
                    self.starts = starts;
                }
            }
            _ => {}
        }
    }

    /// How many turns there are: the number of the one that is under way.
    pub fn count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// The positions of all prompts, in order.
    pub fn positions(&self) -> &[usize] {
        &self.starts
    }

    /// The position of the prompt of a turn, counted from 1.
    pub fn start(&self, turn: u32) -> Option<usize> {
        self.starts.get(usize::try_from(turn).ok()?.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::time::Timestamp;

    #[test]
    fn rewinds_renumber_the_turns() {
        let at = Timestamp(0);
        let prompt = || Entry::Prompt { message: Message::user("x"), at, inbound: Vec::new() };
        let rewound = |turn| Entry::Rewound { turn, at };
        let undone = || Entry::RewindUndone { at };
        for (entries, expected) in [
            (vec![], vec![]),
            (vec![prompt(), prompt(), prompt()], vec![0, 1, 2]),
            (vec![prompt(), prompt(), prompt(), rewound(2)], vec![0]),
            (vec![prompt(), prompt(), prompt(), rewound(2), prompt()], vec![0, 4]),
            (vec![prompt(), prompt(), rewound(2), undone()], vec![0, 1]),
            (vec![prompt(), prompt(), rewound(2), prompt(), undone()], vec![0, 3]),
        ] {
            let starts = TurnStarts::of(&entries);
            let found: Vec<usize> = (1..).map_while(|turn| starts.start(turn)).collect();
            assert_eq!((&found, starts.count() as usize), (&expected, expected.len()));
            assert_eq!(starts.positions(), expected);
            assert_eq!(starts.start(0), None);
        }
    }
}
