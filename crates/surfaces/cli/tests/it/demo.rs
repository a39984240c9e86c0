//! `ostler demo` with `--long`, `--agents`, `--team` and `--all`: what they tell is compared here with what they left on disk, once more.

use crate::support::{Ran, World, facts, finish, processes_with, read_until, signal, until, walk};
use crate::talk::{CTRL_C, Talk};
use ostler_model_server::Script;
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const RECALLED: &str = "order 1042 differs: should be 4384, is 4383";
const DECIDED: &str = "The discount is rounded once, on the sum of an order, never on a line.";
/// The id of the session in the demo of everything.
const EVERYTHING: &str = "0193d0e5-0000-7000-8000-000000000002";
const WISHED: &str = "Always run `bash test.sh` before you say that something works.";

/// A home without anything in it, and a temporary directory of its own.
struct Bare {
    world: World,
    temp: tempfile::TempDir,
}

impl Bare {
    fn new() -> Self {
        Bare { world: World::new(Script::new()), temp: tempfile::tempdir().unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        for name in ["OSTLER_HOME", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"] {
            command.env_remove(name);
        }
        command.env("TMPDIR", self.temp.path());
        command
    }

    fn left(&self) -> Vec<PathBuf> {
        self.temp.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn assert_nothing_is_left(&self) {
        assert_eq!(self.left(), [] as [PathBuf; 0]);
        let mark = self.temp.path().to_str().unwrap();
        until("every process has ended", || processes_with(mark).is_empty());
    }
}

/// The figures of a line, thousands put together.
fn figures(line: &str) -> Vec<u64> {
    let digits = |c: char| c.is_ascii_digit();
    let mut joined = String::new();
    let chars: Vec<char> = line.chars().collect();
    for (n, c) in chars.iter().enumerate() {
        let inside = n > 0 && digits(chars[n - 1]) && chars.get(n + 1).copied().is_some_and(digits);
        if *c != ' ' || !inside {
            joined.push(*c);
        }
    }
    joined.split(|c| !digits(c)).filter_map(|word| word.parse().ok()).collect()
}

fn line<'a>(ran: &'a Ran, with: &str) -> &'a str {
    let found = ran.stdout.lines().find(|line| line.contains(with));
    found.unwrap_or_else(|| panic!("no {with:?} in {}", ran.stdout))
}

#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in {rest}"));
        rest = &rest[at + part.len()..];
    }
}

/// The sessions, oldest first.
fn sessions(home: &Path) -> Vec<Vec<Value>> {
    let mut logs = walk(&home.join("sessions"));
    logs.retain(|path| path.extension().is_some_and(|ending| ending == "log"));
    logs.sort();
    logs.iter().map(|path| facts(&std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn the_long_demo_tells_its_story_and_it_is_true() {
    let bare = Bare::new();
    let ran = finish(bare.command(&["demo", "--long"]).spawn().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    in_order(
        &ran.stdout,
        &[
            "── 1 ·",
            "● TodoWrite 4 tasks",
            "▶ Reproducing the failure",
            "● Skill debugging",
            "FAILED: 3 of 12 sums are wrong",
            RECALLED,
            "☒ Find the cause",
            "Decision: ",
            "── 2 ·",
            "summarizing the conversation",
            "summarized by scripted-demo: about ",
            "Sent again after the summary: AGENTS.md",
            "── 3 ·",
            "● Edit lib/invoice.sh",
            "ok: 12 sums are right",
            "● Recall",
            RECALLED,
            "☒ Name the wrong orders",
            "── 4 ·",
            DECIDED,
            WISHED,
            "── 5 ·",
            "Found by words only",
            "No: it was decided",
            DECIDED,
            WISHED,
            "── 6 ·",
            "system",
            "summary",
            "── 7 ·",
            "compaction",
            "Recall",
            "came from the cache",
            "The ledger says the same, to the token",
            "The repository and the sessions are in ",
        ],
    );
    assert_eq!(ran.stdout.matches('✗').count(), 1, "only the broken test fails: {}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "colours in a pipe");
    let [folder] = bare.left().try_into().expect("one folder, the one it names");
    let last: Vec<&str> = ran.stdout.trim_end().lines().rev().take(2).collect();
    assert!(last[1].ends_with(folder.to_str().unwrap()), "{last:?}");
    assert!(last[0].contains("ostler demo --clean"), "{last:?}");
    what_the_logs_say(&ran, &folder);
    what_the_books_say(&ran, &bare, &folder);
    assert!(std::fs::read_to_string(folder.join("project/CHANGES.md")).unwrap().contains("1058"));
    let mark = folder.to_str().unwrap();
    until("every process has ended", || processes_with(mark).is_empty());
}

fn what_the_logs_say(ran: &Ran, folder: &Path) {
    let [first, second] = sessions(&folder.join("ostler")).try_into().expect("two sessions");
    let text = |entry: &Value| entry.to_string();
    let boundaries: Vec<usize> =
        (0..first.len()).filter(|n| text(&first[*n]).contains("\"receipt\"")).collect();
    let [at] = boundaries.try_into().expect("one boundary");
    let boundary = &first[at];
    assert!(!text(boundary).contains(RECALLED), "the summary lacks what is looked up later");
    assert!(first[..at].iter().any(|entry| text(entry).contains(RECALLED)));
    assert!(first[at..].iter().any(|entry| text(entry).contains(RECALLED)));
    let receipt = find(boundary, "receipt").unwrap();
    let told = figures(line(ran, "summarized by scripted-demo"));
    let kept: Vec<u64> = ["messages", "calls_dropped", "before", "after", "kept"]
        .iter()
        .map(|name| receipt[name].as_u64().unwrap())
        .collect();
    assert_eq!(told, kept);
    assert!(kept[3] < kept[2], "{kept:?}");
    let prompt = second.iter().find(|entry| text(entry).contains("<memory>")).unwrap();
    assert!(text(prompt).contains(DECIDED) && text(prompt).contains(WISHED));
    assert!(text(prompt).contains("May I round the discount"), "with the very prompt");
}

fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => {
            map.get(name).or_else(|| map.values().find_map(|inner| find(inner, name)))
        }
        _ => None,
    }
}

/// The program itself, in the directory that was left, comes to the same figures as the server's bill.
fn what_the_books_say(ran: &Ran, bare: &Bare, folder: &Path) {
    let run = |args: &[&str]| {
        let mut command = bare.command(args);
        command.current_dir(folder.join("project")).env("OSTLER_HOME", folder.join("ostler"));
        finish(command.spawn().unwrap())
    };
    let cost: Value = serde_json::from_str(&run(&["cost", "--json"]).stdout).unwrap();
    let total = |name: &str| cost["total"][name].as_u64().unwrap();
    let prompt = total("input") + total("cache_write") + total("cache_read");
    let billed = figures(line(ran, "The server's own bill"));
    assert_eq!(billed[..3], [total("requests"), prompt, total("output")]);
    assert_eq!(total("cache_alarms"), 0, "a summary is no reason for an alarm");
    assert!(cost["total"]["cache_saved_usd"].as_f64().unwrap() > 0.0);
    let kept = run(&["memory", "list", "--json"]).stdout;
    assert!(kept.contains(DECIDED) && kept.contains(WISHED), "{kept}");
}

#[test]
fn the_demo_of_agents_tells_its_story_and_it_is_true() {
    let bare = Bare::new();
    let ran = finish(bare.command(&["demo", "--agents"]).spawn().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    in_order(
        &ran.stdout,
        &[
            "> Why does the test fail?",
            "● Bash bash test.sh",
            "is running in the background as ",
            "● Agent Check the price",
            "explorer-1: finished",
            "● TaskOutput",
            "FAILED: order 3 should be 115, is 110",
            "so it should be `-gt`",
            "Verified: all three agents sent their first request before any of them got an answer",
            "As `ostler agents --all` shows them:",
            "  explorer-3  finished",
            "The repository and the sessions are in ",
        ],
    );
    let [folder] = bare.left().try_into().expect("one folder, the one it names");
    let logs = sessions(&folder.join("ostler"));
    let all: Vec<String> = logs.iter().map(|log| Value::from(log.clone()).to_string()).collect();
    assert_eq!(all.len(), 4, "the session and three agents");
    for finding in ["as terms.txt:1 says", "as terms.txt:2 says", "terms.txt:3 says above 100"] {
        let said = all.iter().filter(|log| log.contains(finding)).count();
        assert_eq!(said, 2, "an agent said it and the session heard it: {finding}");
    }
    let mark = folder.to_str().unwrap();
    until("every process has ended", || processes_with(mark).is_empty());
    let both = finish(bare.command(&["demo", "--agents", "--long"]).spawn().unwrap());
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

/// Everything it says was verified by it in git and on the board; here, that it comes to its end in this order and leaves
/// neither files nor processes.
#[test]
fn the_demo_of_a_team_tells_its_story_and_leaves_nothing() {
    let bare = Bare::new();
    let ran = finish(bare.command(&["demo", "--team"]).spawn().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    in_order(
        &ran.stdout,
        &[
            "── 1 ·",
            "● Delegate explorer",
            "● BoardAdd Check the arguments of add",
            "● BoardAdd Write CHANGES.md",
            "● Delegate writer",
            "Verified on the board: seven tasks, of which one waits for the other six.",
            "── 2 ·",
            "Write CHANGES.md",
            "Verified on the board: all are done, and the one that waited came last.",
            "── 3 ·",
            "README.md: different lines",
            "main is now at ",
            "Verified in git: main has all eight branches",
        ],
    );
    bare.assert_nothing_is_left();
}

/// What it says is looked up from outside, in files, in git and on the board: after each kill, while the demo is stopped, and
/// at the end.
#[test]
fn the_demo_of_everything_is_killed_three_times_and_comes_to_its_end() {
    let bare = Bare::new();
    let mut demo = bare.command(&["demo", "--all", "--keep"]).spawn().unwrap();
    let mut said = String::new();
    for kill in 1..=3 {
        said += &read_until(&mut demo, "kill -9\n");
        signal(&demo, Signal::STOP);
        Outside::of(&bare).after_kill(kill);
        signal(&demo, Signal::CONT);
    }
    let ran = finish(demo);
    said += &ran.stdout;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{said}");
    in_order(
        &said,
        &[
            "── 1 ·",
            "● Skill debugging",
            "● Agent Look at add",
            "kill -9",
            "Verified: the task is on the board",
            "── 2 ·",
            "● Delegate writer",
            "kill -9",
            "── 3 ·",
            "writer: Write",
            "kill -9",
            "Verified in git: the writer's work is on its branch",
            "── 4 ·",
            "● Memory ",
            "● BoardUpdate ",
            "were each reported once",
            "── 5 ·",
            "main is now at ",
            "Verified in git: main has the work of the session and of the writer.",
        ],
    );
    assert_eq!(said.matches("\nkill -9\n").count(), 3, "{said}");
    let outside = Outside::of(&bare);
    outside.at_the_end();
    let mark = bare.temp.path().to_str().unwrap();
    until("every process has ended", || processes_with(mark).is_empty());
}

/// The demo as somebody sees it who does not listen to it.
struct Outside<'a> {
    bare: &'a Bare,
    folder: PathBuf,
}

impl Outside<'_> {
    fn of(bare: &Bare) -> Outside<'_> {
        let is_demo = |path: &PathBuf| path.to_string_lossy().contains("/ostler-demo-");
        let folder = bare.left().into_iter().find(is_demo).unwrap();
        Outside { bare, folder }
    }

    fn object(&self, args: &[&str]) -> Value {
        let mut command = self.bare.command(&[args, &["--json"]].concat());
        command.current_dir(self.folder.join("project"));
        let ran = finish(command.env("OSTLER_HOME", self.folder.join("ostler")).spawn().unwrap());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(words).current_dir(self.folder.join("project"));
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The log of the session; agents have others.
    fn log(&self) -> Vec<Value> {
        let files = walk(&self.folder.join("ostler/sessions"));
        let of_session = |path: &&PathBuf| path.ends_with(format!("{EVERYTHING}.log"));
        let log = std::fs::read_to_string(files.iter().find(of_session).unwrap()).unwrap();
        let whole = |line: &str| serde_json::from_str(line.splitn(3, ' ').nth(2)?).ok();
        log.lines().filter_map(whole).collect()
    }

    fn count(&self, fits: impl Fn(&Value) -> bool) -> usize {
        self.log().iter().filter(|fact| fits(fact)).count()
    }

    /// The demo may have begun with the next part, which changes nothing of this.
    fn after_kill(&self, kill: usize) {
        assert_eq!(self.count(|fact| fact["fact"] == "end"), 0, "the turn was cut short");
        let tasks = self.object(&["tasks", "list"]);
        assert_eq!(tasks["tasks"][0]["title"], "Make add check its arguments", "{tasks}");
        assert_eq!(tasks["tasks"][0]["status"], "pending", "{tasks}");
        let mail = self.object(&["mail", "list", "--all"]).to_string();
        let ahead = self.git(&["log", "--format=%s", "--all", "--not", "main"]);
        match kill {
            1 => assert!(ahead.is_empty(), "{ahead}"),
            2 => assert!(mail.contains("Write docs/arguments.md"), "{mail}"),
            _ => {
                assert_eq!(ahead.lines().count(), 1, "{ahead}");
                assert!(mail.contains("docs/arguments.md says that"), "the report: {mail}");
            }
        }
        assert_eq!(self.git(&["status", "--porcelain"]), "", "the checkout is as it was");
        assert!(!self.folder.join("project/docs").exists());
    }

    fn at_the_end(&self) {
        assert_eq!(self.object(&["tasks", "list"])["tasks"][0]["status"], "done");
        let mail = self.object(&["mail", "list"]);
        assert_eq!(mail["mail"], Value::Array(Vec::new()), "nothing is left unread");
        let memories = self.object(&["memory", "list"]).to_string();
        assert!(memories.contains("is tested with `bash test.sh`"), "{memories}");
        let subjects = self.git(&["log", "--format=%s", "main"]);
        assert!(subjects.contains("Make add check its arguments"), "{subjects}");
        let files = self.git(&["ls-tree", "-r", "--name-only", "main"]);
        assert!(files.lines().any(|file| file == "docs/arguments.md"), "{files}");
        assert!(self.git(&["show", "main:lib/add.sh"]).contains("[ $# -eq 1 ]"));
        assert_eq!(self.git(&["status", "--porcelain"]), "");
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1, "worktrees are removed");
        assert_eq!(self.git(&["branch", "--list", "ostler/*"]), "");
        let has = |fact: &Value, text: &str| fact.to_string().contains(text);
        assert_eq!(self.count(|fact| has(fact, "\"receipt\"")), 1, "one compaction");
        for agent in ["explorer", "writer"] {
            let is_it =
                |fact: &Value| fact["fact"] == "agent" && has(fact, &format!("\"name\":\"{agent}"));
            assert!(self.count(is_it) > 0, "{agent}");
        }
        let is_report = |fact: &Value| {
            fact["fact"] == "inbound" && has(fact, "docs/arguments.md says that add ends with 64")
        };
        assert_eq!(self.count(is_report), 1, "the writer's report arrived once");
        for tool in ["TodoWrite", "Skill", "Bash", "Agent", "BoardAdd", "Delegate", "Memory"] {
            let is_call = |fact: &Value| has(fact, &format!("\"name\":\"{tool}\""));
            assert!(self.count(is_call) > 0, "{tool}");
        }
    }
}

/// The README shows a part of it, with remarks at the right. Its numbers depend on the machine.
#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let part = readme.split("```\n").nth(1).unwrap();
    let bare = Bare::new();
    let ran = finish(bare.command(&["demo"]).spawn().unwrap());
    let mut rest = ran.stdout.lines();
    for line in part.lines() {
        let line = line.split("          ").next().unwrap();
        let line = if line.starts_with("tokens: ") { "tokens: " } else { line };
        assert!(rest.any(|printed| printed.starts_with(line)), "{line}: {}", ran.stdout);
    }
}

/// A story that is not true is not told to its end.
#[test]
fn what_did_not_happen_ends_the_demo_with_a_line() {
    let bare = Bare::new();
    let off = bare.command(&["demo", "--long"]).env("OSTLER_MEMORY", "off").spawn().unwrap();
    let ran = finish(off);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    let why = "did not happen: the preference was saved in memory (is OSTLER_MEMORY off?)";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    assert!(!ran.stdout.contains("── 4"), "{}", ran.stdout);
    bare.assert_nothing_is_left();
    let nothing = bare.command(&["demo", "--long"]).env("PATH", "/nowhere").spawn().unwrap();
    let ran = finish(nothing);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("needs bash and git"), "{}", ran.stderr);
    bare.assert_nothing_is_left();
}

/// In a turn, and in a pause between two of them.
#[test]
fn a_demo_that_is_stopped_leaves_nothing() {
    for (shown, ending, code) in
        [("This skill's files", "key", 130), ("── 1 ·", "TERM", 143), ("── 1 ·", "INT", 130)]
    {
        let bare = Bare::new();
        let mut talk = Talk::on_terminal(&bare.command(&["demo", "--long"]));
        talk.expect(shown);
        match ending {
            "key" => talk.send(CTRL_C),
            "INT" => signal(talk.child(), Signal::INT),
            _ => signal(talk.child(), Signal::TERM),
        }
        let left = talk.finish();
        assert_eq!(left.code, Some(code), "{ending}: {}", left.said);
        assert!(!left.said.contains("── 3"), "{}", left.said);
        bare.assert_nothing_is_left();
    }
}

/// Nobody is there to read where CI is set, terminal or not.
#[test]
fn in_a_small_terminal_without_colours() {
    let bare = Bare::new();
    let mut command = bare.command(&["demo", "--long", "--clean"]);
    command.env("CI", "1").env("NO_COLOR", "1");
    let left = Talk::on_terminal_of(&command, 40).finish();
    assert_eq!(left.code, Some(0), "{}", left.said);
    assert!(left.said.contains("to the token") && !left.said.contains('\u{1b}'), "{}", left.said);
    bare.assert_nothing_is_left();
}
