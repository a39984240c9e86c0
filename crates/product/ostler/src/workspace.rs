//! Where an agent works and what it may read there.

use crate::error::Error;
use crate::host::Host;
use crate::kit;
use crate::session_options::SessionOptions;
use crate::skills;
use crate::undo;
use ostler_core::ids::SessionId;
use ostler_core::permission::{Policy, Workspace};
use ostler_skills::Skills;
use ostler_store::{job_folder, spill_folder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn workspace(host: &Host, options: &SessionOptions) -> Result<Workspace, Error> {
    let cwd = real(&options.cwd)?;
    let mut roots = vec![cwd.clone()];
    for folder in &options.add_dirs {
        roots.push(real(&cwd.join(folder))?);
    }
    let (home, tools) = (host.options().user_home.clone(), kit::known_tools(options));
    let isolated = options.tree.is_some();
    Ok(Workspace { cwd, roots, home, isolated, tools, ..Workspace::default() })
}

fn real(path: &Path) -> Result<PathBuf, Error> {
    let wrong = |why: String| Error::Workspace { path: path.to_owned(), why };
    let real = std::fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(wrong("it is not a directory".into())) }
}

/// The workspace, and the rules that apply in it.
///
/// # Errors
/// If a directory cannot be worked in, or a rule cannot be used.
pub(crate) fn workspace_and_rules(
    host: &Host,
    options: &SessionOptions,
) -> Result<(Workspace, Arc<Policy>), Error> {
    let workspace = workspace(host, options)?;
    let policy = Arc::new(kit::policy(options, &workspace)?);
    Ok((workspace, policy))
}

/// One directory that is added later. What settings and flags name at the start is taken as it was always taken: where it
/// weakens the sandbox, the sandbox says so.
pub(crate) fn added_root(
    host: &Host,
    path: &Path,
    workspace: &Workspace,
    policy: &Policy,
) -> Result<PathBuf, Error> {
    let root = real(&workspace.cwd.join(path))?;
    if workspace.isolated {
        let why = "the session works in a worktree of its own and nowhere else".into();
        return Err(Error::Workspace { path: root, why });
    }
    check_added(host, &root, policy)?;
    Ok(root)
}

fn check_added(host: &Host, root: &Path, policy: &Policy) -> Result<(), Error> {
    let ours = host.home().and_then(|home| home.canonicalize().ok());
    let why = match () {
        () if root.parent().is_none() => {
            "the whole disk cannot be added; name the directories that are needed"
        }
        () if ours.is_some_and(|ours| root.starts_with(ours)) => "Ostler keeps its own files there",
        () if undo::is_denied(policy, root) => "a deny rule covers it",
        () => return Ok(()),
    };
    Err(Error::Workspace { path: root.to_owned(), why: why.into() })
}

/// What belongs to skills, what this session spilled and what its jobs wrote may be read; what else is in our home is ours.
pub(crate) fn at_home(
    host: &Host,
    options: &SessionOptions,
    policy: &Policy,
    session: &SessionId,
    workspace: &mut Workspace,
) -> Result<Arc<Skills>, Error> {
    let ours = host.home().map(real).transpose()?;
    let skills = skills::open(&options.skills, policy, ours.as_deref(), session, workspace);
    if let Some(home) = ours {
        // Blobs hold what other sessions saw in other projects: only what this one spilled may be read.
        workspace.readable.extend(spill_folder(&home, session));
        workspace.readable.extend(job_folder(&home, session));
        workspace.ours.push(home);
    }
    Ok(skills)
}
