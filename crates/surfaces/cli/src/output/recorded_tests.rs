//! Every recorded situation (`fixtures/events`) in every format.

use super::Output;
use super::json::JsonOutput;
use super::paint::Paint;
use super::screen::Screen;
use super::sink::Sink;
use super::stream_json::StreamJsonOutput;
use super::text::{ScreenOutput, TextOutput};
use ostler::{AgentPath, CountingIds, Envelope, JobView, ModelInfo, Price, Timestamp, ToolFacts};
use ostler_sdk::agent_sdk::{FrameOptions, LiveSession, SdkFrames};
use ostler_sdk::{Frames, SessionFacts, StreamJson};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// What goes to standard error begins with `!`.
#[derive(Clone, Default)]
struct Page(Rc<RefCell<String>>);

impl Sink for Page {
    fn print(&mut self, text: &str) -> std::io::Result<()> {
        self.0.borrow_mut().push_str(text);
        Ok(())
    }

    fn warn(&mut self, line: &str) {
        self.0.borrow_mut().push_str(&format!("! {line}\n"));
    }
}

fn recorded() -> Vec<(String, Vec<Envelope>)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/events"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(file).unwrap();
        (name, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    files.iter().map(read).collect()
}

fn facts() -> Arc<SessionFacts> {
    let price =
        Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_write_1h: 6.0, cache_read: 0.3 };
    let info =
        ModelInfo { window: 200_000, max_output: 64_000, thinking_budget: 0, price: Some(price) };
    Arc::new(SessionFacts {
        session: "00000000-0000-7000-8000-000000000001".into(),
        cwd: "/world/project".into(),
        tools: vec!["Bash".into(), "Read".into()],
        models: vec![("scripted".into(), info.clone()), ("other".into(), info)],
        mode: "default".into(),
        user_skills: vec!["review".into()],
        model_skills: Vec::new(),
        key_source: "a test".into(),
        version: "0.0.0".into(),
        output_style: "default".into(),
    })
}

fn played(envelopes: &[Envelope], make: impl FnOnce(Page) -> Box<dyn Output>) -> String {
    let page = Page::default();
    let mut output = make(page.clone());
    envelopes.iter().for_each(|envelope| output.event(envelope).unwrap());
    output.done().unwrap();
    page.0.take()
}

#[test]
fn every_situation_in_every_format() {
    let began = Timestamp(1_700_000_000_000);
    let ids = || Arc::new(CountingIds::default());
    for (name, envelopes) in recorded() {
        let text = played(&envelopes, |sink| Box::new(TextOutput { sink, verbose: true }));
        let screen = played(&envelopes, |sink| {
            Box::new(ScreenOutput { screen: Screen::on(sink, Paint::none()), verbose: false })
        });
        let json = played(&envelopes, |sink| {
            Box::new(JsonOutput { frames: Frames::new(facts(), ids(), began), sink, result: None })
        });
        let lines = played(&envelopes, |sink| {
            let lines = StreamJson::new(facts(), ids(), began, false);
            Box::new(StreamJsonOutput { lines, sink })
        });
        let page = format!(
            "== text ==\n{text}\n== screen ==\n{screen}\n== json ==\n{json}\n== stream-json ==\n{lines}"
        );
        insta::assert_snapshot!(name, page);
    }
}

/// The session that was recorded, as far as frames ask about it.
struct RecordedSession;

impl LiveSession for RecordedSession {
    fn facts(&self) -> SessionFacts {
        (*facts()).clone()
    }

    fn jobs(&self) -> Vec<JobView> {
        Vec::new()
    }

    fn tool(&self, name: &str) -> ToolFacts {
        ostler::known_tools().facts(name)
    }

    fn agents(&self) -> Vec<String> {
        vec!["explorer".into()]
    }

    fn agent_session(&self, _: &AgentPath) -> Option<String> {
        None
    }

    fn mcp_servers(&self) -> Value {
        json!([])
    }

    fn plugins(&self) -> Value {
        json!([])
    }
}

/// The lines that a program reads which uses an Agent SDK.
#[test]
fn every_situation_as_frames_of_the_agent_sdk() {
    for (name, envelopes) in recorded() {
        let options = FrameOptions {
            partial: true,
            forward_subagent_text: true,
            mode: "default".into(),
            ..FrameOptions::default()
        };
        let session = facts().session.to_string();
        let mut frames = SdkFrames::new(&session, Arc::new(CountingIds::default()), options);
        let told = envelopes.iter().flat_map(|envelope| frames.event(envelope, &RecordedSession));
        let lines: String = told.map(|frame| ostler_sdk::line(&frame)).collect();
        insta::assert_snapshot!(format!("agent_sdk_{name}"), lines);
    }
}

/// The constants of this field in the schema of a type.
fn names(schema: &Value, of: &str, field: &str) -> BTreeSet<String> {
    let schema = &schema["$defs"][of];
    let variants = schema.get("oneOf").or(schema.get("anyOf")).unwrap().as_array().unwrap();
    let name = |variant: &Value| {
        variant["properties"][field]["const"].as_str().expect("a constant").to_owned()
    };
    variants.iter().map(name).collect()
}

/// A new event or notice needs a recording: crates/product/ostler/tests/it/recorded.rs.
#[test]
fn every_event_and_every_notice_is_recorded() {
    let schema = ostler_core::event::schema();
    let mut events = names(&schema, "Event", "type");
    let mut notices = names(&schema, "Notice", "code");
    assert!(events.len() > 15 && notices.len() > 20, "{schema:#}");
    for (_, envelopes) in recorded() {
        for envelope in envelopes {
            let event = serde_json::to_value(&envelope.event).unwrap();
            events.remove(event["type"].as_str().unwrap());
            if let Some(code) = event["notice"]["code"].as_str() {
                notices.remove(code);
            }
        }
    }
    assert!(events.is_empty() && notices.is_empty(), "not recorded: {events:?} {notices:?}");
}

/// The names that a type without data has in the schema.
fn values(schema: &Value, of: &str) -> BTreeSet<String> {
    let variants = schema["$defs"][of]["oneOf"].as_array().unwrap();
    let names = |variant: &Value| match variant["const"].as_str() {
        Some(name) => vec![name.to_owned()],
        None => serde_json::from_value(variant["enum"].clone()).unwrap(),
    };
    variants.iter().flat_map(names).collect()
}

/// How a call can end, why it does not run, and who can deny it.
#[test]
fn every_outcome_of_a_call_is_recorded() {
    let schema = ostler_core::event::schema();
    let mut kinds = names(&schema, "CallOutcome", "kind");
    let (mut whys, mut deniers) = (values(&schema, "NotRun"), values(&schema, "By"));
    assert!(kinds.len() > 5 && whys.len() > 6 && deniers.len() > 7, "{schema:#}");
    for (_, envelopes) in recorded() {
        for envelope in envelopes {
            let event = serde_json::to_value(&envelope.event).unwrap();
            let part = |name: &str| event["outcome"][name].as_str().unwrap_or_default().to_owned();
            kinds.remove(&part("kind"));
            whys.remove(&part("why"));
            deniers.remove(&part("by"));
        }
    }
    let missing = [kinds, whys, deniers];
    assert!(missing.iter().all(BTreeSet::is_empty), "not recorded: {missing:?}");
}

/// Nothing is lost between a recording and a reader, and nothing in it is unknown.
#[test]
fn recordings_read_back_as_they_were_written() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/events"));
    for (name, envelopes) in recorded() {
        let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        for (line, envelope) in text.lines().zip(&envelopes) {
            assert_eq!(serde_json::to_string(envelope).unwrap(), line, "{name}");
            assert!(!matches!(envelope.event, ostler::Event::Unknown(_)), "{name}: {line}");
        }
    }
}
