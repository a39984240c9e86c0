//! Brace expansion: `{a,b}` and `{1..3}`, worked out as bash does, within bounds.

use super::word::WordPiece;
use ostler_policy::script::WordPart;

const MAX_WORDS: usize = 256;
const MAX_UNITS: usize = 4096;
const MAX_OPENERS: usize = 32;
/// The shell may make so many words of one, and so many bytes.
const MAX_MADE: usize = 10_000;
const MAX_BYTES: u128 = 1 << 20;

pub(super) enum Expanded {
    /// Nothing in it expands.
    Same,
    Words(Vec<Vec<WordPiece>>),
    /// It expands to what is not worked out here, so many words at most.
    Unknown(usize),
    /// The braces change the name of a variable.
    Unclear,
    /// The shell would make more words of it than it should.
    TooMany,
}

/// A quick look: most words have no braces.
pub(super) fn may_expand(list: &[WordPiece]) -> bool {
    list.iter().any(|piece| matches!(piece, WordPiece::Bare(text) if text.contains('{')))
        && list.iter().any(|piece| matches!(piece, WordPiece::Bare(text) if text.contains('}')))
}

#[derive(Clone, Copy)]
enum BraceUnit<'a> {
    Char(char),
    Piece(&'a WordPiece),
}

impl BraceUnit<'_> {
    fn is(self, c: char) -> bool {
        matches!(self, BraceUnit::Char(own) if own == c)
    }
}

pub(super) fn expand(list: &[WordPiece]) -> Expanded {
    let mut units = Vec::new();
    for piece in list {
        match piece {
            WordPiece::Bare(text) => units.extend(text.chars().map(BraceUnit::Char)),
            other => units.push(BraceUnit::Piece(other)),
        }
        if units.len() > MAX_UNITS {
            return Expanded::TooMany;
        }
    }
    if units.iter().filter(|unit| unit.is('{')).count() > MAX_OPENERS {
        return Expanded::TooMany;
    }
    let made = most_words(&units);
    if made > MAX_MADE as u128 || made.saturating_mul(units.len() as u128) > MAX_BYTES {
        return Expanded::TooMany;
    }
    if first_braces(&units).is_none() {
        return Expanded::Same;
    }
    for pair in units.windows(2) {
        if let [
            BraceUnit::Piece(WordPiece::Part(WordPart::Parameter { quoted: false, .. }, _)),
            BraceUnit::Char('{'),
        ] = pair
        {
            return Expanded::Unclear;
        }
    }
    let known = |unit: &BraceUnit<'_>| match unit {
        BraceUnit::Char(c) => *c != '$',
        BraceUnit::Piece(WordPiece::Part(WordPart::Parameter { scripts, .. }, _)) => {
            scripts.is_empty()
        }
        BraceUnit::Piece(WordPiece::Part(..)) => false,
        BraceUnit::Piece(_) => true,
    };
    let unknown = Expanded::Unknown(usize::try_from(made).unwrap_or(MAX_MADE));
    if !units.iter().all(known) {
        return unknown;
    }
    match words(&units) {
        Some(words) => {
            // A word without a character and without quotes is no word.
            Expanded::Words(
                words.iter().filter(|word| !word.is_empty()).map(|word| joined(word)).collect(),
            )
        }
        None => unknown,
    }
}

/// An upper bound of the words the shell makes of it: as if all braces stood side by side.
fn most_words(units: &[BraceUnit<'_>]) -> u128 {
    let mut open: Vec<(usize, u128)> = Vec::new();
    let mut most = 1_u128;
    for (at, unit) in units.iter().enumerate() {
        match unit {
            BraceUnit::Char('{') => open.push((at + 1, 1)),
            BraceUnit::Char(',') => open.iter_mut().last().into_iter().for_each(|(_, n)| *n += 1),
            BraceUnit::Char('}') => {
                let Some((start, choices)) = open.pop() else { continue };
                let inner = units.get(start..at).unwrap_or_default();
                most = most.saturating_mul(choices.max(sequence_length(inner)));
            }
            _ => {}
        }
    }
    open.iter().fold(most, |most, (_, choices)| most.saturating_mul(*choices))
}

/// Of `1..9` and `1..9..2`; 1 for what is no sequence of numbers.
fn sequence_length(inner: &[BraceUnit<'_>]) -> u128 {
    let text: String = inner
        .iter()
        .map(|unit| match unit {
            BraceUnit::Char(c) => *c,
            BraceUnit::Piece(_) => '"',
        })
        .collect();
    let mut parts = text.split("..");
    let (Some(first), Some(last), step) = (parts.next(), parts.next(), parts.next()) else {
        return 1;
    };
    let is_number = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    if !is_number(first) || !is_number(last) {
        return if first.chars().count() == 1 && last.chars().count() == 1 { 128 } else { 1 };
    }
    match (first.parse::<i128>(), last.parse::<i128>()) {
        (Ok(a), Ok(b)) => {
            let step = step.and_then(|step| step.parse::<i128>().ok()).unwrap_or(1);
            a.abs_diff(b) / step.unsigned_abs().max(1) + 1
        }
        _ => u128::MAX,
    }
}

fn joined(units: &[BraceUnit<'_>]) -> Vec<WordPiece> {
    let mut list: Vec<WordPiece> = Vec::new();
    for unit in units {
        match (unit, list.last_mut()) {
            (BraceUnit::Char(c), Some(WordPiece::Bare(text))) => text.push(*c),
            (BraceUnit::Char(c), _) => list.push(WordPiece::Bare((*c).into())),
            (BraceUnit::Piece(piece), _) => list.push((*piece).clone()),
        }
    }
    list
}

/// The first braces that hold a comma or `..`: where they open and close.
fn first_braces(units: &[BraceUnit<'_>]) -> Option<(usize, usize)> {
    units.iter().enumerate().filter(|(_, unit)| unit.is('{')).find_map(|(open, _)| {
        closing(units.get(open + 1..)?).map(|length| (open, open + 1 + length))
    })
}

fn closing(units: &[BraceUnit<'_>]) -> Option<usize> {
    let at = |index: usize, c: char| units.get(index).is_some_and(|unit| unit.is(c));
    let (mut level, mut separated) = (0_usize, false);
    for index in 0..units.len() {
        if at(index, '}') && level == 0 && separated {
            return Some(index);
        }
        if at(index, '{') {
            level += 1;
        } else if at(index, '}') {
            level = level.saturating_sub(1);
        } else if level == 0 {
            separated |= at(index, ',');
            separated |= at(index, '.') && at(index + 1, '.') && !at(index + 2, '}');
        }
    }
    None
}

/// `None`: too many, or of a kind that is not worked out.
fn words<'a>(units: &[BraceUnit<'a>]) -> Option<Vec<Vec<BraceUnit<'a>>>> {
    let Some((open, close)) = first_braces(units) else { return Some(vec![units.to_vec()]) };
    let inner = units.get(open + 1..close)?;
    let choices = choices(inner)?;
    let rest = words(units.get(close + 1..)?)?;
    if choices.len() * rest.len() > MAX_WORDS {
        return None;
    }
    let before = units.get(..open)?;
    let mut made = Vec::new();
    for choice in &choices {
        for end in &rest {
            made.push([before, choice, end].concat());
        }
    }
    Some(made)
}

fn choices<'a>(inner: &[BraceUnit<'a>]) -> Option<Vec<Vec<BraceUnit<'a>>>> {
    let mut level = 0_usize;
    let mut split = vec![];
    let mut start = 0;
    for (index, unit) in inner.iter().enumerate() {
        match unit {
            BraceUnit::Char('{') => level += 1,
            BraceUnit::Char('}') => level = level.saturating_sub(1),
            BraceUnit::Char(',') if level == 0 => {
                split.push(inner.get(start..index)?);
                start = index + 1;
            }
            _ => {}
        }
    }
    if split.is_empty() {
        return sequence(inner);
    }
    // Where braces are left open inside, the shell splits in its own way.
    if level > 0
        || inner.iter().filter(|u| u.is('{')).count() != inner.iter().filter(|u| u.is('}')).count()
    {
        return None;
    }
    split.push(inner.get(start..)?);
    let mut made = Vec::new();
    for part in split {
        made.extend(words(part)?);
        if made.len() > MAX_WORDS {
            return None;
        }
    }
    Some(made)
}

fn sequence<'a>(inner: &[BraceUnit<'a>]) -> Option<Vec<Vec<BraceUnit<'a>>>> {
    let text: Option<String> = inner
        .iter()
        .map(|unit| match unit {
            BraceUnit::Char(c) => Some(*c),
            BraceUnit::Piece(_) => None,
        })
        .collect();
    let text = text?;
    let (first, last) = text.split_once("..")?;
    let (mut one, mut two) = (first.chars(), last.chars());
    if let (Some(a), None, Some(b), None) = (one.next(), one.next(), two.next(), two.next())
        && ((a.is_ascii_lowercase() && b.is_ascii_lowercase())
            || (a.is_ascii_uppercase() && b.is_ascii_uppercase()))
    {
        let letters: Vec<char> = if a <= b { (a..=b).collect() } else { (b..=a).rev().collect() };
        return Some(letters.into_iter().map(|c| vec![BraceUnit::Char(c)]).collect());
    }
    let number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let fine =
            !digits.is_empty() && digits.len() < 7 && digits.bytes().all(|b| b.is_ascii_digit());
        if fine { text.parse::<i64>().ok() } else { None }
    };
    let (a, b) = (number(first)?, number(last)?);
    let padded = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.len() > 1 && digits.starts_with('0')
    };
    let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
    let count = usize::try_from((a - b).abs()).ok()? + 1;
    if count > MAX_WORDS {
        return None;
    }
    let numbers: Vec<i64> = if a <= b { (a..=b).collect() } else { (b..=a).rev().collect() };
    let shown = |n: i64| format!("{n:0width$}").chars().map(BraceUnit::Char).collect();
    Some(numbers.into_iter().map(shown).collect())
}
