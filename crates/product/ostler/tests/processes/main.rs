//! What is true of whole processes: many sessions in one, and processes that die. Each runs in a process of its own, this
//! program once more, so that nothing is measured that another case left; the model server stays outside of it.
//!
//! A number among the words is how many sessions there are: `cargo test -p ostler --test processes -- 1000`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod budget_herd;
mod case_process;
mod figures;
mod job_kills;
mod kept_jobs;
mod log_kills;
mod many_sessions;
mod ring_memory;
mod team_kills;

use case_process::CaseProcess;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// A sample; a thousand takes too long for every run of the tests.
const SESSIONS: usize = 200;

type Case = (&'static str, fn(usize));

const CASES: [Case; 27] = [
    ("many_sessions::each_takes_a_turn", many_sessions::each_takes_a_turn),
    ("budget_herd::all_may_send_at_once", budget_herd::all_may_send_at_once),
    ("budget_herd::prices_as_they_are", budget_herd::prices_as_they_are),
    ("ring_memory::observers_that_never_read", ring_memory::observers_that_never_read),
    ("log_kills::died_at_any_write", log_kills::died_at_any_write),
    ("job_kills::died_at_any_write", job_kills::died_at_any_write),
    ("job_kills::killed_while_a_job_runs", job_kills::killed_while_a_job_runs),
    ("job_kills::died_at_any_write_with_a_kept_job", job_kills::died_at_any_write_with_a_kept_job),
    ("kept_jobs::one_goes_on_where_another_dies", kept_jobs::one_goes_on_where_another_dies),
    (
        "kept_jobs::a_resumed_session_finds_it_running",
        kept_jobs::a_resumed_session_finds_it_running,
    ),
    ("kept_jobs::its_limit_needs_no_ostler", kept_jobs::its_limit_needs_no_ostler),
    ("kept_jobs::it_dies_with_its_keeper", kept_jobs::it_dies_with_its_keeper),
    (
        "kept_jobs::it_dies_with_the_keepers_supervisor",
        kept_jobs::it_dies_with_the_keepers_supervisor,
    ),
    ("kept_jobs::any_process_stops_it", kept_jobs::any_process_stops_it),
    (
        "kept_jobs::what_it_left_is_looked_at_after_its_keeper_was_killed",
        kept_jobs::what_it_left_is_looked_at_after_its_keeper_was_killed,
    ),
    ("kept_jobs::a_forged_process_is_not_stopped", kept_jobs::a_forged_process_is_not_stopped),
    (
        "kept_jobs::it_ends_when_its_directory_or_its_lock_is_removed",
        kept_jobs::it_ends_when_its_directory_or_its_lock_is_removed,
    ),
    (
        "kept_jobs::a_suspended_keeper_is_told_from_an_ended_job",
        kept_jobs::a_suspended_keeper_is_told_from_an_ended_job,
    ),
    ("job_kills::died_at_any_write_of_an_agent", job_kills::died_at_any_write_of_an_agent),
    ("job_kills::killed_while_an_agent_runs", job_kills::killed_while_an_agent_runs),
    ("team_kills::died_at_any_write", team_kills::died_at_any_write),
    ("team_kills::died_at_any_write_of_a_request", team_kills::died_at_any_write_of_a_request),
    ("team_kills::died_at_any_write_of_a_message", team_kills::died_at_any_write_of_a_message),
    ("team_kills::died_at_any_write_of_a_plan", team_kills::died_at_any_write_of_a_plan),
    ("log_kills::killed_while_it_asks", log_kills::killed_while_it_asks),
    ("log_kills::forked_after_it_was_killed", log_kills::forked_after_it_was_killed),
    (
        "log_kills::told_something_else_after_it_was_killed",
        log_kills::told_something_else_after_it_was_killed,
    ),
];

fn main() -> ExitCode {
    let init = ostler::init();
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(process) = CaseProcess::of(&words) {
        process.run(&init);
        return ExitCode::SUCCESS;
    }
    ostler::raise_open_file_limit().unwrap();
    let sessions = words.iter().find_map(|word| word.parse().ok()).unwrap_or(SESSIONS);
    words.retain(|word| !word.starts_with('-') && word.parse::<usize>().is_err());
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, case) in CASES {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let ok = catch_unwind(|| case(sessions)).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        if ok { passed += 1 } else { failed.push(name) }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {} failed {failed:?}\n", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
