//! The text of a web page, for error messages.

/// Tags that only a page has. A model's own words such as `<thinking>` are not markup.
const TAGS: [&str; 12] =
    ["!doctype", "html", "head", "body", "title", "h1", "h2", "p", "br", "div", "center", "hr"];
/// Elements whose content nobody reads.
const HIDDEN: [&str; 4] = ["script", "style", "head", "svg"];
const ENTITIES: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];
/// What is looked at of a long page.
const MOST: usize = 64 << 10;

pub fn is_markup(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = rest.get(at + 1..).unwrap_or_default();
        let name = name(rest);
        if TAGS.contains(&name.as_str()) {
            return true;
        }
    }
    false
}

/// Without tags, scripts and styles; the common entities are decoded.
pub fn text(page: &str) -> String {
    let end = (0..=MOST.min(page.len())).rev().find(|&at| page.is_char_boundary(at)).unwrap_or(0);
    let mut rest = page.get(..end).unwrap_or_default();
    let mut out = String::new();
    while let Some(at) = rest.find('<') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        let name = name(rest);
        if name.is_empty() {
            // A lone angle bracket: `a < b`.
            out.push('<');
            continue;
        }
        out.push(' ');
        if HIDDEN.contains(&name.as_str()) {
            rest = after_end(rest, &name);
        }
        rest = rest.split_once('>').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    ENTITIES.iter().fold(out, |text, (entity, meant)| text.replace(entity, meant))
}

/// The name of the tag that begins here, in small letters; empty if none does.
fn name(rest: &str) -> String {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let is_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '!' | '-');
    rest.chars().take_while(is_name).take(20).collect::<String>().to_ascii_lowercase()
}

fn after_end<'a>(text: &'a str, element: &str) -> &'a str {
    let mark = format!("</{element}");
    let lower = text.to_ascii_lowercase();
    lower.find(&mark).and_then(|at| text.get(at + mark.len()..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_text_and_words_stay() {
        for (page, expected) in [
            (
                "<html><head><title>x</title></head><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>",
                "502 Bad Gateway nginx",
            ),
            (
                "upstream said: <P>no <b>room</b> &amp; no time</P>",
                "upstream said: no room & no time",
            ),
            ("<body><script>if (a < b) { alert('<p>') }</script>Sorry", "Sorry"),
            ("<div>unclosed <a href=\"x", "unclosed"),
            ("<body>a < b</body>", "a < b"),
        ] {
            assert!(is_markup(page), "{page}");
            let words = text(page);
            let words: Vec<&str> = words.split_whitespace().collect();
            assert_eq!(words.join(" "), expected);
        }
        for words in ["expected <thinking> first", "a < b", "5 > 4", "use <tool_use>", "<", "</"] {
            assert!(!is_markup(words), "{words}");
        }
    }

    #[test]
    fn a_long_page_is_bounded() {
        assert!(text(&format!("<p>{}", "é".repeat(MOST))).len() <= MOST + 1);
        assert_eq!(text(&"<p".repeat(MOST)).trim(), "");
    }
}
