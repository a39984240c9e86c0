//! The `hooks` of a settings file, read strictly: a hook that someone relies on is in force or an error.

use crate::ConfigError;
use crate::error::is_plain;
use crate::located::Located;
use ostler_core::hook::{Action, EventName, HookSpec, Matcher, OTHER_EVENTS, Secret, check_url};
use ostler_core::permission::{Source, Tier};
use std::path::Path;
use std::time::Duration;

/// Hooks of one file.
const MOST: usize = 500;
/// Seconds that a hook may take at most.
const LONGEST: f64 = 3600.0;
/// A signature tells something about the secret: a project does not choose which of yours.
const PROJECTS_MAY_NAME: &str = "OSTLER_HOOK_";
/// Characters of a command or a secret.
const MOST_TEXT: usize = 100_000;

/// The hooks, and what is not honoured of them, each with its line.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) hooks: Vec<HookSpec>,
    pub(crate) warnings: Vec<(usize, String)>,
}

/// # Errors
/// On an event that is not known and on anything that is not formed as it should be, with the line.
pub(crate) fn parse(value: Located<'_>, file: &Path, tier: Tier) -> Result<Read, ConfigError> {
    let mut reading = Reading { file, tier, read: Read::default() };
    if value.is_null() {
        return Ok(reading.read);
    }
    for (name, groups) in value.object("hooks")? {
        let Some(event) = EventName::parse(&name) else {
            if OTHER_EVENTS.contains(&name.as_str()) {
                let what = format!("nothing here fires the event {name}, so its hooks never run");
                reading.read.warnings.push((groups.line(), what));
                continue;
            }
            let known = EventName::ALL.map(EventName::name).join(", ");
            return Err(groups.wrong(format!("there is no event \"{name}\", write one of {known}")));
        };
        for group in groups.list("the hooks of an event")? {
            reading.group(event, group)?;
        }
    }
    Ok(reading.read)
}

struct Reading<'a> {
    file: &'a Path,
    tier: Tier,
    read: Read,
}

/// What one hook says of itself, before its type is known.
#[derive(Default)]
struct Fields {
    kind: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    url: Option<String>,
    secret: Option<String>,
    secret_env: Option<String>,
    blocking: Option<bool>,
    time_limit: Option<Duration>,
    once: bool,
    in_background: bool,
    outside: bool,
}

impl Reading<'_> {
    fn warn(&mut self, at: Located<'_>, what: impl Into<String>) {
        self.read.warnings.push((at.line(), what.into()));
    }

    fn group(&mut self, event: EventName, group: Located<'_>) -> Result<(), ConfigError> {
        let (mut matcher, mut hooks) = (Matcher::all(), None);
        for (key, value) in group.object("a group of hooks")? {
            match key.as_str() {
                "matcher" if value.is_null() => {}
                "matcher" => {
                    let text = value.text("matcher")?;
                    matcher = Matcher::parse(&text).map_err(|e| value.wrong(e.to_string()))?;
                }
                "hooks" => hooks = Some(value),
                _ => self.warn(value, format!("\"{key}\" is not known beside hooks, ignored")),
            }
        }
        let missing = || group.wrong("\"hooks\" is missing, write \"hooks\": [ … ]");
        for hook in hooks.ok_or_else(missing)?.list("hooks")? {
            self.hook(event, &matcher, hook)?;
        }
        Ok(())
    }

    fn hook(
        &mut self,
        event: EventName,
        matcher: &Matcher,
        hook: Located<'_>,
    ) -> Result<(), ConfigError> {
        let mut fields = Fields::default();
        for (key, value) in hook.object("a hook")? {
            self.field(&mut fields, &key, value)?;
        }
        let (time_limit, once, in_background, outside) =
            (fields.time_limit, fields.once, fields.in_background, fields.outside);
        let action = action(event, fields, hook, self.tier)?;
        let (file, line) = (Some(self.file.to_owned()), Some(hook.line()));
        let source = Source { tier: self.tier, file, line };
        let matcher = matcher.clone();
        let spec =
            HookSpec { event, matcher, action, time_limit, once, in_background, outside, source };
        if let Action::Unavailable { kind } = &spec.action {
            let so = match spec.decides() {
                true => format!(", so {} is refused where it applies", event.name()),
                false => String::new(),
            };
            self.warn(hook, format!("hooks of type {kind} are not available yet{so}"));
        }
        if self.read.hooks.len() == MOST {
            return Err(hook.wrong(format!("more than {MOST} hooks, write fewer")));
        }
        self.read.hooks.push(spec);
        Ok(())
    }

    fn field(
        &mut self,
        fields: &mut Fields,
        key: &str,
        value: Located<'_>,
    ) -> Result<(), ConfigError> {
        match key {
            "type" => fields.kind = Some(value.text("type")?),
            "command" => fields.command = Some(bounded(value, "command")?),
            "args" => {
                let words = value.list("args")?.into_iter();
                let words: Result<Vec<_>, _> = words.map(|word| bounded(word, "args")).collect();
                fields.args = Some(words?);
            }
            "url" => fields.url = Some(bounded(value, "url")?),
            "secret" => fields.secret = Some(bounded(value, "secret")?),
            "secretEnv" => fields.secret_env = Some(bounded(value, "secretEnv")?),
            "blocking" => fields.blocking = Some(truth(value, "blocking")?),
            "timeout" => fields.time_limit = Some(seconds(value)?),
            "once" => fields.once = truth(value, "once")?,
            "sandbox" => fields.outside = !truth(value, "sandbox")?,
            "async" => fields.in_background |= truth(value, "async")?,
            "asyncRewake" => {
                fields.in_background |= truth(value, "asyncRewake")?;
                self.warn(value, "asyncRewake wakes nobody here; the hook runs in the background");
            }
            "if" => {
                self.warn(value, "the condition \"if\" is not honoured, so the hook always runs")
            }
            "headers" => self.warn(value, "\"headers\" are not sent; sign with secretEnv instead"),
            "shell" if value.text("shell")? == "bash" => {}
            "shell" => return Err(value.wrong("a hook runs in bash, remove \"shell\"")),
            "statusMessage" | "description" | "prompt" | "model" | "server" | "tool" | "input"
            | "allowedEnvVars" => {}
            _ => self.warn(value, format!("\"{key}\" is not known in a hook, ignored")),
        }
        Ok(())
    }
}

fn action(
    event: EventName,
    fields: Fields,
    hook: Located<'_>,
    tier: Tier,
) -> Result<Action, ConfigError> {
    let kind = match (&fields.kind, &fields.command) {
        (Some(kind), _) => kind.clone(),
        (None, Some(_)) => "command".to_owned(),
        (None, None) => return Err(hook.wrong("\"type\" is missing, write \"type\": \"command\"")),
    };
    match kind.as_str() {
        "command" => {
            let command = fields.command.filter(|command| !command.trim().is_empty());
            let missing = || hook.wrong("\"command\" is missing, write what to run");
            Ok(Action::Command { command: command.ok_or_else(missing)?, args: fields.args })
        }
        "http" => {
            let missing = || hook.wrong("\"url\" is missing, write where to send it");
            let url = fields.url.ok_or_else(missing)?;
            check_url(&url).map_err(|why| hook.wrong(format!("the url cannot be used: {why}")))?;
            let theirs = matches!(tier, Tier::Project | Tier::Local);
            let foreign = |name: &String| theirs && !name.starts_with(PROJECTS_MAY_NAME);
            if fields.secret_env.as_ref().is_some_and(foreign) {
                return Err(hook.wrong(format!(
                    "a project may sign only with a variable whose name begins with {PROJECTS_MAY_NAME}"
                )));
            }
            if fields.secret.is_some() && fields.secret_env.is_some() {
                return Err(hook.wrong("there are a secret and a secretEnv, keep one"));
            }
            // Without a word on it, an event that can be stopped waits for the answer: that is the stricter reading.
            let blocking =
                fields.blocking.unwrap_or_else(|| event.can_block()) && !fields.in_background;
            let secret = fields.secret.filter(|secret| !secret.is_empty()).map(Secret::new);
            Ok(Action::Http { url, secret, secret_env: fields.secret_env, blocking })
        }
        "mcp_tool" | "prompt" | "agent" => Ok(Action::Unavailable { kind }),
        _ => Err(hook.wrong(format!(
            "\"{kind}\" is no type of hook, write command or http (mcp_tool, prompt and agent are not available yet)"
        ))),
    }
}

fn bounded(value: Located<'_>, name: &str) -> Result<String, ConfigError> {
    let text = value.text(name)?;
    // A command may have lines; nothing may have a zero byte or what is not seen.
    let seen =
        text.chars().all(|c| matches!(c, '\n' | '\t') || is_plain(c.encode_utf8(&mut [0; 4])));
    if text.len() > MOST_TEXT || !seen {
        return Err(value.wrong(format!("{name} is too long or has an invisible character")));
    }
    Ok(text)
}

fn truth(value: Located<'_>, name: &str) -> Result<bool, ConfigError> {
    match value.scalar().as_deref() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err(value.wrong(format!("{name} must be true or false"))),
    }
}

fn seconds(value: Located<'_>) -> Result<Duration, ConfigError> {
    let number = value.scalar().and_then(|text| text.parse::<f64>().ok());
    let number = number.filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST);
    let wrong = || value.wrong(format!("timeout must be seconds above 0 and up to {LONGEST}"));
    number.map(Duration::from_secs_f64).ok_or_else(wrong)
}

#[cfg(test)]
#[path = "hooks_json_tests.rs"]
mod tests;
