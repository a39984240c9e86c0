//! Compound commands: groups, branches, loops, functions, tests.

use super::folders::Folders;
use super::test_command;
use super::walk::{StepWalk, WalkPosition};
use ostler_policy::script::*;
use ostler_policy::{Effect, Position};

pub(super) fn walk(walk: &mut StepWalk, body: &Compound, at: WalkPosition) {
    let inner = match at.position {
        Position::Plain | Position::Background => at.position(Position::Conditional),
        _ => at,
    };
    match body {
        Compound::Group(script) => walk.script(script, at),
        Compound::Subshell(script) => walk.apart(|walk| walk.script(script, at)),
        Compound::If { branches, otherwise } => branched(walk, branches, otherwise.as_ref(), inner),
        Compound::While { until, condition, body } => {
            if is_constant(condition, *until) {
                walk.doubt("a loop may never end");
            }
            looped(walk, |walk| {
                walk.script(condition, inner);
                walk.script(body, inner);
            });
        }
        Compound::For { variable, values, body } => {
            over_values(walk, variable, values.as_deref(), body, (at, inner));
        }
        Compound::ArithmeticFor { header, body } => counted(walk, header, body, (at, inner)),
        Compound::Case { value, arms } => {
            loose(walk, std::slice::from_ref(value), at);
            cases(walk, arms, at, inner);
        }
        Compound::Function { name, body, redirects } => {
            walk.shadows.function(name);
            let at = at.position(Position::Function);
            walk.apart(|walk| {
                walk.folder = Folders::UNKNOWN;
                self::walk(walk, body, at);
                walk.compound_redirects(redirects, at);
            });
        }
        Compound::Coprocess { name, body } => {
            walk.sets(name.as_deref().unwrap_or("COPROC"));
            walk.apart(|walk| walk.stage(body, at.position(Position::Background)));
        }
        Compound::Test(words) => walk.in_each_folder(|walk| test(walk, words, at)),
        Compound::Arithmetic(expression) => walk.in_each_folder(|walk| {
            let index = walk.push(Vec::new(), at);
            evaluated(walk, expression, WalkPosition { inside: Some(index), ..at });
        }),
    }
}

fn branched(
    walk: &mut StepWalk,
    branches: &[(Script, Script)],
    otherwise: Option<&Script>,
    at: WalkPosition,
) {
    let mut all = walk.folder.clone();
    for (condition, body) in branches {
        let before = walk.folder.clone();
        walk.script(condition, at);
        // The next branch follows a condition that did not hold.
        let next = before.or(&walk.folder);
        walk.script(body, at);
        all = all.or(&next).or(&walk.folder);
        walk.folder = next;
    }
    if let Some(body) = otherwise {
        walk.script(body, at);
    }
    walk.folder = all.or(&walk.folder);
}

fn cases(walk: &mut StepWalk, arms: &[Arm], at: WalkPosition, inner: WalkPosition) {
    for arm in arms {
        loose(walk, &arm.patterns, at);
        if let Some(body) = &arm.body {
            let before = walk.folder.clone();
            walk.script(body, inner);
            // An arm may fall through to the next.
            walk.folder = before.or(&walk.folder);
        }
    }
}

/// `while true`, `while :`, `until false`.
fn is_constant(condition: &Script, until: bool) -> bool {
    let [Item { first, rest, .. }] = condition.items.as_slice() else { return false };
    let name = match first.stages.as_slice() {
        [PipelineStage::Simple(command)] => command.words.first().and_then(Word::literal),
        _ => None,
    };
    rest.is_empty()
        && match name {
            Some("true" | ":") => until == first.negated,
            Some("false") => until != first.negated,
            _ => false,
        }
}

fn looped(walk: &mut StepWalk, work: impl FnOnce(&mut StepWalk)) {
    let (before, start) = (walk.folder.clone(), walk.steps.len());
    work(walk);
    if walk.folder != before {
        // The next time round it begins elsewhere.
        for step in walk.steps.iter_mut().skip(start) {
            step.folder = None;
        }
        walk.folder = Folders::UNKNOWN;
    }
}

/// Words that belong to no command. What they run stands where the compound stands.
fn loose(walk: &mut StepWalk, words: &[Word], at: WalkPosition) {
    words.iter().for_each(|word| walk.word(word, at.position(Position::Substitution)));
}

fn evaluated(walk: &mut StepWalk, expression: &Expression, at: WalkPosition) {
    walk.expression(expression, at.position(Position::Substitution));
}

fn test(walk: &mut StepWalk, words: &[Word], at: WalkPosition) {
    let mut shown = vec![Word::Literal("[[".into())];
    shown.extend_from_slice(words);
    shown.push(Word::Literal("]]".into()));
    let index = walk.push(shown, at);
    walk.descend(words, index);
    match test_command::double(words) {
        Ok(touches) => walk.change(index, |step| {
            step.effect = Effect::Reads;
            step.touches = touches;
        }),
        Err(miss) => walk.unknown(index, miss.why, miss.word.map(|word| word + 1)),
    }
}

fn over_values(
    walk: &mut StepWalk,
    variable: &str,
    values: Option<&[Word]>,
    body: &Script,
    (at, inner): (WalkPosition, WalkPosition),
) {
    if let Some(values) = values {
        loose(walk, values, at);
    }
    if walk.bindings.enter(variable, values) {
        walk.loops.push(variable.to_owned());
    }
    walk.sets(variable);
    let numbers = walk.numbers.count();
    walk.numbers.enter(variable);
    looped(walk, |walk| walk.script(body, inner));
    walk.numbers.forget(numbers);
    walk.bindings.leave();
}

/// `for ((…; …; …))`
fn counted(
    walk: &mut StepWalk,
    header: &[Expression; 3],
    body: &Script,
    (at, inner): (WalkPosition, WalkPosition),
) {
    let numbers = walk.numbers.count();
    for (place, part) in header.iter().enumerate() {
        evaluated(walk, part, at);
        if place == 0 {
            walk.numbers.enter_header(part);
        }
    }
    if header.iter().all(|part| part.plain || part.source.trim().is_empty()) {
        walk.doubt("a loop may never end");
    }
    looped(walk, |walk| walk.script(body, inner));
    walk.numbers.forget(numbers);
}
