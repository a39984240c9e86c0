//! Warnings that a person has seen: each is shown at one start of a project, and again only after it went away.

use crate::files::{read_own, update};
use crate::places::hex_sha256;
use crate::{ConfigError, SettingsPlaces};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Bytes of the record, and warnings in it.
const MOST_BYTES: u64 = 64 * 1024;
const MOST: usize = 500;

/// Those that were not shown at the last start here. From now on all of these count as shown; where that cannot be
/// kept, they are shown again.
pub fn unseen_warnings(places: &SettingsPlaces, warnings: &[String]) -> Vec<String> {
    let Ok(file) = file(places) else { return warnings.to_vec() };
    let before = read_own(&file, MOST_BYTES).ok().flatten().map(|text| seen(&text));
    let before = before.unwrap_or_default();
    let now: Vec<String> = warnings.iter().take(MOST).map(|line| mark(line)).collect();
    if before != now {
        let text = format!("{}\n", json!({ "version": 1, "seen": now }));
        let _ = update(&file, MOST_BYTES, |_| Ok(Some(text)));
    }
    warnings.iter().filter(|line| !before.contains(&mark(line))).cloned().collect()
}

fn file(places: &SettingsPlaces) -> Result<PathBuf, ConfigError> {
    Ok(places.kept_about(&places.real_project()?).join("warnings.json"))
}

/// A record that is not understood says nothing.
fn seen(text: &str) -> Vec<String> {
    let record: Value = serde_json::from_str(text).unwrap_or_default();
    let marks = record.get("seen").and_then(Value::as_array);
    let marks = marks.into_iter().flatten().filter_map(Value::as_str);
    marks.take(MOST).map(str::to_owned).collect()
}

fn mark(line: &str) -> String {
    hex_sha256(line.as_bytes()).get(..16).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_ground::ConfigGround;

    #[test]
    fn a_warning_is_shown_once_until_it_went_away() {
        let ground = ConfigGround::new();
        let shown = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            unseen_warnings(&ground.places, &lines)
        };
        assert_eq!(shown(&[]), [] as [&str; 0]);
        assert!(!ground.path("home/.ostler/projects").exists(), "nothing to keep, nothing written");
        assert_eq!(shown(&["a", "b"]), ["a", "b"]);
        assert_eq!(shown(&["a", "b"]), [] as [&str; 0]);
        assert_eq!(shown(&["a", "c"]), ["c"]);
        // It was repaired meanwhile, and is new now.
        assert_eq!(shown(&["a", "b", "c"]), ["b"]);
        assert_eq!(shown(&[]), [] as [&str; 0]);
        assert_eq!(shown(&["a"]), ["a"]);
        // Another project has not shown it.
        let mut other = ConfigGround::new().places;
        other.ostler_home.clone_from(&ground.places.ostler_home);
        let gone = ConfigGround::new();
        other.project = gone.path("ws");
        assert_eq!(unseen_warnings(&other, &["a".to_owned()]), ["a"]);
    }

    /// Where nothing can be kept, nothing is kept from a person.
    #[test]
    fn without_a_record_everything_is_shown() {
        let ground = ConfigGround::new();
        let lines = ["a".to_owned()];
        let file = file(&ground.places).unwrap();
        std::fs::create_dir_all(&file).unwrap();
        assert_eq!(unseen_warnings(&ground.places, &lines), ["a"]);
        assert_eq!(unseen_warnings(&ground.places, &lines), ["a"]);
        std::fs::remove_dir(&file).unwrap();
        std::fs::write(&file, "no record").unwrap();
        assert_eq!(unseen_warnings(&ground.places, &lines), ["a"]);
        assert_eq!(unseen_warnings(&ground.places, &lines), [] as [&str; 0]);
    }
}
