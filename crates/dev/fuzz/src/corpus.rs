//! Where texts come from and go to.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The committed texts, in a fixed order: one file of this target a text, and what the test corpora hold.
pub fn seeds(target: &str) -> Result<Vec<String>, String> {
    let folder = root().join("corpus").join(target);
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .map_err(wrong)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let mut texts: Vec<String> = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(wrong)?;
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    texts.push(String::new());
    Ok(texts)
}

pub fn keep(target: &str, text: &str) -> Result<String, String> {
    write(&root().join("corpus").join(target), text)
}

pub fn finding(target: &str, text: &str) -> Result<String, String> {
    write(&root().join("findings").join(target), text)
}

fn write(folder: &Path, text: &str) -> Result<String, String> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(folder).map_err(wrong)?;
    fs::write(&path, text).map_err(wrong)?;
    Ok(path.display().to_string())
}

/// Every shell line of the test corpora, and what is kept for fuzzing.
pub fn commands() -> Result<Vec<String>, String> {
    let folder = root().join("../../../fixtures/corpus");
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).map_err(wrong)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let mut texts = seeds("effects")?;
    texts.extend(seeds("shell")?);
    for file in files {
        for line in fs::read_to_string(&file).map_err(wrong)?.lines() {
            let case: serde_json::Value = serde_json::from_str(line)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            let command = case.pointer("/input/command").and_then(serde_json::Value::as_str);
            texts.extend(command.map(str::to_owned));
        }
    }
    texts.retain(|text| !text.trim().is_empty() && text.len() < 2000);
    Ok(texts)
}
