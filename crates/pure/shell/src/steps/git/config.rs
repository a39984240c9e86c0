//! `git config` that changes something: the file it changes. What git finds there it runs later.

use crate::options;
use ostler_policy::script::{Word, WordPart};
use ostler_policy::{Act, Touch, TouchKind};

/// Sections of which every key is harmless but these.
const SECTIONS: &[(&str, &[&str])] = &[
    ("advice", &[]),
    ("branch", &["mergeoptions"]),
    ("color", &[]),
    ("commit", &["gpgsign", "template"]),
    ("fetch", &["bundleuri", "skiplist"]),
    ("log", &["showsignature"]),
    // A strategy is a program.
    ("pull", &["octopus", "twohead"]),
    ("push", &["gpgsign"]),
    ("rebase", &["exec", "reschedulefailedexec"]),
    ("rerere", &[]),
    ("status", &[]),
];

const KEYS: &[&str] = &[
    "core.abbrev",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.quotepath",
    "core.safecrlf",
    "diff.algorithm",
    "diff.colormoved",
    "diff.renames",
    "init.defaultbranch",
    "merge.conflictstyle",
    "merge.ff",
    "tag.sort",
    "user.email",
    "user.name",
];

const OF_A_REMOTE: &[&str] = &["fetch", "prune", "prunetags", "pushurl", "tagopt", "url"];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ConfigAction {
    /// It depends on how many words follow.
    #[default]
    Open,
    Reads,
    /// One key.
    Sets,
    Unsets,
    /// More than one key, or nobody knows what.
    Changes,
}

#[derive(Debug, Default)]
struct ConfigLine<'a> {
    action: ConfigAction,
    file: Option<String>,
    /// `-f` names it.
    chosen: bool,
    operands: &'a [Word],
}

/// `words` are those behind `config`. None: it changes nothing, or only what is harmless.
pub(super) fn change(words: &[Word]) -> Option<Touch> {
    let line = ConfigLine::read(words);
    let harmless = match (line.action, line.operands) {
        (ConfigAction::Reads, _) | (ConfigAction::Open, []) => return None,
        (ConfigAction::Open, [only]) if is_name(only) => return None,
        (ConfigAction::Unsets, [key, ..]) => key.literal().is_some_and(is_harmless),
        (ConfigAction::Open | ConfigAction::Sets, [key, value, ..]) => {
            key.literal().is_some_and(|key| is_harmless(key) && is_plain(key, value))
        }
        _ => false,
    };
    let path = line.file.unwrap_or_else(|| ".git/config".into());
    (line.chosen || !harmless).then(|| Touch::new(Act::Write, path, TouchKind::File))
}

impl<'a> ConfigLine<'a> {
    /// git reads options up to the first operand; what follows is a name or a value, whatever it looks like.
    fn read(words: &'a [Word]) -> Self {
        let mut line = ConfigLine::default();
        let mut at = line.options(words, 0);
        let action = match words.get(at).and_then(Word::literal) {
            Some("get" | "list") => Some(ConfigAction::Reads),
            Some("set") => Some(ConfigAction::Sets),
            Some("unset") => Some(ConfigAction::Unsets),
            Some("edit" | "rename-section" | "remove-section") => Some(ConfigAction::Changes),
            _ => None,
        };
        if let Some(action) = action {
            line.action = line.action.and(action);
            at = line.options(words, at + 1);
        }
        line.operands = words.get(at..).unwrap_or_default();
        line
    }

    /// Gives the place of the first operand.
    fn options(&mut self, words: &[Word], from: usize) -> usize {
        let mut at = from;
        while let Some(text) = words.get(at).and_then(Word::literal) {
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
                return at;
            };
            at += 1;
            let takes_next = match option.strip_prefix('-') {
                Some("") => return at,
                Some(long) => self.long(long, words.get(at)),
                None => self.short(option, words.get(at)),
            };
            at += usize::from(takes_next);
        }
        at
    }

    /// True if the next word is its value.
    fn long(&mut self, option: &str, next: Option<&Word>) -> bool {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        match name {
            "get" | "get-all" | "get-regexp" | "get-urlmatch" | "get-color" | "get-colorbool"
            | "list" => self.act(ConfigAction::Reads),
            "add" | "replace-all" => self.act(ConfigAction::Sets),
            "unset" | "unset-all" => self.act(ConfigAction::Unsets),
            "local" | "null" | "name-only" | "show-origin" | "show-scope" | "show-names"
            | "includes" | "no-includes" | "bool" | "int" | "bool-or-int" | "bool-or-str"
            | "path" | "expiry-date" | "no-type" | "fixed-value" | "all" | "append" | "regexp" => {}
            "type" | "default" | "comment" | "value" | "url" | "blob" => return value.is_none(),
            "worktree" => self.file = Some(".git/config.worktree".into()),
            "system" => self.file = Some("/etc/gitconfig".into()),
            // Beginnings of an option are as good as all of it.
            _ if name.len() > 1 && "global".starts_with(name) => {
                self.file = Some("~/.gitconfig".into());
            }
            _ if name.len() > 2 && "file".starts_with(name) => {
                self.choose(value.map(options::written).or_else(|| next.and_then(path)));
                return value.is_none();
            }
            _ => self.act(ConfigAction::Changes),
        }
        false
    }

    fn short(&mut self, cluster: &str, next: Option<&Word>) -> bool {
        for (place, letter) in cluster.char_indices() {
            let glued = cluster.get(place + 1..).filter(|glued| !glued.is_empty());
            match letter {
                'z' => {}
                'l' => self.act(ConfigAction::Reads),
                'f' => {
                    self.choose(glued.map(options::written).or_else(|| next.and_then(path)));
                    return glued.is_none();
                }
                't' => return glued.is_none(),
                _ => self.act(ConfigAction::Changes),
            }
        }
        false
    }

    fn act(&mut self, action: ConfigAction) {
        self.action = self.action.and(action);
    }

    /// A file that is not known may be the repository's.
    fn choose(&mut self, file: Option<String>) {
        self.chosen = true;
        self.file = file;
    }
}

impl ConfigAction {
    /// git refuses two of them; the answer is then the stricter one.
    fn and(self, other: ConfigAction) -> ConfigAction {
        match self {
            ConfigAction::Open => other,
            same if same == other => same,
            _ => ConfigAction::Changes,
        }
    }
}

fn path(word: &Word) -> Option<String> {
    word.literal().map(options::written)
}

/// One word that is no option.
fn is_name(word: &Word) -> bool {
    let begins = match word {
        Word::Literal(text) => Some(text),
        Word::Dynamic { parts, .. } => match parts.first() {
            Some(WordPart::Literal(text)) => Some(text),
            _ => None,
        },
        Word::Glob(_) => None,
    };
    begins.is_some_and(|text| !text.is_empty() && !text.starts_with('-'))
        && options::is_one_word(word)
}

/// Whether a setting can be made without anything being run by it later.
pub fn is_harmless_setting(key: &str, value: &str) -> bool {
    is_harmless(key) && is_plain(key, &Word::Literal(value.into()))
}

fn is_harmless(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return false;
    };
    if section == "remote" {
        return key.matches('.').count() > 1 && OF_A_REMOTE.contains(&name);
    }
    let open = SECTIONS.iter().find(|(known, _)| *known == section);
    KEYS.contains(&key.as_str()) || open.is_some_and(|(_, but)| !but.contains(&name))
}

/// No helper program (`ext::…`), no command (`!…`), no option. Of a name it does not matter what it says.
fn is_plain(key: &str, value: &Word) -> bool {
    let is_user = key.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("user."));
    match value.literal() {
        Some(text) => {
            let text = text.trim_start();
            !text.contains("::") && !text.starts_with(['!', '-']) && !text.starts_with("ext:")
        }
        None => is_user && options::is_one_word(value),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
