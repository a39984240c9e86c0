//! The lead's mail: each mail becomes one item of the session's inbox.

use super::Team;
use super::letter::{for_lead, item_id};
use super::mail_turn::has_arrived;
use super::teammate::LEASE;
use ostler_board::{Delivery, MailKind, Outcome, SharedBoard};
use ostler_core::event::Event;
use std::sync::{Arc, Weak};
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
        let taken = match now.desk.receive(now.addresses.lead(), LEASE).await {
            Ok(Some(delivery)) => take_in(&now, delivery).await.map(|()| true),
            Ok(None) => Ok(false),
            Err(why) => Err(why),
        };
        match taken {
            Ok(true) => continue,
            Ok(false) => {}
            Err(why) => now.warn(&why),
        }
        drop(now);
        if !super::next_news(&mut news, &closing, None).await {
            return;
        }
    }
}

/// The log has it before the mailbox lets go of it. A process that died in between is why the log is asked first.
async fn take_in(team: &Arc<Team>, delivery: Delivery) -> Result<(), String> {
    let about = delivery.mail.in_reply_to.clone();
    let to = team.clone();
    let take_in = move |board: &mut dyn SharedBoard| {
        let item = item_id(&delivery.mail);
        let log = to.journal.log();
        let is_known = delivery.mail.deliveries > 1 && has_arrived(&to.read_log(log.id()), &item);
        if !is_known {
            let item = for_lead(&delivery, &to.addresses);
            let queued = item.queued();
            if to.journal.inbox().arrive(item).is_err() || log.sync().is_err() {
                // A log that cannot be written ends the session. The mail waits for the next one.
                return Ok(());
            }
            to.events.emit(Event::Queued(queued));
        }
        // Until the lead answers it: its answer acknowledges it.
        let is_expired = to.state().expired.remove(&delivery.mail.id);
        if delivery.mail.kind() == MailKind::Request && !is_expired {
            let from = to.addresses.name(&delivery.mail.from).to_owned();
            let older = to.state().asked.insert(from, delivery);
            // Its sender does not wait for that answer any more.
            return older.map_or(Ok(()), |older| board.settle(&older, &Outcome::Handled));
        }
        to.desk.count_write();
        let settled = board.settle(&delivery, &Outcome::Handled);
        to.desk.count_write();
        settled
    };
    team.desk.with(take_in).await?;
    if let Some(about) = about {
        team.reported(&about);
    }
    team.jobs.report_arrived();
    Ok(())
}
