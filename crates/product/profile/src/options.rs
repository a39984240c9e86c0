//! The options of a session, from everything that the profile knows. Flags override environment variables, and these
//! override settings.

use crate::{Profile, ProfileError, prices, providers};
use ostler::config::{self, Places};
use ostler::{Budgets, Credentials, InstructionPlaces, Options, SkillFolders};
use std::path::PathBuf;

impl Profile {
    /// Questions are refused and approvals last for the session, unless the surface sets `approver` and `approvals`.
    ///
    /// # Errors
    /// If a flag, a variable, a setting or the price list cannot be used.
    pub fn options(&self, credentials: Credentials) -> Result<Options, ProfileError> {
        let Profile { flags, environment, places, loaded } = self;
        let mut options = Options::new(places.cwd.clone(), credentials);
        options.home = Some(places.ostler_home.clone());
        options.user_home.clone_from(&places.user_home);
        options.add_dirs.clone_from(&flags.add_dirs);
        // A directory that only settings name need not exist on this machine.
        let exists = |folder: &&PathBuf| places.cwd.join(folder).is_dir();
        options.add_dirs.extend(loaded.dirs.iter().filter(exists).cloned());
        options.policy = loaded.policy.clone();
        options.skills = self.skills();
        providers::choose(&mut options, self)?;
        options.session = flags.session()?;
        options.system_prompt.clone_from(&flags.system_prompt);
        options.append_system_prompt.clone_from(&flags.append_system_prompt);
        options.instructions = Some(instructions(places, loaded.trusted));
        options.mode = flags.mode.or(loaded.mode).unwrap_or_default();
        options.allow.clone_from(&flags.allow);
        options.deny.clone_from(&flags.deny);
        options.tools = flags.tools.clone().filter(|names| *names != ["default"]);
        options.max_turns = flags.max_turns;
        options.max_budget_usd = flags.max_budget_usd;
        options.budgets = self.budgets();
        options.prices = prices::read(&places.ostler_home)?;
        options.environment = environment.for_commands(&loaded.env);
        options.sandbox = self.sandbox();
        options.hooks.specs = self.hooks()?;
        options.hooks.project = Some(places.project.clone());
        options.proxies = environment.proxies();
        options.ca_file = environment.ca_file()?;
        options.deadlines = environment.deadlines()?;
        options.retry_wait = environment.retry_wait()?;
        options.settings = environment.settings(&loaded.values)?;
        options.settings.raw_events = flags.raw_events;
        options.slow_call = environment.slow_call()?;
        options.undo = !flags.no_undo;
        options.memory = environment.memory();
        options.embeddings = environment.embeddings()?;
        options.fault = environment.fault();
        Ok(options)
    }

    /// Where skills are found, and which of them were accepted.
    pub fn skills(&self) -> SkillFolders {
        SkillFolders {
            folders: config::skill_folders(&self.places),
            accepted: self.loaded.skills.clone(),
            project: Some(self.places.project.clone()),
        }
    }

    /// The smaller of what settings and flags allow.
    pub fn budgets(&self) -> Budgets {
        let config::Budget { day, project, agent } = self.loaded.budget;
        let day = day.into_iter().chain(self.flags.max_day_budget_usd).reduce(f64::min);
        Budgets { day, project, agent }
    }
}

fn instructions(places: &Places, trusted: bool) -> InstructionPlaces {
    let user = [Some(places.ostler_home.clone()), places.claude_home.clone()];
    InstructionPlaces {
        cwd: places.cwd.clone(),
        project: places.project.clone(),
        home: places.user_home.clone(),
        user: user.into_iter().flatten().collect(),
        trusted,
    }
}
