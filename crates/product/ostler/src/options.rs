//! Everything a caller decides, for programs that open one session and no more.

use crate::host_options::HostOptions;
use crate::session_options::SessionOptions;
use ostler_models::{CredentialKind, Credentials, Secret};
use std::path::PathBuf;

#[derive(Clone)]
pub struct Options {
    pub host: HostOptions,
    pub session: SessionOptions,
}

impl Options {
    pub fn new(cwd: impl Into<PathBuf>, credentials: Credentials) -> Self {
        Options { host: HostOptions::new(credentials), session: SessionOptions::new(cwd) }
    }
}

/// A key for the provider's own header; `label` says where it came from and is shown when it is refused.
pub fn api_key(label: &str, key: impl AsRef<str>) -> Credentials {
    Credentials { kind: CredentialKind::ApiKey, label: label.into(), secret: Secret::new(key) }
}

/// A token for `authorization: Bearer`.
pub fn bearer(label: &str, token: impl AsRef<str>) -> Credentials {
    Credentials { kind: CredentialKind::Bearer, label: label.into(), secret: Secret::new(token) }
}
