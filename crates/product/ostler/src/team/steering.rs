//! Mail for a teammate that is in a turn. What is only to be read reaches it before its next request; everything else waits
//! for the end of the turn.

use super::Team;
use super::letter::in_passing;
use super::teammate::{LEASE, Teammate};
use crate::subagents::{AgentReport, FirstInput, TeammateAtWork};
use ostler_board::{Delivery, MailKind, Outcome};
use ostler_core::event::Event;
use std::sync::Arc;

/// Mails that are taken in advance; more stay in the mailbox.
const MOST_WAITING: usize = 64;

impl Teammate {
    /// A turn, with what arrives meanwhile. It ends by itself, with the session, or at the deadline of a shutdown.
    pub(super) async fn at_work(&mut self, work: TeammateAtWork, input: FirstInput) -> AgentReport {
        let mut turn = Box::pin(work.run(input));
        let (mut news, Some(mut stops)) = (self.news.clone(), self.stops()) else {
            return turn.await;
        };
        news.mark_changed();
        stops.mark_changed();
        loop {
            let stop_by = self.team.upgrade().and_then(|team| team.stop_by(self.name()));
            let over = async {
                match stop_by {
                    Some(time) => tokio::time::sleep_until(time.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                report = &mut turn => return report,
                () = over => {
                    self.cancel();
                    return turn.await;
                }
                changed = stops.changed() => match (changed, self.team.upgrade()) {
                    (Ok(()), Some(team)) => self.urge(&team),
                    _ => return turn.await,
                },
                changed = news.changed() => match (changed, self.team.upgrade()) {
                    (Ok(()), Some(team)) => self.steer(&team).await,
                    _ => return turn.await,
                },
            }
        }
    }

    fn cancel(&self) {
        if let Some(team) = self.team.upgrade() {
            team.subagents.stop_teammate(self.name());
        }
    }

    async fn steer(&mut self, team: &Arc<Team>) {
        while self.waiting.len() < MOST_WAITING {
            match team.desk.receive(team.address(self.name()), LEASE).await {
                Ok(Some(delivery)) => self.pass_on(team, delivery).await,
                Ok(None) => return,
                Err(why) => return team.warn(&why),
            }
        }
    }

    /// The log of the teammate has it before the mailbox lets go of it.
    async fn pass_on(&mut self, team: &Arc<Team>, delivery: Delivery) {
        let session = team.subagents.working_session(self.name());
        let (MailKind::Note, Some(session)) = (delivery.mail.kind(), session) else {
            return self.waiting.push_back(delivery);
        };
        if !self.has_read(team, &delivery).await {
            let passing = in_passing(&delivery, &team.addresses);
            let (queued, journal) = (passing.queued(), session.shared().agent.journal.clone());
            if journal.inbox().arrive(passing).is_err() || journal.log().sync().is_err() {
                return self.waiting.push_back(delivery);
            }
            session.events().emit(Event::Queued(queued));
        }
        self.settle(team, delivery, Outcome::Handled).await;
    }
}
