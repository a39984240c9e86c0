//! A path that does not exist is most often a slip: what stands nearby?

use super::door::Door;
use crate::text::show;
use ostler_core::diff;
use rustix::fs::{Dir, OFlags};
use std::path::Path;

/// Names of one directory that are compared; a directory may hold millions.
const LOOKED_AT: usize = 5_000;
/// From here on one name may have been meant as the other.
const ALIKE: f64 = 0.75;

/// How a path was most likely meant, as the end of a sentence that says it does not exist.
pub fn hint(door: &Door, path: &Path) -> String {
    if path.components().any(|part| part.as_os_str() == "~") {
        return ". `~` is not expanded: give the absolute path.".into();
    }
    let Some(folder) = path.parent() else { return ".".into() };
    let is_folder = |path: &Path| door.look(path).is_ok_and(|sight| sight.is_folder());
    if !is_folder(folder) {
        let existing =
            folder.ancestors().find(|ancestor| is_folder(ancestor)).unwrap_or(Path::new("/"));
        return format!(
            ": there is no directory {}. The nearest one that exists is {}.",
            show(folder),
            show(existing)
        );
    }
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let opened = door.open(folder, OFlags::RDONLY | OFlags::DIRECTORY);
    let names: Vec<String> = opened
        .and_then(Dir::new)
        .into_iter()
        .flatten()
        .take(LOOKED_AT)
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let close = close(&wanted, &names);
    if close.is_empty() {
        return format!(". The directory {} exists; list it with Glob.", show(folder));
    }
    let close: Vec<String> = close.iter().map(|name| show(&folder.join(name))).collect();
    format!(". Did you mean {}?", close.join(" or "))
}

/// Up to three: the same but for case or ending first, then what looks alike.
fn close<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let stem =
        |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let mut found: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| stem(name) == stem(wanted)).collect();
    found.sort_unstable();
    let likeness = |name: &'a String| (diff::likeness(wanted, name), name.as_str());
    let mut alike: Vec<(f64, &str)> =
        names.iter().map(likeness).filter(|(likeness, _)| *likeness >= ALIKE).collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    for (_, name) in alike.into_iter().take(3) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found.truncate(3);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        let names =
            ["main.rs", "Main.java", "lib.rs", "lib_tests.rs", "README.md"].map(str::to_owned);
        for (wanted, expected) in [
            ("mian.rs", vec!["main.rs"]),
            ("main.py", vec!["Main.java", "main.rs"]),
            ("readme.md", vec!["README.md"]),
            ("lib_test.rs", vec!["lib_tests.rs"]),
            ("zzz", vec![]),
        ] {
            assert_eq!(close(wanted, &names), expected, "{wanted}");
        }
    }

    #[test]
    fn missing_folders_and_tildes_are_named() {
        let door = Door::new(&[]);
        let dir = tempfile::tempdir().unwrap();
        let text = hint(&door, &dir.path().join("no/where/x"));
        assert!(
            text.contains(&format!("nearest one that exists is {}", dir.path().display())),
            "{text}"
        );
        assert!(hint(&door, &dir.path().join("~/x")).contains("`~` is not expanded"));
        assert!(hint(&door, &dir.path().join("x")).contains("list it with Glob"));
    }
}
