//! A module's name says what the module is: a noun, or the verb of what it does.

use crate::Report;
use crate::files::Source;

/// Bare participles, adverbs and adjectives that have been names of modules, or are likely to become one.
const FORBIDDEN: &[&str] = &[
    "again",
    "alive",
    "already",
    "apart",
    "aside",
    "asked",
    "away",
    "back",
    "bare",
    "below",
    "beside",
    "blocking",
    "born",
    "bound",
    "broken",
    "built",
    "built_in",
    "careful",
    "changed",
    "checked",
    "clean",
    "closed",
    "complete",
    "dead",
    "deep",
    "declared",
    "deferred",
    "denied",
    "distinct",
    "done",
    "earlier",
    "early",
    "else",
    "empty",
    "ended",
    "extra",
    "failed",
    "fast",
    "finished",
    "first",
    "fixed",
    "flat",
    "found",
    "fresh",
    "full",
    "further",
    "gathered",
    "given",
    "gone",
    "guarded",
    "half",
    "handed",
    "heard",
    "heavy",
    "held",
    "here",
    "hidden",
    "idle",
    "inner",
    "inside",
    "judged",
    "kept",
    "known",
    "last",
    "late",
    "later",
    "learnt",
    "left",
    "lexical",
    "linear",
    "listed",
    "loaded",
    "local",
    "located",
    "lost",
    "made",
    "marked",
    "missing",
    "mixed",
    "more",
    "moved",
    "named",
    "near",
    "nearby",
    "nested",
    "new",
    "next",
    "not_run",
    "now",
    "numbered",
    "old",
    "once",
    "opened",
    "other",
    "outer",
    "outside",
    "own",
    "pending",
    "placed",
    "plain",
    "planned",
    "planted",
    "printed",
    "private",
    "proved",
    "put",
    "quiet",
    "ran",
    "raw",
    "readable",
    "reading",
    "ready",
    "refused",
    "repeated",
    "replaced",
    "running",
    "safe",
    "said",
    "sealed",
    "second",
    "seen",
    "sent",
    "shared",
    "shipped",
    "short",
    "shown",
    "slow",
    "sorted",
    "spent",
    "spoken",
    "standing",
    "started",
    "still",
    "stopped",
    "stored",
    "sudden",
    "summed_up",
    "taken",
    "then",
    "there",
    "told",
    "tracked",
    "tried",
    "twice",
    "undoable",
    "undone",
    "unfinished",
    "unknown",
    "unused",
    "used",
    "visible",
    "waiting",
    "wanted",
    "weak",
    "whole",
    "wide",
    "wild",
    "wrapped",
    "written",
    "wrong",
];

/// Modules that still have such a name. The list may only become shorter.
const ALLOWED: &[&str] = &[
    "crates/pure/core/src/session/summed_up_tests.rs",
    "crates/surfaces/cli/src/commands/demo/short.rs",
    "crates/surfaces/cli/src/commands/local.rs",
    "crates/surfaces/cli/tests/it/denied.rs",
    "crates/surfaces/cli/tests/it/undo/denied.rs",
    "crates/surfaces/cli/tests/it/wild.rs",
];

pub fn check(sources: &[Source], report: &mut Report) {
    check_with(sources, ALLOWED, report);
}

fn check_with(sources: &[Source], allowed: &[&str], report: &mut Report) {
    for source in sources {
        let path = source.path.as_str();
        let is_allowed = allowed.contains(&path);
        let is_bad = FORBIDDEN.contains(&module_name(path));
        if is_bad && !is_allowed {
            report.errors.push(format!(
                "{path}: a module is named by a noun, not by a bare participle, adverb or adjective"
            ));
        }
    }
    for path in allowed {
        if !sources
            .iter()
            .any(|source| source.path == *path && FORBIDDEN.contains(&module_name(path)))
        {
            report.errors.push(format!(
                "{path} has no such name any more: remove it from ALLOWED in xtask/src/module_names.rs"
            ));
        }
    }
}

/// The file's name without its ending; of `mod.rs`, that of its directory. The tests of a module carry its name.
fn module_name(path: &str) -> &str {
    let path = path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs")).unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix("_tests").or_else(|| name.strip_suffix("_test")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(path: &str, allowed: &[&str]) -> usize {
        let mut report = Report::default();
        check_with(&[Source { path: path.into(), text: String::new() }], allowed, &mut report);
        report.errors.len()
    }

    #[test]
    fn a_name_that_is_no_noun_is_found() {
        for (path, expected) in [
            ("crates/pure/core/src/told.rs", 1),
            ("crates/pure/core/src/told/mod.rs", 1),
            ("crates/pure/core/src/told_tests.rs", 1),
            ("crates/pure/core/tests/it/again.rs", 1),
            ("crates/dev/fuzz/src/planted.rs", 1),
            ("crates/pure/core/src/told/story.rs", 0),
            ("crates/pure/core/src/notices.rs", 0),
        ] {
            assert_eq!(errors(path, &[]), expected, "{path}");
        }
    }

    #[test]
    fn the_list_of_exceptions_can_only_shrink() {
        let path = "crates/pure/core/src/told.rs";
        assert_eq!(errors(path, &[path]), 0);
        assert_eq!(errors("crates/pure/core/src/notices.rs", &[path]), 1);
        assert_eq!(
            errors("crates/pure/core/src/notices.rs", &["crates/pure/core/src/notices.rs"]),
            1
        );
    }
}
