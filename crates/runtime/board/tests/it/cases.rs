//! The cases of the suite. `ostler-board-redis` includes them, too.

/// Hands the list to another macro.
macro_rules! with_cases {
    ($then:ident) => {
        $then! {
            board_cases::a_task_is_shown_as_it_was_added,
            board_cases::next_is_the_most_urgent_then_the_oldest,
            board_cases::a_task_waits_for_what_it_depends_on,
            board_cases::a_failed_or_cancelled_dependency_blocks_with_its_reason,
            board_cases::phantoms_and_circles_are_refused_as_a_whole,
            board_cases::overlapping_tasks_are_never_handed_out_together,
            board_cases::a_named_task_is_claimed_or_the_reason_is_given,
            board_cases::a_unique_prefix_is_enough,
            board_cases::done_is_final,
            board_cases::sizes_and_counts_are_limited,
            board_cases::lists_are_filtered_and_limited,
            board_cases::a_claim_that_finds_nothing_wakes_nobody,
            lease_cases::fences_only_grow,
            lease_cases::an_expired_lease_returns_the_task,
            lease_cases::a_renewed_lease_is_kept,
            lease_cases::a_stale_worker_is_refused,
            lease_cases::a_repeated_report_changes_nothing,
            lease_cases::a_task_that_loses_its_workers_is_parked,
            lease_cases::a_cancelled_claim_is_over,
            lease_cases::a_returned_task_can_be_claimed_at_once,
            lease_cases::the_history_tells_everything_and_is_limited,
            crowd_cases::a_crowd_never_gets_the_same_or_overlapping_tasks,
            crowd_cases::a_crowd_of_readers_sees_each_mail_once,
            mail_cases::mail_arrives_in_order_with_numbers_per_pair,
            mail_cases::peeking_consumes_nothing,
            mail_cases::mail_that_was_not_settled_comes_again_and_is_read_once,
            mail_cases::the_reply_acknowledges,
            mail_cases::an_old_delivery_cannot_settle,
            mail_cases::mail_to_a_finished_agent_goes_back_to_sender_and_lead,
            mail_cases::a_reader_that_starts_again_gets_what_it_had_in_hand,
            mail_cases::mail_that_always_fails_is_given_up,
            mail_cases::the_sender_sees_how_far_behind_the_reader_is,
            mail_cases::the_same_mail_sent_twice_is_one,
            mail_cases::only_the_board_makes_replies_and_notices,
            mail_cases::mailboxes_and_the_archive_are_limited,
            mail_cases::strange_names_do_not_mix,
        }
    };
}
