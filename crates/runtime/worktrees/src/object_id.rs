//! The name of a commit or a tree.

use crate::error::WorktreeError;
use crate::git::Git;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Hexadecimal digits, 40 or 64 of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(String);

impl ObjectId {
    pub fn parse(text: &str) -> Option<ObjectId> {
        let text = text.trim();
        let is_id =
            matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| ObjectId(text.to_ascii_lowercase()))
    }

    /// The commit that a name stands for; none if there is no such commit.
    pub(crate) async fn resolve(
        git: &Git,
        top: &Path,
        name: &str,
    ) -> Result<Option<ObjectId>, WorktreeError> {
        let call = git.at(top, "look up a commit");
        let call = call.args(["rev-parse", "--verify", "-q", "--end-of-options"]);
        let output = call.arg(format!("{name}^{{commit}}")).run().await?;
        Ok(ObjectId::parse(&String::from_utf8_lossy(&output.stdout)).filter(|_| output.code == 0))
    }

    /// Reads what a call of git printed.
    pub(crate) fn printed(text: &str, doing: &'static str) -> Result<ObjectId, WorktreeError> {
        let wrong = || WorktreeError::Git { doing, why: "git printed no object id".to_owned() };
        ObjectId::parse(text).ok_or_else(wrong)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
