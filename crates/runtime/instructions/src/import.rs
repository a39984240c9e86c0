//! `@path` in a text: which files it names. What stands in code is not meant.

/// The paths as written, in order.
pub(crate) fn imports(text: &str) -> Vec<String> {
    let (mut found, mut fence) = (Vec::new(), None);
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (mark, fence) {
            (Some(mark), None) => fence = Some(mark),
            (Some(mark), Some(open)) if mark == open => fence = None,
            (None, None) => found.extend(in_line(line)),
            _ => {}
        }
    }
    found
}

fn in_line(line: &str) -> impl Iterator<Item = String> {
    // Between every other pair of backticks there is code.
    let plain: Vec<&str> = line.split('`').step_by(2).collect();
    let words: Vec<String> = plain
        .iter()
        .flat_map(|part| part.split_whitespace())
        .filter_map(|word| word.strip_prefix('@'))
        .map(|path| path.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']).to_owned())
        // A name of a person is no path.
        .filter(|path| path.contains(['/', '.']) && !path.contains('@'))
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::imports;

    #[test]
    fn what_is_an_import() {
        for (text, expected) in [
            ("see @docs/style.md.", vec!["docs/style.md"]),
            ("@a.md and @./b.md, (@c.md)", vec!["a.md", "./b.md"]),
            ("@~/.claude/mine.md", vec!["~/.claude/mine.md"]),
            ("`@code.md` and @real.md", vec!["real.md"]),
            ("```\n@in/fence.md\n```\n@after.md", vec!["after.md"]),
            ("~~~\n```\n@in.md\n~~~\n@out.md", vec!["out.md"]),
            ("mail me@here.org, ask @alice", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(imports(text), expected, "{text}");
        }
    }
}
