//! A process that dies at any write while a teammate gets a task, works on it and reports: of the session's log, of the
//! teammate's log or of the board. After a resume each task has been done once and reported once (faults E04 and E05).

use crate::case_process::{CaseProcess, Part, case, facts, facts_of, log_file};
use futures_util::StreamExt;
use ostler::board::{Mail, MailId, MailKind, MailQuery, MailStatus, Mailbox};
use ostler::{AgentDefinition, Driver, Fault, Host, Init, Options, SessionChoice, TeamOptions};
use ostler_model_server::{ModelServer, Recorded, Reply, Script, calls, text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it says at the end of the turn in which it asks.
const WAITING: &str = "I wait.";
/// What the teammate leaves: one line for each time.
const WORK: &str = "echo done >> done.txt";

const PLAN: &str = "I will count.";
/// What a teammate is told once its plan is approved, and the lead with a plan.
const CARRY_OUT: &str = "Carry out the plan";
const HASH: &str = "Its sha256 is ";

/// What the teammate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TeamWork {
    /// It runs a command.
    Command,
    /// It asks another teammate.
    Request,
    /// It runs a command, and the lead sends it a message meanwhile.
    Message,
    /// It runs a command after the lead has approved its plan.
    Plan,
}

impl TeamWork {
    fn call(self) -> Reply {
        let question = json!({ "to": "explorer", "message": "beta: how many?", "request": true });
        match self {
            TeamWork::Command | TeamWork::Message | TeamWork::Plan => {
                calls([("Bash", json!({ "command": WORK }))])
            }
            TeamWork::Request => calls([("SendMessage", question)]),
        }
    }
}

/// What was said decides what comes next, so the same model serves a first run and a resumed one.
fn next(request: &Recorded, work: TeamWork) -> Reply {
    let messages = request.json()["messages"].to_string();
    let first = request.messages()[0].to_string();
    if work == TeamWork::Plan && first.contains("alpha") && !messages.contains(CARRY_OUT) {
        return text(PLAN);
    }
    if first.contains("alpha") {
        let waits = work == TeamWork::Request && !messages.contains("closes your request");
        return match messages.contains("tool_result") {
            true if waits => text(WAITING),
            true => text("all counted"),
            false => work.call(),
        };
    }
    if first.contains("beta") {
        return text("seven");
    }
    // A call that was cut short may have approved it or not: whoever asks again learns which.
    let told = messages.rsplit_once(HASH).map(|(_, rest)| rest.get(..64).unwrap_or_default());
    let is_settled = ["The plan of writer is approved", "has sent no plan"];
    if let Some(hash) = told.filter(|_| !is_settled.iter().any(|words| messages.contains(words))) {
        let input = json!({ "to": "writer", "task": "fine", "approve": hash });
        return calls([("Delegate", input)]);
    }
    let note = json!({ "to": "writer", "message": "gamma: use the new names" });
    if work == TeamWork::Message && messages.contains("Delegated to") && !messages.contains("gamma")
    {
        return calls([("SendMessage", note)]);
    }
    match messages.contains("\"Delegate\"") || messages.contains("the last") {
        true => text("noted"),
        false => calls([("Delegate", json!({ "to": "writer", "task": "alpha: count" }))]),
    }
}

fn leading(told: &CaseProcess, work: TeamWork) -> Options {
    let mut options = told.options();
    options.session.jobs.start_turns = true;
    let named = |name: &str| AgentDefinition { name: name.into(), ..AgentDefinition::default() };
    let mut teammates = vec![named("writer"), named("explorer")];
    teammates[0].plan_required = work == TeamWork::Plan;
    options.session.team = TeamOptions { teammates, ..TeamOptions::default() };
    options
}

fn started(
    work: TeamWork,
    write: u64,
    torn: Option<usize>,
) -> (ModelServer, tempfile::TempDir, CaseProcess) {
    let script = Script::new().by(move |request| next(request, work));
    let server = ModelServer::start(script.forever()).unwrap();
    let (folder, inside) = case(&server, Part::TeamKills { work, write, torn }, 1);
    (server, folder, inside)
}

/// The process that dies.
pub fn inside(
    init: &Init,
    told: &CaseProcess,
    work: TeamWork,
    (write, torn): (u64, Option<usize>),
) {
    let mut options = leading(told, work);
    options.host.fault = Some(Fault { after_writes: write, torn });
    ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let session = host.session(options.session).unwrap();
        read(session.ask("go").unwrap().until_quiet(PATIENCE)).await;
        session.close("other").await;
        host.close().await;
    })
    .unwrap();
}

async fn read(mut turn: Driver) {
    while turn.next().await.is_some() {}
}

pub fn died_at_any_write(_: usize) {
    die_at_any_write(TeamWork::Command);
}

/// A report that waits for an answer waits for it after a restart, too.
pub fn died_at_any_write_of_a_request(_: usize) {
    die_at_any_write(TeamWork::Request);
}

/// A message to a busy teammate reaches it once: in its turn, in the next one, or in one of its own.
pub fn died_at_any_write_of_a_message(_: usize) {
    die_at_any_write(TeamWork::Message);
}

/// An approval is made once, and what it allows is done once.
pub fn died_at_any_write_of_a_plan(_: usize) {
    die_at_any_write(TeamWork::Plan);
}

fn die_at_any_write(work: TeamWork) {
    let (mut tried, mut tasks, mut open) = (0, 0, 0);
    for write in 1.. {
        let mut has_ended = true;
        for torn in [None, Some(20)] {
            let (server, _folder, inside) = started(work, write, torn);
            let died = inside.command().output().unwrap();
            let has_died = died.status.signal() == Some(6);
            assert!(has_died || died.status.success(), "{write}: {died:?}");
            has_ended &= !has_died;
            let before = mail(&inside);
            open += usize::from(before.iter().any(|mail| !mail.status.is_settled()));
            tasks += resumed(&server, &inside, work);
            tried += 1;
        }
        if has_ended {
            break;
        }
    }
    println!(
        "kill points of a process with a team ({work:?}) tried: {tried}: {tasks} tasks, {open} of them open at the kill; each was done \
         once and reported once"
    );
    assert!(tasks > open && open > 0 && tried > tasks, "it proves nothing");
}

/// All mail of the project, settled or not.
fn mail(inside: &CaseProcess) -> Vec<Mail> {
    let project = inside.project().canonicalize().unwrap();
    let home = inside.root.join("home");
    if !ostler::board_path(&home, &project).exists() {
        return Vec::new();
    }
    let mut board = ostler::open_project_board(&home, &project).unwrap();
    board.peek(&MailQuery { with_archive: true, ..MailQuery::default() }).unwrap()
}

/// Goes on in this process. Gives the number of tasks.
fn resumed(server: &ModelServer, inside: &CaseProcess, work: TeamWork) -> usize {
    if !facts(inside).iter().any(|fact| fact["fact"] == "prompt") {
        assert_eq!(mail(inside), [], "nobody has said anything");
        return 0;
    }
    ostler::block_on(go_on(inside, work)).unwrap();
    let (mail, lead) = (mail(inside), facts(inside));
    let (notes, mail): (Vec<Mail>, Vec<Mail>) =
        mail.into_iter().partition(|mail| mail.kind() == MailKind::Note);
    assert!(mail.iter().all(|mail| mail.status == MailStatus::Acknowledged), "{mail:?}");
    let has_asked = mail.iter().any(|mail| mail.kind() == MailKind::Request);
    let replies_to =
        |id: &MailId| mail.iter().filter(|it| it.in_reply_to.as_ref() == Some(id)).count();
    let wanted = mail.iter().filter(|mail| mail.kind().wants_reply());
    wanted.for_each(|mail| assert_eq!(replies_to(&mail.id), 1, "{mail:?}"));
    let tasks: Vec<&Mail> = mail.iter().filter(|mail| mail.kind() == MailKind::Task).collect();
    assert!(tasks.len() <= 1, "{tasks:?}");
    for task in &tasks {
        let replies = mail.iter().filter(|mail| mail.in_reply_to.as_ref() == Some(&task.id));
        let [reply] = replies.collect::<Vec<_>>().try_into().expect("one reply");
        // Nobody knows whether a call took effect during which the process died: the model does not ask again.
        let may_wait = !has_asked && reply.text == WAITING;
        assert!(reply.text == "all counted" || may_wait, "{mail:?}");
        let item = format!("mail-{}", reply.id);
        assert_eq!(count(&lead, |fact| fact["fact"] == "inbound" && fact["id"] == *item), 1);
        assert_eq!(count(&lead, |fact| admits(fact, &item)), 1);
        let is_writer = |fact: &&Value| fact["fact"] == "agent" && fact["name"] == "writer";
        // An earlier one that the log of its lead does not know has never worked.
        let writer = lead.iter().rfind(is_writer).unwrap()["session"].as_str().unwrap();
        let teammate = facts_of(inside, writer);
        let item = format!("mail-{}", task.id);
        assert_eq!(count(&teammate, |fact| admits(fact, &item)), 1, "one turn");
        for note in &notes {
            let item = format!("mail-{}", note.id);
            let has_arrived = |fact: &Value| fact["fact"] == "inbound" && fact["id"] == *item;
            let arrived = count(&teammate, has_arrived);
            // Nobody waits until an idle teammate has read it.
            let expected = usize::from(note.status == MailStatus::Acknowledged);
            assert!(arrived == expected || arrived == 1, "{note:?} arrived {arrived} times");
            assert!(count(&teammate, |fact| admits(fact, &item)) <= 1, "{note:?}");
        }
    }
    let done = std::fs::read_to_string(inside.project().join("done.txt")).unwrap_or_default();
    assert!(done.lines().count() <= tasks.len(), "{done}");
    if work == TeamWork::Plan {
        let is_approval = |mail: &&Mail| mail.text.ends_with("is approved.");
        let approvals = mail.iter().filter(is_approval).count();
        assert_eq!(approvals, tasks.len(), "approved once, and nothing is done before: {mail:?}");
    }
    assert_eq!(server.rejected(), Vec::<String>::new());
    tasks.len()
}

fn count(facts: &[Value], fits: impl Fn(&Value) -> bool) -> usize {
    facts.iter().filter(|fact| fits(fact)).count()
}

fn admits(fact: &Value, item: &str) -> bool {
    let is_admission = fact["fact"] == "prompt" || fact["fact"] == "note";
    is_admission && fact["inbound"].as_array().is_some_and(|ids| ids.iter().any(|id| id == item))
}

/// Whatever was left, and a last prompt.
async fn go_on(inside: &CaseProcess, work: TeamWork) {
    let mut options = leading(inside, work);
    let id = log_file(&inside.root).unwrap();
    let id = id.file_stem().unwrap().to_string_lossy().into_owned();
    options.session.log = SessionChoice::Resume(id);
    let host = Host::open(&ostler::init(), options.host).unwrap();
    // What the dead process was just starting has its lock until it is gone, too.
    let began = std::time::Instant::now();
    let session = loop {
        match host.session(options.session.clone()) {
            Ok(session) => break session,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        tokio::task::yield_now().await;
    };
    if session.can_resume_turn() {
        read(session.resume_turn().unwrap().until_quiet(PATIENCE)).await;
    }
    read(session.ask("the last").unwrap().until_quiet(PATIENCE)).await;
    // A report that arrived in the moment in which the driver ended starts the next turn.
    if session.has_report() {
        read(session.run_reports().unwrap().until_quiet(PATIENCE)).await;
    }
    assert!(session.queued().is_empty(), "{:?}", session.queued());
    session.close("other").await;
    host.close().await;
}
