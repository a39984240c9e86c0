//! The keys of settings files that the first release knew (`fixtures/stage1`): files with them are on people's disks.

use crate::test_ground::{anchors, check};
use crate::{permissions_yaml, settings_json};
use ostler_core::permission::Tier;
use serde_json::{Value, json};
use std::path::Path;

/// A file with nothing but this key. `a[].b` is the key `b` of an object in the list `a`.
fn file_with(key: &str) -> Value {
    let (first, rest) =
        key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    let mut value = rest.map_or(json!(true), file_with);
    // What is not a hook is reported without a look at its keys.
    if first == "hooks[]" {
        value["type"] = json!("command");
        value["command"] = json!("true");
    }
    match first.strip_suffix("[]") {
        Some(name) => json!({ name: [value] }),
        None => json!({ first: value }),
    }
}

/// Everything that is said about it.
fn said_by_settings(file: &Value) -> String {
    let path = Path::new("settings.json");
    match settings_json::parse(&file.to_string(), path, anchors(), Tier::User) {
        Ok(settings) => settings.warnings.lines(path).join("\n"),
        Err(error) => error.to_string(),
    }
}

fn said_by_rules(file: &Value) -> String {
    let path = Path::new("permissions.yaml");
    match permissions_yaml::parse(&file.to_string(), path, anchors(), Tier::User, &check) {
        Ok((_, warnings)) => warnings.lines(path).join("\n"),
        Err(error) => error.to_string(),
    }
}

/// Each key still means something: the same file with a misspelled key is told something else.
fn all_are_known(keys: &str, said: fn(&Value) -> String) {
    assert!(keys.lines().count() > 20);
    for key in keys.lines() {
        let known = said(&file_with(key));
        assert!(!known.contains("unknown key"), "{key}: {known}");
        let misspelled = said(&file_with(&format!("{key}Qx")));
        assert_ne!(misspelled.replace("Qx", ""), known, "{key}");
    }
}

#[test]
fn the_keys_of_the_first_release_are_still_known() {
    let keys = include_str!("../../../../fixtures/stage1/settings-keys.txt");
    all_are_known(keys, said_by_settings);
}

#[test]
fn the_keys_of_rules_of_the_first_release_are_still_known() {
    let keys = include_str!("../../../../fixtures/stage1/permissions-keys.txt");
    all_are_known(keys, said_by_rules);
}
