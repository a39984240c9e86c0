//! Who vouches for a command: a rule that spells it out, a proof that it only reads, or the mode.

use super::access::{Access, Backing};
use super::command_regex::CommandLines;
use super::commands::{Act, Caution, Concern, Effect, Step, Touch, TouchKind};
use super::decide::{By, DecisionScene, Reason, Verdict, by_rule, reason};
use super::mode::Mode;
use super::policy::Fallback;
use super::rule::{CHANGING, COMMANDS, Matcher, READING, Reach, Rule, Tier};
use super::script::{Dynamic, Word};
use super::step_verdict::meets;
use super::stray_words::{is_message, stray};
use std::path::Path;

/// Programs whose changes inside the workspace `acceptEdits` accepts.
const EDITORS: [&str; 8] = ["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed", "tee"];
/// Those of them that a rule on the files they write allows as well: they take nothing away.
const MAKERS: [&str; 5] = ["mkdir", "touch", "cp", "sed", "tee"];

/// Who vouches for it, or why nobody does. Says so where it hangs on the sandbox and undo.
pub(super) fn allowed(
    scene: DecisionScene<'_>,
    step: &Step,
    lines: &CommandLines,
    files: &Access,
) -> Result<Reason, Reason> {
    let found = vouched(scene, step, lines, files);
    if !step.needs_backing() {
        return found;
    }
    match (scene.backing, found) {
        (Backing::Whole, Ok(reason)) => {
            let missing = Backing::default();
            match vouched(DecisionScene { backing: &missing, ..scene }, step, lines, files) {
                Ok(_) => Ok(reason),
                Err(_) => {
                    let held = "the sandbox confines it to the workspace, and undo can revert it";
                    Ok(Reason { why: format!("{}: {held}", reason.why), ..reason })
                }
            }
        }
        (Backing::Missing(missing), Err(refused)) => {
            let backed = DecisionScene { backing: &Backing::Whole, ..scene };
            let covers =
                |rule: &&Rule| vouched_with(backed, step, lines, files, Some(rule)).is_ok();
            Err(match vouchers(backed, step, lines).into_iter().find(covers) {
                Some(rule) => {
                    let why = format!(
                        "{}; the rule {} covers that only if the sandbox confines it and undo covers it, but {missing}",
                        refused.why,
                        rule.text()
                    );
                    Reason { why, ..refused }
                }
                None => refused,
            })
        }
        (_, found) => found,
    }
}

/// By the first rule that covers all of it, or without one.
fn vouched(
    scene: DecisionScene<'_>,
    step: &Step,
    lines: &CommandLines,
    files: &Access,
) -> Result<Reason, Reason> {
    let mut first = None;
    for rule in vouchers(scene, step, lines) {
        match vouched_with(scene, step, lines, files, Some(rule)) {
            Ok(reason) => return Ok(reason),
            Err(refused) => first = first.or(Some(refused)),
        }
    }
    first.map_or_else(|| vouched_with(scene, step, lines, files, None), Err)
}

fn vouched_with(
    scene: DecisionScene<'_>,
    step: &Step,
    lines: &CommandLines,
    files: &Access,
    rule: Option<&Rule>,
) -> Result<Reason, Reason> {
    let open = |why: String| reason(By::Default, why);
    let exact = rule.is_some_and(|rule| match &rule.matcher {
        Matcher::Command(pattern) => pattern.is_exact(),
        _ => false,
    });
    let moved = step.folder.as_ref().is_none_or(|folder| !folder.is_empty());
    let inside = || step.place.as_ref().is_some_and(|place| scene.workspace.contains(place));
    if rule.is_some() && moved && !inside() && !follows_code(scene, step) {
        return Err(open("it runs in a directory that may be outside the workspace".into()));
    }
    // A rule vouches for the variables it spells out, and for no other.
    let spelled = |name: &String| rule.is_some_and(|rule| sets(rule, name));
    if let Some(name) = step.variables.iter().find(|name| !spelled(name)) {
        return Err(open(format!("it sets {name}, which may change what runs")));
    }
    if let Some(rule) = rule.filter(|_| !exact)
        && let Some(why) =
            stray(scene, step, |place| spells(rule, step, place) || is_code(scene, step, place))
    {
        return Err(open(why));
    }
    let edits = accepted_edit(scene, step);
    let accepted = edits.is_some();
    let by = vouched_by(scene, step, rule, edits, |rule| meets(rule, step, lines, files, true))?;
    for touch in &step.touches {
        let output = rule.is_some_and(|rule| backs(scene, rule, step, Concern::Writes));
        let by = Coverage { rule: rule.is_some(), exact, accepted, output };
        covered(scene, touch, by).map_err(open)?;
    }
    match step.hosts.first() {
        Some(host) if rule.is_none() => Err(open(format!("it would contact {host}"))),
        _ => Ok(by),
    }
}

/// The rules that vouch for its words, a person's before those that ship.
fn vouchers<'a>(scene: DecisionScene<'a>, step: &Step, lines: &CommandLines) -> Vec<&'a Rule> {
    let vouching = scene.policy.allow.iter().filter(|rule| vouches(scene, rule, step, lines));
    let (shipped, mut all): (Vec<&Rule>, Vec<&Rule>) = vouching.partition(|rule| is_shipped(rule));
    all.extend(shipped);
    all
}

fn is_shipped(rule: &Rule) -> bool {
    rule.source.tier == Tier::BuiltIn
}

/// What a person said, then what ships, then the default.
fn vouched_by(
    scene: DecisionScene<'_>,
    step: &Step,
    rule: Option<&Rule>,
    edits: Option<Reason>,
    meets: impl Fn(&Rule) -> Reach,
) -> Result<Reason, Reason> {
    let proved = matches!(step.effect, Effect::Reads | Effect::Nothing);
    if let Some(rule) = rule.filter(|rule| !is_shipped(rule)) {
        return Ok(by_rule(rule, Verdict::Allow));
    }
    let asked = || scene.policy.shipped_asks().find(|rule| meets(rule) == Reach::Full);
    if let Some(rule) = asked().filter(|rule| opens_a_file(rule, step)) {
        return Err(by_rule(rule, Verdict::Ask));
    }
    if proved && is_shells_own(step) {
        return Ok(reason(By::Default, "it runs no program"));
    }
    if step.transparent {
        return Ok(reason(By::Default, "it only starts the commands in it"));
    }
    if let Some(accepted) = edits {
        return Ok(accepted);
    }
    if let Some(rule) = asked() {
        return Err(by_rule(rule, Verdict::Ask));
    }
    match rule {
        Some(rule) => Ok(by_rule(rule, Verdict::Allow)),
        None if proved && scene.policy.fallback == Fallback::Read => {
            Ok(reason(By::Default, "it is proved to be read-only"))
        }
        None => match accepted_output(scene, step) {
            Some(accepted) => Ok(accepted),
            None => Err(reason(By::Default, unproved(step))),
        },
    }
}

/// The shell opens a file that the rule speaks of: `{ cat; } < .env`, `read x < .env`, `timeout 5 cat < .env`. A word of
/// its own that only looks at a file (`[ -f .env ]`) opens none.
fn opens_a_file(rule: &Rule, step: &Step) -> bool {
    let Matcher::Regex(regex) = &rule.matcher else { return false };
    let is_word = |path: &str| {
        step.words.iter().any(|word| match word {
            Word::Literal(text) | Word::Glob(text) => text == path,
            Word::Dynamic { .. } => false,
        })
    };
    let opened = |touch: &&Touch| touch.redirected || step.transparent || !is_word(&touch.path);
    step.touches.iter().filter(opened).any(|touch| regex.mentions_file(step, touch))
}

/// The program itself would run unasked, and nothing but the shell writes, to files that are judged one by one. Not for
/// git: that it only reads is looked into where it writes nothing.
fn accepted_output(scene: DecisionScene<'_>, step: &Step) -> Option<Reason> {
    let only_shell =
        step.touches.iter().all(|touch| matches!(touch.act, Act::Read | Act::Redirect));
    let plain = step.effect == Effect::Writes
        && only_shell
        && step.cautions.is_empty()
        && !step.git
        && (scene.policy.fallback == Fallback::Read || is_shells_own(step));
    if !plain {
        return None;
    }
    by_mode(scene).or_else(|| by_edit_rule(scene, step))
}

fn accepted_edit(scene: DecisionScene<'_>, step: &Step) -> Option<Reason> {
    let program = step.compared().first().and_then(Word::literal)?;
    // Of sed the caution says no more than that it changes files.
    let plain = program == "sed" || step.cautions.is_empty();
    if step.effect != Effect::Writes || !plain {
        return None;
    }
    let mode = by_mode(scene).filter(|_| EDITORS.contains(&program));
    mode.or_else(|| by_edit_rule(scene, step).filter(|_| MAKERS.contains(&program)))
}

fn by_mode(scene: DecisionScene<'_>) -> Option<Reason> {
    let accepts = scene.mode == Mode::AcceptEdits;
    accepts.then(|| reason(By::Mode, "edits inside the workspace are accepted"))
}

/// Every file it writes is one that a rule lets be edited. Gives the first such rule.
fn by_edit_rule(scene: DecisionScene<'_>, step: &Step) -> Option<Reason> {
    let writes = step.touches.iter().filter(|t| matches!(t.act, Act::Write | Act::Redirect));
    let mut first = None;
    for touch in writes {
        for scope in touch.scopes.as_ref()? {
            let rule = edit_rule(scene, scope.path())?;
            first = first.or(Some(rule));
        }
    }
    first.map(|rule| by_rule(rule, Verdict::Allow))
}

fn edit_rule<'a>(scene: DecisionScene<'a>, path: &Path) -> Option<&'a Rule> {
    scene.policy.allow.iter().find(|rule| match &rule.matcher {
        Matcher::Files(pattern) => rule.tool == CHANGING && pattern.allows(path),
        _ => false,
    })
}

/// Words of the shell's language that are commands only by their form. What they read is judged all the same.
const SHELLS_OWN: &[&str] =
    &["[", "[[", "test", ":", "true", "false", "read", "set", "break", "continue", "exit"];

fn is_shells_own(step: &Step) -> bool {
    let name = step.compared().first().map(Word::literal);
    name.is_none_or(|name| name.is_some_and(|name| SHELLS_OWN.contains(&name)))
}

fn unproved(step: &Step) -> String {
    match (&step.effect, step.cautions.first()) {
        (_, Some(caution)) => caution.why.clone(),
        (Effect::Unknown(why), None) => why.clone(),
        (Effect::Writes, None) => "it changes files".into(),
        (_, None) => "no rule allows it".into(),
    }
}

/// A rule vouches for the words it spells out, and for further ones that are known and not suspicious.
fn vouches(scene: DecisionScene<'_>, rule: &Rule, step: &Step, lines: &CommandLines) -> bool {
    if !rule.names(COMMANDS) || !still_holds(rule, step) {
        return false;
    }
    let proved = matches!(step.effect, Effect::Reads | Effect::Nothing);
    // A message that is more than one word has left a caution.
    let words = step.compared();
    let known = |(at, word): (usize, &Word)| is_certain(word) || is_message(words, at);
    let literal = proved || words.iter().enumerate().all(known);
    match &rule.matcher {
        Matcher::Command(pattern) => {
            let spelled = |place: usize| spells(rule, step, place);
            let backed = |caution: &Caution| backs(scene, rule, step, caution.concern);
            let vouched = step.cautions.iter().all(|c| c.word.is_some_and(spelled) || backed(c));
            pattern.matches(step.compared())
                && pattern.spells_assigned(&step.assigned)
                && (proved || !pattern.names_no_program())
                && literal
                && (vouched || pattern.is_exact())
        }
        Matcher::Regex(regex) => {
            literal
                && step.cautions.is_empty()
                && regex.matches_lines(lines)
                && (proved || regex.names_program(step))
        }
        Matcher::Whole | Matcher::Files(_) | Matcher::Domain(_) | Matcher::Skill(_) => false,
    }
}

/// The rule is a person's, names the program, and the sandbox and undo stand behind it in this.
fn backs(scene: DecisionScene<'_>, rule: &Rule, step: &Step, concern: Concern) -> bool {
    !is_shipped(rule) && spells(rule, step, 0) && scene.backs(concern)
}

/// A file was read into the shell before it, which may have changed the directory. Code that runs in the sandbox may go
/// where it likes in there.
fn follows_code(scene: DecisionScene<'_>, step: &Step) -> bool {
    let follows = |caution: &Caution| caution.concern == Concern::Code && caution.word.is_none();
    step.folder.is_none() && scene.backs(Concern::Code) && step.cautions.iter().any(follows)
}

/// The text that an interpreter is given to run is no path, whatever it says.
fn is_code(scene: DecisionScene<'_>, step: &Step, place: usize) -> bool {
    let Some(before) = place.checked_sub(1) else { return false };
    let option = step.compared().get(before).and_then(Word::literal);
    let about =
        |caution: &Caution| caution.concern == Concern::Code && caution.word == Some(before);
    scene.backs(Concern::Code)
        && matches!(option, Some("-c" | "-e" | "-p" | "-pe" | "-ne" | "--eval" | "--print"))
        && step.cautions.iter().any(about)
}

/// The rule spells out the variable with its value.
fn sets(rule: &Rule, name: &str) -> bool {
    matches!(&rule.matcher, Matcher::Command(pattern) if pattern.sets(name))
}

/// The rule spells out the word at this place.
fn spells(rule: &Rule, step: &Step, place: usize) -> bool {
    let Matcher::Command(pattern) = &rule.matcher else { return false };
    let word = step.compared().get(place).and_then(Word::literal);
    word.is_some_and(|word| pattern.words().get(place).is_some_and(|spelled| spelled == word))
}

/// Nothing of it is left to the shell; a pattern may stand for names, but not for options.
fn is_certain(word: &Word) -> bool {
    match word {
        Word::Literal(_) => true,
        Word::Glob(pattern) => !pattern.starts_with(['*', '?', '[', '-', '\\']),
        Word::Dynamic { why, .. } => *why == Dynamic::Number,
    }
}

/// An approval of something that runs a file ends when the file changes.
pub(super) fn still_holds(rule: &Rule, step: &Step) -> bool {
    let Some(bound) = &rule.bound else { return true };
    let runs = step.touches.iter().filter(|touch| touch.act == Act::Run);
    step.folder.as_ref().is_some_and(Vec::is_empty)
        && runs.into_iter().all(|touch| {
            touch.content.as_ref().is_some_and(|content| {
                let is = |path: &std::path::Path| {
                    touch.scopes.iter().flatten().any(|scope| scope.path() == path)
                };
                bound.files.iter().any(|(path, hash)| is(path) && hash == content)
            })
        })
}

/// Who speaks for what a step touches.
#[derive(Clone, Copy)]
struct Coverage {
    /// A rule on the command.
    rule: bool,
    /// One that leaves nothing open.
    exact: bool,
    /// The mode, or a rule on the files it edits.
    accepted: bool,
    /// A rule on the command, and the sandbox and undo with it: what it prints may go to a file.
    output: bool,
}

fn covered(scene: DecisionScene<'_>, touch: &Touch, by: Coverage) -> Result<(), String> {
    let Coverage { rule, exact, accepted, output } = by;
    if touch.act == Act::Run {
        return Ok(());
    }
    let Some(scopes) = &touch.scopes else {
        let known_place = exact && touch.act != Act::Redirect;
        return if known_place {
            Ok(())
        } else {
            Err(format!("it is unclear where {} leads", touch.path))
        };
    };
    let workspace = scene.workspace;
    for scope in scopes {
        let path = scope.path();
        let file_rule = |writing: bool| {
            scene.policy.allow.iter().any(|rule| match &rule.matcher {
                Matcher::Files(pattern) => {
                    let about = rule.tool == if writing { CHANGING } else { READING };
                    about && pattern.allows(path)
                }
                _ => false,
            })
        };
        let inside = workspace.contains(path);
        let accepts = scene.mode == Mode::AcceptEdits && inside;
        // A repository was looked into: one around the workspace is trusted like what is in it.
        let of_git = matches!(touch.kind, TouchKind::Repository | TouchKind::InRepository);
        let (fine, does) = match touch.act {
            Act::Read if path.starts_with("/dev/null") => (true, "read"),
            Act::Read => (of_git || workspace.may_read(path) || exact || file_rule(false), "read"),
            Act::Write => ((inside && (rule || accepted)) || exact || file_rule(true), "change"),
            Act::Redirect => (accepts || (inside && output) || file_rule(true), "write"),
            Act::Run => (true, "run"),
        };
        if !fine {
            let outside = if inside { "" } else { " outside the workspace" };
            return Err(format!("it would {does} {}{outside}", workspace.shown(path)));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "vouch_tests.rs"]
mod tests;
