//! Plans of teammates that need approval. A teammate works in plan mode until the lead or the person approves its plan; the
//! approval names the sha256 of the plan, so it is worth nothing for another one.
//!
//! A plan is a request to the lead with an id that follows from the task, and only the reply that settles this request can
//! approve it. What else is sent, by whomever, approves nothing.

use super::Team;
use super::addresses::LEAD;
use super::letter::on_plan;
use super::teammate::Teammate;
use crate::task_board::DeskError;
use ostler_board::protocol::Happening;
use ostler_board::{Delivery, Mail, MailId, MailKind, MailQuery, NewMail, Outcome};
use ostler_core::inbox::Inbound;
use ostler_core::teammate::PlanView;
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
    /// The lead has answered, and this is whether it approved.
    verdict: Option<bool>,
}

pub(super) fn plan_id(task: &str, number: usize) -> MailId {
    MailId(format!("{PLAN}{number}-{task}"))
}

pub(super) fn is_plan(id: &MailId) -> bool {
    id.as_str().starts_with(PLAN)
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
        // Only settling the request makes a mail with this id.
        let reply = answered.iter().find(|mail| mail.id == id.reply());
        let verdict = reply.map(|reply| reply.text == approval(&plan.text));
        Ok(Some(NewestPlan { number, text: plan.text, verdict }))
    }

    /// Whether this answer to a plan approves it.
    pub(super) async fn approves(&self, name: &str, answer: &Mail) -> Result<bool, String> {
        let (from, to) = (Some(self.address(name)), Some(self.addresses.lead()));
        let query = MailQuery { from, to, with_archive: true, limit: super::MOST_MAIL };
        let sent = self.desk.with(move |board| board.peek(&query)).await?;
        let plan = sent.iter().find(|mail| Some(&mail.id) == answer.in_reply_to.as_ref());
        Ok(plan.is_some_and(|plan| answer.text == approval(&plan.text)))
    }

    async fn is_approved(&self, name: &str, task: &MailId) -> bool {
        match self.newest_plan(name, task).await {
            Ok(plan) => plan.is_some_and(|plan| plan.verdict == Some(true)),
            Err(why) => {
                self.warn(&why);
                false
            }
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

    /// `sha256` is the hash of the plan that was read, or its beginning. What is settled with what.
    fn approval_of(&self, name: &str, sha256: &str) -> Result<(Delivery, Outcome), String> {
        let plan = self.open_plan(name).ok_or_else(|| format!("{name} has sent no plan"))?;
        let given = sha256.trim().to_ascii_lowercase();
        if given.len() < LEAST_DIGITS || !plan.sha256.starts_with(&given) {
            return Err(format!("the plan of {name} has the sha256 {}", plan.sha256));
        }
        let mut state = self.state();
        let request = state.asked.remove(name).ok_or_else(|| format!("{name} has sent no plan"))?;
        let text = approval(&request.mail.text);
        Ok((request, Outcome::Replied { text }))
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
        let (request, answer) = self.approval_of(name, sha256)?;
        self.answered(name, request, answer).await.map_err(|why| why.to_string())?;
        Ok(format!("The plan of {name} is approved"))
    }

    /// The same for callers that can wait for the disk.
    pub(super) fn approve_now(&self, name: &str, sha256: &str) -> Result<String, String> {
        let (request, answer) = self.approval_of(name, sha256)?;
        let settled = self.desk.with_board(|board| board.settle(&request, &answer));
        if let Err(error) = settled.map_err(DeskError::from) {
            if matches!(error, DeskError::Unusable(_)) {
                self.state().asked.entry(name.to_owned()).or_insert(request);
            }
            return Err(error.to_string());
        }
        Ok(format!("The plan of {name} is approved"))
    }

    /// What the lead answers to a request. Its words alone approve no plan.
    pub(super) fn answer_to(request: &Delivery, message: String) -> Outcome {
        let text = match is_plan(&request.mail.id) {
            true => format!("{REFUSED} {message}"),
            false => message,
        };
        Outcome::Replied { text }
    }
}

impl Teammate {
    /// What it learns about its plan. Where that cannot be found out, it is not approved, as for its rights.
    pub(super) async fn answer_to_plan(&self, team: &Team, delivery: &Delivery) -> Inbound {
        let is_approved = team.approves(self.name(), &delivery.mail).await.unwrap_or_else(|why| {
            team.warn(&why);
            false
        });
        on_plan(delivery, &team.addresses, is_approved)
    }

    /// Whether it may leave plan mode for this task.
    pub(super) async fn may_change(&self, team: &Arc<Team>) -> bool {
        match &self.task {
            _ if !self.definition.plan_required => true,
            Some(task) => team.is_approved(self.name(), task).await,
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
        let number = match team.newest_plan(self.name(), task).await {
            Ok(Some(plan)) if plan.verdict == Some(true) => return false,
            // An earlier process has sent it.
            Ok(Some(plan)) if plan.verdict.is_none() && plan.text == text => plan.number,
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
        let plan = NewMail::new(id.clone(), from, to, text);
        let sent = team.desk.send_surely(plan, team.patience());
        if let Err(why) = sent.await {
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
