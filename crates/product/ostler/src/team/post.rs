//! The lead's mail: each mail becomes one item of the session's inbox.

use super::Team;
use super::letter::{for_lead, item_id, unanswered};
use super::mail_turn::has_arrived;
use super::teammate::LEASE;
use ostler_board::{Delivery, MailId, MailKind, Outcome, SharedBoard};
use ostler_core::event::Event;
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Until the session ends.
pub(super) async fn serve(
    team: Weak<Team>,
    mut news: watch::Receiver<u64>,
    closing: CancellationToken,
) {
    loop {
        news.borrow_and_update();
        let Some(now) = team.upgrade().filter(|_| !closing.is_cancelled()) else { return };
        now.end_overdue_requests();
        let due = now.next_deadline();
        let taken = match now.desk.receive(now.addresses.lead(), LEASE).await {
            Ok(Some(delivery)) => take_in(&now, delivery).await.map(|()| true),
            Ok(None) => Ok(false),
            Err(why) => Err(why),
        };
        let again = match taken {
            Ok(true) => continue,
            Ok(false) => due,
            Err(why) => {
                now.warn(&why);
                Some(super::look_again(due))
            }
        };
        drop(now);
        if !super::next_news(&mut news, &closing, again).await {
            return;
        }
    }
}

impl Team {
    /// The lead learns that nobody has answered in time. An answer that comes later is still delivered.
    fn end_overdue_requests(&self) {
        let now = Instant::now();
        let mut over: Vec<(MailId, (String, Instant))> = Vec::new();
        over.extend(self.state().lead_waits.extract_if(|_, (_, due)| *due <= now));
        for (request, (to, _)) in over {
            let item = unanswered(&request, &to, self.request_deadline);
            let log = self.journal.log();
            // An earlier process may have said it.
            if !has_arrived(&self.read_log(log.id()), &item.id) {
                let queued = item.queued();
                if self.journal.inbox().arrive(item).is_ok() && log.sync().is_ok() {
                    self.events.emit(Event::Queued(queued));
                }
            }
            self.reported(&request);
            self.jobs.report_arrived();
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.state().lead_waits.values().map(|(_, due)| *due).min()
    }
}

/// What becomes of a mail that the log has.
enum Arrived {
    Settle(Delivery),
    /// It stays open until the lead answers. The older request of the same teammate does not.
    Ask(Option<Delivery>),
    /// The log cannot be written, which ends the session. The mail waits for the next one.
    NotAtAll,
}

/// The log has it before the mailbox lets go of it. A process that died in between is why the log is asked first.
async fn take_in(team: &Arc<Team>, delivery: Delivery) -> Result<(), String> {
    let about = team.report_of(&delivery.mail);
    let to = team.clone();
    let arrive = move |_: &mut dyn SharedBoard| {
        let item = item_id(&delivery.mail);
        let log = to.journal.log();
        let is_known = delivery.mail.deliveries > 1 && has_arrived(&to.read_log(log.id()), &item);
        if !is_known {
            let item = for_lead(&delivery, &to.addresses);
            let queued = item.queued();
            if to.journal.inbox().arrive(item).is_err() || log.sync().is_err() {
                return Ok(Arrived::NotAtAll);
            }
            to.events.emit(Event::Queued(queued));
        }
        // Until the lead answers it: its answer acknowledges it.
        let is_expired = to.state().expired.remove(&delivery.mail.id);
        if delivery.mail.kind() == MailKind::Request && !is_expired {
            let from = to.addresses.name(&delivery.mail.from).to_owned();
            return Ok(Arrived::Ask(to.state().asked.insert(from, delivery)));
        }
        Ok(Arrived::Settle(delivery))
    };
    match team.desk.with(arrive).await? {
        // Its sender does not wait for that answer any more.
        Arrived::Settle(delivery) | Arrived::Ask(Some(delivery)) => {
            team.settle_surely(delivery, Outcome::Handled).await;
        }
        Arrived::Ask(None) | Arrived::NotAtAll => {}
    }
    if let Some(about) = about {
        team.reported(&about);
    }
    team.jobs.report_arrived();
    Ok(())
}
