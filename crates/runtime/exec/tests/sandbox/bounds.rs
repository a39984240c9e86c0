//! Bounds that come from a proof hold even where the proof is wrong. Every exploit first succeeds
//! without a sandbox; then it is run as if somebody had proved that it only reads, and that it
//! starts only the programs it claims.

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ostler_exec::{Bounds, Layers, Sandbox};

use crate::actions::{Action, FILES, FROZEN, PROCESSES, SOCKETS};
use crate::exploits::{EXPLOITS, LOADER};
use crate::ordinary_user;
use crate::world::{World, combinations};

const DID_IT: &str = "DID-IT";

const SEARCH_PATH: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin"];

/// What a command gets that was proved to be read-only with these programs; none: with any.
pub fn reading(world: &World, claims: Option<&[&str]>) -> Sandbox {
    let layers = Layers { landlock: true, seccomp: true, bubblewrap: false };
    let mut sandbox = world.sandbox(layers);
    sandbox.hidden.retain(|path| !path.starts_with(&world.root));
    sandbox.frozen.clear();
    sandbox.readable.append(&mut sandbox.writable);
    let programs = |names: &[&str]| names.iter().map(|name| program(name)).collect();
    sandbox.bounds = Some(Bounds {
        programs: claims.map(programs),
        search_path: SEARCH_PATH.map(PathBuf::from).to_vec(),
        reads: Vec::new(),
        only_reads: true,
        temp: false,
    });
    sandbox
}

fn program(name: &str) -> PathBuf {
    let found = SEARCH_PATH.iter().map(|place| Path::new(place).join(name));
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{name} is missing"))
}

async fn has_floor(world: &World) -> bool {
    let floor = combinations(world).await.iter().any(|(name, _)| *name == "floor");
    if !floor {
        println!("SKIPPED: this machine has no floor");
    }
    floor
}

/// Everything below a directory: names, modes, owners, times and contents.
fn everything(folder: &Path) -> String {
    let mut text = String::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let data = path.symlink_metadata().unwrap();
        let (mode, owner, group) = (data.mode(), data.uid(), data.gid());
        let times = (data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec());
        let content = if data.is_file() { std::fs::read(&path).ok() } else { None };
        writeln!(text, "{} {mode:o} {owner}:{group} {times:?} {content:?}", path.display())
            .unwrap();
        if data.is_dir() {
            let mut below: Vec<_> = std::fs::read_dir(&path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|it| it.path())
                .collect();
            below.sort();
            waiting.extend(below);
        }
    }
    text
}

#[tokio::test]
async fn what_slips_through_a_proof_has_no_effect() {
    let name = "bounds::what_slips_through_a_proof_has_no_effect";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if !has_floor(&world).await {
        return;
    }
    let mut refused = 0;
    for exploit in EXPLOITS {
        if exploit.claims.contains(&"python3") && !Path::new("/usr/bin/python3").exists() {
            println!("SKIPPED {}: python3 is not installed", exploit.name);
            continue;
        }
        let script = exploit.script.replace("LOADER", LOADER);
        let before = everything(&base);
        let free = world.run(&script, None).await.output.to_text();
        let worked = free.contains(DID_IT) || everything(&base) != before;
        if !worked && exploit.may_lack {
            println!("SKIPPED {}: it does not work here anyway: {free}", exploit.name);
            continue;
        }
        assert!(worked, "{} fails without a sandbox: {free}", exploit.name);
        world.reset();
        let before = everything(&base);
        let sandbox = reading(&world, Some(exploit.claims));
        let text = world.run(&script, Some(&sandbox)).await.output.to_text();
        assert!(!text.contains(DID_IT), "{}: {text}", exploit.name);
        assert_eq!(everything(&base), before, "{}: {text}", exploit.name);
        refused += 1;
    }
    println!("without effect: {refused} of {} exploits", EXPLOITS.len());
    assert!(refused * 4 > EXPLOITS.len() * 3, "most of it was skipped");
}

/// Even with every program of the system, reading is all a reading command can do.
#[tokio::test]
async fn with_any_program_a_reading_command_changes_and_reaches_nothing() {
    let name = "bounds::with_any_program_a_reading_command_changes_and_reaches_nothing";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if !has_floor(&world).await {
        return;
    }
    let sandbox = reading(&world, None);
    let hidden = |action: &&Action| !action.name.contains("hidden in the root");
    let all = FILES.iter().filter(hidden).chain(PROCESSES).chain(SOCKETS).chain(FROZEN);
    let mut refused = 0;
    for action in all.filter(|action| action.needs.iter().all(|need| Path::new(need).exists())) {
        let before = everything(&base);
        let text = world.run(action.script, Some(&sandbox)).await.output.to_text();
        assert!(!text.contains(DID_IT), "{}: {text}", action.name);
        assert_eq!(everything(&base), before, "{}: {text}", action.name);
        refused += 1;
    }
    println!("refused {refused} actions");
    assert!(refused > 50);
}

#[tokio::test]
async fn only_named_programs_run_and_what_the_kernel_starts_for_them() {
    let name = "bounds::only_named_programs_run_and_what_the_kernel_starts_for_them";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if !has_floor(&world).await {
        return;
    }
    let script = world.root.join("script");
    std::fs::write(&script, "#!/bin/sh\necho $1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let mut sandbox = reading(&world, Some(&["cat", "seq"]));
    let run = async |script: &str, sandbox: &Sandbox| {
        let finished = world.run(script, Some(sandbox)).await;
        (finished.output.to_text(), finished.status.to_string())
    };
    let text =
        run("seq 3 | cat | while read x; do echo $x; done; cat $HOME/.tools/version", &sandbox);
    assert_eq!(text.await.0, "1\n2\n3\ncontent\n");
    for unnamed in ["head -1 script", "./script x", "/usr/bin/head script", "sh -c :", "exec id"] {
        let (text, status) = run(unnamed, &sandbox).await;
        assert!(text.contains("Permission denied"), "{unnamed}: {text}");
        assert_eq!(status, "exit code 126", "{unnamed}");
    }
    // Programs can be found and listed, not opened.
    let (text, _) = run("ls() { echo /usr/bin/*; }; ls | cat", &sandbox).await;
    assert!(text.contains("/usr/bin/head"), "{text}");
    let (text, _) =
        run("command -v head; test -x /usr/bin/head; echo $?; cat /usr/bin/head", &sandbox).await;
    assert_eq!(text, "/usr/bin/head\n0\ncat: /usr/bin/head: Permission denied\n");
    // A script brings its interpreter. What was judged to be read can be read and not executed.
    let bounds = sandbox.bounds.as_mut().unwrap();
    bounds.programs.as_mut().unwrap().push(script);
    bounds.reads.push("/usr/bin/head".into());
    assert_eq!(run("./script x", &sandbox).await.0, "x\n");
    let (text, _) =
        run("cat /usr/bin/head | head -c 3; cat /usr/bin/head > /dev/null && echo read", &sandbox)
            .await;
    assert!(text.contains("Permission denied") && text.ends_with("read\n"), "{text}");
}

/// The loader is executable, or no program would be. A readable file that is no program of the
/// system can be started with it, and finds the same bounds.
#[tokio::test]
async fn a_program_that_the_loader_starts_from_the_workspace_has_no_effect() {
    let name = "bounds::a_program_that_the_loader_starts_from_the_workspace_has_no_effect";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if !has_floor(&world).await {
        return;
    }
    for program in ["touch", "chmod", "id"] {
        std::fs::copy(Path::new("/usr/bin").join(program), world.root.join(program)).unwrap();
    }
    let sandbox = reading(&world, Some(&[]));
    let run = async |script: String| world.run(&script, Some(&sandbox)).await.output.to_text();
    let started = run(format!("{LOADER} ./id -u")).await;
    assert!(started.trim().parse::<u32>().is_ok(), "the documents say otherwise: {started}");
    let before = everything(&base);
    for script in
        ["./touch new", "./touch $OUT/victim", "./chmod 600 $OUT/victim", "./touch $TMPDIR/new"]
    {
        let text = run(format!("{LOADER} {script} && echo DID-IT")).await;
        assert!(!text.contains(DID_IT), "{script}: {text}");
    }
    assert_eq!(everything(&base), before);
}

#[tokio::test]
async fn a_granted_temporary_directory_is_the_only_place_that_changes() {
    let name = "bounds::a_granted_temporary_directory_is_the_only_place_that_changes";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    if !has_floor(&world).await {
        return;
    }
    let mut sandbox = reading(&world, Some(&["sort", "tac", "seq", "head", "cat", "tail"]));
    // Small buffers, so that sort needs files.
    let sort = "seq 100000 | sort -R -S 64K | sort -n -S 64K | head -2 | tail -1";
    assert!(world.run(sort, Some(&sandbox)).await.output.to_text().contains("Permission denied"));
    sandbox.bounds.as_mut().unwrap().temp = true;
    let before = everything(&world.base.join("home"));
    let document = format!("cat <<E | tail -c 4\n{}\nend\nE", "long ".repeat(20_000));
    for (script, expected) in
        [(sort, "2\n"), ("seq 3 | tac | head -1", "3\n"), (document.as_str(), "end\n")]
    {
        let text = world.run(script, Some(&sandbox)).await.output.to_text();
        assert_eq!(text, expected);
    }
    let text = world.run("echo x > $TMPDIR/x; $TMPDIR/x; echo y > y", Some(&sandbox)).await;
    assert!(text.output.to_text().matches("Permission denied").count() == 2);
    assert!(world.temp.join("x").exists());
    assert_eq!(everything(&world.base.join("home")), before);
}

/// Rules that are used again are the rules that would be made now.
#[tokio::test]
async fn kept_rules_follow_the_files() {
    let Some(base) = ordinary_user::folder("bounds::kept_rules_follow_the_files") else { return };
    let world = World::new(&base);
    if !has_floor(&world).await {
        return;
    }
    let mut sandbox = reading(&world, Some(&["cat"]));
    sandbox.hidden.push(world.root.join("keys"));
    let show = |name: &'static str| {
        let script = format!("cat {name}");
        let sandbox = &sandbox;
        let world = &world;
        async move { world.run(&script, Some(sandbox)).await.output.to_text() }
    };
    let write = |name: &str| std::fs::write(world.root.join(name), name).unwrap();
    write("first");
    for _ in 0..3 {
        assert_eq!(show("first").await, "first");
        assert!(show("keys/secret").await.contains("Permission denied"));
    }
    // The root is granted entry by entry, because something in it is hidden.
    write("second");
    assert_eq!(show("second").await, "second");
    std::fs::rename(world.root.join("keys"), world.root.join("was")).unwrap();
    std::fs::rename(world.root.join("src"), world.root.join("keys")).unwrap();
    write("keys/new");
    assert!(show("keys/new").await.contains("Permission denied"));
    assert_eq!(show("was/secret").await, "content\n", "it is not called so any more");
}

/// Commands that change files by named programs: nothing else is executed, with every layer.
#[tokio::test]
async fn named_programs_bound_commands_that_write_too() {
    let Some(base) = ordinary_user::folder("bounds::named_programs_bound_commands_that_write_too")
    else {
        return;
    };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let mut sandbox = world.sandbox(layers);
        sandbox.hidden.retain(|path| !path.starts_with(&world.root));
        let programs = Some(["cp", "chmod"].map(program).to_vec());
        sandbox.bounds = Some(Bounds { programs, ..Bounds::default() });
        let script = "echo x > src/a && cp src/a src/b && chmod 700 src/b && src/b; \
            cp /usr/bin/id src/id; src/id; touch src/c; echo x > $TMPDIR/x && echo done";
        let text = world.run(script, Some(&sandbox)).await.output.to_text();
        assert!(text.ends_with("done\n"), "{name}: {text}");
        assert!(world.root.join("src/b").exists(), "{name}: {text}");
        if layers.landlock {
            assert_eq!(text.matches("Permission denied").count(), 3, "{name}: {text}");
            assert!(!world.root.join("src/c").exists(), "{name}");
        }
        world.reset();
    }
}
