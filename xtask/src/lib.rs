//! The rules of the house that a program can check. They run as an ordinary test.

mod code_text;
mod environment;
pub mod events_schema;
mod fault_tests;
mod files;
mod layers;
mod licences;
mod lines;
mod module_names;
mod nesting;
mod prompts;
mod provider_names;
mod tool_names;

use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub struct Report {
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
}

/// The directory of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

pub fn tidy(root: &Path) -> Report {
    let mut report = Report::default();
    let sources = files::rust_sources(root);
    if sources.is_empty() {
        report.errors.push(format!("no sources found below {}", root.display()));
    }
    for source in &sources {
        lines::check(source, &mut report);
    }
    lines::check_testkit(&sources, &mut report);
    nesting::check(&sources, &mut report);
    module_names::check(&sources, &mut report);
    environment::check(&sources, &mut report);
    tool_names::check(&sources, &mut report);
    provider_names::check(&sources, &mut report);
    prompts::check(root, &sources, &mut report);
    fault_tests::check(root, &sources, &mut report);
    layers::check(root, &mut report);
    licences::check(root, &mut report);
    report
}

pub fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let report = tidy(&root());
        for warning in &report.warnings {
            println!("warning: {warning}");
        }
        assert!(report.errors.is_empty(), "\n{}", report.errors.join("\n"));
    }

    #[test]
    fn every_folder_of_sources_is_read() {
        let sources = files::rust_sources(&root());
        for path in [
            "crates/pure/core/src/lib.rs",
            "crates/dev/fuzz/src/main.rs",
            "crates/dev/fuzz/tests/effects.rs",
            "xtask/src/lib.rs",
        ] {
            let found = sources.iter().find(|source| source.path == path);
            assert!(found.is_some(), "{path}");
        }
    }
}
