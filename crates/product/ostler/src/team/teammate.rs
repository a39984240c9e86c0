//! A teammate at its mailbox: it takes one mail after the other, works on it, and settles it with its last text. What the
//! protocol (`ostler_board::protocol`) makes of each step decides whether a text is a reply or has to wait.

use super::Team;
use super::letter::{for_planner, for_teammate, item_id, label, note, overdue};
use super::mail_turn::{self, Progress};
use super::plans::is_plan;
use super::seat::Seat;
use crate::subagents::{AgentRefused, FirstInput};
use ostler_board::protocol::{Duty, Happening};
use ostler_board::{Delivery, MailId, MailKind, Outcome};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::ids::{CallId, InboundId};
use ostler_core::permission::Mode;
use ostler_core::ports::Teamwork;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// For as long as a task may take. If the process dies, the next one takes the mail back at once.
pub(super) const LEASE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct Teammate {
    pub(super) team: Weak<Team>,
    pub(super) definition: AgentDefinition,
    closing: CancellationToken,
    /// A task whose report waits for the end of a request.
    pub(super) held: Option<Delivery>,
    /// The task that the next turn is for.
    pub(super) task: Option<MailId>,
    /// Mail that it took during a turn and that is not for that turn.
    pub(super) waiting: VecDeque<Delivery>,
    pub(super) news: watch::Receiver<u64>,
}

/// What a teammate has to do next.
enum Next {
    Mail(Delivery),
    /// Nobody has answered this request in time.
    Overdue(MailId),
}

/// How a turn ended; none: the session ends, and the next process goes on with it.
type TurnResult = Option<Result<String, String>>;

impl Teammate {
    pub(super) fn new(
        team: Weak<Team>,
        definition: AgentDefinition,
        (news, closing): (watch::Receiver<u64>, CancellationToken),
    ) -> Self {
        let (held, task, waiting) = (None, None, VecDeque::new());
        Teammate { team, definition, closing, held, task, waiting, news }
    }

    /// Until the session ends. Nothing here keeps the session alive while the teammate waits or works.
    pub(super) async fn serve(mut self) {
        let (mut news, Some(mut stops)) = (self.news.clone(), self.stops()) else { return };
        loop {
            news.borrow_and_update();
            stops.borrow_and_update();
            let Some(team) = self.team.upgrade().filter(|_| !self.closing.is_cancelled()) else {
                return;
            };
            if self.has_ended(&team).await {
                return;
            }
            let mut due = team.due(self.name());
            match self.next(&team).await {
                Ok(Some(next)) => {
                    self.take(team, next).await;
                    continue;
                }
                Ok(None) => {}
                Err(why) => {
                    team.warn(&why);
                    due = Some(super::look_again(due));
                }
            }
            drop(team);
            let goes_on = tokio::select! {
                goes_on = super::next_news(&mut news, &self.closing, due) => goes_on,
                changed = stops.changed() => changed.is_ok(),
            };
            if !goes_on {
                return;
            }
        }
    }

    pub(super) fn stops(&self) -> Option<watch::Receiver<u64>> {
        self.team.upgrade().map(|team| team.stops.subscribe())
    }

    /// The mailbox has all of it.
    pub(super) fn drop_mail(&mut self) {
        self.waiting.clear();
        self.held = None;
    }

    pub(super) fn name(&self) -> &str {
        &self.definition.name
    }

    async fn next(&mut self, team: &Arc<Team>) -> Result<Option<Next>, String> {
        if let Some(request) = team.overdue(self.name()) {
            return Ok(Some(Next::Overdue(request)));
        }
        if let Some(delivery) = self.waiting.pop_front() {
            return Ok(Some(Next::Mail(delivery)));
        }
        let mail = team.desk.receive(team.address(self.name()), LEASE).await?;
        Ok(mail.map(Next::Mail))
    }

    async fn take(&mut self, team: Arc<Team>, next: Next) {
        if let Some(why) = team.parked(self.name()) {
            if let Next::Mail(delivery) = next {
                self.return_mail(&team, delivery, &why).await;
            }
            return self.return_all(&team, &why).await;
        }
        match next {
            Next::Overdue(request) if is_plan(&request) => self.plan_expired(&team, &request).await,
            Next::Overdue(request) => {
                let item = overdue(&request, team.request_deadline);
                let input = FirstInput::Item(Box::new(item));
                self.request_ended(team, &request, input, None).await;
            }
            Next::Mail(delivery) if team.is_impostor(self.name(), &delivery.mail) => {
                self.read(team, delivery).await;
            }
            Next::Mail(delivery) => match (delivery.mail.kind(), delivery.mail.in_reply_to.clone())
            {
                (MailKind::Task | MailKind::Request, _) => self.answer(team, delivery).await,
                (kind @ (MailKind::Reply | MailKind::Notice), Some(request)) => {
                    let item = match kind == MailKind::Reply && is_plan(&request) {
                        true => self.answer_to_plan(&team, &delivery),
                        false => for_teammate(&delivery, &team.addresses),
                    };
                    let input = FirstInput::Item(Box::new(item));
                    self.request_ended(team, &request, input, Some(delivery)).await;
                }
                _ => self.read(team, delivery).await,
            },
        }
    }

    /// A task, or a request of somebody else.
    async fn answer(&mut self, team: Arc<Team>, delivery: Delivery) {
        team.begins(self.name(), label(&delivery.mail.text));
        let is_task = delivery.mail.kind() == MailKind::Task;
        self.task = is_task.then(|| delivery.mail.id.clone());
        let (id, from) =
            (delivery.mail.id.clone(), team.addresses.name(&delivery.mail.from).to_owned());
        // Mails are taken one by one, so nothing speaks against it.
        let _ = team.step(self.name(), Happening::Request { id, from });
        let (call, task) = (item_id(&delivery.mail), label(&delivery.mail.text));
        let input = match self.progress(&team, &delivery).await {
            Progress::NotBegun if is_task && self.definition.plan_required => {
                FirstInput::Item(Box::new(for_planner(&delivery, &team.addresses)))
            }
            Progress::NotBegun => {
                FirstInput::Item(Box::new(for_teammate(&delivery, &team.addresses)))
            }
            Progress::Queued => FirstInput::Queued,
            Progress::Open(request) => {
                if let Some(request) = &request {
                    team.waits_again(self.name(), request);
                }
                FirstInput::OpenTurn
            }
            Progress::Ended(text) => return self.turn_ended(&team, delivery, Ok(text)).await,
            Progress::Failed(why) => return self.turn_ended(&team, delivery, Err(why)).await,
            Progress::Waits(request) => {
                team.waits_again(self.name(), &request);
                return self.turn_ended(&team, delivery, Ok(String::new())).await;
            }
        };
        let Some(result) = self.turn(team, input, &call, &task).await else { return };
        if let Some(team) = self.team.upgrade() {
            self.turn_ended(&team, delivery, result).await;
        }
    }

    /// The last text is the reply, unless a request of this turn is open: then a later turn completes it.
    async fn turn_ended(
        &mut self,
        team: &Arc<Team>,
        delivery: Delivery,
        result: Result<String, String>,
    ) {
        if let Ok(text) = &result {
            self.submits_plan(team, &delivery, text).await;
        }
        if let Ok(Duty::Nothing) = team.step(self.name(), Happening::TurnEnded) {
            team.rests(self.name());
            self.held = Some(delivery);
            return;
        }
        let text = match &result {
            Ok(text) => text.clone(),
            Err(why) => format!("{} failed: {why}.", self.name()),
        };
        self.settle(team, delivery, Outcome::Replied { text }).await;
        team.ends(self.name(), result.as_ref().err().map(String::as_str));
        if let Some(why) = team.parked(self.name()) {
            self.return_all(team, &why).await;
        }
    }

    /// A request of this teammate was answered, or will not be. `mail` says so, or else its deadline.
    async fn request_ended(
        &mut self,
        team: Arc<Team>,
        request: &MailId,
        input: FirstInput,
        mail: Option<Delivery>,
    ) {
        let duty = team.step(self.name(), Happening::Ended { id: request.clone() });
        let call = InboundId::new(format!("mail-{request}"));
        let is_for_task = matches!(duty, Ok(Duty::Complete { .. }));
        self.task = self.held.as_ref().filter(|_| is_for_task).map(|task| task.mail.id.clone());
        // A process that died in between has read it: then the task that it belongs to goes on by itself.
        let is_known = match &mail {
            Some(delivery) if duty.is_err() => self.has_read(&team, delivery).await,
            _ => false,
        };
        let result = match is_known {
            true => Ok(String::new()),
            false => match self.turn(team, input, &call, "an answer").await {
                Some(result) => result,
                None => return,
            },
        };
        let Some(team) = self.team.upgrade() else { return };
        if let Some(delivery) = mail {
            self.settle(&team, delivery, Outcome::Handled).await;
        }
        match (duty, self.held.take()) {
            (Ok(Duty::Complete { .. }), Some(task)) => self.turn_ended(&team, task, result).await,
            (_, held) => {
                self.held = held;
                team.rests(self.name());
            }
        }
    }

    /// Something to know. Nobody waits for an answer.
    async fn read(&mut self, team: Arc<Team>, delivery: Delivery) {
        self.task = None;
        let (call, task) = (item_id(&delivery.mail), label(&delivery.mail.text));
        let input = match self.progress(&team, &delivery).await {
            Progress::NotBegun => {
                Some(FirstInput::Item(Box::new(note(&delivery, &team.addresses))))
            }
            Progress::Queued => Some(FirstInput::Queued),
            Progress::Open(_) => Some(FirstInput::OpenTurn),
            Progress::Ended(_) | Progress::Failed(_) | Progress::Waits(_) => None,
        };
        if let Some(input) = input
            && self.turn(team, input, &call, &task).await.is_none()
        {
            return;
        }
        if let Some(team) = self.team.upgrade() {
            self.settle(&team, delivery, Outcome::Handled).await;
            team.rests(self.name());
        }
    }

    /// Lets go of the team while the teammate works, so that a session that nobody has any more ends.
    async fn turn(
        &mut self,
        team: Arc<Team>,
        input: FirstInput,
        call: &InboundId,
        task: &str,
    ) -> TurnResult {
        team.begins(self.name(), task.to_owned());
        let seat: Arc<dyn Teamwork> = Seat::new(&self.team, self.name());
        let call = CallId::new(call.as_str());
        let mode = if self.may_change(&team) { self.definition.mode } else { Some(Mode::Plan) };
        let definition = AgentDefinition { mode, ..self.definition.clone() };
        let work = loop {
            let tree = team.subagents.tree_of_teammate(&definition, &call).await;
            let started = tree.and_then(|tree| {
                let member = (&definition, &seat);
                team.subagents.start_teammate(member, &call, task, tree)
            });
            match started {
                Ok(work) => break work,
                Err(AgentRefused::TooMany { .. }) => {
                    let mut stops = team.stops.subscribe();
                    if team.stop_by(self.name()).is_some() {
                        return None;
                    }
                    tokio::select! {
                        () = self.closing.cancelled() => return None,
                        _ = stops.changed() => {}
                        () = team.subagents.slot_free() => {}
                    }
                }
                Err(AgentRefused::Closing) => return None,
                Err(refused) => return Some(Err(refused.to_string())),
            }
        };
        drop(team);
        let result = self.at_work(work, input).await.result();
        (result.is_ok() || !self.closing.is_cancelled()).then_some(result)
    }

    pub(super) async fn settle(&self, team: &Arc<Team>, delivery: Delivery, outcome: Outcome) {
        if delivery.mail.kind() == MailKind::Task {
            team.end_plan(self.name(), &delivery.mail.id).await;
        }
        team.settle_surely(delivery, outcome).await;
    }

    /// Only a mail that was delivered before can be known to the log.
    async fn progress(&self, team: &Arc<Team>, delivery: &Delivery) -> Progress {
        let session = team.subagents.session_of(self.name());
        let Some(session) = session.filter(|_| delivery.mail.deliveries > 1) else {
            return Progress::NotBegun;
        };
        let requests = match team.requests_of(self.name()).await {
            Ok(requests) => requests,
            Err(why) => {
                team.warn(&why);
                Vec::new()
            }
        };
        let (team, item) = (team.clone(), item_id(&delivery.mail));
        let read =
            move || mail_turn::progress(&team.read_log(&session), &item, requests, &team.addresses);
        tokio::task::spawn_blocking(read).await.unwrap_or(Progress::NotBegun)
    }

    pub(super) async fn has_read(&self, team: &Arc<Team>, delivery: &Delivery) -> bool {
        let session = team.subagents.session_of(self.name());
        let Some(session) = session.filter(|_| delivery.mail.deliveries > 1) else { return false };
        let (team, item) = (team.clone(), item_id(&delivery.mail));
        let read = move || mail_turn::has_arrived(&team.read_log(&session), &item);
        tokio::task::spawn_blocking(read).await.unwrap_or(false)
    }
}
