//! The second opinion: another parser must see the same commands, words, operators and nesting.
//!
//! It reads each level by itself, with the substitutions in it masked, so every byte is read once. It is recursive and
//! backtracks, so a hostile text could exhaust the stack or the clock. Before it runs, everything that could make it
//! nest or try again is counted; beyond the bounds a text is opaque. Only this directory knows the parser crate.

mod shape;

use crate::read::{self, ReadLevel, ShellReading};
use crate::screen;
use brush_parser::{ParserOptions, Token};
use ostler_policy::script::Opaque;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Up to here nested constructs fit any ordinary stack: a level was measured to take at most 21 KB, unoptimised.
const MAX_INLINE_OPENERS: usize = 16;
/// Up to here they fit the stack of a thread made for it.
const MAX_OPENERS: usize = 512;
const BIG_STACK: usize = 32 * 1024 * 1024;
/// How many tokens the parser may look at, counting those it looks at again: each nested parenthesis and each
/// `case` can double its work. (A token takes some 6 µs, unoptimised.)
const MAX_WORK: usize = 300_000;

/// Our reading, if the other parser reads the same.
pub(crate) fn agreed(text: &str) -> Result<ShellReading, Opaque> {
    screen::check(text)?;
    let reading = read::read(text)?;
    confirm(&reading)?;
    Ok(reading)
}

/// Whether the other parser reads the same.
pub(crate) fn confirm(reading: &ShellReading) -> Result<(), Opaque> {
    let mut confirmed = HashSet::new();
    for level in &reading.levels {
        // A substitution that repeats another is read once.
        if reading.levels.len() > 1 && !confirmed.insert((&level.text, &level.shape, level.trap)) {
            continue;
        }
        check(level).map_err(|opaque| match opaque {
            Opaque::Syntax(_) => Opaque::Ambiguous("a second parser does not read it".into()),
            other => other,
        })?;
    }
    Ok(())
}

fn check(level: &ReadLevel) -> Result<(), Opaque> {
    if level.trap {
        return Err(Opaque::Ambiguous("quotes or here-documents in an unusual place".into()));
    }
    let text = level.text.as_str();
    let expansions =
        text.as_bytes().windows(2).filter(|pair| matches!(*pair, b"$(" | b"${" | b"$[")).count();
    let tokens = with_stack(expansions, || tokenize(text))?;
    let openers = count_openers(&tokens)?;
    let shape = with_stack(openers, || {
        let program = brush_parser::parse_tokens(&tokens, &options())
            .map_err(|e| Opaque::Syntax(e.to_string()))?;
        shape::of(&program, text)
    })?;
    if same(&level.shape, &shape) {
        return Ok(());
    }
    Err(Opaque::Ambiguous("its words or commands can be split differently".into()))
}

/// Blanks inside a word are kept by us, and thinned out by the other.
fn same(ours: &str, theirs: &str) -> bool {
    let solid = |c: &char| !matches!(c, ' ' | '\t');
    ours == theirs || ours.chars().filter(solid).eq(theirs.chars().filter(solid))
}

/// As `bash -c` starts: extended patterns are off.
fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

fn tokenize(text: &str) -> Result<Vec<Token>, Opaque> {
    brush_parser::uncached_tokenize_str(text, &options().tokenizer_options())
        .map_err(|e| Opaque::Syntax(e.to_string()))
}

/// Runs the parser where its recursion fits. It must not panic, but if it does, the text is opaque.
fn with_stack<T: Send>(
    openers: usize,
    work: impl FnOnce() -> Result<T, Opaque> + Send,
) -> Result<T, Opaque> {
    let guarded = || catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Opaque::ParserFailed));
    if openers <= MAX_INLINE_OPENERS {
        return guarded();
    }
    if openers > MAX_OPENERS {
        return Err(Opaque::TooDeep);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(BIG_STACK).spawn_scoped(scope, guarded);
        thread.map_err(|_| Opaque::ParserFailed)?.join().unwrap_or(Err(Opaque::ParserFailed))
    })
}

/// How often the parser could nest, at most. Refuses what would make it try again and again.
fn count_openers(tokens: &[Token]) -> Result<usize, Opaque> {
    let (mut openers, mut depth, mut deepest, mut cases, mut joins) = (0, 0_usize, 0, 0, 0);
    let mut in_tests = false;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            // Only the body of a here-document ends so, and it is no word of the grammar.
            Token::Word(text, _) if text.ends_with('\n') => {}
            Token::Word(text, _) => match text.as_str() {
                "{" | "if" | "while" | "until" | "for" | "select" | "coproc" | "function" => {
                    openers += 1
                }
                "case" => cases += 1,
                "[[" => in_tests = true,
                "!" => joins += 1,
                _ => check_word(text, tokens.get(index + 1))?,
            },
            Token::Operator(text, _) => match text.as_str() {
                "(" => {
                    openers += 1;
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                ")" => depth = depth.saturating_sub(1),
                "&&" | "||" => joins += 1,
                _ => {}
            },
        }
    }
    let doublings = u32::try_from(deepest + cases).unwrap_or(u32::MAX);
    let work = 2_usize.checked_pow(doublings).and_then(|times| times.checked_mul(tokens.len()));
    if work.is_none_or(|work| work > MAX_WORK) {
        return Err(Opaque::TooDeep);
    }
    Ok(openers + cases + if in_tests { joins + 1 } else { 0 })
}

fn check_word(text: &str, next: Option<&Token>) -> Result<(), Opaque> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    if digits
        && text.len() > 9
        && matches!(next, Some(Token::Operator(op, _)) if op.starts_with(['<', '>']))
    {
        return Err(Opaque::Syntax("a descriptor number that is too large".into()));
    }
    let name = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let index = text.get(name..).and_then(|rest| rest.strip_prefix('['));
    match index {
        Some(index) if name > 0 && (index.contains(['(', '[', '`']) || index.contains("${")) => {
            Err(Opaque::Ambiguous("an array index that is itself an expression".into()))
        }
        _ => Ok(()),
    }
}
