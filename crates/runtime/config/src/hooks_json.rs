//! The `hooks` of a settings file. A hook that is not understood is left out with a warning, unless it guards calls:
//! then the calls it would have judged are blocked. A managed one is an error.

use crate::ConfigError;
use crate::error::is_plain;
use crate::located_json::Located;
use crate::misspelling::nearest;
use ostler_core::hook::{
    EventName, HookAction, HookMatcher, HookSecret, HookSpec, OTHER_EVENTS, check_url,
};
use ostler_core::permission::{Source, Tier};
use std::path::Path;
use std::time::Duration;

/// Hooks of one file.
const MOST: usize = 500;
/// Seconds that a hook may take at most.
const LONGEST: f64 = 3600.0;
/// A signature reveals something about its secret, so a project must not choose among yours.
const PROJECTS_MAY_NAME: &str = "OSTLER_HOOK_";
/// Characters of a command or a secret.
const MOST_TEXT: usize = 100_000;

/// The hooks, and what is not honoured of them, each with its line.
#[derive(Default)]
pub(crate) struct HooksRead {
    pub(crate) hooks: Vec<HookSpec>,
    pub(crate) warnings: Vec<(usize, String)>,
}

/// # Errors
/// Where a restriction would be lost, with the line: the hooks are no object, the name of an event that guards calls is
/// misspelt, or a managed hook is not understood.
pub(crate) fn parse(value: Located<'_>, file: &Path, tier: Tier) -> Result<HooksRead, ConfigError> {
    let mut reading = HooksReading { file, tier, read: HooksRead::default() };
    if !value.is_object() && !value.is_set() {
        if !value.is_null() {
            reading.warn(value, "hooks must be an object, ignored");
        }
        return Ok(reading.read);
    }
    for (name, groups) in value.object("hooks")? {
        match EventName::parse(&name) {
            Some(event) => reading.event(event, groups)?,
            None => reading.unknown(&name, groups)?,
        }
    }
    Ok(reading.read)
}

struct HooksReading<'a> {
    file: &'a Path,
    tier: Tier,
    read: HooksRead,
}

/// The fields of one hook, before its type is known.
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

impl HooksReading<'_> {
    fn warn(&mut self, at: Located<'_>, what: impl Into<String>) {
        self.read.warnings.push((at.line(), what.into()));
    }

    fn unknown(&mut self, name: &str, groups: Located<'_>) -> Result<(), ConfigError> {
        if OTHER_EVENTS.contains(&name) {
            let what = format!("Ostler never fires the event {name}, so its hooks never run");
            self.warn(groups, what);
            return Ok(());
        }
        let meant = nearest(name, &EventName::ALL.map(EventName::name));
        let hint = match meant {
            Some(meant) => format!(" (did you mean \"{meant}\"?)"),
            None => String::new(),
        };
        let guards = meant.and_then(EventName::parse).is_some_and(EventName::guards_calls);
        if groups.is_set() && (guards || self.tier == Tier::Managed) {
            return Err(groups.wrong(format!(
                "unknown event \"{name}\"{hint}, its hooks would not run; fix or remove it"
            )));
        }
        self.warn(groups, format!("unknown event \"{name}\"{hint}, its hooks never run"));
        Ok(())
    }

    fn event(&mut self, event: EventName, groups: Located<'_>) -> Result<(), ConfigError> {
        if groups.is_null() {
            return Ok(());
        }
        let list = match groups.list("the hooks of an event") {
            Ok(list) => list,
            Err(error) => return self.left_out(event, &HookMatcher::all(), groups, error),
        };
        for group in list {
            if let Err(error) = self.group(event, group) {
                self.left_out(event, &HookMatcher::all(), group, error)?;
            }
        }
        Ok(())
    }

    /// A hook, or several, that is not understood.
    fn left_out(
        &mut self,
        event: EventName,
        matcher: &HookMatcher,
        at: Located<'_>,
        error: ConfigError,
    ) -> Result<(), ConfigError> {
        if self.tier == Tier::Managed {
            return Err(error);
        }
        let (name, line) = (event.name(), error.line.unwrap_or(1));
        if !event.guards_calls() || !at.is_set() {
            self.read.warnings.push((line, format!("hook on {name} ignored: {}", error.what)));
            return Ok(());
        }
        let so = "so the calls it would judge are blocked";
        self.read.warnings.push((line, format!("invalid hook on {name}, {so}: {}", error.what)));
        let what = "an invalid hook".to_owned();
        let action = HookAction::Unavailable { what, why: error.what };
        self.add(event, matcher, action, Fields::default(), at)
    }

    fn add(
        &mut self,
        event: EventName,
        matcher: &HookMatcher,
        action: HookAction,
        fields: Fields,
        at: Located<'_>,
    ) -> Result<(), ConfigError> {
        if self.read.hooks.len() == MOST {
            return Err(at.wrong(format!("more than {MOST} hooks; remove some")));
        }
        let Fields { time_limit, once, in_background, outside, .. } = fields;
        let (file, line) = (Some(self.file.to_owned()), Some(at.line()));
        let source = Source { tier: self.tier, file, line };
        let (matcher, programs) = (matcher.clone(), Vec::new());
        let spec = HookSpec {
            event,
            matcher,
            action,
            time_limit,
            once,
            in_background,
            outside,
            programs,
            source,
            plugin: None,
        };
        self.read.hooks.push(spec);
        Ok(())
    }

    /// # Errors
    /// If the group as a whole is not understood.
    fn group(&mut self, event: EventName, group: Located<'_>) -> Result<(), ConfigError> {
        let (mut matcher, mut hooks, mut is_hook) = (HookMatcher::all(), None, false);
        for (key, value) in group.object("a group of hooks")? {
            is_hook |= matches!(key.as_str(), "type" | "command" | "url");
            match key.as_str() {
                "matcher" if value.is_null() => {}
                "description" => {}
                "matcher" => {
                    let text = value.text("matcher")?;
                    matcher = HookMatcher::parse(&text).map_err(|e| value.wrong(e.to_string()))?;
                }
                "hooks" => hooks = Some(value),
                _ => self.warn(value, format!("unknown key \"{key}\" next to hooks, ignored")),
            }
        }
        let missing = || group.wrong("\"hooks\" is missing; write \"hooks\": [ … ]");
        let hooks = match hooks.map(|hooks| hooks.list("hooks")) {
            Some(Ok(hooks)) => hooks,
            Some(Err(error)) => return self.left_out(event, &matcher, group, error),
            // Someone left out a level.
            None if is_hook => return self.left_out(event, &matcher, group, missing()),
            None if self.tier == Tier::Managed => return Err(missing()),
            None => {
                self.warn(group, "a group without hooks is ignored");
                return Ok(());
            }
        };
        for hook in hooks {
            if let Err(error) = self.hook(event, &matcher, hook) {
                self.left_out(event, &matcher, hook, error)?;
            }
        }
        Ok(())
    }

    fn hook(
        &mut self,
        event: EventName,
        matcher: &HookMatcher,
        hook: Located<'_>,
    ) -> Result<(), ConfigError> {
        let mut fields = Fields::default();
        for (key, value) in hook.object("a hook")? {
            self.field(&mut fields, &key, value)?;
        }
        let action = action(event, &mut fields, hook, self.tier)?;
        let unavailable = match &action {
            HookAction::Unavailable { why, .. } => Some(why.clone()),
            _ => None,
        };
        self.add(event, matcher, action, fields, hook)?;
        if let (Some(why), Some(spec)) = (unavailable, self.read.hooks.last()) {
            let so = match spec.decides() {
                true => format!(", so {} is denied wherever it applies", event.name()),
                false => String::new(),
            };
            self.warn(hook, format!("{why}{so}"));
        }
        Ok(())
    }

    /// # Errors
    /// If the hook cannot be run as it is meant. A detail that only tunes it is left out with a warning.
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
            "blocking" => fields.blocking = self.truth(value, "blocking"),
            "timeout" => fields.time_limit = self.seconds(value),
            "once" => fields.once = self.truth(value, "once") == Some(true),
            "sandbox" => fields.outside = self.truth(value, "sandbox") == Some(false),
            "async" => fields.in_background |= self.truth(value, "async") == Some(true),
            "asyncRewake" => {
                fields.in_background |= self.truth(value, "asyncRewake") == Some(true);
                self.warn(value, "asyncRewake is not supported; the hook runs in the background");
            }
            "if" => self.warn(value, "\"if\" is not supported, so the hook always runs"),
            "headers" => self.warn(value, "\"headers\" are not sent; sign with secretEnv instead"),
            "shell" if value.text("shell")? == "bash" => {}
            "shell" => return Err(value.wrong("hooks always run in bash; remove \"shell\"")),
            "statusMessage" | "description" | "prompt" | "model" | "server" | "tool" | "input"
            | "allowedEnvVars" => {}
            _ => self.warn(value, format!("unknown key \"{key}\" in a hook, ignored")),
        }
        Ok(())
    }

    fn truth(&mut self, value: Located<'_>, name: &str) -> Option<bool> {
        match value.scalar().as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => {
                self.warn(value, format!("{name} must be true or false, ignored"));
                None
            }
        }
    }

    /// Other programs use milliseconds, so a number that is too large is probably in the wrong unit.
    fn seconds(&mut self, value: Located<'_>) -> Option<Duration> {
        match value.scalar().and_then(|text| text.parse::<f64>().ok()) {
            Some(seconds) if seconds > LONGEST => {
                let what = format!(
                    "timeout {seconds} is more than {LONGEST} seconds, the maximum, so {LONGEST} is used"
                );
                let meant = format!(" (milliseconds? write {})", seconds / 1000.0);
                let meant = if seconds / 1000.0 <= LONGEST { meant } else { String::new() };
                self.warn(value, what + &meant);
                Some(Duration::from_secs_f64(LONGEST))
            }
            Some(seconds) if seconds > 0.0 => Some(Duration::from_secs_f64(seconds)),
            _ => {
                let what = "timeout must be a number of seconds above 0, so the default is used";
                self.warn(value, what);
                None
            }
        }
    }
}

fn action(
    event: EventName,
    fields: &mut Fields,
    hook: Located<'_>,
    tier: Tier,
) -> Result<HookAction, ConfigError> {
    let kind = match (&fields.kind, &fields.command) {
        (Some(kind), _) => kind.clone(),
        (None, Some(_)) => "command".to_owned(),
        (None, None) => return Err(hook.wrong("\"type\" is missing; write \"type\": \"command\"")),
    };
    match kind.as_str() {
        "command" => {
            let command = fields.command.take().filter(|command| !command.trim().is_empty());
            let missing = || hook.wrong("\"command\" is missing; add the command to run");
            Ok(HookAction::Command { command: command.ok_or_else(missing)?, args: fields.args.take() })
        }
        "http" => {
            let missing = || hook.wrong("\"url\" is missing; add the address to send events to");
            let url = fields.url.take().ok_or_else(missing)?;
            check_url(&url).map_err(|why| hook.wrong(format!("the url cannot be used: {why}")))?;
            let theirs = matches!(tier, Tier::Project | Tier::Local);
            let foreign = |name: &String| theirs && !name.starts_with(PROJECTS_MAY_NAME);
            if fields.secret_env.as_ref().is_some_and(foreign) {
                return Err(hook.wrong(format!(
                    "in a project, secretEnv must begin with {PROJECTS_MAY_NAME}"
                )));
            }
            if fields.secret.is_some() && fields.secret_env.is_some() {
                return Err(hook.wrong("both secret and secretEnv are set; keep one"));
            }
            // Without a word on it, an event that can be stopped waits for the answer: that is the stricter reading.
            let blocking =
                fields.blocking.unwrap_or_else(|| event.can_block()) && !fields.in_background;
            let secret = fields.secret.take().filter(|secret| !secret.is_empty()).map(HookSecret::new);
            Ok(HookAction::Http { url, secret, secret_env: fields.secret_env.take(), blocking })
        }
        "mcp_tool" | "prompt" | "agent" => Ok(HookAction::Unavailable {
            what: format!("a hook of type {kind}"),
            why: format!("hooks of type {kind} are not supported yet"),
        }),
        _ => Err(hook.wrong(format!(
            "unknown hook type \"{kind}\"; use command or http (mcp_tool, prompt and agent are not supported yet)"
        ))),
    }
}

fn bounded(value: Located<'_>, name: &str) -> Result<String, ConfigError> {
    let text = value.text(name)?;
    // A command may have lines; nothing may have a zero byte or what is not seen.
    let seen =
        text.chars().all(|c| matches!(c, '\n' | '\t') || is_plain(c.encode_utf8(&mut [0; 4])));
    if text.len() > MOST_TEXT || !seen {
        return Err(value.wrong(format!("{name} is too long or contains an invisible character")));
    }
    Ok(text)
}

#[cfg(test)]
#[path = "hooks_json_tests.rs"]
mod tests;
