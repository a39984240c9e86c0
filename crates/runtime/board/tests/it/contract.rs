//! The suite that every backend passes, and the proof that it can fail.

use crate::memory_board::Fault;
use crate::place::{Place, memory};
use crate::planted_faults::fails;

/// Each case becomes a test for each backend. A backend of another crate includes this file and its cases.
macro_rules! contract {
    ($($file:ident::$case:ident),* $(,)?) => {
        const CASES: &[(&str, fn(&Place))] = &[$((stringify!($case), crate::$file::$case)),*];
        mod on_sqlite {
            $(#[test] fn $case() { crate::$file::$case(&crate::place::sqlite()); })*
        }
        mod on_memory {
            $(#[test] fn $case() { crate::$file::$case(&crate::place::memory(None)); })*
        }
    };
}

with_cases!(contract);

/// For each rule a board that breaks it, and the case that must notice.
const PLANTED: &[(Fault, &str)] = &[
    (Fault::NoFence, "a_stale_worker_is_refused"),
    (Fault::FenceGoesBack, "fences_only_grow"),
    (Fault::LeaseNeverEnds, "an_expired_lease_returns_the_task"),
    (Fault::LateFinishCounts, "a_stale_worker_is_refused"),
    (Fault::OverlapIsIgnored, "overlapping_tasks_are_never_handed_out_together"),
    (Fault::OverlapIsIgnored, "a_crowd_never_gets_the_same_or_overlapping_tasks"),
    (Fault::TwoGetTheSame, "a_crowd_never_gets_the_same_or_overlapping_tasks"),
    (Fault::DependenciesAreIgnored, "a_task_waits_for_what_it_depends_on"),
    (Fault::FailedCountsAsDone, "a_failed_or_cancelled_dependency_blocks_with_its_reason"),
    (Fault::CirclesAreAllowed, "phantoms_and_circles_are_refused_as_a_whole"),
    (Fault::PhantomsAreAllowed, "phantoms_and_circles_are_refused_as_a_whole"),
    (Fault::HalfABatchStays, "phantoms_and_circles_are_refused_as_a_whole"),
    (Fault::PriorityIsIgnored, "next_is_the_most_urgent_then_the_oldest"),
    (Fault::NewestFirst, "next_is_the_most_urgent_then_the_oldest"),
    (Fault::EmptyClaimRings, "a_claim_that_finds_nothing_wakes_nobody"),
    (Fault::ClaimIsSilent, "a_claim_that_finds_nothing_wakes_nobody"),
    (Fault::NeverParked, "a_task_that_loses_its_workers_is_parked"),
    (Fault::DoneCanBeCancelled, "done_is_final"),
    (Fault::NoLimit, "sizes_and_counts_are_limited"),
    (Fault::NoFence, "a_returned_task_can_be_claimed_at_once"),
    (Fault::NoLimit, "mailboxes_and_the_archive_are_limited"),
    (Fault::ArchiveGrows, "mailboxes_and_the_archive_are_limited"),
    (Fault::PeekConsumes, "peeking_consumes_nothing"),
    (Fault::ReceiveRemoves, "mail_that_was_not_settled_comes_again_and_is_read_once"),
    (Fault::AcknowledgedComesAgain, "the_reply_acknowledges"),
    (Fault::AcknowledgedComesAgain, "a_crowd_of_readers_sees_each_mail_once"),
    (Fault::NoBounce, "mail_to_a_finished_agent_goes_back_to_sender_and_lead"),
    (Fault::LeadIsNotTold, "mail_to_a_finished_agent_goes_back_to_sender_and_lead"),
    (Fault::StartedKeepsLeases, "a_reader_that_starts_again_gets_what_it_had_in_hand"),
    (Fault::NeverGivenUp, "mail_that_always_fails_is_given_up"),
    (Fault::StaleDeliverySettles, "an_old_delivery_cannot_settle"),
    (Fault::SameMailTwice, "the_same_mail_sent_twice_is_one"),
    (Fault::AnyIdIsSent, "only_the_board_makes_replies_and_notices"),
    (Fault::OneNumberForAll, "mail_arrives_in_order_with_numbers_per_pair"),
    (Fault::LagForgetsDelivered, "the_sender_sees_how_far_behind_the_reader_is"),
    (Fault::TextIsCut, "a_task_is_shown_as_it_was_added"),
    (Fault::NamedTaskIsTakenAnyway, "a_named_task_is_claimed_or_the_reason_is_given"),
    (Fault::FirstPrefixWins, "a_unique_prefix_is_enough"),
    (Fault::TotalIsWhatIsShown, "lists_are_filtered_and_limited"),
    (Fault::RenewalShortens, "a_renewed_lease_is_kept"),
    (Fault::LastReportCounts, "a_repeated_report_changes_nothing"),
    (Fault::CancelledStaysClaimed, "a_cancelled_claim_is_over"),
    (Fault::HistoryForgetsItsFirst, "the_history_tells_everything_and_is_limited"),
    (Fault::CaseIsIgnored, "strange_names_do_not_mix"),
];

/// A case that nothing fails proves nothing.
#[test]
fn each_case_has_a_fault_that_it_notices() {
    for (case, _) in CASES {
        assert!(PLANTED.iter().any(|(_, name)| name == case), "no fault is planted for {case}");
    }
}

#[test]
fn a_board_that_breaks_a_rule_fails_the_suite() {
    for (fault, name) in PLANTED {
        let (_, case) = CASES.iter().find(|(case, _)| case == name).unwrap();
        let failed = fails(move || case(&memory(Some(*fault))));
        assert!(failed, "{name} did not notice {fault:?}");
    }
    println!("{} cases, {} planted faults found", CASES.len(), PLANTED.len());
}
