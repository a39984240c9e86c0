//! What each command of a shell text comes to. A part that nobody vouches for decides for all of them.

use super::access::{Access, Denials, PathScope};
use super::command_regex::{CommandLines, CommandRegex};
use super::commands::{Act, Commands, Effect, Step, Touch, TouchKind};
use super::decide::{By, DecisionScene, Reason, Ruling, Verdict, by_rule, guard, reason};
use super::policy::Policy;
use super::rule::{COMMANDS, Matcher, Reach, Rule};
use super::rule_text::is_own_text;
use super::script::Word;
use super::stray_words;
use super::vouch::{allowed, still_holds};
use super::wrapper_rules;

/// Ways through a pipeline of compound stages that are compared with rules.
const MAX_WAYS: usize = 256;
/// Up to so many steps each reason names its own.
const NAMED: usize = 32;
/// Characters of a command in a reason.
const SHOWN: usize = 120;

pub(super) fn judge_commands(
    scene: DecisionScene<'_>,
    tool: &str,
    access: &Access,
    commands: &Commands,
) -> Vec<Ruling> {
    let policy = scene.policy;
    if let Some(rule) = policy.deny.iter().find(|rule| rule.is_whole_tool(tool)) {
        return vec![Ruling::Deny(by_rule(rule, Verdict::Deny))];
    }
    let mut rulings: Vec<Ruling> = Vec::new();
    if let Some(rule) = policy.ask.iter().find(|rule| rule.is_whole_tool(tool)) {
        rulings.push(Ruling::Ask(by_rule(rule, Verdict::Ask)));
    }
    let whole = policy.allow.iter().find(|rule| {
        is_everything(rule, tool)
            || is_own_text(rule, tool, commands, |step| still_holds(rule, step))
    });
    for step in &commands.steps {
        let ruling = judge_inside(scene, access, commands, step);
        rulings.push(match (ruling, whole) {
            (Ruling::Open(_), Some(rule)) => Ruling::Allow(by_rule(rule, Verdict::Allow)),
            (ruling @ Ruling::Allow(_), _) if commands.steps.len() > NAMED => ruling,
            (ruling, _) if commands.steps.len() > 1 => named(ruling, step),
            (ruling, _) => ruling,
        });
    }
    rulings.extend(judge_pipes(scene, commands));
    rulings.extend(judge_doubts(scene, commands, whole));
    rulings
}

/// The step as a part of its text: a rule may spell out a wrapper together with what it starts.
fn judge_inside(
    scene: DecisionScene<'_>,
    access: &Access,
    commands: &Commands,
    step: &Step,
) -> Ruling {
    let policy = scene.policy;
    let mut behind = wrapper_rules::rules_behind(&policy.allow, commands, step);
    if !behind.is_empty() {
        behind.extend(policy.allow.iter().cloned());
        let policy = Policy { allow: behind, ..policy.clone() };
        return judge_step(DecisionScene { policy: &policy, ..scene }, access, step);
    }
    match judge_step(scene, access, step) {
        Ruling::Open(why) => match wrapper_rules::rule_around(&policy.allow, commands, step) {
            Some((rule, name)) => {
                let rule = rule.text();
                let text =
                    format!("{}; the rule {rule} does not cover what {name} starts", why.why);
                Ruling::Open(Reason { why: text, ..why })
            }
            None => Ruling::Open(why),
        },
        ruling => ruling,
    }
}

fn is_everything(rule: &Rule, tool: &str) -> bool {
    let every = match &rule.matcher {
        Matcher::Command(pattern) => pattern.is_everything(),
        Matcher::Regex(_) | Matcher::Files(_) | Matcher::Domain(_) | Matcher::Skill(_) => false,
        Matcher::Whole => true,
    };
    every && rule.names(tool)
}

fn named(ruling: Ruling, step: &Step) -> Ruling {
    let with = |reason: Reason| Reason { part: reason.part.or_else(|| shown(step)), ..reason };
    match ruling {
        Ruling::Deny(reason) => Ruling::Deny(with(reason)),
        Ruling::Ask(reason) => Ruling::Ask(with(reason)),
        Ruling::Weak(reason) => Ruling::Weak(with(reason)),
        Ruling::Open(reason) => Ruling::Open(with(reason)),
        Ruling::Allow(reason) => Ruling::Allow(with(reason)),
    }
}

/// On one line, and not longer than a reason should be.
fn shown(step: &Step) -> Option<String> {
    let mut out = String::new();
    let mut left = SHOWN;
    for (index, word) in step.words.iter().enumerate() {
        let gap = if index > 0 { " " } else { "" };
        for c in gap.chars().chain(text(word).chars()) {
            match left.checked_sub(1) {
                None => {
                    out.push('…');
                    return Some(out);
                }
                Some(less) => left = less,
            }
            if c.is_control() {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

fn text(word: &Word) -> &str {
    match word {
        Word::Literal(text) | Word::Glob(text) => text,
        Word::Dynamic { source, .. } => source,
    }
}

pub(super) fn judge_step(scene: DecisionScene<'_>, access: &Access, step: &Step) -> Ruling {
    if let Effect::Ruin(why) = &step.effect {
        return Ruling::Deny(reason(By::BuiltIn, why.clone()));
    }
    let (reads, writes) = scopes(step, |_| true);
    let files = Access {
        reads: reads.clone(),
        writes: writes.clone(),
        absent: access.absent.clone(),
        ..Access::nothing()
    };
    let lines = CommandLines::of(step);
    let named = named_files(scene, step, &files);
    for rule in &scene.policy.deny {
        match meets(rule, step, &lines, named.as_ref().unwrap_or(&files), false) {
            Reach::Full => return Ruling::Deny(by_rule(rule, Verdict::Deny)),
            Reach::Below | Reach::None => {}
        }
    }
    for (rule, asks) in scene
        .policy
        .deny
        .iter()
        // Of the others it is known by now.
        .filter(|rule| match rule.matcher {
            Matcher::Files(_) => !is_enforced(scene, step),
            Matcher::Command(_) => true,
            _ => false,
        })
        .map(|rule| (rule, false))
        .chain(scene.policy.asks().map(|rule| (rule, true)))
    {
        match meets(rule, step, &lines, &files, asks) {
            Reach::Full => return Ruling::Ask(by_rule(rule, Verdict::Ask)),
            Reach::Below => {
                let why = why_below(scene, rule, asks);
                return Ruling::Ask(Reason { why, ..by_rule(rule, Verdict::Ask) });
            }
            Reach::None => {}
        }
    }
    if let Some(rule) = super::program_name::covered(scene.policy, step) {
        let why = format!("its program may be one that the rule {} covers", rule.text());
        return Ruling::Ask(Reason { why, ..by_rule(rule, Verdict::Ask) });
    }
    if let Some(why) = guard(scene, &reads, &writes, false) {
        return Ruling::Ask(why);
    }
    if let Some(ruling) = stray_words::named(scene, step) {
        return ruling;
    }
    match allowed(scene, step, &lines, &files) {
        Ok(reason) => Ruling::Allow(reason),
        Err(reason) => Ruling::Open(reason),
    }
}

/// Why somebody has to look where a rule may cover something.
fn why_below(scene: DecisionScene<'_>, rule: &Rule, asks: bool) -> String {
    let text = rule.text();
    match &rule.matcher {
        Matcher::Command(_) => format!("it may be what the rule {text} covers"),
        _ if scene.kernel_denies() && !asks => {
            format!("git tracks a file that the deny rule {text} covers")
        }
        _ => format!("it searches a directory in which the rule {text} covers something"),
    }
}

/// What the step names, where the kernel takes care of everything that it merely goes through: a bare `*` names nothing.
fn named_files(scene: DecisionScene<'_>, step: &Step, files: &Access) -> Option<Access> {
    let is_bare = |touch: &Touch| {
        let last = touch.path.rsplit('/').next().unwrap_or_default();
        touch.kind == TouchKind::Glob && !last.is_empty() && last.chars().all(|c| c == '*')
    };
    if !scene.kernel_denies() || !step.touches.iter().any(is_bare) {
        return None;
    }
    let (reads, writes) = scopes(step, |touch| !is_bare(touch));
    Some(Access { reads, writes, absent: files.absent.clone(), ..Access::nothing() })
}

/// A deny rule on a file somewhere below what the step touches needs no question: the kernel refuses the file. Git
/// prints what it tracks from its own copy.
fn is_enforced(scene: DecisionScene<'_>, step: &Step) -> bool {
    match scene.denials {
        Denials::Kernel { tracked } => !(*tracked && step.git),
        Denials::Decision | Denials::Unenforced(_) => false,
    }
}

/// What is read, and what is written, where that is known. Where only names are listed, no rule on a file below speaks.
fn scopes(step: &Step, counts: impl Fn(&Touch) -> bool) -> (Vec<PathScope>, Vec<PathScope>) {
    let of = |wanted: fn(Act) -> bool| -> Vec<PathScope> {
        let known = |touch: &Touch| {
            let names = touch.kind == TouchKind::Names;
            let scopes = touch.scopes.clone().unwrap_or_default().into_iter();
            scopes.map(move |scope| match scope {
                PathScope::Tree(path) if names => PathScope::File(path),
                scope => scope,
            })
        };
        let wanted = |touch: &&Touch| wanted(touch.act) && counts(touch);
        step.touches.iter().filter(wanted).flat_map(known).collect()
    };
    (of(|act| act == Act::Read), of(|act| matches!(act, Act::Write | Act::Redirect)))
}

/// How a deny or ask rule meets a step. Any spelling counts, and a broad reading of the rule.
pub(super) fn meets(
    rule: &Rule,
    step: &Step,
    lines: &CommandLines,
    files: &Access,
    asks: bool,
) -> Reach {
    let yes = match &rule.matcher {
        Matcher::Command(pattern) if rule.names(COMMANDS) => {
            let full =
                pattern.matches_loosely(step.compared()) || pattern.matches_loosely(&step.words);
            if !pattern.may_be_assigned(&step.assigned) {
                return Reach::None;
            }
            // Without a program it means every command that gets the variable.
            let full = full || pattern.words().is_empty() && pattern.is_open();
            // It may be the rule's command: somebody has to look.
            if !full && pattern.may_stand_behind_options(step.compared()) {
                return Reach::Below;
            }
            full
        }
        Matcher::Command(_) => false,
        Matcher::Regex(regex) if rule.names(COMMANDS) => {
            // The redirections of a compound command have no words.
            if asks && step.words.is_empty() && regex.mentions_files(step) {
                return Reach::Full;
            }
            regex.matches_loosely(lines) || (asks && regex.mentions_lines(step, lines))
        }
        Matcher::Regex(_) => false,
        Matcher::Files(pattern) => {
            let place = step.place.as_deref().filter(|_| rule.is_about_reading());
            let meets = |touch: &Touch| {
                touch.kind == TouchKind::Glob
                    && place.is_some_and(|place| pattern.may_meet(place, &touch.path))
            };
            let reach = rule.touches(COMMANDS, files);
            return match step.touches.iter().any(meets) {
                true => reach.max(Reach::Below),
                false => reach,
            };
        }
        Matcher::Whole | Matcher::Domain(_) | Matcher::Skill(_) => false,
    };
    if yes && !step.words.is_empty() { Reach::Full } else { Reach::None }
}

fn about_pipes(rules: &[Rule]) -> Vec<(&Rule, &CommandRegex)> {
    let mut found = Vec::new();
    for rule in rules {
        if let Matcher::Regex(regex) = &rule.matcher
            && regex.is_about_pipes()
        {
            found.push((rule, regex.as_ref()));
        }
    }
    found
}

/// Rules that speak of whole pipelines.
fn judge_pipes(scene: DecisionScene<'_>, commands: &Commands) -> Vec<Ruling> {
    let mut rulings = Vec::new();
    if commands.pipes.is_empty() {
        return rulings;
    }
    let (deny, ask) = (about_pipes(&scene.policy.deny), about_pipes(&scene.policy.ask));
    if deny.is_empty() && ask.is_empty() {
        return rulings;
    }
    for stages in &commands.pipes {
        let Some(ways) = ways(commands, stages) else {
            rulings.push(Ruling::Ask(reason(By::BuiltIn, "a pipeline in it has too many parts")));
            continue;
        };
        for way in ways {
            if let Some((rule, _)) = deny.iter().find(|(_, regex)| regex.matches_pipe(&way)) {
                rulings.push(Ruling::Deny(by_rule(rule, Verdict::Deny)));
            } else if let Some((rule, _)) = ask.iter().find(|(_, regex)| regex.matches_pipe(&way)) {
                rulings.push(Ruling::Ask(by_rule(rule, Verdict::Ask)));
            }
        }
    }
    rulings
}

/// One step of each stage, in every combination.
fn ways<'a>(commands: &'a Commands, stages: &[Vec<usize>]) -> Option<Vec<Vec<&'a Step>>> {
    let mut ways: Vec<Vec<&Step>> = vec![Vec::new()];
    for stage in stages {
        let steps: Vec<&Step> = stage
            .iter()
            .filter_map(|index| commands.steps.get(*index))
            .filter(|step| !step.words.is_empty())
            .collect();
        if steps.is_empty() {
            continue;
        }
        if ways.len() * steps.len() > MAX_WAYS {
            return None;
        }
        ways = ways
            .iter()
            .flat_map(|way| {
                steps.iter().map(move |step| {
                    let mut longer = way.clone();
                    longer.push(*step);
                    longer
                })
            })
            .collect();
    }
    Some(ways)
}

/// What was not understood asks, and a word in it that a rule names makes even a bypass ask.
fn judge_doubts(
    scene: DecisionScene<'_>,
    commands: &Commands,
    whole: Option<&Rule>,
) -> Vec<Ruling> {
    if commands.doubts.is_empty() {
        return Vec::new();
    }
    let both = || scene.policy.deny.iter().chain(scene.policy.asks());
    let suspicious = commands.suspects.iter().find_map(|word| {
        let rule = both().find(|rule| match &rule.matcher {
            Matcher::Command(pattern) => pattern.words().first().is_some_and(|first| first == word),
            Matcher::Regex(regex) => regex.matches_word(word),
            _ => false,
        });
        rule.map(|rule| (word, rule))
    });
    let mut rulings: Vec<Ruling> = commands
        .doubts
        .iter()
        .map(|why| match whole {
            Some(rule) => Ruling::Allow(by_rule(rule, Verdict::Allow)),
            None => Ruling::Open(reason(By::BuiltIn, why.clone())),
        })
        .collect();
    if let Some((word, rule)) = suspicious {
        let doubt = commands.doubts.first().map(String::as_str).unwrap_or_default();
        let why = format!("{doubt}, and it mentions {word}, which the rule {} names", rule.text());
        rulings.push(Ruling::Ask(Reason { why, ..by_rule(rule, Verdict::Ask) }));
    }
    rulings
}

#[cfg(test)]
#[path = "step_verdict_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "denials_tests.rs"]
mod denials_tests;
