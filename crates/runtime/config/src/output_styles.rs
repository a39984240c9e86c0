//! Output styles: the person's own texts that say how answers should read. One of them is chosen by name.

use crate::SettingsPlaces;
use crate::files::read_regular;
use crate::values::{OUTPUT_STYLE, Values};
use std::path::Path;

/// The style of those who choose none.
pub const DEFAULT_STYLE: &str = "default";

const FOLDER: &str = "output-styles";
const MOST_BYTES: u64 = 256 * 1024;
const MOST_FILES: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputStyles {
    /// The name in the settings, whether there is such a style or not.
    pub chosen: String,
    /// Its text, for the system prompt.
    pub text: Option<String>,
    /// All names that can be chosen.
    pub available: Vec<String>,
}

impl OutputStyles {
    /// Only the person's own files are read: a project's text must not become a part of the system prompt. A file that
    /// cannot be read is no style.
    pub fn find(places: &SettingsPlaces, values: &Values) -> Self {
        let chosen = values.text(&OUTPUT_STYLE).unwrap_or(DEFAULT_STYLE).to_owned();
        let home = places.claude_home.as_deref().filter(|_| places.sources.user);
        let mut styles = home.map(|home| styles(&home.join(FOLDER))).unwrap_or_default();
        styles.sort();
        let found = styles.iter().find(|(name, _)| *name == chosen);
        let text = found.map(|(_, text)| text.clone()).filter(|text| !text.is_empty());
        let names = styles.into_iter().map(|(name, _)| name);
        let available = std::iter::once(DEFAULT_STYLE.to_owned()).chain(names).collect();
        OutputStyles { chosen, text, available }
    }
}

/// Name and text of each.
fn styles(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    files.take(MOST_FILES).filter_map(|file| style(&file)).collect()
}

fn style(file: &Path) -> Option<(String, String)> {
    let real = file.canonicalize().ok()?;
    let bytes = read_regular(file, &real, MOST_BYTES).ok()??;
    let text = String::from_utf8(bytes).ok()?.replace("\r\n", "\n");
    let front = text.strip_prefix("---\n").and_then(|inner| inner.split_once("\n---"));
    let (front, body) = match front {
        Some((front, body)) => (front, body.split_once('\n').map_or("", |(_, body)| body)),
        None => ("", text.as_str()),
    };
    let named = front.lines().find_map(|line| line.strip_prefix("name:"));
    let named = named.map(|name| name.trim().trim_matches(['"', '\''])).filter(|it| !it.is_empty());
    let name = named.or_else(|| file.file_stem()?.to_str())?;
    Some((name.to_owned(), body.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_has_the_name_in_its_file_or_that_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a.md", "---\nname: \"Terse\"\ndescription: d\n---\nBe terse.\n");
        write("plain.md", "Be plain.");
        write("notes.txt", "no style");
        let mut found = styles(folder.path());
        found.sort();
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(found, [pair("Terse", "Be terse."), pair("plain", "Be plain.")]);
    }
}
