//! A tool is known by its name in its own file and nowhere else: everybody else goes by what it declares.

use crate::Report;
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
        ] {
            assert_eq!(errors(path, text), expected, "{path} {text}");
        }
        let mut report = Report::default();
        check(&[], &mut report);
        assert_eq!(report.errors.len(), 1, "without names nothing is checked");
    }
}
