use super::*;

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
    assert_eq!(found("ws/sub/deep", "ws/sub"), Err(Doubt::Outside));
    assert_eq!(found("ws/.git/refs", "ws"), Err(Doubt::NotPlain));
    fs::write(root.join("ws/.git/config"), "[filter \"x\"]\n").unwrap();
    assert_eq!(found("ws/sub", "ws"), Err(Doubt::Config));
    fs::write(root.join("ws/.git/HEAD"), "nowhere\n").unwrap();
    assert_eq!(found("ws/sub", "ws"), Err(Doubt::NotPlain));
}
