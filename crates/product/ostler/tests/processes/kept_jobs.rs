//! Kept jobs and the processes that can be killed around them: Ostler, the keeper, the keeper's supervisor.

use crate::case_process::{CaseProcess, Part, case, facts_of, finished};
use ostler::{Host, Init, JobStatus, MachineJob, Session, SessionChoice, machine_jobs};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Ends when the test wants it to, with a code that nothing else has.
const WAITS: &str =
    "echo begun; touch begun; while [ ! -e go ]; do sleep 0.01; done; touch done; exit 7";

/// Makes a repository that runs a program, when the test wants it to: what is there when the job leaves its call is looked
/// at there. It is a script, since a command that names settings of git would be asked about.
const PLANTS: &str = "while [ ! -e plant ]; do sleep 0.01; done
    mkdir -p sub/.git/objects sub/.git/refs
    echo 'ref: refs/heads/x' > sub/.git/HEAD
    printf '[core]\\n\\tfsmonitor = evil\\n' > sub/.git/config";

/// A model server, a directory, and a process that runs a kept job and can be killed.
struct Scene {
    server: ModelServer,
    _folder: tempfile::TempDir,
    inside: CaseProcess,
    process: Option<Child>,
}

impl Scene {
    /// The job runs when this comes back. `limit` is its time limit in milliseconds.
    fn new(command: &str, limit: Option<u64>, beside: bool) -> Self {
        let mut input = json!({ "command": command, "run_in_background": true });
        if let Some(limit) = limit {
            input["timeout"] = limit.into();
        }
        let next = move |request: &Recorded| next(request, &input);
        let server = ModelServer::start(Script::new().by(next).forever()).unwrap();
        let (folder, inside) = case(&server, Part::KeptJobs { beside }, 1);
        std::fs::write(inside.project().join("plant.sh"), PLANTS).unwrap();
        let mut process = inside.command().stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "running\n");
        Scene { server, _folder: folder, inside, process: Some(process) }
    }

    fn kill_ostler(&mut self) {
        let mut process = self.process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    fn home(&self) -> PathBuf {
        self.inside.root.join("home")
    }

    fn jobs(&self) -> Vec<MachineJob> {
        machine_jobs(&self.home(), None)
    }

    fn job(&self) -> MachineJob {
        let kept = self.jobs().into_iter().filter(|job| job.view.record.kept);
        kept.last().expect("there is a kept job")
    }

    fn ended(&self) -> MachineJob {
        becomes("the kept job ends", || self.job().view.end.is_some());
        self.job()
    }

    /// As the directory of the job says.
    fn pid(&self, role: &str) -> i32 {
        let file = self.job().output().with_file_name("job.json");
        let description: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        description[role]["pid"].as_i64().unwrap() as i32
    }

    /// Of the session with the kept job.
    fn facts(&self) -> Vec<Value> {
        facts_of(&self.inside, &self.job().session)
    }

    fn release(&self) {
        std::fs::write(self.inside.project().join("go"), "").unwrap();
    }

    /// Opens the session twice more in this process; gives the one notice of the job.
    fn notice(&self) -> String {
        ostler::block_on(async {
            for prompt in ["the first", "the second"] {
                let (host, session) = self.opened();
                wait_for_jobs(&session).await;
                finished(session.ask(prompt).unwrap()).await;
                session.close("other").await;
                host.close().await;
            }
        })
        .unwrap();
        let facts = self.facts();
        let id = self.job().view.record.id.to_string();
        let is_notice = |fact: &&Value| fact["fact"] == "inbound" && fact["source"]["id"] == *id;
        let [notice] = facts.iter().filter(is_notice).collect::<Vec<_>>()[..] else {
            panic!("not one notice: {facts:#?}")
        };
        let last = self.server.requests().pop().unwrap().json()["messages"].to_string();
        assert_eq!(last.matches("<task-notification>").count(), 1, "{last}");
        assert_eq!(self.server.rejected(), Vec::<String>::new());
        notice.to_string()
    }

    fn opened(&self) -> (Host, Session) {
        let mut options = self.inside.options();
        let id = self.job().session;
        options.session.log = SessionChoice::Resume(id);
        let host = Host::open(&ostler::init(), options.host).unwrap();
        let session = host.session(options.session).unwrap();
        (host, session)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill().and_then(|()| process.wait());
        }
        // A failed test leaves nothing behind, either.
        let _ = self.jobs().iter().map(ostler::stop_machine_job).count();
    }
}

/// What was said decides what comes next, so the same model serves every process.
fn next(request: &Recorded, input: &Value) -> Reply {
    let messages = request.json()["messages"].to_string();
    let named = || {
        let (_, rest) = messages.split_once(" as b").unwrap();
        format!("b{}", rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>())
    };
    match () {
        () if !messages.contains("run_in_background") => calls([("Bash", input.clone())]),
        () if messages.contains("read it") && !messages.contains("New output") => {
            calls([("TaskOutput", json!({ "task_id": named(), "block": false }))])
        }
        () if messages.contains("stop it") && !messages.contains("was stopped") => {
            calls([("TaskStop", json!({ "task_id": named() }))])
        }
        () => text("done"),
    }
}

/// The process that is killed: one session with a kept job and, if `beside`, one with a job that is not kept.
pub fn inside(init: &Init, told: &CaseProcess, beside: bool) {
    ostler::block_on(async {
        let options = told.options();
        let host = Host::open(init, options.host).unwrap();
        let mut sessions = Vec::new();
        for keep in [false, true].into_iter().filter(|keep| *keep || beside) {
            let mut options = told.options().session;
            options.jobs.keep = keep;
            let session = host.session(options).unwrap();
            finished(session.ask("go").unwrap()).await;
            assert!(session.has_running_jobs());
            sessions.push(session);
        }
        println!("running");
        std::future::pending::<()>().await;
    })
    .unwrap();
}

/// Until nothing runs that is not to run on.
async fn wait_for_jobs(session: &Session) {
    let deadline = Instant::now() + PATIENCE;
    while session.has_running_jobs() {
        assert!(Instant::now() < deadline, "a job is still running");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn becomes(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A duration for `sleep` that no other process uses.
fn unique_sleep() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("86200.{}{n:04}", std::process::id())
}

/// How many processes have this in their command line.
fn running(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn signal(signal: &str, pid: i32) {
    let done = Command::new("/bin/kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

/// It ignores what asks it to end, and one of its processes has left the group.
fn stubborn(mark: &str) -> String {
    format!(
        "trap '' TERM; setsid sleep {mark} & echo begun; touch begun; sleep {mark} & wait; wait"
    )
}

/// When the other job is dead, whatever ends with Ostler has ended. A kept job that still obeys then is one.
pub fn one_goes_on_where_another_dies(_: usize) {
    let mut scene = Scene::new(WAITS, None, true);
    assert_eq!(scene.jobs().iter().filter(|job| job.view.end.is_none()).count(), 2);
    scene.kill_ostler();
    let died = |job: &MachineJob| !job.view.record.kept && job.view.end.is_some();
    becomes("the other job dies", || scene.jobs().iter().any(died));
    let other = scene.jobs().into_iter().find(|job| !job.view.record.kept).unwrap();
    assert_eq!(other.view.end.unwrap().status, JobStatus::Died);
    assert!(scene.job().view.end.is_none() && !scene.inside.project().join("done").exists());
    scene.release();
    let end = scene.ended().view.end.unwrap();
    assert_eq!((end.status, end.exit_code), (JobStatus::Failed, Some(7)));
    assert!(scene.inside.project().join("done").exists());
    assert!(scene.notice().contains("failed with exit code 7"));
}

pub fn a_resumed_session_finds_it_running(_: usize) {
    let mark = unique_sleep();
    let mut scene = Scene::new(&stubborn(&mark), None, false);
    becomes("it runs", || scene.inside.project().join("begun").exists() && running(&mark) > 2);
    scene.kill_ostler();
    let stopped = ostler::block_on(async {
        let (host, session) = scene.opened();
        let [job] = session.jobs().try_into().unwrap();
        assert!(job.end.is_none() && session.queued().is_empty());
        finished(session.ask("read it").unwrap()).await;
        let read = scene.server.requests().pop().unwrap().json()["messages"].to_string();
        assert!(read.contains("is running") && read.contains("New output:\\nbegun"), "{read}");
        finished(session.ask("stop it").unwrap()).await;
        assert_eq!(running(&mark), 0);
        let [job] = session.jobs().try_into().unwrap();
        session.close("other").await;
        host.close().await;
        job.end.unwrap().status
    });
    assert_eq!(stopped.unwrap(), JobStatus::Stopped);
    assert!(scene.notice().contains("was stopped ("));
}

/// The limit must not have passed before Ostler was dead, so a slow machine gets a longer one.
pub fn its_limit_needs_no_ostler(_: usize) {
    for limit in [1_000, 4_000, 16_000, 64_000] {
        let mark = unique_sleep();
        let mut scene = Scene::new(&stubborn(&mark), Some(limit), false);
        scene.kill_ostler();
        if scene.job().view.end.is_some() {
            continue;
        }
        assert!(running(&mark) > 0);
        becomes("the limit passes", || scene.job().view.end.is_some());
        assert_eq!(scene.job().view.end.unwrap().status, JobStatus::TimedOut);
        assert_eq!(running(&mark), 0, "the lock is free when nothing runs any more");
        assert!(scene.notice().contains("timed out after"));
        return;
    }
    panic!("Ostler was never dead before the limit had passed");
}

pub fn it_dies_with_its_keeper(_: usize) {
    for ostler_lives in [true, false] {
        let mark = unique_sleep();
        let mut scene = Scene::new(&stubborn(&mark), None, false);
        becomes("it runs", || running(&mark) > 2);
        if !ostler_lives {
            scene.kill_ostler();
        }
        signal("-KILL", scene.pid("keeper"));
        becomes("nothing is left of it", || running(&mark) == 0);
        assert_eq!(scene.ended().view.end.unwrap().status, JobStatus::Died);
        if ostler_lives {
            // The session that is open gets the notice.
            let is_told = |fact: &Value| fact["fact"] == "inbound";
            becomes("it is reported", || scene.facts().iter().any(is_told));
            scene.kill_ostler();
        }
        assert!(scene.notice().contains("the process that supervised it was killed"));
    }
}

pub fn it_dies_with_the_keepers_supervisor(_: usize) {
    let mark = unique_sleep();
    let mut scene = Scene::new(&stubborn(&mark), None, false);
    becomes("it runs", || running(&mark) > 2);
    scene.kill_ostler();
    let keeper = scene.pid("keeper");
    let children = format!("/proc/{keeper}/task/{keeper}/children");
    let children = std::fs::read_to_string(children).unwrap();
    let [supervisor] = children.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{children}")
    };
    signal("-KILL", supervisor.parse().unwrap());
    becomes("nothing is left of it", || running(&mark) == 0);
    assert_eq!(scene.ended().view.end.unwrap().status, JobStatus::Died);
    let notice = scene.notice();
    assert!(notice.contains("the process that supervised it was killed"), "{notice}");
    assert!(!notice.contains("the next command"), "{notice}");
}

/// Also if somebody has stopped the keeper.
pub fn any_process_stops_it(_: usize) {
    for is_stopped in [false, true] {
        let mark = unique_sleep();
        let mut scene = Scene::new(&stubborn(&mark), None, false);
        becomes("it runs", || running(&mark) > 2);
        scene.kill_ostler();
        if is_stopped {
            signal("-STOP", scene.pid("keeper"));
        }
        let job = scene.job();
        assert!(ostler::stop_machine_job(&job).unwrap());
        assert_eq!(running(&mark), 0);
        let end = scene.job().view.end.unwrap();
        assert_eq!(end.status, JobStatus::Stopped, "{end:?}");
        assert!(!ostler::stop_machine_job(&job).unwrap(), "it had ended");
        assert!(scene.notice().contains("was stopped with `ostler jobs stop`"));
    }
}

/// What its keeper could not look at any more is made up for by whoever finds the job; where that is impossible, the
/// notice says so.
pub fn what_it_left_is_looked_at_after_its_keeper_was_killed(_: usize) {
    let plants = format!("sh plant.sh; {WAITS}");
    for (by_list, is_damaged) in [(false, false), (true, false), (false, true)] {
        let mut scene = Scene::new(&plants, None, false);
        std::fs::write(scene.inside.project().join("plant"), "").unwrap();
        becomes("it has planted", || scene.inside.project().join("begun").exists());
        scene.kill_ostler();
        signal("-KILL", scene.pid("keeper"));
        assert_eq!(scene.ended().view.end.unwrap().status, JobStatus::Died);
        let is_live = || scene.inside.project().join("sub/.git/HEAD").exists();
        assert!(is_live(), "nobody was left to look");
        let owed = scene.job().output().with_file_name("inspection.json");
        assert!(owed.exists());
        if is_damaged {
            std::fs::write(&owed, "{").unwrap();
        }
        if by_list {
            let lines = ostler::inspect_lost_jobs(&scene.home());
            assert!(lines.iter().any(|line| line.contains("made inert")), "{lines:?}");
            assert!(!is_live() && ostler::inspect_lost_jobs(&scene.home()).is_empty());
        }
        let notice = scene.notice();
        assert_eq!(notice.contains("made inert"), !is_damaged, "{notice}");
        assert_eq!(notice.contains("was checked ("), is_damaged, "{notice}");
        assert_eq!(is_live(), is_damaged);
        assert!(!owed.exists(), "nothing is left to do");
    }
}

/// A description that somebody changed leads to no other process.
pub fn a_forged_process_is_not_stopped(_: usize) {
    let mut scene = Scene::new(WAITS, None, true);
    let mut stranger = Command::new("/bin/sleep").arg("600").spawn().unwrap();
    let started = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        rest.split_whitespace().nth(19).unwrap().parse::<u64>().unwrap()
    };
    let mark = json!({ "pid": stranger.id(), "started": started(stranger.id()) });
    for job in scene.jobs() {
        let file = job.output().with_file_name("job.json");
        let honest = std::fs::read(&file).unwrap();
        let mut forged: Value = serde_json::from_slice(&honest).unwrap();
        let role = if job.view.record.kept { "keeper" } else { "process" };
        forged[role] = mark.clone();
        std::fs::write(&file, forged.to_string()).unwrap();
        let found = scene.jobs().into_iter().find(|found| found.output() == job.output()).unwrap();
        let refused = ostler::stop_machine_job(&found).unwrap_err().to_string();
        assert!(refused.contains("cannot stop"), "{refused}");
        assert!(stranger.try_wait().unwrap().is_none(), "{role}: a stranger was killed");
        // It describes another job.
        forged["id"] = "bother".into();
        std::fs::write(&file, forged.to_string()).unwrap();
        assert!(scene.jobs().iter().all(|found| found.output() != job.output()));
        let [damaged] = ostler::damaged_jobs(&scene.home()).try_into().unwrap();
        assert!(damaged.contains("describes another job (bother)"), "{damaged}");
        std::fs::write(&file, honest).unwrap();
        assert!(ostler::stop_machine_job(&job).unwrap(), "{role}");
    }
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    scene.kill_ostler();
}

pub fn it_ends_when_its_directory_or_its_lock_is_removed(_: usize) {
    for whole in [true, false] {
        let mark = unique_sleep();
        let mut scene = Scene::new(&stubborn(&mark), None, false);
        becomes("it runs", || running(&mark) > 2);
        scene.kill_ostler();
        let (job, folder) = (scene.job(), scene.job().output().parent().unwrap().to_owned());
        match whole {
            true => std::fs::remove_dir_all(&folder).unwrap(),
            false => std::fs::remove_file(folder.join("lock")).unwrap(),
        }
        becomes("nothing is left of it", || running(&mark) == 0);
        if !whole {
            let end = scene.ended().view.end.unwrap();
            assert_eq!(end.status, JobStatus::Stopped, "{end:?}");
            assert!(scene.notice().contains("its directory or its lock file was removed"));
            continue;
        }
        ostler::block_on(async {
            let mut options = scene.inside.options();
            options.session.log = SessionChoice::Resume(job.session.clone());
            let host = Host::open(&ostler::init(), options.host).unwrap();
            let session = host.session(options.session).unwrap();
            finished(session.ask("next").unwrap()).await;
            session.close("other").await;
            host.close().await;
        })
        .unwrap();
        let facts = facts_of(&scene.inside, &job.session);
        let notice = facts.iter().rfind(|fact| fact["fact"] == "inbound").unwrap().to_string();
        assert!(notice.contains("because its directory was removed"), "{notice}");
        assert!(notice.contains("was checked (") && !notice.contains("died"), "{notice}");
    }
}

pub fn a_suspended_keeper_is_told_from_an_ended_job(_: usize) {
    let mut scene = Scene::new(WAITS, None, false);
    scene.kill_ostler();
    assert_eq!(scene.job().state, "running");
    let keeper = scene.pid("keeper");
    signal("-STOP", keeper);
    becomes("it is suspended", || scene.job().state == "suspended");
    assert!(scene.job().view.end.is_none());
    signal("-CONT", keeper);
    becomes("it runs again", || scene.job().state == "running");
    scene.release();
    let ended = scene.ended();
    assert_eq!((ended.state, ended.view.end.unwrap().exit_code), ("failed", Some(7)));
    assert_eq!(scene.job().duration_ms, ended.duration_ms, "it does not grow any more");
}
