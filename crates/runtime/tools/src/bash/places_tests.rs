use super::super::environment::DEFAULT_PATH;
use super::*;
use ostler_core::permission::Workspace;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

/// A workspace, a directory beside it and a home; links between them. Around all of them, outside the workspace, a
/// repository.
fn scene() -> (tempfile::TempDir, PathBuf, Files) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for folder in ["ws/src/deep", "ws/repo/sub", "out/sub", "home/.ssh", "ws/bare/x", ".git"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    for file in ["ws/a.md", "ws/b.md", "ws/src/x.rs", "out/s", "home/f"] {
        fs::write(base.join(file), "").unwrap();
    }
    symlink(base.join("out"), base.join("ws/away")).unwrap();
    symlink("src", base.join("ws/link")).unwrap();
    symlink("../../a.md", base.join("ws/src/deep/up")).unwrap();
    symlink(base.join("out/s"), base.join("ws/s.md")).unwrap();
    for folder in ["ws/repo/.git/objects", "ws/repo/.git/refs"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    fs::write(base.join("ws/repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let cwd = base.join("ws");
    let workspace = Workspace {
        roots: vec![cwd.clone()],
        cwd,
        home: base.join("home"),
        tools: crate::known_tools(),
        ..Workspace::default()
    };
    (dir, base, Files::new(workspace, vec![], vec![]))
}

/// Changes of directory, path, kind, and the places below the scene's directory, `*` for trees.
type Row<'a> = (&'a [&'a str], &'a str, TouchKind, Option<&'a [&'a str]>);

#[test]
fn paths_lead_where_the_command_would_go() {
    let (_keep, base, files) = scene();
    let disk = DiskPlaces::new(&files, OsStr::new(DEFAULT_PATH));
    let (file, tree) = (TouchKind::File, TouchKind::Tree);
    let table: &[Row] = &[
        (&[], "a.md", file, Some(&["ws/a.md"])),
        (&[], "new/x", file, Some(&["ws/new/x"])),
        (&["src"], "x.rs", file, Some(&["ws/src/x.rs"])),
        (&["src", "deep"], "up", file, Some(&["ws/a.md", "ws/src/deep/up"])),
        (&["src", ".."], "a.md", file, Some(&["ws/a.md"])),
        (&[".."], "out/s", file, Some(&["out/s"])),
        (&["away"], "s", file, Some(&["out/s"])),
        // From a directory reached through a link, `..` in a path is the kernel's.
        (&["away"], "../out/s", file, Some(&["out/s"])),
        (&["link"], "../a.md", file, Some(&["ws/a.md"])),
        // In a change of directory it is the shell's; where they do not agree, nobody knows.
        (&["link", ".."], "a.md", file, Some(&["ws/a.md"])),
        (&["away", ".."], "a.md", file, None),
        (&["away/.."], "a.md", file, None),
        (&["away", "../ws"], "a.md", file, None),
        // A link may be followed or replaced.
        (&[], "s.md", file, Some(&["out/s", "ws/s.md"])),
        (&[], "away", tree, Some(&["out*", "ws/away*"])),
        (&[], "away/", tree, Some(&["out*", "ws/away*"])),
        (&[], "src", tree, Some(&["ws/src*"])),
        (&[], ".", tree, Some(&["ws*"])),
        (&[], "..", TouchKind::Names, Some(&["*"])),
        // The change fails, and what follows would run elsewhere.
        (&["nosuch"], "x", file, None),
        (&["a.md"], "x", file, None),
        (&[], "a.md/x", file, None),
        (&[], "nosuch/../a.md", file, None),
        (&[], "~/f", file, Some(&["home/f"])),
        (&[], "~", tree, Some(&["home*"])),
        (&["~/.ssh"], "id", file, Some(&["home/.ssh/id"])),
        (&[], "~root/x", file, None),
        (&[], "/etc/x", file, Some(&["/etc/x"])),
        (&[], "*.md", TouchKind::Glob, Some(&["ws/a.md*", "ws/b.md*", "out/s*", "ws/s.md*"])),
        (&["src"], "*.rs", TouchKind::Glob, Some(&["ws/src/x.rs*"])),
        (&[], "~/*", TouchKind::Glob, Some(&["home/f*"])),
        (&[], "*.none", TouchKind::Glob, Some(&["ws/*.none*"])),
        (&[], "[ab].md", TouchKind::Glob, None),
        // Below a plain file, or a link to one, there is nothing.
        (&[], "a.md/*", TouchKind::Glob, Some(&[])),
        (&[], "a.md/x", TouchKind::Glob, Some(&[])),
        (&[], "s.md/*", TouchKind::Glob, Some(&[])),
        (&[], "src/*", TouchKind::Glob, Some(&["ws/src/deep*", "ws/src/x.rs*"])),
        (&[], "src/new", TouchKind::Glob, Some(&["ws/src/new*"])),
        (&[], "away/x", TouchKind::Glob, Some(&["out/x*"])),
        (&[], "nosuch/../a.md", TouchKind::Glob, None),
        (&["repo"], "", TouchKind::Repository, Some(&["ws/repo*"])),
        (&["repo", "sub"], "", TouchKind::Repository, Some(&["ws/repo*"])),
        (&[], "", TouchKind::Repository, None),
        (&["repo/sub"], "k/secret", TouchKind::InRepository, Some(&["ws/repo/k/secret"])),
        (&["repo"], "/etc/x", TouchKind::InRepository, Some(&["ws/repo/etc/x"])),
        (&["repo"], "~/x", TouchKind::InRepository, Some(&["ws/repo/~/x"])),
        (&[], "x", TouchKind::InRepository, None),
        (&["/"], "etc/x", file, Some(&["/etc/x"])),
    ];
    for (folder, path, kind, expected) in table {
        let folder: Vec<String> = folder.iter().map(|step| (*step).to_owned()).collect();
        let below = |path: &Path| path.strip_prefix(&base).unwrap_or(path).display().to_string();
        let show = |scope: &PathScope| match scope {
            PathScope::File(path) => below(path),
            PathScope::Tree(path) => format!("{}*", below(path)),
        };
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        let found = disk.look_up(&folder, path, *kind);
        let found = found.map(|scopes| sorted(scopes.iter().map(show).collect()));
        let expected =
            expected.map(|paths| sorted(paths.iter().map(|path| (*path).to_owned()).collect()));
        assert_eq!(found, expected, "{folder:?} {path} {kind:?}");
    }
}

#[test]
fn a_repository_that_is_not_plain_is_not_known() {
    let (_keep, base, files) = scene();
    let disk = DiskPlaces::new(&files, OsStr::new(DEFAULT_PATH));
    let look = || disk.look_up(&["repo".into()], "", TouchKind::Repository);
    assert!(look().is_some());
    fs::write(base.join("ws/repo/.git/config"), "[filter \"x\"]\n\tclean = ./x\n").unwrap();
    assert_eq!(look(), None);
}

fn program(path: &Path, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn programs_of_the_system_and_of_others() {
    let (_keep, base, files) = scene();
    let is = |path: &[&str], name: &str| {
        let path = path.iter().map(|folder| folder.replace('$', base.to_str().unwrap()));
        let path = path.collect::<Vec<_>>().join(":");
        DiskPlaces::new(&files, OsStr::new(&path)).is_system_program(name)
    };
    program(&base.join("sys/tool"), 0o755);
    program(&base.join("sys/open"), 0o757);
    program(&base.join("sys/data"), 0o644);
    program(&base.join("ws/bin/tool"), 0o755);
    program(&base.join("ws/bin/data"), 0o755);
    program(&base.join("shared/tool"), 0o755);
    fs::create_dir(base.join("sys/folder")).unwrap();
    symlink(base.join("ws/bin/tool"), base.join("sys/planted")).unwrap();
    symlink(base.join("ws/bin"), base.join("sys/bin")).unwrap();
    fs::set_permissions(base.join("shared"), Permissions::from_mode(0o777)).unwrap();
    for (path, name, expected) in [
        (&["$/sys"][..], "tool", true),
        (&["$/none", "$/sys"], "tool", true),
        (&["$/ws/bin", "$/sys"], "tool", false),
        (&["$/sys", "$/ws/bin"], "tool", true),
        // Not a program in the first directory: the shell continues to the second.
        (&["$/sys", "$/ws/bin"], "data", false),
        (&["$/sys"], "data", false),
        (&["$/sys"], "folder", false),
        (&["$/sys"], "planted", false),
        (&["$/sys/bin"], "tool", false),
        (&["$/sys"], "open", false),
        (&["$/shared"], "tool", false),
        (&["", "$/sys"], "tool", false),
        (&[".", "$/sys"], "tool", false),
        (&["bin", "$/sys"], "tool", false),
        (&["$/sys"], "nosuch", false),
        (&["$/sys"], "", false),
        (&["$/sys"], "./tool", false),
        (&["$/sys"], "../sys/tool", false),
        (&["$/sys"], "/bin/sh", false),
    ] {
        assert_eq!(is(path, name), expected, "{path:?} {name}");
    }
    assert!(DiskPlaces::new(&files, OsStr::new(DEFAULT_PATH)).is_system_program("sh"));
    // The user's own programs are as good: the agent cannot write there.
    program(&base.join("home/bin/tool"), 0o755);
    assert!(is(&["$/home/bin"], "tool"));
}

#[test]
fn what_exists() {
    let (_keep, base, files) = scene();
    let disk = DiskPlaces::new(&files, OsStr::new(DEFAULT_PATH));
    symlink("nowhere", base.join("ws/dangling")).unwrap();
    for (path, expected) in [
        ("ws", true),
        ("ws/a.md", true),
        ("ws/dangling", true),
        ("ws/x", false),
        ("ws/a.md/x", false),
        ("nosuch/x", false),
    ] {
        assert_eq!(disk.exists(&base.join(path)), expected, "{path}");
    }
}

#[test]
fn what_is_given_every_name_below_a_folder_follows_links() {
    let (_dir, base, files) = scene();
    let disk = DiskPlaces::new(&files, OsStr::new(DEFAULT_PATH));
    let tree = |path: &str| PathScope::Tree(base.join(path));
    for kind in [TouchKind::Followed, TouchKind::Listed] {
        let all = disk.look_up(&[], ".", kind).unwrap();
        assert!(all.contains(&tree("out")) && all.contains(&tree("out/s")), "{all:?}");
        // Its one link leads to a file of the workspace.
        let deep = disk.look_up(&[], "src/deep", kind).unwrap();
        assert!(deep.contains(&tree("ws/a.md")) && !deep.contains(&tree("out")), "{deep:?}");
        assert_eq!(disk.look_up(&[], "a.md", kind), Some(vec![tree("ws/a.md")]));
    }
    assert!(!disk.look_up(&[], ".", TouchKind::Tree).unwrap().contains(&tree("out")));
    for odd in ["a b", "-x", "it's", "a\\b", "a\"b", "a\nb", "a\tb"] {
        let file = base.join("ws/src/deep").join(odd);
        fs::write(&file, "").unwrap();
        assert!(disk.look_up(&[], "src", TouchKind::Listed).is_none(), "{odd:?}");
        assert!(disk.look_up(&[], "src", TouchKind::Followed).is_some(), "{odd:?}");
        fs::remove_file(file).unwrap();
    }
    assert!(disk.look_up(&[], "src", TouchKind::Listed).is_some());
}
