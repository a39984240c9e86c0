//! Whoever waits is woken by a change, in this process and in others.

use crate::child::{self, FileClock};
use crate::place::{mail, open_file};
use ostler_board::{MailQuery, Mailbox, SharedBoard};
use std::time::Duration;

/// Longer than any test may take: what is not woken hangs.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_change_between_the_look_and_the_wait_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    FileClock::of(folder.path()).set(1);
    let mut mailbox = open_file(&folder.path().join("board.db"), FileClock::of(folder.path()));
    let bell = mailbox.bell();
    let ticket = bell.ticket();
    mailbox.send(&mail("ann", "eve", "hello")).unwrap();
    assert_ne!(bell.ticket(), ticket);
    bell.wait(ticket, LONG);
}

/// Says what it finds; waits in between.
#[test]
fn child_waits() {
    let Some(folder) = child::folder() else { return };
    let mut mailbox = open_file(&folder.join("board.db"), FileClock::of(&folder));
    let bell = mailbox.bell();
    child::say("ready");
    for n in 0..3 {
        loop {
            let ticket = bell.ticket();
            if mailbox.peek(&MailQuery::default()).unwrap().len() > n {
                break;
            }
            // A wait may end early. Only another process that rings ends this one.
            while bell.ticket() == ticket {
                bell.wait(ticket, LONG);
            }
        }
        child::say(n);
    }
}

#[test]
fn another_process_is_woken() {
    let folder = tempfile::tempdir().unwrap();
    FileClock::of(folder.path()).set(1);
    let mut mailbox = open_file(&folder.path().join("board.db"), FileClock::of(folder.path()));
    let mut waiting = child::start("wake_up::child_waits", folder.path(), "");
    let mut words = child::words(&mut waiting);
    assert_eq!(words.next().as_deref(), Some("ready"));
    for n in ["0", "1", "2"] {
        mailbox.send(&mail("ann", "eve", n)).unwrap();
        assert_eq!(words.next().as_deref(), Some(n));
    }
    assert!(waiting.wait().unwrap().success());
}
