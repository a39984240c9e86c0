//! Recordings of what takes a damaged disk, much patience or random ids: made by hand.

use super::comparison::written;
use super::{BEGAN, SESSION};
use ostler::{CacheBroken, CacheChange, NotCompacted, Notice, StageName};
use serde_json::{Value, json};

/// Notices that take a damaged disk or much patience, made by hand so that every surface's tests have them.
fn rare_notices() -> Vec<Notice> {
    let text = |text: &str| text.to_owned();
    vec![
        Notice::UnknownStopReason { reason: text("tired") },
        Notice::NoCallMade,
        Notice::UsageEstimated { model: "scripted".into(), prompt_tokens: 900, output_tokens: 80 },
        Notice::CacheBroken(CacheBroken {
            expected: 9_000,
            read: 0,
            change: CacheChange::Thinking,
        }),
        Notice::Provider { text: text("The field thinking was refused and is left out.") },
        Notice::PriceUnknown { model: "unheard-of".into() },
        Notice::BudgetSpent { budget: text("the budget of the day, $5"), limit_usd: None },
        Notice::BudgetUnknown { text: text("the ledger cannot be used") },
        Notice::Ledger { text: text("3 requests could not be written to the ledger") },
        Notice::RoomMade {
            stage: StageName::Micro,
            count: 4,
            tokens_before: 180_000,
            tokens_after: 90_000,
        },
        Notice::NotCompacted(NotCompacted::StaysTooLarge { tokens: 190_000, window: 200_000 }),
        Notice::Sandbox { text: text("sandbox: bubblewrap is not installed") },
        Notice::Command { text: text(".git/hooks/pre-commit was restored") },
        Notice::Job { text: text("the job b1 was stopped: make") },
        Notice::Team { text: text("team: the mail cannot be read") },
        Notice::Board { text: text("the task t1 was taken back: its lease ended") },
        Notice::MoreInstructions,
        Notice::Skill { file: "/world/skills/x/SKILL.md".into(), line: 3, what: text("no name") },
        Notice::Memory { text: text("The memory was damaged and set aside.") },
        Notice::MemoryByWords {
            text: text("Found by words only: the search by meaning took too long."),
        },
        Notice::MemoryLate,
        Notice::SessionLog { text: text("entry 12 is incomplete: cut off") },
        Notice::Undo { text: text("the disk is full") },
        Notice::Directory { text: text("/world/more is not there any more") },
        Notice::Mcp { server: text("search"), text: text("the server cannot be reached") },
    ]
}

pub fn rare_notice_lines() -> Vec<String> {
    let envelope = |(seq, notice): (u64, Notice)| {
        let level = notice.level();
        written(json!({
            "version": 1, "seq": seq, "at": BEGAN + seq * 10, "session": SESSION,
            "event": { "type": "notice", "level": level, "notice": notice },
        }))
    };
    (1..).zip(rare_notices()).map(envelope).collect()
}

/// The mail of a team has random ids, so its events are made by hand, too.
pub fn team_lines() -> Vec<String> {
    let all = [
        json!({ "phase": "responding", "task": "port the parser", "with": "lead" }),
        json!({ "phase": "requesting", "task": "port the parser", "with": "explorer" }),
        json!({ "phase": "waiting", "with": "explorer" }),
        json!({ "phase": "idle" }),
        json!({ "phase": "parked", "why": "its last 3 tasks failed" }),
        json!({ "phase": "stopped", "why": "it was shut down" }),
    ];
    let envelope = |(seq, mut event): (u64, Value)| {
        (event["type"], event["name"]) = ("teammate_changed".into(), "writer".into());
        written(json!({
            "version": 1, "seq": seq, "at": BEGAN + seq * 10, "session": SESSION,
            "agent": ["writer"], "event": event,
        }))
    };
    (1..).zip(all).map(envelope).collect()
}
