//! When a call is held whole, weakly or not at all, and what it is held by.

use super::*;
use ostler_core::permission::{Policy, Rule};
use ostler_exec::{Bounds, SupervisorProgram};
use std::fs;

/// A machine with these layers, and a workspace that is a repository.
pub(super) fn confinement(options: ConfineOptions, layers: [bool; 3], root: &Path) -> Confinement {
    let executor = Executor::new(SupervisorProgram::this_binary(["none"]));
    let workspace = Workspace {
        cwd: root.into(),
        roots: vec![root.into()],
        home: "/home/nobody-at-all".into(),
        ours: vec!["/home/nobody-at-all/.ostler".into()],
        tools: crate::known_tools(),
        ..Workspace::default()
    };
    let confinement = Confinement::new(executor, options, workspace, Vec::new());
    let [landlock, seccomp, bubblewrap] = layers;
    let missing = || "missing".to_owned();
    let found = AvailableLayers {
        landlock: landlock.then_some(7).ok_or_else(missing),
        seccomp: seccomp.then_some(()).ok_or_else(missing),
        bubblewrap: bubblewrap.then(|| "/usr/bin/bwrap".into()).ok_or_else(missing),
    };
    assert!(confinement.found.set(found).is_ok());
    confinement
}

const ALL: [bool; 3] = [true, true, true];
const FLOOR: [bool; 3] = [true, true, false];

fn word(hold: &Hold) -> &'static str {
    match hold {
        Hold::Whole => "whole",
        Hold::Weak(_) => "weak",
        Hold::Lifted => "lifted",
    }
}

#[test]
fn a_missing_layer_weakens_and_a_persons_word_settles_it() {
    let reads = ostler_shell::steps("cat a");
    let writes = ostler_shell::steps("make");
    assert!(reads.only_reads() && !writes.only_reads());
    for (layers, expected) in [
        (ALL, ["whole", "whole"]),
        ([false, true, true], ["whole", "whole"]),
        (FLOOR, ["whole", "weak"]),
        ([true, false, true], ["weak", "weak"]),
        ([true, false, false], ["weak", "weak"]),
        ([false, true, false], ["weak", "weak"]),
        ([false, false, false], ["weak", "weak"]),
    ] {
        let root = Path::new("/ws");
        let strict = confinement(ConfineOptions::default(), layers, root);
        let found = [&reads, &writes].map(|commands| word(&strict.hold(commands, false)));
        assert_eq!(found, expected, "{layers:?}");
        assert_eq!(strict.hold(&reads, true), Hold::Lifted);
        let accepts = ConfineOptions { accept_missing: true, ..ConfineOptions::default() };
        assert_eq!(confinement(accepts, layers, root).hold(&writes, false), Hold::Whole);
        let off = ConfineOptions { enabled: false, ..ConfineOptions::default() };
        let off = confinement(off, layers, root);
        assert_eq!(off.hold(&writes, false), Hold::Whole);
        assert_eq!(off.hold(&writes, true), Hold::Whole, "there is nothing to lift");
        assert!(off.held(Terms::default()).unwrap().sandbox.is_none());
    }
    let disk = confinement(ConfineOptions::default(), ALL, Path::new("/"));
    assert_eq!(word(&disk.hold(&reads, false)), "weak");
}

/// A person may accept that a layer is missing; rules on programs still do not lean on what is not there.
#[test]
fn what_is_missing_of_the_whole_sandbox() {
    let root = Path::new("/ws");
    for (layers, expected) in [
        (ALL, None),
        ([false, true, true], None),
        (FLOOR, Some("missing")),
        ([false, false, false], Some("this system cannot")),
    ] {
        for accept_missing in [false, true] {
            let options = ConfineOptions { accept_missing, ..ConfineOptions::default() };
            let found = confinement(options, layers, root).not_whole(false);
            match expected {
                None => assert_eq!(found, None, "{layers:?}"),
                Some(part) => assert!(found.is_some_and(|why| why.contains(part)), "{layers:?}"),
            }
        }
    }
    let strict = confinement(ConfineOptions::default(), ALL, root);
    assert_eq!(strict.not_whole(true).as_deref(), Some("it would run outside the sandbox"));
    let off = ConfineOptions { enabled: false, ..ConfineOptions::default() };
    let off = confinement(off, ALL, root).not_whole(false);
    assert_eq!(off.as_deref(), Some("the sandbox is off"));
}

#[test]
fn what_a_call_is_held_by() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::write(root.join(".git/config"), "[core]\n").unwrap();
    let strict = confinement(ConfineOptions::default(), ALL, &root);
    let sandbox = |terms: Terms<'_>| strict.held(terms).unwrap().sandbox.clone().unwrap();
    let plain = sandbox(Terms::default());
    let (hooks, config) = (root.join(".git/hooks"), root.join(".git/config"));
    assert!(plain.frozen.contains(&hooks) && plain.frozen.contains(&config));
    assert_eq!(plain.writable, std::slice::from_ref(&root));
    assert!(plain.hidden.contains(&"/home/nobody-at-all/.ssh".into()));
    assert!(plain.hidden.contains(&"/home/nobody-at-all/.ostler".into()));
    assert!(!plain.network);
    assert!(sandbox(Terms { network: true, ..Terms::default() }).network);
    // A command of git may change settings that make nothing run, so those are looked at afterwards.
    let git = sandbox(Terms { git: true, ..Terms::default() });
    assert!(git.frozen.contains(&hooks) && !git.frozen.contains(&config));
    // What was judged and allowed by name is not frozen.
    let named = [PathScope::File(hooks.join("pre-commit"))];
    assert!(sandbox(Terms { writes: &named, ..Terms::default() }).frozen.contains(&hooks));
    let whole = [PathScope::Tree(root.join(".git"))];
    assert!(sandbox(Terms { writes: &whole, ..Terms::default() }).frozen.is_empty());
    // What only reads gets nothing to write, and no mounts.
    let reading = sandbox(Terms { only_reads: true, ..Terms::default() });
    assert!(reading.writable.is_empty() && reading.readable.contains(&root));
    assert_eq!(reading.layers, Layers { landlock: true, seccomp: true, bubblewrap: false });
    let mounts = confinement(ConfineOptions::default(), [false, true, true], &root);
    let reading = mounts.held(Terms { only_reads: true, ..Terms::default() }).unwrap();
    let reading = reading.sandbox.clone().unwrap();
    assert!(reading.writable.is_empty() && reading.bounds.as_ref().unwrap().only_reads);
    let lifted = Terms { lifted: true, ..Terms::default() };
    assert!(strict.held(lifted).unwrap().sandbox.is_none());
}

/// Landlock alone could not list a directory that holds a hidden one, so bubblewrap does it where there is one.
#[test]
fn a_root_with_a_hidden_directory_can_be_listed() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    fs::create_dir(root.join("vault")).unwrap();
    fs::write(root.join("key"), "").unwrap();
    let denying = |name: &str| {
        let deny_read = vec![root.join(name)];
        ConfineOptions { deny_read, ..ConfineOptions::default() }
    };
    let terms = Terms { only_reads: true, ..Terms::default() };
    for (name, layers, mounts) in [
        ("vault", ALL, true),
        ("vault", FLOOR, false),
        ("key", ALL, false),
        ("missing", ALL, false),
        ("../elsewhere", ALL, false),
    ] {
        let held = confinement(denying(name), layers, &root).held(terms).unwrap();
        let sandbox = held.sandbox.clone().unwrap();
        assert_eq!(sandbox.layers.bubblewrap, mounts, "{name} {layers:?}");
        assert!(sandbox.writable.is_empty(), "{name}: it still only reads");
    }
}

/// The policy comes from the proof: which programs, whether it writes at all, and whether it needs temporary files.
#[test]
fn a_proof_bounds_what_runs() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    let strict = confinement(ConfineOptions { network: true, ..Default::default() }, ALL, &root);
    let sandbox = |text: &str| {
        let (commands, judged) = (ostler_shell::steps(text), Access::default());
        let terms = Terms::of(&commands, &judged, OsStr::new("/usr/bin:/bin"), false);
        strict.held(terms).unwrap().sandbox.clone().unwrap()
    };
    let real = |name: &str| Path::new("/usr/bin").join(name).canonicalize().unwrap();
    let cat = sandbox("cat f | head -1; echo done");
    let bounds = cat.bounds.clone().unwrap();
    assert!(bounds.only_reads && !bounds.temp && !cat.network);
    assert_eq!(bounds.programs.unwrap(), [real("cat"), real("head")]);
    assert!(bounds.search_path.contains(&Path::new("/usr/bin").canonicalize().unwrap()));
    for text in ["sort f", "seq 3 | tac", "cat <<E\nx\nE"] {
        let sort = sandbox(text);
        assert!(sort.bounds.as_ref().unwrap().temp, "{text}");
        assert_ne!(sort.temp, cat.temp, "{text}: it has a directory of its own");
        assert!(!sort.temp.exists(), "{text}: it is removed with the call");
    }
    // What writes by programs that a table knows executes nothing else; the rest is not bounded.
    let writes = sandbox("cp a b").bounds.clone().unwrap();
    assert_eq!(writes, Bounds { programs: Some(vec![real("cp")]), ..Bounds::default() });
    assert_eq!(sandbox("make").bounds, None);
    assert_eq!(sandbox("cp a b; make").bounds, None);
}

#[test]
fn without_mounts_what_makes_git_run_programs_is_put_back() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::write(root.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
    let floor = confinement(ConfineOptions::default(), FLOOR, &root);
    let hook = root.join(".git/hooks/pre-commit");
    let mut held = floor.held(Terms::default()).unwrap();
    assert!(held.sandbox.as_ref().unwrap().frozen.is_empty());
    fs::write(&hook, "evil").unwrap();
    let told = held.settle(|path| path.display().to_string());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("pre-commit") && !hook.exists());
    // Also when the call is dropped before its end.
    let held = floor.held(Terms::default()).unwrap();
    fs::write(&hook, "evil").unwrap();
    drop(held);
    assert!(!hook.exists());
    // A branch may follow another one.
    let mut held = floor.held(Terms { git: true, ..Terms::default() }).unwrap();
    let more = "[core]\n\tbare = false\n[branch \"x\"]\n\tremote = origin\n";
    fs::write(root.join(".git/config"), more).unwrap();
    assert!(held.settle(|path| path.display().to_string()).is_empty());
    assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), more);
}

/// Only what the sandbox protects need not be looked at afterwards.
#[test]
fn a_worktree_counts_as_known_once_it_is_protected() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    let git = root.join(".git");
    for folder in ["objects", "refs", "worktrees/old"] {
        fs::create_dir_all(git.join(folder)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let strict = confinement(ConfineOptions::default(), ALL, &root);
    let known = || strict.inspection(Terms::default(), false, || 0).unwrap().unwrap().known;
    let [old, new] = ["old", "new"].map(|name| git.join("worktrees").join(name));
    assert_eq!(known(), [git.clone(), old.clone()]);
    fs::create_dir(&new).unwrap();
    assert_eq!(known(), [git.clone(), old], "it is not frozen yet");
    strict.forget_repositories();
    assert!(known().contains(&new));
}

fn denying(layers: [bool; 3], root: &Path, rules: &[&str]) -> Confinement {
    let confinement = confinement(ConfineOptions::default(), layers, root);
    let parse = |rule: &&str| Rule::parse(rule, &confinement.workspace.now()).unwrap();
    let deny = rules.iter().map(parse).collect();
    confinement.denying(&Policy { deny, ..Policy::default() })
}

/// Also for hooks, whose changes nobody looks at.
#[test]
fn denied_files_are_hidden_from_whatever_runs() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    fs::write(root.join(".env"), "secret").unwrap();
    fs::create_dir(root.join("vault")).unwrap();
    let read = Terms { only_reads: true, ..Terms::default() };
    let hook = Terms { unguarded: true, ..Terms::default() };
    for (layers, rule, terms, bubblewrap) in [
        (ALL, "Read(./.env)", Terms::default(), true),
        (ALL, "Read(./.env)", hook, true),
        (ALL, "Read(.env)", read, false),
        (ALL, "Read(./vault/**)", read, true),
        (FLOOR, "Read(./vault/**)", read, false),
        (FLOOR, "Read(./.env)", hook, false),
    ] {
        let held = denying(layers, &root, &[rule]).held(terms).unwrap();
        let sandbox = held.sandbox.clone().unwrap();
        let path = if rule.contains("vault") { "vault" } else { ".env" };
        assert!(sandbox.hidden.contains(&root.join(path)), "{layers:?} {rule}");
        assert_eq!(sandbox.layers.bubblewrap, bubblewrap, "{layers:?} {rule}");
        let is_writable = sandbox.writable.contains(&root);
        assert_eq!(
            is_writable, !terms.only_reads,
            "{layers:?} {rule}: what only reads, only reads"
        );
        let own = sandbox.temp.file_name().unwrap().to_str().unwrap().starts_with("reading-");
        assert_eq!(own, terms.only_reads, "{layers:?} {rule}: its temporary files are its own");
    }
    // A root that must not be changed at all can be read, with every layer.
    for layers in [ALL, FLOOR] {
        let held = denying(layers, &root, &["Edit(./**)"]).held(Terms::default()).unwrap();
        let sandbox = held.sandbox.clone().unwrap();
        assert!(sandbox.writable.is_empty() && sandbox.readable.contains(&root));
    }
    let part = || denying(FLOOR, &root, &["Edit(./vault/**)"]);
    assert!(part().held(Terms::default()).is_err(), "only bubblewrap can do that");
    assert!(part().held(Terms { accepts_gaps: true, ..Terms::default() }).is_ok());
    assert!(part().held(read).is_ok(), "it writes nothing");
    let off = ConfineOptions { enabled: false, ..ConfineOptions::default() };
    let off = confinement(off, ALL, &root);
    assert_eq!(off.denials(&ostler_shell::steps("make"), false), Denials::Decision);
}

/// Programs find their settings by `HOME`; what lies there is hidden and readable as in a home that was named.
#[test]
fn the_home_of_commands_stands_in_for_one_that_nobody_named() {
    let executor = Executor::new(SupervisorProgram::this_binary(["none"]));
    let environment = vec![("HOME".into(), "/home/nobody-at-all".into())];
    let confinement =
        Confinement::new(executor, ConfineOptions::default(), Workspace::default(), environment);
    let sandbox = confinement.sandbox(Vec::new(), false, Layers::default()).unwrap();
    assert!(sandbox.homes.contains(&"/home/nobody-at-all".into()));
    assert!(sandbox.hidden.contains(&"/home/nobody-at-all/.ssh".into()));
}

/// Programs that a later `PATH` names can be read, and a directory that is added later can be written.
#[test]
fn a_new_environment_and_a_new_directory_widen_what_commands_reach() {
    let world = tempfile::tempdir().unwrap();
    let base = world.path().canonicalize().unwrap();
    for folder in ["ws", "more", "home/bin"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    let root = base.join("ws");
    let workspace = Live::from(Workspace {
        cwd: root.clone(),
        roots: vec![root.clone()],
        home: base.join("home"),
        ..Workspace::default()
    });
    let environment: Live<CommandVariables> = Live::default();
    let strict = Confinement::new(
        Executor::new(SupervisorProgram::this_binary(["none"])),
        ConfineOptions::default(),
        workspace.clone(),
        environment.clone(),
    );
    let reach = || {
        let sandbox = strict.sandbox(Vec::new(), false, Layers::default()).unwrap();
        (sandbox.writable, sandbox.readable.contains(&base.join("home/bin")))
    };
    assert_eq!(reach(), (vec![root.clone()], false));
    environment.set(vec![("PATH".into(), base.join("home/bin").into())]);
    assert_eq!(reach(), (vec![root.clone()], true));
    let roots = vec![root, base.join("more")];
    workspace.update(|workspace| Workspace { roots: roots.clone(), ..workspace.clone() });
    assert_eq!(reach(), (roots, true));
}
