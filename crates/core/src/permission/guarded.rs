//! Names that need an explicit yes.
use super::access::Workspace;
use std::path::Path;
pub fn protected(path: &Path, _workspace: &Workspace) -> Option<&'static str> {
    path.iter().any(|name| name.eq_ignore_ascii_case(".git")).then_some("which git obeys")
}
pub fn sensitive(path: &Path, workspace: &Workspace) -> Option<&'static str> {
    path.starts_with(workspace.home.join(".ssh")).then_some("which holds keys")
}
