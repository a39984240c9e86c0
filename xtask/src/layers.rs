//! Which crate may know which: the layers are the directories of `crates/`, and cargo says what depends on what.

use crate::Report;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The directories of `crates/`, lowest first: a crate depends on lower layers only, plus the [`EDGES`].
const LAYERS: [&str; 5] = ["pure", "runtime", "product", "surfaces", "dev"];

/// What a crate may know of its own layer.
const EDGES: &[(&str, &[&str])] = &[
    ("ostler-core", &["ostler-policy"]),
    ("ostler-shell", &["ostler-policy"]),
    ("ostler-tools", &["ostler-exec", "ostler-skills", "ostler-snapshots"]),
    ("ostler-config", &["ostler-skills", "ostler-yaml"]),
    ("ostler-skills", &["ostler-yaml"]),
    ("ostler-instructions", &["ostler-yaml"]),
    ("ostler-model-server", &["ostler-yaml"]),
    ("ostler-hooks", &["ostler-exec"]),
    ("ostler-mcp", &["ostler-exec", "ostler-yaml"]),
    ("ostler-oauth", &["ostler-models"]),
    ("ostler-board", &["ostler-database"]),
    ("ostler-board-redis", &["ostler-board", "ostler-database"]),
    ("ostler-ledger", &["ostler-database"]),
    ("ostler-memory", &["ostler-database"]),
    ("ostler-worktrees", &["ostler-exec"]),
    ("ostler-profile", &["ostler"]),
    // The program wires the surfaces in.
    ("ostler-cli", &["ostler-mcp-server", "ostler-sdk"]),
    ("xtask", &["ostler-core"]),
];

/// What a pure crate may use from outside: no runtime, no I/O, no clock.
const PURE_MAY: &[&str] = &[
    "serde",
    "serde_json",
    "thiserror",
    "futures-core",
    "regex",
    "brush-parser",
    "schemars",
    "similar",
];

/// Who speaks to other machines, and with what. Everyone else uses these crates.
const NETWORK: &[(&str, &[&str])] = &[
    // Requests to models, and pages for the web tools and logins.
    ("ostler-models", &["reqwest", "rustls"]),
    // Webhooks have addresses that a person chose, and limits of their own.
    ("ostler-hooks", &["reqwest", "rustls"]),
    ("ostler-mcp", &["reqwest", "rmcp"]),
    ("ostler-board-redis", &["redis", "rustls"]),
    ("ostler-mcp-server", &["hyper", "hyper-util", "rmcp"]),
];

/// Libraries that open connections.
const NETWORK_LIBRARIES: &[&str] =
    &["axum", "hyper", "hyper-util", "redis", "reqwest", "rmcp", "rustls", "tokio-rustls", "ureq"];

pub fn check(root: &Path, report: &mut Report) {
    let Some(packages) = packages(root, &["--no-deps"]) else {
        report.errors.push("cargo metadata gave no answer, so the layers cannot be checked".into());
        return;
    };
    let crates: Vec<Crate> =
        packages.iter().filter_map(|package| Crate::of(package, root)).collect();
    report.errors.extend(violations(&crates));
}

struct Crate {
    name: String,
    /// Its directory below `crates/`; `xtask` is in none.
    layer: Option<String>,
    dependencies: Vec<String>,
    has_features: bool,
}

impl Crate {
    fn of(package: &Value, root: &Path) -> Option<Crate> {
        let manifest = Path::new(package.get("manifest_path")?.as_str()?);
        let below = manifest.strip_prefix(root.join("crates")).ok();
        let layer = below.and_then(|path| path.iter().next()?.to_str());
        let features = package.get("features").and_then(Value::as_object);
        Some(Crate {
            name: package.get("name")?.as_str()?.to_owned(),
            layer: layer.map(str::to_owned),
            dependencies: dependencies(package).map(str::to_owned).collect(),
            has_features: features.is_some_and(|features| !features.is_empty()),
        })
    }

    fn height(&self) -> Option<usize> {
        LAYERS.iter().position(|layer| Some(*layer) == self.layer.as_deref())
    }
}

fn violations(crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for krate in crates {
        let (name, height) = (&krate.name, krate.height());
        if height.is_none() && name != "xtask" {
            found.push(format!(
                "{name} is in no layer: move it to one of crates/{{{}}}",
                LAYERS.join(",")
            ));
        }
        let edges = EDGES.iter().find(|(from, _)| from == name).map_or(&[][..], |(_, to)| to);
        for dependency in &krate.dependencies {
            let ours = crates.iter().find(|other| other.name == *dependency);
            let is_lower = |other: &Crate| other.height() < height;
            let is_wrong =
                ours.is_some_and(|other| !is_lower(other) && !edges.contains(&dependency.as_str()));
            if is_wrong {
                found.push(format!(
                    "{name} must not depend on {dependency}: it is in the same layer or above"
                ));
            }
            let listed =
                NETWORK.iter().find(|(who, _)| who == name).map_or(&[][..], |(_, with)| with);
            let connects = NETWORK_LIBRARIES.contains(&dependency.as_str());
            if connects && !listed.contains(&dependency.as_str()) {
                found.push(format!(
                    "{name} must not depend on {dependency}: other crates own the network"
                ));
            }
            let is_pure = krate.layer.as_deref() == Some("pure");
            if is_pure && ours.is_none() && !PURE_MAY.contains(&dependency.as_str()) {
                found.push(format!("{name} must not depend on {dependency}: its layer is pure"));
            }
        }
        if krate.has_features {
            found.push(format!("{name} has cargo features; we have none of our own"));
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(name: &str, layer: &str, dependencies: &[&str]) -> Crate {
        let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
        Crate { name: name.into(), layer: Some(layer.into()), dependencies, has_features: false }
    }

    #[test]
    fn a_crate_knows_lower_layers_and_the_named_edges() {
        for (name, layer, dependency, expected) in [
            ("ostler-engine", "runtime", "ostler-core", 0),
            ("ostler-core", "pure", "ostler-policy", 0),
            ("ostler-policy", "pure", "ostler-core", 1),
            ("ostler-engine", "runtime", "ostler-tools", 1),
            ("ostler-tools", "runtime", "ostler-exec", 0),
            ("ostler-exec", "runtime", "ostler-tools", 1),
            ("ostler-tools", "runtime", "ostler", 1),
            ("ostler-core", "pure", "tokio", 1),
            ("ostler-engine", "runtime", "tokio", 0),
            ("ostler-new", "elsewhere", "tokio", 1),
            ("ostler-engine", "runtime", "reqwest", 1),
            ("ostler-models", "runtime", "reqwest", 0),
            ("ostler-models", "runtime", "redis", 1),
        ] {
            let mut crates = vec![
                krate("ostler-core", "pure", &[]),
                krate("ostler-policy", "pure", &[]),
                krate("ostler-exec", "runtime", &[]),
                krate("ostler-tools", "runtime", &[]),
                krate("ostler", "product", &[]),
            ];
            crates.retain(|krate| krate.name != name);
            crates.push(krate(name, layer, &[dependency]));
            assert_eq!(violations(&crates).len(), expected, "{name} -> {dependency}");
        }
    }
}
