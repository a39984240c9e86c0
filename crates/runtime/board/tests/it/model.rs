//! Any sequence of actions has the same outcome on the real board as on the simple one.

use crate::actions::{Run, action, everything, perform};
use crate::place::{memory, sqlite};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_file_does_what_the_simple_board_does(actions in prop::collection::vec(action(), 1..60)) {
        let (real, simple) = (sqlite(), memory(None));
        // Two handles, taken in turn.
        let mut handles = [real.open(), real.open()];
        let mut model = simple.open();
        let (mut runs, mut done) = ((Run::default(), Run::default()), Vec::new());
        for (n, action) in actions.iter().enumerate() {
            let found = perform(action, &mut *handles[n % 2], &real, &mut runs.0);
            let expected = perform(action, &mut *model, &simple, &mut runs.1);
            done.push(format!("{action:?}: {expected}"));
            prop_assert_eq!(found, expected, "after {:#?}", done);
        }
        prop_assert_eq!(everything(&mut *handles[0]), everything(&mut *model), "after {:#?}", done);
    }
}
