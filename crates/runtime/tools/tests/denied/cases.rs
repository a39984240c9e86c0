//! What commands and tools do not get at, and what they need not ask for.

use crate::support::text;
use crate::world::{MARK, Machine, SECRET, World, machines};
use futures_util::future::BoxFuture;
use ostler_core::permission::{Denials, Mode, Verdict};
use serde_json::json;
use std::path::Path;

type Case = fn() -> BoxFuture<'static, ()>;

pub fn all() -> Vec<(&'static str, Case)> {
    vec![
        ("no_command_shows_or_changes_a_denied_file", || {
            Box::pin(no_command_shows_or_changes_a_denied_file())
        }),
        ("a_denied_directory_and_globs_hold", || Box::pin(a_denied_directory_and_globs_hold())),
        ("files_made_between_commands_are_found", || {
            Box::pin(files_made_between_commands_are_found())
        }),
        ("everyday_commands_need_not_ask", || Box::pin(everyday_commands_need_not_ask())),
        ("what_names_the_file_is_denied", || Box::pin(what_names_the_file_is_denied())),
        ("what_git_tracks_still_asks", || Box::pin(what_git_tracks_still_asks())),
        ("denied_edits_are_refused", || Box::pin(denied_edits_are_refused())),
        ("what_cannot_be_enforced_asks_and_does_not_run", || {
            Box::pin(what_cannot_be_enforced_asks_and_does_not_run())
        }),
        ("permissions_taken_away_do_not_uncover_a_file", || {
            Box::pin(permissions_taken_away_do_not_uncover_a_file())
        }),
        ("file_tools_know_other_names", || Box::pin(file_tools_know_other_names())),
    ]
}

const MODES: [Mode; 3] = [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions];

/// Each prints the secret, or changes it, where nothing is denied. The second is a program that must be installed.
const ACTIONS: &[(&str, &str)] = &[
    ("cat .env", "cat"),
    ("cat $(echo .env)", "cat"),
    ("bash -c 'cat .e\"\"nv'", "bash"),
    ("x=.env; cat \"$x\"", "cat"),
    ("cat < .env", "cat"),
    ("while read -r line || [ -n \"$line\" ]; do echo \"$line\"; done < .env", "bash"),
    ("python3 -c \"print(open('.env').read())\"", "python3"),
    ("python3 -c \"import os; print(os.read(os.open('.e'+'nv', 0), 99))\"", "python3"),
    ("cp .env x; cat x", "cp"),
    ("mv .env x; cat x", "mv"),
    ("rm -f .env", "rm"),
    ("ln .env y && cat y", "ln"),
    ("cat hard", "cat"),
    ("cat soft", "cat"),
    ("cat sub/up", "cat"),
    ("tar cf - .", "tar"),
    ("git add -f .env; git show :.env", "git"),
    ("git hash-object -w --stdin < .env | xargs git cat-file -p", "git"),
    ("exec 3<.env; cat <&3", "cat"),
    ("cat \"/proc/self/root/$PWD/.env\"", "cat"),
    ("cat /proc/self/cwd/.env", "cat"),
    ("cat /proc/$$/cwd/.env", "cat"),
    // By its name: where the project lies in a hidden home, the directory above it cannot be listed.
    ("cd ..; cat ws/.env", "cat"),
    ("cd sub/..; cat */.env", "cat"),
    ("cat .en*", "cat"),
    ("cat .*", "cat"),
    ("grep -r TOKEN .", "grep"),
    ("grep -rh TOKEN --include=.env .", "grep"),
    ("find . -name '.e*' -exec cat {} +", "find"),
    ("echo changed > .env", "bash"),
    ("echo changed >> .env", "bash"),
    ("sed -i s/TOKEN/x/ .env; cat .env", "sed"),
    (
        "python3 -c \"import os; os.rename('hard', '.env'); os.remove('hard')\"; rm -f hard",
        "python3",
    ),
    ("cp a.txt .env", "cp"),
    ("mv a.txt .env", "mv"),
    ("chmod 600 .env && cat .env", "chmod"),
    ("mv sub moved; cat moved/.env", "mv"),
    ("dd if=.env 2>/dev/null", "dd"),
];

/// Other names are there before the command starts.
async fn prepared(machine: Machine, deny: &[&str]) -> World {
    let world = World::new(machine, deny, &[]).await;
    world.hard_link(".env", "hard");
    world.link(".env", "soft");
    world.link("../.env", "sub/up");
    world.put("sub/.env", SECRET);
    world
}

async fn no_command_shows_or_changes_a_denied_file() {
    let (mut ran, mut denied, mut unasked) = (0, 0, 0);
    let machines = machines().await;
    for (action, program) in ACTIONS {
        let is_there = |place: &str| Path::new(place).join(program).exists();
        if !["/usr/bin", "/bin"].into_iter().any(is_there) {
            println!("SKIPPED {action}: {program} is not installed");
            continue;
        }
        let (mut has_effect, mut free_output) = (false, String::new());
        for machine in &machines {
            let free = prepared(*machine, &[]).await;
            let before = free.state();
            let output = free.run(action).await;
            has_effect |= output.contains(MARK) || free.state() != before;
            free_output = output;
        }
        assert!(has_effect, "{action} does nothing where nothing is denied: {free_output}");
        for machine in &machines {
            let world = prepared(*machine, &["Read(.env)"]).await;
            let before = world.state();
            let verdicts = MODES.map(|mode| world.decision(action, mode).verdict);
            unasked += usize::from(verdicts.contains(&Verdict::Allow));
            denied += usize::from(verdicts == [Verdict::Deny; 3]);
            // Also what the gate denies: the kernel refuses it by itself.
            ran += 1;
            let output = world.run(action).await;
            assert!(!output.contains(MARK), "{action} on {machine:?}: {output}");
            assert_eq!(world.state(), before, "{action} on {machine:?}: {output}");
        }
    }
    println!(
        "denied files: {ran} commands ran and got nothing; {denied} of them the gate denies, {unasked} run unasked in \
         some mode"
    );
    assert!(unasked > 20 && denied > 20, "both the gate and the kernel must be put to the test");
}

async fn a_denied_directory_and_globs_hold() {
    for machine in machines().await {
        for rule in ["Read(./vault/**)", "Read(vault)", "Read(*key)", "Read(./v*/key)"] {
            let world = World::new(machine, &[rule], &[]).await;
            world.put("vault/key", SECRET);
            world.link("vault", "door");
            let before = world.state();
            for action in [
                "p=vault; cat $p/key",
                "cat door/k??",
                "python3 -c \"print(open('vault/'+'key').read())\"",
                "mv vau* other; cat other/key",
                "x=vault; cd $x && cat key",
            ] {
                let output = world.run(action).await;
                assert!(!output.contains(MARK), "{rule}: {action} on {machine:?}: {output}");
                assert_eq!(world.state(), before, "{rule}: {action} on {machine:?}: {output}");
            }
        }
    }
}

async fn files_made_between_commands_are_found() {
    for machine in machines().await {
        let world = World::new(machine, &["Read(.env)"], &[]).await;
        assert!(!world.run("f=.env; cat $f").await.contains(MARK));
        world.put("new/deep/.env", SECRET);
        let output = world.run("f=.env; cat new/deep/$f").await;
        assert!(!output.contains(MARK), "{machine:?}: {output}");
        // The first command makes it, the second one does not see it any more.
        if machine == Machine::Whole {
            world.run("mkdir made; n=env; echo the-secret > made/.$n").await;
            assert!(world.ws.join("made/.env").exists());
            let output = world.run("n=env; cat made/.$n").await;
            assert!(!output.contains(MARK), "{output}");
        }
    }
}

async fn everyday_commands_need_not_ask() {
    for machine in machines().await {
        let world = World::new(machine, &["Read(.env)", "Read(*.pem)"], &["Bash(make:*)"]).await;
        world.put("sub/x.pem", SECRET);
        let installed = |program: &str| Path::new("/usr/bin").join(program).exists();
        for (command, shows) in [
            ("git diff", ""),
            ("git status --short", ""),
            ("git log --oneline", "one"),
            ("git grep plain", "a.txt:plain"),
            ("rg plain", "plain"),
            ("grep -r plain .", "a.txt:plain"),
            ("cat *", "plain"),
            ("wc -l * sub/*", "total"),
            ("ls", "a.txt"),
            ("ls -a", ".env"),
            ("find . -name '*.txt'", "sub/b.txt"),
            ("cat a.txt", "plain"),
        ] {
            if command.starts_with("rg") && !installed("rg") {
                println!("SKIPPED {command}: rg is not installed");
                continue;
            }
            let decision = world.decision(command, Mode::Default);
            let why = decision.why();
            assert_eq!(decision.verdict, Verdict::Allow, "{command} on {machine:?}: {why}");
            let output = world.run(command).await;
            assert!(output.contains(shows) && !output.contains(MARK), "{command}: {output}");
        }
        if machine == Machine::Whole {
            let decision = world.decision("make test", Mode::Default);
            assert_eq!(decision.verdict, Verdict::Allow, "{}", decision.why());
        }
    }
}

async fn what_names_the_file_is_denied() {
    for machine in machines().await {
        let world = World::new(machine, &["Read(.env)", "Read(./vault/**)"], &[]).await;
        world.put("vault/key", SECRET);
        for command in [
            "cat .env",
            "cat ./sub/../.env",
            "cat .e*",
            "cat .*",
            "head -1 vault/key",
            "grep -r x vault",
            "wc -l a.txt .env",
            "cd sub && cat ../.env",
        ] {
            for mode in MODES {
                let decision = world.decision(command, mode);
                assert_eq!(decision.verdict, Verdict::Deny, "{command}: {}", decision.why());
            }
        }
    }
}

async fn what_git_tracks_still_asks() {
    for machine in machines().await {
        let world = World::new(machine, &["Read(.env)"], &[]).await;
        assert_eq!(world.decision("git log -p", Mode::Default).verdict, Verdict::Allow);
        world.shell("git add -f .env");
        let decision = world.decision("git log -p", Mode::Default);
        assert_eq!(decision.verdict, Verdict::Ask);
        assert!(decision.why().contains("git tracks"), "{}", decision.why());
        assert_eq!(world.decision("grep -r x .", Mode::Default).verdict, Verdict::Allow);
    }
}

async fn denied_edits_are_refused() {
    let actions = [
        "f=key; echo changed > vault/$f",
        "python3 -c \"open('vault/'+'key','a').write('x')\"",
        "mv vau* other",
        "p=vault; rm -rf $p",
        "p=vault; touch $p/new",
        "echo changed > hard",
        "f=missing; echo changed > $f.txt",
    ];
    for action in actions {
        let free = World::new(Machine::Whole, &[], &[]).await;
        free.put("vault/key", SECRET);
        free.hard_link("vault/key", "hard");
        let before = shown(&free);
        free.run(action).await;
        assert_ne!(shown(&free), before, "{action} does nothing where nothing is denied");
        let rules = ["Edit(./vault/**)", "Edit(./missing.txt)"];
        let world = World::new(Machine::Whole, &rules, &[]).await;
        world.put("vault/key", SECRET);
        world.hard_link("vault/key", "hard");
        assert!(world.run("f=vault; cat $f/key").await.contains(MARK), "it can be read");
        let output = world.run(action).await;
        assert_eq!(shown(&world), before, "{action}: {output}");
        let floor = World::new(Machine::WithoutBubblewrap, &rules, &[]).await;
        for mode in MODES {
            let decision = floor.decision(action, mode);
            let is_refused = matches!(decision.verdict, Verdict::Ask | Verdict::Deny);
            assert!(is_refused, "{action} without bubblewrap in {mode:?}");
        }
    }
}

/// We cannot look into a directory without the permission to do so; a command can give it back to itself.
async fn permissions_taken_away_do_not_uncover_a_file() {
    let restore = "for d in sub sub/deep; do chmod 755 $d; done 2>/dev/null; for f in sub/deep/.e*; do cat $f; echo x >> $f; done";
    for machine in machines().await {
        for (rule, hides) in [
            ("Read(./sub/deep/.env)", true),
            ("Read(**/.env)", true),
            ("Edit(./sub/deep/.env)", false),
            ("Edit(**/.env)", false),
        ] {
            if !hides && machine != Machine::Whole {
                continue;
            }
            for take in
                ["chmod 000 sub/deep", "chmod 600 sub/deep", "chmod 300 sub/deep", "chmod 000 sub"]
            {
                let world = World::new(machine, &[rule], &[]).await;
                world.put("sub/deep/.env", SECRET);
                world.shell(take);
                let output = world.run(restore).await;
                world.shell("chmod 755 sub; chmod 755 sub/deep");
                let case = format!("{take}, {rule}, {machine:?}: {output}");
                assert!(!hides || !output.contains(MARK), "{case}");
                let kept = std::fs::read_to_string(world.ws.join("sub/deep/.env")).unwrap();
                assert_eq!(kept, SECRET, "{case}");
                assert!(world.run("cat a.txt").await.contains("plain"), "{case}");
            }
        }
    }
}

fn shown(world: &World) -> Vec<(String, String)> {
    let mut state = world.state();
    for name in ["vault/new", "missing.txt", "other/key"] {
        let there = world.ws.join(name).exists().to_string();
        state.push((name.to_owned(), there));
    }
    state
}

async fn what_cannot_be_enforced_asks_and_does_not_run() {
    for (machine, deny, prepare) in [
        (Machine::Bare, "Read(./.env)", "true"),
        (Machine::Whole, "Read(./.env)", "ln .env ../elsewhere"),
        (Machine::Whole, "Read(./**)", "true"),
        (Machine::WithoutBubblewrap, "Edit(./a.txt)", "true"),
    ] {
        let world = World::new(machine, &[deny], &["Bash"]).await;
        world.shell(prepare);
        for mode in MODES {
            let decision = world.decision("make all", mode);
            assert_eq!(decision.verdict, Verdict::Ask, "{deny} on {machine:?} in {mode:?}");
            assert!(decision.offer.is_empty(), "no rule helps");
        }
        // It was judged when it could be enforced, and cannot be any more.
        let input = json!({"command": "touch made"});
        let mut access = world.access("Bash", input.clone());
        assert!(matches!(access.denials, Denials::Unenforced(_)), "{:?}", access.denials);
        access.denials = Denials::Kernel { tracked: false };
        let output = text(&world.desk.run("Bash", input, access).await);
        assert!(output.contains("was not run"), "{output}");
        assert!(!world.ws.join("made").exists());
    }
    // Nothing there that could be read: nothing to enforce.
    let world = World::new(Machine::Bare, &["Read(./missing)"], &["Bash"]).await;
    let verdict = world.decision("make all", Mode::BypassPermissions).verdict;
    assert_eq!(verdict, Verdict::Allow);
}

async fn file_tools_know_other_names() {
    let world = World::new(Machine::Whole, &["Read(./.env)", "Edit(./sub/b.txt)"], &[]).await;
    world.hard_link(".env", "hard");
    world.hard_link("sub/b.txt", "other");
    world.hard_link("a.txt", "a2.txt");
    let at = |name: &str| world.ws.join(name);
    let judged = |tool: &str, input| world.judged(tool, input, Mode::BypassPermissions).verdict;
    let read = |name: &str| judged("Read", json!({"file_path": at(name)}));
    assert_eq!(read("hard"), Verdict::Deny);
    assert_eq!((read("a2.txt"), read("other")), (Verdict::Allow, Verdict::Allow));
    assert_eq!(judged("Grep", json!({"pattern": "x", "path": at("hard")})), Verdict::Deny);
    let edit = |name: &str| {
        judged("Edit", json!({"file_path": at(name), "old_string": "a", "new_string": "b"}))
    };
    assert_eq!((edit("other"), edit("a2.txt")), (Verdict::Deny, Verdict::Allow));
    let write = json!({"file_path": at("other"), "content": "x"});
    assert_eq!(judged("Write", write), Verdict::Deny);
    let input = json!({"pattern": "TOKEN|plain", "output_mode": "content"});
    let output = world.desk.ok("Grep", input).await;
    assert!(output.contains("plain") && !output.contains(MARK), "{output}");
}
