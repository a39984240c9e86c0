//! Logins on disk: one private file per server, replaced as a whole, and a lock beside it for whoever changes it.

use crate::error::OAuthError;
use crate::metadata::canonical;
use crate::registration::Client;
use crate::scopes::Scopes;
use crate::token::Tokens;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::Url;

const VERSION: u32 = 1;
const LONGEST_FILE: u64 = 256 << 10;
/// How often a lock that somebody else holds is tried again.
const RETRY: Duration = Duration::from_millis(20);

/// One login: whose tokens these are, where they may be sent, and which client they were issued to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginRecord {
    version: u32,
    /// The server that the tokens are for, and the only one they are sent to.
    pub server: String,
    pub resource: String,
    pub issuer: String,
    pub token_endpoint: String,
    pub client: Client,
    /// None: the login ended; the client can still be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What the login asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Scopes>,
    /// What the server has asked for since; the next login asks for it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Scopes>,
}

impl LoginRecord {
    pub fn new(
        server: &Url,
        resource: String,
        token_endpoint: &Url,
        client: Client,
    ) -> LoginRecord {
        LoginRecord {
            version: VERSION,
            server: canonical(server),
            resource,
            issuer: client.issuer.clone(),
            token_endpoint: token_endpoint.to_string(),
            client,
            tokens: None,
            requested: None,
            wanted: None,
        }
    }
}

/// The directory with all logins.
#[derive(Clone, Debug)]
pub struct LoginStore {
    folder: PathBuf,
}

/// While it exists, nobody else changes the login.
#[derive(Debug)]
pub struct LoginLock {
    _file: File,
    path: PathBuf,
}

impl LoginStore {
    pub fn new(folder: PathBuf) -> LoginStore {
        LoginStore { folder }
    }

    /// # Errors
    /// If the file is not private, cannot be read, or is about another server.
    pub fn read(&self, server: &Url) -> Result<Option<LoginRecord>, OAuthError> {
        let path = self.path(server);
        let failed = |why: String| OAuthError::Store { path: path.clone(), why };
        let Some(text) = read_private(&path).map_err(&failed)? else { return Ok(None) };
        let unreadable = || failed("it is damaged; delete it and log in again".to_owned());
        let record: LoginRecord = serde_json::from_str(&text).map_err(|_| unreadable())?;
        if record.version != VERSION {
            return Err(failed("another version of Ostler wrote it; update Ostler".to_owned()));
        }
        let is_bound = record.server == canonical(server)
            && record.client.issuer == record.issuer
            && crate::metadata::covers(&record.resource, server);
        if !is_bound {
            return Err(unreadable());
        }
        Ok(Some(record))
    }

    /// Waits for others who change this login.
    ///
    /// # Errors
    /// If they take longer than `patience`, or the directory cannot be written.
    pub async fn lock(&self, server: &Url, patience: Duration) -> Result<LoginLock, OAuthError> {
        let path = self.path(server);
        let failed = |why: String| OAuthError::Store { path: path.clone(), why };
        let file = self.lock_file(&path).map_err(|error| failed(error.to_string()))?;
        let trying = async {
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => tokio::time::sleep(RETRY).await,
                    Err(TryLockError::Error(error)) => return Err(error.to_string()),
                }
            }
        };
        let taken = tokio::time::timeout(patience, trying).await;
        taken
            .unwrap_or_else(|_| Err("another process has locked it".to_owned()))
            .map_err(&failed)?;
        Ok(LoginLock { _file: file, path })
    }

    fn lock_file(&self, path: &Path) -> std::io::Result<File> {
        DirBuilder::new().mode(0o700).recursive(true).create(&self.folder)?;
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600).custom_flags(no_follow());
        options.open(path.with_extension("lock"))
    }

    fn path(&self, server: &Url) -> PathBuf {
        let digest = Sha256::digest(canonical(server).as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name + ".json")
    }
}

impl LoginLock {
    /// Replaces the login; the old one stays until the new one is on disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, record: &LoginRecord) -> Result<(), OAuthError> {
        let text = serde_json::to_string_pretty(record).map_err(|error| self.failed(&error))?;
        self.replace(text.as_bytes()).map_err(|error| self.failed(&error))
    }

    /// # Errors
    /// If it is there and cannot be removed.
    pub fn remove(&self) -> Result<(), OAuthError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    fn replace(&self, bytes: &[u8]) -> std::io::Result<()> {
        let made = self.path.with_extension("new");
        // We hold the lock, so an existing one is a leftover.
        match fs::remove_file(&made) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&made, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&made);
            return written;
        }
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> OAuthError {
        OAuthError::Store { path: self.path.clone(), why: error.to_string() }
    }
}

fn no_follow() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

/// Only a file of ours that nobody else can read.
fn read_private(path: &Path) -> Result<Option<String>, String> {
    let open = OpenOptions::new().read(true).custom_flags(no_follow()).open(path);
    let file = match open {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let meta = file.metadata().map_err(|error| error.to_string())?;
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_file() || !is_ours || meta.permissions().mode() & 0o077 != 0 {
        return Err("it is not private; fix its permissions (0600) or delete it".to_owned());
    }
    let mut text = String::new();
    let read = file.take(LONGEST_FILE).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    Ok(Some(text))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
