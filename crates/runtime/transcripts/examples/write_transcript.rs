//! Writes a transcript below a directory, for `scripts/check-transcripts` to read with the Python SDK.

use ostler_core::ids::{CallId, CountingIds, ModelId};
use ostler_core::message::{Block, Message, ResultPart};
use ostler_core::session::Entry;
use ostler_core::time::Timestamp;
use ostler_transcripts::{SessionHeader, TranscriptFile};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: write_transcript CLAUDE_HOME PROJECT";
    let (home, cwd) = (words.next().ok_or(usage)?, words.next().ok_or(usage)?);
    let header = SessionHeader {
        session: "33333333-2222-4333-8444-555555555555".into(),
        cwd,
        git_branch: Some("feature/x".into()),
        version: "0.1.0".into(),
    };
    let answer = |content| Entry::Answer {
        message: Message::assistant(&ModelId::new("claude-opus-4-5"), content),
        stop: None,
    };
    let call = |id: &str| Block::ToolUse {
        id: CallId::new(id),
        name: "Grep".into(),
        input: serde_json::json!({ "pattern": "x" }),
        via: None,
    };
    let result = |id: &str| Entry::CallFinished {
        result: Block::ToolResult {
            id: CallId::new(id),
            content: vec![ResultPart::text(format!("found by {id}"))],
            is_error: false,
        },
        seen: Vec::new(),
    };
    let prompt = |text: &str| Entry::prompt(Message::user(text), Timestamp(1_772_323_200_000));
    let thought = Block::Thinking { text: "hm".into(), signature: Some("s".into()) };
    let entries = [
        prompt("Where is x?"),
        answer(vec![thought, Block::text("I look."), call("c1"), call("c2")]),
        result("c1"),
        result("c2"),
        answer(vec![Block::text("In two places.")]),
        prompt("A question that is rewound"),
        answer(vec![Block::text("An answer that is rewound.")]),
        Entry::Rewound { turn: 2, at: Timestamp(1_772_323_300_000) },
        prompt("Which is newer?"),
        answer(vec![Block::text("The second.")]),
    ];
    let mut file = TranscriptFile::open(home.as_ref(), header)?;
    let ids = CountingIds::default();
    for entry in &entries {
        file.record(entry, Timestamp(1_772_323_400_000), &ids)?;
    }
    let title = file.lines().title("Places of x");
    file.append(&[title])?;
    Ok(())
}
