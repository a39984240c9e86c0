//! Arguments as words: split at blanks, with quotes for those that hold some.

/// `a "b c" d\ e` is three words. A quote that does not end is a character like any other.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = first(rest);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn first(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            c if c.is_whitespace() => return (word, rest),
            '"' | '\'' => match after.split_once(c) {
                Some((inner, behind)) => {
                    word.push_str(inner);
                    rest = behind;
                }
                None => {
                    word.push(c);
                    rest = after;
                }
            },
            '\\' => {
                let next = after.chars().next();
                word.push(next.unwrap_or('\\'));
                rest = after.get(next.map_or(0, char::len_utf8)..).unwrap_or_default();
            }
            c => {
                word.push(c);
                rest = after;
            }
        }
    }
    (word, rest)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn table() {
        for (text, expected) in [
            ("", vec![]),
            ("  a  b ", vec!["a", "b"]),
            ("\"a b\" c", vec!["a b", "c"]),
            ("'a \"b' c", vec!["a \"b", "c"]),
            ("a\\ b c", vec!["a b", "c"]),
            ("it's fine", vec!["it's", "fine"]),
            ("\"\" x", vec!["", "x"]),
            ("a\\", vec!["a\\"]),
            ("ä\"ö ü\"", vec!["äö ü"]),
            ("a\nb\tc", vec!["a", "b", "c"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }
}
