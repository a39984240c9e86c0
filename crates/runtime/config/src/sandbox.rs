//! The `sandbox` part of settings: what commands may reach besides the workspace, and which missing layers are accepted.

use crate::ConfigError;
use crate::located_json::Located;
use crate::misspelling::restriction;
use crate::sandbox_limits::{self, SandboxLimits};
use std::path::{Path, PathBuf};

/// Whatever is not set is none or empty, and means the strict default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    pub enabled: Option<bool>,
    /// Every command may use the network, not only those judged by the hosts they name.
    pub network: Option<bool>,
    /// A layer that is missing on this machine does not turn an allow into a question.
    pub accept_missing: Option<bool>,
    /// False: a call that asks to run outside the sandbox is refused.
    pub may_lift: Option<bool>,
    pub allow_write: Vec<PathBuf>,
    pub allow_read: Vec<PathBuf>,
    pub deny_read: Vec<PathBuf>,
    /// Of the person's own files.
    pub limits: SandboxLimits,
    /// What limits are lowered to, whatever they are: a project can tighten them, trusted or not.
    pub limits_at_most: SandboxLimits,
}

impl SandboxSettings {
    /// The later single value wins; lists are combined. Limits can only become lower.
    pub(crate) fn add(&mut self, other: SandboxSettings) {
        self.enabled = other.enabled.or(self.enabled);
        self.network = other.network.or(self.network);
        self.accept_missing = other.accept_missing.or(self.accept_missing);
        self.may_lift = other.may_lift.or(self.may_lift);
        self.allow_write.extend(other.allow_write);
        self.allow_read.extend(other.allow_read);
        self.deny_read.extend(other.deny_read);
        self.limits_at_most.lower(&other.limits);
    }

    /// The same for a file that is not the project's: its limits replace earlier ones.
    pub(crate) fn add_own(&mut self, mut other: SandboxSettings) {
        self.limits.replace(&std::mem::take(&mut other.limits));
        self.add(other);
    }

    /// The part that applies without trust.
    pub(crate) fn tightening(self) -> SandboxSettings {
        let only = |value: Option<bool>, strict: bool| value.filter(|value| *value == strict);
        SandboxSettings {
            enabled: only(self.enabled, true),
            network: only(self.network, false),
            accept_missing: only(self.accept_missing, false),
            may_lift: only(self.may_lift, false),
            deny_read: self.deny_read,
            limits: self.limits,
            ..SandboxSettings::default()
        }
    }

    /// What of it needs trust, in words.
    pub(crate) fn wants(&self) -> Vec<String> {
        let mut wants = Vec::new();
        let mut say = |yes: bool, what: &str| wants.extend(yes.then(|| what.to_owned()));
        say(self.enabled == Some(false), "turns the sandbox off");
        say(self.network == Some(true), "gives all commands network access");
        say(self.accept_missing == Some(true), "accepts missing sandbox layers");
        say(self.may_lift == Some(true), "lets calls request to run outside the sandbox");
        let paths = |verb: &'static str, paths: &[PathBuf]| {
            let line = |path: &PathBuf| format!("lets commands {verb} {}", path.display());
            paths.iter().map(line).collect::<Vec<_>>()
        };
        wants.extend(paths("write to", &self.allow_write));
        wants.extend(paths("read", &self.allow_read));
        wants
    }
}

/// Keys of other programs; reported, because someone relies on them.
const NOT_HONOURED: [&str; 8] = [
    "autoAllowBashIfSandboxed",
    "excludedCommands",
    "ignoreViolations",
    "enableWeakerNestedSandbox",
    "enableWeakerNetworkIsolation",
    "ripgrep",
    "bwrapPath",
    "socatPath",
];

/// `path` makes a path of a text; `warn` takes a line and what is wrong there.
pub(crate) fn parse(
    value: Located<'_>,
    path: &ToPath<'_>,
    warn: &mut dyn FnMut(usize, String),
) -> Result<SandboxSettings, ConfigError> {
    let mut found = SandboxSettings::default();
    for (key, value) in value.object("sandbox")? {
        match key.as_str() {
            "enabled" => found.enabled = Some(truth(value, &key)?),
            // What is not understood is not accepted.
            "acceptMissingLayers" => match truth(value, &key) {
                Ok(accepted) => found.accept_missing = Some(accepted),
                Err(error) => warn(value.line(), format!("sandbox.{}, ignored", error.what)),
            },
            "failIfUnavailable" => found.accept_missing = Some(!truth(value, &key)?),
            "allowUnsandboxedCommands" => found.may_lift = Some(truth(value, &key)?),
            "network" => found.network = network(value, warn)?.or(found.network),
            "allowWrite" => found.allow_write.extend(granted(value, &key, path, warn)),
            "allowRead" => found.allow_read.extend(granted(value, &key, path, warn)),
            "denyRead" => found.deny_read.extend(denied(value, &key, path)?),
            "limits" => found.limits = sandbox_limits::parse(value)?,
            "filesystem" => file_system(value, &mut found, path, warn)?,
            key if NOT_HONOURED.contains(&key) => {
                if value.is_set() {
                    warn(value.line(), format!("sandbox.{key} is not supported"));
                }
            }
            // Also `false` restricts here.
            _ if !value.is_null() && restriction(&key, &RESTRICTIONS).is_some() => {
                return Err(value.wrong(format!(
                    "unknown key \"{key}\" in sandbox; use enabled, network, allowWrite, allowRead, denyRead, limits, \
                     acceptMissingLayers or allowUnsandboxedCommands"
                )));
            }
            _ => warn(value.line(), format!("unknown key \"{key}\" in sandbox, ignored")),
        }
    }
    Ok(found)
}

fn file_system(
    value: Located<'_>,
    found: &mut SandboxSettings,
    path: &ToPath<'_>,
    warn: &mut dyn FnMut(usize, String),
) -> Result<(), ConfigError> {
    for (key, value) in value.object("filesystem")? {
        match key.as_str() {
            "allowWrite" => found.allow_write.extend(granted(value, &key, path, warn)),
            "allowRead" => found.allow_read.extend(granted(value, &key, path, warn)),
            "denyRead" => found.deny_read.extend(denied(value, &key, path)?),
            _ => warn(value.line(), format!("sandbox.filesystem.{key} is not supported")),
        }
    }
    Ok(())
}

/// Keys that make the sandbox stricter, and one for every other key that denies something.
const RESTRICTIONS: [&str; 7] = [
    "enabled",
    "network",
    "denyRead",
    "limits",
    "failIfUnavailable",
    "allowUnsandboxedCommands",
    "deny",
];

type ToPath<'a> = dyn Fn(Located<'_>) -> Result<PathBuf, ConfigError> + 'a;

/// Without one of these there are only more questions.
fn granted(
    value: Located<'_>,
    key: &str,
    path: &ToPath<'_>,
    warn: &mut dyn FnMut(usize, String),
) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let entries = value.list(key).map(|entries| entries.into_iter().map(path).collect());
    for found in entries.unwrap_or_else(|error| vec![Err(error)]) {
        match found {
            Ok(path) => paths.push(path),
            Err(error) => warn(error.line.unwrap_or(1), format!("{}, ignored", error.what)),
        }
    }
    paths
}

fn denied(value: Located<'_>, key: &str, path: &ToPath<'_>) -> Result<Vec<PathBuf>, ConfigError> {
    value.list(key)?.into_iter().map(path).collect()
}

/// `true`, or an object as in Claude Code, of which only `allow` is used here.
fn network(
    value: Located<'_>,
    warn: &mut dyn FnMut(usize, String),
) -> Result<Option<bool>, ConfigError> {
    let Ok(keys) = value.object("network") else { return truth(value, "network").map(Some) };
    let mut found = None;
    for (key, value) in keys {
        match key.as_str() {
            "allow" => found = Some(truth(value, "network.allow")?),
            _ if value.is_set() => {
                let what = "is not supported: network access is either on or off";
                warn(value.line(), format!("sandbox.network.{key} {what}"));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn truth(value: Located<'_>, name: &str) -> Result<bool, ConfigError> {
    match value.scalar().as_deref() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err(value.wrong(format!("{name} must be true or false"))),
    }
}

/// `~` at the beginning is the home directory; other relative paths are relative to `base`.
pub(crate) fn below(text: &str, home: &Path, base: &Path) -> Option<PathBuf> {
    match text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(_) if !home.is_absolute() => None,
        Some(rest) => Some(home.join(rest.trim_start_matches('/'))),
        None => Some(base.join(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located_json::Document;

    fn read(text: &str) -> Result<(SandboxSettings, Vec<String>), ConfigError> {
        let file = Path::new("f.json");
        let mut warnings = Vec::new();
        let path = |value: Located<'_>| {
            let text = value.text("a path")?;
            below(&text, Path::new("/home/u"), Path::new("/ws")).ok_or_else(|| value.wrong("no"))
        };
        let mut warn = |line: usize, what: String| warnings.push(format!("{line}: {what}"));
        let found = parse(Document::root(text, file)?, &path, &mut warn)?;
        Ok((found, warnings))
    }

    #[test]
    fn what_is_said_counts_and_what_is_not_honoured_is_said() {
        let (found, warnings) = read(
            r#"{"enabled": true, "network": {"allow": true, "allowedDomains": ["a.example"]},
                "filesystem": {"allowWrite": ["~/.cache/x", "out"], "denyWrite": ["a"]},
                "denyRead": ["/srv/secret"], "failIfUnavailable": true,
                "allowUnsandboxedCommands": false, "excludedCommands": ["docker"]}"#,
        )
        .unwrap();
        assert_eq!(
            found,
            SandboxSettings {
                enabled: Some(true),
                network: Some(true),
                accept_missing: Some(false),
                may_lift: Some(false),
                allow_write: vec!["/home/u/.cache/x".into(), "/ws/out".into()],
                allow_read: vec![],
                deny_read: vec!["/srv/secret".into()],
                ..SandboxSettings::default()
            }
        );
        let named = [
            "1: sandbox.network.allowedDomains",
            "2: sandbox.filesystem.denyWrite",
            "4: sandbox.excludedCommands",
        ];
        assert_eq!(warnings.len(), named.len(), "{warnings:?}");
        assert!(
            warnings.iter().zip(named).all(|(said, named)| said.starts_with(named)),
            "{warnings:?}"
        );
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, said) in [
            ("{\n\"enabled\": \"yes\"}", "f.json:2: enabled must be true or false"),
            ("{\"enable\": true}", "f.json:1: unknown key \"enable\" in sandbox"),
            ("{\"denyRead\": \"a\"}", "f.json:1: denyRead must be a list"),
            ("{\"netwrok\": false}", "f.json:1: unknown key \"netwrok\" in sandbox"),
            ("{\"denyReads\": [\"a\"]}", "f.json:1: unknown key \"denyReads\" in sandbox"),
            ("{\"denyWrites\": [\"a\"]}", "f.json:1: unknown key \"denyWrites\" in sandbox"),
            ("{\"allowUnsandboxedCommands\": 1}", "f.json:1: allowUnsandboxedCommands must be"),
            ("{\"network\": 1}", "f.json:1: network must be true or false"),
            ("[]", "f.json:1: sandbox must be an object"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn what_would_only_loosen_is_left_out() {
        let text = "{\"allowWrite\": \"a\",\n\"allowRead\": [\"b\", 1], \"acceptMissingLayers\": 1, \"shiny\": 1, \"limit\": null}";
        let (found, warnings) = read(text).unwrap();
        assert_eq!(
            found,
            SandboxSettings { allow_read: vec!["/ws/b".into()], ..SandboxSettings::default() }
        );
        let named = [
            "1: allowWrite must be a list",
            "2: a path must be a string",
            "2: sandbox.acceptMissingLayers must be true or false, ignored",
            "2: unknown key \"shiny\" in sandbox, ignored",
            "2: unknown key \"limit\" in sandbox, ignored",
        ];
        assert_eq!(warnings.len(), named.len(), "{warnings:?}");
        assert!(
            warnings.iter().zip(named).all(|(said, named)| said.starts_with(named)),
            "{warnings:?}"
        );
    }

    #[test]
    fn without_trust_only_the_stricter_half_holds() {
        let loose = SandboxSettings {
            enabled: Some(false),
            network: Some(true),
            accept_missing: Some(true),
            may_lift: Some(true),
            allow_write: vec!["/a".into()],
            allow_read: vec!["/b".into()],
            deny_read: vec!["/c".into()],
            ..SandboxSettings::default()
        };
        let kept = SandboxSettings { deny_read: vec!["/c".into()], ..SandboxSettings::default() };
        assert_eq!(loose.wants().len(), 6);
        assert_eq!(loose.tightening(), kept);
        let strict = SandboxSettings {
            enabled: Some(true),
            network: Some(false),
            accept_missing: Some(false),
            may_lift: Some(false),
            ..kept
        };
        assert!(strict.wants().is_empty());
        assert_eq!(strict.clone().tightening(), strict);
        let mut both = SandboxSettings { network: Some(true), ..SandboxSettings::default() };
        both.add(strict.clone());
        assert_eq!(both, strict);
    }

    #[test]
    fn a_project_lowers_limits_and_never_raises_them() {
        let with = |memory: u64, processes: Option<u64>| SandboxSettings {
            limits: SandboxLimits { memory: Some(memory), processes, ..SandboxLimits::default() },
            ..SandboxSettings::default()
        };
        let mut all = SandboxSettings::default();
        all.add_own(with(8, Some(100)));
        // One file asks for more memory than the person allows, and for fewer processes.
        all.add(with(1_000, Some(50)).tightening());
        all.add(with(500, None));
        assert_eq!((all.limits.memory, all.limits.processes), (Some(8), Some(100)));
        let most = all.limits_at_most;
        assert_eq!((most.memory, most.processes, most.file_size), (Some(500), Some(50), None));
        // The command line overrides the user's own files.
        all.add_own(with(16, None));
        assert_eq!((all.limits.memory, all.limits.processes), (Some(16), Some(100)));
        assert_eq!(all.limits_at_most, most);
        assert!(with(1, None).wants().is_empty());
    }
}
