//! One line for a person out of whatever a server sent.

use crate::html;

const LONGEST_LINE: usize = 300;

/// The words of a body that is no document of the protocol: its text, or the title of a web page.
pub fn of_body(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.trim_start().starts_with('<') {
        true => match title(&text) {
            Some(title) => format!("a web page titled \"{}\"", one_line(&html::text(title))),
            None => "a web page".into(),
        },
        false => without_markup(&text),
    }
}

/// One line without markup: gateways put whole pages into their messages.
pub fn without_markup(message: &str) -> String {
    match html::is_markup(message) {
        true => one_line(&html::text(message)),
        false => one_line(message),
    }
}

fn title(html: &str) -> Option<&str> {
    let lower = html.to_ascii_lowercase();
    let from = lower.find("<title>")? + "<title>".len();
    let to = from + lower.get(from..)?.find('<')?;
    html.get(from..to).map(str::trim).filter(|title| !title.is_empty())
}

/// One line of bounded length, without control characters.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > LONGEST_LINE {
            let cut = (0..LONGEST_LINE).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
            line.truncate(cut);
            line.push('…');
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_become_one_line() {
        let table: &[(&str, &str)] = &[
            (
                "<html><head><title> 502 Bad\nGateway </title></head><body><h1>secret page</h1>",
                "a web page titled \"502 Bad Gateway\"",
            ),
            ("  <!DOCTYPE html><p>hi", "a web page"),
            ("<html><title>", "a web page"),
            ("upstream gone\r\n\x1b[31m", "upstream gone [31m"),
            ("", ""),
        ];
        for (body, expected) in table {
            assert_eq!(of_body(body.as_bytes()), *expected, "{body}");
        }
    }

    #[test]
    fn a_line_is_short_and_whole() {
        let line = one_line(&"äöü ".repeat(1_000));
        assert!(line.len() <= LONGEST_LINE + '…'.len_utf8() && line.ends_with('…'), "{line}");
        assert_eq!(one_line("a\n\t b\u{0}c"), "a b c");
        assert!(one_line(&"x".repeat(100_000)).len() < 310);
    }
}
