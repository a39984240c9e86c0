//! What is loaded from which files, and what is left out.

use super::*;
use std::fs;
use std::path::{Path, PathBuf};

const ALL: usize = 120_000;
const REPO: &str = "home/me/work/repo";

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = World { folder };
        for name in ["home/me/work/repo/a/b", "home/me/.claude", "home/me/.ostler", "other"] {
            fs::create_dir_all(world.at(name)).unwrap();
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn places(&self) -> InstructionPlaces {
        InstructionPlaces {
            cwd: self.at("home/me/work/repo/a"),
            project: self.at("home/me/work/repo"),
            home: self.at("home/me"),
            user: vec![self.at("home/me/.ostler"), self.at("home/me/.claude")],
            trusted: false,
        }
    }

    fn shelf(&self) -> Shelf {
        Shelf::new(self.places())
    }

    fn load(&self) -> LoadedInstructions {
        self.shelf().standing(ALL)
    }

    fn link(&self, to: &str, name: &str) {
        std::os::unix::fs::symlink(self.at(to), self.at(name)).unwrap();
    }

    fn names(&self, loaded: &LoadedInstructions) -> Vec<String> {
        let home = self.at("home/me");
        let name = |path: &Path| path.strip_prefix(&home).unwrap_or(path).display().to_string();
        loaded.files.iter().map(|file| name(&file.path)).collect()
    }
}

#[test]
fn general_before_particular() {
    let world = World::new();
    for name in [
        ".claude/CLAUDE.md",
        ".ostler/AGENTS.md",
        "work/CLAUDE.md",
        "work/repo/AGENTS.md",
        "work/repo/CLAUDE.md",
        "work/repo/.claude/CLAUDE.md",
        "work/repo/.claude/rules/b.md",
        "work/repo/.claude/rules/a/x.md",
        "work/repo/CLAUDE.local.md",
        "work/repo/a/CLAUDE.md",
        "work/repo/a/b/CLAUDE.md",
        "CLAUDE.md",
    ] {
        world.file(&format!("home/me/{name}"), name);
    }
    world.file("home/CLAUDE.md", "not mine");
    let loaded = world.load();
    assert_eq!(
        world.names(&loaded),
        [
            ".ostler/AGENTS.md",
            ".claude/CLAUDE.md",
            "work/CLAUDE.md",
            "work/repo/AGENTS.md",
            "work/repo/CLAUDE.md",
            "work/repo/.claude/CLAUDE.md",
            "work/repo/.claude/rules/a/x.md",
            "work/repo/.claude/rules/b.md",
            "work/repo/CLAUDE.local.md",
            "work/repo/a/CLAUDE.md",
        ]
    );
    assert_eq!(loaded.notices, [] as [&str; 0]);
}

#[test]
fn imports_follow_their_file_once_and_not_in_circles() {
    let world = World::new();
    world.file("home/me/work/repo/CLAUDE.md", "@docs/a.md\n@docs/b.md @missing.md");
    world.file("home/me/work/repo/docs/a.md", "@b.md and @../CLAUDE.md");
    world.file("home/me/work/repo/docs/b.md", "@a.md\n@c.md");
    world.file("home/me/work/repo/docs/c.md", "end");
    let loaded = world.load();
    let expected = [
        "work/repo/CLAUDE.md",
        "work/repo/docs/a.md",
        "work/repo/docs/b.md",
        "work/repo/docs/c.md",
    ];
    assert_eq!(world.names(&loaded), expected);
    assert_eq!(loaded.notices.len(), 1, "{:?}", loaded.notices);
    assert!(loaded.notices[0].contains("missing.md"));
}

#[test]
fn imports_have_a_depth() {
    let world = World::new();
    world.file("home/me/work/repo/CLAUDE.md", "@1.md");
    for n in 1..9 {
        world.file(&format!("home/me/work/repo/{n}.md"), &format!("@{}.md", n + 1));
    }
    let loaded = world.load();
    assert_eq!(loaded.files.len(), 6);
    assert!(loaded.notices[0].contains("5 levels deep"), "{:?}", loaded.notices);
}

/// A project's file names the user's keys, by an import and by a link.
#[test]
fn a_project_reads_nothing_outside_of_itself() {
    let world = World::new();
    world.file("home/me/.ssh/id_rsa", "secret").file("other/x.md", "secret");
    world.file("home/me/.claude/mine.md", "secret");
    let text = "@~/.ssh/id_rsa @../../.ssh/id_rsa @/etc/hostname.md @~/.claude/mine.md @linked.md";
    world.file(&format!("{REPO}/CLAUDE.md"), text);
    world.link("other/x.md", &format!("{REPO}/linked.md"));
    world.link("home/me/.ssh/id_rsa", &format!("{REPO}/AGENTS.md"));
    let loaded = world.load();
    assert!(loaded.files.iter().all(|file| file.text != "secret"), "{:?}", loaded.files);
    assert_eq!(world.names(&loaded), ["work/repo/CLAUDE.md"]);
    let said = |part: &str| loaded.notices.iter().filter(|line| line.contains(part)).count();
    assert_eq!(said("outside"), 4, "{:?}", loaded.notices);
    assert_eq!(said("a file of yours"), 1, "{:?}", loaded.notices);
}

/// An index as git writes it: a head, and entries with their names behind the facts about each file.
fn index(world: &World, version: u8, names: &[&str]) {
    let mut bytes = b"DIRC\0\0\0".to_vec();
    bytes.extend([version, 0, 0, 0, names.len() as u8]);
    for name in names {
        bytes.extend([7; 62]);
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    fs::write(world.at(&format!("{REPO}/.git/index")), bytes).unwrap();
}

/// What the user keeps at home is used by what the user wrote, and by projects that the user trusts.
#[test]
fn the_users_texts_are_for_the_user() {
    let world = World::new();
    world.file("home/me/.claude/mine.md", "private").file("home/me/.claude/key.pem", "secret");
    world.file(&format!("{REPO}/CLAUDE.local.md"), "@~/.claude/mine.md @~/.claude/key.pem @x.md");
    world.file(&format!("{REPO}/x.md"), "@~/.claude/other.md");
    world.file("home/me/.claude/other.md", "not for a file of the project");
    let found = |trusted: bool| {
        let places = InstructionPlaces { trusted, ..world.places() };
        let loaded = Shelf::new(places).standing(ALL);
        assert!(loaded.files.iter().all(|file| file.text != "secret"));
        let kind = loaded.files[0].kind;
        (kind, loaded.files.iter().any(|file| file.text == "private"), loaded)
    };
    // Without a repository nobody knows who wrote it.
    assert_eq!(found(false).0, InstructionKind::Project);
    assert!(!found(false).1 && found(true).1);
    world.file(&format!("{REPO}/.git/HEAD"), "ref: refs/heads/main");
    assert_eq!((found(false).0, found(false).1), (InstructionKind::Local, true));
    index(&world, 2, &["CLAUDE.md", "a.txt"]);
    let (kind, private, loaded) = found(false);
    assert_eq!((kind, private), (InstructionKind::Local, true));
    let imported = loaded.files.iter().find(|file| file.path.ends_with("x.md")).unwrap();
    assert_eq!(imported.kind, InstructionKind::Project, "a file of the project stays one");
    assert!(!loaded.files.iter().any(|file| file.path.ends_with("other.md")));
    // A repository that brings such a file along does not make it the user's.
    index(&world, 2, &["CLAUDE.local.md", "CLAUDE.md"]);
    assert_eq!((found(false).0, found(false).1), (InstructionKind::Project, false));
    index(&world, 4, &["CLAUDE.md"]);
    assert_eq!((found(false).0, found(false).1), (InstructionKind::Project, false));
}

#[test]
fn sizes_are_bounded() {
    let world = World::new();
    world.file("home/me/work/repo/CLAUDE.md", &"ä".repeat(50_000));
    for n in 0..8 {
        let name = format!("home/me/work/repo/.claude/rules/{n}.md");
        world.file(&name, &"x".repeat(30_000));
    }
    let loaded = world.load();
    let all: usize = loaded.files.iter().map(|file| file.text.len()).sum();
    assert!(all <= 120_000, "{all}");
    assert!(loaded.files[0].text.ends_with("only its beginning is used.]"));
    assert!(loaded.notices.len() >= 2, "{:?}", loaded.notices);
}

/// 720 KB of nested files, and a conversation that has room for 120.
#[test]
fn what_lies_deeper_shares_the_limit() {
    let world = World::new();
    for n in 0..18 {
        world.file(&format!("{REPO}/d{n:02}/CLAUDE.md"), &format!("{n:02}").repeat(19_000));
    }
    let mut shelf = world.shelf();
    let (mut said, mut bytes, mut left_out) = (Vec::new(), 0, 0);
    for n in 0..18 {
        let read = [world.at(&format!("{REPO}/d{n:02}/x.rs"))];
        let found = shelf.nearby(&read, said.clone(), (ALL - bytes, ALL));
        bytes += found.files.iter().map(|file| file.text.len()).sum::<usize>();
        said.extend(found.files.iter().map(|file| file.path.clone()));
        said.extend(found.left_out.iter().map(|file| file.path.clone()));
        left_out += found.left_out.len();
        assert_eq!(found.notices.len(), found.left_out.len(), "{:?}", found.notices);
        assert!(found.notices.iter().all(|line| line.contains("fill the window")));
    }
    assert!(bytes <= ALL && bytes > ALL / 2, "{bytes}");
    assert_eq!(left_out, 15);
}

#[test]
fn a_small_window_has_less_room() {
    assert_eq!(most_bytes(200_000), ALL);
    assert_eq!(most_bytes(16_000), 12_000);
    let world = World::new();
    world.file(&format!("{REPO}/CLAUDE.md"), &"ä ".repeat(10_000));
    world.file(&format!("{REPO}/a/CLAUDE.md"), "no room");
    let loaded = world.shelf().standing(most_bytes(16_000));
    let [file] = loaded.files.as_slice() else { panic!("{:?}", world.names(&loaded)) };
    assert!(file.text.len() < 12_000 && file.text.len() > 11_000, "{}", file.text.len());
    assert!(file.text.ends_with("only its beginning is used.]"));
    assert_eq!(loaded.left_out.len(), 1);
    assert!(loaded.notices.iter().all(|line| line.contains("the rules fill the window")));
    assert_eq!(loaded.notices.len(), 2, "{:?}", loaded.notices);
    // The same files in the same room are the same text.
    assert_eq!(world.shelf().standing(most_bytes(16_000)), loaded);
}

#[test]
fn notices_are_few() {
    let world = World::new();
    let names: String = (0..4_114).map(|n| format!("@n{n}.md ")).collect();
    world.file(&format!("{REPO}/CLAUDE.md"), &names);
    world.file(&format!("{REPO}/a/CLAUDE.md"), &format!("@{}.md", "x".repeat(5_000)));
    for n in 0..50 {
        world.link("other", &format!("{REPO}/x{n}.md"));
        let rule = format!("{REPO}/.claude/rules/{n}.md");
        world.file(&rule, "---\npaths: \"[z-a]\"\n---\nx");
    }
    let loaded = world.load();
    assert!(loaded.notices.len() <= 24, "{}: {:#?}", loaded.notices.len(), loaded.notices);
    assert!(loaded.notices.iter().all(|line| line.chars().count() <= 401));
    assert!(loaded.notices.iter().any(|line| line.starts_with("and 45 more mistakes")));
    assert!(loaded.notices.iter().any(|line| line.contains("more imports of missing files")));
}

/// Links that lead out, wherever they stand.
#[test]
fn what_was_not_read_is_said() {
    let world = World::new();
    world.file("other/x.md", "secret").file("other/rules/y.md", "secret");
    world.file(&format!("{REPO}/.claude/rules/z.md"), "fine");
    world.link("other/x.md", &format!("{REPO}/.claude/rules/x.md"));
    world.link("other/rules", &format!("{REPO}/.claude/rules/folder"));
    fs::create_dir_all(world.at(&format!("{REPO}/sub"))).unwrap();
    world.link("other/x.md", &format!("{REPO}/sub/CLAUDE.md"));
    let loaded = world.load();
    assert_eq!(world.names(&loaded), ["work/repo/.claude/rules/z.md"]);
    assert_eq!(loaded.notices.len(), 2, "{:?}", loaded.notices);
    let read = [world.at(&format!("{REPO}/sub/f.rs"))];
    let found = world.shelf().nearby(&read, [], (ALL, ALL));
    assert!(found.files.is_empty());
    assert!(found.notices.iter().any(|line| line.contains("sub/CLAUDE.md")), "{found:?}");
    // A linked directory of the project is read, once.
    world.file(&format!("{REPO}/shared/s.md"), "shared");
    world.link(&format!("{REPO}/shared"), &format!("{REPO}/.claude/rules/shared"));
    world.link(&format!("{REPO}/.claude/rules"), &format!("{REPO}/.claude/rules/round"));
    let names = world.names(&world.load());
    assert_eq!(names.iter().filter(|name| name.ends_with("s.md")).count(), 1, "{names:?}");
}

/// 200 rules and 50 files read: each front matter is read once, until it changes.
#[test]
fn a_front_matter_is_read_once() {
    let world = World::new();
    for n in 0..200 {
        let rule = format!("---\npaths: src/m{n}/**\n---\n{}", "rule ".repeat(200));
        world.file(&format!("{REPO}/.claude/rules/{n:03}.md"), &rule);
    }
    let mut shelf = world.shelf();
    assert!(shelf.standing(ALL).files.is_empty());
    assert_eq!(shelf.fronts.reads, 200);
    let read: Vec<PathBuf> = (0..50).map(|n| world.at(&format!("{REPO}/doc/{n}.txt"))).collect();
    for _ in 0..5 {
        assert_eq!(shelf.nearby(&read, [], (ALL, ALL)), LoadedInstructions::default());
    }
    assert_eq!(shelf.fronts.reads, 200);
    world.file(&format!("{REPO}/.claude/rules/007.md"), "---\npaths: doc/**\n---\nnow it holds");
    let found = shelf.nearby(&read, [], (ALL, ALL));
    assert_eq!((shelf.fronts.reads, found.files.len()), (201, 1));
}

#[test]
fn what_lies_deeper_counts_when_something_there_was_read() {
    let world = World::new();
    let rule = "---\npaths:\n  - \"**/*.sql\"\n---\nmind the quotes: @../../style.md";
    world.file(&format!("{REPO}/a/b/CLAUDE.md"), "b").file(&format!("{REPO}/c/AGENTS.md"), "c");
    world.file(&format!("{REPO}/.claude/rules/sql.md"), rule);
    world.file(&format!("{REPO}/style.md"), "upper case");
    world.file(&format!("{REPO}/.claude/rules/all.md"), "---\nname: x\n---\nalways");
    let mut shelf = world.shelf();
    let first = shelf.standing(ALL);
    assert_eq!(world.names(&first), ["work/repo/.claude/rules/all.md"]);
    assert_eq!(first.files[0].text, "always");
    let mut said: Vec<PathBuf> = first.files.iter().map(|file| file.path.clone()).collect();
    let at = |name: &str| world.at(&format!("{REPO}/{name}"));
    let room = (ALL, ALL);
    assert_eq!(shelf.nearby(&[at("a/x.rs")], said.clone(), room), LoadedInstructions::default());
    let found = shelf.nearby(&[at("a/b/x.rs"), at("c/y.sql")], said.clone(), room);
    assert_eq!(
        world.names(&found),
        [
            "work/repo/a/b/CLAUDE.md",
            "work/repo/c/AGENTS.md",
            "work/repo/.claude/rules/sql.md",
            "work/repo/.claude/rules/../../style.md"
        ]
    );
    assert!(found.files[2].text.starts_with("mind the quotes"));
    said.extend(found.files.iter().map(|file| file.path.clone()));
    let none = shelf.nearby(&[at("a/b/z.rs"), at("d.sql")], said, room);
    assert_eq!(none, LoadedInstructions::default());
    // Repeated they are the same, without their front matter; what is known under another name is not among them.
    let before = found.files.iter().map(|file| (file.path.clone(), file.kind));
    let again = shelf.again(before.clone(), [at("style.md")], room);
    assert_eq!(again.files, found.files[..3]);
    fs::remove_file(at("c/AGENTS.md")).unwrap();
    let again = shelf.again(before, [], room);
    assert_eq!(again.gone, [(at("c/AGENTS.md"), InstructionKind::Nested)]);
    assert_eq!(again.files.len(), 3);
}

#[test]
fn a_rule_for_paths_nobody_can_tell_is_told_and_not_used() {
    let world = World::new();
    let rules = "home/me/work/repo/.claude/rules";
    world.file(&format!("{rules}/a.md"), "---\npaths: [\n---\ntext");
    world.file(&format!("{rules}/b.md"), "---\nname: b\npaths: \"[z-a]\"\n---\ntext b");
    world.file(&format!("{rules}/c.md"), "---\nno end");
    world.file(&format!("{rules}/d.md"), "---\npaths: src/**/*.{ts,tsx}\n---\nd");
    let loaded = world.load();
    assert_eq!(world.names(&loaded), ["work/repo/.claude/rules/c.md"]);
    assert_eq!(loaded.notices.len(), 3, "{loaded:?}");
    assert!(loaded.notices.iter().any(|line| line.contains("b.md:3: the pattern")), "{loaded:?}");
    let mut shelf = world.shelf();
    let found = shelf.nearby(&[world.at(&format!("{REPO}/src/x.tsx"))], [], (ALL, ALL));
    assert_eq!(world.names(&found), ["work/repo/.claude/rules/d.md"]);
}

/// However deep a file lies that was read, a bounded number of directories is looked at.
#[test]
fn instructions_are_looked_for_down_to_a_depth() {
    let world = World::new();
    let folder = |depth: usize| format!("{REPO}/{}", "d/".repeat(depth));
    world.file(&format!("{}AGENTS.md", folder(64)), "deep enough");
    world.file(&format!("{}AGENTS.md", folder(65)), "too deep");
    let read = [world.at(&format!("{}x.rs", folder(1_000)))];
    let found = world.shelf().nearby(&read, [], (ALL, ALL));
    let texts: Vec<&str> = found.files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(texts, ["deep enough"]);
    assert_eq!(found.notices.len(), 1, "{:?}", found.notices);
    let near = [world.at(&format!("{}x.rs", folder(64)))];
    assert!(world.shelf().nearby(&near, [], (ALL, ALL)).notices.is_empty());
}
