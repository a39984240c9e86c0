use super::*;
use crate::{Act, Caution, Effect, Position, Touch, TouchKind};

fn step(words: &[&str]) -> Step {
    let words = words.iter().map(|word| Word::Literal((*word).to_owned())).collect();
    Step { words, effect: Effect::Reads, folder: Some(Vec::new()), ..Step::default() }
}

fn many(steps: Vec<Step>) -> Commands {
    let mut all = vec![step(&["ls"]); MANY];
    all.extend(steps);
    Commands { steps: all, ..Commands::default() }
}

#[test]
fn few_steps_stay_as_they_are() {
    let commands = Commands { steps: vec![step(&["ls"]); MANY], ..Commands::default() };
    assert_eq!(commands.distinct(), None);
    let different = (0..200).map(|n| step(&["cat", &n.to_string()])).collect();
    assert_eq!(many(different).distinct(), None);
}

#[test]
fn repeated_steps_go_and_the_rest_stays() {
    let (a, b) = (step(&["cat", "a"]), step(&["cat", "b"]));
    let repeated = many(vec![a.clone(), b.clone(), a.clone(), b.clone(), step(&["ls"])]);
    let left = repeated.distinct().unwrap().steps;
    assert_eq!(left.get(MANY..).unwrap(), [a, b]);
}

/// Whatever a judgement could look at makes another step.
#[test]
fn every_difference_counts() {
    let plain = step(&["ls"]);
    let different = [
        step(&["l", "s"]),
        Step { words: vec![Word::Glob("ls".into())], ..plain.clone() },
        Step { position: Position::Background, ..plain.clone() },
        Step { folder: None, ..plain.clone() },
        Step { folder: Some(vec!["x".into()]), ..plain.clone() },
        Step { place: Some("/x".into()), ..plain.clone() },
        Step { effect: Effect::Unknown("x".into()), ..plain.clone() },
        Step { touches: vec![Touch::new(Act::Read, "x", TouchKind::File)], ..plain.clone() },
        Step { hosts: vec!["x".into()], ..plain.clone() },
        Step { transparent: true, ..plain.clone() },
        Step { variables: vec!["x".into()], ..plain.clone() },
        Step { assigned: vec![Word::Literal("x=1".into())], ..plain.clone() },
        Step { cautions: vec![Caution::new("x", None)], ..plain.clone() },
        Step { normal: vec![Word::Literal("x".into())], ..plain.clone() },
        Step { git: true, ..plain.clone() },
    ];
    for other in different {
        // The last one goes, the other stays.
        let commands = many(vec![other.clone(), plain.clone()]);
        let left = commands.distinct().unwrap().steps;
        assert_eq!(left.get(MANY..).unwrap(), std::slice::from_ref(&other), "{other:?}");
    }
}

/// A rule may speak of a wrapper together with what it starts.
#[test]
fn what_stands_around_a_wrapped_step_counts() {
    let wrapped =
        |inside| Step { inside: Some(inside), position: Position::Wrapped, ..step(&["cat", "a"]) };
    let commands = many(vec![step(&["x"]), wrapped(MANY), step(&["y"]), wrapped(MANY + 2)]);
    assert_eq!(commands.distinct(), None);
    let commands = many(vec![step(&["x"]), wrapped(MANY), step(&["x"]), wrapped(MANY + 2)]);
    assert_eq!(commands.distinct().unwrap().steps.len(), MANY + 2);
}

#[test]
fn indexes_lead_to_equal_steps() {
    let inner = |inside| Step { inside: Some(inside), ..step(&["cat", "a"]) };
    let mut commands = many(vec![step(&["x"]), inner(MANY), step(&["x"]), inner(MANY + 2)]);
    commands.pipes = vec![vec![vec![0], vec![MANY, MANY + 1], vec![MANY + 2, MANY + 3]]];
    let left = commands.distinct().unwrap();
    assert_eq!(left.steps.len(), MANY + 2);
    assert_eq!(left.pipes, [[vec![0], vec![MANY, MANY + 1], vec![MANY, MANY + 1]]]);
    assert_eq!(left.steps.get(MANY + 1).unwrap().inside, Some(MANY));
}
