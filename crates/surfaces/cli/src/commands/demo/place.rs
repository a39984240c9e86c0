//! Where a demo happens: a temporary directory with a repository and a home of its own. Nothing of the person's is
//! read.

use crate::exit::Wrong;
use anyhow::{Context, Result};
use ostler::{InstructionPlaces, Options};
use ostler_profile::Environment;
use std::path::{Path, PathBuf};

/// The person's own settings of git do not count here.
const COMMIT: &str = "git init -q -b main . && git add -A && \
    git -c user.name=demo -c user.email=demo@example.invalid -c commit.gpgsign=false \
    -c core.hooksPath=/dev/null commit -q -m 'As it was found'";

pub struct Place {
    folder: tempfile::TempDir,
    pub project: PathBuf,
}

impl Place {
    pub fn new(files: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("ostler-demo-").tempdir()?;
        // Paths are shown and compared as the product sees them.
        let project = folder.path().canonicalize()?.join("project");
        let place = Place { folder, project };
        files.iter().try_for_each(|(name, text)| place.write(name, text))?;
        Ok(place)
    }

    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.project.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&self.project))?;
        Ok(std::fs::write(path, text)?)
    }

    pub fn read(&self, name: &str) -> Result<String> {
        std::fs::read_to_string(self.project.join(name)).with_context(|| format!("reading {name}"))
    }

    pub async fn commit(&self, init: &ostler::Init, environment: &Environment) -> Result<()> {
        ostler::run_command(init, COMMIT, &self.project, environment.for_commands(&[]))
            .await
            .map_err(|error| Wrong::Config(format!("the demo needs bash and git: {error}")))?;
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where sessions, memory and ledger live.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("ostler")
    }

    pub fn options(&self, environment: &Environment, url: String) -> Options {
        let mut options = Options::new(&self.project, ostler::api_key("demo", "scripted"));
        options.host.home = Some(self.home());
        options.session.instructions = Some(InstructionPlaces {
            trusted: false,
            cwd: self.project.clone(),
            project: self.project.clone(),
            home: self.folder.path().to_owned(),
            user: Vec::new(),
        });
        options.host.base_url = Some(url);
        options.session.model = "scripted-demo".into();
        options.session.environment = environment.for_commands(&[]);
        options.session.allow = vec!["Bash".into(), "Edit(./**)".into()];
        options.session.memory = environment.memory();
        // A machine without bubblewrap shows the demo all the same, and says so.
        options.session.sandbox.accept_missing = true;
        options
    }

    pub fn remove(self) -> Result<()> {
        Ok(self.folder.close()?)
    }

    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// As a person names a file of the project.
    pub fn name<'a>(&self, path: &'a str) -> &'a str {
        let below = Path::new(path).strip_prefix(&self.project);
        below.ok().and_then(Path::to_str).unwrap_or(path)
    }
}
