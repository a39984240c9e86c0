//! A page as Markdown, for a model to read: headings, lists, tables, code and links stay, everything that only looks or
//! acts is dropped. One pass; nothing nests in memory but lists and links.

use super::html::{HtmlToken, HtmlTokens, attribute, decoded};
use super::link::absolute;

/// Elements whose content nobody reads.
const HIDDEN: [&str; 10] = [
    "script", "style", "template", "noscript", "svg", "iframe", "object", "button", "select",
    "textarea",
];
/// Elements that begin and end a block of their own.
const BLOCKS: [&str; 24] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "address",
    "dl",
    "dt",
    "dd",
    "details",
    "summary",
    "table",
    "ul",
    "ol",
    "body",
    "center",
];
/// How deep lists and quotes are shown.
const DEEPEST: usize = 8;
const LONGEST_LINK: usize = 2_000;

/// The title and the text. Stops after so many bytes.
pub fn markdown(page: &str, base: &str, most: usize) -> (Option<String>, String) {
    let mut writer = MarkdownWriter { base, ..MarkdownWriter::default() };
    for token in HtmlTokens::new(page) {
        if writer.out.len() > most {
            break;
        }
        match token {
            HtmlToken::Open { name, attributes } => writer.open(&name, attributes),
            HtmlToken::Close { name } => writer.close(&name),
            HtmlToken::Text(text) => writer.text(text),
        }
    }
    let title = writer.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    (title.filter(|title| !title.is_empty()), writer.out.trim().to_owned())
}

#[derive(Default)]
struct MarkdownWriter<'a> {
    base: &'a str,
    out: String,
    title: Option<String>,
    in_title: bool,
    /// The hidden element that is open, and how often.
    hidden: Option<(String, usize)>,
    /// Line breaks that are due before the next text.
    due: usize,
    /// A blank is due before the next text.
    blank: bool,
    /// For each list that is open: the number of the next item; none if it has no numbers.
    lists: Vec<Option<usize>>,
    quotes: usize,
    pre: usize,
    /// Where each open link goes, and where its text began.
    links: Vec<(Option<String>, usize)>,
    /// Cells of the row so far, and whether the table has had a row.
    cells: usize,
    has_row: bool,
}

impl MarkdownWriter<'_> {
    fn open(&mut self, name: &str, attributes: &str) {
        if let Some((element, depth)) = &mut self.hidden {
            *depth += usize::from(element == name);
            return;
        }
        let is_closed = attributes.trim_end().ends_with('/');
        match name {
            "title" => self.in_title = true,
            _ if HIDDEN.contains(&name) => {
                if !is_closed {
                    self.hidden = Some((name.to_owned(), 1));
                }
            }
            "br" => self.break_lines(1),
            "hr" => {
                self.break_lines(2);
                self.write("---");
                self.break_lines(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_lines(2);
                let level = name.get(1..).and_then(|level| level.parse().ok()).unwrap_or(1);
                self.write(&"#".repeat(level));
                self.blank = true;
            }
            "ul" | "ol" => {
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push((name == "ol").then_some(1));
            }
            "li" => self.item(),
            "blockquote" => {
                self.break_lines(2);
                self.quotes += 1;
            }
            "pre" => {
                self.break_lines(2);
                self.write("```");
                self.break_lines(1);
                self.pre += 1;
            }
            _ if BLOCKS.contains(&name) && name != "table" => self.break_lines(2),
            _ => self.open_part(name, attributes),
        }
    }

    /// Parts of a table, and what stands within a line.
    fn open_part(&mut self, name: &str, attributes: &str) {
        match name {
            "tr" => {
                self.break_lines(1);
                self.cells = 0;
            }
            "td" | "th" => {
                self.write(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
                self.blank = false;
            }
            "table" => {
                self.break_lines(2);
                self.has_row = false;
            }
            "a" => {
                self.flush();
                let to = attribute(attributes, "href").and_then(|to| absolute(&to, self.base));
                let to = to.filter(|to| to.len() <= LONGEST_LINK);
                if to.is_some() {
                    self.write("[");
                }
                self.links.push((to, self.out.len()));
            }
            "img" => {
                let alt = attribute(attributes, "alt").unwrap_or_default();
                let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
                if !alt.is_empty() {
                    self.flush();
                    self.write(&format!("![{alt}]"));
                }
            }
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "code" | "kbd" | "samp" if self.pre == 0 => self.mark("`"),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((element, depth)) = &mut self.hidden {
            *depth -= usize::from(element == name);
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.break_lines(2),
            "ul" | "ol" => {
                self.lists.pop();
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
            }
            "li" => self.break_lines(1),
            "blockquote" => {
                self.break_lines(2);
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" if self.pre > 0 => {
                self.break_lines(1);
                self.pre -= 1;
                self.write("```");
                self.break_lines(2);
            }
            "tr" if self.cells > 0 => self.end_row(),
            "a" => self.end_link(),
            "strong" | "b" => self.end_mark("**"),
            "em" | "i" => self.end_mark("*"),
            "code" | "kbd" | "samp" if self.pre == 0 => self.end_mark("`"),
            _ if BLOCKS.contains(&name) => self.break_lines(2),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.get_or_insert_default().push_str(&decoded(text));
            return;
        }
        if self.hidden.is_some() {
            return;
        }
        let text = decoded(text);
        if self.pre > 0 {
            for (nth, line) in text.split('\n').enumerate() {
                if nth > 0 {
                    self.flush();
                    self.out.push('\n');
                    self.due = 0;
                    self.out.push_str(&self.prefix());
                }
                if !line.is_empty() {
                    self.write(line.trim_end_matches('\r'));
                }
            }
            return;
        }
        self.blank |= text.starts_with(char::is_whitespace);
        let mut words = text.split_whitespace().peekable();
        let is_empty = words.peek().is_none();
        for word in words {
            self.flush();
            self.out.push_str(word);
            self.blank = true;
        }
        if !is_empty {
            self.blank = text.ends_with(char::is_whitespace);
        }
    }

    fn item(&mut self) {
        self.break_lines(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}.", *number - 1)
            }
            _ => "-".to_owned(),
        };
        self.flush();
        let depth = self.lists.len().clamp(1, DEEPEST) - 1;
        self.out.push_str(&"  ".repeat(depth));
        self.out.push_str(&mark);
        self.blank = true;
    }

    fn end_row(&mut self) {
        self.write(" |");
        if !std::mem::replace(&mut self.has_row, true) {
            self.break_lines(1);
            let line = "|---".repeat(self.cells);
            self.write(&format!("{line}|"));
        }
        self.cells = 0;
        self.break_lines(1);
    }

    fn end_link(&mut self) {
        let Some((to, start)) = self.links.pop() else { return };
        let Some(to) = to else { return };
        match self.out.len() > start {
            true => self.out.push_str(&format!("]({to})")),
            // A link without words leads nowhere for a reader.
            false => self.out.truncate(start.saturating_sub(1)),
        }
    }

    fn mark(&mut self, mark: &str) {
        self.flush();
        self.out.push_str(mark);
    }

    fn end_mark(&mut self, mark: &str) {
        match self.out.strip_suffix(mark) {
            Some(before) => self.out.truncate(before.len()),
            None => self.out.push_str(mark),
        }
    }

    fn write(&mut self, text: &str) {
        self.flush();
        self.out.push_str(text);
    }

    /// What is due before anything can be written.
    fn flush(&mut self) {
        if self.out.is_empty() {
            self.out.push_str(&self.prefix());
        } else if self.due > 0 {
            let prefix = self.prefix();
            for _ in 0..self.due {
                self.out.push('\n');
                self.out.push_str(&prefix);
            }
        } else if self.blank && !self.out.ends_with([' ', '\n', '[']) {
            self.out.push(' ');
        }
        (self.due, self.blank) = (0, false);
    }

    fn prefix(&self) -> String {
        "> ".repeat(self.quotes.min(DEEPEST))
    }

    fn break_lines(&mut self, lines: usize) {
        (self.due, self.blank) = (self.due.max(lines), false);
    }
}
