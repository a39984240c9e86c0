//! Words that a program hands on: cargo to the compiler and the formatter, tar to another host.

use super::inner_commands::caution;
use ostler_policy::Caution;
use ostler_policy::script::Word;

/// `host:archive`.
pub(super) fn fetched(words: &[Word]) -> Vec<Caution> {
    let remote = |(at, word): (usize, &Word)| {
        let before = word.literal()?.split('/').next().unwrap_or_default();
        before.contains(':').then(|| caution(at, "tar may fetch the archive from a host"))
    };
    words.iter().enumerate().skip(1).filter_map(remote).collect()
}

/// What cargo hands on behind `--` to the compiler or the formatter, unless it is about lints or only checks; and a
/// target that is a file, for such a file names a linker.
pub(super) fn on(words: &[Word]) -> Vec<Caution> {
    let literal = |at: usize| words.get(at).and_then(Word::literal).unwrap_or_default();
    let mut found = Vec::new();
    for at in (1..words.len()).filter(|at| literal(*at).ends_with(".json")) {
        found.push(caution(at, "a custom target file can name a linker"));
    }
    let log = |at: &usize| literal(*at).starts_with("--logfile");
    for at in (1..words.len()).filter(log) {
        found.push(caution(at, "the tests write a file"));
    }
    let takes = ["clippy", "fmt", "rustc", "rustdoc"].contains(&literal(1));
    let behind = words.iter().position(|word| word.literal() == Some("--"));
    let Some(behind) = behind.filter(|_| takes) else { return found };
    let is_lint = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:".contains(c))
    };
    let mut at = behind + 1;
    while at < words.len() {
        let (word, value) = (literal(at), literal(at + 1));
        let lint = word.strip_prefix(['-']).filter(|rest| rest.starts_with(['D', 'W', 'A', 'F']));
        match (literal(1), lint) {
            ("clippy" | "rustc", Some(rest)) if rest.len() > 1 && is_lint(rest) => {}
            ("clippy" | "rustc", Some(rest)) if rest.len() == 1 && is_lint(value) => at += 1,
            ("fmt", _) if matches!(word, "--check" | "-l" | "-v" | "-q") => {}
            _ => found.push(caution(at, format!("{word} is passed on to another program"))),
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lints_are_plain_and_the_rest_is_not() {
        for (line, cautions) in [
            ("cargo clippy -- -D warnings", 0),
            ("cargo clippy --all -- -Dwarnings -W clippy::all", 0),
            ("cargo fmt --all -- --check", 0),
            ("cargo test -- --nocapture -C x", 0),
            ("cargo test -- --logfile x", 1),
            ("cargo clippy -- -C linker=./x", 2),
            ("cargo clippy -- -Zcodegen-backend=./x.so", 1),
            ("cargo clippy -- -D warnings @x", 1),
            ("cargo fmt -- --config-path x", 2),
            ("cargo build --target ./evil.json", 1),
        ] {
            let words: Vec<Word> = line.split(' ').map(|w| Word::Literal(w.into())).collect();
            assert_eq!(on(&words).len(), cautions, "{line}");
        }
    }
}
