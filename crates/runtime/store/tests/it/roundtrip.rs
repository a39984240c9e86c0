//! Any sequence of entries comes back as it was.

use crate::samples::{files, home, id, image, opened, store};
use ostler_core::ids::{BlobRef, CallId, ModelId};
use ostler_core::ledger::Usage;
use ostler_core::message::{Block, Image, Message, ResultPart};
use ostler_core::model::StopReason;
use ostler_core::ports::SessionStore;
use ostler_core::session::{Entry, Verdict};
use ostler_core::time::Timestamp;
use ostler_core::tool::{OutputPart, Seen};
use ostler_core::turn::{Continue, Terminal};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Number, Value};

fn value() -> impl Strategy<Value = Value> {
    let float = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        float.prop_map(|x| Number::from_f64(x).map_or(Value::Null, Value::Number)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any::<String>(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn picture() -> impl Strategy<Value = Image> {
    let small = (any::<String>(), "[a-zA-Z0-9+/]{0,30}").prop_map(|(media, data)| Image {
        media,
        data: data.into(),
        blob: None,
    });
    prop_oneof![3 => small, 1 => (1000..3000usize).prop_map(image)]
}

fn block() -> impl Strategy<Value = Block> {
    let part = prop_oneof![
        any::<String>().prop_map(ResultPart::text),
        picture().prop_map(ResultPart::Image)
    ];
    prop_oneof![
        (any::<String>(), any::<bool>()).prop_map(|(text, meta)| Block::Text { text, meta }),
        (any::<String>(), option::of(any::<String>()))
            .prop_map(|(text, signature)| Block::Thinking { text, signature }),
        any::<String>().prop_map(|data| Block::Redacted { data }),
        picture().prop_map(Block::Image),
        (any::<String>(), any::<String>(), value()).prop_map(|(id, name, input)| Block::ToolUse {
            id: CallId::new(id),
            name,
            input,
            via: None,
        }),
        (any::<String>(), vec(part, 0..3), any::<bool>()).prop_map(|(id, content, is_error)| {
            Block::ToolResult { id: CallId::new(id), content, is_error }
        }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let assistant = (vec(block(), 0..4), any::<String>())
        .prop_map(|(content, model)| Message::assistant(&ModelId::new(model), content));
    prop_oneof![vec(block(), 0..4).prop_map(|content| Message::User { content }), assistant]
}

fn entry() -> impl Strategy<Value = Entry> {
    let stop = prop_oneof![Just(StopReason::EndTurn), any::<String>().prop_map(StopReason::Other)];
    let part = any::<[u64; 3]>().prop_map(|[first, last, of]| OutputPart { first, last, of });
    let seen = (any::<String>(), option::of(any::<String>()), option::of(part))
        .prop_map(|(path, hash, part)| Seen { path: path.into(), hash, part });
    let usage =
        any::<[u64; 5]>().prop_map(|[input, output, cache_write, cache_write_1h, cache_read]| {
            Usage { input, output, cache_write, cache_write_1h, cache_read }
        });
    let cost = option::of(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL);
    prop_oneof![
        (message(), any::<u64>()).prop_map(|(message, at)| Entry::prompt(message, Timestamp(at))),
        (message(), option::of(stop)).prop_map(|(message, stop)| Entry::Answer { message, stop }),
        message().prop_map(Entry::note),
        any::<u8>().prop_map(|attempt| Entry::Went { why: Continue::StreamRetry { attempt } }),
        any::<String>().prop_map(|id| Entry::CallStarted { id: CallId::new(id) }),
        (block(), vec(seen, 0..3)).prop_map(|(result, seen)| Entry::CallFinished { result, seen }),
        any::<String>().prop_map(|why| Entry::decided("c".into(), Verdict::Deny, why)),
        (any::<String>(), option::of(any::<String>()), option::of(any::<u32>())).prop_map(
            |(path, before, mode)| Entry::Snapshot {
                call: "c".into(),
                path: path.into(),
                before: before.map(BlobRef::new),
                mode,
                after: None,
            }
        ),
        (usage, cost).prop_map(|(usage, cost)| Entry::Spent {
            model: "m".into(),
            usage,
            cost,
            charge: None,
            front: None
        }),
        any::<u64>().prop_map(|at| Entry::End { terminal: Terminal::MaxTurns, at: Timestamp(at) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_entries_come_back(batches in vec(vec(entry(), 0..6), 1..4)) {
        let home = home();
        let store = store(&home);
        drop(store.create(opened(&id(1))).unwrap());
        let mut wanted = vec![opened(&id(1))];
        for batch in batches {
            let loaded = store.open(&id(1)).unwrap();
            prop_assert_eq!(&loaded.notices, &[""; 0]);
            prop_assert_eq!(&loaded.entries, &wanted);
            for entry in batch {
                loaded.log.append(&entry).unwrap();
                wanted.push(entry);
            }
        }
        let loaded = store.open(&id(1)).unwrap();
        // As text, so that the order of keys and the last digit of numbers count too.
        prop_assert_eq!(serde_json::to_string(&loaded.entries).unwrap(), serde_json::to_string(&wanted).unwrap());
        drop(loaded);
        prop_assert_eq!(files(home.path(), ".lock").len(), 0);
    }
}
