//! Settings that are one value each, such as `model`. The highest file wins.
//!
//! To add one, write a constant and list it in `KEYS`. If an environment variable means the same, name it here, and
//! nothing else is needed; otherwise `ostler-profile` reads the value into its options.

use crate::ConfigError;
use crate::located_json::Located;
use std::collections::BTreeMap;

pub struct Key {
    pub name: &'static str,
    form: Form,
    /// The value is what this variable is unless the environment sets it.
    variable: Option<&'static str>,
    /// For the person who is asked to trust a project that sets it; `{}` is the value.
    request: &'static str,
}

enum Form {
    Text,
    Switch,
    Number {
        /// What it counts, for errors: "a number of tokens".
        what: &'static str,
        least: u64,
        most: u64,
        /// Also accepts "auto", which leaves the choice to us.
        auto: bool,
    },
}

pub const MODEL: Key =
    Key { name: "model", form: Form::Text, variable: None, request: "chooses the model {}" };
pub const AUTO_COMPACT: Key = Key {
    name: "autoCompactEnabled",
    form: Form::Switch,
    variable: None,
    request: "turns automatic compaction {}",
};
pub const AUTO_COMPACT_WINDOW: Key = Key {
    name: "autoCompactWindow",
    form: Form::Number { what: "a number of tokens", least: 1, most: 1_000_000_000, auto: true },
    variable: Some("CLAUDE_CODE_AUTO_COMPACT_WINDOW"),
    request: "sets the context window to {} tokens",
};

pub const FAST_MODE: Key =
    Key { name: "fastMode", form: Form::Switch, variable: None, request: "turns fast mode {}" };

pub const JOB_TIME_LIMIT: Key = Key {
    name: "jobTimeLimit",
    form: Form::Number { what: "a number of seconds", least: 1, most: 86_400, auto: false },
    variable: None,
    request: "lets background jobs run for {} seconds",
};
pub const MAX_JOBS: Key = Key {
    name: "maxJobs",
    form: Form::Number { what: "a number of jobs", least: 0, most: 1_000, auto: false },
    variable: None,
    request: "allows {} background jobs at once",
};
pub const KEEP_JOBS: Key = Key {
    name: "keepJobs",
    form: Form::Switch,
    variable: None,
    request: "turns keeping background jobs after Ostler exits {}",
};

pub const MAX_AGENTS: Key = Key {
    name: "maxAgents",
    form: Form::Number { what: "a number of agents", least: 1, most: 1_000, auto: false },
    variable: Some("OSTLER_MAX_AGENTS"),
    request: "allows {} agents at once",
};
pub const MAX_AGENT_DEPTH: Key = Key {
    name: "maxAgentDepth",
    form: Form::Number { what: "a number of levels", least: 0, most: 16, auto: false },
    variable: Some("OSTLER_MAX_AGENT_DEPTH"),
    request: "lets agents start agents {} levels deep",
};

pub const BOARD_TOOLS: Key = Key {
    name: "boardTools",
    form: Form::Switch,
    variable: None,
    request: "turns the tools for the task board {}",
};

pub const SMALL_MODEL: Key = Key {
    name: "smallModel",
    form: Form::Text,
    variable: None,
    request: "has the model {} read web pages",
};
/// Separated by commas.
pub const WEB_PRIVATE_HOSTS: Key = Key {
    name: "webPrivateHosts",
    form: Form::Text,
    variable: None,
    request: "lets web pages be fetched from {}, also at private addresses",
};

/// It names one of the person's own texts, so a project may choose it before it is trusted; see [`crate::OutputStyles`].
pub const OUTPUT_STYLE: Key =
    Key { name: "outputStyle", form: Form::Text, variable: None, request: "" };

pub const WEB_SEARCH: Key = Key {
    name: "webSearch",
    form: Form::Text,
    variable: None,
    request: "has the web searched by {}",
};

/// Commands that are run in every new worktree, before one is removed, and when a worker has done a task.
pub const WORKTREE_SETUP: Key = worktree_command("worktrees.setup");
pub const WORKTREE_TEARDOWN: Key = worktree_command("worktrees.teardown");
pub const WORKTREE_CHECK: Key = worktree_command("worktrees.check");

/// What a project requests with it is named among the programs that it starts.
const fn worktree_command(name: &'static str) -> Key {
    Key { name, form: Form::Text, variable: None, request: "" }
}

const KEYS: [&Key; 17] = [
    &MODEL,
    &FAST_MODE,
    &AUTO_COMPACT,
    &AUTO_COMPACT_WINDOW,
    &JOB_TIME_LIMIT,
    &MAX_JOBS,
    &KEEP_JOBS,
    &MAX_AGENTS,
    &MAX_AGENT_DEPTH,
    &BOARD_TOOLS,
    &SMALL_MODEL,
    &WEB_PRIVATE_HOSTS,
    &WEB_SEARCH,
    &OUTPUT_STYLE,
    &WORKTREE_SETUP,
    &WORKTREE_TEARDOWN,
    &WORKTREE_CHECK,
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    Switch(bool),
    Number(u64),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Value::Number(number) => number.fmt(f),
        }
    }
}

/// Those that a file, or all files together, set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    set: BTreeMap<&'static str, Value>,
}

impl Values {
    pub fn text(&self, key: &Key) -> Option<&str> {
        match self.set.get(key.name)? {
            Value::Text(text) => Some(text),
            Value::Switch(_) | Value::Number(_) => None,
        }
    }

    pub fn switch(&self, key: &Key) -> Option<bool> {
        match self.set.get(key.name)? {
            Value::Switch(on) => Some(*on),
            Value::Text(_) | Value::Number(_) => None,
        }
    }

    pub fn number(&self, key: &Key) -> Option<u64> {
        match self.set.get(key.name)? {
            Value::Number(number) => Some(*number),
            Value::Text(_) | Value::Switch(_) => None,
        }
    }

    /// Environment variables that mean the same, with the values.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let variable = |key: &&Key| Some((key.variable?, self.set.get(key.name)?.to_string()));
        KEYS.iter().filter_map(variable).collect()
    }

    /// A later file wins.
    pub(crate) fn replace(&mut self, later: Values) {
        self.set.extend(later.set);
    }

    /// Of a file that is not trusted only what can do no harm.
    pub(crate) fn replace_style(&mut self, mut untrusted: Values) {
        self.set.extend(untrusted.set.remove_entry(OUTPUT_STYLE.name));
    }

    /// None: the key is not one of these. Some text: why the value is ignored.
    ///
    /// # Errors
    /// On a number that cannot be used.
    pub(crate) fn read(
        &mut self,
        key: &str,
        value: Located<'_>,
    ) -> Result<Option<Result<(), String>>, ConfigError> {
        self.read_as(&KEYS, key, value)
    }

    fn read_as(
        &mut self,
        keys: &[&Key],
        key: &str,
        value: Located<'_>,
    ) -> Result<Option<Result<(), String>>, ConfigError> {
        let Some(key) = keys.iter().find(|known| known.name == key) else { return Ok(None) };
        if value.is_null() {
            return Ok(Some(Ok(())));
        }
        let name = key.name;
        let found = match key.form {
            Form::Text => value.text(name).map(Value::Text).map_err(|error| error.what),
            Form::Switch => match value.scalar().as_deref() {
                Some("true") => Ok(Value::Switch(true)),
                Some("false") => Ok(Value::Switch(false)),
                _ => Err(format!("{name} must be true or false")),
            },
            Form::Number { auto: true, .. } if value.scalar().as_deref() == Some("auto") => {
                return Ok(Some(Ok(())));
            }
            Form::Number { what, least, most, auto } => {
                let number = value.number(name).ok().filter(|n| (least..=most).contains(n));
                let or_auto = if auto { ", or \"auto\"" } else { "" };
                Ok(Value::Number(number.ok_or_else(|| {
                    let wanted = format!("{what} from {least} to {most}{or_auto}");
                    value.wrong(format!("{name} must be {wanted}; {}", value.found()))
                })?))
            }
        };
        Ok(Some(found.map(|found| {
            self.set.insert(name, found);
        })))
    }

    /// In words, for the person who is asked to trust a project.
    pub(crate) fn requests(&self) -> Vec<String> {
        let request =
            |key: &&Key| Some(key.request.replace("{}", &self.set.get(key.name)?.to_string()));
        KEYS.iter().filter(|key| !key.request.is_empty()).filter_map(request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located_json::Document;
    use std::path::Path;

    fn read(key: &str, text: &str) -> (Values, Result<Option<Result<(), String>>, String>) {
        let mut found = Values::default();
        let value = Document::root(text, Path::new("f.json")).unwrap();
        let read = found.read(key, value).map_err(|error| error.to_string());
        (found, read)
    }

    #[test]
    fn values_are_read() {
        for (key, text, expected, is_quiet) in [
            ("autoCompactEnabled", "false", Some(Value::Switch(false)), true),
            ("autoCompactEnabled", "true", Some(Value::Switch(true)), true),
            ("autoCompactEnabled", "null", None, true),
            ("autoCompactEnabled", "1", None, false),
            ("autoCompactEnabled", "[]", None, false),
            ("autoCompactWindow", "150000", Some(Value::Number(150_000)), true),
            ("autoCompactWindow", "\"auto\"", None, true),
            ("autoCompactWindow", "null", None, true),
            ("model", "\"opus\"", Some(Value::Text("opus".into())), true),
            ("model", "5", None, false),
            ("maxAgents", "4", Some(Value::Number(4)), true),
            ("maxAgentDepth", "0", Some(Value::Number(0)), true),
        ] {
            let (found, read) = read(key, text);
            let said = read.unwrap().expect("a known key");
            assert_eq!(found.set.get(key), expected.as_ref(), "{key}: {text}");
            assert_eq!(said.is_ok(), is_quiet, "{key}: {text}");
        }
        assert_eq!(read("permissions", "{}").1, Ok(None));
    }

    #[test]
    fn a_number_out_of_range_is_an_error() {
        for text in ["0", "-5", "1.5", "1000000001", "\"150000\"", "\"big\"", "{}", "[]"] {
            let said = read("autoCompactWindow", text).1.unwrap_err();
            let wanted = "a number of tokens from 1 to 1000000000, or \"auto\"";
            assert_eq!(said, format!("f.json:1: autoCompactWindow must be {wanted}; found {text}"));
        }
    }

    /// A constant and its place in the list are all that a new key takes: this one exists here only.
    #[test]
    fn a_new_key_is_a_constant_in_the_list() {
        const MADE_UP: Key = Key {
            name: "madeUp",
            form: Form::Number { what: "a number of things", least: 1, most: 9, auto: false },
            variable: None,
            request: "makes up {} things",
        };
        let document = |text| Document::root(text, Path::new("f.json")).unwrap();
        let mut values = Values::default();
        assert_eq!(values.read("madeUp", document("5")).unwrap(), None, "not in the list");
        let read = values.read_as(&[&MODEL, &MADE_UP], "madeUp", document("5"));
        assert_eq!(read.unwrap(), Some(Ok(())));
        assert_eq!(values.number(&MADE_UP), Some(5));
        let wrong = values.read_as(&[&MADE_UP], "madeUp", document("10")).unwrap_err();
        assert!(wrong.to_string().contains("madeUp must be a number of things from 1 to 9"));
    }

    #[test]
    fn every_key_is_documented() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs");
        let files = std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
        let is_page = |file: &std::path::PathBuf| file.extension() == Some("md".as_ref());
        let pages = files.filter(is_page).map(|file| std::fs::read_to_string(file).unwrap());
        let pages: String = pages.collect();
        for key in KEYS {
            assert!(pages.contains(&format!("`{}`", key.name)), "{}", key.name);
        }
    }
}
