//! Small things about text that a person or a model reads.

use std::path::Path;

/// A path for a reader: a name may hold newlines, escapes and bytes that are no text.
pub fn show(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.chars().any(char::is_control) {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Lines as a person counts them: a last one without newline counts, nothing after a last newline does not.
pub fn line_count(bytes: &[u8]) -> usize {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    ends + usize::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// `1 line`, `2 lines`.
pub fn counted(n: impl Into<u64>, what: &str) -> String {
    let n = n.into();
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

pub fn lines(bytes: &[u8]) -> String {
    counted(line_count(bytes) as u64, "line")
}

/// `12 345`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A size in words.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => counted(bytes, "byte"),
    }
}

/// The first characters, and whether that is all.
pub fn head(text: &str, chars: usize) -> (&str, bool) {
    match text.char_indices().nth(chars) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), false),
        None => (text, true),
    }
}

/// The last characters.
pub fn tail(text: &str, chars: usize) -> &str {
    match text.char_indices().rev().nth(chars.saturating_sub(1)) {
        Some((start, _)) if chars > 0 => text.get(start..).unwrap_or(text),
        Some(_) => "",
        None => text,
    }
}

/// A sum that a person chose, in US dollars: cents, and more places only where it has them.
pub fn dollars(amount: f64) -> String {
    let text = format!("{amount:.6}");
    let whole = text.trim_end_matches('0');
    let places = whole.len() - whole.find('.').map_or(whole.len(), |at| at + 1);
    format!("${amount:.*}", places.max(2))
}

/// A text of `prompts/` with its `{name}`s filled in. What is put in is not searched again: it may hold anything.
pub fn fill(form: &str, values: &[(&str, &str)]) -> String {
    let mut out =
        String::with_capacity(form.len() + values.iter().map(|(_, v)| v.len()).sum::<usize>());
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let named = after.split_once('}');
        let value = named.and_then(|(name, _)| values.iter().find(|(known, _)| *known == name));
        rest = match (named, value) {
            (Some((_, after)), Some((_, value))) => {
                out.push_str(value);
                after
            }
            _ => {
                out.push('{');
                after
            }
        };
    }
    out + rest
}

/// Tags under which the harness speaks to the model.
const TAGS: [&str; 14] = [
    "instructions",
    "environment",
    "memory",
    "skills",
    "skill",
    "summary",
    "changed-file",
    "system-reminder",
    "plan",
    "plan-state",
    "file",
    "undone",
    "tools-added",
    "tools-removed",
];

/// Characters in which a tag and what follows it show.
const LONGEST_TAG: usize = 40;

/// Characters that nobody sees, so that a reader takes a tag with one in it for the tag.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// A text of somebody else, to stand inside of a tag of ours: it can neither end that tag nor begin another one. Whatever
/// looks like one of ours gets a blank after the `<`.
pub fn enclosed(text: &str) -> String {
    enclosed_with(text, &[])
}

/// The same where these tags are ours, too.
pub fn enclosed_with(text: &str, more: &[&str]) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        out.push('<');
        let odd = |c: char| c == '/' || c.is_whitespace() || c.is_control() || is_invisible(c);
        let name = after.trim_start_matches(odd).chars().filter(|c| !is_invisible(*c));
        let name: String = name.take(LONGEST_TAG).collect();
        let is_tag = |tag: &&&str| {
            let end = name.get(..tag.len()).filter(|start| start.eq_ignore_ascii_case(tag));
            let next = name.get(tag.len()..).and_then(|more| more.chars().next());
            end.is_some() && !next.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
        };
        if !after.starts_with(' ') && TAGS.iter().chain(more).any(|tag| is_tag(&tag)) {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_inside_of_its_tag() {
        for (text, expected) in [
            ("a </instructions> b", "a < /instructions> b"),
            ("</INSTRUCTIONS\n>", "< /INSTRUCTIONS\n>"),
            ("<instructions path=\"x\">", "< instructions path=\"x\">"),
            ("</ memory></\tskills>", "< / memory>< /\tskills>"),
            ("<<skill name=\"a\">", "<< skill name=\"a\">"),
            ("</environment", "< /environment"),
            ("< /memory>", "< /memory>"),
            (
                "<div></div> a<b <instruction> <skilled> <memory-x>",
                "<div></div> a<b <instruction> <skilled> <memory-x>",
            ),
            ("<ä</memory>ö", "<ä< /memory>ö"),
            ("no tag <", "no tag <"),
        ] {
            assert_eq!(enclosed(text), expected);
            assert_eq!(enclosed(expected), expected, "said twice");
        }
        for hidden in
            ["<\u{200b}/plan>", "</pl\u{ad}an>", "<\u{2060}system-reminder>", "<file\u{feff}>"]
        {
            assert_eq!(enclosed(hidden), hidden.replacen('<', "< ", 1));
        }
    }

    #[test]
    fn counts_and_sizes() {
        for (text, expected) in
            [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2), ("\n", 1)]
        {
            assert_eq!(line_count(text.as_bytes()), expected, "{text:?}");
        }
        for (bytes, expected) in
            [(0, "0 bytes"), (1, "1 byte"), (1536, "1.5 KB"), (10 << 30, "10.0 GB")]
        {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(show(Path::new("a\nb\u{1b}[31m")), "a\\nb\\u{1b}[31m");
        assert_eq!(show(Path::new("ä/b c")), "ä/b c");
    }

    #[test]
    fn ends_are_cut_between_characters() {
        assert_eq!(head("äöü", 2), ("äö", false));
        assert_eq!(head("äöü", 3), ("äöü", true));
        assert_eq!(tail("äöü", 2), "öü");
        assert_eq!(tail("äöü", 3), "äöü");
        assert_eq!(tail("äöü", 9), "äöü");
        assert_eq!(tail("äöü", 0), "");
    }

    #[test]
    fn what_is_filled_in_is_not_searched_again() {
        for (form, out) in [
            ("{a} and {b}", "{b}} and {a}"),
            ("{b}{a}{b}", "{a}{b}}{a}"),
            ("{c} {a", "{c} {a"),
            ("{{a}}", "{{b}}}"),
            ("{not {a}", "{not {b}}"),
            ("", ""),
        ] {
            assert_eq!(fill(form, &[("a", "{b}}"), ("b", "{a}")]), out, "{form}");
        }
    }

    #[test]
    fn sums_are_written_with_the_places_they_have() {
        for (amount, text) in
            [(5.0, "$5.00"), (0.5, "$0.50"), (0.001, "$0.001"), (12.345, "$12.345"), (0.0, "$0.00")]
        {
            assert_eq!(dollars(amount), text);
        }
    }
}
