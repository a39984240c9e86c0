//! A process that dies at any write of its log while a job begins, ends and is reported: after a resume the model has
//! been told of each job once, with the exit code if there was one to be seen.

use crate::case_process::{CaseProcess, Part, case, facts, log_file};
use futures_util::StreamExt;
use ostler::{Driver, Fault, Host, Init, SessionChoice};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, calls, text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const TAG: &str = "<task-notification>";
/// Ends when the process wants it to, with a code that nothing else has.
const JOB: &str = "echo begun; while [ ! -e go ]; do sleep 0.01; done; exit 7";

/// What an agent says at its end.
const FOUND: &str = "the agent found it";

/// What the job does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum JobWork {
    Command,
    /// The same, under a keeper.
    Kept,
    /// It waits for its own command.
    Agent,
}

impl JobWork {
    fn call(self) -> Reply {
        let prompt = "task-a";
        let agent = json!({ "description": "look", "prompt": prompt, "run_in_background": true });
        match self {
            JobWork::Command | JobWork::Kept => {
                calls([("Bash", json!({ "command": JOB, "run_in_background": true }))])
            }
            JobWork::Agent => calls([("Agent", agent)]),
        }
    }

    /// What only the notice of a job says that came to its end.
    fn end(self) -> &'static str {
        match self {
            JobWork::Command | JobWork::Kept => "exit code 7",
            JobWork::Agent => "completed</summary>",
        }
    }

    /// What the notice says of one whose end nobody saw.
    fn unseen(self) -> &'static str {
        match self {
            JobWork::Kept => "because Ostler ended while the job was being started",
            JobWork::Command | JobWork::Agent => "died with Ostler",
        }
    }
}

/// What was said decides what comes next, so the same model serves a first run and a resumed one.
fn next(request: &Recorded, work: JobWork) -> Reply {
    let messages = request.json()["messages"].to_string();
    if request.messages()[0].to_string().contains("task-a") {
        return match messages.contains("tool_result") {
            true => text(FOUND),
            false => calls([("Bash", json!({ "command": JOB }))]),
        };
    }
    match messages.contains("run_in_background") || messages.contains("the last") {
        true => text("done"),
        false => work.call(),
    }
}

fn started(
    work: JobWork,
    write: Option<u64>,
    torn: Option<usize>,
) -> (ModelServer, tempfile::TempDir, CaseProcess) {
    let script = Script::new().by(move |request| next(request, work));
    let server = ModelServer::start(script.forever()).unwrap();
    let (folder, inside) = case(&server, Part::JobKills { work, write, torn }, 1);
    (server, folder, inside)
}

/// Lines of all logs.
fn writes(inside: &CaseProcess) -> usize {
    let projects = std::fs::read_dir(inside.root.join("home/sessions")).unwrap().flatten();
    let files = projects.flat_map(|project| std::fs::read_dir(project.path()).unwrap().flatten());
    let logs =
        files.map(|file| file.path()).filter(|path| path.extension() == Some("log".as_ref()));
    logs.map(|log| std::fs::read_to_string(log).unwrap().lines().count()).sum()
}

pub fn died_at_any_write(_: usize) {
    die_at_any_write(JobWork::Command);
}

/// A job that is on record has its exit code, whatever happened to Ostler; one that is not does not run.
pub fn died_at_any_write_with_a_kept_job(_: usize) {
    die_at_any_write(JobWork::Kept);
}

pub fn died_at_any_write_of_an_agent(_: usize) {
    die_at_any_write(JobWork::Agent);
}

fn die_at_any_write(work: JobWork) {
    let (server, _folder, inside) = started(work, Some(0), None);
    crate::case_process::succeeds(inside.command());
    let writes = writes(&inside);
    assert_eq!(
        resumed(&server, &inside, work),
        Told { jobs: 1, seen: 1 },
        "the story has everything"
    );
    let (mut tried, mut jobs, mut seen) = (0, 0, 0);
    for write in 1..=writes as u64 {
        for torn in [None, Some(20)] {
            let (server, _folder, inside) = started(work, Some(write), torn);
            let died = inside.command().output().unwrap();
            // An agent writes beside its session, so not every run has the same number of writes.
            let has_ended = matches!(work, JobWork::Agent) && died.status.success();
            let has_died = died.status.signal() == Some(6);
            assert!(has_died || has_ended, "{write}: the crash did not happen: {}", died.status);
            let told = resumed(&server, &inside, work);
            (tried, jobs, seen) = (tried + 1, jobs + told.jobs, seen + told.seen);
        }
    }
    println!(
        "kill points of a process with a job ({work:?}) tried: {tried} ({writes} writes, whole and torn): {jobs} jobs, \
         each reported once; {seen} with their own end, the others {}",
        work.unseen()
    );
    assert!(seen > 0 && jobs > seen, "it proves nothing");
}

pub fn killed_while_a_job_runs(_: usize) {
    kill_while_it_runs(JobWork::Command);
}

pub fn killed_while_an_agent_runs(_: usize) {
    kill_while_it_runs(JobWork::Agent);
}

fn kill_while_it_runs(work: JobWork) {
    let (server, _folder, inside) = started(work, None, None);
    let mut process = inside.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "running\n");
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().signal(), Some(9));
    assert_eq!(resumed(&server, &inside, work), Told { jobs: 1, seen: 0 });
}

/// The process that dies.
pub fn inside(
    init: &Init,
    told: &CaseProcess,
    work: JobWork,
    (write, torn): (Option<u64>, Option<usize>),
) {
    let mut options = told.options();
    options.session.jobs.keep = matches!(work, JobWork::Kept);
    options.session.jobs.start_turns = true;
    options.host.fault = write.map(|after_writes| Fault { after_writes, torn });
    ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let session = host.session(options.session).unwrap();
        read(session.ask("go").unwrap()).await;
        if write.is_none() {
            println!("running");
            std::future::pending::<()>().await;
        }
        std::fs::write(told.project().join("go"), "").unwrap();
        session.report_due().await;
        read(session.run_reports().unwrap()).await;
        session.close("other").await;
        host.close().await;
    })
    .unwrap();
}

async fn read(mut turn: Driver) {
    while turn.next().await.is_some() {}
}

#[derive(Debug, PartialEq)]
struct Told {
    jobs: usize,
    /// Those whose own end is known.
    seen: usize,
}

/// Goes on in this process, and checks what the model is told.
fn resumed(server: &ModelServer, inside: &CaseProcess, work: JobWork) -> Told {
    let before = facts(inside);
    if !before.iter().any(|fact| fact["fact"] == "prompt") {
        return Told { jobs: 0, seen: 0 };
    }
    // Nothing that the dead process ran is left; a job of the resumed one may end at once.
    std::fs::write(inside.project().join("go"), "").unwrap();
    ostler::block_on(go_on(inside)).unwrap();
    let after = facts(inside);
    let jobs: Vec<&str> = after
        .iter()
        .filter(|fact| fact["fact"] == "detached")
        .map(|fact| fact["job"]["id"].as_str().unwrap())
        .collect();
    let mut seen = 0;
    for id in &jobs {
        let arrived: Vec<&Value> = after
            .iter()
            .filter(|fact| fact["fact"] == "inbound" && fact["source"]["id"] == **id)
            .collect();
        let [notice] = arrived.as_slice() else { panic!("{} notices of {id}", arrived.len()) };
        let admits = |fact: &&Value| {
            fact["inbound"].as_array().is_some_and(|ids| ids.contains(&notice["id"]))
        };
        assert_eq!(after.iter().filter(admits).count(), 1, "{id}");
        let words = notice.to_string();
        let has_ended = words.contains(work.end());
        assert!(has_ended != words.contains(work.unseen()), "{words}");
        let hint = words.contains("call Agent with resume");
        assert_eq!(hint, matches!(work, JobWork::Agent), "{words}");
        seen += usize::from(has_ended);
    }
    let last = server.requests().pop().unwrap().json()["messages"].to_string();
    let was_job = before.iter().any(|fact| fact["fact"] == "detached");
    assert!(!was_job || !last.contains("These agents were working"), "told twice: {last}");
    assert_eq!(last.matches(TAG).count(), jobs.len(), "{last}");
    assert_eq!(server.rejected(), Vec::<String>::new());
    let known = ostler::machine_jobs(&inside.root.join("home"), None);
    assert!(known.iter().all(|job| job.view.end.is_some()), "{known:?}");
    Told { jobs: jobs.len(), seen }
}

/// Whatever was left, and a last prompt.
async fn go_on(inside: &CaseProcess) {
    let mut options = inside.options();
    let id = log_file(&inside.root).unwrap();
    let id = id.file_stem().unwrap().to_string_lossy().into_owned();
    options.session.log = SessionChoice::Resume(id);
    let host = Host::open(&ostler::init(), options.host).unwrap();
    let session = host.session(options.session).unwrap();
    if session.can_resume_turn() {
        read(session.resume_turn().unwrap()).await;
    }
    // A job that the rest of the turn began ends before the last prompt.
    while session.has_running_jobs() {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    read(session.ask("the last").unwrap()).await;
    assert!(session.queued().is_empty(), "{:?}", session.queued());
    session.close("other").await;
    host.close().await;
}
