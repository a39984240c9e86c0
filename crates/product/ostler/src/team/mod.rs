//! The team of a session: agents that keep their context between tasks, and the mail between them and the session, which is
//! their lead.
//!
//! Invariants
//! - **The harness makes every transition.** A model says what it wants to send; what is delivered, answered and
//!   acknowledged follows from the board and the logs.
//! - **A task is done once and reported once.** The mail is the only record that it is open, the log of the teammate says
//!   how far it came, and its last text becomes the reply in the transaction that acknowledges the mail.
//! - **A teammate is an agent of the session** (`subagents/`): its rights, its budget and its questions come from there.
//! - **Mail is quoted data.** It answers no question and approves nothing.

mod addresses;
mod letter;
mod mail_turn;
mod options;
mod post;
mod seat;
mod session_team;
mod teammate;

pub(crate) use addresses::Addresses;
pub use options::{TeamOptions, shipped_teammates};

use crate::jobs::JobTable;
use crate::session_events::SessionEvents;
use crate::subagents::Subagents;
use crate::system::{new_uuid, now_ms};
use crate::task_board::{BoardClaims, BoardDesk, BoardSeat};
use mail_turn::OpenRequest;
use ostler_board::protocol::{Breach, Conduct, Duty, Happening};
use ostler_board::{
    AgentChange, Delivery, Mail, MailId, MailKind, MailQuery, MailReceipt, MailStatus, NewMail,
    Outcome, SharedBoard,
};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::event::{Event, Notice};
use ostler_core::ids::SessionId;
use ostler_core::ports::{BoxFuture, TaskBoard, Teamwork};
use ostler_core::session::{AgentState, Entry};
use ostler_core::text::fill;
use ostler_core::tool::ToolOutput;
use ostler_engine::Journal;
use ostler_store::FileStore;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use teammate::Teammate;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const MEMBER: &str = include_str!("../../../../../prompts/team/member.md").trim_ascii();
const EVERYBODY: &str = "*";
/// In a row, before a teammate is parked.
const MOST_FAILURES: u32 = 3;
/// More than a board keeps.
const MOST_MAIL: usize = 100_000;

pub(crate) struct Team {
    addresses: Addresses,
    /// With what a member of a team has to know.
    members: Vec<AgentDefinition>,
    home: PathBuf,
    request_deadline: Duration,
    desk: Arc<BoardDesk>,
    claims: Arc<BoardClaims>,
    subagents: Arc<Subagents>,
    jobs: Arc<JobTable>,
    journal: Journal,
    events: Arc<SessionEvents>,
    state: Mutex<TeamState>,
    is_serving: AtomicBool,
    me: Weak<Team>,
}

#[derive(Default)]
struct TeamState {
    members: HashMap<String, MemberState>,
    /// Tasks of the lead whose reports have not arrived.
    open: HashSet<MailId>,
    /// Requests of teammates that the lead has not answered.
    asked: HashMap<String, Delivery>,
    /// An earlier process may have left mail, and nobody has looked yet.
    is_resuming: bool,
    /// What was said to be wrong with the board last.
    warned: Option<String>,
}

/// What is known of a teammate while the session is open.
#[derive(Default)]
struct MemberState {
    /// What it is working on, in a few words.
    task: Option<String>,
    /// Tasks in a row.
    failed: u32,
    /// Why it gets no more mail.
    parked: Option<String>,
    /// Its requests and what it answers; none: it has done neither.
    conduct: Option<Conduct<String, MailId>>,
    /// When its request ends at the latest.
    due: Option<Instant>,
}

impl Team {
    pub(crate) fn new(
        options: &TeamOptions,
        home: &Path,
        (desk, claims): (Arc<BoardDesk>, Arc<BoardClaims>),
        subagents: &Arc<Subagents>,
        jobs: Arc<JobTable>,
        (journal, events): (Journal, Arc<SessionEvents>),
    ) -> Arc<Self> {
        let member = |teammate: &AgentDefinition| {
            let about = fill(MEMBER, &[("name", teammate.name.as_str())]);
            let prompt = format!("{}\n\n{about}", teammate.prompt).trim().to_owned();
            // Whatever else it may use, it can answer.
            let tools =
                teammate.tools.clone().map(|tools| [tools, ostler_tools::team_tools()].concat());
            AgentDefinition { prompt, tools, ..teammate.clone() }
        };
        Arc::new_cyclic(|me| Team {
            addresses: Addresses::of(journal.log().id()),
            members: options.teammates.iter().map(member).collect(),
            home: home.to_owned(),
            request_deadline: options.request_deadline,
            desk,
            claims,
            subagents: subagents.clone(),
            jobs,
            journal,
            events,
            state: Mutex::default(),
            is_serving: AtomicBool::new(false),
            me: me.clone(),
        })
    }

    /// From here on mail is read, also what an earlier process left. Needs a runtime.
    pub(crate) fn serve(&self) {
        if self.is_serving.swap(true, Ordering::AcqRel) {
            return;
        }
        let (team, closing) = (self.me.clone(), self.subagents.closing());
        // A session that has said nothing yet has left no mail.
        self.state().is_resuming = !self.journal.conversation().0.is_empty();
        tokio::spawn(async move {
            let Some(now) = team.upgrade() else { return };
            let started = now.start().await;
            now.state().is_resuming = false;
            now.jobs.report_arrived();
            let news = match started {
                Ok(news) => news,
                Err(why) => {
                    now.warn(&why);
                    now.is_serving.store(false, Ordering::Release);
                    return;
                }
            };
            for member in &now.members {
                let (member, news, closing) = (member.clone(), news.clone(), closing.clone());
                tokio::spawn(Teammate::new(team.clone(), member, closing).serve(news));
            }
            tokio::spawn(post::serve(team.clone(), news, closing));
        });
    }

    /// The lock of the session's log says that no other process reads this mail.
    async fn start(&self) -> Result<watch::Receiver<u64>, String> {
        let news = self.desk.listen().await?;
        let lead = self.addresses.lead();
        let members: Vec<String> = self.members.iter().map(|it| self.address(&it.name)).collect();
        let started = move |board: &mut dyn SharedBoard| {
            board.set_agent(&lead, &AgentChange::Started { lead: None })?;
            for member in &members {
                let lead = Some(lead.clone());
                board.set_agent(member, &AgentChange::Started { lead })?;
            }
            let sent = MailQuery { from: Some(lead.clone()), ..MailQuery::default() };
            let received = MailQuery { to: Some(lead), ..MailQuery::default() };
            let tasks = board.peek(&sent)?.into_iter();
            let tasks = tasks.filter(|mail| mail.kind() == MailKind::Task).map(|mail| mail.id);
            let replies = board.peek(&received)?.into_iter().filter_map(|mail| mail.in_reply_to);
            Ok(tasks.chain(replies).collect::<Vec<_>>())
        };
        let open = self.desk.with(started).await?;
        self.state().open.extend(open);
        Ok(news)
    }

    /// A report will arrive without anybody doing anything.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state();
        let is_working = state.members.values().any(|member| member.task.is_some());
        state.is_resuming || !state.open.is_empty() || is_working
    }

    fn address(&self, name: &str) -> String {
        self.addresses.of_member(name)
    }

    fn begins(&self, name: &str, task: String) {
        self.state().members.entry(name.to_owned()).or_default().task = Some(task);
    }

    /// A teammate that fails again and again is parked. One that a person stopped has not failed.
    fn ends(&self, name: &str, failure: Option<&str>) {
        let mut state = self.state();
        let member = state.members.entry(name.to_owned()).or_default();
        member.task = None;
        match failure {
            Some(AgentState::STOPPED) => {}
            None => member.failed = 0,
            Some(why) => {
                member.failed += 1;
                if member.failed >= MOST_FAILURES {
                    let why = format!(
                        "{name} is parked because its last {MOST_FAILURES} tasks failed, the last one: {why}"
                    );
                    member.parked = Some(why.clone());
                    drop(state);
                    self.events.emit(Event::notice(Notice::Command { text: why }));
                }
            }
        }
    }

    fn rests(&self, name: &str) {
        self.state().members.entry(name.to_owned()).or_default().task = None;
    }

    /// What the protocol makes of something that happens to a teammate.
    fn step(
        &self,
        name: &str,
        happening: Happening<String, MailId>,
    ) -> Result<Duty<String, MailId>, Breach<String>> {
        let mut state = self.state();
        let member = state.members.entry(name.to_owned()).or_default();
        let conduct = member.conduct.get_or_insert_with(|| Conduct::new(name.to_owned()));
        let duty = conduct.step(happening);
        if conduct.outgoing().is_none() {
            member.due = None;
        }
        duty
    }

    /// From now on the request of this teammate has so much time.
    fn waits(&self, name: &str, limit: Duration) {
        let mut state = self.state();
        state.members.entry(name.to_owned()).or_default().due = Some(Instant::now() + limit);
    }

    /// An earlier process made this request. Its time goes on.
    fn waits_again(&self, name: &str, request: &OpenRequest) {
        let OpenRequest { id, to, sent_ms } = request.clone();
        let _ = self.step(name, Happening::Ask { id: id.clone(), to });
        let _ = self.step(name, Happening::Sent { id });
        let gone = Duration::from_millis(now_ms().saturating_sub(sent_ms));
        self.waits(name, self.request_deadline.saturating_sub(gone));
    }

    fn due(&self, name: &str) -> Option<Instant> {
        self.state().members.get(name)?.due
    }

    /// The request of a teammate whose time is over.
    fn overdue(&self, name: &str) -> Option<MailId> {
        let state = self.state();
        let member = state.members.get(name)?;
        let is_over = member.due.is_some_and(|due| due <= Instant::now());
        let outgoing = member.conduct.as_ref()?.outgoing()?;
        is_over.then(|| outgoing.id.clone())
    }

    /// All requests that a teammate ever made, as far as the board knows.
    async fn requests_of(&self, name: &str) -> Result<Vec<Mail>, String> {
        let from = Some(self.address(name));
        let query = MailQuery { from, to: None, with_archive: true, limit: MOST_MAIL };
        let mut sent = self.desk.with(move |board| board.peek(&query)).await?;
        sent.retain(|mail| mail.kind() == MailKind::Request);
        Ok(sent)
    }

    /// One message for each of them, which nobody answers.
    async fn notes(&self, from: &str, names: &[String], message: &str) -> ToolOutput {
        for name in names {
            let sent = match self.parked(name) {
                Some(why) => Err(why),
                None => {
                    let id = MailId::of_kind(MailKind::Note, &new_uuid());
                    let (from, to) = (self.address(from), self.address(name));
                    self.desk.send(NewMail::new(id, from, to, message)).await.map(drop)
                }
            };
            if let Err(why) = sent {
                return ToolOutput::error(format!("{name} did not get the message: {why}."));
            }
        }
        ToolOutput::text(format!("Sent to {}.", names.join(", ")))
    }

    /// A task or a request of the lead, which does not wait.
    async fn order(&self, to: &str, kind: MailKind, text: String) -> ToolOutput {
        if let Some(why) = self.parked(to) {
            return ToolOutput::error(format!("It was not sent: {why}."));
        }
        let id = MailId::of_kind(kind, &new_uuid());
        let mail = NewMail::new(id.clone(), self.addresses.lead(), self.address(to), text);
        self.state().open.insert(id.clone());
        match self.desk.send(mail).await {
            Ok(receipt) if receipt.status != MailStatus::Bounced => {
                ToolOutput::text(delegated(to, &receipt))
            }
            sent => {
                self.reported(&id);
                let why = sent.map_or_else(|why| why, |it| it.why.unwrap_or_default());
                ToolOutput::error(format!("It was not sent: {why}."))
            }
        }
    }

    /// Why this teammate gets no mail.
    fn parked(&self, name: &str) -> Option<String> {
        self.state().members.get(name)?.parked.clone()
    }

    fn reported(&self, about: &MailId) {
        self.state().open.remove(about);
    }

    /// Once, until something else goes wrong.
    fn warn(&self, why: &str) {
        let text = format!("team mail: {why}");
        if self.state().warned.replace(text.clone()).as_ref() != Some(&text) {
            self.events.emit(Event::notice(Notice::Command { text }));
        }
    }

    /// A log that cannot be read says nothing.
    fn read_log(&self, session: &SessionId) -> Vec<Entry> {
        let read = FileStore::new(&self.home).and_then(|store| store.read(session));
        read.unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, TeamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// False: the session ends.
async fn next_news(
    news: &mut watch::Receiver<u64>,
    closing: &CancellationToken,
    due: Option<Instant>,
) -> bool {
    let over = async {
        match due {
            Some(due) => tokio::time::sleep_until(due.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = closing.cancelled() => false,
        changed = news.changed() => changed.is_ok(),
        () = over => true,
    }
}

fn closing() -> ToolOutput {
    ToolOutput::error("The session is closing.")
}

impl Teamwork for Team {
    fn is_lead(&self) -> bool {
        true
    }

    fn assign(&self, to: &str, task: String) -> BoxFuture<'static, ToolOutput> {
        let (team, to) = (self.me.upgrade(), to.to_owned());
        Box::pin(async move {
            let Some(team) = team else { return closing() };
            team.serve();
            team.order(&to, MailKind::Task, task).await
        })
    }

    fn send(
        &self,
        to: &str,
        message: String,
        wants_answer: bool,
    ) -> BoxFuture<'static, ToolOutput> {
        let (team, to) = (self.me.upgrade(), to.to_owned());
        Box::pin(async move {
            let Some(team) = team else { return closing() };
            team.serve();
            if wants_answer && to != EVERYBODY {
                return team.order(&to, MailKind::Request, message).await;
            }
            let asked = team.state().asked.remove(&to);
            if let Some(request) = asked {
                let answer = Outcome::Replied { text: message };
                return match team.desk.settle(request, answer).await {
                    Ok(()) => ToolOutput::text(format!("{to} has your answer.")),
                    Err(why) => ToolOutput::error(format!("{to} did not get your answer: {why}.")),
                };
            }
            let names = match to.as_str() {
                EVERYBODY => team.members.iter().map(|member| member.name.clone()).collect(),
                _ => vec![to],
            };
            team.notes(addresses::LEAD, &names, &message).await
        })
    }

    fn is_teammate(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    fn list(&self) -> BoxFuture<'static, ToolOutput> {
        let team = self.me.upgrade();
        Box::pin(async move {
            let Some(team) = team else { return closing() };
            match team.lines().await {
                Ok(lines) => ToolOutput::text(lines.join("\n")),
                Err(why) => ToolOutput::error(format!("The board cannot be read: {why}.")),
            }
        })
    }

    fn board(&self) -> Option<Arc<dyn TaskBoard>> {
        Some(BoardSeat::new(self.claims.clone(), self.addresses.lead()))
    }

    fn teammates(&self) -> Vec<(String, String)> {
        self.members.iter().map(|it| (it.name.clone(), it.description.clone())).collect()
    }
}

fn delegated(to: &str, receipt: &MailReceipt) -> String {
    let before = match receipt.lag.behind {
        0 | 1 => String::new(),
        behind => format!(" It has {} to read before this one.", mails(behind - 1)),
    };
    format!(
        "Delegated to {to} as {}.{before} Its report will arrive as a message: go on with other work, or end your turn.",
        receipt.id
    )
}

fn mails(count: u64) -> String {
    if count == 1 { "1 mail".to_owned() } else { format!("{count} mails") }
}
