//! `ostler hooks`: list configured hooks and test them.

use crate::args::hooks::{HooksCommand, HooksListArgs};
use crate::exit::{Code, warn};
use crate::output::paint::Paint;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{HookAction, HookSpec, HookTrial, Host, Options};
use ostler_profile::{Environment, Profile};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

pub fn run(init: &ostler::Init, environment: &Environment, command: &HooksCommand) -> Result<Code> {
    match command {
        HooksCommand::List(args) => list(environment, args),
        HooksCommand::Verify(args) => verify(init, environment, args),
    }
}

fn list(environment: &Environment, args: &HooksListArgs) -> Result<Code> {
    let profile = Profile::load(environment, args.config.flags())?;
    profile.notices().iter().for_each(|notice| warn(notice));
    let loaded = &profile.loaded;
    let mut out = std::io::stdout().lock();
    if args.json {
        let all = loaded.hooks.iter().map(|hook| (hook, true));
        for (hook, trusted) in all.chain(loaded.ignored_hooks.iter().map(|hook| (hook, false))) {
            writeln!(out, "{}", escaped(&as_json(hook, trusted).to_string()))?;
        }
        return Ok(Code::Done);
    }
    if loaded.hooks.is_empty() && loaded.ignored_hooks.is_empty() {
        writeln!(out, "No hooks are configured. See docs/hooks.md to write one.")?;
    }
    let paint = Paint::for_output();
    for hook in &loaded.hooks {
        writeln!(out, "{}", line(hook, paint))?;
    }
    if !loaded.ignored_hooks.is_empty() {
        writeln!(
            out,
            "not in effect: the files of this project are not trusted (ostler permissions trust)"
        )?;
        for hook in &loaded.ignored_hooks {
            writeln!(out, "  {}", line(hook, paint))?;
        }
    }
    Ok(Code::Done)
}

fn verify(init: &ostler::Init, environment: &Environment, args: &HooksListArgs) -> Result<Code> {
    let profile = Profile::load(environment, args.config.flags())?;
    profile.notices().iter().for_each(|notice| warn(notice));
    // No model is asked.
    let mut options = Options::new(profile.places.cwd.clone(), ostler::api_key("none", ""));
    let (usable, unusable) = profile.usable_hooks();
    options.session.hooks.specs = usable;
    options.session.hooks.project = Some(profile.places.project.clone());
    options.session.environment = profile.environment.for_commands(&profile.loaded.env);
    options.host.ca_file = profile.environment.ca_file()?;
    options.session.mode = profile.loaded.mode.unwrap_or_default();
    let host = Host::open(init, options.host)?;
    let mut tried = ostler::block_on(async {
        let tried = ostler::verify_hooks(&host, &options.session).await;
        host.close().await;
        tried
    })?;
    // One that cannot run must not keep the others from being tested.
    tried.extend(unusable.into_iter().map(|(hook, why)| {
        let exit = "not run".to_owned();
        (hook, HookTrial { exit, ran: false, time: Duration::ZERO, verdict: Err(why.to_string()) })
    }));
    let mut out = std::io::stdout().lock();
    let paint = Paint::for_output();
    for (hook, tried) in &tried {
        match args.json {
            true => writeln!(out, "{}", escaped(&tried_json(hook, tried).to_string()))?,
            false => writeln!(out, "{}", tried_line(hook, tried, paint))?,
        }
    }
    let skipped = profile.loaded.ignored_hooks.len();
    if skipped > 0 {
        warn(&format!("{skipped} not tested: the files of this project are not trusted"));
    }
    if tried.is_empty() && !args.json {
        writeln!(out, "No hooks to test.")?;
    }
    let failed = tried.iter().any(|(_, tried)| tried.verdict.is_err());
    Ok(if failed { Code::Failed } else { Code::Done })
}

fn line(hook: &HookSpec, paint: Paint) -> String {
    let matcher = match hook.matcher.text() {
        "" => "*".to_owned(),
        text => visible(text),
    };
    let place = visible(&hook.source.to_string());
    let how = [
        (kind(&hook.action), true),
        ("denies if it fails", hook.decides()),
        ("in the background", hook.in_background),
        ("once", hook.once),
        ("outside the sandbox", hook.outside),
    ];
    let how: Vec<&str> = how.into_iter().filter(|(_, so)| *so).map(|(word, _)| word).collect();
    format!(
        "{} {matcher}  {}  ({})  {}",
        paint.bold(hook.event.name()),
        visible(&hook.what()),
        how.join(", "),
        paint.dim(&place)
    )
}

fn tried_line(hook: &HookSpec, tried: &HookTrial, paint: Paint) -> String {
    let mark = if tried.verdict.is_ok() { paint.good("✓") } else { paint.bad("✗") };
    let said = match &tried.verdict {
        Ok(verdict) => visible(verdict),
        Err(why) => visible(why),
    };
    format!(
        "{mark} {}  {}  {}, {:.1} ms  {said}",
        paint.bold(hook.event.name()),
        visible(&hook.what()),
        tried.exit,
        tried.time.as_secs_f64() * 1000.0
    )
}

fn kind(action: &HookAction) -> &'static str {
    match action {
        HookAction::Command { .. } => "command",
        HookAction::Http { blocking: true, .. } => "webhook that answers",
        HookAction::Http { .. } => "webhook",
        HookAction::Unavailable { .. } => "not available",
    }
}

fn as_json(hook: &HookSpec, trusted: bool) -> Value {
    json!({
        "event": hook.event.name(), "matcher": hook.matcher.text(), "type": kind(&hook.action),
        "what": hook.what(), "file": hook.source.file, "line": hook.source.line,
        "trusted": trusted, "blocks": hook.decides(), "background": hook.in_background,
        "once": hook.once, "sandbox": !hook.outside, "timeout_s": hook.limit().as_secs_f64(),
    })
}

fn tried_json(hook: &HookSpec, tried: &HookTrial) -> Value {
    let (verdict, error) = match &tried.verdict {
        Ok(verdict) => (Some(verdict), None),
        Err(why) => (None, Some(why)),
    };
    json!({
        "event": hook.event.name(), "what": hook.what(), "exit": tried.exit, "ran": tried.ran,
        "ms": tried.time.as_secs_f64() * 1000.0, "verdict": verdict, "error": error,
    })
}
