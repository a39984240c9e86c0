//! The front matter of a rule: the paths it applies to.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

/// Patterns that one rule may have, and bytes of its front matter.
const MOST: usize = 50;
const MOST_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
struct RuleFrontMatter {
    #[serde(default)]
    paths: Option<Paths>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

/// When a rule applies.
#[derive(Debug)]
pub(crate) enum Holds {
    Always,
    For(GlobSet),
    /// It is meant for some paths, but it is unclear for which.
    Never,
}

/// Line, and what is wrong there.
pub(crate) type RuleHeaderError = (usize, String);

#[derive(Debug)]
pub(crate) struct RuleHeader {
    pub(crate) holds: Holds,
    pub(crate) wrong: Vec<RuleHeaderError>,
}

/// A rule that was meant for some paths never applies to all, because it would then be sent in every session. If the
/// mistake in its front matter is elsewhere, it applies.
pub(crate) fn rule(whole: &str) -> RuleHeader {
    let (front, ends) = match split(whole) {
        FrontSplit::None => return RuleHeader { holds: Holds::Always, wrong: Vec::new() },
        FrontSplit::Open(rest) => (rest, false),
        FrontSplit::Front(front, _) => (front, true),
    };
    let read = match ends {
        false => Err((1, "its front matter has no end; write a line --- below it".to_owned())),
        true if front.len() > MOST_BYTES => Err((1, "its front matter is too long".to_owned())),
        true => yaml(front),
    };
    match read {
        Err((line, what)) => {
            let meant = front.lines().take(MOST).any(|line| line.starts_with("paths"));
            let (holds, end) = match meant {
                true => (Holds::Never, "the rule is not used"),
                false => (Holds::Always, "the rule applies to all files"),
            };
            RuleHeader { holds, wrong: vec![(line, format!("{what}; {end}"))] }
        }
        Ok(None) => RuleHeader { holds: Holds::Always, wrong: Vec::new() },
        Ok(Some(patterns)) => set(&patterns, front),
    }
}

/// The text below the front matter.
pub(crate) fn text(whole: &str) -> &str {
    match split(whole) {
        FrontSplit::Front(_, text) => text,
        FrontSplit::None | FrontSplit::Open(_) => whole,
    }
}

enum FrontSplit<'a> {
    None,
    /// It does not end.
    Open(&'a str),
    Front(&'a str, &'a str),
}

fn split(whole: &str) -> FrontSplit<'_> {
    let whole = whole.strip_prefix('\u{feff}').unwrap_or(whole);
    let Some(rest) = whole.strip_prefix("---\n").or_else(|| whole.strip_prefix("---\r\n")) else {
        return FrontSplit::None;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let (front, text) = (rest.get(..at), rest.get(at + line.len()..));
            return FrontSplit::Front(front.unwrap_or_default(), text.unwrap_or_default());
        }
        at += line.len();
    }
    FrontSplit::Open(rest)
}

/// The patterns, if there are to be any.
fn yaml(front: &str) -> Result<Option<Vec<String>>, RuleHeaderError> {
    let read = |text: &str| {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_depth: 16,
                max_nodes: 2_000,
                max_events: 8_000,
                max_aliases: 16,
                max_anchors: 16,
                max_documents: 1,
                max_merge_keys: 0,
                max_total_scalar_bytes: 2 * MOST_BYTES,
            },
        };
        ostler_yaml::read::<Option<RuleFrontMatter>>(text, options)
    };
    // Patterns are written without quotes everywhere, also those that YAML takes for something else.
    let front = read(front).or_else(|error| read(&quoted(front)).map_err(|_| error));
    let front =
        front.map_err(|error| (error.line + 1, "its front matter is not valid YAML".to_owned()))?;
    Ok(match front.and_then(|front| front.paths) {
        None => None,
        Some(Paths::One(line)) => Some(parts(&line)),
        Some(Paths::Many(all)) => Some(all),
    })
}

/// The same with patterns that begin with `*` or `{` in quotes.
fn quoted(front: &str) -> String {
    let mut out = String::with_capacity(front.len() + 16);
    for line in front.lines() {
        let value = line.strip_prefix("paths:").or_else(|| line.trim_start().strip_prefix("- "));
        match value.map(str::trim).filter(|value| value.starts_with(['*', '{'])) {
            Some(value) => {
                let key = line.get(..line.len() - line.trim_end().len()).unwrap_or_default();
                let before = line.find(value).and_then(|at| line.get(..at)).unwrap_or(key);
                out.push_str(&format!("{before}'{}'", value.replace('\'', "''")));
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Patterns between commas. A comma in braces, brackets or quotes is part of a pattern.
fn parts(line: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut braces, mut bracket, mut quote) = (0u32, false, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                part.push(c);
                part.extend(chars.next());
                continue;
            }
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() && part.trim().is_empty() => quote = Some(c),
            _ if quote.is_some() => {}
            '[' => bracket = true,
            ']' => bracket = false,
            '{' if !bracket => braces += 1,
            '}' if !bracket => braces = braces.saturating_sub(1),
            ',' if braces == 0 && !bracket => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    let bare = |part: String| unquoted(part.trim()).to_owned();
    parts.into_iter().map(bare).filter(|part| !part.is_empty()).collect()
}

fn unquoted(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    inner('"').or(inner('\'')).unwrap_or(text)
}

/// One that is not valid takes only itself out.
fn set(patterns: &[String], front: &str) -> RuleHeader {
    let (mut set, mut wrong, mut any) = (GlobSetBuilder::new(), Vec::new(), false);
    for pattern in patterns.iter().take(MOST) {
        let bare = pattern.trim_start_matches("./").trim_start_matches('/');
        // A directory means everything in it.
        let whole = if bare.ends_with('/') { format!("{bare}**") } else { bare.to_owned() };
        match GlobBuilder::new(&whole).literal_separator(true).build() {
            Ok(glob) => {
                set.add(glob);
                any = true;
            }
            Err(error) => {
                let what = format!("the pattern {pattern} is not valid: {}", error.kind());
                wrong.push((line_of(front, pattern), what));
            }
        }
    }
    if patterns.len() > MOST {
        wrong.push((line_of(front, "paths"), format!("only its first {MOST} patterns are used")));
    }
    match set.build() {
        Ok(set) if any => RuleHeader { holds: Holds::For(set), wrong },
        built => {
            let what =
                built.err().map_or("paths has no pattern".to_owned(), |error| error.to_string());
            let first = wrong.pop().unwrap_or((line_of(front, "paths"), what));
            wrong.push((first.0, format!("{}; the rule is not used", first.1)));
            RuleHeader { holds: Holds::Never, wrong }
        }
    }
}

/// The line in the file; the line of `---` comes before it.
fn line_of(front: &str, words: &str) -> usize {
    front.lines().position(|line| line.contains(words)).map_or(1, |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(paths: &str, path: &str) -> bool {
        let rule = rule(&format!("---\n{paths}\n---\ntext"));
        assert_eq!(rule.wrong, [], "{paths}");
        matches!(rule.holds, Holds::For(set) if set.is_match(path))
    }

    #[test]
    fn patterns_as_people_write_them() {
        for (paths, path, expected) in [
            ("paths: src/**/*.{ts,tsx}", "src/a/b.tsx", true),
            ("paths: src/**/*.{ts,tsx}", "src/a/b.rs", false),
            ("paths: {src,lib}/**/*.ts, tests/**/*.test.ts", "lib/x.ts", true),
            ("paths: {src,lib}/**/*.ts, tests/**/*.test.ts", "tests/a.test.ts", true),
            ("paths: {src,lib}/**/*.ts, tests/**/*.test.ts", "tests/a.ts", false),
            ("paths: **/*.sql", "db/x.sql", true),
            ("paths:\n  - **/*.{a,b}\n  - c/*", "x/y.b", true),
            ("paths: \"a,b.md, c.md\"", "c.md", true),
            ("paths: x[,]y, z", "x,y", true),
            ("paths: x[,]y, z", "z", true),
            ("paths: 'a/*, \"b,c/*\"'", "b,c/d", true),
            ("paths: './src/'", "src/a/b", true),
            ("paths: /src/*", "src/a", true),
            ("paths: [a/*, '{b,c}/*']", "c/x", true),
        ] {
            assert_eq!(holds(paths, path), expected, "{paths} on {path}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said_with_its_line() {
        for (text, line, never) in [
            ("---\nname: x\npaths: \"[z-a]\"\n---\nt", 3, true),
            ("---\npaths: [\n---\nt", 2, true),
            ("---\npaths: a/*\nno end", 1, true),
            ("---\npaths: []\n---\nt", 2, true),
            ("---\npaths:\n  - a/*\n  - 'b/{c'\n---\nt", 4, false),
            ("---\ndescription: a: b\n---\nt", 2, false),
            ("---\nno end", 1, false),
        ] {
            let rule = rule(text);
            assert_eq!(rule.wrong.len(), 1, "{text}: {rule:?}");
            assert!(rule.wrong[0].0 == line || text.contains("[\n"), "{text}: {rule:?}");
            assert_eq!(matches!(rule.holds, Holds::Never), never, "{text}: {rule:?}");
        }
        for always in ["", "text", "---\nname: x\n---\nt", "---\n---\nt", "---\npaths:\n---\nt"] {
            let rule = rule(always);
            assert!(matches!(rule.holds, Holds::Always) && rule.wrong.is_empty(), "{always}");
        }
    }
}
