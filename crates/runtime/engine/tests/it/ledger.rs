//! What the ledger is told and asked, and what follows from its answers.

use crate::lines;
use ostler_core::event::{Event, words};
use ostler_core::ids::CountingIds;
use ostler_core::ledger::{Ask, ChargeStatus, Charged, Grant, Purpose, Usage};
use ostler_core::model::StopReason;
use ostler_core::ports::{Ledger, LedgerError, Reserved};
use ostler_core::session::Entry;
use ostler_core::turn::Terminal;
use ostler_engine::Meter;
use ostler_testkit::{
    FakeTool, Rig, Script, TestAgent, calls, fails, finished, live, says, trace, until,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

type Answer = Result<Reserved, LedgerError>;

/// Gives scripted answers, then yes to everything, and remembers what it was told.
#[derive(Default)]
struct FakeLedger {
    limited: bool,
    answers: Mutex<VecDeque<Answer>>,
    told: Mutex<Vec<String>>,
    charged: Mutex<Vec<Charged>>,
}

impl FakeLedger {
    fn limited(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(FakeLedger { limited: true, answers, ..FakeLedger::default() })
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    fn charged(&self) -> Vec<Charged> {
        self.charged.lock().unwrap().clone()
    }
}

impl Ledger for FakeLedger {
    fn is_limited(&self) -> bool {
        self.limited
    }

    fn reserve(&self, _: &str, agent: &str, ask: &Ask) -> Answer {
        self.told.lock().unwrap().push(format!("reserve {agent} {}", ask.wanted));
        let yes = Grant::Yes { output: ask.wanted, amount: ask.amount(ask.wanted) };
        let usual = Ok(Reserved { grant: yes, short: None });
        self.answers.lock().unwrap().pop_front().unwrap_or(usual)
    }

    fn release(&self, _: &str) {
        self.told.lock().unwrap().push("release".into());
    }

    fn record(&self, charged: Charged) {
        let status = charged.charge.status.name();
        self.told.lock().unwrap().push(format!("record {status}"));
        self.charged.lock().unwrap().push(charged);
    }
}

fn answer(grant: Grant, short: Option<&str>) -> Answer {
    Ok(Reserved { grant, short: short.map(str::to_owned) })
}

fn agent(ledger: &Arc<FakeLedger>) -> TestAgent {
    let ledger: Arc<dyn Ledger> = ledger.clone();
    TestAgent::new().meter(Meter::new(ledger, Arc::new(CountingIds::default())))
}

/// Others give back what they hold; nothing is given back that was never held.
#[tokio::test(start_paused = true)]
async fn a_request_waits_for_what_others_hold() {
    let ledger = FakeLedger::limited([answer(Grant::Wait, None), answer(Grant::Wait, None)]);
    let rig = agent(&ledger).answers([says("x")]).build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).terminal, Terminal::Completed);
    let reserve = "reserve main 8000";
    assert_eq!(ledger.told(), [reserve, reserve, reserve, "record ok"]);
}

#[tokio::test(start_paused = true)]
async fn a_smaller_grant_is_a_smaller_answer() {
    let ledger = FakeLedger::limited([answer(Grant::Yes { output: 300, amount: 0.01 }, None)]);
    let rig = agent(&ledger).answers([says("x")]).build();
    rig.turn("go").await;
    assert_eq!(rig.model.requests()[0].max_output, 300);
    assert_eq!(rig.agent.budget.reserved(), 0.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_or_cannot_be_checked_is_not_sent() {
    let broken = LedgerError { path: "l.db".into(), why: "it is on fire".into() };
    let table = [
        (
            answer(Grant::No { sum: 0 }, Some("the budget of the day, $5.00")),
            "not enough is left of the budget of the day, $5.00",
            Terminal::MaxBudget,
        ),
        (
            Err(broken),
            "the budget cannot be checked: the ledger l.db cannot be used: it is on fire",
            Terminal::LedgerFailed,
        ),
    ];
    for (given, said, ended) in table {
        let ledger = FakeLedger::limited([given]);
        let rig = agent(&ledger).answers([says("x")]).build();
        let events = rig.turn("go").await;
        assert_eq!(finished(&events).terminal, ended);
        let told = |event: &Event| matches!(event, Event::Notice { notice, .. } if words::notice(notice) == said);
        assert!(events.iter().any(told), "{}", trace(&events));
        assert_eq!((rig.model.requests().len(), ledger.told().len()), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_wait() {
    let ledger = FakeLedger::limited((0..1_000).map(|_| answer(Grant::Wait, None)));
    let rig = agent(&ledger).answers([says("x")]).build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        interrupt.cancel();
    };
    let read = tokio::join!(stop, until(&mut stream, "end")).1;
    assert!(matches!(finished(&read).terminal, Terminal::AbortedStreaming), "{}", trace(&read));
    assert_eq!(rig.model.requests().len(), 0);
}

/// A turn that nobody reads to its end has been paid for all the same.
#[tokio::test(start_paused = true)]
async fn a_dropped_turn_is_paid_for() {
    let ledger = FakeLedger::limited([]);
    let (model, script) = live();
    let rig = agent(&ledger).answers([script]).build();
    let mut stream = rig.start("go");
    model.delta("half");
    until(&mut stream, "text \"half\"").await;
    rig.dropped(stream).await;
    assert_eq!(ledger.told(), ["reserve main 8000", "record dropped"]);
    let spent = |entry: &Entry| matches!(entry, Entry::Spent { usage, .. } if usage.prompt() > 0);
    assert!(rig.timeline.entries().iter().any(spent), "{}", rig.timeline.render_log());
    assert!(rig.agent.budget.spent() > 0.0 && rig.agent.budget.reserved() == 0.0);
}

#[tokio::test(start_paused = true)]
async fn each_request_says_what_it_was_for() {
    let ledger = Arc::new(FakeLedger::default());
    let rig = agent(&ledger)
        .tools([FakeTool::reading("Read"), FakeTool::reading("Grep")])
        .fallback("spare")
        .answers([
            calls([("a", "Read"), ("b", "Grep"), ("c", "Read")]),
            Script::new().text("x").end(StopReason::MaxTokens),
            says("y"),
            fails(ostler_core::model::ModelErrorKind::Overloaded),
            says("z"),
        ])
        .build();
    rig.turn("first line\nsecond").await;
    rig.turn("again").await;
    let told: Vec<_> = ledger
        .charged()
        .into_iter()
        .map(|charged| {
            let charge = charged.charge;
            (charge.purpose, charge.status, charge.tool, charge.task, charged.model.to_string())
        })
        .collect();
    let both = Some("Read, Grep".to_owned());
    let (first, again) = (Some("first line".to_owned()), Some("again".to_owned()));
    let row = |purpose, status, tool: &Option<String>, task: &Option<String>, model: &str| {
        (purpose, status, tool.clone(), task.clone(), model.to_owned())
    };
    use Purpose::{Answer, Fallback, Retry};
    let expected = [
        row(Answer, ChargeStatus::Ok, &None, &first, "model"),
        row(Answer, ChargeStatus::Ok, &both, &first, "model"),
        row(Retry, ChargeStatus::Ok, &both, &first, "model"),
        row(Answer, ChargeStatus::Failed, &None, &again, "model"),
        row(Fallback, ChargeStatus::Ok, &None, &again, "spare"),
    ];
    assert_eq!(told, expected);
}

fn cached(cache_write: u64, cache_read: u64) -> Script {
    let usage = Usage { input: 1, output: 1, cache_write, cache_write_1h: 0, cache_read };
    Script::new().usage(usage).text("ok").end_turn()
}

fn alarms(rig: &Rig) -> Vec<Option<String>> {
    let broken = |entry: &Entry| match entry {
        Entry::Spent { charge: Some(charge), .. } => {
            Some(charge.broken.as_ref().map(|broken| broken.change.to_string()))
        }
        _ => None,
    };
    rig.timeline.entries().iter().filter_map(broken).collect()
}

/// The alarm is a notice and stands in the log, and only where the cache failed.
#[tokio::test(start_paused = true)]
async fn a_broken_prefix_is_told() {
    let rig = TestAgent::new()
        .answers([cached(20_000, 0), cached(500, 20_000), cached(21_000, 0), cached(10, 21_000)])
        .build();
    let mut told = Vec::new();
    for prompt in ["a", "b", "c", "d"] {
        told.push(lines(&rig.turn(prompt).await, &["notice"]).len());
    }
    assert_eq!(told, [0, 0, 1, 0]);
    let unknown = "nothing changed here; the provider did not keep it".to_owned();
    assert_eq!(alarms(&rig), [None, None, Some(unknown), None]);
}
