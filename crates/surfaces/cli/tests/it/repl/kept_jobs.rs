//! `--keep-jobs`: a background job that outlives the program.

use super::{quit, start, told};
use crate::support::{World, until};
use crate::talk::Talk;
use ostler_model_server::{Script, calls, text};
use serde_json::{Value, json};

const WAITS: &str = "touch begun; while [ ! -e go ]; do sleep 0.01; done; exit 7";

fn job(world: &World) -> Value {
    let listed = world.run(&["jobs", "list", "--json"]);
    serde_json::from_str(listed.stdout.trim()).unwrap()
}

/// The flag and the setting mean the same; without either, the job ends with the program.
#[test]
fn a_job_goes_on_after_quit_and_the_next_start_is_told() {
    let setting = r#"{ "keepJobs": true }"#;
    for (args, kept) in
        [(&["--keep-jobs"][..], true), (&["--settings", setting][..], true), (&[][..], false)]
    {
        let call = json!({ "command": WAITS, "run_in_background": true });
        let script = Script::new()
            .answer(calls([("Bash", call)]))
            .answer(text("Started."))
            .answer(text("Noted."));
        let world = World::new(script);
        let args = [&["--permission-mode", "bypassPermissions"][..], args].concat();
        let mut talk = start(&world, true, &args);
        talk.expect("> ");
        talk.send_line("go");
        talk.expect("Started.");
        let left = quit(&mut talk);
        assert_eq!(left.said.contains("continues; `ostler jobs list`"), kept, "{}", left.said);
        assert_eq!(job(&world)["end"].is_null(), kept, "{}", job(&world));
        std::fs::write(world.project().join("go"), "").unwrap();
        until("it ends", || !job(&world)["end"].is_null());
        let expected = if kept { json!(7) } else { Value::Null };
        assert_eq!(job(&world)["end"]["exit_code"], expected);
        let ran = world.run(&["-p", "next", "--continue"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Noted.\n"), "{}", ran.stderr);
        assert_eq!(told(&world).matches("<task-notification>").count(), 1);
        assert_eq!(told(&world).contains("failed with exit code 7"), kept, "{}", told(&world));
        world.assert_never_rejected();
    }
}

/// The line that answered the first question is read although nobody touches a key while the job runs.
#[test]
fn a_prompt_at_the_first_question_does_not_wait_for_a_kept_job() {
    let call = json!({ "command": WAITS, "run_in_background": true });
    let script = Script::new()
        .answer(calls([("Bash", call)]))
        .answer(text("Started."))
        .answer(text("Answered."))
        .answer(text("Noted."));
    let world = World::new(script);
    let args = ["-p", "go", "--permission-mode", "bypassPermissions", "--keep-jobs"];
    assert_eq!(world.run(&args).code, Some(0));
    let mut talk = Talk::on_terminal(&world.command(&["--keep-jobs", "--continue"]));
    talk.expect("[c/e/a]: ");
    talk.send("fix the bug\r");
    talk.expect("Sent as a prompt");
    talk.expect("Answered.");
    std::fs::write(world.project().join("go"), "").unwrap();
    talk.expect("failed with exit code 7: starting a turn");
    talk.expect("Noted.");
    quit(&mut talk);
}

#[test]
fn a_kept_job_is_stopped_from_any_terminal_after_quit() {
    let call = json!({ "command": format!("trap '' TERM; {WAITS}"), "run_in_background": true });
    let script = Script::new()
        .answer(calls([("Bash", call)]))
        .answer(text("Started."))
        .answer(text("Noted."));
    let world = World::new(script);
    let mut talk = start(&world, true, &["--permission-mode", "bypassPermissions", "--keep-jobs"]);
    talk.expect("> ");
    talk.send_line("go");
    talk.expect("Started.");
    quit(&mut talk);
    let id = job(&world)["id"].as_str().unwrap().to_owned();
    let listed = world.run(&["jobs", "list", "--running"]).stdout;
    assert!(listed.contains(&id) && listed.contains("[kept]"), "{listed}");
    let stopped = world.run(&["jobs", "stop", &id]);
    assert_eq!((stopped.code, stopped.stdout), (Some(0), format!("stopped {id}\n")));
    let nothing = "No background jobs are running.\n";
    assert_eq!(world.run(&["jobs", "list", "--running"]).stdout, nothing);
    world.run(&["-p", "next", "--continue"]);
    assert!(told(&world).contains("was stopped with `ostler jobs stop`"), "{}", told(&world));
}
