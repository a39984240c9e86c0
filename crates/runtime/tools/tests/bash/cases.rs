use crate::support::{Desk, has, names, text};
use ostler_core::permission::{Mode, Policy, Verdict, decide};
use ostler_exec::{Executor, SupervisorProgram};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

type Case = fn() -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub fn all() -> Vec<(&'static str, Case)> {
            vec![$((stringify!($name), || Box::pin($name()))),+]
        }
    };
}

cases![
    output_and_exit_codes,
    each_call_starts_afresh_in_the_workspace,
    b10_odd_bytes_are_valid_text,
    b12_signals_are_named,
    b13_output_and_code_are_told_apart,
    a_time_limit_keeps_partial_output,
    b32_long_output_is_kept_whole,
    b07_endless_output_is_bounded,
    progress_shows_the_newest_output,
    a_dropped_call_ends_its_processes,
    misuse_is_refused,
    a_failing_supervisor_is_told,
    exit_one_of_a_search_is_an_answer,
    harmless_commands_are_judged_by_what_they_read,
    git_runs_nothing_a_repository_names,
    git_is_harmless_in_a_plain_repository_of_the_workspace_only,
    git_does_not_look_into_submodules,
    proved_programs_are_not_those_of_the_workspace,
];

fn environment() -> Vec<(OsString, OsString)> {
    let pairs =
        [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
    pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn desk() -> Desk {
    Desk::new(Executor::new(SupervisorProgram::this_binary([crate::SUPERVISE])), environment())
}

fn run(command: &str) -> Value {
    json!({"command": command})
}

async fn output_and_exit_codes() {
    let desk = desk();
    assert_eq!(desk.ok("Bash", run("echo out; echo err >&2; echo; echo")).await, "out\nerr");
    assert_eq!(desk.ok("Bash", run("true")).await, "(no output)");
    assert_eq!(desk.err("Bash", run("echo x; exit 3")).await, "Exit code 3\nx");
    has(&desk.err("Bash", run("nosuchprogram")).await, "Exit code 127\n");
    let output = desk.call("Bash", run("exit 3")).await;
    assert_eq!(output.detail.unwrap()["exit_code"], 3);
    // There is nothing to read and nobody to ask.
    assert_eq!(desk.ok("Bash", run("cat; [ -t 0 ] || echo no terminal")).await, "no terminal");
    let two_lines = json!({"command": "echo a\necho b", "description": "two lines", "dangerouslyDisableSandbox": true});
    assert_eq!(desk.ok("Bash", two_lines).await, "a\nb");
}

async fn each_call_starts_afresh_in_the_workspace() {
    let desk = desk();
    desk.ok("Bash", run("mkdir sub; cd sub; export X=1")).await;
    let expected = format!("{} -", desk.root.display());
    assert_eq!(desk.ok("Bash", run("echo $PWD ${X:--}")).await, expected);
    assert_eq!(desk.ok("Bash", run("echo $HOME")).await, "/nonexistent");
}

async fn b10_odd_bytes_are_valid_text() {
    let desk = desk();
    let text = desk.ok("Bash", run(r"printf 'a\xff\x00\xc3'")).await;
    assert_eq!(
        text,
        "a\u{fffd}\u{2400}\u{fffd}\n[Bytes that are not valid UTF-8 are shown as \u{fffd}.]"
    );
    // Multi-byte characters at every place of a cut, and noise.
    for shift in 0..4 {
        let command =
            format!("printf '%{shift}s' ''; for i in $(seq 20000); do printf 'äö€🦀'; done");
        let text = desk.ok("Bash", run(&command)).await;
        assert!(!text.contains('\u{fffd}'), "a character was cut in two");
    }
    let noise = desk.call("Bash", run("head -c 300000 /dev/urandom")).await;
    assert!(serde_json::to_string(&crate::support::text(&noise)).is_ok());
}

async fn b12_signals_are_named() {
    let desk = desk();
    assert_eq!(
        desk.err("Bash", run("echo before; kill -SEGV $$")).await,
        "Killed by SIGSEGV\nbefore"
    );
    assert_eq!(desk.err("Bash", run("kill -KILL $$")).await, "Killed by SIGKILL\n(no output)");
    has(
        &desk.err("Bash", run("sh -c 'kill -SEGV $$'; exit $?")).await,
        "Exit code 139 (as of SIGSEGV)",
    );
}

async fn b13_output_and_code_are_told_apart() {
    let desk = desk();
    assert_eq!(desk.ok("Bash", run("echo warning >&2")).await, "warning");
    assert_eq!(desk.err("Bash", run("exit 7")).await, "Exit code 7\n(no output)");
}

async fn a_time_limit_keeps_partial_output() {
    let desk = desk();
    let started = Instant::now();
    let late =
        desk.err("Bash", json!({"command": "echo partial; sleep 1000", "timeout": "300"})).await;
    assert_eq!(late, "Timed out after 300 ms and was stopped.\npartial");
    assert!(started.elapsed() < Duration::from_secs(20));
    // What it started is not waited for.
    assert_eq!(desk.ok("Bash", run("sleep 1000 & echo done")).await, "done");
    assert!(started.elapsed() < Duration::from_secs(30));
}

async fn b32_long_output_is_kept_whole() {
    let desk = desk();
    let shown = desk.err("Bash", run("seq 100000; exit 4")).await;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "Exit code 4");
    has(lines[1], "[The output is long (588894 characters, 100000 lines). The full output is in ");
    assert_eq!((lines[2], *lines.last().unwrap()), ("1", "100000"));
    assert!(shown.chars().count() < 5_000);
    let [name] = names(&desk.blobs.spills()).try_into().unwrap();
    let path = desk.blobs.spills().join(name);
    has(lines[1], path.to_str().unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 100_000);
    has(
        &desk.ok("Read", json!({"file_path": path, "offset": 5_000, "limit": 1})).await,
        "5000\t5000",
    );
    // What fits is shown as it is.
    let fits = desk.ok("Bash", run("head -c 29000 /dev/zero | tr '\\0' x")).await;
    assert_eq!(fits.len(), 29_000);
}

async fn b07_endless_output_is_bounded() {
    let desk = desk();
    let command = json!({"command": "yes 'a line of some length that is written again and again'", "timeout": 3000});
    let shown = desk.err("Bash", command).await;
    assert!(
        shown.starts_with("Timed out after 3 s")
            || shown.starts_with("Stopped because it wrote more than 1 GB")
    );
    assert!(shown.chars().count() < 5_000);
    let [name] = names(&desk.blobs.spills()).try_into().unwrap();
    assert!(fs::metadata(desk.blobs.spills().join(name)).unwrap().len() <= 64 << 20);
}

async fn progress_shows_the_newest_output() {
    let desk = desk();
    let go = desk.root.join("go");
    let command =
        format!("echo first; while ! [ -e {} ]; do sleep 0.05; done; echo last", go.display());
    let log = desk.log.clone();
    let call = desk.ok("Bash", run(&command));
    let watch = async {
        let deadline = Instant::now() + Duration::from_secs(30);
        while log.tails.lock().unwrap().last().map(String::as_str) != Some("first\n") {
            assert!(Instant::now() < deadline, "no progress was shown");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fs::write(&go, "").unwrap();
    };
    let (text, ()) = tokio::join!(call, watch);
    assert_eq!(text, "first\nlast");
    desk.ok("Bash", run("yes | head -c 3000000")).await;
    assert!(desk.log.tails.lock().unwrap().iter().all(|tail| tail.chars().count() <= 2_000));
}

async fn a_dropped_call_ends_its_processes() {
    let desk = desk();
    let nap = format!("{}.{:09}", 1000, std::process::id());
    let call = desk.call("Bash", run(&format!("sleep {nap} & touch begun; wait")));
    let begun = async {
        while !desk.root.join("begun").exists() || processes_with(&nap) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! { _ = call => panic!("it waits"), () = begun => {} };
    let deadline = Instant::now() + Duration::from_secs(20);
    while processes_with(&nap) > 0 {
        assert!(Instant::now() < deadline, "sleep {nap} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Processes of the whole machine, in whatever namespace, that were started with this argument.
fn processes_with(argument: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| {
        line.split(|byte| *byte == 0).skip(1).any(|word| word == argument.as_bytes())
    };
    lines.filter(has).count()
}

async fn misuse_is_refused() {
    let desk = desk();
    for (input, expected) in [
        (json!({"command": " "}), "`command` is empty"),
        (json!({"command": "a\0b"}), "NUL"),
        (json!({"command": "x", "timeout": 0}), "at least 1"),
        (json!({"command": "x", "run_in_background": true}), "cannot run in the background here"),
        (json!({"command": 5}), "`command` must be a string"),
        (json!({"cmd": "x"}), "there is no property `cmd`"),
    ] {
        has(&desk.err("Bash", input.clone()).await, expected);
        let ran = desk.tool("Bash").run(input, desk.context()).await;
        has(&text(&ran), "<tool_use_error>");
    }
    assert_eq!(
        desk.ok("Bash", json!({"command": "echo x", "run_in_background": false})).await,
        "x"
    );
    let access =
        desk.access("Bash", json!({"command": "make", "dangerouslyDisableSandbox": true})).unwrap();
    assert!(!access.known);
}

async fn a_failing_supervisor_is_told() {
    let desk = Desk::new(
        Executor::new(SupervisorProgram { program: "/bin/false".into(), args: vec![] }),
        environment(),
    );
    has(&desk.err("Bash", run("echo x")).await, "The command could not be run: the supervisor");
}

async fn exit_one_of_a_search_is_an_answer() {
    let desk = desk();
    desk.write("f", "x\n");
    assert_eq!(desk.ok("Bash", run("grep nothing f")).await, "(no output, exit code 1)");
    assert_eq!(desk.ok("Bash", run("cat f | grep nothing")).await, "(no output, exit code 1)");
    has(&desk.err("Bash", run("grep x missing")).await, "Exit code 2\n");
    assert_eq!(desk.err("Bash", run("grep nothing f && echo y")).await, "Exit code 1\n(no output)");
    assert_eq!(desk.err("Bash", run("false")).await, "Exit code 1\n(no output)");
}

async fn harmless_commands_are_judged_by_what_they_read() {
    let desk = desk();
    desk.write("f", "inside\n");
    let outside = desk.root.parent().unwrap().join("secret");
    fs::write(&outside, "s").unwrap();
    std::os::unix::fs::symlink(&outside, desk.root.join("link")).unwrap();
    let workspace = ostler_core::permission::Workspace {
        cwd: desk.root.clone(),
        roots: vec![desk.root.clone()],
        ..Default::default()
    };
    let allowed = |command: &str| {
        let access = desk.access("Bash", run(command)).unwrap();
        let policy = Policy::default();
        decide("Bash", &access, &policy, Mode::Default, &workspace).verdict == Verdict::Allow
    };
    for command in
        ["cat f", "ls", "cat *", "grep -rn x .", "echo hi", "wc -l f | sort", "echo $(cat f)"]
    {
        let expected = command != "cat *";
        assert_eq!(allowed(command), expected, "{command}");
    }
    for command in [
        "cat link",
        "cat ../secret",
        "cat l*",
        "touch g",
        "cat f > g",
        "echo $(touch g)",
        "python3 x",
    ] {
        assert!(!allowed(command), "{command}");
    }
}

async fn git_runs_nothing_a_repository_names() {
    let desk = desk();
    if !Path::new("/usr/bin/git").exists() {
        println!("SKIPPED git_runs_nothing_a_repository_names: there is no git");
        return;
    }
    let pwned = desk.root.join("pwned");
    let script = desk.write("evil", format!("#!/bin/sh\ntouch {}\n", pwned.display()));
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = script.display();
    let setup = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
         git init -q . && echo one > f && git add f && git commit -q -m one && echo two > f &&
         git config diff.external {path} && git config core.pager {path} &&
         git config diff.e.textconv {path} && echo 'f diff=e' > .gitattributes && rm -f pwned"
    );
    desk.ok("Bash", run(&setup)).await;
    for command in ["git status", "git diff", "git log -p -1", "git show"] {
        assert!(
            desk.access("Bash", run(command)).unwrap().is_harmless(),
            "{command} is not proved"
        );
    }
    // This makes it a question. Once allowed, it still does not run the monitor.
    desk.ok("Bash", run(&format!("git config core.fsmonitor {path}; rm -f pwned"))).await;
    for command in ["git status", "git diff", "git log -p -1", "git show"] {
        assert!(!desk.access("Bash", run(command)).unwrap().known, "{command}");
        let text = desk.ok("Bash", run(command)).await;
        assert!(!pwned.exists(), "{command} ran a program of the repository");
        if command == "git diff" {
            has(&text, "-one\n+two");
        }
    }
    // What somebody allowed is not crippled: a commit runs its hooks.
    let hook = format!("mkdir -p .git/hooks && cp {path} .git/hooks/post-commit");
    let commit = "git -c user.name=a -c user.email=a@b -c core.fsmonitor=false commit -qam two";
    desk.ok("Bash", run(&format!("{hook} && {commit}"))).await;
    assert!(pwned.exists());
}

async fn git_is_harmless_in_a_plain_repository_of_the_workspace_only() {
    if !Path::new("/usr/bin/git").exists() {
        println!(
            "SKIPPED git_is_harmless_in_a_plain_repository_of_the_workspace_only: there is no git"
        );
        return;
    }
    let init =
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
    let all = ["git status", "git diff", "git log -p", "git show HEAD:secret.txt"];
    let cases = [
        ("no repository", "true".to_owned(), true),
        ("plain", init.to_owned(), true),
        (
            "user and remote",
            format!("{init} && git config user.name x && git remote add o ssh://h/p"),
            true,
        ),
        (
            "clean filter",
            format!("{init} && git config filter.evil.clean 'touch PWNED; cat'"),
            false,
        ),
        ("process filter", format!("{init} && git config filter.evil.process x"), false),
        ("include", format!("{init} && git config include.path ../x"), false),
        (
            "filter of the worktree",
            format!(
                "{init} && git config extensions.worktreeConfig true && git config --worktree filter.e.clean x"
            ),
            false,
        ),
        ("parent", "git init -q ..".to_owned(), true),
        (
            "parent with a filter",
            "git init -q .. && git -C .. config filter.e.clean x".to_owned(),
            false,
        ),
        ("broken one below the parent", "git init -q .. && mkdir .git".to_owned(), false),
        (
            "worktree",
            format!(
                "mkdir m && (cd m && {init} && git worktree add -q ../w) && cp w/.git . && rm -r w"
            ),
            false,
        ),
        ("submodule", "git init -q --separate-git-dir=m .".to_owned(), false),
        ("link", "mkdir m && git init -q m && ln -s m/.git .git".to_owned(), false),
        ("bare", "git init -q --bare .".to_owned(), false),
        ("borrowed objects", format!("{init} && echo /x > .git/objects/info/alternates"), false),
        ("borrowed configuration", format!("{init} && echo /x > .git/commondir"), false),
    ];
    for (name, setup, known) in cases {
        let desk = desk();
        // Some of it lies outside the workspace, where commands of ours cannot write.
        let mut outside = std::process::Command::new("bash");
        outside.args(["-c", &setup]).current_dir(&desk.root).env_clear().envs(environment());
        assert!(outside.status().unwrap().success(), "{name}");
        for command in all {
            let access = desk.access("Bash", run(command)).unwrap();
            assert_eq!(access.known, known, "{name}: {command}");
            // Its history holds every file: a rule about one of them must see it.
            let holds_all = |scope: &ostler_core::permission::PathScope| matches!(scope, ostler_core::permission::PathScope::Tree(top) if desk.root.starts_with(top));
            let shows_content = known && name != "no repository" && command.starts_with("git log");
            assert!(!shows_content || access.reads.iter().any(holds_all), "{name}: {command}");
        }
    }
}

async fn git_does_not_look_into_submodules() {
    if !Path::new("/usr/bin/git").exists() {
        println!("SKIPPED git_does_not_look_into_submodules: there is no git");
        return;
    }
    let desk = desk();
    let setup = "git init -q . && git init -q sub && cd sub && echo one > f && git add f &&
        git -c user.name=a -c user.email=a@b commit -q -m one && cd .. && git add sub 2>/dev/null && cd sub &&
        echo '* filter=evil' > .gitattributes && git config filter.evil.clean 'touch PWNED; cat' && echo two > f";
    // Not by a call, after which such a repository would be made inert.
    let mut outside = std::process::Command::new("bash");
    assert!(outside.args(["-c", setup]).current_dir(&desk.root).status().unwrap().success());
    let pwned = desk.root.join("sub/PWNED");
    for command in ["git status", "git diff"] {
        assert!(desk.access("Bash", run(command)).unwrap().is_harmless(), "{command}");
        desk.ok("Bash", run(command)).await;
        assert!(!pwned.exists(), "{command}");
    }
    // The trap is a real one.
    desk.ok("Bash", run("command git status > /dev/null; touch done")).await;
    assert!(pwned.exists());
}

async fn proved_programs_are_not_those_of_the_workspace() {
    // A directory of the workspace stands first in the path.
    let desk = desk();
    let fake = desk.write("bin/ls", "#!/bin/sh\necho fake\n");
    fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", desk.root.join("bin").display());
    let desk = desk.with_environment(vec![("PATH".into(), path.into())]);
    assert_eq!(desk.ok("Bash", run("ls")).await, "bin");
    assert_eq!(desk.ok("Bash", run("ls; touch x")).await, "fake");
}
