//! `docs/events.schema.json`: the schema of the events, as the code has it.

use std::io;
use std::path::{Path, PathBuf};

pub const COMMAND: &str = "cargo run -p xtask -- events-schema";

pub fn path(root: &Path) -> PathBuf {
    root.join("docs/events.schema.json")
}

pub fn text() -> String {
    format!("{:#}\n", ostler_core::event::schema())
}

/// # Errors
/// If the file cannot be written.
pub fn write(root: &Path) -> io::Result<()> {
    std::fs::write(path(root), text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_in_the_documents_is_that_of_the_code() {
        let written = std::fs::read_to_string(path(&crate::root())).unwrap_or_default();
        let differs =
            written.lines().zip(text().lines().map(str::to_owned)).position(|(a, b)| a != b);
        assert!(
            written == text(),
            "docs/events.schema.json is not the schema of the code (first different line: {differs:?}). \
             If the change is additive, run `{COMMAND}` and commit the file; otherwise also raise VERSION \
             (docs/events.md, \"Versions\")."
        );
    }
}
