//! Words that hold a number: judged with one in their place.

use super::folders::Move;
use super::integer_variables::{ANY, may_be_negative};
use super::judge::StepVerdict;
use super::walk::StepWalk;
use ostler_policy::script::{Dynamic, Word};

impl StepWalk {
    /// The words with the values of loops, and with numbers where nothing else is known.
    pub(super) fn with_numbers(
        &mut self,
        index: usize,
        name: &str,
        words: &[Word],
    ) -> Vec<Vec<Word>> {
        let mut made = self.bindings.variants(words);
        let compares = |word: &Word| {
            matches!(word.literal(), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"))
        };
        let in_test = matches!(name, "test" | "[") && words.iter().any(compares);
        let is_number = |word: &Word| self.numbers.resolve(word, ANY, in_test).is_some();
        if !words.iter().any(is_number) {
            return made;
        }
        let resolved = |words: &[Word], number: &str| -> Vec<Word> {
            let one = |word: &Word| self.numbers.resolve(word, number, in_test);
            words.iter().map(|word| one(word).unwrap_or_else(|| word.clone())).collect()
        };
        // As an option `-3` may mean something that `3` does not.
        let below: Vec<_> = match words.iter().any(may_be_negative) && !in_test {
            true => made.iter().map(|words| resolved(words, &format!("-{ANY}"))).collect(),
            false => Vec::new(),
        };
        made.iter_mut().for_each(|words| *words = resolved(words, ANY));
        made.extend(below);
        let numbers: Vec<bool> = words.iter().map(is_number).collect();
        self.change(index, |step| {
            mark(&mut step.words, &numbers);
            mark(&mut step.normal, &numbers);
        });
        made
    }
}

impl StepVerdict {
    /// A number is a file, a directory or a host to it; which one is not known.
    pub(super) fn names_number(&self) -> bool {
        let paths = self.touches.iter().map(|touch| &touch.path);
        let moves = match &self.moves {
            Some(Move::To(to) | Move::Push(to)) => Some(to),
            _ => None,
        };
        let mut names = paths.chain(&self.folder).chain(&self.hosts).chain(moves);
        names.any(|name| name.contains(ANY))
    }
}

/// Says of words that they hold a number.
fn mark(words: &mut [Word], numbers: &[bool]) {
    if words.len() != numbers.len() {
        return;
    }
    for (word, number) in words.iter_mut().zip(numbers) {
        if let (Word::Dynamic { why, .. }, true) = (word, number) {
            *why = Dynamic::Number;
        }
    }
}
