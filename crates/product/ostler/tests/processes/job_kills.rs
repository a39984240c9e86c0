//! A process that dies at any write of its log while a job begins, ends and is reported: after a resume the model has
//! been told of each job once, with the exit code if there was one to be seen.

use crate::case_process::{CaseProcess, Part, case, facts, log_file};
use futures_util::StreamExt;
use ostler::{Driver, Fault, Host, Init, SessionChoice};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const TAG: &str = "<task-notification>";
/// Ends when the process wants it to, with a code that nothing else has.
const JOB: &str = "echo begun; while [ ! -e go ]; do sleep 0.01; done; exit 7";

/// What was said decides what comes next, so the same model serves a first run and a resumed one.
fn next(request: &Recorded) -> Reply {
    let messages = request.json()["messages"].to_string();
    match messages.contains("run_in_background") || messages.contains("the last") {
        true => text("done"),
        false => calls([("Bash", json!({ "command": JOB, "run_in_background": true }))]),
    }
}

/// What a notice says of a job whose exit code nobody saw.
fn unseen(kept: bool) -> &'static str {
    match kept {
        true => "because Ostler ended while the job was being started",
        false => "died with Ostler",
    }
}

fn started(
    write: Option<u64>,
    torn: Option<usize>,
    kept: bool,
) -> (ModelServer, tempfile::TempDir, CaseProcess) {
    let server = ModelServer::start(Script::new().by(next).forever()).unwrap();
    let (folder, inside) = case(&server, Part::JobKills { write, torn, kept }, 1);
    (server, folder, inside)
}

pub fn died_at_any_write(_: usize) {
    any_write(false);
}

/// A job that is on record has its exit code, whatever happened to Ostler; one that is not does not run.
pub fn died_at_any_write_with_a_kept_job(_: usize) {
    any_write(true);
}

fn any_write(kept: bool) {
    let (server, _folder, inside) = started(Some(0), None, kept);
    crate::case_process::succeeds(inside.command());
    let writes = facts(&inside).len();
    assert_eq!(resumed(&server, &inside), Told { jobs: 1, seen: 1 }, "the story has everything");
    let (mut tried, mut jobs, mut seen) = (0, 0, 0);
    for write in 1..=writes as u64 {
        for torn in [None, Some(20)] {
            let (server, _folder, inside) = started(Some(write), torn, kept);
            let died = inside.command().output().unwrap();
            assert_eq!(died.status.signal(), Some(6), "{write}: the crash did not happen");
            let told = resumed(&server, &inside);
            (tried, jobs, seen) = (tried + 1, jobs + told.jobs, seen + told.seen);
        }
    }
    println!(
        "kill points of a process with a job tried: {tried} ({writes} writes, whole and torn): {jobs} jobs, each \
         reported once; {seen} with their exit code, the others {}",
        unseen(kept)
    );
    assert!(seen > 0 && jobs > seen, "it proves nothing");
}

pub fn killed_while_a_job_runs(_: usize) {
    let (server, _folder, inside) = started(None, None, false);
    let mut process = inside.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "running\n");
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().signal(), Some(9));
    assert_eq!(resumed(&server, &inside), Told { jobs: 1, seen: 0 });
}

/// The process that dies.
pub fn inside(
    init: &Init,
    told: &CaseProcess,
    (write, torn): (Option<u64>, Option<usize>),
    kept: bool,
) {
    let mut options = told.options();
    options.session.jobs.keep = kept;
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
    /// Those whose exit code is known.
    seen: usize,
}

/// Goes on in this process, and checks what the model is told.
fn resumed(server: &ModelServer, inside: &CaseProcess) -> Told {
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
        let code = words.contains("exit code 7");
        let kept = matches!(inside.part, Part::JobKills { kept: true, .. });
        assert!(code != words.contains(unseen(kept)), "{words}");
        seen += usize::from(code);
    }
    let last = server.requests().pop().unwrap().json()["messages"].to_string();
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
