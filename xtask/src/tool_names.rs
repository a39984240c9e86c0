//! A tool is known by its name in its own file and nowhere else: everybody else goes by what it declares.

use crate::Report;
use crate::code_text::literals;
use crate::files::Source;

const DECLARATION: &str = "const NAME: &'static str = \"";

/// Where names of tools are words of their own: the rule language, the tools of other programs, a play, the fuzzer
/// and the chaos run.
const MAY: [&str; 5] = [
    "crates/pure/policy/src/rule.rs",
    "crates/pure/policy/src/tool_names.rs",
    "crates/surfaces/cli/src/commands/demo/",
    "crates/dev/fuzz/",
    "crates/dev/chaos/",
];

/// Names that are also English words: at the beginning of a sentence they mean nothing.
const ENGLISH: [&str; 12] = [
    "Agent", "Delegate", "Edit", "Glob", "Memory", "Read", "Recall", "Revert", "Skill", "Sleep",
    "Write", "Grep",
];

/// Files whose sentences name tools, each with its reason.
const SENTENCES: [(&str, &str); 4] = [
    ("crates/runtime/tools/src/", "what one tool says about another is part of its description"),
    ("crates/surfaces/cli/src/args/permissions.rs", "examples of rules in the help"),
    ("crates/surfaces/cli/src/args/agent_sdk.rs", "the Agent SDK is another program"),
    (
        "crates/product/ostler/src/task_board/seat.rs",
        "a board tool's refusal names the tool to use first",
    ),
];

pub fn check(sources: &[Source], report: &mut Report) {
    let own = sources.iter().filter(|source| source.path.starts_with("crates/runtime/tools/src/"));
    let lines = own.flat_map(|source| source.text.lines());
    let names: Vec<&str> =
        lines.filter_map(|line| line.trim().strip_prefix(DECLARATION)?.split('"').next()).collect();
    if names.is_empty() {
        report.errors.push("no tool declares its name, so their use cannot be checked".into());
    }
    for source in sources {
        let is_product = source.path.starts_with("crates/") && source.path.contains("/src/");
        if is_product && !source.is_test() && !MAY.iter().any(|at| source.path.starts_with(at)) {
            report.errors.extend(uses(source, &names));
            if !SENTENCES.iter().any(|(at, _)| source.path.starts_with(at)) {
                report.errors.extend(mentions(source, &names));
            }
        }
    }
}

fn uses(source: &Source, names: &[&str]) -> Vec<String> {
    let is_code = |line: &str| !line.trim_start().starts_with("//") && !line.contains(DECLARATION);
    let found = source.own().filter(|(_, line)| is_code(line)).filter_map(|(number, line)| {
        let name = names.iter().find(|name| line.contains(&format!("\"{name}\"")))?;
        let why = "a tool is known by its name in its own file only, go by what it declares";
        Some(format!("{}:{number}: \"{name}\": {why}", source.path))
    });
    found.collect()
}

/// Tools that are named inside a sentence or a rule.
fn mentions(source: &Source, names: &[&str]) -> Vec<String> {
    let own: Vec<&str> = source.own().map(|(_, line)| line).collect();
    let of_literal = |(line, text): (usize, &str)| {
        let name = names.iter().find(|name| text != **name && is_named(text, name))?;
        let why = "write the sentence in prompts/, or use what the tool declares";
        Some(format!("{}:{line}: {name} in a text: {why}", source.path))
    };
    literals(&own.join("\n")).into_iter().filter_map(of_literal).collect()
}

/// As a word of its own. An English word counts only after another word ("use Read"), or as a rule ("Read(").
fn is_named(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + name.len()..).unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        let follows = before.trim_end().ends_with(|c: char| c.is_lowercase() || c == ',');
        is_word && (!ENGLISH.contains(&name) || follows || after.starts_with('('))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_list_is_found() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let tool = format!("    {DECLARATION}Stamp\";\n");
        let tool = || source("crates/runtime/tools/src/stamp.rs", &tool);
        let errors = |path: &str, text: &str| {
            let mut report = Report::default();
            check(&[tool(), source(path, text)], &mut report);
            report.errors.len()
        };
        let list = "const WRITERS: [&str; 1] = [\"Stamp\"];\n";
        for (path, text, expected) in [
            ("crates/surfaces/cli/src/a.rs", list, 1),
            ("crates/runtime/tools/src/edit.rs", list, 1),
            ("crates/surfaces/cli/src/a.rs", "// not \"Stamp\"\nlet a = \"Stamps\";\n", 0),
            (
                "crates/surfaces/cli/src/a.rs",
                "#[cfg(test)]\nmod tests {\n    let a = \"Stamp\";\n}\n",
                0,
            ),
            ("crates/surfaces/cli/src/a_tests.rs", list, 0),
            ("crates/surfaces/cli/tests/it/a.rs", list, 0),
            ("crates/pure/policy/src/rule.rs", list, 0),
            ("crates/surfaces/cli/src/a.rs", "let a = \"use Stamp for it\";\n", 1),
            ("crates/surfaces/cli/src/a.rs", "let a = \"\n  Stamp it\";\n", 1),
            ("crates/surfaces/cli/src/a.rs", "let a = format!(\"Stamp({x})\");\n", 1),
            ("crates/surfaces/cli/src/a.rs", "let Stamp = \"Stamped, StampIt\";\n", 0),
            ("crates/surfaces/cli/src/args/permissions.rs", "let a = \"Stamp(x)\";\n", 0),
            ("crates/runtime/tools/src/edit.rs", "let a = \"use Stamp for it\";\n", 0),
        ] {
            assert_eq!(errors(path, text), expected, "{path} {text}");
        }
        let mut report = Report::default();
        check(&[], &mut report);
        assert_eq!(report.errors.len(), 1, "without names nothing is checked");
    }

    #[test]
    fn an_english_word_is_not_always_a_tool() {
        for (text, expected) in [
            ("Read the file", false),
            ("and more. Read it again", false),
            ("use Read with offset", true),
            ("Read(./src/**)", true),
            ("# Memory", false),
        ] {
            assert_eq!(
                is_named(text, if text.contains("Memory") { "Memory" } else { "Read" }),
                expected,
                "{text}"
            );
        }
    }
}
