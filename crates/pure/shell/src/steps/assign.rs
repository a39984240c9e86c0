//! Assignments, alone or before a command.

use super::names::{self, VariableKind};
use super::walk::{StepWalk, WalkPosition};
use ostler_policy::script::{Assigned, Assignment, Word};
use ostler_policy::{Effect, Position};

/// As one word: `NAME=value`.
fn written(assignment: &Assignment) -> Word {
    let name = &assignment.name;
    let plain = assignment.index.is_none() && !assignment.append;
    match &assignment.value {
        Assigned::Scalar(Word::Literal(value)) if plain => Word::Literal(format!("{name}={value}")),
        Assigned::Scalar(_) | Assigned::Array(_) => super::wrap::from_outside(name),
    }
}

impl StepWalk {
    /// `before` is the command they stand before.
    pub(super) fn assignments(
        &mut self,
        index: usize,
        assignments: &[Assignment],
        before: Option<&Word>,
    ) {
        let at = WalkPosition { inside: Some(index), position: Position::Substitution };
        for assignment in assignments {
            if let Some(expression) = &assignment.index {
                self.expression(expression, at);
            }
            match &assignment.value {
                Assigned::Scalar(value) => self.word(value, at),
                Assigned::Array(values) => {
                    for (key, value) in values {
                        self.word(value, at);
                        if let Some(key) = key {
                            self.word(key, at);
                            self.key(key);
                        }
                    }
                }
            }
            self.change(index, |step| step.assigned.push(written(assignment)));
            let name = assignment.name.as_str();
            let shows = names::only_shows_value(name, &assignment.value);
            let matters = match before.map(Word::literal) {
                None => self.assigned(name, shows),
                // How it splits its line.
                Some(Some("read")) if name == "IFS" => false,
                Some(_) => !shows,
            };
            if matters {
                self.change(index, |step| step.variables.push(assignment.name.clone()));
            }
        }
    }

    /// `NAME=value` that lasts; `shows`: with such a value it changes how programs show things only. True if it can
    /// change what runs.
    fn assigned(&mut self, name: &str, shows: bool) -> bool {
        match names::class(name) {
            VariableKind::Environment => {
                self.note_set(name);
                self.shadows.reaches_programs(name);
                false
            }
            VariableKind::Display if shows => {
                self.note_set(name);
                false
            }
            _ => self.sets(name),
        }
    }

    /// A variable gets a value that need not be known: a loop's, one that is read, one of an expansion. True if it can
    /// change what runs; then it is a doubt of the text.
    pub(super) fn sets(&mut self, name: &str) -> bool {
        self.note_set(name);
        let class = names::class(name);
        if class == VariableKind::Own {
            return false;
        }
        if class == VariableKind::Shell {
            self.shadows.everything(&format!("{name} is set"));
        }
        self.shadows.reaches_programs(name);
        self.doubt(format!("it sets {name}, which bash or other programs use"));
        true
    }

    /// The shell evaluates the key of an array.
    fn key(&mut self, key: &Word) {
        let plain = key.literal().is_some_and(|key| key.bytes().all(|b| b.is_ascii_digit()));
        if !plain {
            self.doubt("the shell evaluates the key of an array");
        }
    }

    /// A command with a variable of its own is not the command the tables know.
    pub(super) fn judge_variables(&mut self, index: usize) {
        self.change(index, |step| {
            let Some(name) = step.variables.first() else { return };
            step.transparent = false;
            if !matches!(step.effect, Effect::Ruin(_) | Effect::Unknown(_)) {
                step.effect = Effect::Unknown(format!("{name} is set for it"));
            }
        });
    }
}
