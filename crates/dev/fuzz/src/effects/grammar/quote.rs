//! The same value as several kinds of words.

/// One of several ways to write the value as one word.
pub fn quoted(value: &str, way: usize) -> String {
    match way {
        0..=4 => format!("'{}'", value.replace('\'', "'\\''")),
        5 | 6 => format!("\"{}\"", bare(value)),
        7 => {
            let escaped = value.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            format!("$'{}'", escaped.replace('$', "\\x24"))
        }
        _ if is_plain(value) => value.to_owned(),
        _ => escaped(value),
    }
}

/// Inside double quotes or a here-document: it expands to itself.
pub fn bare(value: &str) -> String {
    let mut made = String::new();
    for c in value.chars() {
        if matches!(c, '$' | '`' | '"' | '\\') {
            made.push('\\');
        }
        made.push(c);
    }
    made
}

fn is_plain(value: &str) -> bool {
    // A pattern, a tilde and a brace stay as they are, so that they expand.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-~*?[]{},=:+%@".contains(c);
    !value.is_empty() && value.chars().all(plain)
}

fn escaped(value: &str) -> String {
    if value.is_empty() || value.contains('\n') {
        return format!("'{}'", value.replace('\'', "'\\''"));
    }
    let mut made = String::new();
    for c in value.chars() {
        if !c.is_ascii_alphanumeric() && !"._/-=:+%@".contains(c) {
            made.push('\\');
        }
        made.push(c);
    }
    made
}
