//! The sentences the engine writes into a conversation. Each is a file under `prompts/`.

macro_rules! text {
    ($name:ident, $path:literal) => {
        pub(crate) const $name: &str =
            include_str!(concat!("../../../prompts/", $path)).trim_ascii();
    };
}

text!(DENIED, "results/denied.md");
text!(STOPPED, "results/stopped.md");
text!(NOT_STARTED, "results/not-started.md");
text!(UNKNOWN_TOOL, "results/unknown-tool.md");
text!(TASK_BUDGET, "task-budget.md");
