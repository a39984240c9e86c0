//! Everything that is known before a session opens: flags, environment, and the files people write.

use crate::{Environment, Flags, ProfileError, places};
use ostler::config::{
    self, CheckKind, FileApprovals, LoadedSettings, OutputStyles, SettingsPlaces, Untrusted,
};
use ostler::{Approvals, Rule, Workspace};
use std::path::PathBuf;
use std::sync::Arc;

pub struct Profile {
    pub flags: Flags,
    /// With the variables that the person's own settings add.
    pub environment: Environment,
    pub places: SettingsPlaces,
    /// What the files say. A surface may complete it with answers, such as the mode that was chosen at the first start.
    pub loaded: LoadedSettings,
}

impl Profile {
    /// # Errors
    /// `FILE:LINE: …` on a file that is there and cannot be used.
    pub fn load(environment: &Environment, flags: Flags) -> Result<Self, ProfileError> {
        let places = places::find(environment, &flags)?;
        Profile::at(environment, flags, places)
    }

    fn at(
        environment: &Environment,
        flags: Flags,
        places: SettingsPlaces,
    ) -> Result<Self, ProfileError> {
        let loaded = load(&places)?;
        let environment = environment.with_defaults(&loaded.own_env).with_settings(&loaded.values);
        Ok(Profile { flags, environment, places, loaded })
    }

    /// What the project's files want and the person has not accepted. Until then it has no effect.
    pub fn untrusted(&self) -> Option<&Untrusted> {
        self.loaded.untrusted.as_ref()
    }

    /// Accepts what the project's files want as it was shown, and reads everything again.
    ///
    /// # Errors
    /// If the acceptance cannot be stored.
    pub fn trust(self) -> Result<Self, ProfileError> {
        if let Some(untrusted) = self.untrusted() {
            let wrong = |error: config::ConfigError| ProfileError::Config(error.to_string());
            config::accept(&self.places, untrusted).map_err(wrong)?;
        }
        Profile::at(&self.environment, self.flags, self.places)
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
        lines.extend(self.fast_notice());
        lines.extend(warnings);
        // What a flag asks for and cannot be used is an error later.
        lines.extend(self.mcp_servers().map(|servers| servers.faults).unwrap_or_default());
        for line in self.loaded.policy.warnings() {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// Where calls are judged that no session is opened for. A directory that does not exist is left out.
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

    /// The output style that settings choose, and those that there are.
    pub fn output_styles(&self) -> OutputStyles {
        OutputStyles::find(&self.places, &self.loaded.values)
    }

    /// Where rules are stored that the person accepts for this project.
    pub fn approvals(&self) -> Arc<dyn Approvals> {
        Arc::new(FileApprovals::new(self.places.clone()).stamped(ostler::now_text))
    }
}

fn load(places: &SettingsPlaces) -> Result<LoadedSettings, ProfileError> {
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
    config::load(places, &check).map_err(|error| ProfileError::Config(error.to_string()))
}
