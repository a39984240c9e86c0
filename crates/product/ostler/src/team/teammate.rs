//! A teammate at its mailbox: it takes a mail, works on it, and settles it with its last text.

use super::Team;
use super::letter::{for_teammate, item_id, label};
use super::mail_desk::MailDesk;
use super::mail_turn::{self, MailTurn};
use crate::subagents::{AgentRefused, FirstInput, TeammateAtWork};
use ostler_board::{Delivery, Outcome};
use ostler_core::agent_definition::AgentDefinition;
use ostler_core::ids::CallId;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// For as long as a task may take. If the process dies, the next one takes the mail back at once.
const LEASE: Duration = Duration::from_secs(24 * 60 * 60);

/// Until the session ends. Nothing here keeps the session alive while the teammate waits or works.
pub(super) async fn serve(
    team: Weak<Team>,
    definition: AgentDefinition,
    mut news: watch::Receiver<u64>,
    closing: CancellationToken,
) {
    loop {
        news.borrow_and_update();
        let Some(now) = team.upgrade().filter(|_| !closing.is_cancelled()) else { return };
        let address = now.addresses.of_member(&definition.name);
        match now.desk.receive(address, LEASE).await {
            Ok(Some(delivery)) => {
                handle(now, &definition, delivery, &closing).await;
                continue;
            }
            Ok(None) => {}
            Err(why) => now.warn(&why),
        }
        drop(now);
        if !super::next_news(&mut news, &closing).await {
            return;
        }
    }
}

enum Begun {
    /// An earlier process had done the work.
    Done(String),
    Working(Box<TeammateAtWork>, FirstInput),
    Refused(String),
    /// It is parked.
    Returned(String),
    /// The session ends.
    Closing,
}

async fn handle(
    team: Arc<Team>,
    definition: &AgentDefinition,
    delivery: Delivery,
    closing: &CancellationToken,
) {
    let name = definition.name.as_str();
    team.begins(name, label(&delivery.mail.text));
    let begun = match team.parked(name) {
        Some(why) => Begun::Returned(why),
        None => begin(&team, definition, &delivery, closing).await,
    };
    let (desk, weak) = (team.desk.clone(), Arc::downgrade(&team));
    drop(team);
    let result = match begun {
        Begun::Done(text) => Ok(text),
        Begun::Refused(why) => Err(why),
        Begun::Returned(why) => return give_back(&desk, &weak, name, delivery, why).await,
        Begun::Working(work, input) => work.run(input).await.result(),
        Begun::Closing => return,
    };
    // The mail stays in hand: the next process goes on with it.
    if result.is_err() && closing.is_cancelled() {
        return;
    }
    let outcome = match &result {
        _ if !delivery.mail.kind().wants_reply() => Outcome::Handled,
        Ok(text) => Outcome::Replied { text: text.clone() },
        Err(why) => Outcome::Replied { text: format!("{name} failed: {why}.") },
    };
    let settled = desk.settle(delivery, outcome).await;
    if let Some(team) = weak.upgrade() {
        team.ends(name, result.as_ref().err().map(String::as_str));
        if let Err(why) = settled {
            team.warn(&why);
        }
    }
}

/// The sender learns why nobody reads it.
async fn give_back(
    desk: &Arc<MailDesk>,
    team: &Weak<Team>,
    name: &str,
    delivery: Delivery,
    why: String,
) {
    let outcome = match delivery.mail.kind().wants_reply() {
        true => Outcome::Replied { text: format!("Not done: {why}.") },
        false => Outcome::Handled,
    };
    let settled = desk.settle(delivery, outcome).await;
    if let Some(team) = team.upgrade() {
        team.rests(name);
        if let Err(why) = settled {
            team.warn(&why);
        }
    }
}

async fn begin(
    team: &Arc<Team>,
    definition: &AgentDefinition,
    delivery: &Delivery,
    closing: &CancellationToken,
) -> Begun {
    let item = item_id(&delivery.mail);
    let input = match seen_before(team, definition, delivery).await {
        MailTurn::Ended(text) => return Begun::Done(text),
        MailTurn::Failed(why) => return Begun::Refused(why),
        MailTurn::Open => FirstInput::OpenTurn,
        MailTurn::NotBegun => FirstInput::Item(Box::new(for_teammate(delivery, &team.addresses))),
    };
    loop {
        let (call, task) = (CallId::new(item.as_str()), label(&delivery.mail.text));
        match team.subagents.start_teammate(definition, &call, &task) {
            Ok(work) => return Begun::Working(Box::new(work), input),
            Err(AgentRefused::TooMany { .. }) => {
                tokio::select! {
                    () = closing.cancelled() => return Begun::Closing,
                    () = team.subagents.slot_free() => {}
                }
            }
            Err(AgentRefused::Closing) => return Begun::Closing,
            Err(refused) => return Begun::Refused(refused.to_string()),
        }
    }
}

/// Only a mail that was delivered before can be known to the log.
async fn seen_before(
    team: &Arc<Team>,
    definition: &AgentDefinition,
    delivery: &Delivery,
) -> MailTurn {
    let session = team.subagents.session_of(&definition.name);
    let Some(session) = session.filter(|_| delivery.mail.deliveries > 1) else {
        return MailTurn::NotBegun;
    };
    let (team, item) = (team.clone(), item_id(&delivery.mail));
    let read = move || mail_turn::of(&team.read_log(&session), &item);
    tokio::task::spawn_blocking(read).await.unwrap_or(MailTurn::NotBegun)
}
