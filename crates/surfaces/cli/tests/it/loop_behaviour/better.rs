//! The twelve places where Claude Code was seen to go wrong, and how we do there.

use super::line;

/// What was seen, how we do, and which rows above or which test shows it. Without either it is open.
const TWELVE: [(&str, &str, &[&str]); 12] = [
    (
        "Truncated calls, and streams that break after a call, are retried forever.",
        "Both have a limit.",
        &["trunc_tool_forever", "drop_after_tool_forever"],
    ),
    (
        "A stream that breaks after one whole text fails the run.",
        "It is retried, at most three times.",
        &["drop_after_text", "sse_err_ovl_mid"],
    ),
    ("`pause_turn` is treated as the end.", "The model is asked to continue.", &["pause_turn"]),
    (
        "The text of an interrupted answer is lost, and SIGINT exits with 0.",
        "The text is kept, the model is told, and the exit code is 130.",
        &["sigint_stream"],
    ),
    (
        "After a crash, unfinished calls are dropped silently.",
        "Each has a result that says what is known about it.",
        &["sigkill_tool", "sigkill_two_tools"],
    ),
    (
        "Results are in the order of completion.",
        "They are in the order of the calls.",
        &["par_reads12", "par_mixed_err"],
    ),
    (
        "There is only one cache mark, which a turn with many calls pushes out of reach.",
        "Marks are placed so that each request reads the whole previous one from the cache, even after twelve parallel calls (test `prefix`).",
        &[],
    ),
    (
        "Unless a window is configured, only a rejected request triggers compaction, and the run fails if that summary fails.",
        "Ostler compacts before a request is rejected. A rejection triggers one summary; if the model returns none, Ostler builds one from the messages.",
        &["ac_180k", "ac1m_990k", "reactive_summary_tool", "compact_ptl"],
    ),
    (
        "A field or beta that the provider does not know fails the run.",
        "It is left out from then on, with a notice.",
        &["err400_ctxmgmt", "err400_beta"],
    ),
    (
        "Absolute paths and `bash -c` bypass deny rules.",
        "A rule applies to every command that a command line could run, whatever path or wrapper is used (permission corpus).",
        &[],
    ),
    (
        "A hook that answers `continue: false` before a call does not stop the call.",
        "The call does not run, and the turn ends (tests `hooks`).",
        &[],
    ),
    (
        "Errors in subagents come back as ordinary text.",
        "They are error results with the reason (tests `subagents`).",
        &[],
    ),
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
