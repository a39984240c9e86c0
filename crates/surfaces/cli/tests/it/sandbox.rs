//! The sandbox from end to end: what the kernel refuses, what the model is told about it, and who may lift it.

use crate::support::{Ran, World, can_hide_bubblewrap, finish};
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpListener;
use std::process::Command;

fn bash(command: &str) -> Script {
    called(json!({ "command": command }))
}

fn called(input: Value) -> Script {
    Script::new().answer(calls([("Bash", input)])).answer(text("Done."))
}

/// What the model reads of its call.
fn told(world: &World) -> String {
    let result = world.server.requests()[1].tool_results()[0]["content"].clone();
    result.as_str().map_or_else(|| result.to_string(), str::to_owned)
}

fn go(world: &World, more: &[&str]) -> Ran {
    let mut args = vec!["-p", "go", "--output-format", "stream-json"];
    args.extend(more);
    world.run(&args)
}

const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

#[test]
fn what_is_outside_stays_as_it_was_and_the_model_learns_why() {
    let world = World::new(bash("python3 -c \"open('../home/x', 'w').write('x')\"; echo code $?"));
    world.has_chosen();
    go(&world, &BYPASS);
    assert!(!world.home().join("x").exists());
    assert!(told(&world).contains("code 1"), "{}", told(&world));

    let world = World::new(bash("echo x > /usr/local/ostler-test"));
    go(&world, &BYPASS);
    let told = told(&world);
    assert!(!std::path::Path::new("/usr/local/ostler-test").exists());
    for want in ["the sandbox", "/usr/local/ostler-test", "sandbox.allowWrite"] {
        assert!(told.contains(want), "{want}: {told}");
    }
}

/// Spelled so that no rule sees it: the kernel holds the line by itself.
#[test]
fn secrets_and_our_own_records_are_not_there() {
    let script = "import os\nh = os.path.expanduser('~')\n\
        for p in ['/.s' + 'sh/id', '/ho' + 'me/settings.json']:\n\
        \ttry: print(open(h + p).read())\n\
        \texcept OSError as e: print('refused', e.errno)\n";
    let world = World::new(bash("python3 look.py"));
    world.has_chosen();
    let ssh = world.home().parent().unwrap().join(".ssh");
    std::fs::create_dir(&ssh).unwrap();
    std::fs::write(ssh.join("id"), "SECRET").unwrap();
    world.file("look.py", script);
    go(&world, &BYPASS);
    let first = told(&world);
    assert!(!first.contains("SECRET") && first.matches("refused").count() == 2, "{first}");
    // The same without the sandbox reads both, so the test can fail.
    let open = World::new(bash("python3 look.py"));
    open.has_chosen();
    let ssh = open.home().parent().unwrap().join(".ssh");
    std::fs::create_dir(&ssh).unwrap();
    std::fs::write(ssh.join("id"), "SECRET").unwrap();
    open.file("look.py", script);
    go(&open, &["--permission-mode", "bypassPermissions", "--no-sandbox"]);
    assert!(told(&open).contains("SECRET") && !told(&open).contains("refused"), "{}", told(&open));
}

#[test]
fn the_network_is_granted_by_a_flag_only() {
    for granted in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = std::thread::spawn(move || {
            listener.set_nonblocking(false).unwrap();
            let (mut caller, _) = listener.accept().unwrap();
            let mut text = String::new();
            caller.read_to_string(&mut text).unwrap();
            text
        });
        let world = World::new(bash(&format!("python3 call.py {port}")));
        world.file(
            "call.py",
            "import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\ns.sendall(b'hello')\n",
        );
        let mut args = BYPASS.to_vec();
        args.extend(granted.then_some("--network"));
        go(&world, &args);
        let told = told(&world);
        if granted {
            assert_eq!(told, "(no output)");
        } else {
            assert!(told.contains("refused"), "its own loopback has no such listener: {told}");
            // The listener is freed by a call from outside.
            let mut caller = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            std::io::Write::write_all(&mut caller, b"from outside").unwrap();
        }
        let want = if granted { "hello" } else { "from outside" };
        assert_eq!(heard.join().unwrap(), want);
    }
}

#[test]
fn git_works_inside_but_its_hooks_and_settings_hold() {
    let setup =
        "git init -q . && git config user.name a && git config user.email a@example.invalid";
    let world = World::new(bash(
        "git add -A && git commit -q -m one && git branch x && git config branch.x.description d; \
         python3 evil.py; git log --format=%s; git config branch.x.description",
    ));
    let outside = Command::new("bash").args(["-c", setup]).current_dir(world.project()).status();
    assert!(outside.unwrap().success());
    world.file(
        "evil.py",
        "for p, t in [('.git/hooks/pre-commit', 'evil'), ('.git/config', '[core]\\n\\tfsmonitor = evil\\n')]:\n\
         \ttry:\n\t\topen(p, 'a').write(t)\n\t\tprint('wrote', p)\n\texcept OSError as e: print('refused', p)\n",
    );
    let ran = go(&world, &BYPASS);
    let told = told(&world);
    assert!(told.contains("one\nd"), "{told}");
    assert!(!world.read(".git/config").contains("fsmonitor"), "{told}");
    assert!(!world.project().join(".git/hooks/pre-commit").exists(), "{told}");
    // A setting of another kind in the same run makes all of it go back, and that is said to both.
    assert!(
        told.contains(".git/config was changed by the command and has been restored"),
        "{told}"
    );
    assert!(ran.stdout.contains("restored"), "{}", ran.stdout);
}

/// Harmless settings can be changed whatever else stands on the line, as long as nothing unknown runs beside git.
#[test]
fn git_alone_changes_harmless_settings() {
    for command in [
        "git config user.name b",
        "git config user.name b && git status",
        "git remote add up https://example.invalid/x && git config user.name b",
    ] {
        let world = World::new(bash(command));
        let mut init = Command::new("git");
        init.args(["init", "-q", "."]).current_dir(world.project());
        assert!(init.status().unwrap().success());
        go(&world, &BYPASS);
        assert!(world.read(".git/config").contains("name = b"), "{command}: {}", told(&world));
    }
}

#[test]
fn only_a_person_lifts_it() {
    let input = json!({"command": "touch a", "dangerouslyDisableSandbox": true});
    let world = World::new(called(input.clone()));
    let ran = go(&world, &["--allowedTools", "Bash(touch:*)"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(!world.project().join("a").exists());
    assert!(told(&world).contains("outside the sandbox"), "{}", told(&world));
    // Also where nothing asks.
    let world = World::new(called(input.clone()));
    assert_eq!(go(&world, &BYPASS).code, Some(4));
    let world = World::new(called(input));
    let settings = json!({"sandbox": {"allowUnsandboxedCommands": false}}).to_string();
    go(&world, &["--settings", &settings, "--permission-mode", "bypassPermissions"]);
    assert!(told(&world).contains("without dangerouslyDisableSandbox"), "{}", told(&world));
}

#[test]
fn a_missing_layer_asks_and_can_be_accepted() {
    if !can_hide_bubblewrap() {
        return;
    }
    let hidden = |world: &World, more: &[&str]| {
        let mut args = vec!["-p", "go", "--output-format", "stream-json"];
        args.extend(["--allowedTools", "Bash"]);
        args.extend(more);
        world.run_without_bubblewrap(&args)
    };
    let world = World::new(bash("touch a"));
    let ran = hidden(&world, &[]);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    let told_of = told(&world);
    for want in ["bubblewrap is missing", "--accept-missing-layers"] {
        assert!(told_of.contains(want), "{told_of}");
    }
    assert!(!world.project().join("a").exists());
    // What only reads needs no mount to be harmless.
    let world = World::new(bash("cat b"));
    world.file("b", "read\n");
    assert_eq!(hidden(&world, &[]).code, Some(0));
    assert_eq!(told(&world), "read");

    let world = World::new(bash("sh work.sh"));
    world.file(
        "work.sh",
        "touch a; echo evil > .git/hooks/pre-commit; echo x > ../outside; echo done",
    );
    std::fs::create_dir_all(world.project().join(".git/hooks")).unwrap();
    let ran = hidden(&world, &["--accept-missing-layers"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(world.project().join("a").exists() && !world.project().join("../outside").exists());
    assert!(!world.project().join(".git/hooks/pre-commit").exists(), "{}", told(&world));
    assert!(told(&world).contains("has been restored"), "{}", told(&world));
    assert_eq!(ran.stdout.matches("sandbox: bubblewrap is missing").count(), 1, "{}", ran.stdout);
}

/// In a mode that asks nothing the person still learns what is not enforced: once, and only if it matters.
#[test]
fn a_missing_layer_is_announced_whoever_allowed_the_command() {
    if !can_hide_bubblewrap() {
        return;
    }
    let said = |ran: &Ran| {
        let both = format!("{}{}", ran.stdout, ran.stderr);
        both.matches("sandbox: bubblewrap is missing (no bwrap in /usr/bin or /usr/local/bin;")
            .count()
    };
    let two = || {
        Script::new()
            .answer(calls([("Bash", json!({"command": "touch a"}))]))
            .answer(calls([("Bash", json!({"command": "touch b"}))]))
            .answer(text("Done."))
    };
    let bypass = ["-p", "go", "--output-format", "stream-json", BYPASS[0], BYPASS[1]];
    let world = World::new(two());
    let ran = world.run_without_bubblewrap(&bypass);
    assert_eq!((ran.code, said(&ran)), (Some(0), 1), "{}{}", ran.stdout, ran.stderr);
    assert!(world.project().join("a").exists() && world.project().join("b").exists());
    // In the other formats, too, where it goes to standard error; and where it was accepted.
    for format in ["text", "json"] {
        let world = World::new(two());
        let args = ["-p", "go", "--output-format", format, BYPASS[0], BYPASS[1]];
        let ran = world.run_without_bubblewrap(&args);
        assert_eq!((ran.code, said(&ran)), (Some(0), 1), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("bubblewrap is missing"), "{}", ran.stderr);
    }
    let accepted = ["-p", "go", "--allowedTools", "Bash", "--accept-missing-layers"];
    let ran = World::new(two()).run_without_bubblewrap(&accepted);
    assert_eq!((ran.code, said(&ran)), (Some(0), 1), "{}{}", ran.stdout, ran.stderr);
    // What only reads needs no bubblewrap; with it, or without any sandbox, there is nothing to say.
    let world = World::new(bash("ls"));
    assert_eq!(said(&world.run_without_bubblewrap(&bypass)), 0);
    assert_eq!(said(&World::new(two()).run(&bypass)), 0);
    let mut open = bypass.to_vec();
    open.push("--no-sandbox");
    assert_eq!(said(&World::new(two()).run_without_bubblewrap(&open)), 0);

    let world = World::new(Script::new());
    let run = ["sandbox", "run", "--", "touch c; echo done"];
    let ran = world.run_without_bubblewrap(&run);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
    assert_eq!(said(&ran), 1, "{}", ran.stderr);
    let ran = world.run(&run);
    assert_eq!((ran.code, said(&ran)), (Some(0), 0), "{}", ran.stderr);
}

/// Starts a program with this one in the place of bubblewrap.
fn replacing(program: &std::path::Path) -> [String; 7] {
    let mount = "mount --bind \"$1\" \"$0\" && shift && exec \"$@\"";
    ["unshare", "-m", "sh", "-c", mount, "/usr/bin/bwrap", program.to_str().unwrap()]
        .map(str::to_owned)
}

fn program(world: &World, name: &str, script: &str) -> std::path::PathBuf {
    let path = world.file(&format!("../{name}"), script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    path.canonicalize().unwrap()
}

/// A bubblewrap that is there and cannot do its work is not called missing, and the reason is told.
#[test]
fn a_bubblewrap_that_fails_is_named_with_its_reason() {
    if !can_hide_bubblewrap() {
        return;
    }
    let broken = "#!/bin/sh\n[ \"$1\" = --help ] && echo ' --bind-fd --as-pid-1 ' && exit 0\n\
                  echo 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
    for args in [
        vec!["-p", "go", "--output-format", "text", BYPASS[0], BYPASS[1]],
        vec!["-p", "go", "--output-format", "json", BYPASS[0], BYPASS[1]],
        vec!["-p", "go", "--output-format", "stream-json", BYPASS[0], BYPASS[1]],
        vec!["-p", "go", "--allowedTools", "Bash", "--accept-missing-layers"],
        vec![BYPASS[0], BYPASS[1], "go"],
        vec!["sandbox", "run", "--", "touch a"],
    ] {
        let world = World::new(bash("touch a"));
        world.has_chosen();
        let launcher = replacing(&program(&world, "broken", broken));
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        let ran = finish(world.launched(&launcher, &args).spawn().unwrap());
        let both = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(0), "{args:?} {both}");
        let want = "sandbox: bubblewrap does not work (/usr/bin/bwrap: bwrap: No permissions to \
                    create new namespace; check that unprivileged user namespaces are allowed)";
        assert_eq!(both.matches(want).count(), 1, "{args:?} {both}");
        assert!(!both.contains("bubblewrap is missing"), "{args:?} {both}");
        assert!(world.project().join("a").exists(), "{args:?} {both}");
    }
}

/// A bubblewrap that was there at the start and is gone: what needs it is not run, and the person is told.
#[test]
fn a_bubblewrap_that_vanishes_is_announced() {
    if !can_hide_bubblewrap() {
        return;
    }
    for format in ["text", "json", "stream-json"] {
        let world = World::new(
            Script::new()
                .answer(calls([("Bash", json!({"command": "touch a"}))]))
                .answer(calls([("Bash", json!({"command": "touch b"}))]).due_at("hold"))
                .answer(calls([("Bash", json!({"command": "touch c"}))]))
                .answer(text("Done.")),
        );
        // Seen through a link that can be taken away while the program runs.
        let link = world.project().join("../bwrap-link");
        std::fs::copy("/usr/bin/bwrap", &link).unwrap();
        let launcher = replacing(&link.canonicalize().unwrap());
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        let args = ["-p", "go", "--output-format", format, BYPASS[0], BYPASS[1]];
        let child = world.launched(&launcher, &args).spawn().unwrap();
        crate::support::wait(world.server.gate("hold").reached()).unwrap();
        // Neither gone nor executable, which is the same to whoever wants to start it.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(&link, mode).unwrap();
        world.server.gate("hold").release();
        let ran = finish(child);
        let both = format!("{}{}", ran.stdout, ran.stderr);
        let want =
            "sandbox: bubblewrap cannot be started any more (/usr/bin/bwrap: Permission denied";
        assert_eq!(both.matches(want).count(), 1, "{format} {both}");
        let made = ["a", "b", "c"].map(|name| world.project().join(name).exists());
        assert_eq!(made, [true, false, false], "{format} {both}");
        let told = world.server.requests()[2].tool_results()[0]["content"].to_string();
        assert!(
            told.contains("not run") && told.contains("bubblewrap cannot be started"),
            "{told}"
        );
    }
}

#[test]
fn a_command_of_a_persons_own() {
    let world = World::new(Script::new());
    let ran = world.run(&["sandbox", "run", "--", "echo $((6 * 7)); exit 7"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "42\n"), "{}", ran.stderr);
    let ran = world.run(&["sandbox", "run", "--", "printf", "%s|", "a b", "*"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "a b|*|"));
    let ran = world.run(&["sandbox", "run", "--", "touch", "/usr/local/ostler-test"]);
    assert_ne!(ran.code, Some(0));
    let ran = world.run(&["sandbox", "run", "ls", "-d", "."]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ".\n"), "{}", ran.stderr);
    assert_eq!(world.run(&["sandbox", "run", "--netwrk", "true"]).code, Some(2));
    let ran = world.run(&["sandbox", "run", "--add-dir", "/none", "--", "true"]);
    assert!(ran.code == Some(3) && ran.stderr.contains("/none"), "{}", ran.stderr);
    let mut whole = world.command(&["sandbox", "run", "--", "true"]);
    let ran = finish(whole.current_dir("/").spawn().unwrap());
    assert!(ran.code == Some(3) && ran.stderr.contains("the whole disk"), "{}", ran.stderr);
    // It ends when nobody reads it any more.
    let mut endless = world.command(&["sandbox", "run", "--", "yes"]).spawn().unwrap();
    let mut first = [0; 2];
    endless.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_ne!(finish(endless).code, None);
    let ran = world.run(&["doctor", "--json"]);
    let rows: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    for layer in ["Landlock", "seccomp", "bubblewrap"] {
        assert!(named(layer)["ok"].is_boolean() && named(layer)["detail"].is_string());
    }
    let all = rows.iter().all(|row| row["ok"] == true);
    assert_eq!(ran.code, Some(if all { 0 } else { 1 }), "{}", ran.stdout);
}

/// What leads git to another configuration does not survive the command, and what is named is held.
#[test]
fn no_other_configuration_of_git_is_left_behind() {
    let world = World::new(Script::new());
    let setup = "git init -q . && git config core.hooksPath .husky && mkdir -p .husky vendor/x && git init -q vendor/x";
    let outside = Command::new("bash").args(["-c", setup]).current_dir(world.project()).status();
    assert!(outside.unwrap().success());
    let evil = "mkdir evil; cp -r .git/refs .git/objects .git/config .git/HEAD evil/; echo ../evil > .git/commondir; \
        echo e > .husky/pre-commit; echo e > vendor/x/.git/hooks/pre-commit; true";
    let ran = world.run(&["sandbox", "run", "--", evil]);
    assert!(ran.stderr.contains(".git/commondir was changed"), "{}", ran.stderr);
    for name in [".git/commondir", ".husky/pre-commit", "vendor/x/.git/hooks/pre-commit"] {
        assert!(!world.project().join(name).exists(), "{name}");
    }
    assert!(world.project().join("evil/HEAD").exists(), "it ran");
}

/// Git works in a directory of a repository and in a linked worktree, and sees the files around.
#[test]
fn git_works_where_its_folder_lies_outside() {
    let world = World::new(Script::new());
    let setup = "git init -q repo && cd repo && git config user.name a && git config user.email a@example.invalid && \
        mkdir sub && echo a > top && echo b > sub/b && git add -A && git commit -qm one && git worktree add -q ../linked";
    let outside = Command::new("bash").args(["-c", setup]).current_dir(world.project()).status();
    assert!(outside.unwrap().success());
    for (folder, want) in [("repo/sub", "1"), ("linked", "1")] {
        let line = "echo new > n; git add n && git commit -qm two && git status --porcelain | wc -l; \
            git show --stat --format= HEAD | grep -c '|'; echo e > $(git rev-parse --git-common-dir)/hooks/pre-commit";
        let mut command = world.command(&["sandbox", "run", "--", line]);
        let ran = finish(command.current_dir(world.project().join(folder)).spawn().unwrap());
        let counts: Vec<&str> = ran.stdout.lines().take(2).map(str::trim).collect();
        assert_eq!(counts, ["0", want], "{folder}: {}{}", ran.stdout, ran.stderr);
        assert!(!world.project().join("repo/.git/hooks/pre-commit").exists(), "{folder}");
    }
}
