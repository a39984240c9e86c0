//! For tests: a home, a project and a system in a private directory, and a check that knows words and pipes only.

use crate::{CheckKind, ConfigError, LoadedSettings, SettingsPlaces, Sources, load};
use ostler_core::permission::script::Word;
use ostler_core::permission::{Anchors, Matcher, Rule, Step};
use ostler_core::tool_facts::{KnownTools, ToolFacts, ToolKind};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Named as usual; what counts is what they declare.
pub(crate) static TOOLS: LazyLock<KnownTools> = LazyLock::new(|| {
    let tools = [
        ("Agent", ToolKind::Delegates),
        ("Bash", ToolKind::Runs),
        ("Edit", ToolKind::Edits),
        ("Glob", ToolKind::Reads),
        ("Grep", ToolKind::Reads),
        ("Read", ToolKind::Reads),
        ("Skill", ToolKind::Instructs),
        ("TodoWrite", ToolKind::Plans),
        ("Write", ToolKind::Edits),
    ];
    let facts = |kind| {
        let other_names: &[&str] = if kind == ToolKind::Delegates { &["Task"] } else { &[] };
        ToolFacts { kind, other_names, ..ToolFacts::default() }
    };
    KnownTools::new(tools.map(|(name, kind)| (name.to_owned(), facts(kind))))
});

pub(crate) fn anchors() -> Anchors<'static> {
    let (cwd, home) = (Path::new("/ws"), Path::new("/home/dev"));
    Anchors { cwd, home, settings: cwd, tools: &TOOLS }
}

/// Words parted by blanks, quotes taken off a whole word; stages parted by a bar.
pub(crate) fn check(kind: CheckKind, rule: &Rule, text: &str) -> bool {
    let stages: Vec<Step> = text
        .split('|')
        .map(|stage| {
            let words = stage.split_whitespace();
            let words = words.map(|word| Word::Literal(word.trim_matches('\'').into())).collect();
            Step { words, ..Step::default() }
        })
        .collect();
    let every: Vec<&Step> = stages.iter().collect();
    match (&rule.matcher, kind) {
        (Matcher::Regex(regex), CheckKind::Ask) => stages.iter().any(|step| regex.mentions(step)),
        (Matcher::Regex(regex), CheckKind::Deny) => {
            stages.iter().any(|step| regex.matches(step)) || regex.matches_pipe(&every)
        }
        (Matcher::Regex(regex), CheckKind::Allow) => stages.iter().all(|step| regex.matches(step)),
        (Matcher::Command(pattern), _) => stages.iter().any(|step| pattern.matches(&step.words)),
        (Matcher::Whole, _) => true,
        _ => false,
    }
}

pub(crate) struct ConfigGround {
    pub(crate) places: SettingsPlaces,
    root: tempfile::TempDir,
}

impl ConfigGround {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(root.path()).unwrap();
        for folder in ["home/.claude", "home/.ostler", "ws/.claude", "ws/.ostler", "etc", "out"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let places = SettingsPlaces {
            ostler_home: top.join("home/.ostler"),
            claude_home: Some(top.join("home/.claude")),
            project: top.join("ws"),
            cwd: top.join("ws"),
            user_home: top.join("home"),
            managed: top.join("etc"),
            settings_arg: None,
            sources: Sources::default(),
            plugin_dirs: Vec::new(),
            tools: TOOLS.clone(),
        };
        ConfigGround { places, root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn link(&self, to: &str, name: &str) {
        std::os::unix::fs::symlink(self.path(to), self.path(name)).unwrap();
    }

    pub(crate) fn try_load(&self) -> Result<LoadedSettings, ConfigError> {
        load(&self.places, &check)
    }

    pub(crate) fn load(&self) -> LoadedSettings {
        self.try_load().unwrap()
    }

    /// What goes wrong, with names below the ground.
    pub(crate) fn error(&self) -> String {
        let error = self.try_load().map(|_| "nothing went wrong").unwrap_err().to_string();
        error
            .replace(&format!("{}/", self.path("").display().to_string().trim_end_matches('/')), "")
    }
}

pub(crate) fn texts(rules: &[Rule]) -> Vec<&str> {
    rules.iter().map(Rule::text).collect()
}

/// Pieces of JSON in any order, some of them of our files.
pub(crate) fn jsonish() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{\"version\": 1, \"project\": \"/ws\", \"rules\": [{",
        "\"bound\": {",
        "\"rule\":",
        "\"folder\":",
        "{\"version\": 1, \"projects\": {\"/ws\": {",
        "\"sha256\":",
        "\"files\": {",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"permissions\"",
        "\"allow\"",
        "\"deny\"",
        "\"env\"",
        "\"hooks\"",
        "\"Bash(ls)\"",
        "\"Agent(x)\"",
        "\"~/x\"",
        "\"\\ud800\"",
        "\"\\u0000\"",
        "null",
        "5",
        "1e999",
        "true",
        "\n",
        " ",
        "\"additionalDirectories\"",
        "\"defaultMode\"",
        "\u{feff}",
        "{\"permissions\":{",
        "\"deny\":[",
        "\"Bash(\"",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}
