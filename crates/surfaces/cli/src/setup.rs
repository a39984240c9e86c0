//! The files people write, as they hold for this start: which there are, what they say, what is not trusted.

use crate::args::ConfigArgs;
use crate::environment::Environment;
use crate::exit::Wrong;
use ostler::config::{self, CheckKind, LoadedSettings, SettingsPlaces, Sources};
use ostler::{Rule, Workspace};
use std::path::{Path, PathBuf};

/// Where the administrator's files are.
const MANAGED: &str = "/etc/ostler";

pub struct Setup {
    pub places: SettingsPlaces,
    pub loaded: LoadedSettings,
}

impl Setup {
    /// # Errors
    /// `FILE:LINE: …` on a file that is there and cannot be used.
    pub fn load(environment: &Environment, args: &ConfigArgs) -> Result<Self, Wrong> {
        Setup::at(places(environment, args)?)
    }

    fn at(places: SettingsPlaces) -> Result<Self, Wrong> {
        Ok(Setup { loaded: load(&places)?, places })
    }

    /// Accepts what the project's files want as it was shown, and reads everything again.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn trust(self) -> Result<Self, Wrong> {
        if let Some(untrusted) = &self.loaded.untrusted {
            let wrong = |error: config::ConfigError| Wrong::Config(error.to_string());
            config::accept(&self.places, untrusted).map_err(wrong)?;
        }
        Setup::at(self.places)
    }

    /// What a person should know about the files, one line each.
    pub fn notices(&self) -> Vec<String> {
        self.lines(self.loaded.warnings.clone())
    }

    /// The same at a start: without the warnings that the last start in this project has shown.
    pub fn news(&self) -> Vec<String> {
        self.lines(config::unseen_warnings(&self.places, &self.loaded.warnings))
    }

    fn lines(&self, warnings: Vec<String>) -> Vec<String> {
        let mut lines = self.loaded.notices.clone();
        lines.extend(warnings);
        for line in self.loaded.policy.warnings() {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// Where calls are judged that no engine is opened for. A folder that is not there cannot be worked in.
    pub fn workspace(&self) -> Workspace {
        let SettingsPlaces { cwd, user_home, .. } = &self.places;
        let real = |folder: &PathBuf| cwd.join(folder).canonicalize().ok();
        let mut roots = vec![cwd.clone()];
        roots.extend(self.loaded.dirs.iter().filter_map(real));
        Workspace {
            cwd: cwd.clone(),
            roots,
            home: user_home.clone(),
            ours: self.places.ostler_home.canonicalize().into_iter().collect(),
            tools: self.places.tools.clone(),
            ..Workspace::default()
        }
    }
}

fn load(places: &SettingsPlaces) -> Result<LoadedSettings, Wrong> {
    let workspace = Workspace {
        cwd: places.cwd.clone(),
        roots: vec![places.cwd.clone()],
        home: places.user_home.clone(),
        tools: places.tools.clone(),
        ..Workspace::default()
    };
    let check = |kind: CheckKind, rule: &Rule, text: &str| {
        ostler::rule_matches(kind, rule, text, &workspace)
    };
    config::load(places, &check).map_err(|error| Wrong::Config(error.to_string()))
}

/// # Errors
/// If the folder, the home or an option is not usable.
pub fn places(environment: &Environment, args: &ConfigArgs) -> Result<SettingsPlaces, Wrong> {
    let cwd = std::env::current_dir().and_then(|cwd| cwd.canonicalize()).map_err(|error| {
        Wrong::Config(format!("the current folder cannot be used: {error}. Change to another one"))
    })?;
    let user_home = environment.user_home().unwrap_or_default();
    let sources = match &args.setting_sources {
        Some(names) => Sources::parse(names)
            .map_err(|why| Wrong::Usage(format!("--setting-sources: {why}")))?,
        None => Sources::default(),
    };
    Ok(SettingsPlaces {
        ostler_home: environment.home()?,
        claude_home: environment.claude_home()?,
        project: project(&cwd, &user_home),
        cwd,
        user_home,
        managed: MANAGED.into(),
        settings_arg: args.settings.clone(),
        sources,
        tools: ostler::known_tools(),
    })
}

/// The nearest folder upwards that is a repository, else the folder itself. A repository that holds the home folder is
/// no project.
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
        // The home folder as a repository is not everybody's project.
        std::fs::remove_file(at("home/me/plain/.git")).unwrap();
        std::fs::create_dir(at("home/me/.git")).unwrap();
        assert_eq!(found("home/me/plain/c"), at("home/me/plain/c"));
        assert_eq!(found("home/me/repo/a/b"), at("home/me/repo"));
    }
}
