//! Plans of teammates that need approval. A teammate works in plan mode until the lead or the person approves its plan; the
//! approval names the sha256 of the plan, so it is worth nothing for another one.
//!
//! A plan is a request to the lead with an id that follows from the task. The board carries it and its answer, and decides
//! nothing: what a teammate has sent, and what was approved, is in the log of the lead (`PlanRecord`). Whoever can write to
//! the board can delay a plan, but not approve one.

use super::Team;
use super::addresses::LEAD;
use super::letter::on_plan;
use super::teammate::Teammate;
use crate::task_board::DeskError;
use ostler_board::protocol::Happening;
use ostler_board::{Delivery, MailId, MailKind, MailQuery, NewMail, Outcome};
use ostler_core::inbox::Inbound;
use ostler_core::teammate::{PlanRecord, PlanState, PlanView};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PLAN: &str = "request-plan-";
/// Digits of a hash that a person has to give.
const LEAST_DIGITS: usize = 8;
const REFUSED: &str = "Not approved.";
/// How long a plan is waited for that is on its way, and how often somebody looks.
const MOST_WAIT: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(20);

/// The newest plan for a task.
struct NewestPlan {
    number: usize,
    text: String,
    is_answered: bool,
}

pub(super) fn plan_id(task: &str, number: usize) -> MailId {
    MailId(format!("{PLAN}{number}-{task}"))
}

pub(super) fn is_plan(id: &MailId) -> bool {
    id.as_str().starts_with(PLAN)
}

/// The task that a plan is for.
fn task_of(plan: &MailId) -> Option<MailId> {
    let (_, task) = plan.as_str().strip_prefix(PLAN)?.split_once('-')?;
    Some(MailId(task.to_owned()))
}

pub(super) fn hash(plan: &str) -> String {
    Sha256::digest(plan.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn approval(plan: &str) -> String {
    format!("The plan with the sha256 {} is approved.", hash(plan))
}

impl Team {
    async fn newest_plan(&self, name: &str, task: &MailId) -> Result<Option<NewestPlan>, String> {
        let (member, lead) = (self.address(name), self.addresses.lead());
        let query = |from: &str, to: &str| MailQuery {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            with_archive: true,
            limit: super::MOST_MAIL,
        };
        let (sent, answered) = (query(&member, &lead), query(&lead, &member));
        let found = self.desk.with(move |board| Ok((board.peek(&sent)?, board.peek(&answered)?)));
        let (sent, answered) = found.await?;
        let number = (1..).take_while(|n| {
            let id = plan_id(task.as_str(), *n);
            sent.iter().any(|mail| mail.id == id)
        });
        let Some(number) = number.last() else { return Ok(None) };
        let id = plan_id(task.as_str(), number);
        let Some(plan) = sent.into_iter().find(|mail| mail.id == id) else { return Ok(None) };
        let is_answered = answered.iter().any(|mail| mail.id == id.reply());
        Ok(Some(NewestPlan { number, text: plan.text, is_answered }))
    }

    fn plan_record(&self, name: &str, task: &MailId) -> Option<PlanRecord> {
        self.journal.teammate_plan(&self.address(name), task.as_str())
    }

    fn is_approved(&self, name: &str, task: &MailId) -> bool {
        self.plan_record(name, task).is_some_and(|plan| plan.state == PlanState::Approved)
    }

    async fn record_plan(&self, plan: PlanRecord) -> Result<(), String> {
        let journal = self.journal.clone();
        let recorded =
            tokio::task::spawn_blocking(move || journal.record_teammate_plan(plan)).await;
        let recorded = recorded.map_err(|error| error.to_string())?;
        recorded.map_err(|error| error.to_string())
    }

    /// The task is about to be settled: its id must not be worth an approval any more.
    pub(super) async fn end_plan(&self, name: &str, task: &MailId) {
        let plan = self.plan_record(name, task).filter(|plan| plan.state != PlanState::Over);
        if let Some(plan) = plan {
            let over = PlanRecord { state: PlanState::Over, ..plan };
            if let Err(why) = self.record_plan(over).await {
                self.warn(&why);
            }
        }
    }

    /// None of its tasks goes on.
    pub(super) async fn end_plans(&self, name: &str) {
        for plan in self.journal.teammate_plans(&self.address(name)) {
            self.end_plan(name, &MailId(plan.task)).await;
        }
    }

    /// The plan that a teammate waits to carry out.
    pub(super) fn open_plan(&self, name: &str) -> Option<PlanView> {
        let state = self.state();
        let mail = &state.asked.get(name)?.mail;
        let waits_for = state.members.get(name)?.request().map(|request| &request.id);
        if !is_plan(&mail.id) || waits_for != Some(&mail.id) {
            return None;
        }
        Some(PlanView { sha256: hash(&mail.text), text: mail.text.clone() })
    }

    /// `sha256` is the hash of the plan that was read, or its beginning. What is settled, and what the log has to say before.
    fn approval_of(&self, name: &str, sha256: &str) -> Result<(Delivery, PlanRecord), String> {
        let plan = self.open_plan(name).ok_or_else(|| format!("{name} has sent no plan"))?;
        let given = sha256.trim().to_ascii_lowercase();
        if given.len() < LEAST_DIGITS || !plan.sha256.starts_with(&given) {
            return Err(format!("the plan of {name} has the sha256 {}", plan.sha256));
        }
        let mut state = self.state();
        let Some(request) = state.asked.remove(name) else {
            return Err(format!("{name} has sent no plan"));
        };
        let task = task_of(&request.mail.id);
        let sent = task.and_then(|task| self.plan_record(name, &task));
        let is_open = |state| matches!(state, PlanState::Sent | PlanState::Approved);
        match sent.filter(|sent| sent.sha256 == plan.sha256 && is_open(sent.state)) {
            Some(sent) => Ok((request, PlanRecord { state: PlanState::Approved, ..sent })),
            None => {
                state.asked.insert(name.to_owned(), request);
                Err(format!(
                    "the plan on the board is not the one that {name} has sent; ask {name} to send it again"
                ))
            }
        }
    }

    /// After a restart the lead may know of a plan from its log before it has the mail again, which is what it answers.
    async fn plan_is_at_hand(&self, name: &str) -> Result<(), String> {
        let begin = Instant::now();
        while self.open_plan(name).is_none() && begin.elapsed() < MOST_WAIT {
            let (from, to) = (Some(self.address(name)), Some(self.addresses.lead()));
            let query = MailQuery { from, to, ..MailQuery::default() };
            let sent = self.desk.with(move |board| board.peek(&query)).await?;
            let is_resuming = self.state().is_resuming;
            if !is_resuming && !sent.iter().any(|mail| is_plan(&mail.id)) {
                break;
            }
            tokio::time::sleep(GLANCE).await;
        }
        Ok(())
    }

    /// # Errors
    /// In words, if there is no such plan.
    pub(super) async fn approve(&self, name: &str, sha256: &str) -> Result<String, String> {
        self.plan_is_at_hand(name).await?;
        let (request, plan) = self.approval_of(name, sha256)?;
        let answer = Outcome::Replied { text: approval(&request.mail.text) };
        if let Err(why) = self.record_plan(plan).await {
            self.ask_again(name, request);
            return Err(why);
        }
        self.answered(name, request, answer).await.map_err(|why| why.to_string())?;
        Ok(format!("The plan of {name} is approved"))
    }

    /// The same for callers that can wait for the disk.
    pub(super) fn approve_now(&self, name: &str, sha256: &str) -> Result<String, String> {
        let (request, plan) = self.approval_of(name, sha256)?;
        let answer = Outcome::Replied { text: approval(&request.mail.text) };
        if let Err(why) = self.journal.record_teammate_plan(plan) {
            self.ask_again(name, request);
            return Err(why.to_string());
        }
        let settled = self.desk.with_board(|board| board.settle(&request, &answer));
        if let Err(error) = settled.map_err(DeskError::from) {
            if matches!(error, DeskError::Unusable(_)) {
                self.ask_again(name, request);
            }
            return Err(error.to_string());
        }
        Ok(format!("The plan of {name} is approved"))
    }

    /// The lead can answer it once more.
    pub(super) fn ask_again(&self, name: &str, request: Delivery) {
        self.state().asked.entry(name.to_owned()).or_insert(request);
    }

    /// What the lead answers to a request. Its words alone approve no plan; they take back an approval that has not reached
    /// the teammate.
    pub(super) async fn answer(
        &self,
        name: &str,
        request: Delivery,
        message: String,
    ) -> Result<(), String> {
        let Some(task) = task_of(&request.mail.id) else {
            let answer = Outcome::Replied { text: message };
            return self.answered(name, request, answer).await.map_err(|why| why.to_string());
        };
        if let Some(plan) = self.plan_record(name, &task) {
            let refused = PlanRecord { state: PlanState::Refused, ..plan };
            if let Err(why) = self.record_plan(refused).await {
                self.ask_again(name, request);
                return Err(why);
            }
        }
        let answer = Outcome::Replied { text: format!("{REFUSED} {message}") };
        self.answered(name, request, answer).await.map_err(|why| why.to_string())
    }
}

impl Teammate {
    /// What it learns about its plan for the task that waits.
    pub(super) fn answer_to_plan(&self, team: &Team, delivery: &Delivery) -> Inbound {
        let task = self.held.as_ref().map(|held| &held.mail.id);
        let is_approved = task.is_some_and(|task| team.is_approved(self.name(), task));
        on_plan(delivery, &team.addresses, is_approved)
    }

    /// Whether it may leave plan mode for this task.
    pub(super) fn may_change(&self, team: &Team) -> bool {
        match &self.task {
            _ if !self.definition.plan_required => true,
            Some(task) => team.is_approved(self.name(), task),
            None => false,
        }
    }

    /// True: the text of this turn is a plan, which now waits for its approval, and so does the task.
    pub(super) async fn submits_plan(
        &mut self,
        team: &Arc<Team>,
        delivery: &Delivery,
        text: &str,
    ) -> bool {
        let needs_plan = self.definition.plan_required && delivery.mail.kind() == MailKind::Task;
        // It waits for something else: a later turn has the plan.
        if !needs_plan || team.has_request(self.name()) {
            return false;
        }
        let task = &delivery.mail.id;
        let known = team.plan_record(self.name(), task).map(|plan| plan.state);
        if matches!(known, Some(PlanState::Approved | PlanState::Over)) {
            return false;
        }
        let number = match team.newest_plan(self.name(), task).await {
            // An earlier process has sent it.
            Ok(Some(plan)) if !plan.is_answered && plan.text == text => plan.number,
            Ok(plan) => plan.map_or(0, |plan| plan.number) + 1,
            Err(why) => {
                team.warn(&why);
                return false;
            }
        };
        let id = plan_id(task.as_str(), number);
        let (from, to) = (team.address(self.name()), team.addresses.lead());
        let ask = Happening::Ask { id: id.clone(), to: LEAD.to_owned() };
        if team.step(self.name(), ask).is_err() {
            return false;
        }
        let record = PlanRecord {
            teammate: from.clone(),
            task: task.to_string(),
            sha256: hash(text),
            state: PlanState::Sent,
        };
        let plan = NewMail::new(id.clone(), from, to, text);
        // The log knows it before anybody can change it on the board.
        let sent = match team.record_plan(record).await {
            Ok(()) => team.desk.send_surely(plan, team.patience()).await,
            Err(why) => Err(DeskError::Refused(why)),
        };
        if let Err(why) = sent {
            team.warn(&why.to_string());
            let _ = team.step(self.name(), Happening::Ended { id });
            return false;
        }
        let _ = team.step(self.name(), Happening::Sent { id });
        team.waits(self.name(), team.plan_deadline);
        true
    }

    /// Nobody approved the plan in time: the task ends, and nothing was changed for it.
    pub(super) async fn plan_expired(&mut self, team: &Arc<Team>, request: &MailId) {
        let _ = team.step(self.name(), Happening::Ended { id: request.clone() });
        // Where the lead has not got it yet, it is too late when it comes.
        team.state().expired.insert(request.clone());
        let asked = team.state().asked.remove(self.name());
        if let Some(asked) = asked {
            self.settle(team, asked, Outcome::Handled).await;
        }
        let Some(task) = self.held.take() else { return };
        let _ = team.step(self.name(), Happening::TurnEnded);
        let seconds = team.plan_deadline.as_secs();
        let text = format!("Not done: nobody approved the plan within {seconds} s.");
        self.settle(team, task, Outcome::Replied { text }).await;
        team.rests(self.name());
    }
}
