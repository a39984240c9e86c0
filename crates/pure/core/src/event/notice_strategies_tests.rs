//! Random notices: every code, with every awkward text.

use super::*;

pub(crate) fn notice() -> impl Strategy<Value = Notice> {
    let change = prop_oneof![
        (text(), text()).prop_map(|(from, to)| Change::Model { from, to }),
        Just(Change::MadeRoom),
        Just(Change::Unknown),
        any::<u64>().prop_map(|seconds| Change::Pause { seconds }),
    ];
    let not_compacted = prop_oneof![
        Just(NotCompacted::SwitchedOff),
        Just(NotCompacted::NothingEarlier),
        Just(NotCompacted::TooLittleToGain),
        any::<(u64, u64)>()
            .prop_map(|(tokens, window)| NotCompacted::StaysTooLarge { tokens, window }),
        text().prop_map(|text| NotCompacted::Hook { text }),
        Just(NotCompacted::NoRoomGained),
    ];
    let stages = vec![StageName::Budget, StageName::Snip, StageName::Micro, StageName::Collapse];
    let said = text().prop_flat_map(|text| {
        prop::sample::select(vec![
            Notice::UnknownStopReason { reason: text.clone() },
            Notice::Provider { text: text.clone() },
            Notice::BudgetUnknown { text: text.clone() },
            Notice::Ledger { text: text.clone() },
            Notice::Hook { text: text.clone() },
            Notice::Mcp { server: text.clone(), text: text.clone() },
            Notice::Sandbox { text: text.clone() },
            Notice::Command { text: text.clone() },
            Notice::Job { text: text.clone() },
            Notice::Team { text: text.clone() },
            Notice::Board { text: text.clone() },
            Notice::Instructions { text: text.clone() },
            Notice::Memory { text: text.clone() },
            Notice::MemoryByWords { text: text.clone() },
            Notice::SessionLog { text: text.clone() },
            Notice::Directory { text: text.clone() },
            Notice::UnknownTool { name: text.clone() },
            Notice::Undo { text },
            Notice::NoCallMade,
            Notice::MoreInstructions,
            Notice::MemoryLate,
        ])
    });
    prop_oneof![
        said,
        (model(), any::<u64>(), any::<u64>()).prop_map(|(model, prompt_tokens, output_tokens)| {
            Notice::UsageEstimated { model, prompt_tokens, output_tokens }
        }),
        (any::<u64>(), any::<u64>(), change).prop_map(|(expected, read, change)| {
            Notice::CacheBroken(Broken { expected, read, change })
        }),
        model().prop_map(|model| Notice::PriceUnknown { model }),
        (text(), prop::option::of(money()))
            .prop_map(|(budget, limit_usd)| Notice::BudgetSpent { budget, limit_usd }),
        (prop::sample::select(stages), any::<[u64; 3]>()).prop_map(|(stage, n)| {
            let [count, tokens_before, tokens_after] = n;
            Notice::RoomMade { stage, count, tokens_before, tokens_after }
        }),
        not_compacted.prop_map(Notice::NotCompacted),
        ("[a-z/]{1,9}", any::<u64>(), text()).prop_map(|(file, line, what)| Notice::Skill {
            file: file.into(),
            line,
            what
        }),
        (id(), text(), any::<u64>()).prop_map(|(id, name, seconds)| Notice::SlowCall {
            id,
            name,
            seconds
        }),
    ]
}
