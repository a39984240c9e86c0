//! Plugins that a person installs: fetched, looked at, accepted, removed.

use crate::error::Error;
use crate::init::Init;
use ostler_config::{
    InstalledPlugin, Plugin, PluginSource, SettingsPlaces, forget_plugin, installed_plugins,
    keep_plugin, read_plugin,
};
use ostler_exec::Executor;
use ostler_worktrees::{CloneLimits, Git, GitLimits, GitSource, clone_files};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where plugins are cloned to, below our home.
const FOLDER: &str = "plugins";
const LIMITS: CloneLimits = CloneLimits { files: 5_000, bytes: 64 << 20 };
/// A fetch may take so long.
const FETCH: Duration = Duration::from_secs(300);

/// A plugin that can be installed, and is not yet.
pub struct FoundPlugin {
    pub plugin: Plugin,
    pub source: PluginSource,
    /// Where its files are until it is installed; removed if it is not.
    clone: Option<tempfile::TempDir>,
}

/// Looks at a plugin in a directory, or fetches the repository that it is in. Nothing of it is in effect.
///
/// # Errors
/// If there is none, it is too large, or the repository cannot be fetched safely.
pub async fn find_plugin(
    init: &Init,
    places: &SettingsPlaces,
    environment: Vec<(OsString, OsString)>,
    source: &str,
) -> Result<FoundPlugin, Error> {
    let refused = |why: String| Error::Plugin(why);
    let folder = places.cwd.join(source);
    if folder.is_dir() && !is_repository(&folder) {
        let plugin = read_plugin(&folder, &places.tools).map_err(|it| refused(it.to_string()))?;
        return Ok(FoundPlugin { plugin, source: PluginSource::Path, clone: None });
    }
    let from = match folder.is_dir() {
        true => folder.to_string_lossy().into_owned(),
        false => source.to_owned(),
    };
    let from = GitSource::parse(&from).map_err(refused)?;
    let home = plugins_folder(&places.ostler_home)?;
    let work = tempfile::Builder::new().prefix(".clone-").tempdir_in(&home);
    let work =
        work.map_err(|error| refused(format!("cannot write {}: {error}", home.display())))?;
    let limits = GitLimits { files: FETCH, ..GitLimits::default() };
    let git = Git::find(Executor::new(init.supervisor.clone()), environment, limits)?;
    let (files, commit) = clone_files(&git, &from, work.path(), LIMITS).await?;
    let plugin = read_plugin(&files, &places.tools).map_err(|it| refused(it.to_string()))?;
    let source = PluginSource::Git { url: from.url().to_owned(), commit };
    Ok(FoundPlugin { plugin, source, clone: Some(work) })
}

/// A bare repository has no files of its own.
fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

/// Installs what was shown: exactly this content is accepted.
///
/// # Errors
/// If another plugin has its name, or it cannot be stored.
pub fn install_plugin(
    places: &SettingsPlaces,
    found: FoundPlugin,
) -> Result<InstalledPlugin, Error> {
    let FoundPlugin { plugin, source, clone } = found;
    let refused = |error: &dyn std::fmt::Display| Error::Plugin(error.to_string());
    let known = installed_plugins(places).map_err(|error| refused(&error))?;
    if let Some(known) = known.iter().find(|known| known.name == plugin.name) {
        let same = match (&known.source, &source) {
            (PluginSource::Path, PluginSource::Path) => known.path == plugin.root,
            (PluginSource::Git { url: a, .. }, PluginSource::Git { url: b, .. }) => a == b,
            _ => false,
        };
        if !same {
            let name = &plugin.name;
            return Err(Error::Plugin(format!(
                "a plugin {name} from {} is installed already. Remove it first: ostler plugin remove {name}",
                known.path.display()
            )));
        }
    }
    let path = match &clone {
        None => plugin.root.clone(),
        Some(_) => {
            let place = plugins_folder(&places.ostler_home)?.join(&plugin.name);
            replace(&plugin.root, &place)?;
            place
        }
    };
    let installed = InstalledPlugin {
        name: plugin.name.clone(),
        source,
        path,
        sha256: plugin.sha256.clone(),
        enabled: true,
    };
    keep_plugin(places, &installed).map_err(|error| refused(&error))?;
    Ok(installed)
}

/// Forgets a plugin, and deletes its files if Ostler fetched them.
///
/// # Errors
/// If that fails.
pub fn remove_plugin(places: &SettingsPlaces, installed: &InstalledPlugin) -> Result<(), Error> {
    forget_plugin(places, &installed.name).map_err(|error| Error::Plugin(error.to_string()))?;
    let place = places.ostler_home.join(FOLDER).join(&installed.name);
    if matches!(installed.source, PluginSource::Git { .. }) && installed.path == place {
        remove_folder(&place)?;
    }
    Ok(())
}

fn plugins_folder(home: &Path) -> Result<PathBuf, Error> {
    let folder = home.join(FOLDER);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    let is_ours = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    match made {
        Ok(()) if is_ours => Ok(folder),
        Ok(()) => Err(Error::Plugin(format!("{} is not a directory; remove it", folder.display()))),
        Err(error) => Err(Error::Plugin(format!("cannot create {}: {error}", folder.display()))),
    }
}

fn replace(from: &Path, to: &Path) -> Result<(), Error> {
    remove_folder(to)?;
    fs::rename(from, to)
        .map_err(|error| Error::Plugin(format!("cannot write {}: {error}", to.display())))
}

fn remove_folder(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Plugin(format!("cannot remove {}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}
