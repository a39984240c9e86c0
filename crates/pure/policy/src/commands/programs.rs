//! Which programs a text starts, where that is known for all of it.

use super::{BUILT_IN, Commands, Effect, Position, Step};
use crate::script::Word;
use std::collections::BTreeSet;

impl Commands {
    /// The words by which its steps name the programs they start. None if it may start others, too: something in it is
    /// not understood or not proved by a table, reaches the network, or changes what a name stands for.
    ///
    /// Names that the shell answers to itself are left out, unless another program starts them.
    pub fn programs(&self) -> Option<BTreeSet<&str>> {
        if !self.doubts.is_empty() || self.steps.is_empty() || !self.steps.iter().all(is_bounded) {
            return None;
        }
        let mut names = BTreeSet::new();
        for step in self.steps.iter().filter(|step| !step.words.is_empty()) {
            let name = step.words.first().and_then(Word::literal)?;
            if !BUILT_IN.contains(&name) || step.position == Position::Wrapped {
                names.insert(name);
            }
        }
        Some(names)
    }
}

fn is_bounded(step: &Step) -> bool {
    let proved = match step.effect {
        Effect::Reads | Effect::Nothing => true,
        // Git starts hooks when it changes something.
        Effect::Writes => !step.git,
        Effect::Ruin(_) | Effect::Unknown(_) => false,
    };
    (proved || step.transparent) && step.hosts.is_empty() && step.variables.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, effect: Effect) -> Step {
        Step { words: vec![Word::Literal(name.into())], effect, ..Step::default() }
    }

    fn of(steps: Vec<Step>) -> Option<Vec<String>> {
        let commands = Commands { steps, ..Commands::default() };
        commands.programs().map(|names| names.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn programs_are_named_where_all_of_it_is_proved() {
        let reads = |name: &str| step(name, Effect::Reads);
        let wrapped = Step { position: Position::Wrapped, ..reads("echo") };
        let timeout = Step { transparent: true, ..step("timeout", Effect::Nothing) };
        let all = vec![reads("cat"), reads("echo"), timeout, step("cp", Effect::Writes)];
        assert_eq!(of(all).unwrap(), ["cat", "cp", "timeout"]);
        assert_eq!(of(vec![reads("printf"), wrapped]).unwrap(), ["echo"]);
        assert_eq!(of(vec![Step::default()]).unwrap(), [""; 0]);
    }

    #[test]
    fn nothing_is_said_where_something_is_open() {
        let reads = || step("cat", Effect::Reads);
        for odd in [
            step("make", Effect::Unknown("no table knows it".into())),
            step("rm", Effect::Ruin("all of it".into())),
            Step { git: true, ..step("git", Effect::Writes) },
            Step { hosts: vec!["*".into()], ..reads() },
            Step { variables: vec!["PATH".into()], ..reads() },
            Step { words: vec![Word::Glob("c*".into())], ..reads() },
        ] {
            assert_eq!(of(vec![reads(), odd.clone()]), None, "{odd:?}");
        }
        assert_eq!(of(Vec::new()), None);
        let doubted =
            Commands { steps: vec![reads()], doubts: vec!["odd".into()], ..Commands::default() };
        assert_eq!(doubted.programs(), None);
    }
}
