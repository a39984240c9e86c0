//! Commands in the background: they outlive their call, and their session is told of their end once.

use crate::compaction::with_summaries;
use crate::support::{
    World, becomes, finished, open, runs, try_open, unique_sleep, until, with, with_log,
};
use ostler::{
    BoxFuture, Driver, Event, EventName, Finished, ForkPoint, Hook, HookEvent, HookOutcome, Input,
    InputRefused, JobStatus, JobView, Notice, Options, Session, SessionChoice, UndoChoice,
};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TAG: &str = "<task-notification>";
/// Runs until the test wants it to end.
pub const WAITS: &str =
    "echo begun; touch begun; while [ ! -e go ]; do sleep 0.01; done; echo over";

pub fn background(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command, "run_in_background": true }))
}

/// Whoever finishes a job finds its turn started.
fn reporting(world: &World) -> Options {
    with(world.on_disk(), |options| options.session.jobs.start_turns = true)
}

pub fn release(world: &World) {
    std::fs::write(world.project().join("go"), "").unwrap();
}

pub async fn ended(session: &Session) -> JobView {
    becomes("the job ends", || session.jobs().iter().all(|job| job.end.is_some())).await;
    session.jobs().pop().unwrap()
}

/// Waits for the end of a job, and reads the turn that it starts.
pub async fn reported(session: &Session) -> Finished {
    session.report_due().await;
    finished(session.run_reports().unwrap()).await
}

/// The results of the last request, as text.
pub fn results(request: &Recorded) -> String {
    request.tool_results().iter().map(|result| result.to_string()).collect()
}

/// The first name of a job in a text.
pub fn job_name(text: &str) -> String {
    let (_, rest) = text.split_once(" as b").expect("a job is named");
    format!("b{}", rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>())
}

pub fn notices(world: &World) -> usize {
    let last = world.server.requests().pop().unwrap();
    last.json()["messages"].to_string().matches(TAG).count()
}

pub async fn close_and_reopen(world: &World, session: Session, options: Options) -> Session {
    let id = session.id().to_string();
    session.close("other").await;
    drop(session);
    let mut open = None;
    becomes("the session is free", || {
        let choice = SessionChoice::Resume(id.clone());
        open = try_open(with_log(options.clone(), choice)).ok();
        open.is_some()
    })
    .await;
    let _ = world;
    open.expect("it is open")
}

pub async fn a_job_is_reported_once_with_its_exit_code() {
    let script = Script::new()
        .answer(calls([background(&format!("{WAITS}; exit 3"))]))
        .answer(text("started"))
        .answer(text("noted"))
        .answer(text("again"));
    let world = World::new(script);
    let session = open(reporting(&world));
    let end = finished(session.ask("go").unwrap()).await;
    assert_eq!(end.text, "started");
    let told = results(&world.server.requests()[1]);
    assert!(told.contains("is running in the background as b"), "{told}");
    let [job] = session.jobs().try_into().unwrap();
    assert!(job.end.is_none() && told.contains(job.record.id.as_str()));
    assert!(!session.has_report());
    release(&world);
    assert_eq!(reported(&session).await.text, "noted");
    let job = ended(&session).await;
    let end = job.end.unwrap();
    assert_eq!((end.status, end.exit_code), (JobStatus::Failed, Some(3)));
    let told = world.told(2);
    assert!(told.contains("failed with exit code 3") && told.contains("begun\\nover"), "{told}");
    let output = std::fs::read_to_string(job.record.output.unwrap()).unwrap();
    assert_eq!(output, "begun\nover\n");
    assert_eq!(finished(session.ask("go on").unwrap()).await.text, "again");
    assert_eq!(notices(&world), 1);
    assert!(session.queued().is_empty() && !session.has_report());
    world.assert_never_rejected();
}

/// The row "detach" of the design: background a command, then edit and run another; neither waits.
pub async fn neither_waits_for_the_other() {
    let write = json!({ "file_path": "new.txt", "content": "x" });
    let script = Script::new()
        .answer(calls([background(WAITS)]))
        .answer(calls([("Write", write), ("Bash", json!({ "command": "touch other" }))]))
        .answer(text("done"));
    let world = World::new(script);
    let session = open(world.on_disk());
    let mut turn = session.ask("go").unwrap();
    let mut told = Vec::new();
    let end = until(&mut turn, |event| {
        if let Event::Notice { notice: Notice::Command { text }, .. } = event {
            told.push(text.clone());
        }
        matches!(event, Event::Finished(_))
    });
    assert!(matches!(end.await, Event::Finished(end) if end.text == "done"));
    // Whose change it was cannot be told, so it is said.
    assert!(told.iter().any(|text| text.contains("is running: files that it changes")), "{told:?}");
    drop(turn);
    assert!(session.has_running_jobs(), "it ran all the time");
    assert!(world.project().join("new.txt").exists() && world.project().join("other").exists());
    // The state was kept when the job left its call, before the other command began.
    let after = |fact: &Value| fact["fact"] == "checkpoint" && fact["after"].is_u64();
    let log = world.log();
    let facts = log.iter().filter(|fact| fact["fact"] == "detached" || after(fact));
    let facts: Vec<&str> = facts.filter_map(|fact| fact["fact"].as_str()).collect();
    assert_eq!(facts, ["detached", "checkpoint", "checkpoint"]);
    // Nor does undo wait.
    let choice = UndoChoice {
        home: world.root().join("home"),
        cwd: world.project().canonicalize().unwrap(),
        session: Some(session.id().to_string()),
        dry_run: false,
        keep: Vec::new(),
        memory: false,
    };
    let undone = ostler::undo(&choice, 2, &mut |_| true).unwrap();
    let left = ["new.txt", "other"].map(|name| world.project().join(name).exists());
    assert!(undone.done && left == [false, false], "{undone:?}");
    assert!(session.has_running_jobs());
    release(&world);
    assert_eq!(ended(&session).await.end.unwrap().status, JobStatus::Completed);
}

pub async fn a_running_command_moves_to_the_background() {
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": WAITS }))]))
        .answer(text("gone on"))
        .answer(text("noted"));
    let world = World::new(script);
    let session = open(reporting(&world));
    let nothing = session.send(Input::Background { call: None });
    assert_eq!(nothing, Err(InputRefused::NothingToMove));
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    let moved = async {
        becomes("it runs", || world.project().join("begun").exists()).await;
        session.send(Input::Background { call: None }).unwrap();
    };
    let (end, ()) = tokio::join!(finished(turn), moved);
    assert_eq!(end.text, "gone on");
    let told = results(&world.server.requests()[1]);
    assert!(told.contains("The user moved this command to the background"), "{told}");
    assert!(session.has_running_jobs());
    release(&world);
    assert_eq!(reported(&session).await.text, "noted");
    // What it wrote before and after is in one file.
    let job = ended(&session).await;
    assert_eq!(std::fs::read_to_string(job.record.output.unwrap()).unwrap(), "begun\nover\n");
    assert_eq!(job.end.unwrap().status, JobStatus::Completed);
}

pub async fn a_command_over_its_limit_becomes_a_job_where_that_is_wanted() {
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": WAITS, "timeout": 300 }))]))
        .answer(text("gone on"))
        .answer(text("noted"));
    let world = World::new(script);
    let options = with(reporting(&world), |options| {
        options.session.jobs.take_late_commands = true;
        options.session.jobs.limit = Duration::from_secs(200);
    });
    let session = open(options);
    assert_eq!(finished(session.ask("go").unwrap()).await.text, "gone on");
    let told = results(&world.server.requests()[1]);
    assert!(told.contains("did not end within its time limit"), "{told}");
    assert!(told.contains("It will be stopped 200 s after it started"), "{told}");
    let [job] = session.jobs().try_into().unwrap();
    assert_eq!((job_name(&told), job.end), (job.record.id.to_string(), None));
    assert_eq!(job.record.limit_ms, Some(200_300), "as long as any job, from then on");
    release(&world);
    assert_eq!(reported(&session).await.text, "noted");
    let job = ended(&session).await;
    assert_eq!(std::fs::read_to_string(job.record.output.unwrap()).unwrap(), "begun\nover\n");
    assert_eq!(job.end.unwrap().status, JobStatus::Completed);
    assert_eq!(notices(&world), 1);
}

/// Nobody wants it, there are no jobs, or there is no room for one more.
pub async fn a_command_over_its_limit_ends_elsewhere() {
    for (take, most, running) in [(false, 16, 0), (true, 0, 0), (true, 1, 1)] {
        let mut script = Script::new();
        if running > 0 {
            script = script.answer(calls([background(WAITS)]));
        }
        let late =
            json!({ "command": format!("echo said; sleep {}", unique_sleep()), "timeout": 300 });
        let script = script.answer(calls([("Bash", late)])).answer(text("done"));
        let world = World::new(script);
        let session = open(with(world.on_disk(), |options| {
            options.session.jobs.take_late_commands = take;
            options.session.jobs.most = most;
        }));
        assert_eq!(finished(session.ask("go").unwrap()).await.text, "done");
        let told = results(&world.server.requests().pop().unwrap());
        assert!(told.contains("Timed out after 300 ms and was stopped"), "{take} {most}: {told}");
        assert_eq!(session.jobs().len(), running);
        session.close("other").await;
    }
}

/// It ignores what asks it to end, and has started others.
pub async fn tools_read_and_stop_a_stubborn_job() {
    let mark = unique_sleep();
    let stubborn = format!(
        "trap '' TERM; (trap '' TERM; exec sleep {mark}) & echo one; while :; do sleep 0.05; done"
    );
    let named = |tool: &'static str| {
        move |request: &Recorded| {
            let id = job_name(&request.json()["messages"].to_string());
            calls([(tool, json!({ "task_id": id, "block": false }))])
        }
    };
    let wait = |request: &Recorded| -> Reply {
        let id = job_name(&request.json()["messages"].to_string());
        calls([("TaskOutput", json!({ "task_id": id, "timeout": 200 }))])
    };
    let stop = |request: &Recorded| -> Reply {
        let id = job_name(&request.json()["messages"].to_string());
        calls([("TaskStop", json!({ "task_id": id }))])
    };
    let script = Script::new()
        .answer(calls([background(&stubborn)]))
        .by(wait)
        .by(named("TaskOutput"))
        .by(stop)
        .answer(text("stopped"));
    let world = World::new(script);
    let session = open(world.on_disk());
    assert_eq!(finished(session.ask("go").unwrap()).await.text, "stopped");
    let requests = world.server.requests();
    let (first, second) = (results(&requests[2]), results(&requests[3]));
    assert!(first.contains("is running") && first.contains("New output:\\none"), "{first}");
    assert!(second.contains("(no new output)"), "what was read is not new: {second}");
    let third = results(&requests[4]);
    assert!(third.contains("was stopped"), "{third}");
    assert_eq!(ended(&session).await.end.unwrap().status, JobStatus::Stopped);
    assert!(!runs(&mark), "what it started has ended, too");
    let unknown = session.send(Input::StopJob("b000000".into()));
    assert_eq!(unknown, Err(InputRefused::NoSuchJob));
}

pub async fn a_job_that_outlives_its_limit_is_ended() {
    let mark = unique_sleep();
    let script = Script::new()
        .answer(calls([background(&format!("sleep {mark}"))]))
        .answer(text("started"))
        .answer(text("noted"));
    let world = World::new(script);
    let mut options = reporting(&world);
    options.session.jobs.limit = Duration::from_millis(100);
    let session = open(options);
    finished(session.ask("go").unwrap()).await;
    reported(&session).await;
    assert_eq!(ended(&session).await.end.unwrap().status, JobStatus::TimedOut);
    assert!(world.told(2).contains("<status>timed out</status>"), "{}", world.told(2));
    becomes("it is gone", || !runs(&mark)).await;
}

pub async fn there_are_no_more_jobs_than_allowed() {
    let both = [background(WAITS), background(WAITS)];
    let script = Script::new().answer(calls(both)).answer(text("done"));
    let world = World::new(script);
    let session = open(with(world.on_disk(), |options| options.session.jobs.most = 1));
    finished(session.ask("go").unwrap()).await;
    let told = results(&world.server.requests()[1]);
    assert!(told.contains("1 background job is already running"), "{told}");
    assert_eq!(
        (told.matches("is running in the background").count(), session.jobs().len()),
        (1, 1)
    );
    release(&world);
    ended(&session).await;
}

pub async fn a_closed_session_ends_its_jobs_and_says_so_once() {
    let mark = unique_sleep();
    let script = Script::new()
        .answer(calls([background(&format!("sleep {mark}"))]))
        .answer(text("started"))
        .answer(text("one"))
        .answer(text("two"));
    let world = World::new(script);
    let session = open(world.on_disk());
    finished(session.ask("go").unwrap()).await;
    becomes("it runs", || runs(&mark)).await;
    let session = close_and_reopen(&world, session, world.on_disk()).await;
    assert!(!runs(&mark), "it died with its session");
    assert_eq!(session.queued().len(), 1);
    finished(session.ask("one").unwrap()).await;
    assert!(world.told(2).contains("because the session was closed"), "{}", world.told(2));
    let session = close_and_reopen(&world, session, world.on_disk()).await;
    finished(session.ask("two").unwrap()).await;
    assert_eq!(notices(&world), 1);
}

/// Without the option the end of a job starts nothing: it comes with the next prompt.
pub async fn the_next_prompt_brings_the_news() {
    let script = Script::new()
        .answer(calls([background("echo quick")]))
        .answer(text("started"))
        .answer(text("told"));
    let world = World::new(script);
    let session = open(world.on_disk());
    finished(session.ask("go").unwrap()).await;
    ended(&session).await;
    assert!(!session.has_report(), "nothing starts by itself");
    finished(session.ask("next").unwrap()).await;
    assert_eq!(notices(&world), 1);
}

pub async fn a_flood_is_kept_by_its_ends() {
    let flood = "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last";
    let script = Script::new()
        .answer(calls([background(flood)]))
        .answer(text("started"))
        .answer(text("noted"));
    let world = World::new(script);
    let session = open(reporting(&world));
    finished(session.ask("go").unwrap()).await;
    reported(&session).await;
    let job = ended(&session).await;
    assert_eq!(job.end.unwrap().exit_code, Some(0));
    let output = std::fs::read_to_string(job.record.output.unwrap()).unwrap();
    assert!(output.len() < 9_000_000, "{}", output.len());
    assert!(output.starts_with("first\nx") && output.ends_with("x\nlast\n"));
    assert!(output.contains("bytes dropped …]"));
    assert!(world.told(2).len() < 20_000, "the notice shows the end only");
}

pub async fn running_jobs_are_carried_over_a_compaction_and_not_into_a_fork() {
    let first = calls([background(WAITS)]);
    let rest = (0..20).map(|n| text(format!("Answer {n} goes into detail. ").repeat(100)));
    let world = World::new(with_summaries([first].into_iter().chain(rest)));
    let session = open(reporting(&world));
    for n in 0..10 {
        finished(session.ask(format!("question {n}")).unwrap()).await;
    }
    let [job] = session.jobs().try_into().unwrap();
    read_all(session.compact(None).unwrap()).await;
    finished(session.ask("what now?").unwrap()).await;
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(told.contains("background jobs are running") && told.contains(job.record.id.as_str()));
    let copy = session.fork(ForkPoint::End).unwrap();
    assert!(copy.jobs().is_empty() && copy.queued().is_empty(), "{:?}", copy.queued());
    release(&world);
    reported(&session).await;
    assert_eq!(notices(&world), 1);
    assert!(session.queued().is_empty());
    copy.close("other").await;
}

async fn read_all(mut turn: Driver) {
    use futures_util::StreamExt;
    while turn.next().await.is_some() {}
}

/// Keeps what it was told when turns ended.
struct StopListener(Mutex<Vec<Value>>);

impl Hook for StopListener {
    fn name(&self) -> &str {
        "listener"
    }

    fn listens(&self, event: EventName, _: Option<&str>) -> bool {
        event == EventName::Stop
    }

    fn call<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookOutcome> {
        self.0.lock().unwrap().push(serde_json::to_value(event).unwrap());
        Box::pin(std::future::ready(HookOutcome::default()))
    }
}

pub async fn a_stop_hook_is_told_what_runs() {
    let script = Script::new()
        .answer(calls([background(WAITS)]))
        .answer(text("started"))
        .answer(text("noted"));
    let world = World::new(script);
    let listener = Arc::new(StopListener(Mutex::default()));
    let hook = listener.clone();
    let session = open(with(reporting(&world), |o| o.session.hooks.inside.push(hook)));
    finished(session.ask("go").unwrap()).await;
    let [job] = session.jobs().try_into().unwrap();
    release(&world);
    reported(&session).await;
    let heard = listener.0.lock().unwrap();
    let lists: Vec<&Value> = heard.iter().map(|event| &event["background_tasks"]).collect();
    let running = json!([{
        "task_id": job.record.id, "tool_use_id": job.record.call, "description": job.record.label, "task_type": "local_bash"
    }]);
    assert_eq!(
        lists,
        [&running, &json!([])],
        "one ran when the first turn ended, none when the second did"
    );
}
