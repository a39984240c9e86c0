//! Rewinding to before a turn, undoing that, and what the model reads about an undo.

use super::*;

#[test]
fn a_rewound_conversation_goes_on_as_it_was() {
    let turn = |n: usize| {
        let (text, id) = (format!("p{n}"), format!("c{n}"));
        vec![
            prompt(&text),
            calls(&[&id]),
            started(&id),
            finished(&id),
            went(Continue::NextTurn),
            answer(vec![Block::text(text)]),
            end(),
        ]
    };
    let log: Vec<Entry> = (1..=3).flat_map(turn).collect();
    let shown = |to: u32| {
        let mut session = SessionRecord::fold([log.clone(), vec![rewound(to)]].concat());
        let turns = session.turns;
        session.apply(prompt("on"));
        (show(&session.view), turns)
    };
    let before = |turns: usize| show(&SessionRecord::fold(log[..7 * turns].to_vec()).close().view);
    for to in 2..=3u32 {
        let turns = to as usize - 1;
        assert_eq!(shown(to), (format!("{} | user on", before(turns)), to - 1), "{to}");
    }
    assert_eq!(shown(1), ("user on".to_owned(), 0));
    for nowhere in [0, 4, 99] {
        assert_eq!(shown(nowhere).1, 3, "{nowhere}: there is no such turn");
    }
    // Twice, and what is gone is not counted any more.
    let twice = [log.clone(), vec![rewound(3), rewound(2), prompt("on"), rewound(2)]].concat();
    assert_eq!(reopened(twice), before(1));
}

#[test]
fn a_rewind_can_be_taken_back_until_the_conversation_goes_on() {
    let turn = |n: usize| {
        let (text, id) = (format!("p{n}"), format!("c{n}"));
        let answered = vec![finished(&id), went(Continue::NextTurn)];
        let said = vec![answer(vec![Block::text(text.clone())]), end()];
        [vec![prompt(&text), calls(&[&id]), started(&id)], answered, said].concat()
    };
    let back = || Entry::RewindUndone { at: AT };
    let log: Vec<Entry> = (1..=3).flat_map(turn).collect();
    let whole = SessionRecord::fold(log.clone());
    let with = |more: Vec<Entry>| SessionRecord::fold([log.clone(), more].concat());
    let same = |session: &SessionRecord| {
        let (a, b) = (session.clone().close(), whole.clone().close());
        (show(&a.view), a.turns, a.seen.len()) == (show(&b.view), b.turns, b.seen.len())
    };
    assert!(!whole.can_undo_rewind());
    assert!(with(vec![rewound(2)]).can_undo_rewind());
    assert!(same(&with(vec![rewound(2), back()])));
    // One for one, newest first; one too many does nothing.
    assert!(same(&with(vec![rewound(3), rewound(2), back(), back(), back()])));
    let once = with(vec![rewound(3), rewound(2), back()]);
    assert_eq!((once.turns, once.can_undo_rewind()), (2, true));
    // It can be rewound again as if nothing had been.
    assert_eq!(with(vec![rewound(2), back(), rewound(3)]).turns, 2);
    // What was said since is not discarded.
    let on = with(vec![rewound(2), prompt("on")]);
    assert!(!on.can_undo_rewind());
    let more = with(vec![rewound(2), prompt("on"), back()]);
    assert_eq!((show(&more.view), more.turns), (show(&on.view), 2));
    // In the middle of a call the process died: its result is as honest as before.
    let open = [log.clone(), vec![prompt("p4"), calls(&["c4"]), started("c4")]].concat();
    let rewinding = [open.clone(), vec![rewound(2), back()]].concat();
    assert_eq!(reopened(rewinding), reopened(open));
}

#[test]
fn an_undo_is_told_once_whatever_becomes_of_the_message() {
    let notice = |id| crate::undo_notice::UndoNotice { id, ..Default::default() }.text();
    let told = |log: Vec<Entry>| SessionRecord::fold(log).carry.undo_told;
    let meta = |text: String| Block::Text { text, meta: true };
    let asked =
        Entry::prompt(Message::User { content: vec![meta(notice(7)), Block::text("on")] }, AT);
    assert_eq!(told(vec![prompt("go")]), 0);
    assert_eq!(told(vec![prompt(&notice(9))]), 0, "a person may write what looks like one");
    assert_eq!(told(vec![asked.clone()]), 7);
    let noted = Entry::note(Message::meta(notice(8)));
    assert_eq!(told(vec![asked.clone(), answer(vec![Block::text("so")]), noted]), 8);
    assert_eq!(told(vec![prompt("go"), asked, rewound(1)]), 7);
}
