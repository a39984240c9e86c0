//! Words for people, made from typed events. Every surface uses these, so that they all say the same. A notice reads like an
//! error: lower-case, without a full stop, and a surface puts a name in front of it.

use super::{Finished, NotCompacted, Notice};
use crate::context::StageName;
use crate::ledger::Usage;
use crate::permission::{By, Decision, Tier, Verdict};
use crate::text::{dollars, thousands};
use crate::turn::Terminal;
use std::path::Path;

pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::UnknownStopReason { reason } => {
            let reason = if reason.is_empty() { "none" } else { reason };
            format!("the model stopped for an unknown reason: {reason}")
        }
        Notice::NoCallMade => {
            "the model announced a call but made none; its text is used as the answer".into()
        }
        Notice::UsageEstimated { model, prompt_tokens, output_tokens } => format!(
            "the provider of {model} reported no usable token counts, so its requests are charged at the reserved amount: {prompt_tokens} prompt and {output_tokens} output tokens for this one"
        ),
        Notice::CacheBroken(broken) => broken.to_string(),
        Notice::PriceUnknown { .. } | Notice::BudgetSpent { .. } | Notice::BudgetUnknown { .. } => {
            budget(notice)
        }
        Notice::RoomMade { stage, count, tokens_before, tokens_after } => {
            let what = match stage {
                StageName::Collapse => "finished turns were shortened",
                _ => "old results were left out",
            };
            let (before, after) = (thousands(*tokens_before), thousands(*tokens_after));
            format!("{count} {what}: about {before} tokens before, {after} now")
        }
        Notice::NotCompacted(why) => {
            format!("the conversation was not summarized: {}", not_compacted(why))
        }
        Notice::MoreInstructions => {
            "there are more problems with instruction files; /context shows the files that are used"
                .into()
        }
        Notice::Mcp { server, text } => format!("MCP server {server}: {text}"),
        Notice::Skill { file, line, what } => skill(file, *line, what),
        Notice::MemoryLate => "memory took too long; this prompt is sent without it".into(),
        Notice::UnknownTool { name } => {
            format!("unknown tool \"{name}\" on the command line: ignored")
        }
        Notice::Undo { text } => {
            format!("undo may not find everything that this session changes: {text}")
        }
        Notice::SlowCall { name, seconds, .. } => {
            format!("{name} has been running for {seconds} s")
        }
        Notice::Provider { text }
        | Notice::Ledger { text }
        | Notice::Hook { text }
        | Notice::Sandbox { text }
        | Notice::Command { text }
        | Notice::Job { text }
        | Notice::Team { text }
        | Notice::Board { text }
        | Notice::Instructions { text }
        | Notice::Memory { text }
        | Notice::MemoryByWords { text }
        | Notice::SessionLog { text }
        | Notice::Directory { text } => text.clone(),
    }
}

fn skill(file: &Path, line: u64, what: &str) -> String {
    let text = format!("{}:{line}: {what}", file.display());
    // A name in it may be anything.
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn budget(notice: &Notice) -> String {
    match notice {
        Notice::PriceUnknown { model } => {
            format!("no price is known for {model}, and there is a budget")
        }
        Notice::BudgetSpent { budget, limit_usd: Some(limit) } => {
            format!(
                "not enough of this {budget}'s budget of {} is left for another request",
                dollars(*limit)
            )
        }
        Notice::BudgetSpent { budget, limit_usd: None } => {
            format!("not enough is left of {budget}")
        }
        Notice::BudgetUnknown { text } => format!("the budget cannot be checked: {text}"),
        _ => String::new(),
    }
}

fn not_compacted(why: &NotCompacted) -> String {
    match why {
        NotCompacted::SwitchedOff => "summaries are switched off".into(),
        NotCompacted::NothingEarlier => "there is no earlier exchange to summarize".into(),
        NotCompacted::TooLittleToGain => "a summary would save too little".into(),
        NotCompacted::StaysTooLarge { tokens, window } => format!(
            "about {tokens} of {window} tokens have to stay (system prompt, instruction files, the newest messages); \
             shorten those (/context shows them) or use a larger window"
        ),
        NotCompacted::Hook { text } => format!("a hook does not allow it: {text}"),
        NotCompacted::NoRoomGained => "the summary would not save any space".into(),
    }
}

/// One line: what failed and what to do. None when nothing did.
pub fn failure(finished: &Finished) -> Option<String> {
    if finished.terminal == Terminal::Completed {
        return None;
    }
    let what = match &finished.error {
        Some(error) => format!("{}: {}", finished.terminal.words(), error.trim_end_matches('.')),
        None => finished.terminal.words().to_owned(),
    };
    let line = format!("{what}. {}", finished.terminal.next_step());
    Some(line.trim_end().to_owned())
}

/// What the prompt cache did for a request: `hit`, `miss` or, where it took no part, `none`.
pub fn cache_state(usage: &Usage) -> &'static str {
    match (usage.cache_read, usage.cache_write) {
        (0, 0) => "none",
        (0, _) => "miss",
        _ => "hit",
    }
}

/// `cache hit: 12 000 tokens read, about $0.03 saved`.
pub fn cache(usage: &Usage, saved: Option<f64>) -> String {
    let saved = match saved {
        Some(saved) if saved > 0.0 => format!(", about ${saved:.4} saved"),
        _ => String::new(),
    };
    let (read, written) = (thousands(usage.cache_read), thousands(usage.cache_write));
    match (usage.cache_read, usage.cache_write) {
        (0, 0) => "cache: not used".into(),
        (0, _) => format!("cache miss: {written} tokens written"),
        (_, 0) => format!("cache hit: {read} tokens read{saved}"),
        _ => format!("cache hit: {read} tokens read{saved}; {written} written"),
    }
}

/// A call was refused: by whom, why, and where to look.
pub fn refusal(tool: &str, decision: &Decision) -> String {
    format!("{tool} denied: {} (see {})", decision.why(), place(decision))
}

/// Places named after a refusal.
const PLACES: usize = 3;

/// Where to look after a refusal: a rule that denies is not overruled by one that allows.
fn place(decision: &Decision) -> String {
    let mut places: Vec<String> = Vec::new();
    let rules = decision.reasons.iter().filter_map(|reason| reason.rule.as_ref());
    for rule in rules.filter(|rule| rule.effect == Verdict::Deny) {
        let place = match (&rule.source.file, rule.source.tier) {
            (None, Tier::CommandLine) => "--disallowedTools".to_owned(),
            _ => rule.source.to_string(),
        };
        if !places.contains(&place) && places.len() < PLACES {
            places.push(place);
        }
    }
    match places.is_empty() {
        true if decision.by() == By::Hook => "ostler hooks list".into(),
        true => "--allowedTools, --permission-mode".into(),
        false => places.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::{CitedRule, Reason, Source};

    #[test]
    fn a_refusal_points_to_what_refused() {
        let by = |by: By, effect: Verdict, source: Option<Source>| {
            let cited = |source| CitedRule { effect, text: "sudo".into(), source };
            let rule = source.map(cited).map(Box::new);
            Reason { by, why: "w".into(), part: None, rule, said: None }
        };
        let at = |file: &str, line| Source {
            tier: Tier::User,
            file: Some(file.into()),
            line: Some(line),
        };
        let deny = |source: Source| by(By::Rule, Verdict::Deny, Some(source));
        let flag = Source { tier: Tier::CommandLine, ..Source::default() };
        for (reasons, expected) in [
            (vec![deny(at("/u/p.yaml", 3)), deny(at("/p/p.yaml", 1))], "/u/p.yaml:3, /p/p.yaml:1"),
            (vec![deny(flag)], "--disallowedTools"),
            (vec![deny(Source { tier: Tier::BuiltIn, ..Source::default() })], "the built-in rules"),
            (vec![by(By::Default, Verdict::Deny, None)], "--allowedTools, --permission-mode"),
            (vec![by(By::Hook, Verdict::Deny, None)], "ostler hooks list"),
            (
                vec![by(By::Rule, Verdict::Ask, Some(at("/u", 1)))],
                "--allowedTools, --permission-mode",
            ),
        ] {
            let decision = Decision { verdict: Verdict::Deny, reasons, offer: Vec::new() };
            assert_eq!(
                refusal("Bash", &decision).split("see ").nth(1),
                Some(&*format!("{expected})"))
            );
        }
    }
}
