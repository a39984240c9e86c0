//! Names of trees, which are names of directories and branches, too.

const MOST_CHARS: usize = 40;
const MOST_ALTERNATES: usize = 500;
const UNNAMED: &str = "tree";

/// Lower case, so that no two differ in case only: `Fix the parser!` becomes `fix-the-parser`.
pub fn tree_name(wanted: &str) -> String {
    let mut name = String::new();
    for c in wanted.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    name.truncate(MOST_CHARS);
    let name = name.trim_end_matches('-');
    if name.is_empty() { UNNAMED.to_owned() } else { name.to_owned() }
}

/// The name, then the same with numbers.
pub(crate) fn alternates(wanted: &str) -> impl Iterator<Item = String> {
    let name = tree_name(wanted);
    (1..=MOST_ALTERNATES).map(move |number| match number {
        1 => name.clone(),
        _ => format!("{name}-{number}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_name_that_git_and_every_file_system_accept() {
        for (wanted, name) in [
            ("Fix the parser!", "fix-the-parser"),
            ("fix/..//parser.lock", "fix-parser-lock"),
            ("größe\nändern", "gr-e-ndern"),
            ("-x-", "x"),
            ("日本", "tree"),
            ("", "tree"),
            ("FIX", "fix"),
            (&"ab-".repeat(40), "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a"),
        ] {
            assert_eq!(tree_name(wanted), name, "{wanted:?}");
        }
        let first: Vec<String> = alternates("Fix").take(3).collect();
        assert_eq!(first, ["fix", "fix-2", "fix-3"]);
    }
}
