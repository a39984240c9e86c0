//! What commands see of the environment, and what keeps git from running programs that a repository names.

use ostler_core::permission::{Commands, Workspace};
use ostler_shell::{CLEARED_ENV, GIT_OVERRIDES};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A complete environment of commands.
pub type CommandVariables = Vec<(OsString, OsString)>;
type Variables = CommandVariables;

/// Commands may be given this: it is no credential, and it changes neither how programs start nor how text is read.
pub fn may_set_variable(name: &str, value: &str) -> bool {
    let variable = (OsString::from(name), OsString::from(value));
    let allowed = ostler_exec::allowed_environment([variable].into_iter(), &[name]);
    let is_fixed = fixed(&LOCALE).chain(fixed(&GIT_ALWAYS)).chain(fixed(GIT_OVERRIDES));
    let is_fixed = is_fixed.map(|(fixed, _)| fixed).any(|fixed| fixed == name);
    !allowed.is_empty() && !is_fixed && !is_cleared(OsStr::new(name))
}

/// For commands that somebody allowed: no file system monitor, pager, prompt or repository in disguise. Hooks,
/// signatures and transports stay, because a commit or a push that was allowed must work.
const GIT_ALWAYS: [(&str, &str); 9] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_1", "explicit"),
    ("GIT_CONFIG_KEY_2", "core.pager"),
    ("GIT_CONFIG_VALUE_2", "cat"),
];

/// How commands read and write text, whatever the user's own locale is: in some locales bash splits words and matches
/// patterns in other ways than those that commands are judged by. Only the characters are not those of `C`: as `LC_ALL`,
/// `C.UTF-8` means the same, but each program would load twelve files at its start instead of one.
const LOCALE: [(&str, &str); 2] = [("LC_CTYPE", "C.UTF-8"), ("LANG", "C")];

pub(super) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub struct CommandEnvironment {
    base: Variables,
    /// Directories of programs, without those in which the agent may write.
    outside: OsString,
}

impl CommandEnvironment {
    pub fn new(given: Variables, workspace: &Workspace) -> Self {
        let kept = given.into_iter().filter(|(name, _)| !is_cleared(name));
        let base = with(&ostler_exec::without_secrets(kept), fixed(&LOCALE));
        let path = base.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let outside = outside(path.unwrap_or(OsStr::new(DEFAULT_PATH)), workspace);
        CommandEnvironment { base, outside }
    }

    /// Under which a proof of harmlessness holds: the programs are the system's, whatever lies in the workspace.
    pub fn for_proved(&self) -> Variables {
        let path = (OsString::from("PATH"), self.outside.clone());
        with(&self.base, fixed(GIT_OVERRIDES).chain([path]))
    }

    /// For commands that somebody allowed, where every git among them only reads.
    pub fn with_reading_git(&self) -> Variables {
        with(&self.base, fixed(GIT_OVERRIDES))
    }

    pub fn for_others(&self) -> Variables {
        with(&self.base, fixed(&GIT_ALWAYS))
    }

    /// Where such commands find their programs.
    pub fn programs(&self, commands: &Commands) -> &OsStr {
        let path = self.base.iter().find(|(name, _)| name == "PATH");
        match path {
            _ if commands.only_reads() => &self.outside,
            Some((_, path)) => path,
            None => OsStr::new(DEFAULT_PATH),
        }
    }
}

fn fixed(
    variables: &'static [(&'static str, &'static str)],
) -> impl Iterator<Item = (OsString, OsString)> {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)))
}

fn with(base: &Variables, added: impl Iterator<Item = (OsString, OsString)>) -> Variables {
    let added: Variables = added.collect();
    let is_added = |name: &OsString| added.iter().any(|(other, _)| other == name);
    let mut all: Variables = base.iter().filter(|(name, _)| !is_added(name)).cloned().collect();
    all.extend(added);
    all
}

/// Variables that change what a shell or a program does before it looks at its command.
fn is_cleared(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    // Messages would be in another language in spite of the locale.
    name == "LANGUAGE"
        || CLEARED_ENV.contains(&name)
        || ["BASH_FUNC_", "LD_", "LC_", "GIT_CONFIG"].iter().any(|start| name.starts_with(start))
}

fn outside(path: &OsStr, workspace: &Workspace) -> OsString {
    let is_outside = |folder: &Path| {
        // What does not exist now could be made later.
        let resolved = folder.canonicalize();
        folder.is_absolute() && resolved.is_ok_and(|resolved| !workspace.contains(&resolved))
    };
    let folders = path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    let kept: Vec<&OsStr> = folders.filter(|folder| is_outside(Path::new(folder))).collect();
    kept.join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn get<'a>(all: &'a Variables, name: &str) -> Option<&'a str> {
        let mut found = all.iter().filter(|(other, _)| other == name);
        let value = found.next().map(|(_, value)| value.to_str().unwrap());
        assert!(found.next().is_none(), "{name} stands twice");
        value
    }

    #[test]
    fn what_changes_programs_is_left_out() {
        let given = variables(&[
            ("HOME", "/h"),
            ("BASH_ENV", "x"),
            ("LD_PRELOAD", "x"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("GIT_DIR", "x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.editor"),
            ("GIT_PAGER", "less"),
            ("LC_ALL", "zh_TW.Big5"),
            ("https_proxy", "http://user:word@proxy.example:3128"),
        ]);
        let environment = CommandEnvironment::new(given, &Workspace::default());
        for all in [environment.for_proved(), environment.for_others()] {
            assert_eq!(get(&all, "HOME"), Some("/h"));
            assert_eq!(get(&all, "GIT_CONFIG_KEY_0"), Some("core.fsmonitor"));
            assert_eq!(get(&all, "GIT_PAGER"), Some("cat"));
            assert_eq!(get(&all, "https_proxy"), Some("http://proxy.example:3128"));
            assert_eq!(get(&all, "LC_CTYPE"), Some("C.UTF-8"));
            for gone in ["BASH_ENV", "LC_ALL", "LD_PRELOAD", "BASH_FUNC_ls%%", "GIT_DIR"] {
                assert_eq!(get(&all, gone), None, "{gone}");
            }
        }
        // What was allowed may sign, run its hooks and reach its remotes.
        let others = environment.for_others();
        assert_eq!(get(&others, "GIT_ALLOW_PROTOCOL"), None);
        assert!(
            !others.iter().any(|(_, value)| value == "core.hooksPath" || value == "gpg.program")
        );
        assert_eq!(get(&environment.for_proved(), "GIT_ALLOW_PROTOCOL"), Some(""));
    }

    #[test]
    fn commands_run_in_a_known_locale() {
        let odd = [
            ("LC_ALL", "zh_TW.BIG5"),
            ("LANG", "xx"),
            ("LANGUAGE", "de"),
            ("LC_CTYPE", "x"),
            ("LC_COLLATE", "de_DE.UTF-8"),
        ];
        for given in [variables(&odd), Vec::new()] {
            let environment = CommandEnvironment::new(given, &Workspace::default());
            for all in
                [environment.for_proved(), environment.with_reading_git(), environment.for_others()]
            {
                assert_eq!(get(&all, "LC_CTYPE"), Some("C.UTF-8"));
                assert_eq!(get(&all, "LANG"), Some("C"));
                for gone in ["LC_ALL", "LC_COLLATE", "LANGUAGE"] {
                    assert_eq!(get(&all, gone), None, "{gone}");
                }
            }
        }
    }

    #[test]
    fn the_lists_of_git_settings_are_whole() {
        for list in [&GIT_ALWAYS[..], GIT_OVERRIDES] {
            let count: usize = list
                .iter()
                .find(|(name, _)| *name == "GIT_CONFIG_COUNT")
                .unwrap()
                .1
                .parse()
                .unwrap();
            let keys = list.iter().filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY_")).count();
            assert_eq!(count, keys);
        }
    }

    #[test]
    fn proved_commands_find_no_program_in_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("bin")).unwrap();
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.join("bin"), other.path().join("link")).unwrap();
        let path = format!(
            "{0}/bin:.::bin:{0}/missing:/nowhere/at/all:{1}/link:/usr/bin:{1}",
            root.display(),
            other.path().display()
        );
        let workspace = Workspace { cwd: root.clone(), roots: vec![root], ..Workspace::default() };
        let environment = CommandEnvironment::new(variables(&[("PATH", &path)]), &workspace);
        let expected = format!("/usr/bin:{}", other.path().display());
        assert_eq!(get(&environment.for_proved(), "PATH"), Some(expected.as_str()));
        assert_eq!(get(&environment.for_others(), "PATH"), Some(path.as_str()));
    }
}
