//! What our reading says would run.

use crate::bash::NAMES;
use ostler_policy::script::*;

/// Run by bash itself, and not recorded.
const NATIVE: &[&str] =
    &["true", "false", ":", "[", "test", "export", "declare", "local", "set", "wait", "cd", "read"];

/// What can be said of a family of lines.
#[derive(Clone, Copy)]
pub struct Family {
    /// Words that are not known do not keep commands from running.
    pub dynamic: bool,
    /// Calls of programs that are not there are recorded, too.
    pub unknown: bool,
}

pub struct Prediction {
    commands: Vec<Vec<Word>>,
    /// Every command runs, and runs once.
    straight: bool,
    /// One after the other.
    pub ordered: bool,
    /// A word somewhere is not known.
    dynamic: bool,
}

impl Prediction {
    pub fn of(script: &Script) -> Self {
        let mut prediction =
            Prediction { commands: Vec::new(), straight: true, ordered: true, dynamic: false };
        prediction.script(script);
        prediction
    }

    /// Some command we saw can be this call.
    pub fn covers(&self, call: &[String]) -> bool {
        self.commands.iter().any(|words| matches(words, call))
    }

    /// Whether the calls are all there must be, where that can be said.
    pub fn must_match(&self, calls: &[Vec<String>], family: Family) -> Option<bool> {
        if !self.straight || (self.dynamic && !family.dynamic) {
            return None;
        }
        let mut expected = Vec::new();
        for words in &self.commands {
            let name = words.first()?.literal()?;
            // A path is run as it is, `%` is a job, `.` reads a file.
            let unclear = name.contains('/') || name.starts_with('%') || name == ".";
            if NAMES.contains(&name) || (family.unknown && !unclear && !NATIVE.contains(&name)) {
                expected.push(words);
            } else if !NATIVE.contains(&name) {
                return None;
            }
        }
        if expected.len() != calls.len() {
            return Some(false);
        }
        if self.ordered {
            return Some(expected.iter().zip(calls).all(|(words, call)| matches(words, call)));
        }
        let mut owners = vec![None; calls.len()];
        Some(
            (0..expected.len()).all(|index| {
                owns(index, &expected, calls, &mut owners, &mut vec![false; calls.len()])
            }),
        )
    }

    fn script(&mut self, script: &Script) {
        for item in &script.items {
            self.ordered &= !item.background;
            self.straight &= item.rest.is_empty() && !item.background;
            let rest = item.rest.iter().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&item.first).chain(rest) {
                self.ordered &= pipeline.stages.len() == 1;
                pipeline.stages.iter().for_each(|stage| self.stage(stage));
            }
        }
    }

    fn stage(&mut self, stage: &PipelineStage) {
        match stage {
            PipelineStage::Simple(command) => {
                for assignment in &command.assignments {
                    assignment.index.iter().for_each(|index| self.expression(index));
                    match &assignment.value {
                        Assigned::Scalar(word) => self.word(word),
                        Assigned::Array(words) => {
                            for (key, word) in words {
                                key.iter().for_each(|key| self.word(key));
                                self.word(word);
                            }
                        }
                    }
                }
                command.words.iter().for_each(|word| self.word(word));
                self.redirects(&command.redirects);
                if !command.words.is_empty() {
                    self.commands.push(command.words.clone());
                }
            }
            PipelineStage::Compound { body, redirects } => {
                self.redirects(redirects);
                self.compound(body);
            }
        }
    }

    fn compound(&mut self, body: &Compound) {
        if let Compound::Group(script) | Compound::Subshell(script) = body {
            return self.script(script);
        }
        self.straight = false;
        match body {
            Compound::Group(_) | Compound::Subshell(_) => {}
            Compound::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.script(condition);
                    self.script(body);
                }
                otherwise.iter().for_each(|body| self.script(body));
            }
            Compound::While { condition, body, .. } => {
                self.script(condition);
                self.script(body);
            }
            Compound::For { values, body, .. } => {
                values.iter().flatten().for_each(|word| self.word(word));
                self.script(body);
            }
            Compound::ArithmeticFor { header, body } => {
                header.iter().for_each(|part| self.expression(part));
                self.script(body);
            }
            Compound::Case { value, arms } => {
                self.word(value);
                for arm in arms {
                    arm.patterns.iter().for_each(|word| self.word(word));
                    arm.body.iter().for_each(|body| self.script(body));
                }
            }
            Compound::Function { body, redirects, .. } => {
                self.redirects(redirects);
                self.compound(body);
            }
            Compound::Coprocess { body, .. } => self.stage(body),
            Compound::Test(words) => words.iter().for_each(|word| self.word(word)),
            Compound::Arithmetic(expression) => self.expression(expression),
        }
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            self.word(&redirect.target);
            let target = redirect.target.literal().unwrap_or("?");
            // Others may fail, and then the command does not run.
            let certain = match redirect.kind {
                RedirectKind::HereDocument | RedirectKind::HereString => true,
                RedirectKind::Write | RedirectKind::Append => {
                    matches!(target, "out" | "log" | "/dev/null")
                }
                RedirectKind::Read => target == "a.txt",
                RedirectKind::DuplicateOutput => matches!(target, "1" | "2"),
                _ => false,
            };
            self.straight &= certain && redirect.fd.is_none_or(|fd| fd < 3);
        }
    }

    fn expression(&mut self, expression: &Expression) {
        self.dynamic = true;
        expression.scripts.iter().for_each(|script| self.script(script));
    }

    fn word(&mut self, word: &Word) {
        let Word::Dynamic { parts, .. } = word else {
            self.dynamic |= matches!(word, Word::Glob(_));
            return;
        };
        self.dynamic = true;
        self.ordered = false;
        for part in parts {
            match part {
                WordPart::Command { script, .. } => self.script(script),
                WordPart::Process(script) => {
                    self.ordered = false;
                    self.straight = false;
                    self.script(script);
                }
                WordPart::Parameter { scripts, .. } => {
                    self.straight &= scripts.is_empty();
                    scripts.iter().for_each(|script| self.script(script));
                }
                WordPart::Arithmetic { expression, .. } => self.expression(expression),
                WordPart::Other(words) => words.iter().for_each(|word| self.word(word)),
                WordPart::Literal(_) | WordPart::Glob(_) | WordPart::Tilde(_) => {}
            }
        }
    }
}

/// A pattern is one or more words, what is not known any number of them.
fn matches(words: &[Word], call: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return call.is_empty() };
    let from = match word {
        Word::Literal(text) => {
            return call.first() == Some(text) && matches(rest, &call[1..]);
        }
        Word::Glob(_) => 1,
        Word::Dynamic { .. } => 0,
    };
    (from..=call.len()).any(|taken| matches(rest, &call[taken..]))
}

/// Finds a call for the command, moving others to another call of theirs if need be.
fn owns(
    index: usize,
    expected: &[&Vec<Word>],
    calls: &[Vec<String>],
    owners: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for (at, call) in calls.iter().enumerate() {
        if tried[at] || !matches(expected[index], call) {
            continue;
        }
        tried[at] = true;
        if owners[at].is_none_or(|other| owns(other, expected, calls, owners, tried)) {
            owners[at] = Some(index);
            return true;
        }
    }
    false
}
