use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn plain_configurations() {
    for text in [
        "",
        "\n\n",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
        "[core]\r\n\tbare = false\r\n[user]\r\n\tname = Jürgen\r\n",
        "\u{feff}[core]\n\tbare = false\n",
        "[remote \"origin\"]\n\turl = git@host:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        // Switched off for proved commands, and none of them runs a hook.
        "[core]\n\thooksPath = .husky\n",
        "[branch \"feature/filter\"]\n\tremote = origin\n",
        "[alias]\n\tx = log [filter \"x\"]\n",
        "# [filter \"x\"]\n; [include]\n",
        "[core] bare = false # [filter]\n",
        "[extensions]\n\tobjectFormat = sha256\n\tworktreeConfig = true\n",
        "[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://h/x\"]\n\taccess = basic\n",
        "[diff \"x\"]\n\ttextconv = y\n",
        "[user]\n\tname\n",
        "[user]\n\tworktree = x\n",
    ] {
        assert!(config_is_plain(text.as_bytes()), "{text:?}");
    }
}

#[test]
fn configurations_in_doubt() {
    for text in [
        "[filter \"x\"]\n\tclean = y\n",
        "[FILTER \"x\"]\n",
        "[filter.x]\n\tclean = y\n",
        "[Filter.X]clean=y",
        "\t [filter\t\"x\" ]\n",
        "[ filter \"x\"]\n",
        " [ include ]\n",
        "[include]\r\n\tpath = x\r\n",
        "\u{feff}[include]\n\tpath = x\n",
        "[includeIf \"gitdir:/\"]\n\tpath = x\n",
        "[core][filter \"x\"] clean = y\n",
        "[core] [user] [include] path = y\n",
        "[a \"]\"] [filter \"x\"]\n",
        "[a \"\\\"\"] [filter \"x\"]\n",
        "[a]\n\tb = c \\\n[filter \"x\"]\n",
        "[a]\n\tb = c \\\r\n[filter \"x\"]\n",
        "[core]\n\tfsmonitor = x\n",
        "[CORE]\n\tFsMonitor=x\n",
        "[core]\n\tattributesFile = x\n",
        "[core]\n\tsshCommand = x\n",
        "[core]\n\tgitProxy = x\n",
        "[core]\n\tworktree = x\n",
        "[core]\n\tbare = false\n\tworktree = x\n",
        "[extensions]\n\tsomethingNew = x\n",
        "[lfs \"extension.x\"]\n\tclean = y\n",
        "[a]\r[filter \"x\"]\n",
        "[a]\n\u{b}[filter \"x\"]\n",
        "[a]\n\u{a0}[filter \"x\"]\n",
        "[a]\n\u{feff}[filter \"x\"]\n",
        "[a]\n\0\n",
        "[a\n",
        "[a \"b]\n",
        "[]\n",
        "[a]\n= b\n",
        "[a]\nb/c = d\n",
    ] {
        assert!(!config_is_plain(text.as_bytes()), "{text:?}");
    }
    assert!(!config_is_plain(b"[a]\n\tb = \xff\n"));
}

#[test]
fn heads_that_git_accepts() {
    let (short, long) = ("a".repeat(40), "0".repeat(64));
    for (head, expected) in [
        ("ref: refs/heads/main\n", true),
        ("ref:refs/heads/main", true),
        (short.as_str(), true),
        (long.as_str(), true),
        ("ref: ../x\n", false),
        ("", false),
        ("main\n", false),
    ] {
        assert_eq!(is_head(head.as_bytes()), expected, "{head}");
    }
}

#[test]
fn a_large_configuration_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    let size = usize::try_from(MAX_CONFIG).unwrap();
    fs::write(&path, "#".repeat(size)).unwrap();
    assert!(read(&path).is_ok());
    fs::write(&path, "#".repeat(size + 1)).unwrap();
    assert_eq!(read(&path), Err(Doubt::Config));
}

#[test]
fn the_repository_of_a_folder_above_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["ws/sub/deep", "ws/.git/objects", "ws/.git/refs"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("ws/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let found = |cwd: &str, of: &str| {
        let (cwd, roots) = (root.join(cwd), vec![root.join(of)]);
        repository(&cwd, &Workspace { roots, ..Workspace::default() })
    };
    assert_eq!(found("ws/sub/deep", "ws"), Ok(Some(root.join("ws"))));
    // The root is a part of it, and both belong to the same user.
    assert_eq!(found("ws/sub/deep", "ws/sub"), Ok(Some(root.join("ws"))));
    assert_eq!(found("ws/.git/refs", "ws"), Err(Doubt::NotPlain));
    // From a directory outside of the roots it is a strange one.
    assert_eq!(found("ws", "ws/sub"), Err(Doubt::Outside));
    for open in ["ws", "ws/.git"] {
        let all = fs::Permissions::from_mode(0o777);
        fs::set_permissions(root.join(open), all).unwrap();
        assert_eq!(found("ws/sub/deep", "ws/sub"), Err(Doubt::Outside), "{open}");
        assert_eq!(found("ws/sub/deep", "ws"), Ok(Some(root.join("ws"))), "{open}");
        fs::set_permissions(root.join(open), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(root.join("ws/.git/config"), "[filter \"x\"]\n").unwrap();
    assert_eq!(found("ws/sub", "ws"), Err(Doubt::Config));
    assert_eq!(found("ws/sub/deep", "ws/sub"), Err(Doubt::Config));
    fs::write(root.join("ws/.git/HEAD"), "nowhere\n").unwrap();
    assert_eq!(found("ws/sub", "ws"), Err(Doubt::NotPlain));
}

/// As `git worktree add` makes one: `main/.git/worktrees/w` and `w/.git` lead to each other.
#[test]
fn a_linked_worktree_that_its_repository_knows_is_plain() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let write = |path: &str, text: &str| fs::write(root.join(path), text).unwrap();
    for folder in ["main/.git/objects", "main/.git/refs", "main/.git/worktrees/w", "w/sub", "x"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let own = root.join("main/.git/worktrees/w");
    let link = format!("gitdir: {}\n", own.display());
    let back = format!("{}\n", root.join("w/.git").display());
    write("main/.git/HEAD", "ref: refs/heads/main\n");
    write("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    write("main/.git/worktrees/w/commondir", "../..\n");
    write("main/.git/worktrees/w/gitdir", &back);
    write("w/.git", &link);
    let found = |cwd: &str, of: &str| {
        let roots = vec![root.join(of)];
        repository(&root.join(cwd), &Workspace { roots, ..Workspace::default() })
    };
    assert_eq!(found("w", "w"), Ok(Some(root.join("w"))));
    assert_eq!(found("w/sub", "w/sub"), Ok(Some(root.join("w"))));
    // A file that leads to a repository which does not know it.
    write("x/.git", &link);
    assert_eq!(found("x", "x"), Err(Doubt::NotPlain));
    for (path, wrong) in [
        ("main/.git/worktrees/w/gitdir", "/elsewhere/.git\n"),
        ("main/.git/worktrees/w/commondir", "../../..\n"),
        ("main/.git/worktrees/w/HEAD", "nowhere\n"),
        ("main/.git/HEAD", "nowhere\n"),
        ("w/.git", "gitdir: ../main/.git\n"),
        ("w/.git", "nowhere\n"),
    ] {
        let before = fs::read_to_string(root.join(path)).unwrap();
        write(path, wrong);
        assert_eq!(found("w", "w"), Err(Doubt::NotPlain), "{path}");
        write(path, &before);
    }
    for path in
        ["main/.git/config", "main/.git/config.worktree", "main/.git/worktrees/w/config.worktree"]
    {
        write(path, "[core]\n\tfsmonitor = ./evil\n");
        assert_eq!(found("w", "w"), Err(Doubt::Config), "{path}");
        fs::remove_file(root.join(path)).unwrap();
    }
    assert_eq!(found("w", "w"), Ok(Some(root.join("w"))));
    fs::create_dir(root.join("main/.git/objects/info")).unwrap();
    write("main/.git/objects/info/alternates", "/elsewhere\n");
    assert_eq!(found("w", "w"), Err(Doubt::NotPlain));
}
