//! Fault corpus G03: programs that claim the same task at the same moment. Exactly one of them gets it.

use crate::board_cases::task;
use crate::child;
use ostler_board::{Board, BoardError, Status};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

/// The number of the corpus. Another one can be given in this variable.
const ROUNDS: usize = 1_000;
const VARIABLE: &str = "OSTLER_TEST_CLAIM_ROUNDS";
const PROGRAMS: usize = 2;
/// None ends during the race: then its task could be claimed once more.
const LEASE: Duration = Duration::from_secs(24 * 3600);

fn rounds() -> usize {
    std::env::var(VARIABLE).map_or(ROUNDS, |number| number.parse().unwrap())
}

/// A program's side: it claims what it is told to, and says which fence it got.
pub fn claim_as_told(board: &mut dyn Board) {
    child::say("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let id = Some(line.as_str()).filter(|id| !id.is_empty());
        match board.claim(id, "racer", LEASE) {
            Ok(Some(claimed)) => child::say(claimed.fence),
            Ok(None) | Err(BoardError::Refused(_)) => child::say("nothing"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// `test` is the one that plays a program's side. In each round there is one task to claim: by its name, or as the next one. Says
/// who won how often.
pub fn race(board: &mut dyn Board, test: &str, folder: &Path, argument: &str) -> String {
    let start = |_| child::start_asked(test, folder, argument);
    let mut programs: Vec<_> = (0..PROGRAMS).map(start).collect();
    let mut asks: Vec<_> = programs.iter_mut().map(|one| one.stdin.take().unwrap()).collect();
    let mut words: Vec<_> = programs.iter_mut().map(child::words).collect();
    for ready in &mut words {
        assert_eq!(ready.next().as_deref(), Some("ready"));
    }
    let mut wins = [0; PROGRAMS];
    for round in 0..rounds() {
        let id = format!("t{round}");
        board.add(&[task(&id)]).unwrap();
        let named = if round % 2 == 0 { id.as_str() } else { "" };
        // Not always the same one first.
        for n in 0..PROGRAMS {
            writeln!(asks[(n + round) % PROGRAMS], "{named}").unwrap();
        }
        let told: Vec<String> = words.iter_mut().map(|one| one.next().unwrap()).collect();
        let won: Vec<usize> = (0..PROGRAMS).filter(|n| told[*n] != "nothing").collect();
        let [winner] = won[..] else { panic!("round {round}: {told:?}") };
        wins[winner] += 1;
        let claimed = board.show(&id).unwrap();
        assert_eq!((claimed.status, claimed.attempt), (Status::InProgress, 1), "{claimed:?}");
        assert_eq!(claimed.fence.map(|fence| fence.to_string()).as_ref(), Some(&told[winner]));
    }
    drop(asks);
    for mut program in programs {
        assert!(program.wait().unwrap().success());
    }
    format!("{} rounds, won by {wins:?}", rounds())
}
