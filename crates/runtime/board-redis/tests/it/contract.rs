//! The suite on a real server, and the proof that it notices wrong scripts.

use crate::place::Place;
use crate::planted_faults::fails;
use crate::redis_place::{on, redis};
use crate::redis_server::{RedisServer, shared};
use ostler_board_redis::Scripts;

macro_rules! on_redis {
    ($($file:ident::$case:ident),* $(,)?) => {
        pub const CASES: &[(&str, fn(&Place))] = &[$((stringify!($case), crate::$file::$case)),*];
        mod on_redis {
            $(#[test] fn $case() {
                if let Some(place) = crate::redis_place::redis() {
                    crate::$file::$case(&place);
                }
            })*
        }
    };
}

with_cases!(on_redis);

/// A passage of a script, what it is replaced with, and the case that must notice.
const PLANTED: &[(&str, &str, &str)] = &[
    ("task.fence ~= fence or fence == 0", "false", "a_stale_worker_is_refused"),
    ("unique('fence'), now", "task.attempt + 1, now", "fences_only_grow"),
    (
        "losses = 0, event = 'returned'",
        "losses = 0, event = 'retried'",
        "a_returned_task_can_be_claimed_at_once",
    ),
    ("task.lease_until <= now", "false", "an_expired_lease_returns_the_task"),
    (
        "task.status == IN_PROGRESS and task.lease_until > now",
        "task.status ~= DONE",
        "a_stale_worker_is_refused",
    ),
    (
        "if not has_to_wait[globs] then",
        "if true then",
        "overlapping_tasks_are_never_handed_out_together",
    ),
    (
        "if not has_to_wait[globs] then",
        "if true then",
        "a_crowd_never_gets_the_same_or_overlapping_tasks",
    ),
    (
        "      if has_changed then\n        ring()",
        "      if true then\n        ring()",
        "a_claim_that_finds_nothing_wakes_nobody",
    ),
    ("if waits_for == 0 then", "if true then", "a_task_waits_for_what_it_depends_on"),
    (
        "if status == DONE then\n    unblock",
        "if status >= DONE then\n    unblock",
        "a_failed_or_cancelled_dependency_blocks_with_its_reason",
    ),
    ("if has_circle == '1' then", "if false then", "phantoms_and_circles_are_refused_as_a_whole"),
    (
        "if refusal and refusal[2] == 'missing' then",
        "if refusal then refusal = nil id = name elseif false then",
        "phantoms_and_circles_are_refused_as_a_whole",
    ),
    ("task.priority * RANK + task.seq", "task.seq", "next_is_the_most_urgent_then_the_oldest"),
    (
        "task.priority * RANK + task.seq",
        "task.priority * RANK - task.seq",
        "next_is_the_most_urgent_then_the_oldest",
    ),
    ("if losses >= MOST_LOSSES then", "if false then", "a_task_that_loses_its_workers_is_parked"),
    ("elseif task.status == DONE then", "elseif false then", "done_is_final"),
    ("if total > MOST_TASKS then", "if false then", "sizes_and_counts_are_limited"),
    (
        "if length > MOST_HISTORY - 1 then",
        "if false then",
        "the_history_tells_everything_and_is_limited",
    ),
    (
        "math.max(now + tonumber(lease), task.lease_until)",
        "now + tonumber(lease)",
        "a_renewed_lease_is_kept",
    ),
    ("task.fence == fence and task.status == DONE", "false", "a_repeated_report_changes_nothing"),
    ("call('XLEN', box(mail.to)) >= most_unread", "false", "mailboxes_and_the_archive_are_limited"),
    ("if last > 0 then", "if false then", "mailboxes_and_the_archive_are_limited"),
    (
        "call('ZADD', LEASES, lease_until, mail.id)",
        "",
        "mail_that_was_not_settled_comes_again_and_is_read_once",
    ),
    ("  archive(mail)\n", "", "the_sender_sees_how_far_behind_the_reader_is"),
    (
        "call('ZREM', returned(mail.to), mail.id)\n  call('ZREM', OPEN",
        "call('ZADD', returned(mail.to), mail.seq, mail.id)\n  call('ZREM', OPEN",
        "the_reply_acknowledges",
    ),
    (
        "if is_finished(mail.to) then",
        "if false then",
        "mail_to_a_finished_agent_goes_back_to_sender_and_lead",
    ),
    (
        "if lead and lead ~= mail.from then",
        "if false then",
        "mail_to_a_finished_agent_goes_back_to_sender_and_lead",
    ),
    (
        "mail.to == name and mail.status == DELIVERED",
        "false",
        "a_reader_that_starts_again_gets_what_it_had_in_hand",
    ),
    (
        "if mail.deliveries >= MOST_DELIVERIES then",
        "if false then",
        "mail_that_always_fails_is_given_up",
    ),
    (
        "not is_same or mail.status ~= DELIVERED or mail.lease_until <= now",
        "false",
        "an_old_delivery_cannot_settle",
    ),
    ("elseif not known[1] then", "else", "the_same_mail_sent_twice_is_one"),
    (
        "local reply = id .. '-reply'",
        "local reply = id .. '-answer'",
        "only_the_board_makes_replies_and_notices",
    ),
    ("mail.from .. '\\0' .. mail.to", "'all'", "mail_arrives_in_order_with_numbers_per_pair"),
    (
        "':box:' .. encoded(name)",
        "':box:' .. string.lower(string.sub(name, 1, 1))",
        "strange_names_do_not_mix",
    ),
    (
        "call('ZREM', pair(mail.from, mail.to), mail.id)",
        "",
        "the_sender_sees_how_far_behind_the_reader_is",
    ),
    ("'desc', task.description", "'desc', task.title", "a_task_is_shown_as_it_was_added"),
    (
        "refusal = refusal or claim_refusal(task)",
        "",
        "a_named_task_is_claimed_or_the_reason_is_given",
    ),
    ("elseif #ids > 1 then", "elseif false then", "a_unique_prefix_is_enough"),
    (
        "total = total + call('ZCARD', key)",
        "total = math.max(total, call('ZCARD', key))",
        "lists_are_filtered_and_limited",
    ),
    (
        "return {status = CANCELLED, error = text",
        "return {status = IN_PROGRESS, error = text",
        "a_cancelled_claim_is_over",
    ),
    (
        "    settle(mail, ACKNOWLEDGED)",
        "    give_back(mail)",
        "a_crowd_of_readers_sees_each_mail_once",
    ),
    (
        "mails[#mails + 1] = call('HGETALL', key_of(some[at]))",
        "mails[#mails + 1] = call('HGETALL', key_of(some[at])) settle(mail, ACKNOWLEDGED)",
        "peeking_consumes_nothing",
    ),
];

/// A case that nothing fails proves nothing.
#[test]
fn each_case_has_a_fault_that_it_notices() {
    for (case, _) in CASES {
        assert!(PLANTED.iter().any(|(.., name)| name == case), "no fault is planted for {case}");
    }
}

#[test]
fn a_script_that_breaks_a_rule_fails_the_suite() {
    let Some(server) = shared() else { return };
    for (passage, replacement, name) in PLANTED {
        let (_, case) = CASES.iter().find(|(case, _)| case == name).unwrap();
        let scripts = Scripts::default().with(passage, replacement);
        let scripts = scripts.unwrap_or_else(|| panic!("no script contains {passage}"));
        let server = server.clone();
        let failed = fails(move || case(&on(server, scripts)));
        assert!(failed, "{name} did not notice {replacement:?} instead of {passage}");
    }
    let product = product(&server);
    println!("{} cases on {product}, {} planted faults found", CASES.len(), PLANTED.len());
}

/// With its version, as the server itself says it.
fn product(server: &RedisServer) -> String {
    let info: String = redis::cmd("INFO").arg("server").query(&mut server.connection()).unwrap();
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    match field("valkey_version:") {
        Some(version) => format!("Valkey {version}"),
        None => format!("Redis {}", field("redis_version:").unwrap()),
    }
}

/// Whatever a case leaves behind, the keys of its board are the only ones, and they are in one slot.
#[test]
fn all_keys_of_a_board_are_in_one_slot() {
    let Some(server) = RedisServer::start(&[]) else { return };
    let server = std::sync::Arc::new(server);
    for (_, case) in CASES {
        case(&on(server.clone(), Scripts::default()));
    }
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.connection()).unwrap();
    assert!(keys.len() > CASES.len());
    for key in keys {
        let rest = key.strip_prefix("ostler:{board-").unwrap_or_else(|| panic!("{key}"));
        let (_, own) = rest.split_once("}:").unwrap_or_else(|| panic!("{key}"));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte);
        assert!(own.bytes().all(is_plain), "{key}");
    }
}
