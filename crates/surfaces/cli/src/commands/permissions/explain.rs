//! `ostler permissions explain`: what a call would do, whether it is allowed, which rule decides, and how to allow it.

use super::{print, tree};
use crate::args::permissions::ExplainArgs;
use crate::commands::question::with_source;
use crate::exit::{Code, Wrong, warn};
use crate::output::paint::Paint;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{
    Access, By, COMMANDS, Decision, EventName, HookSpec, Judged, Mode, PathScope, Reason, Tier,
    ToolKind, Verdict,
};
use ostler_profile::{Environment, Profile};
use ostler_sdk::escaped;
use serde_json::{Value, json};

pub fn run(init: &ostler::Init, environment: &Environment, args: &ExplainArgs) -> Result<Code> {
    let profile = Profile::load(environment, args.flags())?;
    let input = input(args.tool.as_deref(), &args.call)?;
    let tool = args.tool.as_deref().unwrap_or(COMMANDS);
    let options = profile.options(ostler::api_key("none", "none"))?;
    let mode = options.session.mode;
    let specs = options.session.hooks.specs.clone();
    let host = ostler::Host::open(init, options.host)?;
    let (judged, notices) = ostler::block_on(async {
        let explained = ostler::explain(&host, options.session, tool, &input).await;
        host.close().await;
        explained
    })??;
    // As at the start of a run.
    profile.notices().iter().chain(&notices).for_each(|notice| warn(notice));
    let hooks = hooks(&specs, &judged);
    if args.json {
        print(&format!("{}\n", escaped(&as_json(&judged, &input, mode, &hooks).to_string())))?;
    } else {
        print(&text(&judged, &args.call, mode, Paint::for_output(), &hooks))?;
    }
    Ok(Code::Done)
}

/// Hooks that are asked before the call runs. They may object or raise a question; they never loosen a verdict.
fn hooks(specs: &[HookSpec], judged: &Judged) -> Vec<String> {
    if judged.decision.verdict == Verdict::Deny {
        return Vec::new();
    }
    let asked = specs.iter().filter(|spec| {
        spec.event == EventName::PreToolUse
            && spec.decides()
            && spec.matcher.matches(Some(&judged.tool))
    });
    asked.map(|spec| spec.source.to_string()).collect()
}

/// With a tool an object is the input itself; anything else is the field that matters most, or a command.
fn input(tool: Option<&str>, call: &str) -> Result<Value, Wrong> {
    if tool.is_some() && call.trim_start().starts_with('{') {
        let wrong = |error| {
            let what = format!("with --tool, a text that begins with {{ must be JSON: {error}");
            Wrong::Usage(format!("{what}. Omit --tool to explain a command"))
        };
        return serde_json::from_str(call).map_err(wrong);
    }
    let facts = ostler::tool_facts(ostler::tool_name(tool.unwrap_or(COMMANDS)));
    Ok(match facts.kind {
        ToolKind::Undeclared => json!({ "file_path": call }),
        _ => facts.call_with(call),
    })
}

fn as_json(judged: &Judged, input: &Value, mode: Mode, hooks: &[String]) -> Value {
    let Decision { verdict, reasons, offer } = &judged.decision;
    let reasons: Vec<Value> = reasons.iter().map(reason_json).collect();
    json!({
        "tool": judged.tool, "input": input, "mode": mode.name(), "decision": verdict,
        "reasons": reasons, "offer": offer, "access": judged.access, "hooks": hooks,
    })
}

/// The rule and its place in one text.
fn reason_json(reason: &Reason) -> Value {
    let mut fields = json!(reason);
    if let (Some(rule), Some(fields)) = (&reason.rule, fields.as_object_mut()) {
        fields.insert("rule".into(), rule.to_string().into());
    }
    fields
}

fn text(judged: &Judged, call: &str, mode: Mode, paint: Paint, hooks: &[String]) -> String {
    let mut lines = Vec::new();
    let verdict = match judged.decision.verdict {
        Verdict::Allow => paint.good("allowed"),
        Verdict::Ask => paint.bold("asks"),
        Verdict::Deny => paint.bad("denied"),
    };
    let tool = visible(&judged.tool);
    lines.push(format!("{verdict}  {tool} {}  (mode {})", shown(call), mode.name()));
    if let Some(access) = &judged.access {
        lines.extend(touched(access, paint));
    }
    lines.push(paint.dim("why"));
    let reasons = judged.decision.reasons.iter();
    lines.extend(reasons.map(|reason| format!("  {}", visible(&with_source(reason)))));
    if !hooks.is_empty() {
        lines.push(paint.dim("hooks that run first and can object"));
        lines.extend(hooks.iter().map(|hook| format!("  {}", visible(hook))));
    }
    if judged.decision.verdict != Verdict::Allow {
        lines.push(paint.dim("to allow it"));
        lines.extend(way(judged, mode).into_iter().map(|line| format!("  {line}")));
    }
    lines.join("\n") + "\n"
}

/// Several lines are shown behind a bar.
fn shown(call: &str) -> String {
    match call.contains('\n') {
        false => visible(call),
        true => call.split('\n').map(|line| format!("\n  │ {}", visible(line))).collect(),
    }
}

fn touched(access: &Access, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(commands) = &access.runs {
        if !commands.steps.is_empty() {
            lines.push(paint.dim("commands"));
            lines.extend(tree::lines(commands, paint));
        }
        if !commands.doubts.is_empty() {
            lines.push(paint.dim("not understood"));
            lines.extend(commands.doubts.iter().map(|doubt| format!("  {}", visible(doubt))));
        }
        return lines;
    }
    let scope = |scope: &PathScope| match scope {
        PathScope::File(path) => visible(&path.to_string_lossy()),
        PathScope::Tree(path) => {
            format!("{} and everything below", visible(&path.to_string_lossy()))
        }
    };
    lines.extend(access.reads.iter().map(|read| format!("  reads {}", scope(read))));
    lines.extend(access.writes.iter().map(|write| format!("  changes {}", scope(write))));
    lines.extend(access.hosts.iter().map(|host| format!("  contacts {}", visible(host))));
    if !access.known {
        lines.push("  may touch anything".into());
    }
    lines.insert(0, paint.dim("touches"));
    lines
}

/// The rules that would do it, or why there are none to offer.
fn way(judged: &Judged, mode: Mode) -> Vec<String> {
    let Decision { verdict, reasons, offer } = &judged.decision;
    if !offer.is_empty() {
        let mut lines: Vec<String> = offer.iter().map(|rule| visible(rule)).collect();
        let all = if lines.len() > 1 { "all of them, " } else { "" };
        lines.push(format!(
            "{all}as --allowedTools, under permissions.allow in a settings file, or with [p] when it asks"
        ));
        return lines;
    }
    if judged.access.is_some() && *verdict == Verdict::Deny {
        return denied(reasons, mode);
    }
    let said_by = |by: By| reasons.iter().any(|reason| reason.by == by);
    let doubtful = judged
        .access
        .as_ref()
        .and_then(|access| access.runs.as_ref())
        .is_some_and(|runs| !runs.doubts.is_empty());
    let why = match () {
        _ if judged.access.is_none() => "fix the call; this one is not understood",
        _ if reasons.iter().any(|reason| by_rule(reason) && !is_built_in(reason)) => {
            "change the rule that asks; it asks every time"
        }
        _ if said_by(By::Rule) && !said_by(By::BuiltIn) && !doubtful => {
            "write an allow rule, or choose a mode; the built-in ask rules give way to both"
        }
        _ if said_by(By::BuiltIn) && !doubtful => "answer yes when it asks; this always asks",
        _ if doubtful => "write it more simply; no rule can cover what is not understood",
        _ => "answer yes when it asks, or write an exact rule; there is no narrow rule to suggest",
    };
    vec![why.into()]
}

fn by_rule(reason: &Reason) -> bool {
    reason.by == By::Rule
}

/// The rule ships with the program.
fn is_built_in(reason: &Reason) -> bool {
    reason.rule.as_ref().is_some_and(|rule| rule.source.tier == Tier::BuiltIn)
}

/// Which rule, mode or default to change.
fn denied(reasons: &[Reason], mode: Mode) -> Vec<String> {
    let rules = reasons.iter().filter_map(|reason| reason.rule.as_ref());
    let mut lines: Vec<String> = Vec::new();
    for rule in rules.filter(|rule| rule.effect == Verdict::Deny) {
        let rule = visible(&rule.to_string());
        let line = format!("change {rule}, which denies it; no other rule can allow it");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        return lines;
    }
    let said_by = |by: By| reasons.iter().any(|reason| reason.by == by);
    let line = match mode {
        _ if said_by(By::Mode) => "choose another mode",
        Mode::DontAsk if said_by(By::Rule) => "choose a mode that asks",
        Mode::DontAsk if said_by(By::Default) => {
            "write a rule that allows it, or choose a mode that asks"
        }
        Mode::DontAsk => "choose a mode that asks; no rule can allow it",
        _ if said_by(By::BuiltIn) => "no rule can allow it",
        _ => {
            "write a rule that allows it; the default denies only what no rule allows (default: in permissions.yaml)"
        }
    };
    vec![line.into()]
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
