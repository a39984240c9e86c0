//! Where a sentence ends: at its mark, whatever follows, unless the point is one of an abbreviation.

/// Something always follows these.
const OPEN: [&str; 18] = [
    "e.g", "eg", "i.e", "ie", "vs", "mr", "mrs", "ms", "dr", "prof", "cf", "approx", "ca", "resp",
    "incl", "excl", "z.b", "d.h",
];
/// A sentence may end with these, or continue.
const EITHER: [&str; 14] =
    ["etc", "max", "min", "no", "nr", "inc", "ltd", "fig", "sec", "al", "a.m", "p.m", "usw", "bzw"];
/// So a request begins.
const REQUESTS: [&str; 30] = [
    "add", "and", "also", "can", "change", "check", "could", "delete", "deploy", "do", "fix", "go",
    "i", "let", "make", "now", "ok", "please", "push", "remove", "run", "so", "then", "update",
    "we", "will", "would", "write", "you", "next",
];
/// So begins what limits the sentence before it.
const LIMITS: [&str; 4] = ["except", "unless", "otherwise", "only"];
/// May stand between the mark and the blank.
const CLOSING: [char; 7] = ['"', '\'', ')', '*', '_', '”', '`'];

/// The first sentence of the text, and what follows it.
pub fn cut(text: &str) -> Option<(&str, &str)> {
    let mut marks = text.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | ';'));
    marks.find_map(|(at, mark)| {
        let after = text.get(at + 1..)?;
        let rest = after.trim_start_matches(CLOSING);
        if !rest.starts_with(char::is_whitespace) || rest.trim_start().is_empty() {
            return None;
        }
        let before = text.get(..at)?;
        if mark == '.' && goes_on(before, rest.trim_start()) {
            return None;
        }
        let end = text.len() - rest.len();
        let sentence = text.get(..end)?.trim_end_matches(';').trim();
        Some((sentence, rest.trim_start()))
    })
}

/// Is the point between the two one of an abbreviation?
fn goes_on(before: &str, rest: &str) -> bool {
    let last = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let last = last.trim_start_matches(CLOSING).to_lowercase();
    if OPEN.contains(&last.as_str()) {
        return true;
    }
    let letter = last.chars().count() == 1 && last.chars().all(char::is_alphabetic);
    let capital = rest.starts_with(|c: char| c.is_uppercase());
    (letter || EITHER.contains(&last.as_str()))
        && !capital
        && !REQUESTS.contains(&first_word(rest).as_str())
}

/// The sentence before this one holds only with what this one says.
pub fn limits(rest: &str) -> bool {
    LIMITS.contains(&first_word(rest).as_str())
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphabetic()).collect::<String>().to_lowercase()
}

/// What is opened in it is closed in it.
pub fn is_whole(sentence: &str) -> bool {
    let count = |mark: char| sentence.matches(mark).count();
    count('`').is_multiple_of(2) && count('"').is_multiple_of(2) && count('(') == count(')')
}
