//! Everything we link is permissively licensed.

use crate::{Report, layers};
use serde_json::Value;
use std::path::Path;

const PERMISSIVE: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
];

pub fn check(root: &Path, report: &mut Report) {
    let Some(packages) = layers::packages(root, &[]) else {
        report
            .errors
            .push("cargo metadata gave no answer, so the licences cannot be checked".into());
        return;
    };
    for package in &packages {
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
        if !is_permissive(text("license")) {
            report.errors.push(format!("{} is licensed as \"{}\"", text("name"), text("license")));
        }
    }
}

/// Some alternative of the expression consists of permissive licences only.
fn is_permissive(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain
        .split(" OR ")
        .any(|choice| choice.split(" AND ").all(|licence| PERMISSIVE.contains(&licence.trim())))
}

#[cfg(test)]
mod tests {
    use super::is_permissive;

    #[test]
    fn expressions() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT/Apache-2.0",
        ] {
            assert!(is_permissive(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "LGPL-2.1 OR GPL-3.0"] {
            assert!(!is_permissive(bad), "{bad}");
        }
    }
}
