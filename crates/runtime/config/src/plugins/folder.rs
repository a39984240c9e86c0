//! The whole content of a plugin's directory: read once, within limits, and hashed.

use super::contents::{self, Plugin};
use crate::ConfigError;
use crate::error::is_plain;
use crate::files::read_regular;
use crate::places::hex_sha256;
use ostler_core::tool_facts::KnownTools;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files and directories, bytes of one file and of all of them, and how deep directories can be nested.
const MOST_ENTRIES: usize = 5_000;
const MOST_OF_ONE: u64 = 16 << 20;
const MOST_BYTES: u64 = 64 << 20;
const DEEPEST: usize = 16;
/// Bytes of a file that is looked into.
const KEPT: usize = 1 << 20;

/// What was read.
pub(super) struct PluginFolder {
    pub root: PathBuf,
    /// The contents of JSON and Markdown files, by their path below the root.
    pub texts: BTreeMap<String, Vec<u8>>,
    pub files: u64,
    pub bytes: u64,
    pub sha256: String,
}

/// Reads a plugin with everything in it.
///
/// # Errors
/// If it is none, is too large, or a link leads out of it.
pub fn read_plugin(folder: &Path, tools: &KnownTools) -> Result<Plugin, ConfigError> {
    contents::read(PluginFolder::read(folder)?, tools)
}

impl PluginFolder {
    fn read(folder: &Path) -> Result<Self, ConfigError> {
        let root = fs::canonicalize(folder)
            .map_err(|error| ConfigError::new(folder, None, format!("cannot find it ({error})")))?;
        if !root.is_dir() {
            return Err(ConfigError::new(&root, None, "a plugin is a directory"));
        }
        let mut walk = Walk {
            root: &root,
            entries: 0,
            hashes: BTreeMap::new(),
            texts: BTreeMap::new(),
            files: 0,
            bytes: 0,
        };
        walk.folder(&root, 0)?;
        let Walk { hashes, texts, files, bytes, .. } = walk;
        let mut all = Vec::new();
        for (name, hash) in &hashes {
            for part in [name, hash] {
                all.extend_from_slice(&(part.len() as u64).to_le_bytes());
                all.extend_from_slice(part.as_bytes());
            }
        }
        let sha256 = hex_sha256(&all);
        Ok(PluginFolder { root, texts, files, bytes, sha256 })
    }
}

struct Walk<'a> {
    root: &'a Path,
    entries: usize,
    /// What each entry is, by its path.
    hashes: BTreeMap<String, String>,
    texts: BTreeMap<String, Vec<u8>>,
    files: u64,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), ConfigError> {
        let unread = |error: std::io::Error| {
            ConfigError::new(folder, None, format!("cannot read it ({error})"))
        };
        if depth > DEEPEST {
            return Err(ConfigError::new(folder, None, "directories are nested too deep"));
        }
        for entry in fs::read_dir(folder).map_err(unread)? {
            let path = entry.map_err(unread)?.path();
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                let what =
                    format!("a plugin can have at most {MOST_ENTRIES} files and directories");
                return Err(ConfigError::new(self.root, None, what));
            }
            // Its history is not a part of a plugin.
            let is_history = path == self.root.join(".git")
                && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            if is_history {
                continue;
            }
            self.entry(&path, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, depth: usize) -> Result<(), ConfigError> {
        let name = path.strip_prefix(self.root).ok().and_then(Path::to_str);
        let Some(name) = name.filter(|name| is_plain(name)).map(str::to_owned) else {
            let what = "the name of a file in a plugin must be text without invisible characters";
            return Err(ConfigError::new(path, None, what));
        };
        let found = fs::symlink_metadata(path)
            .map_err(|error| ConfigError::new(path, None, format!("cannot read it ({error})")))?;
        if found.is_dir() {
            self.hashes.insert(name, "directory".into());
            return self.folder(path, depth + 1);
        }
        if found.is_symlink() {
            return self.link(path, name);
        }
        let bytes = read_regular(path, path, MOST_OF_ONE)?
            .ok_or_else(|| ConfigError::new(path, None, "it was removed while Ostler read it"))?;
        self.files += 1;
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES {
            let what = format!("a plugin can have at most {MOST_BYTES} bytes");
            return Err(ConfigError::new(self.root, None, what));
        }
        let kind = if found.permissions().mode() & 0o111 == 0 { "file" } else { "program" };
        self.hashes.insert(name.clone(), format!("{kind} {}", hex_sha256(&bytes)));
        if bytes.len() <= KEPT && (name.ends_with(".md") || name.ends_with(".json")) {
            self.texts.insert(name, bytes);
        }
        Ok(())
    }

    /// A link is followed by whoever reads the plugin, so it must stay in it, and in what is hashed.
    fn link(&mut self, path: &Path, name: String) -> Result<(), ConfigError> {
        let target = fs::read_link(path)
            .map_err(|error| ConfigError::new(path, None, format!("cannot read it ({error})")))?;
        let real = fs::canonicalize(path).ok().filter(|real| real.starts_with(self.root));
        let Some(real) = real else {
            return Err(ConfigError::new(path, None, "a link leads out of the plugin, or nowhere"));
        };
        if real.starts_with(self.root.join(".git")) {
            let what = "a link leads into .git, whose content is not a part of the plugin";
            return Err(ConfigError::new(path, None, what));
        }
        self.hashes.insert(name, format!("link {}", target.display()));
        Ok(())
    }
}
