//! Section A of the fault corpus, one test per row, through the built program. What must hold whatever the fault
//! is checked after each run by [`Row`]: see `sound`.

mod answers;
mod boundaries;
mod connections;
mod frames;
mod statuses;

use crate::support::{Ran, World, finish, until};
use ostler_core::message::Message;
use ostler_core::pairing;
use ostler_core::session::{Entry, SessionRecord};
use ostler_model_server::{ModelServer, Script, text};
use std::path::Path;
use std::process::Command;

const STREAM: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];
const TEXT: [&str; 4] = ["-p", "go", "--permission-mode", "bypassPermissions"];

/// What a run wrote beside its one clear line: repeats, summaries, and what it used.
const NEWS: [&str; 4] =
    ["; retrying in ", "ostler: tokens: ", "was not summarized: ", "Recall finds the rest"];

/// A script that misbehaves, and the settings to meet it with.
#[derive(Clone)]
pub struct Row {
    script: Script,
    env: Vec<(&'static str, String)>,
    args: Vec<&'static str>,
}

/// What became of it.
pub struct Told {
    pub world: World,
    pub ran: Ran,
    /// The line that says what failed; empty when nothing did.
    pub line: String,
    /// The text of the last answer in the log, and whether it is marked as complete.
    pub last_answer: (String, bool),
}

impl Row {
    pub fn new(script: Script) -> Self {
        Row { script, env: Vec::new(), args: Vec::new() }
    }

    pub fn env(mut self, name: &'static str, value: impl ToString) -> Self {
        self.env.push((name, value.to_string()));
        self
    }

    pub fn args(mut self, args: &[&'static str]) -> Self {
        self.args.extend(args);
        self
    }

    pub fn command(&self, world: &World, args: &[&str]) -> Command {
        let args: Vec<&str> = args.iter().chain(&self.args).copied().collect();
        let mut command = world.command(&args);
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    /// The run ends well, in spite of everything.
    pub fn survives(&self) -> Told {
        let world = World::new(self.script.clone());
        let ran = finish(self.command(&world, &STREAM).spawn().unwrap());
        assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "completed"), "{ran:?}");
        assert_eq!(ran.stderr, "", "nothing to say in this format");
        ran.assert_drops_are_true();
        let last_answer = last_answer(&world);
        sound(&world, &ran);
        Told { world, ran, line: String::new(), last_answer }
    }

    /// The run ends in an error with this terminal reason, says so in one line, and can be resumed. Twice: for
    /// programs and for people.
    pub fn fails(&self, terminal: &str) -> Told {
        self.fails_as_text(terminal);
        let world = World::new(self.script.clone());
        let ran = finish(self.command(&world, &STREAM).spawn().unwrap());
        assert_eq!((ran.code, ran.terminal().as_str()), (Some(1), terminal), "{ran:?}");
        let result = ran.result();
        assert_eq!(result["is_error"], true, "{result}");
        let line = result["result"].as_str().expect("the line that says what failed").to_owned();
        clear(&line, terminal);
        ran.assert_drops_are_true();
        let last_answer = last_answer(&world);
        sound(&world, &ran);
        Told { world, ran, line, last_answer }
    }

    fn fails_as_text(&self, terminal: &str) {
        let world = World::new(self.script.clone());
        let ran = finish(self.command(&world, &TEXT).spawn().unwrap());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let is_news = |line: &&str| NEWS.iter().any(|news| line.contains(news));
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| !is_news(line)).collect();
        assert_eq!(lines.len(), 1, "one line: {}", ran.stderr);
        clear(lines[0].strip_prefix("ostler: ").expect("says who speaks"), terminal);
        sound(&world, &ran);
    }
}

impl Told {
    pub fn requests(&self) -> usize {
        self.world.server.requests().len()
    }

    /// The waits before each repeat, as announced.
    pub fn waits(&self) -> Vec<u64> {
        let frames = self.ran.frames();
        let repeats = frames.iter().filter(|frame| frame["subtype"] == "api_retry");
        repeats.map(|frame| frame["retry_delay_ms"].as_u64().unwrap()).collect()
    }

    pub fn says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(self.line.contains(word), "{word:?} is missing in: {}", self.line);
        }
        self
    }

    pub fn asked(&self, times: usize) -> &Self {
        assert_eq!(self.requests(), times, "requests; {}", self.line);
        self
    }

    pub fn went(&self, ways: &[&str]) -> &Self {
        assert_eq!(self.ran.transitions(), ways, "ways round; {}", self.line);
        self
    }

    pub fn answered(&self, text: &str) -> &Self {
        assert_eq!(self.ran.result()["result"], text);
        self
    }
}

fn last_answer(world: &World) -> (String, bool) {
    let session = folded(world).pop().expect("a session");
    let text =
        session.view.messages().filter(|message| message.is_assistant()).last().map(Message::text);
    let facts = world.entries();
    let answer = facts.iter().rfind(|fact| fact["fact"] == "answer");
    (text.unwrap_or_default(), answer.is_some_and(|fact| !fact["stop"].is_null()))
}

fn in_words(terminal: &str) -> &'static str {
    match terminal {
        "model_error" => "the request to the model failed",
        "prompt_too_long" => "the conversation is too long for the model",
        "max_output_tokens" => "the answer kept reaching the output limit",
        "refusal" => "the model refused",
        other => panic!("no words for {other}"),
    }
}

/// I3: one line of bounded length that names what failed and ends in a sentence about what to do.
fn clear(line: &str, terminal: &str) {
    assert!(line.starts_with(in_words(terminal)), "{line}");
    assert!(!line.contains('\n') && line.len() < 700, "{line}");
    assert!(line.ends_with('.') && line.contains(". "), "what to do is missing: {line}");
}

/// What must hold after every run, whatever happened in it. The request checks of I2 are the server's: it refuses
/// what is not paired, and nothing may have been refused.
pub fn sound(world: &World, ran: &Ran) {
    world.assert_never_rejected();
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for never in ["panicked", "backtrace", "internal error", "<html", "<!DOCTYPE", "test-key"] {
        assert!(!said.contains(never), "{never:?} was said (I3): {said}");
    }
    let code = ran.code.expect("ended by itself");
    assert!(documented_codes().contains(&code), "exit code {code} is not in the README (I4)");
    assert_eq!(left_behind(world), Vec::<String>::new(), "(I5)");
    let effects = world.read("effects.txt").lines().count();
    assert!(effects <= 1, "the command ran {effects} times (I7)");
    assert!(!world.project().join("never").exists(), "what must not run did run (I8)");
    for session in folded(world) {
        let messages: Vec<&Message> = session.view.messages().collect();
        assert_eq!(pairing::check(&messages), Vec::<String>::new(), "(I2)");
        assert!(
            messages.iter().any(|message| message.text().contains("go")),
            "the prompt is lost (I1)"
        );
        assert!(session.ended.is_some(), "the end of the turn is not in the log (I1)");
    }
    resumes(world);
}

/// I1: the session continues, with a model that knows nothing of what happened, and nothing in its log has changed.
fn resumes(world: &World) {
    let log = world.logs().pop().expect("a log");
    let before = std::fs::read(&log).unwrap();
    let server = ModelServer::start(Script::new().answer(text("resumed"))).unwrap();
    let mut again = world.command(&["-p", "again", "--continue", "--output-format", "json"]);
    // What is looked at is the whole history: nothing of it is summarized.
    again.env("OSTLER_CONTEXT_WINDOW", "100000000");
    let ran = finish(again.env("ANTHROPIC_BASE_URL", server.url()).spawn().unwrap());
    assert_eq!((ran.code, &ran.result()["result"]), (Some(0), &"resumed".into()), "{ran:?}");
    assert_eq!(server.rejected(), Vec::<String>::new(), "the resumed request (I2)");
    let request = server.requests().pop().unwrap();
    let messages = request.json()["messages"].to_string();
    assert!(messages.contains("\"go\"") && messages.contains("\"again\""), "(I1) {messages}");
    assert!(std::fs::read(&log).unwrap().starts_with(&before), "the log was rewritten (I1)");
}

/// What the model is told when the session continues, as the messages of a request.
pub fn resumed_request(world: &World) -> Vec<serde_json::Value> {
    let server = ModelServer::start(Script::new().answer(text("resumed"))).unwrap();
    let mut again =
        world.command(&["-p", "look", "--continue", "--fork-session", "--output-format", "json"]);
    let ran = finish(again.env("ANTHROPIC_BASE_URL", server.url()).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    server.requests().pop().unwrap().messages().to_vec()
}

fn folded(world: &World) -> Vec<SessionRecord> {
    let entries = |log: &Path| {
        let text = std::fs::read_to_string(log).unwrap();
        let entry = |line: &str| -> Entry {
            serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap()
        };
        text.lines().map(entry).collect::<Vec<_>>()
    };
    world.logs().iter().map(|log| SessionRecord::fold(entries(log)).close()).collect()
}

fn documented_codes() -> Vec<i32> {
    let readme = include_str!("../../../../../README.md");
    let (_, rest) = readme.split_once("Exit codes:").expect("the README documents exit codes");
    let paragraph = rest.split("\n\n").next().unwrap_or_default();
    paragraph.split('·').filter_map(|code| code.split_whitespace().next()?.parse().ok()).collect()
}

/// Processes that live in this world's directory, by their command lines.
fn processes_of(world: &World) -> Vec<String> {
    let folder = world.home().parent().unwrap().to_str().unwrap().to_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |file| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let cwd = std::fs::read_link(entry.path().join("cwd"));
        let inside = cwd.is_ok_and(|cwd| cwd.starts_with(&folder));
        let named = |file| holds(&read(file), folder.as_bytes());
        if inside || named("environ") || named("cmdline") {
            found.push(String::from_utf8_lossy(&read("cmdline")).replace('\0', " "));
        }
    }
    found
}

/// What a run must not leave: processes and locks.
fn left_behind(world: &World) -> Vec<String> {
    // The supervisor ends by itself as soon as it sees that its owner is gone.
    until("every process of the run has ended", || processes_of(world).is_empty());
    let projects = std::fs::read_dir(world.home().join("sessions")).into_iter().flatten().flatten();
    let files = projects.flat_map(|project| std::fs::read_dir(project.path()).unwrap().flatten());
    let paths = files.map(|file| file.path().display().to_string());
    paths.filter(|path| path.ends_with(".lock")).collect()
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn the_checks_see_what_they_look_for() {
    let world = World::new(Script::new());
    assert_eq!(processes_of(&world), Vec::<String>::new());
    let mut stray = Command::new("sleep").arg("60").current_dir(world.project()).spawn().unwrap();
    until("the stray is seen", || {
        processes_of(&world).iter().any(|line| line.contains("sleep 60"))
    });
    stray.kill().unwrap();
    stray.wait().unwrap();
    assert_eq!(documented_codes(), [0, 1, 2, 3, 4, 5, 70, 74, 75, 130, 143]);
}

#[test]
fn every_row_of_the_corpus_has_its_test() {
    let corpus = include_str!("../../../../../fixtures/corpus/faults.md");
    let (_, rest) = corpus.split_once("## A. ").expect("section A");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| A")?.split(' ').next());
    let tests = [
        include_str!("faults_model/answers.rs"),
        include_str!("faults_model/boundaries.rs"),
        include_str!("faults_model/connections.rs"),
        include_str!("faults_model/frames.rs"),
        include_str!("faults_model/statuses.rs"),
    ]
    .concat();
    let missing: Vec<&str> =
        rows.clone().filter(|row| !tests.contains(&format!("\nfn a{row}_"))).collect();
    assert_eq!(missing, Vec::<&str>::new());
    println!("fault rows tested: {} of section A", rows.count());
}
