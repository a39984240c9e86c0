//! Rust text without comments, strings and characters, so that what remains can be searched for words and braces.

/// The same number of lines, each without what only a reader or the program's user sees.
pub fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped(rest, after_word);
        let length = skipped.unwrap_or(first.len_utf8()).min(rest.len());
        let (piece, behind) = rest.split_at(length);
        match skipped {
            None => code.push(first),
            // A string still separates the words around it.
            Some(_) => {
                code.push(' ');
                code.extend(piece.chars().filter(|letter| *letter == '\n'));
            }
        }
        after_word = skipped.is_none() && (first.is_alphanumeric() || first == '_');
        rest = behind;
    }
    code
}

/// The strings of Rust text, each with the line that it begins on.
pub fn literals(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut rest, mut line, mut after_word) = (Vec::new(), text, 1, false);
    while let Some(first) = rest.chars().next() {
        let skipped = skipped(rest, after_word);
        let length = skipped.unwrap_or(first.len_utf8()).min(rest.len());
        let (piece, behind) = rest.split_at(length);
        let is_string = first == '"' || matches!(first, 'r' | 'b') && skipped.is_some();
        if is_string {
            let quotes = |c: char| matches!(c, '"' | '#');
            let inner = piece.trim_start_matches(['b', 'r']).trim_matches(quotes);
            found.push((line, inner));
        }
        line += piece.matches('\n').count();
        after_word = skipped.is_none() && (first.is_alphanumeric() || first == '_');
        rest = behind;
    }
    found
}

/// The length of the comment, string or character that begins here.
fn skipped(rest: &str, after_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    if after_word { None } else { raw(rest) }
}

/// From the opening quote to the closing one, which no backslash escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if !escaped && letter == quote {
            return at + 1;
        }
        escaped = !escaped && letter == '\\';
    }
    rest.len()
}

/// None for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1);
    let (_, first) = letters.next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    letters.next().filter(|(_, letter)| *letter == '\'').map(|(at, _)| at + 1)
}

fn raw(rest: &str) -> Option<usize> {
    let behind = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let begin = rest.len() - behind.len() + hashes + 1;
    behind.trim_start_matches('#').strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let body = rest.get(begin..)?;
    Some(body.find(&end).map_or(rest.len(), |at| begin + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_their_lines() {
        let text = "let a = \"one\"; // \"two\"\nlet b = r#\"three \"x\"\"#;\nlet c = '\"';\nf(\"fo\\\"ur\");";
        assert_eq!(literals(text), [(1, "one"), (2, "three \"x"), (4, "fo\\\"ur")]);
    }

    #[test]
    fn only_code_remains() {
        for (text, expected) in [
            ("a // {\nb", "a  \nb"),
            ("a /* {\n} */ b", "a  \n b"),
            ("x(\"{ \\\" {\", y)", "x( , y)"),
            ("r#\"{\"{\"#;", " ;"),
            ("for r in 'a: {}", "for r in 'a: {}"),
            ("match c { '{' | '\\'' => 1 }", "match c {   |   => 1 }"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        ] {
            assert_eq!(code_only(text), expected, "{text}");
        }
    }
}
