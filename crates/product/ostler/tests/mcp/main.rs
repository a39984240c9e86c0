//! MCP servers and sessions. The program is its own supervisor, and its own scripted server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    dead_code
)]

#[path = "../it/support.rs"]
mod support;

mod faults;
mod forms;
mod greetings;
mod ground;
mod http_faults;
mod lost_calls;
mod many_tools;
mod offers;
mod real_servers;
mod sampling;
mod scripted_http;
mod scripted_server;
mod tools;

use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

type Case = Pin<Box<dyn Future<Output = ()>>>;
type Named = (&'static str, fn() -> Case);

/// A hang is a failure, not a wait.
const LIMIT: Duration = Duration::from_secs(300);

macro_rules! cases {
    ($($module:ident: $($name:ident)*;)*) => {
        [$($((concat!(stringify!($module), "::", stringify!($name)), || Box::pin($module::$name()) as Case)),*),*]
    };
}

fn all() -> impl IntoIterator<Item = Named> {
    let cases: [Named; _] = cases! {
        tools:
            a_tool_of_a_server_is_called_like_any_other
            rules_and_questions_see_the_real_name
            a_known_server_is_not_started_before_it_is_used
            images_are_shown_and_binary_parts_are_sizes
            a_server_through_a_tunnel_is_like_any_other
            servers_that_settings_do_not_permit_are_not_used
            servers_are_set_and_switched_while_the_session_runs
            reading_calls_of_a_trusted_server_run_side_by_side
            progress_is_the_tail_of_the_call
            a_changed_list_is_announced_with_a_notice
            a_server_of_the_newest_revision_is_asked_to_tell_of_changes
            a_description_that_changed_between_sessions_is_reported_once
            subagents_have_the_tools_of_their_session;
        faults:
            servers_that_cannot_start_do_not_stop_the_others
            a_silent_server_delays_nothing_but_itself
            a_server_that_reads_nothing_holds_up_no_call
            a_person_is_not_flooded_with_forms
            a_server_whose_files_are_hidden_says_what_to_configure
            a_server_in_the_home_directory_reads_its_own_files
            noise_and_floods_are_skipped
            results_are_bounded
            hostile_metadata_is_left_out_or_cut
            thousands_of_tools_are_limited
            another_protocol_version_is_refused
            answers_to_nobody_are_no_answers
            a_stubborn_server_ends_with_its_session
            only_listed_variables_and_the_project_are_in_reach
            what_a_server_asks_for_is_refused_or_bounded
            what_a_result_says_is_data
            every_row_of_the_corpus_has_its_test;
        lost_calls:
            a_server_that_dies_in_a_call_is_started_again_for_the_next
            a_server_that_dies_again_and_again_is_given_up
            a_call_without_an_answer_is_cancelled
            a_late_answer_harms_nothing
            a_call_that_is_interrupted_is_cancelled_on_the_server;
        http_faults:
            answers_of_100_megabytes_are_not_read
            an_endless_stream_without_an_answer_ends_with_the_call
            nothing_is_sent_to_where_a_server_redirects
            what_is_not_an_answer_is_an_error
            a_server_that_wants_a_login_is_in_its_own_state
            the_older_transport_works_and_stays_on_its_host;
        offers:
            a_prompt_of_a_server_is_a_slash_command
            a_resource_is_named_in_a_prompt
            resources_are_listed_and_read_where_a_server_has_some;
        forms:
            a_form_is_a_question_and_the_answer_has_its_types
            a_form_can_be_declined;
        sampling:
            a_server_uses_the_model_if_a_person_allows_it
            a_person_refuses_once
            without_a_person_only_what_was_allowed_before_is_answered
            the_budget_of_a_server_is_its_own
            nothing_is_announced_to_servers_that_may_not_use_the_model
            a_person_is_not_flooded_with_requests
            questions_end_with_their_request_and_their_call
            a_server_gets_nothing_after_its_call
            agents_do_not_sample;
        greetings:
            a_server_that_ignores_the_probe_is_probed_once
            a_server_that_ends_on_the_probe_is_greeted_as_an_older_one
            a_server_that_became_newer_is_probed_again
            a_server_that_failed_is_left_alone_for_a_while
            the_first_prompt_waits_for_servers_that_are_always_listed
            nobody_waits_twice_for_a_server_that_does_not_answer;
        many_tools:
            a_thousand_tools_cost_little_and_start_nothing
            a_deferred_tool_is_found_called_and_kept
            what_was_found_is_in_the_list_after_a_compaction
            a_found_tool_that_changes_is_described_again
            requests_stay_byte_extensions_of_each_other
            dead_servers_cost_nothing_at_the_start;
        real_servers:
            everything_over_stdio
            everything_over_streamable_http
            the_file_system_reads_the_project
            git_shows_a_status;
    };
    cases
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn main() -> ExitCode {
    let _ = ostler::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == scripted_server::WORD) {
        scripted_server::serve(&words[1..]);
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let words: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, case) in all() {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let run =
            async { tokio::time::timeout(LIMIT, AssertUnwindSafe(case()).catch_unwind()).await };
        let why = match runtime.block_on(run) {
            Ok(Ok(())) => None,
            Ok(Err(panic)) => Some(panic_text(&*panic)),
            Err(_) => Some(format!("it did not end within {} s", LIMIT.as_secs())),
        };
        println!("test {name} ... {}", if why.is_none() { "ok" } else { "FAILED" });
        match why {
            None => passed += 1,
            Some(why) => failed.push((name, why)),
        }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    for (name, why) in &failed {
        println!("\n{name}: {why}");
    }
    println!("\ntest result: {word}. {passed} passed; {} failed\n", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
