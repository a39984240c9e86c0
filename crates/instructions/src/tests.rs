use super::*;
use std::fs;
use std::path::{Path, PathBuf};

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

    fn places(&self) -> Places {
        Places {
            cwd: self.at("home/me/work/repo/a"),
            project: self.at("home/me/work/repo"),
            home: self.at("home/me"),
            user: vec![self.at("home/me/.ostler"), self.at("home/me/.claude")],
        }
    }

    fn names(&self, loaded: &Loaded) -> Vec<String> {
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
    let loaded = load(&world.places());
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
    let loaded = load(&world.places());
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
    let loaded = load(&world.places());
    assert_eq!(loaded.files.len(), 6);
    assert!(loaded.notices[0].contains("5 deep"), "{:?}", loaded.notices);
}

/// A project's file names the user's keys, by an import and by a link.
#[test]
fn a_project_reads_nothing_outside_of_itself() {
    let world = World::new();
    world.file("home/me/.ssh/id_rsa", "secret").file("other/x.md", "secret");
    world.file("home/me/.claude/mine.md", "welcome");
    let repo = "home/me/work/repo";
    let text = "@~/.ssh/id_rsa @../../.ssh/id_rsa @/etc/hostname.md @~/.claude/mine.md @linked.md";
    world.file(&format!("{repo}/CLAUDE.md"), text);
    std::os::unix::fs::symlink(world.at("other/x.md"), world.at(&format!("{repo}/linked.md")))
        .unwrap();
    std::os::unix::fs::symlink(
        world.at("home/me/.ssh/id_rsa"),
        world.at(&format!("{repo}/AGENTS.md")),
    )
    .unwrap();
    let loaded = load(&world.places());
    assert!(loaded.files.iter().all(|file| file.text != "secret"), "{:?}", loaded.files);
    assert_eq!(world.names(&loaded), ["work/repo/CLAUDE.md", ".claude/mine.md"]);
    let said = loaded.notices.iter().filter(|notice| notice.contains("outside")).count();
    assert_eq!(said, 4, "{:?}", loaded.notices);
}

#[test]
fn sizes_are_bounded() {
    let world = World::new();
    world.file("home/me/work/repo/CLAUDE.md", &"ä".repeat(50_000));
    for n in 0..8 {
        let name = format!("home/me/work/repo/.claude/rules/{n}.md");
        world.file(&name, &"x".repeat(30_000));
    }
    let loaded = load(&world.places());
    let all: usize = loaded.files.iter().map(|file| file.text.len()).sum();
    assert!(all <= 120_000, "{all}");
    assert!(loaded.files[0].text.ends_with("only its beginning is used.]"));
    assert!(loaded.notices.len() >= 2, "{:?}", loaded.notices);
}

#[test]
fn what_lies_deeper_counts_when_something_there_was_read() {
    let world = World::new();
    let repo = "home/me/work/repo";
    world.file(&format!("{repo}/a/b/CLAUDE.md"), "b").file(&format!("{repo}/c/AGENTS.md"), "c");
    let rule = "---\npaths:\n  - \"**/*.sql\"\n---\nmind the quotes";
    world.file(&format!("{repo}/.claude/rules/sql.md"), rule);
    world.file(&format!("{repo}/.claude/rules/all.md"), "---\nname: x\n---\nalways");
    let places = world.places();
    let first = load(&places);
    assert_eq!(world.names(&first), ["work/repo/.claude/rules/all.md"]);
    assert_eq!(first.files[0].text, "always");
    let mut nested = Nested::new(first.files.iter().map(|file| file.path.clone()));
    let at = |name: &str| world.at(&format!("{repo}/{name}"));
    assert_eq!(nested.after(&[at("a/x.rs")], &places), Loaded::default());
    let found = nested.after(&[at("a/b/x.rs"), at("c/y.sql")], &places);
    assert_eq!(
        world.names(&found),
        ["work/repo/a/b/CLAUDE.md", "work/repo/c/AGENTS.md", "work/repo/.claude/rules/sql.md"]
    );
    assert_eq!(found.files[2].text, "mind the quotes");
    assert_eq!(nested.after(&[at("a/b/z.rs"), at("d.sql")], &places), Loaded::default());
    assert_eq!(nested.again(&places).files.len(), 4);
}

#[test]
fn a_rule_with_broken_front_matter_holds_and_is_told() {
    let world = World::new();
    let rules = "home/me/work/repo/.claude/rules";
    world.file(&format!("{rules}/a.md"), "---\npaths: [\n---\ntext");
    world.file(&format!("{rules}/b.md"), "---\npaths: \"[z-a]\"\n---\ntext b");
    world.file(&format!("{rules}/c.md"), "---\nno end");
    let loaded = load(&world.places());
    assert_eq!((loaded.files.len(), loaded.notices.len()), (3, 3), "{loaded:?}");
}
