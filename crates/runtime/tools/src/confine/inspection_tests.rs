//! What a command leaves behind is found, by snapshots and by a walk alike, and what is the user's stays as it is.

use super::*;
use crate::confine::ConfineOptions;
use crate::confine::tests::confinement;
use ostler_snapshots::{Config, Snapshots};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_nanos()).unwrap()
}

struct Ground {
    _dir: tempfile::TempDir,
    root: PathBuf,
    snapshots: Snapshots,
    inspection: Inspection,
}

impl Ground {
    /// With `ws/.git` as the repository that the sandbox guards.
    fn new(walks: bool, before: impl Fn(&Path)) -> Ground {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let root = base.join("ws");
        repository(&root.join(".git"), "[core]\n\thooksPath = .husky\n");
        before(&root);
        let config =
            Config { dir: base.join("store"), roots: vec![root.clone()], hidden: Vec::new(), now };
        let snapshots = Snapshots::open(config).unwrap();
        snapshots.take("before").unwrap();
        let roots = vec![root.clone()];
        let since = i64::try_from(now()).unwrap();
        let workspace =
            Workspace { cwd: root.clone(), roots: roots.clone(), ..Workspace::default() };
        let inspection = Inspection {
            before: walks.then(|| Inspection::walk(&workspace, MOST_NAMES)),
            workspace,
            places: roots.clone(),
            known: vec![root.join(".git"), root.join(".git/worktrees/old")],
            frozen: Frozen::take([root.join(".git/config")].into_iter()),
            judged: Vec::new(),
            since,
            by_git: false,
            quarantines: true,
            most_names: MOST_NAMES,
            memory: Arc::default(),
            unfinished: Arc::default(),
        };
        Ground { _dir: dir, root, snapshots, inspection }
    }

    fn look(&self) -> Vec<String> {
        if self.inspection.before.is_some() {
            return self.inspection.run(None).lines;
        }
        let after = self.snapshots.take("after").unwrap();
        let changes = if after.id > 1 {
            self.snapshots.diff(after.id - 1, after.id).unwrap()
        } else {
            vec![]
        };
        let left_out: Vec<PathBuf> = after.left_out.into_iter().map(|(path, _)| path).collect();
        let content = |hash: &Hash| self.snapshots.content(hash).ok();
        let seen = SeenTraces { changes: &changes, left_out: &left_out, content: &content };
        self.inspection.run(Some(seen)).lines
    }

    fn file(&self, name: &str, text: &str) {
        write(&self.root.join(name), text);
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn repository(folder: &Path, config: &str) {
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    write(&folder.join("HEAD"), "ref: refs/heads/main\n");
    write(&folder.join("config"), config);
}

const PLAIN: &str = "[core]\n\tbare = false\n";
const EVIL: &str = "[core]\n\tbare = false\n\tfsmonitor = ./evil\n";

#[test]
fn a_repository_that_runs_programs_is_made_inert_wherever_it_is() {
    for walks in [false, true] {
        for (at, config) in [
            ("sub/.git", EVIL),
            ("a/b/c/d/e/f/.git", EVIL),
            ("bare", EVIL),
            (".", EVIL),
            (".git/modules/new", EVIL),
            ("node_modules/x/.git", EVIL),
            ("sub/.git", "[core] fsmonitor = x\n"),
        ] {
            let ground = Ground::new(walks, |_| {});
            // At the root itself the one that is there already comes first.
            let folder = ground.root.join(at);
            if at == "." {
                fs::rename(ground.root.join(".git"), ground.root.join("old")).unwrap();
                fs::remove_dir_all(ground.root.join("old")).unwrap();
            }
            repository(&folder, config);
            let lines = ground.look();
            let told = lines.iter().find(|line| line.contains("made inert"));
            assert!(told.is_some(), "{walks} {at}: {lines:?}");
            assert!(!is_repository(&folder), "{walks} {at}");
            assert!(folder.join("HEAD.quarantined-1").exists());
            // Brought back by a later command, it is made inert again.
            let again = Ground { inspection: ground.inspection, ..ground };
            let _ = again.snapshots.take("between").unwrap();
            for name in ["HEAD", "objects"] {
                let aside = folder.join(format!("{name}.quarantined-1"));
                fs::rename(aside, folder.join(name)).unwrap();
            }
            assert!(is_repository(&folder), "{walks} {at}");
            let lines = again.look();
            assert!(!is_repository(&folder), "{walks} {at}: {lines:?}");
        }
    }
}

#[test]
fn a_plain_repository_is_told_and_left_alone() {
    for walks in [false, true] {
        let ground = Ground::new(walks, |_| {});
        repository(&ground.root.join("sub/.git"), PLAIN);
        assert_eq!(ground.look(), ["sub/.git is a new git repository."], "{walks}");
        assert!(is_repository(&ground.root.join("sub/.git")));
        let mut ground = Ground::new(walks, |_| {});
        ground.inspection.by_git = true;
        repository(&ground.root.join("sub/.git"), PLAIN);
        assert!(ground.look().is_empty(), "whoever allowed git clone knows");
    }
}

#[test]
fn the_users_own_repositories_keep_their_hooks() {
    for walks in [false, true] {
        let ground = Ground::new(walks, |root| {
            // Too deep to be guarded, and a bare one in a directory of tests.
            for folder in ["a/b/c/d/e/f/g/.git", "tests/fixture.git"] {
                repository(&root.join(folder), EVIL);
            }
            let worktree = root.join(".git/worktrees/old");
            write(&worktree.join("HEAD"), "ref: refs/heads/x\n");
            write(&worktree.join("commondir"), "../..\n");
            write(&worktree.join("config.worktree"), EVIL);
        });
        // A commit, a checkout in each.
        for folder in ["a/b/c/d/e/f/g/.git", "tests/fixture.git", ".git", ".git/worktrees/old"] {
            ground.file(&format!("{folder}/HEAD"), "ref: refs/heads/other\n");
            ground.file(&format!("{folder}/refs/heads/other"), "0\n");
        }
        // A new worktree of the guarded one, whose hooks it has.
        ground.file(".git/worktrees/new/HEAD", "ref: refs/heads/y\n");
        ground.file(".git/worktrees/new/commondir", "../..\n");
        let target = ground.root.join(".git/worktrees/new");
        ground.file("linked/.git", &format!("gitdir: {}\n", target.display()));
        let lines = ground.look();
        assert!(lines.is_empty(), "{walks} {lines:?}");
        assert!(is_repository(&target));
        // Its own settings are another matter.
        if !walks {
            ground.file(".git/worktrees/new/config.worktree", EVIL);
            assert!(ground.look().iter().any(|line| line.contains("inert")), "{walks}");
        }
    }
}

#[test]
fn a_hook_put_into_an_unguarded_repository_counts() {
    for walks in [false, true] {
        let ground = Ground::new(walks, |root| {
            repository(&root.join("a/b/c/d/e/f/.git"), PLAIN);
        });
        let hook = ground.root.join("a/b/c/d/e/f/.git/hooks/post-checkout");
        write(&hook, "#!/bin/sh\n");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let lines = ground.look();
        assert!(lines.iter().any(|line| line.contains("hooks/post-checkout")), "{walks} {lines:?}");
    }
}

#[test]
fn settings_that_another_repository_uses_count() {
    // Git needs no HEAD in the directory that a commondir leads to.
    for (walks, removes_head) in [(false, false), (false, true), (true, false), (true, true)] {
        let ground = Ground::new(walks, |root| {
            repository(&root.join("store"), PLAIN);
            write(&root.join("sub/.git/HEAD"), "ref: refs/heads/main\n");
            write(&root.join("sub/.git/commondir"), "../../store\n");
        });
        let store = ground.root.join("store");
        if removes_head {
            fs::remove_file(store.join("HEAD")).unwrap();
        }
        ground.file("store/config", EVIL);
        let lines = ground.look();
        assert!(lines.iter().any(|line| line.contains("made inert")), "{walks} {lines:?}");
        assert!(!store.join("objects").exists(), "{walks}: {removes_head}");
    }
}

#[test]
fn a_new_repository_whose_settings_can_change_unnoticed_is_made_inert() {
    let store = |root: &Path| {
        repository(&root.join("store"), PLAIN);
        fs::remove_file(root.join("store/HEAD")).unwrap();
        write(&root.join("sub/.git/HEAD"), "ref: refs/heads/main\n");
        write(&root.join("sub/.git/commondir"), "../../store\n");
    };
    let linked = |root: &Path| {
        repository(&root.join("sub/.git"), PLAIN);
        fs::rename(root.join("sub/.git/config"), root.join("settings")).unwrap();
        symlink("../../settings", root.join("sub/.git/config")).unwrap();
    };
    let hook = |root: &Path| {
        repository(&root.join("sub/.git"), PLAIN);
        symlink("../../later", root.join("sub/.git/hooks/post-checkout")).unwrap();
    };
    let crowd = |root: &Path| {
        repository(&root.join("sub/.git"), PLAIN);
        (0..300).for_each(|n| write(&root.join(format!("sub/.git/hooks/{n}")), ""));
    };
    type Plant<'a> = &'a dyn Fn(&Path);
    let plants: [(&str, Plant<'_>); 4] =
        [("store", &store), ("config", &linked), ("hook", &hook), ("hooks", &crowd)];
    for walks in [false, true] {
        for (name, plant) in plants {
            let ground = Ground::new(walks, |_| {});
            plant(&ground.root);
            let lines = ground.look();
            assert!(lines.iter().any(|line| line.contains("inert")), "{walks} {name} {lines:?}");
            assert!(!is_repository(&ground.root.join("sub/.git")), "{walks} {name}");
        }
    }
}

#[test]
fn the_last_of_many_repositories_is_looked_at() {
    let ground = Ground::new(true, |_| {});
    (0..1_010).for_each(|n| repository(&ground.root.join(format!("many/{n}")), PLAIN));
    let last = ground.root.join("zz/.git");
    repository(&last, EVIL);
    let lines = ground.look();
    assert!(lines[0].contains("made inert") && !is_repository(&last), "{lines:?}");
    assert!(lines.len() < 30 && lines.last().unwrap().contains("991 more"), "{lines:?}");
}

/// The kernel gives a frozen file free when somebody outside replaces it.
#[test]
fn a_frozen_file_that_changed_all_the_same_is_told() {
    for walks in [false, true] {
        let ground = Ground::new(walks, |_| {});
        ground.file(".git/config", "[core]\n\thooksPath = .husky\n[user]\n\tname = x\n");
        assert!(ground.look().is_empty(), "{walks}");
        ground.file(".git/config", EVIL);
        let lines = ground.look();
        assert!(lines[0].contains(".git/config changed") && lines[0].contains("core.fsmonitor"));
        assert!(is_repository(&ground.root.join(".git")), "it may have been the user");
    }
}

#[test]
fn links_to_what_runs_programs_are_taken_out_of_the_way() {
    for walks in [false, true] {
        // The directory it leads to was there before and is the user's: it stays.
        let ground = Ground::new(walks, |root| repository(&root.join("store/x"), EVIL));
        ground.file("one/.git", "gitdir: ../store/x\n");
        fs::create_dir(ground.root.join("two")).unwrap();
        symlink("../store/x", ground.root.join("two/.git")).unwrap();
        ground.file("three/.git", "gitdir: ../missing\n");
        let lines = ground.look();
        assert_eq!(lines.iter().filter(|line| line.contains("made inert")).count(), 2, "{lines:?}");
        for (name, stays) in [("one", false), ("two", false), ("three", true)] {
            let link = ground.root.join(name).join(".git");
            assert_eq!(link.symlink_metadata().is_ok(), stays, "{walks} {name}");
        }
        assert!(is_repository(&ground.root.join("store/x")));
        assert!(ground.root.join("one/.git.quarantined-1").exists());
    }
}

#[test]
fn files_that_others_run_are_told_with_their_runner() {
    for walks in [false, true] {
        let mut ground = Ground::new(walks, |root| {
            write(&root.join(".envrc"), "export A=1\n");
            write(&root.join(".npmrc"), "a=b\n");
            write(&root.join(".mcp.json"), "{}\n");
        });
        ground.inspection.judged.push(PathScope::File(ground.root.join(".mcp.json")));
        assert!(ground.look().is_empty(), "{walks}");
        ground.file(".envrc", "evil\n");
        ground.file(".mcp.json", "{\"allowed\": true}\n");
        ground.file(".vscode/tasks.json", "{}\n");
        ground.file("node_modules/p/.npmrc", "a\n");
        ground.file("src/main.rs", "fn main() {}\n");
        let lines = ground.look();
        let is_new = if walks { "changed" } else { "is new" };
        let expected = format!(
            ".envrc changed: direnv runs it when you enter the directory; .vscode/tasks.json {is_new}: VS Code runs \
             its tasks."
        );
        assert_eq!(lines, [expected], "{walks}");
    }
}

#[test]
fn many_files_are_counted() {
    for walks in [false, true] {
        let ground = Ground::new(walks, |_| {});
        for number in 0..20 {
            ground.file(&format!(".github/workflows/{number:02}.yml"), "x\n");
        }
        let lines = ground.look();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].ends_with("; 15 more such files changed."), "{lines:?}");
    }
}

#[test]
fn scripts_of_an_installation_are_compared() {
    let before = r#"{"scripts": {"test": "a", "prepare": "husky"}}"#;
    for (after, expected) in [
        (r#"{"scripts": {"test": "b", "prepare": "husky"}, "version": "2"}"#, None),
        (r#"{"scripts": {"postinstall": "evil", "prepare": "husky"}}"#, Some("script postinstall")),
        (r#"{"scripts": {"prepare": "evil", "install": "x"}}"#, Some("scripts install, prepare")),
        ("not json", None),
    ] {
        let ground = Ground::new(false, |root| write(&root.join("package.json"), before));
        ground.file("package.json", after);
        let lines = ground.look().join(" ");
        match expected {
            Some(words) => assert!(lines.contains(words), "{after}: {lines}"),
            None => assert_eq!(lines, "", "{after}"),
        }
    }
}

/// Outside the sandbox, or where the command named the settings, with the person's yes: nothing is renamed.
#[test]
fn what_was_allowed_is_only_told() {
    for outside in [true, false] {
        let mut ground = Ground::new(false, |_| {});
        ground.inspection.quarantines = !outside;
        if !outside {
            let config = PathScope::File(ground.root.join("sub/.git/config"));
            ground.inspection.judged.push(config);
        }
        repository(&ground.root.join("sub/.git"), EVIL);
        let lines = ground.look();
        assert_eq!(lines, ["sub/.git runs programs when git is used there: core.fsmonitor."]);
        assert!(is_repository(&ground.root.join("sub/.git")));
    }
    // To write around it is not to name it.
    let mut ground = Ground::new(false, |_| {});
    for scope in [PathScope::Tree(ground.root.clone()), PathScope::File(ground.root.join("sub"))] {
        ground.inspection.judged.push(scope);
    }
    repository(&ground.root.join("sub/.git"), EVIL);
    repository(&ground.root.join("sub"), EVIL);
    ground.inspection.judged.push(PathScope::File(ground.root.join("sub/notes")));
    ground.look();
    assert!(!is_repository(&ground.root.join("sub/.git")));
    assert!(!is_repository(&ground.root.join("sub")));
}

/// The walk ends before it has seen the last repository: that is said, and nothing runs that could use it, until another
/// walk comes to its end.
#[test]
fn what_could_not_be_looked_at_stops_what_could_run_it() {
    for walks in [true, false] {
        let mut ground = Ground::new(walks, |_| {});
        let confinement = confinement(ConfineOptions::default(), [true; 3], &ground.root);
        ground.inspection.unfinished = Arc::clone(&confinement.unfinished);
        ground.inspection.most_names = 150;
        let many = ground.root.join("node_modules");
        (0..40).for_each(|n| repository(&many.join(format!("{n:02}/.git")), EVIL));
        // Snapshots leave a directory of a build out.
        let left_out = [many.clone()];
        let seen = SeenTraces { changes: &[], left_out: &left_out, content: &|_| None };
        let Inspected { lines, unfinished } = ground.inspection.run((!walks).then_some(seen));
        let at = format!("stopped at {}", many.display());
        assert!(lines[0].contains("could not be finished") && lines[0].contains(&at), "{lines:?}");
        assert!(unfinished.is_some_and(|why| why.contains(&at)), "{walks}");
        let live = || (0..40).filter(|n| is_repository(&many.join(format!("{n:02}/.git")))).count();
        assert!(live() > 0, "{walks}: it proves nothing");
        let next = || confinement.finish_inspections(Terms::default());
        let refused = next().unwrap_err();
        assert!(refused.contains(&at), "{refused}");
        let reads = Terms { only_reads: true, ..Terms::default() };
        assert_eq!(confinement.finish_inspections(reads), Ok(Vec::new()));
        // The person makes room, and the rest is looked at.
        (0..20).for_each(|n| fs::remove_dir_all(many.join(format!("{n:02}"))).unwrap());
        let found = next().unwrap();
        assert!(found.iter().any(|line| line.contains("made inert")), "{walks}: {found:?}");
        assert_eq!(live(), 0, "{walks}");
        assert_eq!(next(), Ok(Vec::new()), "nothing is left to do");
    }
}
