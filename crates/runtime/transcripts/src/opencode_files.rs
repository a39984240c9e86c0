//! The files in which earlier versions of opencode keep sessions.

use crate::error::TranscriptError;
use crate::json_lines;
use crate::opencode::{StoredMessage, StoredMessages, StoredSession, is_id, millis};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Sessions, messages and parts that are looked at.
const SESSIONS: usize = 5_000;
const FILES: usize = 50_000;
/// One file.
const MAX_FILE: u64 = 32 << 20;

pub(crate) struct StoredFiles {
    storage: PathBuf,
}

impl StoredFiles {
    pub fn new(data: &Path) -> Self {
        StoredFiles { storage: data.join("storage") }
    }

    pub fn sessions(&self) -> Vec<(StoredSession, PathBuf)> {
        let projects = ids_in(&self.storage.join("session"), "");
        let folders = projects.into_iter().map(|name| self.storage.join("session").join(name));
        let files = folders.flat_map(|folder| {
            ids_in(&folder, ".json").into_iter().map(move |id| folder.join(format!("{id}.json")))
        });
        files.take(SESSIONS).filter_map(|path| Some((self.session(&path)?, path))).collect()
    }

    fn session(&self, path: &Path) -> Option<StoredSession> {
        let session = read(path).ok()?;
        let text = |key: &str| session.get(key).and_then(Value::as_str);
        let time = |key: &str| millis(session.get("time").and_then(|time| time.get(key)));
        let id = text("id").filter(|id| is_id(id))?.to_owned();
        Some(StoredSession {
            messages: ids_in(&self.storage.join("message").join(&id), ".json").len() as u64,
            title: text("title").unwrap_or_default().to_owned(),
            directory: PathBuf::from(text("directory").unwrap_or_default()),
            is_child: text("parentID").is_some(),
            created: time("created"),
            updated: time("updated"),
            id,
        })
    }

    /// Their names grow with time.
    pub fn messages(&self, session: &str) -> Result<StoredMessages, TranscriptError> {
        let mut stored = StoredMessages::default();
        let mut files = 0;
        let folder = self.storage.join("message").join(session);
        for id in ids_in(&folder, ".json") {
            let Ok(info) = read(&folder.join(format!("{id}.json"))) else {
                stored.broken += 1;
                continue;
            };
            let part_folder = self.storage.join("part").join(&id);
            let names = ids_in(&part_folder, ".json");
            files += names.len();
            if files > FILES {
                let why = format!("its session has more than {FILES} parts");
                return Err(TranscriptError::io("import", &folder, why));
            }
            let mut parts = Vec::new();
            for name in names {
                match read(&part_folder.join(format!("{name}.json"))) {
                    Ok(part) => parts.push(part),
                    Err(_) => stored.broken += 1,
                }
            }
            stored.messages.push(StoredMessage { info, parts });
        }
        Ok(stored)
    }
}

fn read(path: &Path) -> Result<Value, TranscriptError> {
    let file = json_lines::open(path)?;
    let mut text = Vec::new();
    let failed = |error: &dyn std::fmt::Display| TranscriptError::io("read", path, error);
    file.take(MAX_FILE).read_to_end(&mut text).map_err(|error| failed(&error))?;
    serde_json::from_slice(&text).map_err(|error| failed(&error))
}

/// The plain names in a directory, without their ending, in order.
fn ids_in(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = names
        .filter_map(|name| name.strip_suffix(ending).filter(|id| is_id(id)).map(str::to_owned))
        .take(FILES)
        .collect();
    ids.sort();
    ids
}
