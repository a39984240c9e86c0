//! The laws of merging, on arbitrary outcomes, and a few cases to read.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn stand() -> impl Strategy<Value = Stand> {
    prop_oneof![Just(Stand::Pass), Just(Stand::Ask), Just(Stand::Block), Just(Stand::Prevent)]
}

fn outcome() -> impl Strategy<Value = HookOutcome> {
    let changes = prop::collection::btree_map("[ab]", prop::option::of(0..3u8), 0..3);
    (stand(), 0..3usize, changes, any::<bool>(), any::<bool>(), "[xy]").prop_map(
        |(stand, hook, changes, context, allows, why)| {
            let hook = ["p", "q", "r"][hook];
            let mut out = match stand {
                Stand::Pass => HookOutcome::default(),
                stand => HookOutcome::of(stand, hook, why.clone()),
            };
            out.changes = changes.into_iter().map(|(k, v)| (k, v.map(|v| json!(v)))).collect();
            if !out.changes.is_empty() {
                out.changed_by = vec![hook.into()];
            }
            if context {
                out.context.push(why);
            }
            out.allowed_by = allows.then(|| hook.to_owned());
            out.heard = vec![hook.into()];
            out
        },
    )
}

/// What decides, without the order in which things are said.
type Substance = (Stand, Vec<(Stand, String)>, Option<bool>, Vec<String>);

fn substance(mut out: HookOutcome) -> Substance {
    let mut reasons: Vec<_> = out
        .reasons
        .into_iter()
        .filter(|reason| !reason.why.contains("differently"))
        .map(|reason| (reason.stand, reason.why))
        .collect();
    reasons.sort();
    reasons.dedup();
    out.context.sort();
    let yes = (out.stand == Stand::Pass).then_some(out.allowed_by.is_some());
    (out.stand, reasons, yes, out.context)
}

proptest! {
    #[test]
    fn no_part_is_stricter_than_the_whole(parts in prop::collection::vec(outcome(), 0..5)) {
        let whole = merge(parts.clone());
        for part in &parts {
            prop_assert!(whole.rank() >= part.rank(), "{part:?} in {whole:?}");
            prop_assert!(whole.says_yes().is_none() || part.stand == Stand::Pass);
            prop_assert!(part.reasons.iter().all(|reason| whole.reasons.contains(reason)));
            prop_assert!(part.context.iter().all(|text| whole.context.contains(text)));
        }
        // A yes and a change come from somebody.
        prop_assert!(whole.allowed_by.is_none() || parts.iter().any(|part| part.allowed_by.is_some()));
        for (field, value) in &whole.changes {
            prop_assert!(parts.iter().any(|part| part.changes.get(field) == Some(value)));
        }
    }

    #[test]
    fn saying_it_twice_changes_nothing(part in outcome()) {
        prop_assert_eq!(merge([part.clone(), part.clone()]), merge([part]));
    }

    #[test]
    fn the_order_decides_nothing(a in outcome(), b in outcome()) {
        let (ab, ba) = (merge([a.clone(), b.clone()]), merge([b, a]));
        if ab.stand < Stand::Block {
            prop_assert_eq!(&ab.changes, &ba.changes);
        }
        prop_assert_eq!(substance(ab), substance(ba));
    }

    #[test]
    fn grouping_changes_nothing(a in outcome(), b in outcome(), c in outcome()) {
        let left = merge([merge([a.clone(), b.clone()]), c.clone()]);
        let right = merge([a, merge([b, c])]);
        prop_assert_eq!(substance(left), substance(right));
    }

    #[test]
    fn nothing_is_neutral(part in outcome()) {
        let merged = merge([HookOutcome::default(), part.clone(), HookOutcome::default()]);
        prop_assert_eq!(merged, merge([part]));
    }
}

fn changing(hook: &str, after: serde_json::Value) -> HookOutcome {
    let before = json!({"command": "ls", "timeout": 5});
    let changes = HookOutcome::changes_of(&before, &after);
    HookOutcome { changes, changed_by: vec![hook.into()], ..HookOutcome::default() }
}

#[test]
fn different_fields_are_united_and_a_dispute_blocks() {
    let before = json!({"command": "ls", "timeout": 5});
    let one = changing("one", json!({"command": "ls -l", "timeout": 5}));
    let two = changing("two", json!({"command": "ls", "description": "d"}));
    let both = merge([one.clone(), two]);
    assert_eq!(both.rank(), 1);
    assert_eq!(both.changed_by, ["one", "two"]);
    assert_eq!(both.rewritten(&before).unwrap(), json!({"command": "ls -l", "description": "d"}));

    let three = changing("three", json!({"command": "rm x", "timeout": 5}));
    let disputed = merge([one.clone(), three.clone()]);
    assert_eq!(disputed.stand, Stand::Block);
    assert_eq!(
        disputed.why(),
        "the hook one and three: hooks change the input differently (command)"
    );
    // Agreeing is no dispute.
    assert_eq!(
        merge([one.clone(), changing("four", json!({"command": "ls -l", "timeout": 5}))]).stand,
        Stand::Pass
    );
    assert_eq!(HookOutcome::default().rewritten(&before), None);
}

#[test]
fn a_yes_counts_only_where_nobody_objects() {
    let yes = HookOutcome { allowed_by: Some("yes".into()), ..HookOutcome::default() };
    assert_eq!(merge([HookOutcome::default(), yes.clone()]).says_yes(), Some("yes"));
    for stand in [Stand::Ask, Stand::Block, Stand::Prevent] {
        let no = HookOutcome::of(stand, "no", "no");
        assert_eq!(merge([yes.clone(), no]).says_yes(), None);
    }
}

#[test]
fn those_who_went_furthest_say_why() {
    let all = merge([
        HookOutcome::of(Stand::Ask, "a", "look"),
        HookOutcome::of(Stand::Block, "b", "no"),
        HookOutcome::of(Stand::Block, "c", "never"),
    ]);
    assert_eq!(all.why(), "the hook b: no; the hook c: never");
}
