//! Every text the model reads is a file under `prompts/`, short, and used.

use crate::Report;
use crate::files::Source;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of one text; the model reads it in every session.
const CAP: u64 = 4_000;

pub fn check(root: &Path, sources: &[Source], report: &mut Report) {
    let mut found = Vec::new();
    collect(&root.join("prompts"), &mut found);
    for path in found {
        let name = path.strip_prefix(root.join("prompts")).unwrap_or(&path).display().to_string();
        let size = fs::metadata(&path).map(|data| data.len()).unwrap_or(0);
        if size > CAP {
            report.errors.push(format!("prompts/{name}: {size} bytes, at most {CAP}"));
        }
        if size == 0 {
            report.errors.push(format!("prompts/{name} is empty"));
        }
        if !sources.iter().any(|source| source.text.contains(&name)) {
            report.errors.push(format!("prompts/{name} is used by no source file"));
        }
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, found) } else { found.push(path) }
    }
}
