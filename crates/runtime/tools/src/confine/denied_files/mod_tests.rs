//! Denied files on a real disk, in every form of a rule.

use super::*;
use ostler_core::permission::{Rule, Workspace};
use std::fs;
use std::os::unix::fs::symlink;

struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
    areas: Areas,
}

impl World {
    fn new(names: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (home, root) = (base.join("home"), base.join("home/ws"));
        fs::create_dir_all(&root).unwrap();
        let areas = Areas {
            writable: vec![root.clone()],
            caches: vec![home.join(".cache")],
            home: home.clone(),
            ..Areas::default()
        };
        let world = World { _dir: dir, root, home, areas };
        names.iter().for_each(|name| world.put(name));
        world
    }

    fn put(&self, name: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }

    fn denied(&self, rules: &[&str]) -> DenyRules {
        let workspace = Workspace {
            cwd: self.root.clone(),
            roots: vec![self.root.clone()],
            home: self.home.clone(),
            tools: crate::known_tools(),
            ..Workspace::default()
        };
        let deny = rules.iter().map(|rule| Rule::parse(rule, &workspace).unwrap()).collect();
        DenyRules::new(&Policy { deny, ..Policy::default() })
    }

    fn names(&self, paths: &[PathBuf]) -> Vec<String> {
        let name = |path: &PathBuf| match path.strip_prefix(&self.root) {
            Ok(below) => below.display().to_string(),
            Err(_) => path.strip_prefix(&self.home).unwrap_or(path).display().to_string(),
        };
        paths.iter().map(name).collect()
    }

    fn hidden(&self, rules: &[&str]) -> Vec<String> {
        let found = self.denied(rules).look(&self.areas);
        assert_eq!(found.gap, None, "{rules:?}");
        self.names(&found.hidden)
    }

    fn gap(&self, rules: &[&str]) -> String {
        self.denied(rules).look(&self.areas).gap.clone().unwrap_or_default()
    }
}

#[test]
fn every_form_of_a_rule_finds_its_files() {
    let world = World::new(&[
        ".env",
        "a.pem",
        "sub/.env",
        "sub/deep/b.pem",
        "secrets/key",
        "secrets/more/key",
        ".git/objects/x.pem",
        "src/main.rs",
        "../note.md",
    ]);
    let note = format!("Read(/{}/note.md)", world.home.display());
    for (rule, expected) in [
        ("Read(./.env)", &[".env"][..]),
        ("Read(.env)", &[".env", "sub/.env"]),
        ("Read(**/.env)", &[".env", "sub/.env"]),
        ("Read(*.pem)", &["a.pem", "sub/deep/b.pem"]),
        ("Read(./*.pem)", &["a.pem"]),
        ("Read(./secrets/**)", &["secrets"]),
        ("Read(./s*/key)", &["secrets/key"]),
        ("Read(secrets)", &["secrets"]),
        ("Read(~/note.md)", &["note.md"]),
        ("Read(~/**/.env)", &[".env", "sub/.env"]),
        (&note, &["note.md"]),
        ("Read(//**/.env)", &[".env", "sub/.env"]),
        ("Read(./missing)", &[]),
        ("Read(./missing/**)", &[]),
        ("Edit(.env)", &[]),
    ] {
        assert_eq!(world.hidden(&[rule]), expected, "{rule}");
    }
}

#[test]
fn files_that_come_and_go_between_two_looks() {
    let world = World::new(&["sub/a"]);
    let denied = world.denied(&["Read(.env)"]);
    let hidden = || world.names(&denied.look(&world.areas).hidden);
    assert!(hidden().is_empty());
    world.put("sub/.env");
    assert_eq!(hidden(), ["sub/.env"]);
    world.put("new/deep/.env");
    assert_eq!(hidden(), ["new/deep/.env", "sub/.env"]);
    fs::remove_dir_all(world.root.join("sub")).unwrap();
    assert_eq!(hidden(), ["new/deep/.env"]);
}

#[test]
fn other_names_of_a_denied_file() {
    let world = World::new(&[".env", "vault/key", "src/a", "src/b"]);
    let link = |from: &str, to: &str| {
        fs::hard_link(world.root.join(from), world.root.join(to)).unwrap();
    };
    link(".env", "src/innocent");
    link("vault/key", "key");
    link("src/a", "src/c");
    assert_eq!(world.hidden(&["Read(./.env)"]), [".env", "src/innocent"]);
    assert_eq!(world.hidden(&["Read(./vault/**)"]), ["key", "vault"]);
    let denied = world.denied(&["Read(./.env)", "Edit(./vault/**)"]);
    let found = denied.look(&world.areas);
    assert_eq!(world.names(&found.frozen), ["key", "vault"]);
    assert_eq!(denied.first_name(&world.root.join("src/innocent")), Some(world.root.join(".env")));
    assert_eq!(denied.first_name(&world.root.join("src/c")), None);
    assert!(denied.may_be_unreadable(&world.root.join("src/innocent")));
    assert!(!denied.may_be_unreadable(&world.root.join("key")), "it may only not be changed");
    // In a cache that commands read it is found; where nobody looks it is not.
    fs::create_dir(world.home.join(".cache")).unwrap();
    fs::hard_link(world.root.join(".env"), world.home.join(".cache/copy")).unwrap();
    assert_eq!(world.hidden(&["Read(./.env)"]), [".cache/copy", ".env", "src/innocent"]);
    fs::hard_link(world.root.join(".env"), world.home.join("elsewhere")).unwrap();
    let gap = world.gap(&["Read(./.env)"]);
    assert!(gap.contains("4 names") && gap.contains("only 3"), "{gap}");
    assert_eq!(world.gap(&["Edit(./.env)"]), "", "nothing else can be written");
}

#[test]
fn a_link_is_denied_where_it_leads_to_and_stays_so() {
    let world = World::new(&["shared/config", "src/a"]);
    symlink("shared/config", world.root.join(".env")).unwrap();
    symlink("/usr", world.root.join("tools.pem")).unwrap();
    symlink(".", world.root.join("self.pem")).unwrap();
    let denied = world.denied(&["Read(./.env)", "Read(*.pem)"]);
    let hidden = || world.names(&denied.look(&world.areas).hidden);
    assert_eq!(hidden(), [".env", "self.pem", "shared/config", "tools.pem"]);
    fs::remove_file(world.root.join(".env")).unwrap();
    assert_eq!(hidden(), ["self.pem", "shared/config", "tools.pem"], "the link was removed");
}

#[test]
fn what_must_not_be_changed() {
    let world = World::new(&["secrets/key", "a.lock", "sub/b.lock", ".env"]);
    let look = |rules: &[&str]| {
        let found = world.denied(rules).look(&world.areas);
        assert_eq!(found.gap, None);
        (world.names(&found.hidden), found.frozen.clone())
    };
    let at = |name: &str| world.root.join(name);
    assert_eq!(look(&["Edit(./secrets/**)"]).1, [at("secrets")]);
    assert_eq!(look(&["Edit(*.lock)"]).1, [at("a.lock"), at("sub/b.lock")]);
    let missing = look(&["Edit(./new.txt)", "Edit(./new/**)"]).1;
    assert_eq!(missing, [at("new"), at("new.txt")]);
    assert!(missing[0].as_os_str().as_encoded_bytes().ends_with(b"/"), "it is held as a directory");
    assert_eq!(look(&["Edit(//etc/hosts)"]).1, Vec::<PathBuf>::new());
    assert_eq!(look(&["Edit(./**)"]).1, std::slice::from_ref(&world.root));
    let (hidden, frozen) = look(&["Read(.env)", "Edit(.env)"]);
    assert_eq!(hidden, [".env"]);
    assert!(frozen.is_empty(), "what is hidden cannot be changed either");
}

#[test]
fn what_cannot_be_held_leaves_a_gap() {
    let world = World::new(&["a"]);
    assert!(world.gap(&["Read(./**)"]).contains("whole directory of the workspace"));
    assert!(world.gap(&["Read(//**)"]).contains("whole directory of the workspace"));
    for n in 0..=MOST_PATHS {
        world.put(&format!("{n}.pem"));
    }
    let found = world.denied(&["Read(*.pem)"]).look(&world.areas);
    assert!(found.gap.as_ref().unwrap().contains("256"), "{:?}", found.gap);
    assert_eq!(found.hidden.len(), MOST_PATHS, "who says yes is kept from the others all the same");
}

#[test]
fn landlock_alone_does_where_little_lies_beside() {
    let world = World::new(&[".env", "vault/key", "many/.env"]);
    let look = |rules: &[&str]| world.denied(rules).look(&world.areas);
    assert!(look(&["Read(./.env)"]).suits_landlock());
    let vault = look(&["Read(./vault/**)"]);
    assert!(vault.fits_landlock() && !vault.suits_landlock(), "it could not be listed");
    for n in 0..=MOST_SIBLINGS {
        world.put(&format!("many/{n}"));
    }
    assert!(look(&["Read(./.env)"]).suits_landlock());
    assert!(!look(&["Read(.env)"]).fits_landlock());
}
