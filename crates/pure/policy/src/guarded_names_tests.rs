use super::*;
use proptest::prelude::*;

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        home: "/home/dev".into(),
        tools: crate::test_tools::tools(),
        ..Workspace::default()
    }
}

fn is_protected(path: &str) -> bool {
    protected(Path::new(path), &workspace()).is_some()
}

fn is_sensitive(path: &str) -> bool {
    sensitive(Path::new(path), &workspace()).is_some()
}

#[test]
fn a_worktree_of_the_agent_is_its_own_and_the_rest_of_our_directory_is_not() {
    let tree = "/home/dev/.ostler/worktrees/p/t";
    let of = |isolated: bool| Workspace {
        cwd: tree.into(),
        roots: vec![tree.into()],
        ours: vec!["/home/dev/.ostler".into()],
        isolated,
        ..workspace()
    };
    let guarded = |name: &str, isolated: bool| {
        let path = Path::new("/home/dev/.ostler").join(name);
        let workspace = of(isolated);
        (protected(&path, &workspace).is_some(), sensitive(&path, &workspace).is_some())
    };
    assert_eq!(guarded("worktrees/p/t/src/x", true), (false, false));
    assert_eq!(guarded("worktrees/p/t/src/x", false), (true, true));
    assert_eq!(guarded("worktrees/p/t/.git", true), (true, false));
    for other in ["worktrees/p/other/x", "worktrees/p/.records/t.json", "trust.json"] {
        assert_eq!(guarded(other, true), (true, true), "{other}");
    }
}

#[test]
fn writes_that_need_a_yes() {
    for path in [
        "/ws/.git",
        "/ws/.git/config",
        "/ws/.git/hooks/post-checkout",
        "/ws/sub/deep/.git",
        "/ws/sub/.GIT/config",
        "/ws/.gIt/x",
        "/ws/.g\u{200c}it/config",
        "/ws/.git\u{200c}/config",
        "/ws/\u{feff}.git/config",
        "/ws/.git./config",
        "/ws/.git /config",
        "/ws/.git. ./config",
        "/ws/.git::$INDEX_ALLOCATION/config",
        "/ws/.git:x/config",
        "/ws/git~1/config",
        "/ws/GIT~1/config",
        "/ws/.git~1/config",
        "/ws/git~12",
        "/ws/ostler~1/settings.json",
        "/ws/.ostler/permissions.yaml",
        "/home/dev/.ostler/settings.json",
        "/elsewhere/.ostler/x",
        "/ws/.claude/settings.local.json",
        "/ws/.\u{17f}sh/../.o\u{17f}tler/x",
        "/ws/.vscode/settings.json",
        "/ws/.idea/workspace.xml",
        "/ws/.husky/pre-commit",
        "/ws/.github/workflows/ci.yml",
        "/ws/.github/actions/a/action.yml",
        "/ws/.GitHub/Workflows/ci.yml",
        "/ws/.github",
        "/ws/github~1/workfl~1/ci.yml",
        "/ws/.gitlab/x",
        "/ws/.circleci/config.yml",
        "/ws/.devcontainer/devcontainer.json",
        "/ws/crates/a/.cargo/config.toml",
        "/ws/.cursor/mcp.json",
        "/ws/sub/.zed/tasks.json",
        "/ws/.windsurf",
        "/ws/.windsurf/mcp.json",
        "/ws/.windsurfrules",
        "/ws/.gemini/settings.json",
        "/ws/sub/.codex/config.toml",
        "/ws/.continue/config.json",
        "/ws/opencode.json",
        "/ws/.opencode/agent/x.md",
        "/ws/.roo/mcp.json",
        "/ws/.clinerules",
        "/ws/.cline/x",
        "/ws/.aider.conf.yml",
        "/ws/.kiro/settings/mcp.json",
        "/ws/.mvn/extensions.xml",
        "/ws/.gdbinit",
        "/ws/sub/.lldbinit",
        "/ws/.pdbrc",
        "/ws/.hg/hgrc",
        "/ws/.emacs.d/init.el",
        "/ws/x.sublime-project",
        "/ws/.bazelrc",
        "/ws/.psqlrc",
        "/ws/.autoenv",
        "/ws/bunfig.toml",
        "/ws/.gitea/workflows/x.yml",
        "/ws/.exrc",
        "/ws/sub/.nvimrc",
        "/ws/.nvim.lua",
        "/ws/.dir-locals.el",
        "/ws/app.code-workspace",
        "/ws/App.Code-Workspace",
        "/ws/mise.toml",
        "/ws/.mise.toml",
        "/ws/.tool-versions",
        "/ws/.mcp.json",
        "/ws/.MCP.json",
        "/ws/sub/.gitmodules",
        "/ws/.envrc",
        "/ws/.npmrc",
        "/ws/.yarnrc",
        "/ws/.yarnrc.yml",
        "/ws/.pre-commit-config.yaml",
        "/ws/.gitlab-ci.yml",
        "/ws/Jenkinsfile",
        "/ws/jenkinsfile",
        "/ws/azure-pipelines.yml",
        "/ws/.travis.yml",
        "/ws/lefthook.yml",
        "/ws/.bashrc",
        "/home/dev/.bash_profile",
        "/home/dev/.bash_login",
        "/home/dev/.profile",
        "/home/dev/.zshrc",
        "/home/dev/.zshenv",
        "/home/dev/.zprofile",
        "/home/dev/.zlogin",
        "/home/dev/.config/fish/config.fish",
        "/home/dev/.config/fish/functions/ls.fish",
        "/home/dev/.inputrc",
        "/home/dev/.gitconfig",
        "/home/dev/.config/git/config",
        "/home/dev/.ripgreprc",
        "/home/dev/.ssh/authorized_keys",
        "/home/dev/.config/autostart/x.desktop",
        "/home/dev/.local/bin/ls",
        "/home/DEV/.ssh/rc",
        "/ws/config/permissions.yaml",
        "/ws/Config/Permissions.YAML",
    ] {
        assert!(is_protected(path), "{path}");
    }
}

#[test]
fn ordinary_writes() {
    for path in [
        "/",
        "/ws",
        "/ws/a",
        "/ws/.gitattributes",
        "/ws/.gitignore",
        "/ws/.gitkeep",
        "/ws/CLAUDE.md",
        "/ws/AGENTS.md",
        "/ws/Makefile",
        "/ws/package.json",
        "/ws/git/config",
        "/ws/git",
        "/ws/.git2/config",
        "/ws/my.git/config",
        "/ws/a~1",
        "/ws/git~x",
        "/ws/gitx~1",
        "/ws/~1",
        "/ws/backup~",
        "/ws/github/workflows/ci.yml",
        "/ws/.github/ISSUE_TEMPLATE/bug.md",
        "/ws/.github/CODEOWNERS",
        "/ws/workflows/ci.yml",
        "/ws/claude/settings.json",
        "/ws/settings.json",
        "/ws/permissions.yaml",
        "/ws/config/permissions.rs",
        "/ws/cargo/config.toml",
        "/ws/Cargo.toml",
        "/ws/profile",
        "/ws/npmrc",
        "/ws/bin/x",
        "/ws/.ssh/config",
        "/ws/bare/HEAD",
        "/ws/.env",
        "/home/developer/.ssh/x",
        "/home/dev/src/bin/x",
        "/ws/...three",
        "/ws/-rf",
    ] {
        assert!(!is_protected(path), "{path}: {:?}", protected(Path::new(path), &workspace()));
    }
}

#[test]
fn reads_that_need_a_yes() {
    for path in [
        "/home/dev/.ssh",
        "/home/dev/.ssh/id_rsa",
        "/home/dev/.SSH/id_rsa",
        "/home/dev/.gnupg/secring.gpg",
        "/home/dev/.aws/credentials",
        "/home/dev/.azure/x",
        "/home/dev/.config/gcloud/x",
        "/home/dev/.kube/config",
        "/home/dev/.docker/config.json",
        "/home/dev/.netrc",
        "/home/dev/.npmrc",
        "/home/dev/.pypirc",
        "/home/dev/.cargo/credentials",
        "/home/dev/.cargo/credentials.toml",
        "/home/dev/.config/gh/hosts.yml",
        "/home/dev/.git-credentials",
        "/home/dev/.mozilla/firefox/x/logins.json",
        "/home/dev/.config/google-chrome/Default/Cookies",
        "/home/dev/.config/chromium/x",
        "/home/dev/.config/BraveSoftware/x",
        "/home/dev/Library/Application Support/Google/Chrome/x",
        "/home/dev/.local/share/keyrings/login.keyring",
        "/home/dev/.ostler/sessions/x",
        "/home/dev/.claude/.credentials.json",
        "/home/dev/.claude.json",
        "/home/dev/.bash_history",
        "/home/dev/.zsh_history",
        "/home/dev/.local/share/fish/fish_history",
        "/root/.bash_history",
        "/proc/1/environ",
        "/proc/123/mem",
        "/proc/123/root/etc/passwd",
        "/proc/self/environ",
        "/proc/self/fd/3",
        "/proc/1/task/1/environ",
        "/proc/kcore",
        "/dev/mem",
        "/etc/shadow",
    ] {
        assert!(is_sensitive(path), "{path}");
    }
}

#[test]
fn ordinary_reads() {
    for path in [
        "/",
        "/ws/a",
        "/ws/.git/config",
        "/ws/.env",
        "/ws/.npmrc",
        "/ws/.ssh/x",
        "/ws/environ",
        "/ws/proc/1/environ",
        "/etc/passwd",
        "/proc/cpuinfo",
        "/proc/1/status",
        "/proc/sys/kernel/mem",
        "/home/dev",
        "/home/dev/.sshd",
        "/home/dev/.docker/x",
        "/home/dev/.config/ghostty/config",
        "/home/dev/.claude/settings.json",
        "/home/dev/src/.aws/x",
        "/home/other/.ssh/id_rsa",
        "/dev/null",
    ] {
        assert!(!is_sensitive(path), "{path}: {:?}", sensitive(Path::new(path), &workspace()));
    }
}

#[test]
fn a_home_that_is_not_known_guards_nothing_by_itself() {
    for home in ["", "/"] {
        let workspace = Workspace { home: home.into(), ..workspace() };
        assert_eq!(sensitive(Path::new("/.ssh/x"), &workspace), None, "{home}");
        assert_eq!(protected(Path::new("/bin/x"), &workspace), None, "{home}");
        assert!(protected(Path::new("/.git/x"), &workspace).is_some(), "{home}");
    }
}

/// Any spelling of case, with something unseen anywhere.
fn spelled(name: String) -> impl Strategy<Value = String> {
    let hidden =
        prop::sample::select(vec!["", "", "", "\u{200c}", "\u{200d}", "\u{feff}", "\u{2060}"]);
    let each = (any::<bool>(), hidden);
    prop::collection::vec(each, name.chars().count()).prop_map(move |marks| {
        let letters = name.chars().zip(marks).map(|(c, (upper, hidden))| {
            let c = if upper { c.to_ascii_uppercase() } else { c };
            format!("{c}{hidden}")
        });
        letters.collect()
    })
}

proptest! {
    #[test]
    fn guarded_at_every_depth_and_in_every_spelling(
        above in prop::collection::vec("[a-z]{1,4}", 0..5),
        below in prop::collection::vec("[a-z]{1,4}", 0..3),
        end in prop::sample::select(vec!["", ".", " ", ". ."]),
        name in prop::sample::select(FOLDERS.to_vec()).prop_flat_map(|(name, _)| spelled(name.into())),
        file in prop::sample::select(FILES.to_vec()).prop_flat_map(|(name, _)| spelled(name.into())),
    ) {
        let above = above.join("/");
        let folder = format!("/ws/{above}/{name}{end}/{}", below.join("/"));
        prop_assert!(is_protected(&folder), "{folder:?}");
        let file = format!("/ws/{above}/{file}{end}");
        prop_assert!(is_protected(&file), "{file:?}");
    }

    #[test]
    fn secrets_with_all_that_is_below(
        below in prop::collection::vec("[a-z]{1,4}", 0..3),
        name in prop::sample::select(SECRETS.to_vec()).prop_flat_map(|(name, _)| spelled(name.into())),
    ) {
        let path = format!("/home/dev/{name}/{}", below.join("/"));
        prop_assert!(is_sensitive(&path), "{path:?}");
        // The home of the path counts, not any directory that ends alike.
        let other = format!("/home/dev/x/{name}");
        prop_assert!(!is_sensitive(&other), "{other:?}");
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(&bytes));
        let _ = (protected(path, &workspace()), sensitive(path, &workspace()));
    }
}

/// A worktree that somebody put below `.claude` is a directory to work in; a settings directory is not, even if it is
/// the root.
#[test]
fn what_lies_above_the_root_was_chosen() {
    let of = |root: &str, path: &str| {
        let workspace = Workspace { roots: vec![root.into()], ..Workspace::default() };
        protected(Path::new(path), &workspace).is_some()
    };
    assert!(!of("/p/.claude/worktrees/a", "/p/.claude/worktrees/a/src/x.rs"));
    assert!(of("/p/.claude/worktrees/a", "/p/.claude/worktrees/a/.claude/x"));
    assert!(of("/p/.claude/worktrees/a", "/p/.claude/settings.json"));
    assert!(of("/p/.claude", "/p/.claude/settings.json"));
    assert!(of("/p/.git/x", "/p/.git/x/y"));
}

#[test]
fn our_own_folder_is_guarded_wherever_it_is() {
    let workspace = Workspace {
        roots: vec!["/p".into()],
        readable: vec!["/p/state/spills/s".into()],
        ours: vec!["/p/state".into()],
        ..Workspace::default()
    };
    let (write, read) = (
        |path: &str| protected(Path::new(path), &workspace).is_some(),
        |path: &str| sensitive(Path::new(path), &workspace).is_some(),
    );
    assert!(write("/p/state/settings.json") && read("/p/state/trust.json") && write("/p/state"));
    assert!(!read("/p/state/spills/s/x") && write("/p/state/spills/s/x"));
    assert!(!write("/p/states/x") && !read("/p/src/x"));
}

#[test]
fn what_is_hidden_as_a_whole_is_what_asks_one_by_one() {
    let all: Vec<_> = secrets(Path::new("/home/dev")).collect();
    assert!(all.iter().all(|path| sensitive(path, &workspace()).is_some()));
    assert!(all.contains(&"/home/dev/.ssh".into()) && all.contains(&"/home/dev/.ostler".into()));
}
