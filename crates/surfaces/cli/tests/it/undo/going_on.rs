//! A person continues working after a command, or after it was interrupted; then undoes.

use super::{running, sh, undone};
use crate::support::{World, finish, signal, until};
use rustix::process::Signal;
use serde_json::Value;

const REPOSITORY: &str = "git init -q -b main; git config user.name Ann; git config user.email a@example.org; \
                          echo a > a; git add a; git commit -qm 1";
const COMMIT: &str = "echo agent > ag.txt; git add ag.txt; git commit -qm agent";

fn fates(said: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let paths = said["paths"].as_array().cloned().unwrap_or_default();
    paths.iter().map(|path| (text(&path["path"]), text(&path["fate"]))).collect()
}

fn fate_of(said: &Value, name: &str) -> Option<String> {
    let is = |(path, _): &(String, String)| path.ends_with(&format!("/{name}"));
    fates(said).into_iter().find(is).map(|(_, fate)| fate)
}

/// Nothing that a person made of the command's commit is broken by undoing it.
#[test]
fn objects_stay_for_what_was_made_since() {
    for (person, code, look, expected) in [
        ("true", 0, "git log --format=%s", "1\n"),
        (
            "echo p > p; git add p; git commit -qm person",
            1,
            "git log --format=%s",
            "person\nagent\n1\n",
        ),
        (
            "git tag keep; git branch side",
            0,
            "git log --format=%s keep; git show side:ag.txt; git log --format=%s",
            "agent\n1\nagent\n1\n",
        ),
        (
            "git checkout -qb feature",
            1,
            "git symbolic-ref --short HEAD; git log --format=%s; git log --format=%s main",
            "feature\nagent\n1\n1\n",
        ),
        (
            "echo more >> a; git stash -q",
            1,
            "git stash show -p | tail -1; git log --format=%s stash^",
            "+more\nagent\n1\n",
        ),
        ("git gc -q; git tag keep", 1, "git log --format=%s keep", "agent\n1\n"),
    ] {
        let world = running(&[COMMIT]);
        sh(&world, REPOSITORY);
        assert_eq!(world.go().code, Some(0));
        assert_eq!(world.read("ag.txt"), "agent\n");
        sh(&world, person);
        let (ran, said) = undone(&world, &[]);
        let removed = |(path, fate): &(String, String)| {
            path.contains("/.git/objects") && (fate == "removed" || fate == "lost")
        };
        assert!(!fates(&said).iter().any(removed), "{person}: {said:#}");
        assert_eq!(sh(&world, look), expected, "{person}: {said:#}");
        sh(&world, "git fsck --no-progress --no-dangling --strict && git status >/dev/null");
        assert_eq!(ran.code, Some(code), "{person}: {said:#}");
        assert!(!world.project().join("ag.txt").exists(), "{person}");
    }
}

/// In a bare repository, too.
#[test]
fn objects_of_bare_repositories_stay() {
    let world = running(&[
        "g='git --git-dir=bare.git -c user.name=A -c user.email=a@example.org'; \
                           $g update-ref refs/heads/new $($g commit-tree -m agent $($g write-tree))",
    ]);
    sh(&world, "git init -q --bare bare.git");
    assert_eq!(world.go().code, Some(0));
    sh(&world, "git -C bare.git branch kept new");
    let (ran, said) = undone(&world, &[]);
    let look =
        "cd bare.git; git log --format=%s kept; git branch --list new; git fsck --no-progress";
    assert_eq!(sh(&world, look), "agent\n", "{said:#}");
    assert_eq!(ran.code, Some(1), "the folders of objects are said to stay: {said:#}");
}

/// The branch that a person committed to stays checked out.
#[test]
fn a_branch_that_went_on_stays_checked_out() {
    let world = running(&["git checkout -qb topic; echo b > b; git add b; git commit -qm agent"]);
    sh(&world, REPOSITORY);
    assert_eq!(world.go().code, Some(0));
    sh(&world, "echo p > p; git add p; git commit -qm person");
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(1), "{said:#}");
    assert_eq!(fate_of(&said, ".git/HEAD").as_deref(), Some("kept"), "{said:#}");
    let look = "git symbolic-ref --short HEAD; git log --format=%s; git status --porcelain";
    assert_eq!(sh(&world, look), "topic\nperson\nagent\n1\n D b\n", "{said:#}");
}

/// Runs until the command has done its first half.
fn interrupted(how: Signal, again: bool) -> World {
    let lasting = "rm keep; mkdir made; echo half > half; echo in > made/in; sleep 86398";
    let world = running(&[lasting, "echo second > second"]);
    for name in ["keep", "own", "moved/x"] {
        world.file(name, "person\n");
    }
    let args = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let child = world.command(&args).spawn().unwrap();
    until("it has begun", || world.read("made/in") == "in\n");
    let begun = sign(&world);
    until("a sign of life after it", || sign(&world) > begun);
    signal(&child, how);
    finish(child);
    // What happens within one tick of the file system's clock cannot be told apart.
    let last = sign(&world);
    let tick = world.home().join("tick");
    until("the clock goes on", || {
        std::fs::write(&tick, "").unwrap();
        let now = std::fs::metadata(&tick).and_then(|file| file.modified()).unwrap();
        last.is_none_or(|last| now > last + std::time::Duration::from_millis(20))
    });
    world.file("mine.txt", "mine\n");
    world.file("own", "changed\n");
    sh(&world, "mkdir empty; mv moved away; echo mine > made/mine");
    if again {
        let on = ["-p", "on", "--continue", "--permission-mode", "bypassPermissions"];
        assert_eq!(world.run(&on).code, Some(0));
        assert_eq!(world.read("second"), "second\n");
    }
    world
}

/// The last sign of life of the running command.
fn sign(world: &World) -> Option<std::time::SystemTime> {
    let projects = std::fs::read_dir(world.home().join("snapshots")).ok()?.flatten();
    let mut files = projects.filter_map(|folder| std::fs::read_dir(folder.path()).ok()).flatten();
    let is_sign = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("alive-");
    let sign = files.find_map(|file| file.ok().filter(|file| is_sign(&file.file_name())))?;
    sign.metadata().ok()?.modified().ok()
}

/// What a person did after an interrupted command is not taken for its work, in the same session or a later one.
#[test]
fn what_was_done_after_an_interruption_stays() {
    for how in [Signal::INT, Signal::TERM, Signal::KILL] {
        for again in [false, true] {
            let case = format!("{how:?} {again}");
            let world = interrupted(how, again);
            let (ran, said) = undone(&world, if again { &["2"] } else { &[] });
            // Nobody can tell who moved it: it may be in both places, but not in none.
            let person = "cat mine.txt own away/x made/mine; ls -d empty; ls | grep -vx moved";
            assert_eq!(
                sh(&world, person),
                "mine\nchanged\nperson\nmine\nempty\naway\nempty\nkeep\nmade\nmine.txt\nown\n",
                "{case}: {said:#}"
            );
            assert_eq!(sh(&world, "ls made; cat keep"), "mine\nperson\n", "{case}: {said:#}");
            assert_eq!(ran.code, Some(1), "{case}: {said:#}");
            let unseen = how == Signal::KILL;
            assert_eq!(said["notices"].to_string().contains("was killed"), unseen, "{case}");
            let expected = unseen.then_some("kept");
            assert_eq!(fate_of(&said, "mine.txt").as_deref(), expected, "{case}: {said:#}");
            assert_eq!(sign(&world).is_some(), unseen, "{case}");
        }
    }
}

/// Nothing tells how long it ran: nothing that is there is taken away.
#[test]
fn without_a_sign_of_life_only_what_is_gone_comes_back() {
    let world = interrupted(Signal::KILL, false);
    sh(&world, &format!("rm {}/snapshots/*/alive-*", world.home().display()));
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(1), "{said:#}");
    assert_eq!(sh(&world, "cat half keep mine.txt own"), "half\nperson\nmine\nchanged\n");
    assert_eq!(fate_of(&said, "half").as_deref(), Some("kept"), "{said:#}");
}

/// Whatever was done, the hint names a command that takes it back.
#[test]
fn the_hint_works() {
    let world = running(&["echo 1 > one", "echo 2 > two"]);
    world.go();
    let hint = |args: &[&str]| {
        let ran = world.run(args);
        let line = ran.stdout.lines().last().unwrap_or_default().to_owned();
        let (_, way) = line.split_once(": ostler ").unwrap_or_default();
        way.to_owned()
    };
    let redo = hint(&["undo", "2"]);
    assert_eq!((redo.as_str(), sh(&world, "ls").as_str()), ("undo --redo", ""));
    let undo = hint(&["undo", "--redo"]);
    assert_eq!((undo.as_str(), sh(&world, "ls").as_str()), ("undo 2", "one\ntwo\n"));
    let words: Vec<&str> = undo.split(' ').collect();
    assert_eq!((hint(&words).as_str(), sh(&world, "ls").as_str()), ("undo --redo", ""));
}

/// A directory that the command made and a person opened or closed since stays, and is said.
#[test]
fn a_folder_with_another_mode_is_said() {
    let world = running(&["mkdir e; chmod 700 e; mkdir -p old; chmod 711 old"]);
    sh(&world, "mkdir old; chmod 755 old");
    world.go();
    sh(&world, "chmod 755 e; chmod 750 old");
    let (ran, said) = undone(&world, &[]);
    assert_eq!(ran.code, Some(1), "{said:#}");
    for name in ["e", "old"] {
        assert_eq!(fate_of(&said, name).as_deref(), Some("kept"), "{said:#}");
        assert!(world.project().join(name).is_dir());
    }
}
