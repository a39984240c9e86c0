//! The environment, read once.

use crate::ProfileError;
use crate::numbers::{self, Number};
use ostler::config::Values;
use ostler::config::values::AUTO_COMPACT;
use ostler::{
    Calendar, Credentials, Deadlines, Provider, ProxySettings, Thinking, TranscriptPlaces,
};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where Linux keeps its time zones.
const ZONES: &str = "/usr/share/zoneinfo";
/// How many Ostlers serve each other over MCP, above this process.
const MCP_DEPTH: &str = "OSTLER_MCP_DEPTH";

#[derive(Clone)]
pub struct Environment {
    all: BTreeMap<OsString, OsString>,
    /// Variables that settings keys stand for. Commands do not see them.
    settings: BTreeMap<&'static str, String>,
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Environment { all: variables.into_iter().collect(), settings: BTreeMap::new() }
    }
}

impl Environment {
    /// That of this process.
    pub fn read() -> Self {
        std::env::vars_os().collect()
    }

    /// Set and not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.all.get(&OsString::from(name)).and_then(|value| value.to_str());
        let value = value.map(str::trim).filter(|value| !value.is_empty());
        value.or_else(|| self.settings.get(name).map(String::as_str)).map(str::to_owned)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.all.iter()
    }

    fn either(&self, names: [&str; 2]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    fn number<T: TryFrom<u64>>(&self, number: &Number) -> Result<Option<T>, ProfileError> {
        let Some(text) = self.text(number.name) else { return Ok(None) };
        number.parse(&text).map(Some).map_err(ProfileError::Config)
    }

    /// Every number that is set and cannot be used.
    pub fn wrong_numbers(&self) -> Vec<String> {
        let wrong = |number: &&Number| number.parse::<u64>(&self.text(number.name)?).err();
        numbers::ALL.iter().filter_map(wrong).collect()
    }

    /// A switch: set, and not to a word for no.
    fn is_on(&self, name: &str) -> bool {
        let text = self.text(name).map(|text| text.to_ascii_lowercase());
        text.is_some_and(|text| !matches!(text.as_str(), "0" | "false" | "no" | "off"))
    }

    fn millis(&self, number: &Number) -> Result<Option<Duration>, ProfileError> {
        Ok(self.number(number)?.map(Duration::from_millis))
    }

    pub fn user_home(&self) -> Result<PathBuf, ProfileError> {
        match self.text("HOME").map(PathBuf::from) {
            Some(home) if home.is_absolute() => Ok(home),
            Some(home) => Err(ProfileError::Config(format!(
                "HOME={} is not an absolute path. Set it, or set OSTLER_HOME",
                home.display()
            ))),
            None => Err(ProfileError::Config(
                "HOME is not set. Set it, or set OSTLER_HOME to a directory for sessions".into(),
            )),
        }
    }

    /// Where our state is, whatever is wrong with it.
    pub fn state_directory(&self) -> Result<PathBuf, ProfileError> {
        match self.text("OSTLER_HOME").map(PathBuf::from) {
            Some(home) if home.is_absolute() => Ok(home),
            Some(home) => {
                let home = home.display();
                Err(ProfileError::Config(format!("OSTLER_HOME={home} is not an absolute path")))
            }
            None => Ok(self.user_home()?.join(".ostler")),
        }
    }

    /// The same. Refused if others can change it, before anything of it is read.
    pub fn home(&self) -> Result<PathBuf, ProfileError> {
        let home = self.state_directory()?;
        let checked = ostler::check_state_directory(&home);
        checked.map(|()| home).map_err(ProfileError::State)
    }

    /// Reads one file instead of looking through all time zones for its name.
    pub fn calendar(&self) -> Calendar {
        let is_name = |name: &String| !name.starts_with([':', '/']) && !name.contains("..");
        match self.text("TZ") {
            None => Calendar::in_zone_of(Path::new("/etc/localtime")),
            Some(name) if is_name(&name) => Calendar::in_zone_of(&Path::new(ZONES).join(name)),
            Some(_) => Calendar::default(),
        }
    }

    /// Where Claude Code keeps the user's settings.
    pub fn claude_home(&self) -> Result<Option<PathBuf>, ProfileError> {
        match self.text("CLAUDE_CONFIG_DIR").map(PathBuf::from) {
            Some(home) if home.is_absolute() => Ok(Some(home)),
            Some(home) => Err(ProfileError::Config(format!(
                "CLAUDE_CONFIG_DIR={} is not an absolute path",
                home.display()
            ))),
            None => Ok(self.user_home().ok().map(|home| home.join(".claude"))),
        }
    }

    /// Where other programs keep their sessions.
    pub fn transcripts(&self) -> Result<TranscriptPlaces, ProfileError> {
        let home = self.user_home().ok();
        let own = |name: &str| self.text(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let below = |name: &str| home.as_ref().map(|home| home.join(name));
        let data = own("XDG_DATA_HOME").or_else(|| below(".local/share"));
        Ok(TranscriptPlaces {
            is_copy: false,
            claude: self.claude_home()?,
            codex: own("CODEX_HOME").or_else(|| below(".codex")),
            opencode: data.map(|data| data.join("opencode")),
        })
    }

    /// With what the user's settings say where the environment says nothing. Where those settings are found is not
    /// for them to say.
    #[must_use]
    pub fn with_defaults(&self, settings: &[(String, String)]) -> Self {
        let mut all = self.all.clone();
        for (name, value) in settings {
            let finds = ["HOME", "OSTLER_HOME", "CLAUDE_CONFIG_DIR"].contains(&name.as_str());
            if !finds && self.text(name).is_none() {
                all.insert(name.into(), value.into());
            }
        }
        Environment { all, settings: self.settings.clone() }
    }

    /// With what settings say under keys of their own, where the environment says nothing.
    #[must_use]
    pub fn with_settings(&self, values: &Values) -> Self {
        let settings = values.variables().into_iter().collect();
        Environment { all: self.all.clone(), settings }
    }

    pub fn credentials(&self, provider: &Provider) -> Option<Credentials> {
        provider.credentials(|variable| self.text(variable))
    }

    /// Certificates to trust besides the system's.
    pub fn ca_file(&self) -> Result<Option<ostler::CaFile>, ProfileError> {
        let Some(path) = self.text("SSL_CERT_FILE") else { return Ok(None) };
        match std::fs::read(&path) {
            Ok(pem) => Ok(Some(ostler::CaFile { label: format!("SSL_CERT_FILE ({path})"), pem })),
            Err(error) => {
                Err(ProfileError::Config(format!("SSL_CERT_FILE={path} cannot be read: {error}")))
            }
        }
    }

    pub fn proxies(&self) -> ProxySettings {
        let all = self.either(["ALL_PROXY", "all_proxy"]);
        ProxySettings {
            http: self.either(["HTTP_PROXY", "http_proxy"]).or_else(|| all.clone()),
            https: self.either(["HTTPS_PROXY", "https_proxy"]).or(all),
            no_proxy: self.either(["NO_PROXY", "no_proxy"]),
        }
    }

    pub fn deadlines(&self) -> Result<Deadlines, ProfileError> {
        let mut deadlines = Deadlines::default();
        if let Some(limit) = self.millis(&numbers::CONNECT_TIMEOUT)? {
            deadlines.connect = limit;
        }
        if let Some(limit) = self.millis(&numbers::FIRST_BYTE_TIMEOUT)? {
            deadlines.first_event = limit;
        }
        if let Some(limit) = self.millis(&numbers::IDLE_TIMEOUT)? {
            deadlines.silence = limit;
        }
        Ok(deadlines)
    }

    pub fn settings(&self, values: &Values) -> Result<ostler::Settings, ProfileError> {
        let mut settings = ostler::Settings::default();
        let retries = self.number(&numbers::MAX_RETRIES)?;
        if let Some(retries) = retries.or(self.number(&numbers::CLAUDE_MAX_RETRIES)?) {
            settings.retries = retries;
            settings.retries_before_fallback = settings.retries_before_fallback.min(retries);
        }
        // The second name of each is the one that users of Claude Code have set already.
        let limit = self.number(&numbers::MAX_OUTPUT)?;
        settings.output_limit = limit.or(self.number(&numbers::CLAUDE_MAX_OUTPUT)?);
        let thinking = self.number(&numbers::MAX_THINKING)?;
        settings.thinking = match thinking.or(self.number(&numbers::CLAUDE_MAX_THINKING)?) {
            None => Thinking::Auto,
            Some(0) => Thinking::Disabled,
            Some(tokens) => Thinking::Budget(tokens),
        };
        settings.after_the_answer =
            self.text("OSTLER_TOOLS_AFTER_ANSWER").is_some_and(|on| on != "0");
        if let Some(calls) = self.number(&numbers::MAX_PARALLEL_CALLS)? {
            settings.max_parallel_calls = calls;
        }
        if let Some(wait) = self.millis(&numbers::STREAM_BACKOFF)? {
            settings.stream_backoff = wait;
        }
        settings.context = self.context(values)?;
        Ok(settings)
    }

    /// How many agents may run at the same time, and how deep they may start each other.
    pub fn agent_limits(&self) -> Result<(usize, usize), ProfileError> {
        let most = self.number(&numbers::MAX_AGENTS)?;
        let deepest = self.number(&numbers::MAX_AGENT_DEPTH)?;
        Ok((
            most.unwrap_or(ostler::SessionOptions::MAX_AGENTS),
            deepest.unwrap_or(ostler::SessionOptions::MAX_AGENT_DEPTH),
        ))
    }

    /// Warn about calls that take longer than this; 0 means never.
    pub fn slow_call(&self) -> Result<Option<Duration>, ProfileError> {
        Ok(match self.millis(&numbers::SLOW_CALL)? {
            Some(Duration::ZERO) => None,
            Some(limit) => Some(limit),
            None => Some(ostler::SessionOptions::SLOW_CALL),
        })
    }

    /// Whether notes are kept and brought along.
    pub fn memory(&self) -> bool {
        !matches!(self.text("OSTLER_MEMORY").as_deref(), Some("0" | "off" | "no" | "false"))
    }

    /// An embedding endpoint instead of the installed model.
    pub fn embeddings(&self) -> Result<Option<ostler::EmbeddingEndpoint>, ProfileError> {
        let Some(url) = self.text("OSTLER_EMBEDDING_URL") else { return Ok(None) };
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(ProfileError::Config(
                "OSTLER_EMBEDDING_URL is not a complete URL such as https://host/v1/embeddings"
                    .into(),
            ));
        }
        let Some(model) = self.text("OSTLER_EMBEDDING_MODEL") else {
            return Err(ProfileError::Config(
                "OSTLER_EMBEDDING_URL is set; set OSTLER_EMBEDDING_MODEL to the model's name, too"
                    .into(),
            ));
        };
        let key = self.text("OSTLER_EMBEDDING_KEY").map(ostler::ApiSecret::new);
        Ok(Some(ostler::EmbeddingEndpoint { url, model, key }))
    }

    /// Where the web is searched, if a person says so.
    pub(crate) fn search_endpoint(&self) -> Result<Option<ostler::SearchEndpoint>, ProfileError> {
        let Some(url) = self.text("OSTLER_SEARCH_URL") else { return Ok(None) };
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(ProfileError::Config(
                "OSTLER_SEARCH_URL is not a complete URL such as https://host/search".into(),
            ));
        }
        let key = self.text("OSTLER_SEARCH_KEY").map(ostler::ApiSecret::new);
        Ok(Some(ostler::SearchEndpoint { url, key }))
    }

    /// How the window is managed.
    fn context(&self, values: &Values) -> Result<ostler::ContextSettings, ProfileError> {
        let mut context = ostler::ContextSettings::default();
        context.on_request =
            !self.is_on("OSTLER_DISABLE_COMPACT") && !self.is_on("DISABLE_COMPACT");
        context.auto = context.on_request
            && !self.is_on("OSTLER_DISABLE_AUTO_COMPACT")
            && !self.is_on("DISABLE_AUTO_COMPACT")
            && values.switch(&AUTO_COMPACT) != Some(false);
        context.window = self.number(&numbers::CONTEXT_WINDOW)?;
        let at_most = self.number(&numbers::CLAUDE_WINDOW)?;
        context.window_at_most = at_most.filter(|tokens| *tokens > 0);
        let share = self.number(&numbers::CLAUDE_PERCENT)?;
        if let Some(percent) = share.filter(|percent| *percent > 0) {
            context.bounds.share = percent;
        }
        context.bounds.threshold = self.number(&numbers::COMPACT_AT)?;
        if let Some(percent) = self.number(&numbers::COMPACT_PERCENT)? {
            context.bounds.percent = percent;
        }
        context.summary_model = self.text("OSTLER_COMPACT_MODEL").map(|name| ostler::model(&name));
        context.task_budget = self.number(&numbers::TASK_BUDGET)?;
        Ok(context)
    }

    /// The first wait before a failed request is repeated.
    pub fn retry_wait(&self) -> Result<Option<Duration>, ProfileError> {
        self.millis(&numbers::RETRY_WAIT)
    }

    /// What commands may see of it, with what settings set for them. A credential stays out either way.
    pub fn for_commands(&self, settings: &[(String, String)]) -> Vec<(OsString, OsString)> {
        let mut all = self.all.clone();
        all.extend(settings.iter().map(|(name, value)| (name.into(), value.into())));
        let names: Vec<&str> = settings.iter().map(|(name, _)| name.as_str()).collect();
        let mut allowed = ostler::allowed_environment(all, &names);
        // What a command starts may be one more server, and has to know how deep it is.
        allowed.extend(self.text(MCP_DEPTH).map(|depth| (MCP_DEPTH.into(), depth.into())));
        allowed
    }

    /// What commands may see of the variables that the program which started us has set for us: those that its own
    /// environment (`theirs`, as the kernel shows it) lacks or has with another value. A credential stays out.
    pub fn set_by_program(&self, theirs: &[u8]) -> Vec<(OsString, OsString)> {
        let had: HashSet<&[u8]> = theirs.split(|byte| *byte == 0).collect();
        let is_new = |(name, value): &(&OsString, &OsString)| {
            let pair = [name.as_encoded_bytes(), b"=", value.as_encoded_bytes()].concat();
            !had.contains(pair.as_slice())
        };
        let set: Vec<(OsString, OsString)> = self
            .variables()
            .filter(is_new)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let names: Vec<&str> = set.iter().filter_map(|(name, _)| name.to_str()).collect();
        ostler::allowed_environment(set.clone(), &names)
    }

    /// `N` or `N:BYTES`: stop at the N-th write of the log, after BYTES of it. For crash tests.
    pub fn fault(&self) -> Option<ostler::Fault> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let text = self.text("OSTLER_CRASH_AT_WRITE")?;
        let (writes, torn) = match text.split_once(':') {
            Some((writes, torn)) => (writes, Some(torn.parse().ok()?)),
            None => (text.as_str(), None),
        };
        Some(ostler::Fault { after_writes: writes.parse().ok()?, torn })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_program_has_set_reaches_commands() {
        let pairs = [
            ("KEPT", "1"),
            ("CHANGED", "new"),
            ("ADDED", "x"),
            ("ADDED_TOKEN", "x"),
            ("ANTHROPIC_BASE_URL", "http://x"),
            ("DB", "postgres://ann:pw@host/db"),
        ];
        let all = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let environment: Environment = all.into_iter().collect();
        let given = environment.set_by_program(b"KEPT=1\0CHANGED=old\0");
        let names: Vec<&str> = given.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["ADDED", "CHANGED"]);
    }
}
