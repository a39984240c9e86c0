//! What a text changes for its other commands: functions, aliases, variables. A program that may not be the one its
//! name says is not taken for it, wherever in the text it stands: loops, traps and functions know no order.

use ostler_policy::{Caution, Concern, Effect, Step};

/// Commands that no variable makes another program of.
const BUILTINS: &[&str] = &[
    "echo", "printf", "pwd", "true", "false", "test", "[", "[[", "cd", ":", "break", "continue",
    "exit", "return", "shift", "type", "wait", "command", "builtin", "eval", "times", "jobs",
    "read",
];

const MAX_FUNCTIONS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Shadows {
    functions: Vec<String>,
    /// Why no name can be trusted.
    everything: Option<String>,
    /// The same, by code that is run in this shell and that a rule may allow.
    sourced: Option<String>,
    variables: Vec<String>,
    /// Every variable that is set, as often as it is.
    set: Vec<String>,
}

impl Shadows {
    /// By more than the loop it is known from.
    pub(super) fn sets_again(&self, name: &str) -> bool {
        self.set.iter().filter(|set| *set == name).count() > 1
    }

    pub(super) fn function(&mut self, name: &str) {
        match self.functions.len() < MAX_FUNCTIONS {
            true => self.functions.push(name.to_owned()),
            false => self.everything("it defines very many functions"),
        }
    }

    pub(super) fn everything(&mut self, why: &str) {
        self.everything.get_or_insert_with(|| why.to_owned());
    }

    pub(super) fn sourced(&mut self, why: &str) {
        self.sourced.get_or_insert_with(|| why.to_owned());
    }

    /// A variable is set, in one way or another.
    pub(super) fn sets(&mut self, name: &str) {
        self.set.push(name.to_owned());
    }

    /// A program may read it.
    pub(super) fn reaches_programs(&mut self, name: &str) {
        if !self.variables.iter().any(|known| known == name) && self.variables.len() < 50 {
            self.variables.push(name.to_owned());
        }
    }

    pub(super) fn apply(&self, steps: &mut [Step]) {
        for step in steps {
            if !self.functions.is_empty() {
                // A call of one may change the directory.
                step.folder = None;
            }
            let Some(name) = step.compared().first().and_then(|word| word.literal()) else {
                continue;
            };
            let mut concern = Concern::Other;
            let why = if self.functions.iter().any(|function| function == name) {
                format!("{name} is a function that the command line defines")
            } else if let Some(why) = &self.everything {
                format!("{name} may be a different program: {why}")
            } else if let Some(why) = &self.sourced {
                if self.variables.is_empty() {
                    concern = Concern::Code;
                }
                format!("{name} may be a different program: {why}")
            } else if let (false, Some(variable)) =
                (BUILTINS.contains(&name), self.variables.first())
            {
                format!("{variable} is set in the text, and {name} may read it")
            } else {
                continue;
            };
            for variable in &self.variables {
                if !step.variables.contains(variable) {
                    step.variables.push(variable.clone());
                }
            }
            step.transparent = false;
            if !matches!(step.effect, Effect::Ruin(_) | Effect::Unknown(_)) {
                step.effect = Effect::Unknown(why.clone());
            }
            step.cautions.push(Caution::new(why, None).about(concern));
        }
    }
}
