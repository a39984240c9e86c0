//! Many agents in one process: all at once beside eight at a time, and what one agent costs over a plain request. The model
//! server is a process of its own, so that its memory is not ours.
//! `cargo bench -p ostler --bench subagents [-- COUNT]`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

use futures_util::StreamExt;
use ostler::{Event, Host, Init, Options, Terminal};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, text};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const COUNT: usize = 1000;
/// Requests of each agent.
const ITERATIONS: usize = 10;
const ROUNDS: usize = 31;

fn main() {
    let init = ostler::init();
    ostler_exec::raise_open_file_limit().unwrap();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    match words.first().map(String::as_str) {
        Some("server") => serve(),
        Some("agents") => many(&init, number(1).unwrap(), number(2).unwrap()),
        Some("one") => one(&init),
        _ => {
            let count = number(0).unwrap_or(COUNT).to_string();
            println!("{count} agents, {ITERATIONS} requests each:");
            // Each in a process of its own, so that nothing is measured that another one left.
            for args in [["agents", &count, &count], ["agents", &count, "8"], ["one", "", ""]] {
                let own = std::env::current_exe().unwrap();
                assert!(Command::new(own).args(args).status().unwrap().success(), "{args:?}");
            }
        }
    }
}

/// Until nobody wants it any more.
fn serve() {
    let mut script = Script::new().by(reply).forever();
    // One for each agent, and some that are being closed.
    script.limits.connections = 2 * COUNT;
    let server = ModelServer::start(script).unwrap();
    println!("{}", server.url());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// `go COUNT ATONCE` starts agents, so many in one answer; `agent` looks around; `plain` makes two calls.
fn reply(request: &Recorded) -> Reply {
    let messages = request.messages();
    let is_prompt = |message: &Value| {
        let text = message.to_string();
        ["go agents ", "go plain", "task-of-an-agent"].iter().any(|word| text.contains(word))
            && message["role"] == "user"
    };
    let at = messages.iter().rposition(is_prompt).unwrap_or_default();
    let prompt = messages[at].to_string();
    let is_answer = |message: &&Value| message["role"] == "assistant";
    let nth = messages[at..].iter().filter(is_answer).count();
    let look = || text("I look.").call("Glob", json!({ "pattern": "none-*" }));
    let after = |word: &str| prompt.split_once(word).map(|(_, rest)| rest);
    if let Some(rest) = after("go agents ") {
        let digits = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok();
        let numbers: Vec<usize> = rest.split(' ').take(2).filter_map(digits).collect();
        let begun = nth * numbers[1];
        let now = numbers[0].saturating_sub(begun).min(numbers[1]);
        let start = json!({ "description": "look", "prompt": "task-of-an-agent" });
        let all = (0..now).fold(text("Go."), |answer, _| answer.call("Agent", start.clone()));
        return if now == 0 { text("done") } else { all };
    }
    let looks = match (after("task-of-an-agent"), after("go plain")) {
        (Some(_), _) => ITERATIONS - 1,
        (_, Some(_)) => 2,
        _ => 0,
    };
    if nth < looks { look() } else { text("done") }
}

struct Server(Child, String);

impl Server {
    fn start() -> Self {
        let own = std::env::current_exe().unwrap();
        let mut command = Command::new(own);
        command.arg("server").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Server(child, url.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn options(server: &Server, place: &std::path::Path, at_once: usize) -> Options {
    let project = place.join("project");
    fs::create_dir_all(&project).unwrap();
    let mut options = Options::new(&project, ostler::api_key("the bench", "key"));
    options.host.home = Some(place.join("home"));
    options.host.base_url = Some(server.1.clone());
    options.session.model = "scripted".into();
    options.session.memory = false;
    options.session.max_agents = at_once;
    options.session.settings.max_parallel_calls = at_once.max(16);
    options
}

fn many(init: &Init, count: usize, at_once: usize) {
    let (server, place) = (Server::start(), tempfile::tempdir().unwrap());
    let options = options(&server, place.path(), at_once);
    let figures = ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let session = host.session(options.session.clone()).unwrap();
        // The first turn brings what all of them share.
        turn(&session, "go agents 1 1").await;
        let (before, began) = (memory("VmRSS:"), Instant::now());
        let mut threads = 0;
        let (ended, _) =
            watched(&session, &format!("go agents {count} {at_once}"), &mut threads).await;
        let figures = (began.elapsed(), memory("VmHWM:") - before, threads, ended);
        host.close().await;
        figures
    });
    let (wall, kilobytes, threads, ended) = figures.unwrap();
    assert_eq!(ended, count, "all of them finish");
    println!(
        "  {at_once:4} at a time: {:6.2} s · {:.2} MB at the most for each of those that run · {threads} threads",
        wall.as_secs_f64(),
        kilobytes as f64 / 1024.0 / at_once as f64,
    );
}

/// How many agents came to a good end, and how the turn ended. `threads` is the most that were seen.
async fn watched(
    session: &ostler::Session,
    prompt: &str,
    threads: &mut usize,
) -> (usize, Option<Terminal>) {
    let mut driver = session.ask(prompt).unwrap();
    let (mut ended, mut terminal) = (0, None);
    while let Some(envelope) = driver.next().await {
        let Event::Finished(finished) = &envelope.event else { continue };
        if envelope.agent.is_root() {
            terminal = Some(finished.terminal);
        } else {
            ended += usize::from(finished.terminal == Terminal::Completed);
            if ended % 50 == 1 {
                let now = fs::read_dir("/proc/self/task").unwrap().count();
                *threads = now.max(*threads);
            }
        }
    }
    (ended, terminal)
}

async fn turn(session: &ostler::Session, prompt: &str) -> Duration {
    let began = Instant::now();
    let (_, terminal) = watched(session, prompt, &mut 0).await;
    assert_eq!(terminal, Some(Terminal::Completed), "{prompt}");
    began.elapsed()
}

/// Three plain requests of one session beside two and one of an agent, one after the other in each round.
fn one(init: &Init) {
    let (server, place) = (Server::start(), tempfile::tempdir().unwrap());
    let mut options = options(&server, place.path(), 1);
    options.session.max_turns = Some(20);
    let costs = ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let new = || host.session(options.session.clone()).unwrap();
        let mut costs = [Vec::new(), Vec::new()];
        turn(&new(), "go agents 1 1").await;
        for _ in 0..ROUNDS {
            for (prompt, costs) in ["go plain", "go agents 1 1"].into_iter().zip(&mut costs) {
                let session = new();
                costs.push(turn(&session, prompt).await);
                session.close("other").await;
            }
        }
        host.close().await;
        costs
    });
    let [plain, agents] = costs.unwrap().map(|mut all| {
        all.sort_unstable();
        all[all.len() / 2]
    });
    let requests = (ITERATIONS + 2) as f64;
    let each = plain.as_secs_f64() / 3.0;
    let more = agents.as_secs_f64() - each * requests;
    println!(
        "  one agent: {:.2} ms more than its {ITERATIONS} requests and two of its starter take at {:.2} ms each (medians of {ROUNDS})",
        more * 1e3,
        each * 1e3,
    );
}

/// In kilobytes.
fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let found = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
    found.trim().trim_end_matches(" kB").parse().unwrap()
}
