//! Jobs that outlive their session, in a process that goes on. What happens when the process dies is in
//! `tests/processes`.

use crate::jobs::{
    WAITS, background, close_and_reopen, job_name, notices, release, reported, results,
};
use crate::support::{World, becomes, finished, open, runs, unique_sleep, until, with};
use ostler::{Event, Input, JobStatus, Options};
use ostler_model_server::{Recorded, Reply, Script, calls, text};
use serde_json::json;

fn keeping(world: &World) -> Options {
    with(world.on_disk(), |options| {
        options.session.jobs.keep = true;
        options.session.jobs.start_turns = true;
    })
}

/// The directory of temporary files is still there, which belongs to the session.
pub async fn one_outlives_its_session_and_is_reported_once() {
    let command = format!("{WAITS}; echo kept > $TMPDIR/file && cat $TMPDIR/file && exit 3");
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": "echo early > $TMPDIR/early" }))]))
        .answer(calls([background(&command)]))
        .answer(text("started"))
        .answer(text("noted"))
        .answer(text("again"));
    let world = World::new(script);
    let session = open(keeping(&world));
    assert_eq!(finished(session.ask("go").unwrap()).await.text, "started");
    let [job] = session.jobs().try_into().unwrap();
    assert!(job.record.kept && job.end.is_none());
    let session = close_and_reopen(&world, session, keeping(&world)).await;
    let [again] = session.jobs().try_into().unwrap();
    assert_eq!(again, job, "it runs, and nothing is reported");
    assert!(session.queued().is_empty() && session.has_running_jobs());
    release(&world);
    assert_eq!(reported(&session).await.text, "noted");
    let end = session.jobs().pop().unwrap().end.unwrap();
    assert_eq!((end.status, end.exit_code), (JobStatus::Failed, Some(3)));
    let output = std::fs::read_to_string(job.record.output.unwrap()).unwrap();
    assert_eq!(output, "begun\nover\nkept\n");
    let session = close_and_reopen(&world, session, keeping(&world)).await;
    assert_eq!(finished(session.ask("go on").unwrap()).await.text, "again");
    assert_eq!(notices(&world), 1);
    world.assert_never_rejected();
}

/// It ignores what asks it to end, and one of its processes has left the group.
pub async fn tools_reach_one_after_the_session_was_opened_again() {
    let mark = unique_sleep();
    let stubborn =
        format!("trap '' TERM; setsid sleep {mark} & echo one; touch begun; sleep {mark}");
    let named = |tool: &'static str| {
        move |request: &Recorded| -> Reply {
            let mut input = json!({ "task_id": job_name(&request.json()["messages"].to_string()) });
            if tool == "TaskOutput" {
                input["block"] = false.into();
            }
            calls([(tool, input)])
        }
    };
    let script = Script::new()
        .answer(calls([background(&stubborn)]))
        .answer(text("started"))
        .by(named("TaskOutput"))
        .by(named("TaskOutput"))
        .by(named("TaskStop"))
        .answer(text("stopped"))
        .answer(text("noted"));
    let world = World::new(script);
    let session = open(keeping(&world));
    finished(session.ask("go").unwrap()).await;
    becomes("it runs", || world.project().join("begun").exists() && runs(&mark)).await;
    let session = close_and_reopen(&world, session, keeping(&world)).await;
    finished(session.ask("look").unwrap()).await;
    let requests = world.server.requests();
    let told: Vec<String> = requests[3..6].iter().map(|request| results(request)).collect();
    assert!(told[0].contains("is running") && told[0].contains("New output:\\none"), "{told:?}");
    assert!(told[1].contains("(no new output)"), "{told:?}");
    assert!(told[2].contains("was stopped"), "{told:?}");
    assert_eq!(session.jobs().pop().unwrap().end.unwrap().status, JobStatus::Stopped);
    assert!(!runs(&mark), "what it started has ended, too");
    assert_eq!(notices(&world), 1);
}

pub async fn one_that_ends_at_once_is_reported_like_any_other() {
    let script = Script::new()
        .answer(calls([background("echo quick; exit 4")]))
        .answer(text("started"))
        .answer(text("noted"));
    let world = World::new(script);
    let session = open(with(keeping(&world), |options| options.session.jobs.start_turns = false));
    finished(session.ask("go").unwrap()).await;
    becomes("it ends", || !session.has_running_jobs()).await;
    assert_eq!(session.jobs().pop().unwrap().end.unwrap().exit_code, Some(4));
    finished(session.ask("next").unwrap()).await;
    assert_eq!(notices(&world), 1);
}

/// No program can be given such a variable.
pub async fn one_that_cannot_start_is_told_and_leaves_nothing() {
    let script = Script::new().answer(calls([background("echo x")])).answer(text("done"));
    let world = World::new(script);
    let options = with(keeping(&world), |options| {
        options.session.environment.push(("BAD=NAME".into(), "x".into()));
    });
    let session = open(options);
    finished(session.ask("go").unwrap()).await;
    let told = results(&world.server.requests()[1]);
    assert!(told.contains("The command was not run: "), "{told}");
    assert!(session.jobs().is_empty() && session.queued().is_empty());
    assert!(ostler::machine_jobs(&world.root().join("home"), None).is_empty());
}

/// A repository that runs programs is made inert when the job ends, whoever is there then.
pub async fn what_one_left_in_the_project_is_looked_at() {
    let hook = "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/x' > sub/.git/HEAD
                printf '[core]\\n\\tfsmonitor = evil\\n' > sub/.git/config";
    let script = Script::new()
        .answer(calls([background(&format!("{WAITS}; sh make.sh"))]))
        .answer(text("started"))
        .answer(text("noted"));
    let world = World::new(script);
    std::fs::write(world.project().join("make.sh"), hook).unwrap();
    let session = open(keeping(&world));
    finished(session.ask("go").unwrap()).await;
    let id = session.id().to_string();
    session.close("other").await;
    drop(session);
    release(&world);
    let home = world.root().join("home");
    becomes("it ends", || {
        ostler::machine_jobs(&home, None).iter().all(|job| job.view.end.is_some())
    })
    .await;
    let left = ["config", "HEAD"].map(|name| world.project().join("sub/.git").join(name).exists());
    assert_eq!(left, [true, false], "it is inert");
    let resumed = with(keeping(&world), |options| {
        options.session.log = ostler::SessionChoice::Resume(id);
    });
    let session = open(resumed);
    becomes("its end has arrived", || !session.queued().is_empty()).await;
    finished(session.ask("next").unwrap()).await;
    assert!(world.told(2).contains("has been made inert"), "{}", world.told(2));
}

/// Its supervisor is Ostler's own.
pub async fn a_moved_command_is_not_kept() {
    let mark = unique_sleep();
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": format!("touch begun; sleep {mark}") }))]))
        .answer(text("gone on"));
    let world = World::new(script);
    let session = open(keeping(&world));
    let mut turn = session.ask("go").unwrap();
    until(&mut turn, |event| matches!(event, Event::CallStarted { .. })).await;
    let moved = async {
        becomes("it runs", || world.project().join("begun").exists()).await;
        session.send(Input::Background { call: None }).unwrap();
    };
    let (end, ()) = tokio::join!(finished(turn), moved);
    assert_eq!(end.text, "gone on");
    assert!(!session.jobs()[0].record.kept);
    session.close("other").await;
    assert!(!runs(&mark), "it ended with its session");
}

pub async fn without_a_home_nothing_is_kept() {
    let mark = unique_sleep();
    let script =
        Script::new().answer(calls([background(&format!("sleep {mark}"))])).answer(text("started"));
    let world = World::new(script);
    let session = open(with(world.options(), |options| options.session.jobs.keep = true));
    finished(session.ask("go").unwrap()).await;
    assert!(!session.jobs()[0].record.kept);
    session.close("other").await;
    assert!(!runs(&mark));
}

/// What a command can say of its limits, its environment and its sandbox is the same with and without a keeper.
pub async fn one_has_the_sandbox_and_the_limits_of_every_command() {
    // The real-time limit is the mark by which a supervisor knows its commands.
    let probe = "ulimit -a | grep -v real-time; umask; pwd; id -u; env | grep -v '^_=' | sort
                 grep -E '^(Seccomp|NoNewPrivs|Cap)' /proc/self/status; ls /proc/self/fd
                 touch ../outside .git/hooks/new; ls -a / /root";
    let run = |into: &str| format!("sh probe.sh > {into} 2>&1");
    let script = Script::new()
        .answer(calls([("Bash", json!({ "command": run("plain.txt") }))]))
        .answer(calls([background(&run("kept.txt"))]))
        .answer(text("started"));
    let world = World::new(script);
    std::fs::create_dir_all(world.project().join(".git/hooks")).unwrap();
    std::fs::write(world.project().join("probe.sh"), probe).unwrap();
    let session = open(with(keeping(&world), |options| options.session.jobs.start_turns = false));
    finished(session.ask("go").unwrap()).await;
    becomes("it ends", || !session.has_running_jobs()).await;
    assert!(session.jobs()[0].record.kept);
    let [plain, kept] = ["plain.txt", "kept.txt"]
        .map(|name| std::fs::read_to_string(world.project().join(name)).unwrap());
    assert_eq!(kept, plain);
    assert!(plain.contains("touch: ") && !world.root().join("outside").exists(), "{plain}");
}
