//! A rewind does not go back to turns that were summarized or shortened.

use super::*;
use crate::context::{Made, Receipt, Trigger};

/// A story moves what follows it; a turn inside of it, or before a boundary, is not gone back to.
#[test]
fn what_was_summed_up_is_not_rewound() {
    let turn = |n: usize| vec![prompt(&format!("p{n}")), answer(vec![Block::text("ok")]), end()];
    let log: Vec<Entry> = (1..=4).flat_map(turn).collect();
    let story = Story { first: 1, count: 3, words: "done".into() };
    let collapsed = Entry::Collapsed { stories: vec![story], saved: Default::default() };
    let log = [log, vec![collapsed]].concat();
    let session = SessionRecord::fold(log.clone());
    let can: Vec<bool> = (0..=5).map(|turn| session.can_rewind(turn)).collect();
    assert_eq!(can, [false, true, false, true, true, false]);
    let shown = |to: u32| reopened([log.clone(), vec![rewound(to)]].concat());
    assert_eq!(shown(4).matches("user p").count(), 2, "{}", shown(4));
    assert_eq!(shown(2), shown(5), "nothing is done");

    let boundary = Boundary {
        head: vec![Message::meta("summary")],
        kept: Vec::new(),
        carry: CarryOver::default(),
        receipt: receipt(),
        turns: 4,
        title: "p1".into(),
        seen: Vec::new(),
        at: AT,
        inbox: Vec::new(),
        questions: Vec::new(),
        jobs: Vec::new(),
        control: None,
    };
    let log = [log, vec![Entry::Boundary(Box::new(boundary)), prompt("p5"), end()]].concat();
    let session = SessionRecord::fold(log.clone());
    let can: Vec<bool> = (0..=6).map(|turn| session.can_rewind(turn)).collect();
    assert_eq!(can, [false, false, false, false, false, true, false]);
    let back = SessionRecord::fold([log, vec![rewound(5)]].concat());
    assert_eq!((back.turns, back.view.items().len()), (4, 1));
}

fn receipt() -> Receipt {
    Receipt {
        trigger: Trigger::Manual,
        made: Made::Extract { why: "test".into() },
        messages: 2,
        calls: Vec::new(),
        calls_dropped: 0,
        kept: 0,
        before: 10,
        after: 5,
        requests: 0,
        attached: Vec::new(),
    }
}
