//! The twelve places where Claude Code was seen to go wrong, and how we do there.

use super::line;

/// What was seen, how we do, and which rows above or which test shows it. Without either it is open.
const TWELVE: [(&str, &str, &[&str]); 12] = [
    (
        "Cut calls, and streams that break after a call, are asked for without end.",
        "Both are bounded.",
        &["trunc_tool_forever", "drop_after_tool_forever"],
    ),
    (
        "A stream that breaks after one whole text fails the run.",
        "It is asked for again, at most three times.",
        &["drop_after_text", "sse_err_ovl_mid"],
    ),
    ("`pause_turn` is taken for the end.", "The model is asked to go on.", &["pause_turn"]),
    (
        "The text of an interrupted answer is lost, and SIGINT exits with 0.",
        "The text is kept, the model is told, the exit code is 130.",
        &["sigint_stream"],
    ),
    (
        "After a crash unfinished calls are dropped in silence.",
        "Each has a result that says what is known of it.",
        &["sigkill_tool", "sigkill_two_tools"],
    ),
    (
        "Results stand in the order of completion.",
        "They stand in the order of the calls.",
        &["par_reads12", "par_mixed_err"],
    ),
    (
        "One cache mark, which a wide turn pushes out of reach.",
        "Marks are set so that each request finds the whole one before it, also after twelve calls at once (test `prefix`).",
        &[],
    ),
    (
        "Only a refused request leads to compaction, and a second refusal is fatal.",
        "Room is made before a request is refused; a refusal leads to a summary once, and a summary that fails is made from the messages.",
        &["ac_180k", "ac1m_990k", "reactive_summary_tool", "compact_ptl"],
    ),
    (
        "A field or beta the provider does not know fails the run.",
        "It is left out from then on, and said.",
        &["err400_ctxmgmt", "err400_beta"],
    ),
    (
        "Deny rules are evaded by absolute paths and `bash -c`.",
        "A rule is held against every command a text could run, whatever its path and whoever runs it (the corpus of permissions).",
        &[],
    ),
    (
        "A hook that says `continue: false` before a call does not keep it from running.",
        "The call is not run, and the turn ends (tests `hooks`).",
        &[],
    ),
    ("Errors of sub-agents come back as ordinary text.", "Open: comes with sub-agents.", &[]),
];

pub fn table(rows: &[&str]) -> String {
    let mut text =
        "\n## Where Claude Code goes wrong\n\n| seen | Ostler | shown by |\n|---|---|---|\n"
            .to_owned();
    for (seen, ours, shown) in TWELVE {
        let unknown: Vec<_> = shown.iter().filter(|name| !rows.contains(name)).collect();
        assert!(unknown.is_empty(), "no such rows: {unknown:?}");
        text += &line(&[seen, ours, &shown.join(", ")]);
    }
    text
}
