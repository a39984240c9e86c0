//! The place of a teammate in its team: what it can do with the others.

use super::addresses::LEAD;
use super::{EVERYBODY, Team};
use crate::system::new_uuid;
use crate::task_board::BoardSeat;
use ostler_board::protocol::Happening;
use ostler_board::{MailId, MailKind, NewMail};
use ostler_core::ports::{BoxFuture, TaskBoard, Teamwork};
use ostler_core::tool::ToolOutput;
use std::sync::{Arc, Weak};

pub(super) struct Seat {
    team: Weak<Team>,
    name: String,
}

impl Seat {
    pub(super) fn new(team: &Weak<Team>, name: &str) -> Arc<Self> {
        Arc::new(Seat { team: team.clone(), name: name.to_owned() })
    }
}

impl Teamwork for Seat {
    fn is_lead(&self) -> bool {
        false
    }

    fn assign(&self, _: &str, _: String) -> BoxFuture<'static, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::error("Only the lead gives tasks.")))
    }

    fn approve(&self, _: &str, _: String) -> BoxFuture<'static, ToolOutput> {
        let only = "Only the lead and the user approve plans.";
        Box::pin(std::future::ready(ToolOutput::error(only)))
    }

    fn stop(&self, _: &str) -> ToolOutput {
        ToolOutput::error("Only the lead ends teammates.")
    }

    fn send(
        &self,
        to: &str,
        message: String,
        wants_answer: bool,
    ) -> BoxFuture<'static, ToolOutput> {
        let (team, me, to) = (self.team.upgrade(), self.name.clone(), to.to_owned());
        let others: Vec<String> = self.teammates().into_iter().map(|(name, _)| name).collect();
        Box::pin(async move {
            let Some(team) = team else { return super::closing() };
            if wants_answer {
                return team.request(&me, &to, message).await;
            }
            let names = if to == EVERYBODY { others } else { vec![to] };
            team.notes(&me, &names, &message).await
        })
    }

    fn is_teammate(&self, name: &str) -> bool {
        self.teammates().iter().any(|(other, _)| other == name)
    }

    fn list(&self) -> BoxFuture<'static, ToolOutput> {
        match self.team.upgrade() {
            Some(team) => team.list(),
            None => Box::pin(std::future::ready(super::closing())),
        }
    }

    fn board(&self) -> Option<Arc<dyn TaskBoard>> {
        let team = self.team.upgrade()?;
        Some(BoardSeat::new(team.claims.clone(), team.address(&self.name)))
    }

    fn teammates(&self) -> Vec<(String, String)> {
        let Some(team) = self.team.upgrade() else { return Vec::new() };
        let others = team.teammates().into_iter().filter(|(name, _)| *name != self.name);
        others.chain([(LEAD.to_owned(), "gives the tasks".to_owned())]).collect()
    }
}

impl Team {
    /// A request of a teammate. Its report waits until the request has ended.
    async fn request(&self, me: &str, to: &str, text: String) -> ToolOutput {
        let not_sent = |why: &dyn std::fmt::Display| {
            ToolOutput::error(format!("The request was not sent: {why}."))
        };
        if to == EVERYBODY {
            return not_sent(&"a request goes to one teammate");
        }
        if let Some(why) = self.parked(to) {
            return not_sent(&why);
        }
        let id = MailId::of_kind(MailKind::Request, &new_uuid());
        if let Err(breach) = self.step(me, Happening::Ask { id: id.clone(), to: to.to_owned() }) {
            return not_sent(&breach);
        }
        let mail = NewMail::new(id.clone(), self.address(me), self.address(to), text);
        if let Err(why) = self.desk.send(mail).await {
            let _ = self.step(me, Happening::Ended { id });
            return not_sent(&why);
        }
        let _ = self.step(me, Happening::Sent { id: id.clone() });
        self.waits(me, self.request_deadline);
        ToolOutput::text(format!(
            "Sent to {to} as {id}. End your turn now: the answer will arrive as a message, and your own report waits for it."
        ))
    }
}
