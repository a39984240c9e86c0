//! Where an agent works and what it may read there.

use crate::error::Error;
use crate::host::Host;
use crate::kit;
use crate::session_options::SessionOptions;
use crate::skills;
use ostler_core::ids::SessionId;
use ostler_core::permission::{Policy, Workspace};
use ostler_skills::Skills;
use ostler_store::{job_folder, spill_folder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn workspace(host: &Host, options: &SessionOptions) -> Result<Workspace, Error> {
    let cwd = real(&options.cwd)?;
    let mut roots = vec![cwd.clone()];
    for folder in &options.add_dirs {
        roots.push(real(&cwd.join(folder))?);
    }
    let (home, tools) = (host.options().user_home.clone(), kit::known_tools(options));
    Ok(Workspace { cwd, roots, home, tools, ..Workspace::default() })
}

fn real(path: &Path) -> Result<PathBuf, Error> {
    let wrong = |why: String| Error::Workspace { path: path.to_owned(), why };
    let real = std::fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(wrong("not a folder".into())) }
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
