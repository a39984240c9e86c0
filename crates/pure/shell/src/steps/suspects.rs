//! Every word a text could be hiding, for the search for danger in what is not understood.

use ostler_policy::Step;
use ostler_policy::script::Word;
use std::collections::HashSet;

const MAX_SUSPECTS: usize = 20_000;

/// The literal words of the steps, and the pieces of the text itself, read without quotes and with them as gaps.
pub(super) fn of(text: &str, steps: &[Step]) -> Vec<String> {
    let mut found = SuspectWords { seen: HashSet::new(), list: Vec::new() };
    for word in steps.iter().flat_map(|step| &step.words) {
        if let Word::Literal(word) = word {
            found.add(word);
            word.split_whitespace().for_each(|piece| found.add(piece));
        }
    }
    let is_gap = |c: char| c.is_whitespace() || c.is_control() || ";|&()<>".contains(c);
    let unquoted: String = text.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    unquoted.split(is_gap).for_each(|piece| found.add(piece));
    let is_sign = |c: char| is_gap(c) || "'\"\\`$={},".contains(c);
    text.split(is_sign).for_each(|piece| found.add(piece));
    // A program by its path.
    let names = |piece: &str| piece.rsplit_once('/').map(|(_, name)| name.to_owned());
    let names: Vec<String> = found.list.iter().filter_map(|piece| names(piece)).collect();
    names.iter().for_each(|name| found.add(name));
    found.list
}

struct SuspectWords {
    seen: HashSet<String>,
    list: Vec<String>,
}

impl SuspectWords {
    fn add(&mut self, word: &str) {
        let new = !word.is_empty() && self.list.len() < MAX_SUSPECTS;
        if new && !self.seen.contains(word) {
            self.seen.insert(word.to_owned());
            self.list.push(word.to_owned());
        }
    }
}
