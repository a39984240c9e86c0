//! HTML as a row of tags and texts. It never fails: whatever is no tag is text, and nothing is looked at twice.

/// What stands next in a page.
#[derive(Debug, PartialEq, Eq)]
pub enum HtmlToken<'a> {
    Open { name: String, attributes: &'a str },
    Close { name: String },
    Text(&'a str),
}

/// Elements whose content is not markup.
const RAW: [&str; 5] = ["script", "style", "textarea", "title", "xmp"];
/// Bytes of a name.
const LONGEST_NAME: usize = 32;

pub struct HtmlTokens<'a> {
    rest: &'a str,
    /// The element in which there is nothing but text until it ends.
    raw: Option<String>,
    /// No `>` follows, so there is no need to look for one again.
    has_no_more_tags: bool,
}

impl<'a> HtmlTokens<'a> {
    pub fn new(page: &'a str) -> Self {
        HtmlTokens { rest: page, raw: None, has_no_more_tags: false }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// What `<` begins here; None: it is a character like any other.
    fn tag(&mut self) -> Option<Option<HtmlToken<'a>>> {
        if self.has_no_more_tags {
            return None;
        }
        let inner = self.rest.get(1..)?;
        if inner.starts_with("!--") {
            let end = inner.find("-->").map_or(self.rest.len(), |end| end + 4);
            self.take(end);
            return Some(None);
        }
        let is_close = inner.starts_with('/');
        let named = inner.strip_prefix('/').unwrap_or(inner);
        let first = named.chars().next()?;
        if !first.is_ascii_alphabetic() {
            // A declaration is dropped; `a < b` is text.
            let is_declaration = first == '!' || first == '?';
            let end = is_declaration.then(|| self.rest.find('>')).flatten()?;
            self.take(end + 1);
            return Some(None);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
        let length = named.find(|c: char| !is_name(c)).unwrap_or(named.len());
        let name = named.get(..length.min(LONGEST_NAME)).unwrap_or_default().to_ascii_lowercase();
        let before = 1 + usize::from(is_close) + length;
        let attributes = self.rest.get(before..).unwrap_or_default();
        let Some(end) = end_of_tag(attributes) else {
            self.has_no_more_tags = true;
            return None;
        };
        self.take(before + end + 1);
        let attributes = attributes.get(..end).unwrap_or_default();
        Some(Some(match is_close {
            true => HtmlToken::Close { name },
            false => {
                self.raw = RAW.contains(&name.as_str()).then(|| name.clone());
                HtmlToken::Open { name, attributes }
            }
        }))
    }

    /// The text up to the end of an element that holds nothing else.
    fn raw_text(&mut self, element: &str) -> &'a str {
        let mut from = 0;
        while let Some(at) = self.rest.get(from..).and_then(|rest| rest.find("</")) {
            let name = self.rest.get(from + at + 2..).unwrap_or_default();
            let start = name.get(..element.len());
            if start.is_some_and(|start| start.eq_ignore_ascii_case(element)) {
                return self.take(from + at);
            }
            from += at + 2;
        }
        self.take(self.rest.len())
    }
}

/// Where the `>` is that ends a tag: not one in quotes.
fn end_of_tag(attributes: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in attributes.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    // A quote that never ends: the first `>` after all.
    attributes.find('>')
}

impl<'a> Iterator for HtmlTokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(element) = self.raw.take() {
                let text = self.raw_text(&element);
                if !text.is_empty() {
                    return Some(HtmlToken::Text(text));
                }
                continue;
            }
            if self.rest.starts_with('<') {
                match self.tag() {
                    Some(Some(token)) => return Some(token),
                    Some(None) => continue,
                    None => {}
                }
            }
            let next = self.rest.get(1..).and_then(|rest| rest.find('<')).map(|at| at + 1);
            let next = match self.rest.starts_with('<') {
                true => next.unwrap_or(self.rest.len()),
                false => self.rest.find('<').unwrap_or(self.rest.len()),
            };
            return Some(HtmlToken::Text(self.take(next)));
        }
    }
}

/// The value of an attribute, decoded.
pub fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        let (value, behind) = match after.strip_prefix('=').map(str::trim_start) {
            None => ("", after),
            Some(value) => match value.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    let inner = value.get(1..).unwrap_or_default();
                    inner.split_once(quote).unwrap_or((inner, ""))
                }
                _ => {
                    let end = value.find(char::is_whitespace).unwrap_or(value.len());
                    value.split_at(end)
                }
            },
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decoded(value));
        }
        rest = behind;
    }
}

const ENTITIES: [(&str, &str); 34] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("shy", ""),
    ("zwnj", ""),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("times", "×"),
    ("para", "¶"),
    ("sect", "§"),
    ("euro", "€"),
    ("rarr", "→"),
    ("larr", "←"),
    ("check", "✓"),
    ("le", "≤"),
];
/// Bytes between `&` and `;`.
const LONGEST_ENTITY: usize = 10;

/// With its character references replaced. One that is not known stays as it is.
pub fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(LONGEST_ENTITY + 1).position(|byte| byte == b';');
        let name = end.and_then(|end| after.get(..end));
        match name.and_then(character) {
            Some(meant) => {
                out.push_str(&meant);
                rest = end.and_then(|end| after.get(end + 1..)).unwrap_or_default();
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

fn character(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        let known = ENTITIES.iter().find(|(known, _)| *known == name);
        return known.map(|(_, meant)| (*meant).to_owned());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let shown = |c: &char| !c.is_control() || c.is_whitespace();
    Some(char::from_u32(code).filter(shown).unwrap_or('\u{fffd}').to_string())
}
