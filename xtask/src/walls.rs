//! Which crate may know which. The table is the architecture; cargo's own answer is compared with it.

use crate::Report;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Crate, and the crates of ours it may depend on.
const MAY: &[(&str, &[&str])] = &[
    ("ostler-core", &[]),
    ("ostler-shell", &["ostler-core"]),
    ("ostler-exec", &["ostler-core"]),
    ("ostler-engine", &["ostler-core", "ostler-exec"]),
    ("ostler-models", &["ostler-core"]),
    ("ostler-skills", &["ostler-core"]),
    ("ostler-snapshots", &[]),
    (
        "ostler-tools",
        &["ostler-core", "ostler-shell", "ostler-exec", "ostler-skills", "ostler-snapshots"],
    ),
    ("ostler-store", &["ostler-core"]),
    ("ostler-config", &["ostler-core", "ostler-skills"]),
    ("ostler-hooks", &["ostler-core", "ostler-exec"]),
    ("ostler-instructions", &[]),
    ("ostler-database", &[]),
    ("ostler-ledger", &["ostler-core", "ostler-database"]),
    ("ostler-memory", &["ostler-core", "ostler-database"]),
    ("ostler-model-server", &["ostler-core"]),
    (
        "ostler",
        &[
            "ostler-core",
            "ostler-engine",
            "ostler-models",
            "ostler-tools",
            "ostler-store",
            "ostler-snapshots",
            "ostler-exec",
            "ostler-shell",
            "ostler-config",
            "ostler-hooks",
            "ostler-skills",
            "ostler-ledger",
            "ostler-memory",
            "ostler-instructions",
        ],
    ),
    ("ostler-sdk", &["ostler"]),
    ("ostler-cli", &["ostler", "ostler-sdk", "ostler-model-server"]),
    ("ostler-testkit", &["ostler-core", "ostler-engine"]),
    ("ostler-fuzz", &["ostler", "ostler-core", "ostler-shell", "ostler-config"]),
    ("xtask", &["ostler-core"]),
];

/// What the purest crate may use from outside.
const CORE_MAY: &[&str] =
    &["serde", "serde_json", "thiserror", "futures-core", "regex", "schemars"];

pub fn check(root: &Path, report: &mut Report) {
    let Some(packages) = packages(root, &["--no-deps"]) else {
        report.errors.push("cargo metadata gave no answer, so the walls cannot be checked".into());
        return;
    };
    for package in &packages {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some((_, allowed)) = MAY.iter().find(|(krate, _)| *krate == name) else {
            report
                .errors
                .push(format!("{name} has no line in the table of walls (xtask/src/walls.rs)"));
            continue;
        };
        for dependency in dependencies(package) {
            let ours = MAY.iter().any(|(krate, _)| *krate == dependency);
            if ours && !allowed.contains(&dependency) {
                report.errors.push(format!("{name} must not depend on {dependency}"));
            }
            if name == "ostler-core" && !CORE_MAY.contains(&dependency) {
                report.errors.push(format!("core must not depend on {dependency}: it is pure"));
            }
        }
        if package
            .get("features")
            .and_then(Value::as_object)
            .is_some_and(|features| !features.is_empty())
        {
            report.errors.push(format!("{name} has cargo features; we have none of our own"));
        }
    }
}

/// What cargo knows of the packages; without `--no-deps` of the foreign ones, too.
pub(crate) fn packages(root: &Path, extra: &[&str]) -> Option<Vec<Value>> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(extra)
        .current_dir(root)
        .output()
        .ok()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
    metadata.get("packages")?.as_array().cloned()
}

/// Ordinary dependencies only: tests may look over walls.
fn dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let all = package
        .get("dependencies")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    all.iter()
        .filter(|dependency| dependency.get("kind").is_none_or(Value::is_null))
        .filter_map(|dependency| dependency.get("name").and_then(Value::as_str))
}
