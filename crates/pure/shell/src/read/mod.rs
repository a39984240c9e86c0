//! The whole reading of a shell text, as `bash --norc --noprofile -c` reads it.
//!
//! A recursive descent over the bytes, each read once: a substitution is parsed where it stands. What bash itself
//! reads in surprising ways is refused as ambiguous rather than imitated. While it reads, it writes down the shape of
//! every level (the text, and each substitution in it) for the second opinion.

mod arithmetic;
mod assign;
mod brace;
mod command;
mod compound;
mod conditional_expression;
mod cursor;
mod dollar;
mod here_document;
mod list;
mod parameter;
mod quote;
mod word;
mod word_assembly;

use ostler_policy::script::{Opaque, Script, Word};

pub(crate) type ReadText<T> = Result<T, Opaque>;

/// How deep a text may nest, counting every kind of nesting.
const MAX_DEPTH: usize = 100;
/// Up to here the recursion fits any ordinary stack.
const INLINE_DEPTH: usize = 12;
const BIG_STACK: usize = 32 * 1024 * 1024;

/// A script, and what the second opinion needs.
pub(crate) struct ShellReading {
    pub(crate) script: Script,
    /// The text first, then every substitution in it.
    pub(crate) levels: Vec<ReadLevel>,
}

/// One text of commands without what its substitutions run.
pub(crate) struct ReadLevel {
    /// Substitutions are replaced by [`MASK`] and the like.
    pub(crate) text: String,
    pub(crate) shape: String,
    /// It holds something on which the other parser is known to fail.
    pub(crate) trap: bool,
}

/// What stands for a command substitution.
pub(crate) const MASK: &str = "$(x)";

/// Marks in a shape; no text holds these characters.
pub(crate) mod mark {
    pub(crate) const WORD: char = '\u{1}';
    pub(crate) const REDIRECT: char = '\u{2}';
    pub(crate) const OPERATOR: char = '\u{3}';
    pub(crate) const DOCUMENT: char = '\u{4}';
}

/// Reads a text that was screened.
pub(crate) fn read(text: &str) -> ReadText<ShellReading> {
    match ScriptReader::new(text, 0, INLINE_DEPTH).whole() {
        Err(Opaque::TooDeep) => std::thread::scope(|scope| {
            let work = || ScriptReader::new(text, 0, MAX_DEPTH).whole();
            let thread = std::thread::Builder::new().stack_size(BIG_STACK);
            let thread = thread.spawn_scoped(scope, work).map_err(|_| Opaque::ParserFailed)?;
            thread.join().unwrap_or(Err(Opaque::ParserFailed))
        }),
        other => other,
    }
}

pub(super) struct ScriptReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    limit: usize,
    /// Here-documents whose bodies start after the line.
    pending: Vec<here_document::PendingHereDocument>,
    frame: ReadFrame,
    levels: Vec<ReadLevel>,
    /// Words that braces have made so far.
    made: usize,
}

/// What is known of the level being read.
#[derive(Default)]
pub(super) struct ReadFrame {
    start: usize,
    /// Inside `$(…)` or `<(…)`.
    nested: bool,
    /// Left out of words: line continuations (replaced by nothing) and substitutions (by their mask).
    cuts: Vec<(usize, usize, &'static str)>,
    /// Quoted texts and bodies of here-documents.
    quiet: Vec<(usize, usize)>,
    shape: String,
    /// A quote directly behind a dollar that does not belong to it.
    slip: bool,
    documents: Vec<Word>,
    /// The bodies, in order, as the second opinion sees them.
    bodies: String,
}

impl<'a> ScriptReader<'a> {
    fn new(text: &'a str, depth: usize, limit: usize) -> Self {
        ScriptReader {
            text,
            at: 0,
            depth,
            limit,
            pending: Vec::new(),
            frame: ReadFrame::default(),
            levels: Vec::new(),
            made: 0,
        }
    }

    fn whole(mut self) -> ReadText<ShellReading> {
        let script = self.all()?;
        self.levels.reverse();
        Ok(ShellReading { script, levels: self.levels })
    }

    /// Everything to the end of the text.
    fn all(&mut self) -> ReadText<Script> {
        let script = self.list()?;
        if self.at < self.text.len() {
            return Err(self.unexpected());
        }
        if !self.pending.is_empty() {
            return Err(Opaque::Syntax("a here-document without a body".into()));
        }
        Ok(self.close_level(script))
    }

    /// Ends the level: its documents take their places, its shape is kept.
    fn close_level(&mut self, mut script: Script) -> Script {
        let mut frame = std::mem::take(&mut self.frame);
        if !frame.documents.is_empty() {
            here_document::fill(&mut script, &mut frame.documents);
        }
        let source = self.text.get(frame.start..self.at).unwrap_or_default();
        let trap = frame.slip || (source.contains("<<") && self.odd_shift(&frame));
        frame.shape.push_str(&frame.bodies);
        let text =
            spliced(self.text, frame.start, self.at, frame.cuts.iter().filter(|c| !c.2.is_empty()));
        self.levels.push(ReadLevel { text, shape: frame.shape, trap });
        script
    }

    /// Reads a substitution in place, from behind its opening parenthesis to behind the closing one.
    fn nested_script(&mut self, mask: &'static str, opened: usize) -> ReadText<Script> {
        self.enter()?;
        if self.rest().starts_with("\\\n") {
            return Err(ambiguous("a line continuation after an opening parenthesis"));
        }
        let start = self.at;
        let outer = std::mem::replace(
            &mut self.frame,
            ReadFrame { start, nested: true, ..ReadFrame::default() },
        );
        let waiting = std::mem::take(&mut self.pending);
        let script = self.list()?;
        if self.byte(0) != Some(b')') {
            return Err(self.unexpected());
        }
        if !self.pending.is_empty() {
            return Err(ambiguous("a here-document that ends after its substitution"));
        }
        if !waiting.is_empty() && self.slice(start, self.at).contains('\n') {
            return Err(ambiguous("a here-document around a substitution of several lines"));
        }
        if !self.frame.documents.is_empty() && !here_document::stands_alone(&script) {
            return Err(ambiguous("a here-document among the commands of a substitution"));
        }
        let script = self.close_level(script);
        self.frame = outer;
        self.pending = waiting;
        self.at += 1;
        self.frame.cuts.push((opened, self.at, mask));
        self.leave();
        Ok(script)
    }

    /// Another text that is read on its own, such as what stands between backquotes.
    fn apart<T>(
        &mut self,
        text: &str,
        work: impl FnOnce(&mut ScriptReader<'_>) -> ReadText<T>,
    ) -> ReadText<T> {
        self.enter()?;
        let mut reader = ScriptReader::new(text, self.depth, self.limit);
        reader.made = self.made;
        let made = work(&mut reader)?;
        self.made = reader.made;
        self.levels.append(&mut reader.levels);
        self.leave();
        Ok(made)
    }

    fn enter(&mut self) -> ReadText<()> {
        self.depth += 1;
        if self.depth > self.limit { Err(Opaque::TooDeep) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// A `<<` stands where a hasty reader might see a here-document without an end.
    fn odd_shift(&self, frame: &ReadFrame) -> bool {
        let mut skips: Vec<(usize, usize)> =
            frame.cuts.iter().filter(|cut| !cut.2.is_empty()).map(|cut| (cut.0, cut.1)).collect();
        skips.extend(&frame.quiet);
        skips.sort_unstable();
        let mut skips = skips.into_iter().peekable();
        let mut at = frame.start;
        while let Some(found) = self.text.get(at..self.at).and_then(|rest| rest.find("<<")) {
            let start = at + found;
            while skips.next_if(|skip| skip.1 <= start).is_some() {}
            if let Some(skip) = skips.peek().filter(|skip| skip.0 <= start) {
                at = skip.1;
                continue;
            }
            let after = self.slice(start, self.text.len()).trim_start_matches('<');
            let signs = self.text.len() - after.len() - start;
            if signs != 3 && !here_document::starts_with_tag(after) {
                return true;
            }
            at = start + signs;
        }
        false
    }
}

/// A part of the text with the cuts in it replaced.
fn spliced<'c>(
    text: &str,
    start: usize,
    end: usize,
    cuts: impl DoubleEndedIterator<Item = &'c (usize, usize, &'static str)>,
) -> String {
    let mut made = String::new();
    let mut at = start;
    for &(from, to, with) in cuts {
        if from < at || to > end {
            continue;
        }
        made.push_str(text.get(at..from).unwrap_or_default());
        made.push_str(with);
        at = to;
    }
    made.push_str(text.get(at..end).unwrap_or_default());
    made
}

fn ambiguous(what: &str) -> Opaque {
    Opaque::Ambiguous(what.into())
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod show;
#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
