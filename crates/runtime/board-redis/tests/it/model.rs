//! Any sequence of actions has the same outcome in memory, in a file and on a server. The rules exist twice, in Rust and in
//! Lua: this is the proof that they agree.

use crate::actions::{Run, action, everything, perform};
use crate::board_cases::task;
use crate::place::{LEASE, Place, memory, sqlite};
use crate::redis_place::redis;
use ostler_board::NewTask;
use ostler_board::touches::Touches;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_file_and_server_give_the_same_answers(actions in prop::collection::vec(action(), 1..60)) {
        let Some(server) = redis() else { return Ok(()) };
        let places: [Place; 3] = [memory(None), sqlite(), server];
        // Two handles of each, taken in turn.
        let mut handles: Vec<_> = places.iter().map(|place| [place.open(), place.open()]).collect();
        let mut runs = [Run::default(), Run::default(), Run::default()];
        let mut done = Vec::new();
        for (n, action) in actions.iter().enumerate() {
            let mut answers = Vec::new();
            for ((place, handles), run) in places.iter().zip(&mut handles).zip(&mut runs) {
                answers.push(perform(action, &mut *handles[n % 2], place, run));
            }
            done.push(format!("{action:?}: {}", answers[0]));
            prop_assert_eq!(&answers[0], &answers[1], "SQLite after {:#?}", done);
            prop_assert_eq!(&answers[0], &answers[2], "Redis after {:#?}", done);
            prop_assert_eq!(&runs[1].refusal, &runs[2].refusal, "after {:#?}", done);
        }
        let [expected, file, server] = [0, 1, 2].map(|at: usize| everything(&mut *handles[at][0]));
        prop_assert_eq!(&expected, &file, "SQLite after {:#?}", done);
        prop_assert_eq!(&expected, &server, "Redis after {:#?}", done);
    }
}

fn globs() -> impl Strategy<Value = Vec<String>> {
    let glob = prop::collection::vec(prop::sample::select(GLOB_PARTS), 1..7);
    prop::collection::vec(glob.prop_map(|parts| parts.concat()), 1..3)
}

const GLOB_PARTS: &[&str] = &[
    "a", "b", "ü", ".", "/", "/", "*", "**", "?", "{a,b}", "{", ",", "}", "[ab]", "[", "!", "\\",
    "src",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The script compares globs as the rules do.
    #[test]
    fn the_server_sees_the_same_overlaps(one in globs(), other in globs()) {
        let Some(place) = redis() else { return Ok(()) };
        let (Ok(first), Ok(second)) = (Touches::parse(&one), Touches::parse(&other)) else {
            return Ok(());
        };
        let mut board = place.open();
        let with = |id: &str, globs: &[String]| NewTask { touches: globs.to_vec(), ..task(id) };
        board.add(&[with("one", &one), with("other", &other)]).unwrap();
        board.claim(Some("one"), "w", LEASE).unwrap();
        let found = board.claim(Some("other"), "w", LEASE).is_err();
        prop_assert_eq!(found, first.overlap(&second), "{:?} and {:?}", one, other);
    }
}
