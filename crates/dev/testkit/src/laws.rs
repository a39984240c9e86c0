//! What holds after every run, whatever it was about.

use crate::render::entry_line;
use crate::rig::Rig;
use crate::timeline::{Timeline, TimelineMoment};
use crate::trace;
use ostler_core::event::Event;
use ostler_core::ids::CallId;
use ostler_core::message::{Block, Message};
use ostler_core::pairing;
use ostler_core::session::{Entry, SessionRecord};
use ostler_core::turn::Terminal;
use ostler_core::view::View;
use std::collections::BTreeSet;

/// Entries of a log all of whose beginnings are looked at; of a longer one, every so many.
const ORDINARY: usize = 200;

/// The order a reader can rely on.
pub(crate) fn of_events(events: &[Event], rig: &Rig) {
    let told = || trace::trace(events);
    assert!(matches!(events.first(), Some(Event::TurnStarted { .. })), "{}", told());
    let ends = events.iter().filter(|event| matches!(event, Event::Finished(_))).count();
    assert_eq!(ends, 1, "a turn finishes once:\n{}", told());
    let finished = trace::finished(events);
    // A dropped answer may leave calls that began and never end; their names may come again.
    let (mut begun, mut done) = (BTreeSet::new(), BTreeSet::new());
    // A turn that is resumed begins with the calls of an answer that is in the log.
    let mut sealed = true;
    for event in events {
        match event {
            Event::IterationStarted { .. } => sealed = false,
            Event::AnswerSealed { .. } => sealed = true,
            Event::AnswerDropped => {
                begun.clear();
                done.clear();
            }
            Event::CallAsked { id, .. } | Event::CallProgress { id, .. } => {
                assert!(!done.contains(id), "{id} speaks after its end:\n{}", told());
            }
            Event::CallStarted { id, .. } => {
                assert!(!done.contains(id), "{id} starts after its end:\n{}", told());
                assert!(begun.insert(id.clone()), "{id} starts twice:\n{}", told());
            }
            Event::CallFinished { id, .. } => {
                assert!(
                    sealed,
                    "the result of {id} is shown before its answer is in the log:\n{}",
                    told()
                );
                assert!(done.insert(id.clone()), "{id} finishes twice:\n{}", told());
            }
            _ => {}
        }
    }
    if finished.terminal != Terminal::StoreFailed {
        let unfinished: Vec<_> = begun.difference(&done).collect();
        let ended_early = matches!(finished.terminal, Terminal::Refusal | Terminal::ModelError(_));
        assert!(
            unfinished.is_empty() || ended_early,
            "{unfinished:?} began and never finished:\n{}",
            told()
        );
        let end = rig.timeline.moments();
        let last = end
            .iter()
            .rev()
            .find(|m| matches!(m, TimelineMoment::Entry(_) | TimelineMoment::Synced));
        assert_eq!(
            last,
            Some(&TimelineMoment::Synced),
            "the end is not synced:\n{}",
            rig.timeline.render()
        );
        match rig.timeline.entries().last() {
            Some(Entry::End { terminal, .. }) => assert_eq!(*terminal, finished.terminal),
            _ => panic!("the log does not end with an end:\n{}", rig.timeline.render()),
        }
    }
    assert_eq!(rig.model.open_streams(), 0, "a model's stream is still open");
}

/// What changes the world was asked for and recorded on the disk before, and runs beside nothing it conflicts with.
pub(crate) fn of_timeline(timeline: &Timeline) {
    let told = || timeline.render();
    let (mut written, mut synced) = (Vec::new(), Vec::new());
    let mut running: Vec<(CallId, ostler_core::permission::Access)> = Vec::new();
    let mut question: Option<CallId> = None;
    for moment in timeline.moments() {
        match moment {
            TimelineMoment::Entry(entry) => written.push(entry),
            TimelineMoment::Synced => synced.append(&mut written),
            TimelineMoment::Began { id, access } => {
                if !access.is_harmless() {
                    let asked = synced.iter().any(|entry| is_answer_with(entry, &id));
                    let started = synced
                        .iter()
                        .any(|entry| matches!(entry, Entry::CallStarted { id: had } if *had == id));
                    assert!(asked, "{id} ran before its answer was on disk:\n{}", told());
                    assert!(started, "{id} ran before its start was on disk:\n{}", told());
                }
                let clash = running.iter().find(|(_, other)| other.conflicts(&access));
                assert!(clash.is_none(), "{id} ran beside {clash:?}:\n{}", told());
                running.push((id, access));
            }
            TimelineMoment::Ended(id) | TimelineMoment::Stopped(id) => {
                running.retain(|(had, _)| *had != id)
            }
            TimelineMoment::Asked(id) => {
                assert!(question.is_none(), "{id} was asked beside {question:?}:\n{}", told());
                question = Some(id);
            }
            TimelineMoment::Replied(_) | TimelineMoment::Withdrawn(_) => question = None,
            TimelineMoment::Refused(_) | TimelineMoment::Requested(_) => {}
        }
    }
}

/// A call starts and finishes once, after the answer that made it.
fn of_calls(entries: &[Entry]) {
    let (mut made, mut started, mut done) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        match entry {
            Entry::Answer { message, .. } => made.extend(message.calls().cloned()),
            Entry::CallStarted { id } => {
                assert!(made.contains(id), "{id} starts before its answer");
                assert!(!done.contains(id) && started.insert(id.clone()), "{id} starts again");
            }
            Entry::CallFinished { result: Block::ToolResult { id, .. }, .. } => {
                assert!(made.contains(id), "{id} finishes before its answer");
                assert!(done.insert(id.clone()), "{id} finishes twice in the log");
            }
            _ => {}
        }
    }
}

fn is_answer_with(entry: &Entry, id: &CallId) -> bool {
    matches!(entry, Entry::Answer { message, .. } if message.calls().any(|call| call == id))
}

/// The log alone tells the same story as the engine, and every beginning of it is a valid conversation.
pub(crate) fn of_log(rig: &Rig) {
    let entries = rig.timeline.entries();
    of_calls(&entries);
    let step = if entries.len() <= ORDINARY { 1 } else { entries.len() / 10 };
    let mut session = SessionRecord::default();
    for (n, entry) in entries.into_iter().enumerate() {
        let told = entry_line(&entry);
        session.apply(entry);
        if n % step == 0 {
            assert_valid(&session.clone().close().view, &told);
        }
    }
    let session = session.close();
    let (view, turns) = rig.agent.journal.conversation();
    let (folded, live) = (trace::conversation(&session.view), trace::conversation(&view));
    assert_eq!(folded, live, "the log and the engine disagree:\n{}", rig.timeline.render());
    assert!(session.view == view, "the log and the engine disagree in what is not shown");
    assert_eq!(session.turns, turns);
    for request in rig.model.requests() {
        assert_valid(&request.view, "a request");
    }
}

fn assert_valid(view: &View, after: &str) {
    let messages: Vec<&Message> = view.messages().collect();
    let wrong = pairing::check(&messages);
    assert!(wrong.is_empty(), "after {after}: {wrong:?}\n{}", trace::conversation(view));
    let strange = messages.iter().any(|message| {
        message.is_assistant()
            && message.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }))
    });
    assert!(!strange, "an answer holds a result:\n{}", trace::conversation(view));
    assert!(messages.first().is_none_or(|first| !first.is_assistant()), "an answer stands first");
}
