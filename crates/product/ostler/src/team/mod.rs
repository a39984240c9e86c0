//! The team of a session: agents that keep their context between tasks, and the mail between them and the session, which is
//! their lead.
//!
//! Invariants
//! - **The harness makes every transition.** A model says what it wants to send; what is delivered, answered and
//!   acknowledged follows from the board and the logs.
//! - **A task is done once and reported once.** The mail is the only record that it is open, the log of the teammate says
//!   how far it came, and its last text becomes the reply in the transaction that acknowledges the mail.
//! - **A teammate is an agent of the session** (`subagents/`): its rights, its budget and its questions come from there.
//! - **Mail is quoted data.** It answers no question and approves nothing: what was approved is in the log of the session.
//! - **Only the reply of the one who was asked ends a request**, and only settling the request makes that reply.

mod addresses;
mod branch_mail;
mod letter;
mod mail_turn;
mod members;
mod options;
mod parking;
mod plans;
mod post;
mod seat;
mod session_team;
mod shutdown;
mod steering;
mod teammate;

pub(crate) use addresses::Addresses;
pub use branch_mail::mail_failed_merge;
pub use options::{TeamOptions, shipped_teammates};

use crate::jobs::JobTable;
use crate::session_events::SessionEvents;
use crate::subagents::Subagents;
use crate::system::{new_uuid, now_ms};
use crate::task_board::{BoardClaims, BoardDesk, BoardSeat, DeskError, Patience};
use members::TeamState;
use ostler_board::{
    AgentChange, Delivery, Mail, MailId, MailKind, MailQuery, MailReceipt, MailStatus, NewMail,
    Outcome, SharedBoard,
};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::event::{Event, Notice};
use ostler_core::ids::SessionId;
use ostler_core::ports::{BoxFuture, TaskBoard, Teamwork};
use ostler_core::session::Entry;
use ostler_core::text::fill;
use ostler_core::tool::ToolOutput;
use ostler_engine::Journal;
use ostler_store::FileStore;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use teammate::Teammate;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const MEMBER: &str = include_str!("../../../../../prompts/team/member.md").trim_ascii();
const EVERYBODY: &str = "*";
/// More than a board keeps.
const MOST_MAIL: usize = 100_000;
/// How long something that was done is tried to be recorded.
const MOST_PATIENCE: Duration = Duration::from_secs(120);
/// After a failure nothing may ring: whoever waits for mail looks again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

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
    /// Counts the requests to shut a teammate down.
    stops: watch::Sender<u64>,
    shutdown_deadline: Duration,
    plan_deadline: Duration,
    is_serving: AtomicBool,
    me: Weak<Team>,
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
            events,
            state: Mutex::new(TeamState::new(&options.names(), journal.teammates())),
            stops: watch::channel(0).0,
            shutdown_deadline: options.shutdown_deadline,
            plan_deadline: options.plan_deadline,
            journal,
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
            let (now, news) = loop {
                let Some(now) = team.upgrade() else { return };
                let started = now.start().await;
                now.state().is_resuming = false;
                now.jobs.report_arrived();
                match started {
                    Ok(news) => break (now, news),
                    Err(why) => now.warn(&why),
                }
                drop(now);
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
            };
            for member in &now.members {
                let (member, news, closing) = (member.clone(), news.clone(), closing.clone());
                tokio::spawn(Teammate::new(team.clone(), member, (news, closing)).serve());
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
            let mut sent = board.peek(&sent)?;
            sent.retain(|mail| mail.kind().wants_reply());
            let mut received = board.peek(&received)?;
            received.retain(|mail| matches!(mail.kind(), MailKind::Reply | MailKind::Notice));
            Ok((sent, received))
        };
        let (sent, answered) = self.desk.with(started).await?;
        {
            let mut state = self.state();
            for mail in sent {
                if mail.kind() == MailKind::Request {
                    let gone = Duration::from_millis(now_ms().saturating_sub(mail.sent_ms));
                    let due = Instant::now() + self.request_deadline.saturating_sub(gone);
                    let to = self.addresses.name(&mail.to).to_owned();
                    state.lead_waits.insert(mail.id.clone(), (to, due));
                }
                state.open.insert(mail.id, mail.to);
            }
            for Mail { in_reply_to, from, .. } in answered {
                if let Some(about) = in_reply_to {
                    state.open.entry(about).or_insert(from);
                }
            }
        }
        self.members.iter().for_each(|member| self.announce(&member.name));
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
        let (mut reached, mut missed) = (Vec::new(), Vec::new());
        for name in names {
            let sent = match self.absence(name) {
                Some(why) => Err(why),
                None => {
                    let id = MailId::of_kind(MailKind::Note, &new_uuid());
                    let (from, to) = (self.address(from), self.address(name));
                    self.desk.send(NewMail::new(id, from, to, message)).await.map(drop)
                }
            };
            match sent {
                Ok(()) => reached.push(name.as_str()),
                Err(why) => missed.push(format!("{name} did not get the message: {why}.")),
            }
        }
        if reached.is_empty() {
            return ToolOutput::error(missed.join(" "));
        }
        // An error would make the sender repeat it to those who have it.
        let reached = format!("Sent to {}.", reached.join(", "));
        ToolOutput::text([vec![reached], missed].concat().join(" "))
    }

    /// Settles what a teammate asked the lead. After a failure the lead can answer again.
    async fn answered(
        &self,
        name: &str,
        request: Delivery,
        answer: Outcome,
    ) -> Result<(), DeskError> {
        let settled = self.desk.settle(request.clone(), answer).await;
        if matches!(settled, Err(DeskError::Unusable(_))) {
            self.ask_again(name, request);
        }
        settled
    }

    /// A task or a request of the lead, which goes on meanwhile. A request ends at its deadline.
    async fn order(&self, to: &str, kind: MailKind, text: String) -> ToolOutput {
        if let Some(why) = self.absence(to) {
            return ToolOutput::error(format!("It was not sent: {why}."));
        }
        let id = MailId::of_kind(kind, &new_uuid());
        let mail = NewMail::new(id.clone(), self.addresses.lead(), self.address(to), text);
        {
            let mut state = self.state();
            state.open.insert(id.clone(), self.address(to));
            if kind == MailKind::Request {
                let due = Instant::now() + self.request_deadline;
                state.lead_waits.insert(id.clone(), (to.to_owned(), due));
            }
        }
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

    /// What was done is recorded even if the board cannot be used for a moment. If that takes too long, the mail stays with
    /// its reader, and the log knows how far that came: the session goes on with it when it is opened again.
    async fn settle_surely(&self, delivery: Delivery, outcome: Outcome) {
        let id = delivery.mail.id.clone();
        let settled = self.desk.settle_surely(delivery, outcome, self.patience());
        if let Err(why) = settled.await {
            self.warn(&format!(
                "what became of mail {id} could not be recorded: {why}. It is tried again when the session is opened again"
            ));
            // Nobody waits for a report that does not arrive any more.
            self.reported(&id);
            self.jobs.report_arrived();
        }
    }

    fn patience(&self) -> Patience<'_> {
        let (most, closing) = (MOST_PATIENCE, self.subagents.closing());
        Patience { most, closing, warn: Box::new(|why| self.warn(why)) }
    }

    /// Once, until something else goes wrong.
    fn warn(&self, why: &str) {
        let text = format!("team mail: {why}");
        if self.state().warned.replace(text.clone()).as_ref() != Some(&text) {
            self.events.emit(Event::notice(Notice::Team { text }));
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

/// When to look again after the board could not be used.
fn look_again(due: Option<Instant>) -> Instant {
    let soon = Instant::now() + LOOK_AGAIN;
    due.map_or(soon, |due| due.min(soon))
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

    fn approve(&self, name: &str, sha256: String) -> BoxFuture<'static, ToolOutput> {
        let (team, name) = (self.me.upgrade(), name.to_owned());
        Box::pin(async move {
            let Some(team) = team else { return closing() };
            team.serve();
            match team.approve(&name, &sha256).await {
                Ok(text) => ToolOutput::text(format!("{text}.")),
                Err(why) => ToolOutput::error(format!("Nothing was approved: {why}.")),
            }
        })
    }

    fn stop(&self, name: &str) -> ToolOutput {
        match Team::stop(self, name) {
            Ok(text) => ToolOutput::text(format!("{text}.")),
            Err(why) => ToolOutput::error(format!("Nothing was stopped: {why}.")),
        }
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
                return match team.answer(&to, request, message).await {
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
