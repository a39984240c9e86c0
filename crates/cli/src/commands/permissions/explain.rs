//! `ostler permissions explain`: what a call would do, whether it may, which rule says so, and how to allow it.

use super::{print, tree};
use crate::args::permissions::ExplainArgs;
use crate::commands::question::with_source;
use crate::environment::Environment;
use crate::exit::{Code, Wrong};
use crate::output::paint::Paint;
use crate::output::visible::visible;
use crate::setup::Setup;
use anyhow::Result;
use ostler::{Access, By, Decision, Judged, Mode, PathScope, Verdict};
use serde_json::{Value, json};

pub fn run(environment: &Environment, args: &ExplainArgs) -> Result<Code> {
    let setup = Setup::load(environment, &args.config)?;
    let mode = args.permission_mode.map(Mode::from).or(setup.loaded.mode).unwrap_or_default();
    let input = input(&args.tool, &args.call)?;
    let (policy, workspace) = (&setup.loaded.policy, setup.workspace());
    let commands = environment.for_commands(&setup.loaded.env);
    let judged = match commands.iter().find(|(name, _)| name == "PATH") {
        Some((_, path)) => {
            ostler::judge_with_path(&args.tool, &input, policy, mode, &workspace, path)
        }
        None => ostler::judge(&args.tool, &input, policy, mode, &workspace),
    };
    if args.json {
        print(&format!("{}\n", as_json(&judged, &input, mode)))?;
    } else {
        print(&text(&judged, &args.call, mode, Paint::for_output()))?;
    }
    Ok(Code::Done)
}

/// An object is the input itself; anything else is the field that matters most.
fn input(tool: &str, call: &str) -> Result<Value, Wrong> {
    if call.trim_start().starts_with('{') && !tool.eq_ignore_ascii_case("Bash") {
        return serde_json::from_str(call)
            .map_err(|error| Wrong::Usage(format!("the input is not JSON: {error}")));
    }
    Ok(match tool.to_ascii_lowercase().as_str() {
        "bash" => json!({ "command": call }),
        "write" => json!({ "file_path": call, "content": "" }),
        "edit" => json!({ "file_path": call, "old_string": "", "new_string": "" }),
        "grep" => json!({ "pattern": "", "path": call }),
        "glob" => json!({ "pattern": call }),
        "webfetch" => json!({ "url": call }),
        _ => json!({ "file_path": call }),
    })
}

fn as_json(judged: &Judged, input: &Value, mode: Mode) -> Value {
    let Decision { verdict, reasons, offer } = &judged.decision;
    json!({
        "tool": judged.tool, "input": input, "mode": mode.name(), "decision": verdict,
        "reasons": reasons, "offer": offer, "access": judged.access,
    })
}

fn text(judged: &Judged, call: &str, mode: Mode, paint: Paint) -> String {
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
    if judged.decision.verdict != Verdict::Allow {
        lines.push(paint.dim("to allow it"));
        lines.extend(way(judged).into_iter().map(|line| format!("  {line}")));
    }
    lines.join("\n") + "\n"
}

/// Several lines stand behind a bar.
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
fn way(judged: &Judged) -> Vec<String> {
    let Decision { verdict, reasons, offer } = &judged.decision;
    if !offer.is_empty() {
        let mut lines: Vec<String> = offer.iter().map(|rule| visible(rule)).collect();
        lines.push(
            "as --allowedTools, under permissions.allow in a settings file, or by [p] when it asks"
                .into(),
        );
        return lines;
    }
    let said_by = |by: By| reasons.iter().any(|reason| reason.by == by);
    let doubtful = judged
        .access
        .as_ref()
        .and_then(|access| access.runs.as_ref())
        .is_some_and(|runs| !runs.doubts.is_empty());
    let why = match verdict {
        _ if judged.access.is_none() => "correct the call: this one is not understood",
        Verdict::Deny if said_by(By::Rule) => {
            "change the rule that denies it; no other rule can allow it"
        }
        Verdict::Deny if said_by(By::Mode) => "choose another mode",
        Verdict::Deny => "no rule can allow it",
        _ if said_by(By::Rule) => {
            "change the rule that asks; as long as it stands, it asks each time"
        }
        _ if said_by(By::BuiltIn) && !doubtful => {
            "say yes when it asks: this is always asked about"
        }
        _ if doubtful => "write it more plainly: no rule speaks for what is not understood",
        _ => "say yes when it asks, or write an exact rule yourself: no narrow one covers it",
    };
    vec![why.into()]
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
