//! Which files a task will change, as globs, and whether two tasks could change the same one.
//!
//! `*` and `?` stay inside one path segment, `**` spans any number of them, `{a,b}` is either, `[…]` counts as any one
//! character. A glob that ends with `/`, or with a name that looks like a directory (no wildcard, no extension), also
//! covers everything below it: `src` covers `src/a.rs`. Where it cannot be decided cheaply, two globs overlap: a task then
//! only waits.

/// Combinations of alternatives in one glob, at most; one with more covers everything.
const MOST_ALTERNATIVES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Is(char),
    /// Any one character of a segment.
    One,
    /// Any number of characters of a segment.
    Run,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of segments.
    Any,
    Name(Vec<Piece>),
}

type Path = Vec<Segment>;

/// The globs of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches(Vec<Path>);

impl Touches {
    /// # Errors
    /// What is wrong with the first glob that cannot be used.
    pub fn parse<S: AsRef<str>>(globs: &[S]) -> Result<Self, String> {
        let mut paths = Vec::new();
        for glob in globs {
            let glob = glob.as_ref();
            check(glob)?;
            match alternatives(glob) {
                Some(all) => paths.extend(all.iter().map(|one| path(one))),
                None => paths.push(vec![Segment::Any]),
            }
        }
        Ok(Touches(paths))
    }

    /// Could one file be covered by both?
    pub fn overlap(&self, other: &Touches) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| paths_meet(a, b)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For a comparison elsewhere: a list of paths, each a list of segments. A segment is 0 for `**`, or a list of pieces:
    /// 0 for any characters, 1 for any one character, or the number of a character.
    pub fn to_json(&self) -> String {
        let list = |parts: Vec<String>| format!("[{}]", parts.join(","));
        let piece = |piece: &Piece| match piece {
            Piece::Run => "0".to_owned(),
            Piece::One => "1".to_owned(),
            Piece::Is(letter) => u32::from(*letter).to_string(),
        };
        let segment = |segment: &Segment| match segment {
            Segment::Any => "0".to_owned(),
            Segment::Name(pieces) => list(pieces.iter().map(piece).collect()),
        };
        list(self.0.iter().map(|path| list(path.iter().map(segment).collect())).collect())
    }
}

fn check(glob: &str) -> Result<(), String> {
    let why = if glob.trim().is_empty() {
        "it is empty"
    } else if glob.chars().any(char::is_control) {
        "it contains control characters"
    } else if glob.starts_with('/') {
        "it is absolute; write it relative to the project"
    } else if glob.split('/').any(|segment| segment == "..") {
        "it contains \"..\"; write it relative to the project"
    } else {
        return Ok(());
    };
    Err(format!("cannot use the glob \"{}\": {why}", glob.escape_debug()))
}

/// The globs without braces that this one stands for; none if there are too many. A brace without its partner is a
/// character like any other.
fn alternatives(glob: &str) -> Option<Vec<String>> {
    let mut open = vec![glob.to_owned()];
    let mut all = Vec::new();
    while let Some(text) = open.pop() {
        if open.len() + all.len() >= MOST_ALTERNATIVES {
            return None;
        }
        match braces(&text) {
            None => all.push(text),
            Some((start, end)) => {
                let (head, rest) = text.split_at(start);
                let (inner, tail) = rest.split_at(end - start);
                let inner = inner.strip_prefix('{').unwrap_or(inner);
                let tail = tail.strip_prefix('}').unwrap_or(tail);
                open.extend(choices(inner).iter().map(|one| format!("{head}{one}{tail}")));
            }
        }
    }
    Some(all)
}

/// The first pair of braces, by the positions of both.
fn braces(text: &str) -> Option<(usize, usize)> {
    let (mut start, mut depth, mut is_escaped) = (None, 0_u32, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' => {
                depth += 1;
                start = start.or(Some(at));
            }
            '}' if depth == 1 => return start.map(|start| (start, at)),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// What the commas of the outermost level separate.
fn choices(inner: &str) -> Vec<String> {
    let (mut all, mut depth, mut is_escaped) = (vec![String::new()], 0_u32, false);
    for letter in inner.chars() {
        let is_plain = is_escaped;
        is_escaped = !is_plain && letter == '\\';
        match letter {
            '{' if !is_plain => depth += 1,
            '}' if !is_plain => depth = depth.saturating_sub(1),
            ',' if !is_plain && depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(letter);
        }
    }
    all
}

fn path(glob: &str) -> Path {
    let segments = glob.split('/').filter(|segment| !segment.is_empty() && *segment != ".");
    let mut path: Path = segments
        .map(|segment| match segment {
            "**" => Segment::Any,
            name => Segment::Name(pieces(name)),
        })
        .collect();
    match path.last() {
        // What is below, not the directory itself.
        Some(Segment::Any) => path.push(Segment::Name(vec![Piece::Run])),
        Some(Segment::Name(name)) if !glob.ends_with('/') && !is_like_a_directory(name) => {}
        _ => path.push(Segment::Any),
    }
    path
}

fn is_like_a_directory(name: &[Piece]) -> bool {
    let after_dots = name.iter().skip_while(|piece| **piece == Piece::Is('.'));
    after_dots.clone().all(|piece| matches!(piece, Piece::Is(letter) if *letter != '.'))
}

fn pieces(name: &str) -> Vec<Piece> {
    let (mut pieces, mut letters) = (Vec::new(), name.chars().peekable());
    while let Some(letter) = letters.next() {
        let piece = match letter {
            '*' => Piece::Run,
            '?' => Piece::One,
            // Any character is more than the class contains. Without its end it is a bracket.
            '[' => match class_length(&letters.clone().collect::<String>()) {
                Some(length) => {
                    letters.by_ref().take(length).for_each(drop);
                    Piece::One
                }
                None => Piece::Is('['),
            },
            '\\' => Piece::Is(letters.next().unwrap_or('\\')),
            letter => Piece::Is(letter),
        };
        pieces.push(piece);
    }
    pieces
}

/// Characters up to and with the bracket that ends a class; a bracket right at its start belongs to it.
fn class_length(text: &str) -> Option<usize> {
    let letters: Vec<char> = text.chars().collect();
    let negated = usize::from(matches!(letters.first(), Some('!' | '^')));
    let end = letters.iter().skip(negated + 1).position(|letter| *letter == ']')?;
    Some(negated + 1 + end + 1)
}

/// Is there a path that fits both?
fn paths_meet(a: &[Segment], b: &[Segment]) -> bool {
    // `reachable[j]`: the first segments of `a` can be the first `j` of `b`.
    let mut reachable = first_row(b);
    for segment in a {
        reachable = match segment {
            Segment::Any => spread(&reachable),
            Segment::Name(name) => {
                let step = |at: usize| {
                    let from = |index: usize| reachable.get(index).copied().unwrap_or(false);
                    let here = match b.get(at.wrapping_sub(1)) {
                        Some(Segment::Name(other)) => from(at - 1) && names_meet(name, other),
                        Some(Segment::Any) => from(at),
                        None => false,
                    };
                    (here, matches!(b.get(at.wrapping_sub(1)), Some(Segment::Any)))
                };
                carried(b.len(), step)
            }
        };
    }
    reachable.last() == Some(&true)
}

/// With nothing of `a` used, any number of leading `**` of `b` may stand for nothing.
fn first_row(b: &[Segment]) -> Vec<bool> {
    let leading = b.iter().take_while(|segment| matches!(segment, Segment::Any)).count();
    (0..=b.len()).map(|at| at <= leading).collect()
}

/// `**` of `a` stands for any number of segments of `b`.
fn spread(row: &[bool]) -> Vec<bool> {
    let mut seen = false;
    row.iter()
        .map(|is| {
            seen |= is;
            seen
        })
        .collect()
}

/// A row in which a `**` of `b` may also stand for nothing, and so take over its left neighbour.
fn carried(length: usize, step: impl Fn(usize) -> (bool, bool)) -> Vec<bool> {
    let mut row: Vec<bool> = Vec::with_capacity(length + 1);
    for at in 0..=length {
        let (here, takes_over) = step(at);
        let left = row.last().copied().unwrap_or(false);
        row.push(here || (takes_over && left));
    }
    row
}

/// Is there a name that fits both?
fn names_meet(a: &[Piece], b: &[Piece]) -> bool {
    let leading = b.iter().take_while(|piece| **piece == Piece::Run).count();
    let mut row: Vec<bool> = (0..=b.len()).map(|at| at <= leading).collect();
    for piece in a {
        row = if *piece == Piece::Run {
            spread(&row)
        } else {
            let step = |at: usize| {
                let from = |index: usize| row.get(index).copied().unwrap_or(false);
                let other = b.get(at.wrapping_sub(1));
                let here = match (piece, other) {
                    (_, None) => false,
                    (_, Some(Piece::Run)) => from(at),
                    (Piece::Is(one), Some(Piece::Is(two))) => from(at - 1) && one == two,
                    _ => from(at - 1),
                };
                (here, other == Some(&Piece::Run))
            };
            carried(b.len(), step)
        };
    }
    row.last() == Some(&true)
}

#[cfg(test)]
#[path = "touches_tests.rs"]
mod tests;
