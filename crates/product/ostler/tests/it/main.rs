//! The library against the scripted model. Commands need a supervisor, which is this program itself: so it has a main
//! of its own, which begins as every program that uses the library does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod attached;
mod background_agents;
mod board_tools;
mod compaction;
mod directories;
mod dropping;
mod inputs;
mod instructions;
mod isolated_agents;
mod jobs;
mod kept_jobs;
mod late_tools;
mod mixed_undo;
mod opening;
mod own_tool;
mod person_requests;
mod recorded;
#[path = "../../../../runtime/board-redis/tests/it/redis_server.rs"]
mod redis_server;
mod replay;
mod reuse;
mod second_protocol;
mod sessions;
mod stamp;
mod stopping;
mod streams;
mod subagent_faults;
mod subagent_lives;
mod subagent_rights;
mod subagents;
mod support;
mod surfaces;
mod team_forgeries;
mod team_on_redis;
mod team_outages;
mod team_protocol;
mod teams;
mod toy_protocol;
mod toy_server;
mod worker_reports;

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
        streams:
            nothing_happens_unless_it_is_read
            a_reader_that_stops_holds_the_model_back
            a_turn_with_tools_is_told_in_order
            two_turns_share_the_session;
        stopping:
            dropping_in_an_answer_closes_the_request
            dropping_in_a_command_ends_it_and_the_next_turn_tells
            dropping_withdraws_a_question
            an_interrupt_ends_the_answer_in_order
            an_interrupt_ends_a_command_in_order
            an_interrupt_without_a_turn_does_nothing
            a_closed_session_runs_no_command;
        jobs:
            a_job_is_reported_once_with_its_exit_code
            neither_waits_for_the_other
            a_running_command_moves_to_the_background
            a_command_over_its_limit_becomes_a_job_where_that_is_wanted
            a_command_over_its_limit_ends_elsewhere
            tools_read_and_stop_a_stubborn_job
            a_job_that_outlives_its_limit_is_ended
            there_are_no_more_jobs_than_allowed
            a_closed_session_ends_its_jobs_and_says_so_once
            the_next_prompt_brings_the_news
            a_flood_is_kept_by_its_ends
            running_jobs_are_carried_over_a_compaction_and_not_into_a_fork
            a_stop_hook_is_told_what_runs;
        kept_jobs:
            one_outlives_its_session_and_is_reported_once
            tools_reach_one_after_the_session_was_opened_again
            one_that_ends_at_once_is_reported_like_any_other
            one_that_cannot_start_is_told_and_leaves_nothing
            what_one_left_in_the_project_is_looked_at
            a_moved_command_is_not_kept
            without_a_home_nothing_is_kept
            one_has_the_sandbox_and_the_limits_of_every_command;
        sessions:
            an_opened_session_goes_on
            a_session_has_one_owner
            without_a_home_everything_stays_in_memory
            without_a_home_there_is_nothing_to_resume
            a_log_of_format_2_goes_on;
        inputs:
            rules_count_for_every_call_that_has_not_started
            a_denied_file_is_hidden_from_searches_and_commands
            what_is_denied_elsewhere_stays_denied
            rules_are_kept_and_read_back
            the_next_request_has_the_chosen_model_and_thinking
            later_commands_see_another_environment
            a_fork_is_another_session
            a_session_goes_back_to_before_a_turn
            a_session_takes_back_and_redoes
            a_reply_with_another_input_is_what_runs;
        directories:
            an_added_directory_is_used_from_the_next_request_on
            a_session_without_a_turn_uses_it_at_once
            added_directories_are_kept
            what_cannot_be_added_is_refused
            the_number_of_added_directories_is_limited;
        instructions:
            nested_files_share_one_limit
            a_nested_link_that_leads_out_is_said
            after_a_summary_each_is_said_once_without_its_front_matter
            what_changed_between_turns_is_told_with_the_prompt;
        opening:
            what_is_wrong_is_said_and_nothing_is_left_behind
            a_budget_needs_a_price
            only_chosen_tools_are_offered
            questions_are_answered_by_whoever_attends
            a_hook_of_ones_own;
        person_requests:
            nobody_attached_is_nobody_asked
            a_person_who_is_silent_has_not_agreed;
        own_tool:
            rules_judge_a_tool_of_ones_own
            a_tool_of_ones_own_is_explained
            a_tool_of_ones_own_is_carried_over
            every_tool_that_ships_is_explained;
        late_tools:
            requests_stay_byte_extensions_of_each_other
            without_the_option_nothing_changes
            rules_refuse_calls_through_the_fixed_tool
            an_allow_rule_can_name_a_tool_that_is_not_there_yet
            a_late_tool_is_known_and_explained
            the_log_and_the_events_name_the_tool_that_ran
            after_a_summary_it_is_in_the_list;
        reuse:
            a_long_session_is_served_from_the_cache;
        second_protocol:
            a_whole_turn_with_a_call_and_back_to_the_first
            refusals_are_remembered_by_provider_and_model
            limits_and_waits_are_read_by_the_protocol
            an_answer_may_be_cut_anywhere
            nothing_is_rendered_twice;
        compaction:
            a_full_window_takes_one_request;
        attached:
            files_plan_and_skills_are_said_again_as_they_are
            what_is_attached_keeps_to_its_room
            a_skill_outlives_the_result_that_brought_it
            nested_instructions_are_read_anew
            what_was_said_before_a_summary_is_remembered
            a_memory_that_fails_does_not_fail_the_summary;
        surfaces:
            a_question_is_answered_by_another_surface
            a_question_is_refused_when_everybody_has_left
            joining_late_is_like_having_listened
            a_stuck_observer_holds_nobody_up
            a_second_driver_is_refused_and_a_prompt_waits
            a_queue_survives_an_interrupt_and_a_restart
            of_two_prompts_at_once_one_is_recorded
            a_steer_reaches_the_model_once
            an_open_question_is_asked_again
            closing_one_session_leaves_the_others_alone
            what_was_made_stricter_is_stricter_at_once;
        dropping:
            dropping_ends_the_request_and_the_command
            a_driver_that_is_not_polled_takes_nothing;
        mixed_undo:
            each_of_two_sessions_undoes_its_own
            what_another_session_changed_since_stays
            nothing_is_undone_beside_a_command_of_another_session;
        subagents:
            three_explorers_work_at_the_same_time
            events_appear_under_the_path
            deltas_come_on_request
            an_agent_that_fails_is_an_error
            an_empty_purse_is_an_error
            the_ninth_at_once_is_refused
            the_fourth_level_is_refused
            an_agent_ends_with_its_call
            its_log_is_linked_to_the_call
            it_also_answers_to_task
            hooks_are_told_of_agents;
        subagent_lives:
            a_resumed_agent_goes_on
            what_is_denied_above_is_denied_after_a_resume
            what_agents_spend_is_in_the_totals
            an_undo_covers_agents
            an_agent_begins_after_its_call
            an_agent_that_hangs_can_be_ended
            a_message_reaches_a_running_agent
            a_planner_that_always_starts_more_ends
            a_thousand_agents_share_a_small_purse
            a_resumed_agent_is_priced_first
            a_defined_agent_has_what_its_definition_leaves;
        background_agents:
            a_background_agent_reports_once
            tools_read_and_stop_a_background_agent
            a_background_agent_ends_with_its_session
            a_dropped_session_leaves_no_agent
            a_running_agent_moves_to_the_background
            agents_move_as_far_as_there_is_room
            a_message_reaches_a_background_agent
            a_background_agent_asks_the_person
            no_place_among_the_jobs_is_a_refusal
            an_agent_that_panics_is_an_error;
        board_tools:
            a_session_adds_claims_and_finishes_tasks
            unfinished_claims_return_when_the_session_closes
            claims_are_renewed_while_the_session_is_open
            a_resumed_session_has_its_claims_back
            a_teammate_claims_in_its_own_name
            only_changes_of_the_board_need_permission
            a_session_opens_its_board_once
            a_server_that_is_down_at_the_start_has_a_substitute;
        teams:
            a_teammate_reports_once_and_remembers
            reports_join_a_running_turn
            a_resumed_lead_has_its_team_back
            a_team_is_listed_and_names_are_checked
            a_team_that_cannot_work_is_refused
            a_teammate_has_no_more_rights_than_its_lead
            a_teammate_that_keeps_failing_is_parked
            everybody_gets_a_broadcast
            two_teammates_ask_each_other_at_the_same_moment
            a_request_that_nobody_answers_ends_at_its_deadline
            the_lead_answers_a_teammate
            a_teammate_is_not_resumed_as_an_agent;
        team_protocol:
            every_transition_is_an_event_and_an_entry
            a_message_reaches_a_busy_teammate_before_its_next_request
            a_teammate_that_is_shut_down_finishes_its_turn
            a_teammate_that_does_not_stop_is_stopped_at_the_deadline
            a_plan_is_approved_by_its_hash_and_by_nothing_else
            a_person_approves_a_plan
            a_plan_that_nobody_approves_ends_its_task;
        team_forgeries:
            no_mail_in_a_file_approves_a_plan
            no_mail_on_a_server_approves_a_plan
            a_plan_that_was_changed_on_the_board_cannot_be_approved
            a_forged_answer_ends_no_request
            an_answer_from_somebody_else_ends_no_request;
        team_on_redis:
            a_team_works_on_a_board_on_a_server;
        team_outages:
            a_report_arrives_when_the_board_is_back
            mail_is_read_when_the_board_is_back
            the_lead_answers_again_after_a_failure
            mail_to_a_parked_teammate_goes_back_to_its_sender_and_the_lead
            a_broadcast_reaches_all_who_can_be_reached
            a_request_that_the_lead_does_not_answer_ends_at_its_deadline
            a_request_of_the_lead_ends_at_its_deadline;
        worker_reports:
            a_report_is_repeated_until_the_board_takes_it
            a_report_that_comes_too_late_is_said_with_its_branch;
        isolated_agents:
            an_agent_works_in_a_worktree_and_finds_it_again
            an_agent_that_changed_nothing_leaves_no_worktree
            an_isolated_agent_has_no_more_rights_than_its_starter
            a_repository_is_needed_and_the_reason_is_told
            a_teammate_keeps_its_worktree
            an_interrupted_agents_work_is_kept;
        subagent_faults:
            ten_agents_end_with_the_interrupt
            a_huge_answer_is_cut
            a_budget_reached_by_several_stops_all
            two_agents_do_not_overwrite_each_other;
        subagent_rights:
            a_deny_rule_holds_below
            what_becomes_stricter_is_stricter_below
            plan_mode_holds_below
            a_question_from_below_reaches_the_root
            a_yes_for_the_session_holds_for_the_next_agent;
        recorded:
            every_situation_is_as_it_was_recorded
            a_wrong_order_is_noticed;
    };
    cases
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn main() -> ExitCode {
    let _ = ostler::init();
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
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
