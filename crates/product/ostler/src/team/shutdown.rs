//! The end of a teammate: it is asked to stop, may finish its turn within the deadline, and then ends. What it has not
//! answered goes back to its senders, and to the lead.

use super::Team;
use super::teammate::Teammate;
use crate::system::{SystemClock, new_uuid};
use ostler_core::ids::InboundId;
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::message::Message;
use ostler_core::time::Clock;
use std::sync::Arc;
use std::time::Instant;

const STOP: &str = include_str!("../../../../../prompts/team/stop.md").trim_ascii();
const ASKED: &str = "the lead or the user ended it";

impl Team {
    /// Comes back at once.
    ///
    /// # Errors
    /// In words, why there is nothing to stop.
    pub(crate) fn stop(&self, name: &str) -> Result<String, String> {
        let limit = self.shutdown_deadline;
        {
            let mut state = self.state();
            let member = state.members.get_mut(name).ok_or_else(|| self.unknown(name))?;
            if member.stopped.is_some() || member.stop_by.is_some() {
                return Err(format!("{name} is already being shut down"));
            }
            member.stop_by = Some(Instant::now() + limit);
        }
        self.serve();
        self.stops.send_modify(|count| *count += 1);
        let seconds = limit.as_secs();
        Ok(format!("{name} may finish its turn within {seconds} s, and then ends"))
    }

    pub(super) fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        format!("there is no teammate \"{name}\" (there are {})", known.join(", "))
    }

    /// When a teammate that was asked to stop is stopped.
    pub(super) fn stop_by(&self, name: &str) -> Option<Instant> {
        self.state().members.get(name)?.stop_by
    }

    /// What it has in hand becomes unread, and all that is unread bounces.
    async fn shut_down(&self, name: &str) {
        let who = (self.address(name), self.addresses.lead());
        let ended = self.desk.finish_agent(who, self.patience());
        if let Err(why) = ended.await {
            self.warn(&why.to_string());
        }
        self.end_plans(name).await;
        {
            let mut state = self.state();
            let member = state.members.entry(name.to_owned()).or_default();
            member.forget();
            member.stopped = Some(ASKED.to_owned());
        }
        self.announce(name);
        self.jobs.report_arrived();
    }
}

impl Teammate {
    /// True: it was asked to stop, and has.
    pub(super) async fn has_ended(&mut self, team: &Arc<Team>) -> bool {
        if team.stop_by(self.name()).is_none() {
            return false;
        }
        self.drop_mail();
        team.shut_down(self.name()).await;
        true
    }

    /// It is in a turn: it learns of it before its next request.
    pub(super) fn urge(&self, team: &Arc<Team>) {
        if team.stop_by(self.name()).is_some()
            && let Some(session) = team.subagents.working_session(self.name())
        {
            let id = InboundId::new(format!("stop-{}", new_uuid()));
            let (source, when) = (InboundSource::Harness, Delivery::NextStep);
            let body = Message::meta(STOP);
            let item = Inbound { id, source, when, body, at: SystemClock.now() };
            // It ends at its deadline all the same.
            let _ = session.shared().agent.inbox().arrive(item);
        }
    }
}
