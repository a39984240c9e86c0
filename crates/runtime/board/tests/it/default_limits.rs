//! What a board takes with the limits that everybody has, counted until it refuses.

use crate::board_cases::refusal;
use crate::place::{LEASE, Place, mail};
use ostler_board::{MailQuery, Outcome, Refusal};

/// As docs/tasks.md says.
const UNREAD: u64 = 10_000;
const MAIL_BYTES: usize = 256 * 1024;
/// Of the fault corpus.
const HUGE: usize = 100 << 20;
/// Those who write at the same time share a sync.
const SENDERS: usize = 8;
/// Tries of each sender after the first refusal.
const MORE: usize = 50;

/// Faults E08 and E09: more mail than a reader takes, and a message of 100 MB.
pub fn of_mail(place: &Place) {
    let full = Refusal::MailboxFull { to: "eve".into(), unread: UNREAD };
    let send_until_refused = |n: usize| {
        let (mut mailbox, from) = (place.open(), format!("sender-{n}"));
        let mut accepted = 0;
        while let Ok(receipt) = mailbox.send(&mail(&from, "eve", "x")) {
            accepted += 1;
            assert_eq!(receipt.seq, accepted);
        }
        for _ in 0..MORE {
            assert_eq!(refusal(mailbox.send(&mail(&from, "eve", "x"))), full);
        }
        accepted
    };
    let accepted: u64 = std::thread::scope(|scope| {
        let send = &send_until_refused;
        let senders: Vec<_> = (0..SENDERS).map(|n| scope.spawn(move || send(n))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    });
    assert_eq!(accepted, UNREAD);
    let mut mailbox = place.open();
    let all = MailQuery { with_archive: true, limit: usize::MAX, ..MailQuery::default() };
    assert_eq!(mailbox.peek(&all).unwrap().len() as u64, UNREAD, "nothing of what was refused");
    // Whoever reads makes room, and other mailboxes have some.
    let delivery = mailbox.receive("eve", LEASE).unwrap().unwrap();
    mailbox.settle(&delivery, &Outcome::Handled).unwrap();
    mailbox.send(&mail("ann", "eve", "x")).unwrap();
    assert_eq!(refusal(mailbox.send(&mail("ann", "eve", "x"))), full);
    let text = "x".repeat(HUGE);
    for bytes in [MAIL_BYTES + 1, HUGE] {
        let long = refusal(mailbox.send(&mail("ann", "bob", &text[..bytes])));
        assert_eq!(long, Refusal::TooLong { what: "a mail", bytes, most: MAIL_BYTES });
    }
    mailbox.send(&mail("ann", "bob", &text[..MAIL_BYTES])).unwrap();
    let read = mailbox.receive("bob", LEASE).unwrap().unwrap();
    assert_eq!(read.mail.text.len(), MAIL_BYTES, "the queue goes on");
}
