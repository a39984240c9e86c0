//! A teammate that fails again and again is parked. What it had in hand, and whatever is sent to it, goes back to the sender
//! with the reason, and the lead knows of it.

use super::Team;
use super::teammate::Teammate;
use ostler_board::{Delivery, Mail, MailId, MailKind, NewMail, Outcome};
use std::sync::Arc;

impl Teammate {
    /// What it has taken and cannot work on any more.
    pub(super) async fn return_all(&mut self, team: &Arc<Team>, why: &str) {
        let taken: Vec<Delivery> =
            self.held.take().into_iter().chain(self.waiting.drain(..)).collect();
        for delivery in taken {
            self.return_mail(team, delivery, why).await;
        }
        team.forget_requests(self.name());
    }

    pub(super) async fn return_mail(&self, team: &Arc<Team>, delivery: Delivery, why: &str) {
        let (mail, name) = (&delivery.mail, self.name());
        let (from, lead) = (mail.from.clone(), team.addresses.lead());
        let outcome = match mail.kind() {
            // Nobody waits for anything.
            MailKind::Reply | MailKind::Notice => Outcome::Handled,
            MailKind::Task | MailKind::Request => {
                Outcome::Replied { text: format!("Not done: {why}.") }
            }
            MailKind::Note => {
                self.tell(team, mail, &from, format!("{name} did not read your message: {why}."))
                    .await;
                Outcome::Handled
            }
        };
        let is_returned = !matches!(mail.kind(), MailKind::Reply | MailKind::Notice);
        if is_returned && from != lead {
            let sender = team.addresses.name(&from);
            let text = format!("Returned to {sender}: {why}. {sender} had written:\n{}", mail.text);
            self.tell(team, mail, &lead, text).await;
        }
        self.settle(team, delivery, outcome).await;
    }

    /// A message about this mail. Its id makes it one, however often it is sent.
    async fn tell(&self, team: &Arc<Team>, about: &Mail, to: &str, text: String) {
        let what = if to == about.from { "unread" } else { "returned" };
        let id = MailId(format!("{what}-{}", about.id));
        let note = NewMail::new(id, team.address(self.name()), to, text);
        let sent = team.desk.send_surely(note, team.patience());
        if let Err(why) = sent.await {
            team.warn(&why.to_string());
        }
    }
}

impl Team {
    fn forget_requests(&self, name: &str) {
        self.state().members.entry(name.to_owned()).or_default().forget_requests();
    }
}
