//! What is known of each teammate while the session is open. Every change that others could notice is in the log, and then
//! an event.

use super::Team;
use super::mail_turn::OpenRequest;
use super::plans;
use crate::system::now_ms;
use ostler_board::protocol::{Breach, Conduct, Duty, Happening, Outgoing, Phase};
use ostler_board::{Delivery, Mail, MailId, MailKind};
use ostler_core::event::{AgentPath, Event, Notice};
use ostler_core::session::AgentState;
use ostler_core::teammate::{TeammatePhase, TeammateStatus};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// In a row, before a teammate is parked.
const MOST_FAILURES: u32 = 3;

#[derive(Default)]
pub(super) struct TeamState {
    pub(super) members: HashMap<String, MemberState>,
    /// Tasks and requests of the lead whose reports have not arrived, and who has to report.
    pub(super) open: HashMap<MailId, String>,
    /// Requests of the lead: to whom, and when they end at the latest.
    pub(super) lead_waits: HashMap<MailId, (String, Instant)>,
    /// Requests of teammates that the lead has not answered.
    pub(super) asked: HashMap<String, Delivery>,
    /// Plans that nobody approved in time.
    pub(super) expired: HashSet<MailId>,
    /// An earlier process may have left mail, and nobody has looked yet.
    pub(super) is_resuming: bool,
    /// What was said to be wrong with the board last.
    pub(super) warned: Option<String>,
}

/// What is known of a teammate while the session is open.
#[derive(Default)]
pub(super) struct MemberState {
    /// What it is working on, in a few words.
    pub(super) task: Option<String>,
    /// Tasks in a row.
    failed: u32,
    /// Why it gets no more mail.
    parked: Option<String>,
    /// Its requests and what it answers; none: it has done neither.
    conduct: Option<Conduct<String, MailId>>,
    /// When its request ends at the latest.
    due: Option<Instant>,
    /// It was asked to stop, and has until then.
    pub(super) stop_by: Option<Instant>,
    /// Why it was shut down.
    pub(super) stopped: Option<String>,
    /// What was announced last.
    told: TeammateStatus,
}

impl TeamState {
    /// `told` is what the log has about them.
    pub(super) fn new(names: &[String], told: Vec<TeammateStatus>) -> Self {
        let told_of = |name: &String| told.iter().find(|status| status.name == *name).cloned();
        let member = |name: &String| {
            let told = told_of(name).unwrap_or_default();
            (name.clone(), MemberState { told, ..MemberState::default() })
        };
        TeamState { members: names.iter().map(member).collect(), ..TeamState::default() }
    }
}

impl MemberState {
    /// As others see it.
    pub(super) fn status(&self, name: &str) -> TeammateStatus {
        let idle = TeammateStatus::idle(name);
        if let Some(why) = self.stopped.clone() {
            return TeammateStatus { phase: TeammatePhase::Stopped, why: Some(why), ..idle };
        }
        if let Some(why) = self.parked.clone() {
            return TeammateStatus { phase: TeammatePhase::Parked, why: Some(why), ..idle };
        }
        let outgoing = self.conduct.as_ref().and_then(Conduct::outgoing);
        let answering = self.conduct.as_ref().and_then(|conduct| conduct.unanswered().next());
        let phase = match self.conduct.as_ref().map_or(Phase::Idle, Conduct::phase) {
            _ if outgoing.is_some_and(|request| !request.is_sent) => TeammatePhase::Requesting,
            Phase::Idle => TeammatePhase::Idle,
            Phase::Requesting => TeammatePhase::Requesting,
            Phase::Waiting => TeammatePhase::Waiting,
            Phase::Responding => TeammatePhase::Responding,
        };
        let with = match phase {
            TeammatePhase::Responding => answering.map(|request| request.from.clone()),
            _ => outgoing.map(|request| request.to.clone()),
        };
        TeammateStatus { phase, task: self.task.clone(), with, ..idle }
    }

    /// The request that it waits for.
    pub(super) fn request(&self) -> Option<&Outgoing<String, MailId>> {
        self.conduct.as_ref()?.outgoing()
    }

    /// Mails that it has taken and not settled.
    pub(super) fn in_hand(&self) -> usize {
        let unanswered = self.conduct.as_ref().map_or(0, |conduct| conduct.unanswered().count());
        unanswered.max(usize::from(self.task.is_some()))
    }

    /// Nothing that it began is its business any more.
    pub(super) fn forget(&mut self) {
        (self.stop_by, self.task) = (None, None);
        self.forget_requests();
    }

    /// Its own, and those of others that it has not answered.
    pub(super) fn forget_requests(&mut self) {
        (self.conduct, self.due) = (None, None);
    }
}

impl Team {
    pub(super) fn begins(&self, name: &str, task: String) {
        self.state().members.entry(name.to_owned()).or_default().task = Some(task);
        self.announce(name);
    }

    /// A teammate that fails again and again is parked. One that a person stopped has not failed.
    pub(super) fn ends(&self, name: &str, failure: Option<&str>) {
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
                    self.events.emit(Event::notice(Notice::Team { text: why }));
                }
            }
        }
        drop(state);
        self.announce(name);
    }

    pub(super) fn rests(&self, name: &str) {
        self.state().members.entry(name.to_owned()).or_default().task = None;
        self.announce(name);
    }

    /// The log says it before anybody hears of it, and nobody hears of two changes in the wrong order.
    pub(super) fn announce(&self, name: &str) {
        let mut state = self.state();
        let member = state.members.entry(name.to_owned()).or_default();
        let status = member.status(name);
        if member.told == status {
            return;
        }
        member.told = status.clone();
        // A log that cannot be written ends the session by itself.
        let _ = self.journal.record_teammate(status.clone());
        let path = AgentPath::default().child(name);
        self.events.emit_from(path, None, Event::TeammateChanged(status));
    }

    /// What the protocol makes of something that happens to a teammate.
    pub(super) fn step(
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
        drop(state);
        self.announce(name);
        duty
    }

    /// From now on the request of this teammate has so much time.
    pub(super) fn waits(&self, name: &str, limit: Duration) {
        let mut state = self.state();
        state.members.entry(name.to_owned()).or_default().due = Some(Instant::now() + limit);
    }

    /// An earlier process made this request. Its time goes on.
    pub(super) fn waits_again(&self, name: &str, request: &OpenRequest) {
        let OpenRequest { id, to, sent_ms } = request.clone();
        let is_plan = plans::is_plan(&id);
        let _ = self.step(name, Happening::Ask { id: id.clone(), to });
        let _ = self.step(name, Happening::Sent { id });
        let gone = Duration::from_millis(now_ms().saturating_sub(sent_ms));
        let limit = if is_plan { self.plan_deadline } else { self.request_deadline };
        self.waits(name, limit.saturating_sub(gone));
    }

    /// It says to be the answer that this teammate waits for, but somebody else has written it.
    pub(super) fn is_impostor(&self, name: &str, mail: &Mail) -> bool {
        let state = self.state();
        let request = state.members.get(name).and_then(MemberState::request);
        mail.kind() == MailKind::Reply
            && request.is_some_and(|request| {
                mail.in_reply_to.as_ref() == Some(&request.id)
                    && mail.from != self.address(&request.to)
            })
    }

    /// It waits for an answer, or is about to.
    pub(super) fn has_request(&self, name: &str) -> bool {
        let state = self.state();
        let conduct = state.members.get(name).and_then(|member| member.conduct.as_ref());
        conduct.is_some_and(|conduct| conduct.outgoing().is_some())
    }

    pub(super) fn due(&self, name: &str) -> Option<Instant> {
        self.state().members.get(name)?.due
    }

    /// The request of a teammate whose time is over.
    pub(super) fn overdue(&self, name: &str) -> Option<MailId> {
        let state = self.state();
        let member = state.members.get(name)?;
        let is_over = member.due.is_some_and(|due| due <= Instant::now());
        let outgoing = member.conduct.as_ref()?.outgoing()?;
        is_over.then(|| outgoing.id.clone())
    }

    /// Why this teammate gets no mail.
    pub(super) fn parked(&self, name: &str) -> Option<String> {
        self.state().members.get(name)?.parked.clone()
    }

    /// The same, with those that end.
    pub(super) fn absence(&self, name: &str) -> Option<String> {
        let state = self.state();
        let member = state.members.get(name)?;
        let stopping = member.stop_by.map(|_| format!("{name} is being shut down"));
        let stopped = member.stopped.as_ref().map(|why| format!("{name} was shut down: {why}"));
        member.parked.clone().or(stopped).or(stopping)
    }

    /// What this mail to the lead reports on. Anybody can say that a mail is about a task.
    pub(super) fn report_of(&self, mail: &Mail) -> Option<MailId> {
        let about = mail.in_reply_to.clone()?;
        let is_reader = || self.state().open.get(&about).is_none_or(|reader| *reader == mail.from);
        let is_report = match mail.kind() {
            MailKind::Notice => true,
            MailKind::Reply => is_reader(),
            MailKind::Note | MailKind::Request | MailKind::Task => false,
        };
        is_report.then_some(about)
    }

    pub(super) fn reported(&self, about: &MailId) {
        let mut state = self.state();
        state.open.remove(about);
        state.lead_waits.remove(about);
    }
}
