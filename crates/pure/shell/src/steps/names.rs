//! Variables by their names: those that belong to the text alone, and those that bash or a program gives a meaning to.

use ostler_policy::script::{Assigned, Word};

/// What setting a variable can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableKind {
    /// Nobody but the text looks at it.
    Own,
    /// It changes how programs show things, as long as its value is a plain one.
    Display,
    /// A program may read it, if the environment holds it already.
    Environment,
    /// It means something to bash, to the loader or to the C library. Bash evaluates what some of them are given.
    Shell,
}

/// Besides those that begin with one of [`OF_THE_SHELL_BY_START`].
const OF_THE_SHELL: &str = "\
    _ CDPATH CHILD_MAX COLUMNS COMPREPLY COPROC DIRSTACK EMACS ENV EPOCHREALTIME EPOCHSECONDS EUID \
    EXECIGNORE FCEDIT FIGNORE FUNCNAME FUNCNEST GCONV_PATH GETCONF_DIR GLIBC_TUNABLES GLOBIGNORE \
    GLOBSORT GROUPS HOME HOSTALIASES HOSTFILE HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS \
    LANG LANGUAGE LINENO LINES LOCALDOMAIN LOCPATH MACHTYPE MAIL MAILCHECK MAILPATH MAPFILE NLSPATH \
    OLDPWD OPTARG OPTERR OPTIND OSTYPE PATH PIPESTATUS POSIXLY_CORRECT POSIX_PEDANTIC PPID \
    PROMPT_COMMAND PROMPT_DIRTRIM PWD RANDOM RES_OPTIONS SECONDS SHELL SHELLOPTS SHLVL SRANDOM \
    TEXTDOMAIN TEXTDOMAINDIR TIMEFORMAT TMOUT TMPDIR TZDIR UID auto_resume histchars";

const OF_THE_SHELL_BY_START: &str = "\
    BASH COMP_ HIST LC_ LD_ MALLOC_ PS0 PS1 PS2 PS3 PS4 READLINE_ SHELLOPTS";

/// Upper-case names that scripts use for their own values. No program is known to read one of them.
const GENERIC: &str = "\
    A B BAR BASE BASE_DIR BAZ BRANCH BUILD_DIR C COMMIT COUNT DAY DEST DIR DIRS DST END EXIT_CODE F \
    FILE FILES FOO HASH I INDEX INPUT ITEM ITEMS J K KEY LINE LIST LOGFILE LOG_FILE MAX MESSAGE MIN \
    MONTH MSG N NAME NAMES NOW NUM OUT OUTPUT OUT_DIR PATTERN PROJECT_DIR PROJECT_ROOT QUX RC REPLY \
    REPO REPO_ROOT RESULT RET ROOT_DIR SCRIPT_DIR SHA SRC SRC_DIR START STATUS STR SUM TAG TEST_DIR \
    TEXT TITLE TOTAL URL VAL VALUE X Y YEAR Z";

/// Beginnings of lower-case names that programs look for in their environment.
const LOWER: &[&str] =
    &["npm_", "pnpm_", "yarn_", "ac_", "am_", "lt_", "conda_", "pip_", "uv_", "git_"];

/// A list of words between blanks.
fn holds(list: &str, name: &str) -> bool {
    list.split(' ').any(|word| word == name)
}

pub(super) fn class(name: &str) -> VariableKind {
    if holds(OF_THE_SHELL, name) || OF_THE_SHELL_BY_START.split(' ').any(|s| name.starts_with(s)) {
        return if is_display(name) { VariableKind::Display } else { VariableKind::Shell };
    }
    if is_display(name) {
        return VariableKind::Display;
    }
    if is_plain(name) || holds(GENERIC, name) {
        VariableKind::Own
    } else {
        VariableKind::Environment
    }
}

/// `file_name` and `fileName`, but nothing that a program knows.
fn is_plain(name: &str) -> bool {
    let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let lower = name.chars().all(snake) && name.contains(|c: char| c.is_ascii_lowercase());
    let camel = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric());
    (lower || camel)
        && !name.to_ascii_lowercase().contains("proxy")
        && !LOWER.iter().any(|start| name.starts_with(start))
}

fn is_display(name: &str) -> bool {
    is_locale(name)
        || matches!(
            name,
            "NO_COLOR"
                | "TERM"
                | "CLICOLOR"
                | "CLICOLOR_FORCE"
                | "FORCE_COLOR"
                | "TZ"
                | "COLUMNS"
                | "LINES"
                | "CARGO_TERM_COLOR"
                | "RUST_LOG"
                | "RUST_BACKTRACE"
                | "CI"
                | "GIT_OPTIONAL_LOCKS"
                | "PYTHONUNBUFFERED"
                | "NODE_ENV"
        )
}

fn is_locale(name: &str) -> bool {
    name.starts_with("LC_") || matches!(name, "LANG" | "LANGUAGE")
}

/// Setting the variable to this changes how things are shown, and nothing else. In some locales a backslash is the
/// second byte of a character, so the shell would read what follows differently.
pub(super) fn only_shows(name: &str, value: &str) -> bool {
    // Some of them can name a file.
    is_display(name) && !value.contains('/') && (!is_locale(name) || is_known_locale(value))
}

fn is_known_locale(value: &str) -> bool {
    let (language, charset) = value.split_once('.').unwrap_or((value, ""));
    let is_utf8 = matches!(charset, "UTF-8" | "utf8" | "utf-8" | "UTF8");
    let is_language = match language.split_once('_') {
        Some((language, land)) => {
            (2..=3).contains(&language.len())
                && language.bytes().all(|b| b.is_ascii_lowercase())
                && land.len() == 2
                && land.bytes().all(|b| b.is_ascii_uppercase())
        }
        None => false,
    };
    matches!(value, "C" | "POSIX") || is_utf8 && (language == "C" || is_language)
}

pub(super) fn only_shows_value(name: &str, value: &Assigned) -> bool {
    match value {
        Assigned::Scalar(Word::Literal(text)) => only_shows(name, text),
        Assigned::Scalar(_) | Assigned::Array(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_nobody_else_reads_are_own() {
        for name in ["i", "file", "my_file", "fileName", "x2", "FOO", "DIR", "_x", "REPLY"] {
            assert_eq!(class(name), VariableKind::Own, "{name}");
        }
        let shell = "\
            RANDOM SECONDS SRANDOM HISTCMD OPTIND LINENO BASHPID BASH_ENV ENV PATH IFS \
            CDPATH PS4 PROMPT_COMMAND GLOBIGNORE EPOCHSECONDS EPOCHREALTIME DIRSTACK GROUPS \
            FUNCNAME FUNCNEST BASH_ARGV0 BASH_COMPAT COMP_WORDBREAKS HISTFILE TIMEFORMAT \
            TMOUT LD_PRELOAD histchars _ HOME PWD OLDPWD SHELLOPTS BASHOPTS UID EUID PPID";
        for name in shell.split(' ') {
            assert_eq!(class(name), VariableKind::Shell, "{name}");
        }
        for name in ["LC_ALL", "LANG", "LANGUAGE", "LC_CTYPE", "TERM", "TZ", "COLUMNS"] {
            assert_eq!(class(name), VariableKind::Display, "{name}");
        }
        for name in [
            "http_proxy",
            "npm_config_x",
            "NODE_OPTIONS",
            "CC_x86_64",
            "GIT_DIR",
            "MAKEFLAGS",
            "CC",
            "__X",
        ] {
            assert_eq!(class(name), VariableKind::Environment, "{name}");
        }
    }

    #[test]
    fn a_locale_must_be_one_that_reads_ascii_as_it_is() {
        for value in ["C", "POSIX", "C.UTF-8", "en_US.UTF-8", "de_DE.utf8"] {
            assert!(only_shows("LC_ALL", value), "{value}");
        }
        for value in [
            "zh_CN.gbk",
            "zh_TW.big5",
            "ja_JP.SJIS",
            "ja_JP",
            "zh_CN.gb18030",
            "",
            "x",
            "../x.UTF-8",
            "en_US",
        ] {
            assert!(!only_shows("LANG", value), "{value}");
        }
        assert!(only_shows("TERM", "dumb") && !only_shows("TERM", "/x") && !only_shows("FOO", "x"));
    }
}
