//! What is pending: arrivals, admissions, withdrawals and questions in any order, with boundaries and deaths between them.

use super::*;
use crate::context::{CarryOver, Made, Receipt, Trigger};
use crate::ids::{InboundId, QuestionId};
use crate::inbox::{Delivery, Inbound, InboundSource};
use crate::permission::{By, Decision, Verdict as Ruled};
use crate::question::{Question, Touches};

pub(super) fn arrival(id: &str) -> Inbound {
    Inbound {
        id: id.into(),
        source: InboundSource::Person,
        when: Delivery::NextBoundary,
        body: Message::user(format!("the words of {id}")),
        at: AT,
    }
}

fn inbound(id: &str) -> Entry {
    Entry::Inbound(Box::new(arrival(id)))
}

fn admitted(ids: &[InboundId]) -> Entry {
    Entry::Note { message: Message::user("so"), inbound: ids.to_vec() }
}

fn asked(id: &str, call: &str) -> Entry {
    let question = Question {
        id: id.into(),
        agent: Default::default(),
        call: call.into(),
        tool: "t".into(),
        input: json!({}),
        touches: Touches::default(),
        decision: Decision::of(Ruled::Ask, By::BuiltIn, "it changes something"),
        request: None,
        deadline: None,
    };
    Entry::Asked { question: Box::new(question), at: AT }
}

/// What is pending in a session now, carried on as the journal does it.
fn boundary(session: &SessionRecord) -> Entry {
    Entry::Boundary(Box::new(Boundary {
        head: vec![Message::meta("<summary>so far</summary>")],
        kept: vec![Message::user("go")],
        carry: CarryOver::default(),
        receipt: Receipt {
            trigger: Trigger::Auto,
            made: Made::Extract { why: "a test".into() },
            messages: 1,
            calls: vec![],
            calls_dropped: 0,
            kept: 1,
            before: 10,
            after: 5,
            requests: 0,
            attached: vec![],
        },
        turns: session.turns,
        title: session.title.clone(),
        seen: vec![],
        at: AT,
        inbox: session.inbox.clone(),
        questions: session.questions.clone(),
        jobs: session.jobs.clone(),
        control: session.control.clone(),
    }))
}

fn pending(session: &SessionRecord) -> Vec<String> {
    session.inbox.iter().map(|item| item.id.to_string()).collect()
}

fn open(session: &SessionRecord) -> Vec<String> {
    session.questions.iter().map(|question| question.id.to_string()).collect()
}

/// What a new process reads of a log: from the newest boundary on.
fn since_boundary(entries: &[Entry]) -> Vec<Entry> {
    let from = entries.iter().rposition(|entry| matches!(entry, Entry::Boundary(_))).unwrap_or(0);
    entries[from..].to_vec()
}

#[test]
fn an_item_is_pending_until_one_line_admits_it() {
    let mut session =
        SessionRecord::fold([prompt("go"), inbound("i1"), inbound("i2"), inbound("i1")]);
    assert_eq!(pending(&session), ["i1", "i2"], "twice the same is once");
    session.apply(admitted(&["i1".into()]));
    assert_eq!(pending(&session), ["i2"]);
    let message = Message::user("later");
    session.apply(Entry::Prompt { message, at: AT, inbound: vec!["i2".into()] });
    assert_eq!(pending(&session), [] as [&str; 0]);
}

#[test]
fn a_question_is_open_until_it_is_decided_or_nobody_needs_it() {
    let so_far = || vec![prompt("go"), calls(&["a", "b"]), asked("q1", "a"), asked("q2", "b")];
    let decided = |question: Option<QuestionId>| Entry::Decided {
        call: "a".into(),
        verdict: Verdict::Allow,
        why: "yes".into(),
        input: Some(json!({"path": "b"})),
        question,
    };
    let withdrawn = Entry::Withdrawn { inbound: vec![], questions: vec!["q1".into()] };
    let none: &[&str] = &[];
    let table: [(Vec<Entry>, &[&str]); 9] = [
        (vec![], &["q1", "q2"]),
        (vec![decided(Some("q1".into()))], &["q2"]),
        (vec![decided(None)], &["q2"]),
        (vec![finished("b")], &["q1"]),
        (vec![withdrawn], &["q2"]),
        (vec![asked("q3", "a")], &["q2", "q3"]),
        (vec![prompt("something else")], none),
        (vec![rewound(1)], none),
        (vec![end()], none),
    ];
    for (more, expected) in table {
        let session = SessionRecord::fold([so_far(), more.clone()].concat());
        assert_eq!(open(&session), expected, "{more:?}");
    }
}

#[test]
fn a_rewind_keeps_the_inbox() {
    let session = SessionRecord::fold([prompt("go"), inbound("i1"), end(), rewound(1)]);
    assert_eq!(pending(&session), ["i1"]);
}

#[test]
fn a_deferred_call_goes_on_without_a_lost_prompt() {
    let deferred = Entry::End { terminal: Terminal::ToolDeferred, at: AT };
    let so_far = vec![prompt("go"), calls(&["a", "b"]), finished("a"), deferred];
    let session = SessionRecord::fold(so_far.clone());
    assert_eq!(session.view.open_calls().len(), 2);
    assert!(session.pending().result(&"a".into()).is_some());
    let later = [finished("b"), went(Continue::NextTurn), answer(vec![Block::text("done")])];
    let resumed = SessionRecord::fold(so_far.clone().into_iter().chain(later));
    assert_eq!(show(&resumed.view), "user go | answer a? b? | user a=ok b=ok | answer done");
    let instead = SessionRecord::fold(so_far.into_iter().chain([prompt("no")]));
    assert_eq!(show(&instead.view), "user go | answer a? b? | user a=ok b=LOST_HARMLESS | user no");
}

proptest! {
    /// Whatever happens in whatever order, the log says what is pending, read from its beginning or from a boundary.
    #[test]
    fn the_log_folds_to_what_is_pending(steps in vec((0u8..8, any::<prop::sample::Index>()), 0..60)) {
        let mut entries = vec![prompt("go"), calls(&["a"])];
        let (mut inbox, mut questions): (Vec<String>, Vec<String>) = (vec![], vec![]);
        for (n, (step, nth)) in steps.into_iter().enumerate() {
            let entry = match step {
                0..=2 => {
                    inbox.push(format!("i{n}"));
                    inbound(&format!("i{n}"))
                }
                3 if !inbox.is_empty() => {
                    let ids: Vec<InboundId> =
                        inbox.drain(..=nth.index(inbox.len())).map(InboundId::new).collect();
                    questions.clear();
                    admitted(&ids)
                }
                4 if !inbox.is_empty() => {
                    let id = inbox.remove(nth.index(inbox.len()));
                    Entry::Withdrawn { inbound: vec![InboundId::new(id)], questions: vec![] }
                }
                5 => {
                    questions = vec![format!("q{n}")];
                    asked(&format!("q{n}"), "a")
                }
                6 if !questions.is_empty() => {
                    questions.clear();
                    Entry::decided("a".into(), Verdict::Deny, "no".into())
                }
                _ => boundary(&SessionRecord::fold(entries.clone())),
            };
            entries.push(entry);
            // A process may die after any line.
            for read in [entries.clone(), since_boundary(&entries)] {
                let session = SessionRecord::fold(read);
                prop_assert_eq!(pending(&session), inbox.clone());
                prop_assert_eq!(open(&session), questions.clone());
            }
        }
    }
}
