//! Filters and merge drivers are programs. Those that the user's own settings name run; those that only the
//! repository's settings name do not, because whoever made the repository's directory may have written them.

use crate::error::WorktreeError;
use crate::git::{Git, GitCall};
use std::collections::{BTreeMap, BTreeSet};

/// Merges text as git does by itself.
const PLAIN_MERGE: &str = "git merge-file --marker-size=%L %A %O %B";

/// The settings of a repository that name programs, by who wrote them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ProgramSettings {
    /// Of the system and the user; the last one wins.
    users: BTreeMap<String, String>,
    /// Names in the repository's own settings.
    repositorys: BTreeSet<String>,
}

impl ProgramSettings {
    pub async fn read(call: GitCall<'_>) -> Result<Self, WorktreeError> {
        let output =
            call.args(["config", "--list", "--show-scope", "--includes", "-z"]).success().await?;
        Ok(ProgramSettings::parse(&output.stdout))
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut found = ProgramSettings::default();
        let mut parts = bytes.split(|byte| *byte == 0);
        while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
            let setting = String::from_utf8_lossy(setting);
            let (name, value) = setting.split_once('\n').unwrap_or((&setting, ""));
            if !names_program(name) {
                continue;
            }
            match scope {
                b"system" | b"global" => {
                    found.users.insert(name.to_owned(), value.to_owned());
                }
                b"command" => {}
                _ => {
                    found.repositorys.insert(name.to_owned());
                }
            }
        }
        found
    }

    /// What is set for every call: the user's value wins over the repository's, and a filter of the user that fails
    /// makes the call fail.
    pub fn overrides(&self) -> Vec<(String, String)> {
        let mut set = BTreeMap::new();
        for name in &self.repositorys {
            let plain = if name.starts_with("merge.") { PLAIN_MERGE } else { "" };
            let value = self.users.get(name).map_or(plain, String::as_str);
            set.insert(name.clone(), value.to_owned());
            if let Some(filter) = filter_of(name) {
                set.insert(format!("filter.{filter}.required"), "false".to_owned());
            }
        }
        for filter in self.users.keys().filter_map(|name| filter_of(name)) {
            let has = |key: &str| self.users.contains_key(&format!("filter.{filter}.{key}"));
            // Git takes the missing half of a required filter for one that fails.
            if has("process") || (has("clean") && has("smudge")) {
                set.insert(format!("filter.{filter}.required"), "true".to_owned());
            }
        }
        set.into_iter().collect()
    }

    pub fn user_has_filter(&self, filter: &str) -> bool {
        self.users.iter().any(|(name, value)| filter_of(name) == Some(filter) && !value.is_empty())
    }

    pub fn repository_has_filter(&self, filter: &str) -> bool {
        self.repositorys.iter().any(|name| filter_of(name) == Some(filter))
    }
}

fn names_program(name: &str) -> bool {
    let is_merge = name.starts_with("merge.") && name.ends_with(".driver");
    is_merge || filter_of(name).is_some()
}

fn filter_of(name: &str) -> Option<&str> {
    let (filter, key) = name.strip_prefix("filter.")?.rsplit_once('.')?;
    matches!(key, "clean" | "smudge" | "process").then_some(filter)
}

impl Git {
    /// The same git for calls on one repository that read or write its files, or merge.
    pub(crate) fn with_settings(&self, settings: &ProgramSettings) -> Git {
        let mut git = self.clone();
        git.overrides = settings.overrides();
        git
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_programs_win_and_those_of_the_repository_are_replaced() {
        let text = "global\0filter.lfs.process\ngit-lfs filter-process\0global\0filter.both.clean\nuser\0\
            global\0filter.both.smudge\nuser\0global\0filter.half.clean\nuser\0\
            local\0filter.both.clean\nrepo\0local\0filter.a=b.smudge\nrun me\0worktree\0merge.x.driver\nrun me\0\
            local\0core.bare\nfalse\0local\0alias.x\n!run\0";
        let found = ProgramSettings::parse(text.as_bytes());
        let set: Vec<(String, String)> = found.overrides();
        let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected = [
            ("filter.a=b.required", "false"),
            ("filter.a=b.smudge", ""),
            ("filter.both.clean", "user"),
            ("filter.both.required", "true"),
            ("filter.lfs.required", "true"),
            ("merge.x.driver", PLAIN_MERGE),
        ];
        assert_eq!(set, expected);
        assert!(found.user_has_filter("lfs") && !found.user_has_filter("a=b"));
        assert!(found.repository_has_filter("a=b") && !found.repository_has_filter("lfs"));
    }
}
