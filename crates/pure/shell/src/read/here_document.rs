//! Here-documents: their ends, their bodies, and how these find their places.

use super::quote::push_quoted;
use super::word::{PieceKind, Quote, WordPiece};
use super::word_assembly::{WordPlace, finish};
use super::{ReadText, ScriptReader, ambiguous, mark};
use ostler_policy::script::*;

pub(super) struct PendingHereDocument {
    index: usize,
    tag: String,
    expands: bool,
    strip_tabs: bool,
}

impl ScriptReader<'_> {
    /// Behind `<<`: the tag. What is returned is put right when the level ends.
    pub(super) fn here_document(&mut self, strip_tabs: bool) -> ReadText<Word> {
        self.blanks();
        let start = self.at;
        let word = self.word(PieceKind::Plain)?;
        let raw = self.slice(start, self.at);
        if raw.contains(['$', '`', '\n', '<', '>']) {
            return Err(ambiguous("a here-document with an unusual end"));
        }
        let mut tag = String::new();
        for piece in &word.list {
            match piece {
                WordPiece::Bare(text) | WordPiece::Quoted(text) => tag.push_str(text),
                WordPiece::Part(..) => {
                    return Err(ambiguous("a here-document with an unusual end"));
                }
            }
        }
        if tag.is_empty() {
            return Err(ambiguous("a here-document with an empty end"));
        }
        let expands = !raw.contains(['\'', '"', '\\']);
        let index = self.frame.documents.len();
        self.frame.documents.push(Word::Literal(String::new()));
        self.pending.push(PendingHereDocument { index, tag, expands, strip_tabs });
        Ok(Word::Literal(index.to_string()))
    }

    /// At the start of a line: the bodies that were waited for.
    pub(super) fn bodies(&mut self) -> ReadText<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.at;
            let body = self.body(&pending)?;
            self.frame.quiet.push((start, self.at));
            self.frame.bodies.push(mark::DOCUMENT);
            self.frame.bodies.push(if pending.expands { 'x' } else { 'q' });
            self.frame.bodies.push_str(&body);
            let word = if pending.expands && body.contains(['$', '`', '\\']) {
                self.apart(&body, |reader| reader.document())?
            } else {
                Word::Literal(body)
            };
            if let Some(slot) = self.frame.documents.get_mut(pending.index) {
                *slot = word;
            }
        }
        Ok(())
    }

    fn body(&mut self, pending: &PendingHereDocument) -> ReadText<String> {
        let mut body = String::new();
        loop {
            if self.at >= self.text.len() {
                return Err(Opaque::Syntax("a here-document without its end".into()));
            }
            let (mut line, mut ended) = self.line();
            while pending.expands && ended && continues(&line) {
                line.pop();
                let (more, end) = self.line();
                line.push_str(&more);
                ended = end;
            }
            let line = if pending.strip_tabs { line.trim_start_matches('\t') } else { &line };
            if line == pending.tag {
                return Ok(body);
            }
            if self.frame.nested
                && line.strip_prefix(pending.tag.as_str()).is_some_and(|rest| rest.contains(')'))
            {
                return Err(ambiguous("a here-document that ends with its substitution"));
            }
            if !ended {
                return Err(Opaque::Syntax("a here-document without its end".into()));
            }
            body.push_str(line);
            body.push('\n');
        }
    }

    /// A line, and whether a line end was behind it.
    fn line(&mut self) -> (String, bool) {
        let rest = self.rest();
        let end = rest.find('\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_owned();
        self.at += line.len() + usize::from(end.is_some());
        (line, end.is_some())
    }

    /// A body in which the shell expands.
    fn document(&mut self) -> ReadText<Word> {
        let mut list = Vec::new();
        let mut literal = String::new();
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\\' => self.escaped(&mut literal, false)?,
                b'$' | b'`' => {
                    push_quoted(&mut list, &mut literal);
                    self.expansion(Quote::Document, &mut list)?;
                }
                _ => self.take_until(&mut literal, b"\\$`"),
            }
        }
        push_quoted(&mut list, &mut literal);
        Ok(finish(&list, self.text, WordPlace::Value))
    }
}

/// It ends in a backslash that is not itself escaped.
fn continues(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// The end is a plain name, quoted or not.
pub(super) fn starts_with_tag(text: &str) -> bool {
    let tag = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
    let quote = tag.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let tag = tag.strip_prefix(['\'', '"', '\\']).unwrap_or(tag);
    let rest = tag.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let rest_after_quote = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote));
    let ended = rest_after_quote.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '&', '|', '<', '>', ')'])
    });
    rest.len() < tag.len() && ended
}

/// One pipeline of simple commands. Bash writes a substitution out and reads it again, and with a here-document in it
/// the line ends and semicolons between commands may get lost.
pub(super) fn stands_alone(script: &Script) -> bool {
    let simple = |pipeline: &Pipeline| {
        pipeline.stages.iter().all(|stage| matches!(stage, PipelineStage::Simple(_)))
    };
    match script.items.as_slice() {
        [item] => item.rest.is_empty() && !item.background && simple(&item.first),
        _ => false,
    }
}

/// Puts the bodies where their numbers stand.
pub(super) fn fill(script: &mut Script, documents: &mut [Word]) {
    for item in &mut script.items {
        let rest = item.rest.iter_mut().map(|(_, pipeline)| pipeline);
        for pipeline in std::iter::once(&mut item.first).chain(rest) {
            for stage in &mut pipeline.stages {
                fill_stage(stage, documents);
            }
        }
    }
}

fn fill_stage(stage: &mut PipelineStage, documents: &mut [Word]) {
    match stage {
        PipelineStage::Simple(command) => fill_redirects(&mut command.redirects, documents),
        PipelineStage::Compound { body, redirects } => {
            fill_redirects(redirects, documents);
            fill_compound(body, documents);
        }
    }
}

fn fill_redirects(redirects: &mut [Redirect], documents: &mut [Word]) {
    for redirect in redirects {
        if redirect.kind != RedirectKind::HereDocument {
            continue;
        }
        let index = redirect.target.literal().and_then(|number| number.parse::<usize>().ok());
        if let Some(document) = index.and_then(|index| documents.get_mut(index)) {
            redirect.target = std::mem::replace(document, Word::Literal(String::new()));
        }
    }
}

fn fill_compound(body: &mut Compound, documents: &mut [Word]) {
    match body {
        Compound::Group(script) | Compound::Subshell(script) => fill(script, documents),
        Compound::If { branches, otherwise } => {
            for (condition, body) in branches {
                fill(condition, documents);
                fill(body, documents);
            }
            if let Some(body) = otherwise {
                fill(body, documents);
            }
        }
        Compound::While { condition, body, .. } => {
            fill(condition, documents);
            fill(body, documents);
        }
        Compound::For { body, .. } | Compound::ArithmeticFor { body, .. } => fill(body, documents),
        Compound::Case { arms, .. } => {
            for body in arms.iter_mut().filter_map(|arm| arm.body.as_mut()) {
                fill(body, documents);
            }
        }
        Compound::Function { body, redirects, .. } => {
            fill_redirects(redirects, documents);
            fill_compound(body, documents);
        }
        Compound::Coprocess { body, .. } => fill_stage(body, documents),
        Compound::Test(_) | Compound::Arithmetic(_) => {}
    }
}
