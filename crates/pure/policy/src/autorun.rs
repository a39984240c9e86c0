//! Files that other programs run or obey for the user: in an editor, a shell, at a commit or an installation. Pure.
//!
//! The names are those that need a yes before they are written ([`guarded_names::protected`]); this adds what happens to the
//! best known of them, so that a person who reads it can judge whether it matters.

use super::access::Workspace;
use super::guarded_names;
use std::path::Path;

/// By the end of the path, the longest first. A name that ends with a slash means everything below it.
const WORDS: [(&str, &str); 35] = [
    (".envrc", "direnv runs it when you enter the directory"),
    (".vscode/tasks.json", "VS Code runs its tasks"),
    (".vscode/launch.json", "VS Code starts what it names when you debug"),
    (".vscode/settings.json", "VS Code runs programs that it names"),
    (".vscode/extensions/", "VS Code can load it"),
    (".idea/runconfigurations/", "IDEs start what it names"),
    (".devcontainer/", "editors build and start containers from it"),
    (".devcontainer.json", "editors build and start containers from it"),
    (".husky/", "git runs it as a hook"),
    (".githooks/", "git runs it as a hook"),
    (".pre-commit-config.yaml", "pre-commit runs what it names at each commit"),
    ("lefthook.yml", "lefthook runs what it names at each commit"),
    (".github/workflows/", "GitHub runs it after a push"),
    (".github/actions/", "GitHub runs it after a push"),
    (".gitlab-ci.yml", "GitLab runs it after a push"),
    (".circleci/", "CircleCI runs it after a push"),
    (".mcp.json", "coding agents start the servers that it names"),
    (".claude/", "coding agents run hooks and commands from it"),
    (".ostler/", "Ostler reads rules, settings and hooks from it"),
    (".codex/", "coding agents run hooks and commands from it"),
    (".gemini/", "coding agents run hooks and commands from it"),
    (".cursor/", "coding agents run hooks and commands from it"),
    (".continue/", "coding agents run hooks and commands from it"),
    (".roo/", "coding agents run hooks and commands from it"),
    ("opencode.json", "coding agents start the servers that it names"),
    (".npmrc", "npm runs programs that it names"),
    (".pnpmfile.cjs", "pnpm runs it at each installation"),
    (".cargo/config.toml", "cargo runs programs that it names"),
    (".cargo/config", "cargo runs programs that it names"),
    (".mvn/", "Maven loads extensions and options from it"),
    (".gdbinit", "gdb runs it when it starts in the directory"),
    (".lldbinit", "lldb runs it when it starts in the directory"),
    (".vimrc", "vim runs it when it starts in the directory"),
    (".exrc", "vim runs it when it starts in the directory"),
    (".nvim.lua", "Neovim runs it when it starts in the directory"),
];

/// What runs or obeys the file later, as the end of a sentence that names the path. The path is absolute and free of links.
pub fn autorun(path: &Path, workspace: &Workspace) -> Option<&'static str> {
    let root = workspace.roots.iter().filter(|root| path.starts_with(root)).max();
    let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
    let text = format!("/{}", below.to_string_lossy().to_lowercase());
    let is = |name: &str| match name.strip_suffix('/') {
        Some(folder) => text.contains(&format!("/{folder}/")),
        None => text.ends_with(&format!("/{name}")),
    };
    let known = WORDS.iter().find(|(name, _)| is(name)).map(|(_, words)| *words);
    known.or_else(|| guarded_names::protected(path, workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_later_is_known_with_its_runner() {
        let workspace = Workspace {
            cwd: "/ws".into(),
            roots: vec!["/ws".into()],
            home: "/home/u".into(),
            ..Workspace::default()
        };
        for (path, expected) in [
            ("/ws/.envrc", Some("direnv")),
            ("/ws/deep/.envrc", Some("direnv")),
            ("/ws/.VSCODE/Tasks.json", Some("VS Code")),
            ("/ws/.idea/runConfigurations/x.xml", Some("IDEs")),
            ("/ws/.husky/pre-commit", Some("as a hook")),
            ("/ws/.github/workflows/ci.yml", Some("after a push")),
            ("/ws/.mcp.json", Some("servers")),
            ("/ws/.claude/settings.json", Some("coding agents")),
            ("/ws/.codex/config.toml", Some("coding agents")),
            ("/ws/.mvn/extensions.xml", Some("Maven")),
            ("/ws/.gdbinit", Some("gdb")),
            ("/ws/.cargo/config.toml", Some("cargo")),
            // By the list of names that need a yes.
            ("/ws/.bashrc", Some("shells run it")),
            ("/ws/Jenkinsfile", Some("build servers")),
            ("/ws/.yarnrc.yml", Some("package managers")),
            ("/ws/x.code-workspace", Some("editors")),
            ("/ws/.github/ISSUE_TEMPLATE.md", None),
            ("/ws/src/main.rs", None),
            ("/ws/Makefile", None),
            ("/ws/envrc", None),
            ("/ws/my.envrc", None),
            ("/ws/.claude.md", None),
        ] {
            let found = autorun(Path::new(path), &workspace);
            match expected {
                Some(words) => {
                    assert!(found.is_some_and(|f| f.contains(words)), "{path} {found:?}")
                }
                None => assert_eq!(found, None, "{path}"),
            }
        }
    }

    /// A project below such a name is not all of it.
    #[test]
    fn what_is_above_the_root_does_not_count() {
        let root = Path::new("/home/u/.claude/work");
        let workspace =
            Workspace { cwd: root.into(), roots: vec![root.into()], ..Workspace::default() };
        assert_eq!(autorun(&root.join("src/a.rs"), &workspace), None);
        assert!(autorun(&root.join(".envrc"), &workspace).is_some());
    }
}
