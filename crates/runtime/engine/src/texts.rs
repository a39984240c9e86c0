//! The sentences the engine writes into a conversation. Each is a file under `prompts/`.

macro_rules! text {
    ($name:ident, $path:literal) => {
        pub(crate) const $name: &str =
            include_str!(concat!("../../../../prompts/", $path)).trim_ascii();
    };
}

text!(BUDGET_SPENT, "results/budget-spent.md");
text!(DENIED, "results/denied.md");
text!(HOOK_CONTEXT, "hooks/context.md");
text!(HOOK_OBJECTION, "hooks/objection.md");
text!(HOOK_REWRITTEN, "hooks/rewritten.md");
text!(HOOK_STOP, "hooks/stop.md");
text!(HOOK_ENDED, "results/hook-ended.md");
text!(NOT_ANSWERED, "results/not-answered.md");
text!(PLAN_NOT_APPROVED, "results/plan-not-approved.md");
text!(STOPPED, "results/stopped.md");
text!(REDIRECTED, "results/redirected.md");
text!(NOT_STARTED, "results/not-started.md");
text!(UNKNOWN_TOOL, "results/unknown-tool.md");
text!(USE_TOOL_MISUSE, "results/use-tool-misuse.md");
text!(TASK_BUDGET, "task-budget.md");
