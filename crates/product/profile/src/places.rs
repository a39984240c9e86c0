//! Where the files of this run are: the person's, the project's and the administrator's.

use crate::{Environment, Flags, ProfileError};
use ostler::config::{SettingsPlaces, Sources};
use std::path::{Path, PathBuf};

/// Where the administrator's files are.
const MANAGED: &str = "/etc/ostler";

/// # Errors
/// If the working directory, the home directory or a flag cannot be used.
pub fn find(environment: &Environment, flags: &Flags) -> Result<SettingsPlaces, ProfileError> {
    let cwd = match &flags.cwd {
        Some(cwd) => cwd.canonicalize(),
        None => std::env::current_dir().and_then(|cwd| cwd.canonicalize()),
    };
    let cwd = cwd.map_err(|error| {
        ProfileError::Config(format!(
            "cannot use the current directory: {error}. Change to another one"
        ))
    })?;
    let user_home = environment.user_home().unwrap_or_default();
    let sources = match &flags.setting_sources {
        Some(names) => Sources::parse(names)
            .map_err(|why| ProfileError::Usage(format!("--setting-sources: {why}")))?,
        None => Sources::default(),
    };
    Ok(SettingsPlaces {
        ostler_home: environment.home()?,
        claude_home: environment.claude_home()?,
        project: project(&cwd, &user_home),
        cwd,
        user_home,
        managed: MANAGED.into(),
        settings_arg: flags.settings.clone(),
        sources,
        plugin_dirs: flags.plugin_dirs.clone(),
        tools: ostler::known_tools(),
    })
}

/// The nearest directory upwards that is a repository, else the directory itself. A repository that holds the home
/// directory is no project.
fn project(cwd: &Path, user_home: &Path) -> PathBuf {
    let holds_home = |folder: &Path| {
        user_home.is_absolute()
            && user_home.canonicalize().is_ok_and(|home| home.starts_with(folder))
    };
    let top = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    top.filter(|folder| !holds_home(folder)).unwrap_or(cwd).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_the_repository_around_the_folder() {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| world.path().canonicalize().unwrap().join(name);
        for folder in ["home/me/repo/.git", "home/me/repo/a/b", "home/me/plain/c"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let found = |cwd: &str| project(&at(cwd), &at("home/me"));
        assert_eq!(found("home/me/repo/a/b"), at("home/me/repo"));
        assert_eq!(found("home/me/repo"), at("home/me/repo"));
        assert_eq!(found("home/me/plain/c"), at("home/me/plain/c"));
        // A worktree has a file of that name.
        std::fs::write(at("home/me/plain/.git"), "gitdir: x").unwrap();
        assert_eq!(found("home/me/plain/c"), at("home/me/plain"));
        // The home directory as a repository is not everybody's project.
        std::fs::remove_file(at("home/me/plain/.git")).unwrap();
        std::fs::create_dir(at("home/me/.git")).unwrap();
        assert_eq!(found("home/me/plain/c"), at("home/me/plain/c"));
        assert_eq!(found("home/me/repo/a/b"), at("home/me/repo"));
    }
}
