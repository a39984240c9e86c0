//! Names that need an explicit yes: to write what others will run or obey, to read what opens other doors. Pure.
//!
//! Both functions take an absolute path that is free of links. They go by names alone, whether or not anything stands
//! there: to create such a file is as dangerous as to change it.
//!
//! Ordinary project files on purpose, although a later step may run or obey them: `Makefile`, `package.json`,
//! `build.rs` and other sources, `.gitattributes` (it names filters, but only a git configuration defines them),
//! `.gitignore`, `CLAUDE.md` and `AGENTS.md`. To ask about each of them would be to ask about the work itself.

use super::access::Workspace;
use std::path::{Component, Path};

const OURS: &str = "it contains Ostler's own settings and records";
const OF_GIT: (&str, &str) = (".git", "git runs programs named in these files");

/// Directories that are guarded at every depth, with all that is below.
const FOLDERS: &[(&str, &str)] = &[
    OF_GIT,
    (".ostler", OURS),
    (".claude", "its settings start programs"),
    (".vscode", "editors run what its settings name"),
    (".idea", "editors run what its settings name"),
    (".husky", "git hooks in this directory run later"),
    (".githooks", "git hooks in this directory run later"),
    (".gitlab", "it decides what the build servers run"),
    (".circleci", "it decides what the build servers run"),
    (".buildkite", "it decides what the build servers run"),
    (".cursor", "editors run what its settings name"),
    (".zed", "editors run what its settings name"),
    (".devcontainer", "editors run what its settings name"),
    (".cargo", "cargo runs programs that its settings name"),
    (".direnv", "shells run its content"),
    (".yarn", "package managers run its content"),
    (".gemini", "another agent starts programs that its settings name"),
    (".codex", "another agent starts programs that its settings name"),
    (".continue", "another agent starts programs that its settings name"),
    (".opencode", "another agent starts programs that its settings name"),
    (".roo", "another agent starts programs that its settings name"),
    (".kiro", "another agent starts programs that its settings name"),
    (".augment", "another agent starts programs that its settings name"),
    (".amazonq", "another agent starts programs that its settings name"),
    (".junie", "another agent starts programs that its settings name"),
    (".trae", "another agent starts programs that its settings name"),
    (".qwen", "another agent starts programs that its settings name"),
    (".crush", "another agent starts programs that its settings name"),
    (".goose", "another agent starts programs that its settings name"),
    (".factory", "another agent starts programs that its settings name"),
    (".copilot", "another agent starts programs that its settings name"),
    (".tabnine", "another agent starts programs that its settings name"),
    (".fleet", "editors run what its settings name"),
    (".nova", "editors run what its settings name"),
    (".vim", "editors run what its settings name"),
    (".nvim", "editors run what its settings name"),
    (".emacs.d", "editors run what its settings name"),
    (".vs", "editors run what its settings name"),
    (".mvn", "maven runs what its settings name"),
    (".hg", "mercurial runs programs named in these files"),
    (".kilocode", "another agent starts programs that its settings name"),
    (".jj", "jujutsu runs programs named in these files"),
    (".svn", "subversion runs programs named in these files"),
    (".lefthook", "git hooks in this directory run later"),
    (".gitea", "it decides what the build servers run"),
    (".forgejo", "it decides what the build servers run"),
    (".woodpecker", "it decides what the build servers run"),
    (".semaphore", "it decides what the build servers run"),
    (".teamcity", "it decides what the build servers run"),
    (".bundle", "package managers run programs that its settings name"),
    (".autoenv", "shells run its content"),
];

/// Below `.github` only these; the rest are templates and texts.
const OF_GITHUB: [&str; 2] = ["workflows", "actions"];

/// Files that are guarded at every depth.
const FILES: &[(&str, &str)] = &[
    (".mcp.json", "it names programs that other programs start"),
    (".gitmodules", "git fetches what it names"),
    (".gitconfig", "git runs programs that it names"),
    (".envrc", "shells run it"),
    (".npmrc", "package managers run programs that it names"),
    (".pnpmfile.cjs", "package managers run it"),
    (".pre-commit-config.yaml", "git hooks run what it names"),
    (".pre-commit-config.yml", "git hooks run what it names"),
    (".overcommit.yml", "git hooks run what it names"),
    (".pypirc", "it decides who programs sign in as"),
    ("lefthook.yml", "git hooks run what it names"),
    ("lefthook.yaml", "git hooks run what it names"),
    (".lefthook.yml", "git hooks run what it names"),
    ("lefthook-local.yml", "git hooks run what it names"),
    (".gitlab-ci.yml", "it decides what the build servers run"),
    ("jenkinsfile", "it decides what the build servers run"),
    ("azure-pipelines.yml", "it decides what the build servers run"),
    (".travis.yml", "it decides what the build servers run"),
    (".drone.yml", "it decides what the build servers run"),
    ("bitbucket-pipelines.yml", "it decides what the build servers run"),
    (".bashrc", "shells run it"),
    (".bash_profile", "shells run it"),
    (".bash_login", "shells run it"),
    (".bash_logout", "shells run it"),
    (".bash_aliases", "shells run it"),
    (".profile", "shells run it"),
    (".zshrc", "shells run it"),
    (".zshenv", "shells run it"),
    (".zprofile", "shells run it"),
    (".zlogin", "shells run it"),
    (".zlogout", "shells run it"),
    ("config.fish", "shells run it"),
    (".inputrc", "shells read settings from it"),
    (".ripgreprc", "it changes what a search does"),
    (".claude.json", "its settings start programs"),
    (".wgetrc", "it changes where downloads go"),
    (".curlrc", "it changes where downloads go"),
    (".vimrc", "editors run it"),
    (".exrc", "editors run it"),
    (".nvimrc", "editors run it"),
    (".nvim.lua", "editors run it"),
    (".dir-locals.el", "editors run it"),
    ("mise.toml", "shells run what it names"),
    (".mise.toml", "shells run what it names"),
    (".tool-versions", "it decides which programs run"),
    ("opencode.json", "another agent starts programs that it names"),
    ("opencode.jsonc", "another agent starts programs that it names"),
    ("crush.json", "another agent starts programs that it names"),
    (".crush.json", "another agent starts programs that it names"),
    (".gdbinit", "debuggers run it"),
    (".lldbinit", "debuggers run it"),
    (".pdbrc", "debuggers run it"),
    (".autoenv.zsh", "shells run it"),
    (".env.fish", "shells run it"),
    (".irbrc", "the program it belongs to runs it"),
    (".pryrc", "the program it belongs to runs it"),
    (".rprofile", "the program it belongs to runs it"),
    (".octaverc", "the program it belongs to runs it"),
    (".psqlrc", "the program it belongs to runs it"),
    (".sqliterc", "the program it belongs to runs it"),
    (".duckdbrc", "the program it belongs to runs it"),
    (".my.cnf", "the program it belongs to runs it"),
    (".mongorc.js", "the program it belongs to runs it"),
    (".mongoshrc.js", "the program it belongs to runs it"),
    (".latexmkrc", "the program it belongs to runs it"),
    ("latexmkrc", "the program it belongs to runs it"),
    (".screenrc", "the program it belongs to runs it"),
    (".tmux.conf", "the program it belongs to runs it"),
    (".pythonrc", "the program it belongs to runs it"),
    (".ghci", "the program it belongs to runs it"),
    (".iex.exs", "the program it belongs to runs it"),
    (".emacs", "editors run it"),
    (".lvimrc", "editors run it"),
    (".local.vimrc", "editors run it"),
    ("_vimrc", "editors run it"),
    (".vimspector.json", "editors run programs that it names"),
    (".nanorc", "editors read settings from it"),
    (".devcontainer.json", "editors run what it names"),
    ("bunfig.toml", "package managers run programs that it names"),
    (".bunfig.toml", "package managers run programs that it names"),
    (".pnp.cjs", "package managers run it"),
    (".pnp.loader.mjs", "package managers run it"),
    (".bazelrc", "build tools run programs that it names"),
    (".bazeliskrc", "build tools run programs that it names"),
    (".buckconfig", "build tools run programs that it names"),
    (".woodpecker.yml", "it decides what the build servers run"),
    ("appveyor.yml", "it decides what the build servers run"),
    (".appveyor.yml", "it decides what the build servers run"),
    (".cirrus.yml", "it decides what the build servers run"),
    ("cloudbuild.yaml", "it decides what the build servers run"),
    ("buildspec.yml", "it decides what the build servers run"),
    (".gitlab-ci.yaml", "it decides what the build servers run"),
    ("azure-pipelines.yaml", "it decides what the build servers run"),
    (".netrc", "it decides who programs sign in as"),
];

/// Beginnings of names that are guarded at every depth, with all that is below.
const BEGINNINGS: &[(&str, &str)] = &[
    (".aider", "another agent follows it"),
    (".cline", "another agent follows it"),
    (".windsurf", "another agent follows it"),
    (".yarnrc", "package managers run programs that it names"),
];

/// Ends of the names of files that are guarded.
const ENDS: &[(&str, &str)] = &[
    (".code-workspace", "editors run what it names"),
    (".sublime-project", "editors run what it names"),
    (".sublime-workspace", "editors run what it names"),
];

/// Start-up places of the home directory, with all that is below.
const AT_HOME: [(&str, &str); 14] = [
    (".ssh", "it decides who may log in and what runs then"),
    (".gnupg", "it contains keys"),
    (".config/fish", "shells run its content"),
    (".config/git", "git runs programs named in these files"),
    (".config/autostart", "it runs at the next login"),
    (".config/systemd", "it runs at the next login"),
    (".config/environment.d", "it changes what programs run"),
    (".local/bin", "programs are found there"),
    ("bin", "programs are found there"),
    (".xprofile", "it runs at the next login"),
    (".xinitrc", "it runs at the next login"),
    (".xsessionrc", "it runs at the next login"),
    (".pam_environment", "it changes what programs run"),
    ("library/launchagents", "it runs at the next login"),
];

/// Why a write there needs an explicit yes, as the end of a sentence that names the path.
pub fn protected(path: &Path, workspace: &Workspace) -> Option<&'static str> {
    if workspace.is_ours(path) {
        return Some(OURS);
    }
    let names = folded(path);
    let is = |at: usize, name: &str| names.get(at).is_some_and(|found| found == name);
    // Whoever works in a directory below `.claude` or the like has chosen to; nobody works below `.git`.
    let chosen = |root: &&std::path::PathBuf| path.starts_with(root) && path != root.as_path();
    let root = workspace.roots.iter().filter(chosen).map(|root| folded(root).len()).max();
    let above = root.unwrap_or(0).saturating_sub(1);
    let (above, below) = names.split_at_checked(above).unwrap_or((&[], &names));
    let (git, why) = OF_GIT;
    if above.iter().any(|name| name == git || is_short_for(name, git)) {
        return Some(why);
    }
    for (at, name) in below.iter().enumerate() {
        let short = |plain: &str| is_short_for(name, plain);
        let guards = |folder: &str| name == folder || short(folder);
        let begins = BEGINNINGS.iter().find(|(start, _)| name.starts_with(start));
        if let Some((_, why)) = FOLDERS.iter().find(|(folder, _)| guards(folder)).or(begins) {
            return Some(why);
        }
        if guards(".github") && below.get(at + 1).is_none_or(|next| is_of_github(next)) {
            return Some("it decides what the build servers run");
        }
    }
    let last = names.len().checked_sub(1)?;
    let name = names.get(last)?;
    if let Some((_, why)) = FILES.iter().find(|(file, _)| name == file) {
        return Some(why);
    }
    if let Some((_, why)) = ENDS.iter().find(|(end, _)| name.ends_with(end)) {
        return Some(why);
    }
    let in_config = last > 0 && is(last - 1, "config");
    if in_config && ["permissions.yaml", "permissions.yml"].contains(&name.as_str()) {
        return Some("it decides what runs without asking");
    }
    below_home(&names, workspace, &AT_HOME)
}

fn is_of_github(name: &str) -> bool {
    OF_GITHUB.iter().any(|of| name == *of || is_short_for(name, of))
}

/// Places of the home directory whose content opens other doors, with all that is below.
const SECRETS: [(&str, &str); 46] = [
    (".ssh", "it contains keys"),
    (".gnupg", "it contains keys"),
    (".aws", "it contains cloud access keys"),
    (".azure", "it contains cloud access keys"),
    (".config/gcloud", "it contains cloud access keys"),
    (".config/doctl", "it contains cloud access keys"),
    (".oci", "it contains cloud access keys"),
    (".terraform.d", "it contains cloud access keys"),
    (".terraformrc", "it contains cloud access keys"),
    (".kube", "it contains cluster access keys"),
    (".docker/config.json", "it contains passwords"),
    (".config/containers/auth.json", "it contains passwords"),
    (".netrc", "it contains passwords"),
    ("_netrc", "it contains passwords"),
    (".pgpass", "it contains passwords"),
    (".my.cnf", "it contains passwords"),
    (".npmrc", "it contains access keys"),
    (".pypirc", "it contains access keys"),
    (".gem/credentials", "it contains access keys"),
    (".m2/settings.xml", "it contains passwords"),
    (".gradle/gradle.properties", "it contains passwords"),
    (".config/gh", "it contains access keys"),
    (".config/glab-cli", "it contains access keys"),
    (".config/hub", "it contains access keys"),
    (".git-credentials", "it contains passwords"),
    (".config/git/credentials", "it contains passwords"),
    (".password-store", "it contains passwords"),
    (".local/share/keyrings", "it contains passwords"),
    (".local/share/kwalletd", "it contains passwords"),
    (".config/op", "it contains passwords"),
    (".config/bitwarden", "it contains passwords"),
    (".mozilla", "it is a browser profile"),
    (".thunderbird", "it contains mail and passwords"),
    (".config/google-chrome", "it is a browser profile"),
    (".config/chromium", "it is a browser profile"),
    (".config/bravesoftware", "it is a browser profile"),
    (".config/microsoft-edge", "it is a browser profile"),
    (".config/vivaldi", "it is a browser profile"),
    (".config/opera", "it is a browser profile"),
    ("snap/firefox", "it is a browser profile"),
    (".var/app", "it contains profiles of programs"),
    ("library/application support", "it contains profiles of programs"),
    ("library/keychains", "it contains passwords"),
    (".ostler", OURS),
    (".claude/.credentials.json", "it contains access keys"),
    (".claude.json", "it contains access keys"),
];

/// Histories of shells and programs hold what was typed, passwords included.
const HISTORIES: [&str; 12] = [
    ".bash_history",
    ".zsh_history",
    ".histfile",
    ".sh_history",
    ".history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    "fish_history",
];

/// Of a process: its environment, its memory, and ways into what it has open.
const OF_A_PROCESS: [&str; 9] =
    ["environ", "mem", "root", "cwd", "fd", "fdinfo", "map_files", "auxv", "exe"];

const OF_THE_MACHINE: [&str; 4] = ["mem", "kmem", "port", "kcore"];
const OF_ACCOUNTS: [&str; 5] = ["shadow", "shadow-", "gshadow", "gshadow-", "sudoers"];

/// Why reading it needs an explicit yes, wherever the workspace is. As the end of a sentence that names the path.
pub fn sensitive(path: &Path, workspace: &Workspace) -> Option<&'static str> {
    let shown_anyway = || workspace.readable.iter().any(|folder| path.starts_with(folder));
    if workspace.is_ours(path) && !shown_anyway() {
        return Some(OURS);
    }
    let names = folded(path);
    let name = names.last()?;
    if names.first().is_some_and(|first| first == "proc") && is_of_a_process(&names) {
        return Some("it shows another program's data");
    }
    let only = |top: &str| names.len() == 2 && names.first().is_some_and(|first| first == top);
    if (only("dev") || only("proc")) && OF_THE_MACHINE.contains(&name.as_str()) {
        return Some("it shows the memory of the machine");
    }
    if only("etc") && OF_ACCOUNTS.contains(&name.as_str()) {
        return Some("it contains passwords");
    }
    if HISTORIES.contains(&name.as_str()) {
        return Some("it contains what was typed, including passwords");
    }
    let cargo = names.len() > 1 && names.get(names.len() - 2).is_some_and(|at| at == ".cargo");
    if cargo && name.starts_with("credentials") {
        return Some("it contains access keys");
    }
    let is_in_tree = workspace.isolated && workspace.contains(path);
    below_home(&names, workspace, &SECRETS).filter(|why| !(is_in_tree && *why == OURS))
}

/// Where secrets lie below a home directory, for those who hide them as a whole.
pub fn secrets(home: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let below = SECRETS.iter().map(|(name, _)| *name).chain(HISTORIES);
    below.chain([".cargo/credentials", ".cargo/credentials.toml"]).map(|name| home.join(name))
}

/// `/proc/1/mem`, `/proc/self/task/1/environ`.
fn is_of_a_process(names: &[String]) -> bool {
    let is_process = |name: &String| {
        name == "self" || name == "thread-self" || name.bytes().all(|byte| byte.is_ascii_digit())
    };
    names.get(1).is_some_and(is_process)
        && names.iter().skip(2).any(|name| OF_A_PROCESS.contains(&name.as_str()))
}

/// The first of the places of the home directory that is the path or above it.
fn below_home(
    names: &[String],
    workspace: &Workspace,
    places: &[(&str, &'static str)],
) -> Option<&'static str> {
    workspace.home.parent()?;
    let below = names.strip_prefix(folded(&workspace.home).as_slice())?;
    let covers = |place: &str| {
        let parts: Vec<&str> = place.split('/').collect();
        parts.len() <= below.len() && parts.iter().zip(below).all(|(part, name)| part == name)
    };
    places.iter().find(|(place, _)| covers(place)).map(|(_, why)| *why)
}

/// Names as the most lenient file system would compare them: without case, without code points that are not shown,
/// without dots and blanks at the end, without a stream behind a colon.
fn folded(path: &Path) -> Vec<String> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    names.map(|name| fold(&name)).collect()
}

fn fold(name: &str) -> String {
    // Full folding of the two letters outside ASCII that become ASCII ones: the long s and the Kelvin sign.
    let plain = |c: char| match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        other => other,
    };
    let shown: String = name
        .chars()
        .filter(|c| !is_ignorable(*c))
        .map(plain)
        .flat_map(char::to_lowercase)
        .collect();
    let stem = shown.split_once(':').map_or(shown.as_str(), |(stem, _)| stem);
    let trimmed = stem.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { shown } else { trimmed.to_owned() }
}

/// Code points that some file systems leave out when they compare names, and that no reader sees.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// `git~1` stands for `.git` where names have a short form: up to six letters of it, a tilde and a number.
fn is_short_for(name: &str, plain: &str) -> bool {
    let Some((stem, number)) = name.split_once('~') else { return false };
    let letters: String = plain.chars().filter(|c| c.is_ascii_alphanumeric()).take(6).collect();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let stem = stem.trim_start_matches('.');
    is_number && !stem.is_empty() && letters == stem
}

#[cfg(test)]
#[path = "guarded_names_tests.rs"]
mod tests;
