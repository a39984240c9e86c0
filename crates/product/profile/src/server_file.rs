//! The files in which MCP servers are kept, changed without touching anything else in them.

use crate::{Profile, ProfileError};
use serde_json::{Map, Value};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The servers of one scope.
pub struct ServerFile {
    path: PathBuf,
    /// The keys that lead to the servers.
    keys: Vec<String>,
    /// Nobody else reads it: values may be secrets.
    mode: u32,
}

impl Profile {
    /// For this person, in all projects.
    pub fn user_servers(&self) -> ServerFile {
        let keys = vec!["mcpServers".to_owned()];
        ServerFile { path: self.mcp_file(), keys, mode: 0o600 }
    }

    /// For this person, in this project.
    pub fn local_servers(&self) -> ServerFile {
        let project = self.places.project.to_string_lossy().into_owned();
        let keys = vec!["projects".to_owned(), project, "mcpServers".to_owned()];
        ServerFile { path: self.mcp_file(), keys, mode: 0o600 }
    }

    /// For everybody who works in this project.
    pub fn project_servers(&self) -> ServerFile {
        let keys = vec!["mcpServers".to_owned()];
        ServerFile { path: self.places.project.join(".mcp.json"), keys, mode: 0o644 }
    }
}

impl ServerFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// # Errors
    /// If the file is there and is not a JSON object.
    pub fn get(&self, name: &str) -> Result<Option<Value>, ProfileError> {
        let root = self.read()?;
        let mut place = Some(&root);
        for key in &self.keys {
            place = place.and_then(|place| place.get(key)).and_then(Value::as_object);
        }
        Ok(place.and_then(|servers| servers.get(name)).cloned())
    }

    /// Sets a server, or removes it.
    ///
    /// # Errors
    /// If the file cannot be read or written; then it stays as it was.
    pub fn set(&self, name: &str, server: Option<Value>) -> Result<(), ProfileError> {
        let mut root = self.read()?;
        let mut place = &mut root;
        for key in &self.keys {
            let inner = place.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new()));
            let wrong = format!("\"{key}\" is not an object");
            place = inner.as_object_mut().ok_or_else(|| self.fault(&wrong))?;
        }
        match server {
            Some(server) => drop(place.insert(name.to_owned(), server)),
            None => drop(place.shift_remove(name)),
        }
        self.write(&root).map_err(|error| self.fault(&format!("it cannot be written: {error}")))
    }

    fn read(&self) -> Result<Map<String, Value>, ProfileError> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(self.fault(&format!("it cannot be read: {error}"))),
        };
        serde_json::from_str(&text)
            .map_err(|error| self.fault(&format!("it is not a plain JSON object: {error}")))
    }

    fn write(&self, root: &Map<String, Value>) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(root)? + "\n";
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder)?;
        let new = folder.join(format!(".mcp.{}.new", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(self.mode).open(&new);
        let written = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }

    fn fault(&self, what: &str) -> ProfileError {
        ProfileError::Config(format!("{}: {what}", self.path.display()))
    }
}
