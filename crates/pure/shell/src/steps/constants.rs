//! Words that are constants although they do not look it: a here-document through `cat`, a variable that one assignment
//! sets, a loop over words.

use super::walk::StepWalk;
use crate::options::HOME;
use ostler_policy::script::*;
use std::borrow::Cow;

/// So many values of loops become steps of their own, so that rules see every one of them.
const MAX_SPELLED: usize = 8;

/// Commands that change the shell itself: each value in turn would add up.
const KEPT: &[&str] = &["cd", "pushd", "popd", "source", ".", "eval", "trap", "exec", "set"];

/// The words, with what `"$(cat <<'E' …)"` holds in its place.
pub(super) fn folded(words: &[Word]) -> Cow<'_, [Word]> {
    let mut folded = Cow::Borrowed(words);
    for (at, word) in words.iter().enumerate() {
        if let Some(text) = fold(word)
            && let Some(word) = folded.to_mut().get_mut(at)
        {
            *word = text;
        }
    }
    folded
}

fn fold(word: &Word) -> Option<Word> {
    let Word::Dynamic { parts, .. } = word else { return None };
    let mut text = String::new();
    let mut found = false;
    for part in parts {
        match part {
            WordPart::Literal(literal) => text.push_str(literal),
            WordPart::Command { script, quoted: true } => {
                // The shell takes every newline at the end away.
                text.push_str(shown_document(script)?.trim_end_matches('\n'));
                found = true;
            }
            _ => return None,
        }
    }
    (found && !text.contains(HOME)).then_some(Word::Literal(text))
}

/// `cat` with nothing but a here-document of known text.
fn shown_document(script: &Script) -> Option<&str> {
    let [Item { first, rest, background: false }] = script.items.as_slice() else { return None };
    let Pipeline { negated: false, timed: false, stages } = first else { return None };
    let [PipelineStage::Simple(Command { assignments, words, redirects })] = stages.as_slice()
    else {
        return None;
    };
    match (words.as_slice(), redirects.as_slice()) {
        ([Word::Literal(name)], [document])
            if name == "cat" && rest.is_empty() && assignments.is_empty() =>
        {
            let is_input = document.kind == RedirectKind::HereDocument
                && matches!(document.fd, None | Some(0));
            document.target.literal().filter(|_| is_input)
        }
        _ => None,
    }
}

/// The variable that a pipeline sets, where that is all it does, and the value.
fn set_by(pipeline: &Pipeline) -> Option<(&str, &Word)> {
    let Pipeline { negated: false, timed: false, stages } = pipeline else { return None };
    let [PipelineStage::Simple(Command { assignments, words, redirects })] = stages.as_slice()
    else {
        return None;
    };
    let [Assignment { name, index: None, append: false, value }] = assignments.as_slice() else {
        return None;
    };
    match value {
        Assigned::Scalar(value @ Word::Literal(_)) if words.is_empty() && redirects.is_empty() => {
            Some((name, value))
        }
        _ => None,
    }
}

impl StepWalk {
    /// What follows in the same list of commands sees the value.
    pub(super) fn keep_constant(&mut self, pipeline: &Pipeline) {
        if let Pipeline { negated: false, timed: false, stages } = pipeline
            && let [PipelineStage::Simple(Command { assignments, words, redirects })] =
                stages.as_slice()
            && words.is_empty()
            && redirects.is_empty()
        {
            assignments.iter().for_each(|assignment| self.numbers.enter(&assignment.name));
        }
        if let Some((name, value)) = set_by(pipeline)
            && self.bindings.enter(name, Some(std::slice::from_ref(value)))
        {
            self.loops.push(name.to_owned());
        }
    }

    /// The words once for each value of the variables in them, where that leaves nothing unknown.
    pub(super) fn spelled(&self, words: &[Word]) -> Option<Vec<Vec<Word>>> {
        let is_kept = |name: &str| KEPT.contains(&name);
        let open = |word: &&Word| matches!(word, Word::Dynamic { .. });
        if words.first().and_then(Word::literal).is_some_and(is_kept)
            || !words.iter().any(|word| open(&word))
            || !words.iter().filter(open).all(|word| self.bindings.holds(word))
        {
            return None;
        }
        let variants = self.bindings.variants(words);
        let literal = |word: &Word| word.literal().is_some_and(|text| !text.contains(HOME));
        let known = |words: &Vec<Word>| {
            words.iter().all(|word| literal(word) || matches!(word, Word::Glob(_)))
        };
        let values = |(old, new): (&Word, &Word)| !open(&old) || literal(new);
        let spelled = |new: &Vec<Word>| words.iter().zip(new).all(values);
        let fine = variants.len() <= MAX_SPELLED && variants.iter().all(|v| known(v) && spelled(v));
        let named = |words: &Vec<Word>| {
            words.first().and_then(Word::literal).is_some_and(|name| !is_kept(name))
        };
        (fine && variants.iter().all(named)).then_some(variants)
    }
}
