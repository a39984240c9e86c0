//! The search for everything that sets a variable, through a whole script.

use super::*;

/// Commands that set the variables they are given by name.
const NAMING: &[&str] = &[
    "read",
    "mapfile",
    "readarray",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "getopts",
    "printf",
    "wait",
];

/// Commands that can set any variable.
const SETTING: &[&str] = &[
    "eval", "source", ".", "trap", "let", "builtin", "command", "enable", "shopt", "exec", "alias",
    "coproc", "fc",
];

impl VariableSearch {
    pub(super) fn script(&mut self, script: &Script) {
        for item in &script.items {
            let rest = item.rest.iter().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&item.first).chain(rest) {
                pipeline.stages.iter().for_each(|stage| self.stage(stage));
            }
        }
    }

    fn stage(&mut self, stage: &PipelineStage) {
        match stage {
            PipelineStage::Simple(Command { assignments, words, redirects }) => {
                assignments.iter().for_each(|assignment| self.assignment(assignment));
                words.iter().for_each(|word| self.word(word));
                self.redirects(redirects);
                self.command(words);
            }
            PipelineStage::Compound { body, redirects } => {
                self.compound(body);
                self.redirects(redirects);
            }
        }
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        redirects.iter().for_each(|redirect| self.word(&redirect.target));
    }

    fn compound(&mut self, body: &Compound) {
        match body {
            Compound::Group(script) | Compound::Subshell(script) => self.script(script),
            Compound::If { branches, otherwise } => {
                let both = branches.iter().flat_map(|(condition, body)| [condition, body]);
                both.chain(otherwise).for_each(|script| self.script(script));
            }
            Compound::While { condition, body, .. } => {
                self.script(condition);
                self.script(body);
            }
            Compound::For { variable, values, body } => {
                let number = |word: &Word| word.literal().is_some_and(is_integer);
                let fine = values.as_deref().is_some_and(|values| values.iter().all(number));
                self.sets(variable, fine);
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
                self.compound(body);
                self.redirects(redirects);
            }
            Compound::Coprocess { name, body } => {
                self.sets(name.as_deref().unwrap_or("COPROC"), false);
                self.stage(body);
            }
            Compound::Test(words) => words.iter().for_each(|word| self.word(word)),
            Compound::Arithmetic(expression) => self.expression(expression),
        }
    }

    fn sets(&mut self, name: &str, number: bool) {
        let names = if number { &mut self.good } else { &mut self.bad };
        names.insert(name.to_owned());
    }

    fn assignment(&mut self, assignment: &Assignment) {
        let Assignment { name, index, append, value } = assignment;
        index.iter().for_each(|index| self.expression(index));
        let number = match value {
            Assigned::Array(values) => {
                let all = values.iter().flat_map(|(key, value)| key.iter().chain([value]));
                all.for_each(|word| self.word(word));
                false
            }
            Assigned::Scalar(value) => {
                self.word(value);
                self.number(name, value)
            }
        };
        self.sets(name, number && index.is_none() && !append);
    }

    /// The value is a number, if all names in it are.
    fn number(&mut self, name: &str, value: &Word) -> bool {
        match value {
            Word::Literal(text) => is_integer(text),
            Word::Glob(_) => false,
            Word::Dynamic { parts, .. } => match parts.as_slice() {
                [WordPart::Arithmetic { expression, .. }] => tokens(expression).is_some(),
                [WordPart::Command { script, .. }] if prints_number(script) => {
                    self.maybe_empty.insert(name.to_owned());
                    true
                }
                _ => false,
            },
        }
    }

    fn expression(&mut self, expression: &Expression) {
        expression.scripts.iter().for_each(|script| self.script(script));
        match tokens(expression) {
            Some(tokens) => set_by(&tokens).iter().for_each(|name| self.sets(name, true)),
            None => self.lost |= !expression.plain,
        }
    }

    fn word(&mut self, word: &Word) {
        let Word::Dynamic { parts, .. } = word else { return };
        for part in parts {
            match part {
                WordPart::Literal(_) | WordPart::Glob(_) | WordPart::Tilde(_) => {}
                WordPart::Parameter { name, form, scripts, .. } => {
                    match form {
                        Form::Value | Form::Made => {}
                        Form::Set => self.sets(name, false),
                        Form::Evaluated => self.lost = true,
                    }
                    scripts.iter().for_each(|script| self.script(script));
                }
                WordPart::Command { script, .. } | WordPart::Process(script) => self.script(script),
                WordPart::Arithmetic { expression, .. } => self.expression(expression),
                WordPart::Other(words) => words.iter().for_each(|word| self.word(word)),
            }
        }
    }

    /// What the command sets by name.
    fn command(&mut self, words: &[Word]) {
        let Some((first, rest)) = words.split_first() else { return };
        let looks_up = rest.first().and_then(Word::literal) == Some("-v");
        match first.literal() {
            None => self.lost |= !matches!(first, Word::Glob(text) if text == "["),
            Some("command") if looks_up => {}
            Some("printf") if rest.first().is_some_and(is_format) => {}
            Some(name) if NAMING.contains(&name) => {
                // `read` without a name.
                self.sets("REPLY", false);
                for word in rest {
                    match word.literal() {
                        Some(text) => {
                            let name = text.split(['=', '+', '[']).next().unwrap_or_default();
                            self.sets(name, false);
                            self.sets(name.get(2..).unwrap_or_default(), false);
                        }
                        None => self.lost = true,
                    }
                }
            }
            Some(name) => self.lost |= SETTING.contains(&name),
        }
    }
}

fn is_format(word: &Word) -> bool {
    word.literal().is_some_and(|text| !text.starts_with('-'))
}
