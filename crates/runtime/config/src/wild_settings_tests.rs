//! Settings files as people have them, one form each (`fixtures/wild/settings`), beside what becomes of each
//! (`settings.tsv`): it loads clean, with a notice, or is refused because a restriction would be lost.

use crate::test_ground::ConfigGround;
use crate::{LoadedSettings, accept};
use ostler_core::permission::Tier;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const TABLE: &str = include_str!("../../../../fixtures/wild/settings.tsv");

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/wild/settings")
}

/// File, result and what is said.
fn cases() -> Vec<(&'static str, &'static str, &'static str)> {
    let case = |line: &'static str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        (next(), next(), next())
    };
    TABLE.lines().map(case).collect()
}

/// Where such a file may be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Project(&'static str, bool),
    User,
    Argument,
}

const PLACES: [Place; 6] = [
    Place::Project("ws/.claude/settings.json", false),
    Place::Project("ws/.claude/settings.json", true),
    Place::Project("ws/.claude/settings.local.json", false),
    Place::Project("ws/.ostler/settings.json", true),
    Place::User,
    Place::Argument,
];

fn load(file: &str, place: Place) -> Result<LoadedSettings, String> {
    let mut ground = ConfigGround::new();
    let target = match place {
        Place::Project(target, _) => target,
        Place::User => "home/.claude/settings.json",
        Place::Argument => "out/settings.json",
    };
    fs::copy(folder().join(file), ground.path(target)).unwrap();
    if place == Place::Argument {
        ground.places.settings_arg = Some(ground.path(target).display().to_string());
    }
    let loaded = ground.try_load().map_err(|error| error.to_string())?;
    match (&loaded.untrusted, place) {
        (Some(untrusted), Place::Project(_, true)) => {
            accept(&ground.places, untrusted).unwrap();
            ground.try_load().map_err(|error| error.to_string())
        }
        _ => Ok(loaded),
    }
}

#[test]
fn files_of_the_wild_load_unless_a_restriction_would_be_lost() {
    let cases = cases();
    let named: BTreeSet<String> = cases.iter().map(|case| case.0.to_owned()).collect();
    let there = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let there: BTreeSet<String> = there.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(named, there, "the table and the files differ");
    let mut counts = [0; 3];
    for (file, wanted, said) in &cases {
        for place in PLACES {
            let (found, lines) = match load(file, place) {
                Ok(loaded) if loaded.warnings.is_empty() => ("clean", Vec::new()),
                Ok(loaded) => ("notice", loaded.warnings),
                Err(error) => ("refused", vec![error]),
            };
            assert_eq!(found, *wanted, "{file} in {place:?}: {lines:?}");
            assert!(
                said.is_empty() != lines.iter().any(|line| line.contains(said)),
                "{file} in {place:?}: {lines:?}"
            );
            assert!(lines.len() <= 11, "{file}: {} lines", lines.len());
            assert!(
                lines.iter().all(|line| !line.contains("allow rule") || found != "refused"),
                "{lines:?}"
            );
        }
        let nth = ["clean", "notice", "refused"].iter().position(|name| name == wanted).unwrap();
        counts[nth] += 1;
    }
    let [clean, notice, refused] = counts;
    println!(
        "wild settings: {} files, {clean} load clean, {notice} with notices, {refused} refused (each because of a restriction)",
        cases.len()
    );
}

/// What is beside a rule that is left out still counts.
#[test]
fn the_rest_of_a_file_counts() {
    let rules = |file: &str, place: Place| {
        let loaded = load(file, place).unwrap();
        let from_file = |tier: Tier| matches!(tier, Tier::Project | Tier::User);
        let allow = loaded.policy.allow.iter().filter(|rule| from_file(rule.source.tier));
        let deny = loaded.policy.deny.iter().filter(|rule| rule.text() == "Read(./.env)");
        (allow.map(|rule| rule.text().to_owned()).collect::<Vec<_>>(), deny.count())
    };
    let trusted = Place::Project("ws/.claude/settings.json", true);
    let untrusted = Place::Project("ws/.claude/settings.json", false);
    for place in [trusted, Place::User] {
        assert_eq!(rules("quote-left-open.json", place).0, ["Bash(make:*)"]);
        assert_eq!(rules("allow-holds-an-object.json", place).0, ["Bash(make:*)"]);
        assert_eq!(rules("allow-is-a-text.json", place), (vec![], 1));
        assert_eq!(rules("mcp-every-tool.json", place).0.len(), 3);
        assert_eq!(rules("comments.json", place), (vec!["Bash(make:*)".to_owned()], 1));
        assert_eq!(rules("trailing-commas.json", place), (vec!["Bash(make:*)".to_owned()], 1));
    }
    // Before trust only what restricts.
    assert_eq!(rules("comments.json", untrusted), (vec![], 1));
    assert_eq!(rules("allow-is-a-text.json", untrusted), (vec![], 1));
    let hooks = load("timeout-in-milliseconds.json", trusted).unwrap().hooks;
    assert_eq!(hooks[0].limit().as_secs(), 3600);
    let guards = load("guard-without-its-list.json", trusted).unwrap().hooks;
    assert!(guards.len() == 1 && guards[0].decides() && guards[0].matcher.text() == "Bash");
    assert!(load("guard-without-its-list.json", untrusted).unwrap().hooks.is_empty());
}
