//! The sentences this crate writes into a conversation. Each is a file under `prompts/`.

macro_rules! text {
    ($name:ident, $path:literal) => {
        pub const $name: &str = include_str!(concat!("../../../../prompts/", $path)).trim_ascii();
    };
}

text!(PIPED, "piped.md");
text!(PIPED_PROMPT, "piped-prompt.md");
text!(RESUME, "resume.md");
text!(INTERRUPTED_ANSWER, "interrupted-answer.md");
text!(INTERRUPTED_TOOLS, "interrupted-tools.md");
text!(BROKEN_ANSWER, "broken-answer.md");
text!(INPUT_CHANGED, "results/input-changed.md");
text!(NO_RESULT, "results/no-result.md");
text!(TURN_ENDED, "results/turn-ended.md");
text!(LOST_EFFECT, "results/lost-effect.md");
text!(LOST_HARMLESS, "results/lost-harmless.md");
text!(LOST_PROMPT, "results/lost-prompt.md");
text!(IMAGE_GONE, "results/image-gone.md");
text!(PLAN_REMINDER, "reminders/plan.md");
text!(PLAN_STATE, "reminders/plan-state.md");
text!(UNDONE, "reminders/undone.md");
text!(REDONE, "reminders/redone.md");
text!(TOOLS_ADDED, "reminders/tools-added.md");
text!(TOOLS_REMOVED, "reminders/tools-removed.md");
text!(TOOLS_DEFERRED, "reminders/tools-deferred.md");
text!(USE_TOOL, "tools/use-tool.md");
text!(CUT_CALL, "results/cut-call.md");
text!(SPILLED, "results/spilled.md");
text!(RECEIPT, "compaction/receipt.md");
text!(ELIDED, "compaction/elided.md");
text!(SNIPPED, "compaction/snipped.md");
text!(COLLAPSED, "compaction/collapsed.md");
text!(SUMMARISE, "compaction/summarise.md");
text!(SUMMARY_WISH, "compaction/wish.md");
text!(SUMMARY_SO_FAR, "compaction/so-far.md");
text!(SUMMARY, "compaction/summary.md");
