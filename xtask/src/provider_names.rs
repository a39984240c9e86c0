//! A provider is known by its name in the directory of its protocol and in the provider table, and nowhere else.

use crate::Report;
use crate::files::Source;

const NAME: &str = "anthropic";

/// Where the name may stand, and why.
const MAY: [(&str, &str); 6] = [
    ("crates/runtime/models/src/protocol/anthropic_messages/", "the protocol itself"),
    ("crates/runtime/models/src/protocol/mod.rs", "the list of protocols"),
    ("crates/runtime/model-server/src/", "plays the provider: the other side of the protocol"),
    (
        "crates/runtime/config/src/project_env.rs",
        "variables of anybody that a project must not set",
    ),
    ("crates/dev/chaos/src/real_worker.rs", "starts the program with a scripted model"),
    ("crates/runtime/exec/src/environment.rs", "variables of anybody that a command must not see"),
];

pub fn check(sources: &[Source], report: &mut Report) {
    let [(own, _), ..] = MAY;
    if !sources.iter().any(|source| source.path.starts_with(own)) {
        report.errors.push("no protocol is found, so providers' names cannot be checked".into());
    }
    for source in sources {
        let is_product = source.path.starts_with("crates/") && source.path.contains("/src/");
        let may = MAY.iter().any(|(place, _)| source.path.starts_with(place));
        if is_product && !source.is_test() && !may {
            report.errors.extend(uses(source));
        }
    }
}

fn uses(source: &Source) -> impl Iterator<Item = String> {
    let found = source.own().filter(|(_, line)| line.to_ascii_lowercase().contains(NAME));
    found.map(|(number, _)| {
        let why = "a provider is named in its protocol's folder and in providers.toml only";
        format!("{}:{number}: {NAME}: {why}", source.path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_outside_its_places_is_found() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let own =
            || source("crates/runtime/models/src/protocol/anthropic_messages/mod.rs", "anthropic");
        let errors = |path: &str, text: &str| {
            let mut report = Report::default();
            check(&[own(), source(path, text)], &mut report);
            report.errors.len()
        };
        let line = "let key = variable(\"ANTHROPIC_API_KEY\");\n";
        for (path, text, expected) in [
            ("crates/surfaces/cli/src/a.rs", line, 1),
            ("crates/surfaces/cli/src/a.rs", "// Anthropic says so.\n", 1),
            ("crates/runtime/models/src/transport.rs", line, 1),
            ("crates/runtime/models/src/protocol/anthropic_messages/wire.rs", line, 0),
            ("crates/surfaces/cli/src/a.rs", "#[cfg(test)]\nmod tests {\n    // anthropic\n}\n", 0),
            ("crates/surfaces/cli/src/a_tests.rs", line, 0),
            ("crates/surfaces/cli/tests/it/a.rs", line, 0),
            ("crates/runtime/model-server/src/validate/headers.rs", line, 0),
        ] {
            assert_eq!(errors(path, text), expected, "{path} {text}");
        }
        let mut report = Report::default();
        check(&[], &mut report);
        assert_eq!(report.errors.len(), 1, "without a protocol nothing is checked");
    }
}
