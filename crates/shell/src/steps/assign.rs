//! Assignments, alone or before a command.

use super::shadow::is_harmless;
use super::walk::{At, Walk};
use ostler_core::permission::script::{Assigned, Assignment, Word};
use ostler_core::permission::{Effect, Position};

impl Walk {
    /// `before` is the command they stand before.
    pub(super) fn assignments(
        &mut self,
        index: usize,
        assignments: &[Assignment],
        before: Option<&Word>,
    ) {
        let at = At { inside: Some(index), position: Position::Substitution };
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
            let name = assignment.name.as_str();
            let matters = match before.map(Word::literal) {
                None => self.shadows.assigned(name),
                // How it splits its line.
                Some(Some("read")) if name == "IFS" => false,
                Some(_) => !is_harmless(name) || names_a_file(&assignment.value),
            };
            if matters {
                self.change(index, |step| step.variables.push(assignment.name.clone()));
            }
        }
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

/// `TERM`, `TZ` and their like can name a file.
fn names_a_file(value: &Assigned) -> bool {
    match value {
        Assigned::Scalar(Word::Literal(text)) => text.contains('/'),
        Assigned::Scalar(_) | Assigned::Array(_) => true,
    }
}
