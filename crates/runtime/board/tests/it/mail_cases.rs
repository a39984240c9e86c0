//! Mail: delivered at least once, read once, never lost in silence.

use crate::board_cases::refusal;
use crate::place::{LEASE, Place, Store, mail};
use ostler_board::{
    AgentChange, Delivery, Lag, Limits, MailId, MailKind, MailQuery, MailStatus, NewMail, Outcome,
    POSTMASTER, Refusal, receive_new,
};
use std::time::Duration;

fn send(mailbox: &mut dyn Store, from: &str, to: &str, text: &str) -> MailId {
    mailbox.send(&mail(from, to, text)).unwrap().id
}

fn receive(mailbox: &mut dyn Store, who: &str) -> Option<Delivery> {
    mailbox.receive(who, LEASE).unwrap()
}

fn handle(mailbox: &mut dyn Store, who: &str) -> String {
    let delivery = receive(mailbox, who).unwrap();
    mailbox.settle(&delivery, &Outcome::Handled).unwrap();
    delivery.mail.text
}

/// What can be read of an agent's mail without reading it.
fn texts(mailbox: &mut dyn Store, to: &str) -> Vec<String> {
    let query = MailQuery { to: Some(to.into()), ..MailQuery::default() };
    mailbox.peek(&query).unwrap().into_iter().map(|mail| mail.text).collect()
}

fn status(mailbox: &mut dyn Store, id: &MailId) -> Option<MailStatus> {
    let query = MailQuery { with_archive: true, ..MailQuery::default() };
    let all = mailbox.peek(&query).unwrap();
    all.into_iter().find(|mail| mail.id == *id).map(|mail| mail.status)
}

pub fn mail_arrives_in_order_with_numbers_per_pair(place: &Place) {
    let mut mailbox = place.open();
    for (from, to, text) in
        [("ann", "eve", "1"), ("bob", "eve", "2"), ("ann", "eve", "3"), ("ann", "bob", "4")]
    {
        send(&mut *mailbox, from, to, text);
        place.pass(Duration::from_millis(10));
    }
    let mut other = place.open();
    let mut seen = Vec::new();
    while let Some(delivery) = receive(&mut *other, "eve") {
        seen.push((delivery.mail.from, delivery.mail.seq, delivery.mail.text, delivery.age_ms));
    }
    let row = |from: &str, seq, text: &str, age| (from.to_owned(), seq, text.to_owned(), age);
    assert_eq!(seen, [row("ann", 1, "1", 40), row("bob", 1, "2", 30), row("ann", 2, "3", 20)]);
    assert_eq!(receive(&mut *other, "bob").unwrap().mail.seq, 1);
    assert_eq!(receive(&mut *other, "nobody"), None);
}

pub fn peeking_consumes_nothing(place: &Place) {
    let mut mailbox = place.open();
    send(&mut *mailbox, "ann", "eve", "hello");
    for _ in 0..3 {
        assert_eq!(texts(&mut *place.open(), "eve"), ["hello"]);
    }
    assert_eq!(texts(&mut *mailbox, "ann"), Vec::<String>::new());
    assert_eq!(handle(&mut *mailbox, "eve"), "hello");
    assert_eq!(texts(&mut *mailbox, "eve"), Vec::<String>::new());
}

/// Faults E04 and E05.
pub fn mail_that_was_not_settled_comes_again_and_is_read_once(place: &Place) {
    let mut mailbox = place.open();
    send(&mut *mailbox, "ann", "eve", "first");
    send(&mut *mailbox, "ann", "eve", "second");
    // The reader records the first one, and dies before it can say so.
    let mut log: Vec<MailId> = Vec::new();
    let delivery = receive(&mut *mailbox, "eve").unwrap();
    log.push(delivery.mail.id);
    drop(mailbox);
    let mut mailbox = place.open();
    let mut read = |mailbox: &mut dyn Store| {
        let found = receive_new(mailbox, "eve", LEASE, &mut |id| log.contains(id)).unwrap();
        if let Some(delivery) = &found {
            log.push(delivery.mail.id.clone());
            mailbox.settle(delivery, &Outcome::Handled).unwrap();
        }
        found.map(|delivery| (delivery.mail.text, delivery.mail.deliveries))
    };
    place.pass(LEASE);
    assert_eq!(read(&mut *mailbox), Some(("second".into(), 1)), "the first one is known");
    assert_eq!(read(&mut *mailbox), None);
    // The reader dies before it has recorded anything: then it comes again.
    send(&mut *mailbox, "ann", "eve", "third");
    receive(&mut *mailbox, "eve").unwrap();
    assert_eq!(read(&mut *mailbox), None, "while the lease runs, nobody else gets it");
    place.pass(LEASE);
    assert_eq!(read(&mut *mailbox), Some(("third".into(), 2)));
    place.pass(LEASE);
    assert_eq!(read(&mut *mailbox), None);
}

pub fn the_reply_acknowledges(place: &Place) {
    let mut mailbox = place.open();
    let id = send(&mut *mailbox, "ann", "eve", "how many?");
    let delivery = receive(&mut *mailbox, "eve").unwrap();
    let reply = Outcome::Replied { text: "seven".into() };
    mailbox.settle(&delivery, &reply).unwrap();
    assert_eq!(status(&mut *mailbox, &id), Some(MailStatus::Acknowledged));
    // The answer to the request was lost, so it is made again.
    mailbox.settle(&delivery, &reply).unwrap();
    place.pass(LEASE);
    assert_eq!(receive(&mut *place.open(), "eve"), None);
    let answer = receive(&mut *mailbox, "ann").unwrap();
    assert_eq!((answer.mail.text.as_str(), &answer.mail.in_reply_to), ("seven", &Some(id)));
    assert_eq!(answer.mail.from, "eve");
    mailbox.settle(&answer, &Outcome::Handled).unwrap();
    assert_eq!(receive(&mut *mailbox, "ann"), None, "one reply");
    // What was settled without a reply gets none later.
    send(&mut *mailbox, "ann", "eve", "for your information");
    let delivery = receive(&mut *mailbox, "eve").unwrap();
    mailbox.settle(&delivery, &Outcome::Handled).unwrap();
    mailbox.settle(&delivery, &reply).unwrap();
    assert_eq!(receive(&mut *mailbox, "ann"), None, "the first outcome counts");
}

pub fn an_old_delivery_cannot_settle(place: &Place) {
    let mut mailbox = place.open();
    let id = send(&mut *mailbox, "ann", "eve", "hello");
    let old = receive(&mut *mailbox, "eve").unwrap();
    place.pass(LEASE);
    let late = refusal(mailbox.settle(&old, &Outcome::Replied { text: "too late".into() }));
    assert!(matches!(late, Refusal::StaleDelivery(_)), "{late}");
    let new = receive(&mut *mailbox, "eve").unwrap();
    for outcome in [Outcome::Handled, Outcome::Failed { why: "?".into() }] {
        assert!(matches!(refusal(mailbox.settle(&old, &outcome)), Refusal::StaleDelivery(_)));
    }
    assert_eq!(status(&mut *mailbox, &id), Some(MailStatus::Delivered));
    mailbox.settle(&new, &Outcome::Handled).unwrap();
    assert!(mailbox.settle(&old, &Outcome::Handled).is_err());
    assert_eq!(texts(&mut *mailbox, "ann"), Vec::<String>::new(), "no late reply");
}

pub fn mail_to_a_finished_agent_goes_back_to_sender_and_lead(place: &Place) {
    let mut mailbox = place.open();
    mailbox.set_agent("eve", &AgentChange::Started { lead: Some("lead".into()) }).unwrap();
    let waiting = send(&mut *mailbox, "ann", "eve", "are you there?");
    let in_hand = send(&mut *mailbox, "lead", "eve", "report!");
    receive(&mut *mailbox, "eve").unwrap();
    mailbox.set_agent("eve", &AgentChange::Finished).unwrap();
    let late = mailbox.send(&mail("bob", "eve", "last words")).unwrap();
    assert_eq!(late.status, MailStatus::Bounced);
    assert_eq!(late.why.as_deref(), Some("eve has finished"));
    for id in [&waiting, &in_hand, &late.id] {
        assert_eq!(status(&mut *mailbox, id), Some(MailStatus::Bounced));
    }
    assert_eq!(receive(&mut *mailbox, "eve"), None);
    let mut told = |who: &str| {
        let mut told = Vec::new();
        while let Some(delivery) = receive(&mut *mailbox, who) {
            let mail = &delivery.mail;
            assert_eq!(mail.from, POSTMASTER);
            assert!(
                mail.text.contains("eve has finished") && mail.text.contains(who) || who == "lead"
            );
            told.push(mail.in_reply_to.clone().unwrap());
            let reply = mailbox.settle(&delivery, &Outcome::Replied { text: "oh".into() });
            assert!(matches!(refusal(reply), Refusal::NoReply(_)));
            mailbox.settle(&delivery, &Outcome::Handled).unwrap();
        }
        told
    };
    assert_eq!(told("ann"), std::slice::from_ref(&waiting));
    assert_eq!(told("bob"), std::slice::from_ref(&late.id));
    assert_eq!(told("lead"), [waiting, in_hand, late.id], "once for its own");
    // A sender that has finished, too, is told nothing, and nothing goes round in circles.
    mailbox.set_agent("ann", &AgentChange::Finished).unwrap();
    send(&mut *mailbox, "ann", "eve", "from the other side");
    assert_eq!(texts(&mut *mailbox, "ann"), Vec::<String>::new());
    mailbox.set_agent("eve", &AgentChange::Started { lead: None }).unwrap();
    send(&mut *mailbox, "bob", "eve", "welcome back");
    assert_eq!(handle(&mut *mailbox, "eve"), "welcome back");
}

/// However often it is started again, and the delivery before counts no longer.
pub fn a_reader_that_starts_again_gets_what_it_had_in_hand(place: &Place) {
    let mut mailbox = place.open_with(Limits { deliveries: 2, ..Limits::default() });
    let id = send(&mut *mailbox, "lead", "eve", "a task");
    send(&mut *mailbox, "lead", "eve", "another one");
    send(&mut *mailbox, "lead", "bob", "not for eve");
    let of_bob = receive(&mut *mailbox, "bob").unwrap();
    for n in 1..=3 {
        let delivery = receive(&mut *mailbox, "eve").unwrap();
        assert_eq!((&delivery.mail.id, delivery.mail.deliveries), (&id, n));
        let started = AgentChange::Started { lead: Some("lead".into()) };
        place.open().set_agent("eve", &started).unwrap();
        let late = refusal(mailbox.settle(&delivery, &Outcome::Handled));
        assert!(matches!(late, Refusal::StaleDelivery(_)), "{late}");
    }
    assert_eq!(handle(&mut *mailbox, "eve"), "a task");
    assert_eq!(handle(&mut *mailbox, "eve"), "another one");
    assert_eq!(receive(&mut *mailbox, "eve"), None);
    mailbox.settle(&of_bob, &Outcome::Handled).unwrap();
}

pub fn mail_that_always_fails_is_given_up(place: &Place) {
    let mut mailbox = place.open_with(Limits { deliveries: 3, ..Limits::default() });
    let id = send(&mut *mailbox, "ann", "eve", "poison");
    send(&mut *mailbox, "ann", "eve", "fine");
    for n in 1..=3 {
        let delivery = receive(&mut *mailbox, "eve").unwrap();
        assert_eq!((delivery.mail.text.as_str(), delivery.mail.deliveries), ("poison", n));
        match n {
            // One reader says that it cannot, the other one dies of it.
            1 => mailbox.settle(&delivery, &Outcome::Failed { why: "what?".into() }).unwrap(),
            _ => place.pass(LEASE),
        }
    }
    assert_eq!(handle(&mut *mailbox, "eve"), "fine", "the queue goes on");
    assert_eq!(receive(&mut *mailbox, "eve"), None);
    assert_eq!(status(&mut *mailbox, &id), Some(MailStatus::Dead));
    let notice = receive(&mut *mailbox, "ann").unwrap().mail;
    assert_eq!((notice.from.as_str(), notice.in_reply_to), (POSTMASTER, Some(id)));
    assert!(notice.text.contains("given up after 3 deliveries"), "{}", notice.text);
}

pub fn the_sender_sees_how_far_behind_the_reader_is(place: &Place) {
    let mut mailbox = place.open();
    assert_eq!(mailbox.lag("ann", "eve").unwrap(), Lag::default());
    let first = place.now();
    for n in 1..=3 {
        let receipt = mailbox.send(&mail("ann", "eve", "x")).unwrap();
        assert_eq!(receipt.lag, Lag { behind: n, oldest_ms: Some(first) });
        place.pass(Duration::from_secs(1));
    }
    send(&mut *mailbox, "bob", "eve", "y");
    let delivery = receive(&mut *mailbox, "eve").unwrap();
    assert_eq!(place.open().lag("ann", "eve").unwrap().behind, 3, "in hand is not done");
    mailbox.settle(&delivery, &Outcome::Handled).unwrap();
    let lag = mailbox.lag("ann", "eve").unwrap();
    assert_eq!(lag, Lag { behind: 2, oldest_ms: Some(first + 1000) });
    handle(&mut *mailbox, "eve");
    handle(&mut *mailbox, "eve");
    assert_eq!(mailbox.lag("ann", "eve").unwrap(), Lag::default());
    assert_eq!(mailbox.lag("bob", "eve").unwrap().behind, 1);
}

pub fn the_same_mail_sent_twice_is_one(place: &Place) {
    let mut mailbox = place.open();
    let mail = mail("ann", "eve", "once");
    let first = mailbox.send(&mail).unwrap();
    assert_eq!(place.open().send(&mail).unwrap(), first);
    let other = NewMail { text: "twice".into(), ..mail.clone() };
    assert!(matches!(refusal(mailbox.send(&other)), Refusal::MailExists(_)));
    assert_eq!(handle(&mut *mailbox, "eve"), "once");
    assert_eq!(mailbox.send(&mail).unwrap().status, MailStatus::Acknowledged);
    assert_eq!(receive(&mut *mailbox, "eve"), None);
}

/// Nobody can send what passes for the answer to a request, or what would keep the real one away.
pub fn only_the_board_makes_replies_and_notices(place: &Place) {
    let mut mailbox = place.open();
    let request = NewMail { id: MailId("request-1".into()), ..mail("ann", "eve", "how many?") };
    mailbox.send(&request).unwrap();
    let about = Some(request.id.clone());
    for id in ["request-1-reply", "request-1-bounce-0", "request-1-bounce-12", "-reply"] {
        for in_reply_to in [about.clone(), None] {
            let id = MailId(id.into());
            let forged = NewMail { id, in_reply_to, ..mail("eve", "ann", "none") };
            assert_eq!(refusal(mailbox.send(&forged)), Refusal::Reserved(forged.id.0));
        }
    }
    for id in ["request-1-reply-", "request-1-bounce-x", "task-2"] {
        let note = NewMail { in_reply_to: about.clone(), ..mail("eve", "ann", id) };
        mailbox.send(&NewMail { id: MailId(id.into()), ..note }).unwrap();
        let read = receive(&mut *mailbox, "ann").unwrap();
        assert_eq!((read.mail.kind(), &read.mail.in_reply_to), (MailKind::Note, &about), "{id}");
    }
    let delivery = receive(&mut *mailbox, "eve").unwrap();
    assert_eq!(delivery.mail.kind(), MailKind::Request);
    mailbox.settle(&delivery, &Outcome::Replied { text: "seven".into() }).unwrap();
    let reply = receive(&mut *mailbox, "ann").unwrap().mail;
    let told = (reply.kind(), reply.text.as_str(), &reply.id, reply.from.as_str());
    assert_eq!(told, (MailKind::Reply, "seven", &request.id.reply(), "eve"));
    mailbox.set_agent("eve", &AgentChange::Finished).unwrap();
    let late = send(&mut *mailbox, "ann", "eve", "are you there?");
    let notice = receive(&mut *mailbox, "ann").unwrap().mail;
    assert_eq!((notice.kind(), notice.in_reply_to), (MailKind::Notice, Some(late)));
    assert!(notice.id.is_reserved(), "{}", notice.id);
}

/// Fault E09, a message that is too long; what is damaged in Redis is set aside (`board-redis/tests/it/outages.rs`).
pub fn mailboxes_and_the_archive_are_limited(place: &Place) {
    let limits = Limits { unread: 3, archive: 4, mail_bytes: 10, ..Limits::default() };
    let mut mailbox = place.open_with(limits);
    let long = mail("ann", "eve", "x".repeat(11));
    assert!(matches!(refusal(mailbox.send(&long)), Refusal::TooLong { .. }));
    for n in 0..3 {
        send(&mut *mailbox, "ann", "eve", &n.to_string());
    }
    let full = refusal(mailbox.send(&mail("bob", "eve", "4")));
    assert_eq!(full, Refusal::MailboxFull { to: "eve".into(), unread: 3 });
    send(&mut *mailbox, "ann", "bob", "other box");
    for n in 0..10 {
        handle(&mut *mailbox, "eve");
        send(&mut *mailbox, "ann", "eve", &format!("more {n}"));
    }
    let with_archive = |with_archive| MailQuery { with_archive, ..MailQuery::default() };
    assert_eq!(mailbox.peek(&with_archive(false)).unwrap().len(), 4, "nothing unread is dropped");
    let kept = mailbox.peek(&with_archive(true)).unwrap();
    assert_eq!(kept.len(), 8);
    let archived = kept.iter().filter(|mail| mail.status == MailStatus::Acknowledged);
    let archived: Vec<&str> = archived.map(|mail| mail.text.as_str()).collect();
    assert_eq!(archived, ["more 3", "more 4", "more 5", "more 6"], "the newest");
    assert_eq!(mailbox.peek(&MailQuery { limit: 2, ..with_archive(true) }).unwrap().len(), 2);
}

pub fn strange_names_do_not_mix(place: &Place) {
    let mut mailbox = place.open();
    let names = ["a", "A", "a b", "a:b", "a*", "a%", "a'b", "{a}", "ä", "a/b", "../a"];
    for name in names {
        send(&mut *mailbox, "x:y", name, name);
        mailbox.set_agent(name, &AgentChange::Started { lead: None }).unwrap();
    }
    for name in names {
        assert_eq!(texts(&mut *mailbox, name), [name]);
        assert_eq!(mailbox.lag("x:y", name).unwrap().behind, 1);
    }
    for name in names {
        assert_eq!(handle(&mut *mailbox, name), name);
        assert_eq!(receive(&mut *mailbox, name), None);
    }
    for bad in ["", " ", POSTMASTER] {
        assert!(mailbox.send(&mail("ann", bad, "x")).is_err());
        assert!(mailbox.send(&mail(bad, "ann", "x")).is_err());
    }
}
