//! Arguments, environment and settings → options.

use crate::args::{RunArgs, SandboxFlags, split_list};
use crate::commands::Keeper;
use crate::environment::Environment;
use crate::exit::Wrong;
use crate::providers;
use crate::setup::Setup;
use ostler::config::{self, FileApprovals, SettingsPlaces};
use ostler::{
    Approver, ConfineOptions, Credentials, HookAction, HookSecret, HookSpec, InstructionPlaces,
    LimitOptions, Options, PriceBook, SessionChoice, SessionId, SkillFolders,
};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn options(
    args: &RunArgs,
    environment: &Environment,
    setup: &Setup,
    credentials: Credentials,
    approver: Option<Arc<dyn Approver>>,
) -> Result<Options, Wrong> {
    let Setup { places, loaded, .. } = setup;
    let mut options = Options::new(places.cwd.clone(), credentials);
    options.home = Some(places.ostler_home.clone());
    options.user_home.clone_from(&places.user_home);
    options.add_dirs.clone_from(&args.add_dir);
    // A folder that only settings name need not be there on this machine.
    let exists = |folder: &&PathBuf| places.cwd.join(folder).is_dir();
    options.add_dirs.extend(loaded.dirs.iter().filter(exists).cloned());
    options.policy = loaded.policy.clone();
    options.skills = SkillFolders {
        folders: ostler::config::skill_folders(places),
        accepted: loaded.skills.clone(),
        project: Some(places.project.clone()),
    };
    providers::choose(&mut options, args, environment, loaded)?;
    options.session = session(args)?;
    options.system_prompt.clone_from(&args.system_prompt);
    options.append_system_prompt.clone_from(&args.append_system_prompt);
    options.instructions = Some(instructions(places, loaded.trusted));
    let mode = args.permission_mode.map(ostler::Mode::from);
    options.mode = mode.or(loaded.mode).unwrap_or_default();
    options.allow = split_list(&args.allowed_tools);
    options.deny = split_list(&args.disallowed_tools);
    let tools = (!args.tools.is_empty()).then(|| split_list(&args.tools));
    options.tools = tools.filter(|names| *names != ["default"]);
    options.max_turns = args.max_turns;
    options.max_budget_usd = args.max_budget_usd;
    options.budgets = budgets(&loaded.budget);
    let day = options.budgets.day.into_iter().chain(args.max_day_budget_usd);
    options.budgets.day = day.reduce(f64::min);
    options.prices = prices(&places.ostler_home)?;
    if let Some(approver) = approver {
        options.approver = approver;
        let files = FileApprovals::new(places.clone()).stamped(ostler::now_text);
        options.approvals = Arc::new(Keeper { kept_by: Arc::new(files) });
    }
    options.environment = environment.for_commands(&loaded.env);
    options.sandbox = sandbox(&loaded.sandbox, &args.sandbox);
    options.hooks.specs = hooks(&loaded.hooks, environment)?;
    options.hooks.project = Some(places.project.clone());
    network(&mut options, environment)?;
    options.settings = environment.settings(&loaded.compaction)?;
    options.settings.raw_events = args.include_partial_messages;
    options.slow_call = environment.slow_call()?;
    options.undo = !args.no_undo;
    options.memory = environment.memory();
    options.embeddings = environment.embeddings()?;
    options.fault = environment.fault();
    Ok(options)
}

fn network(options: &mut Options, environment: &Environment) -> Result<(), Wrong> {
    options.proxies = environment.proxies();
    options.ca_file = environment.ca_file()?;
    options.deadlines = environment.deadlines()?;
    options.retry_wait = environment.retry_wait()?;
    Ok(())
}

/// What settings say; the command line goes before them.
pub fn sandbox(settings: &config::SandboxSettings, flags: &SandboxFlags) -> ConfineOptions {
    let strict = ConfineOptions::default();
    ConfineOptions {
        enabled: !flags.no_sandbox && settings.enabled.unwrap_or(strict.enabled),
        network: flags.network || settings.network.unwrap_or(strict.network),
        accept_missing: flags.accept_missing_layers
            || settings.accept_missing.unwrap_or(strict.accept_missing),
        may_lift: settings.may_lift.unwrap_or(strict.may_lift),
        allow_write: settings.allow_write.clone(),
        allow_read: settings.allow_read.clone(),
        deny_read: settings.deny_read.clone(),
        limits: limits(&settings.limits),
        limits_at_most: limits(&settings.limits_at_most),
    }
}

fn limits(settings: &config::SandboxLimits) -> LimitOptions {
    let config::SandboxLimits { memory, processes, file_size } = *settings;
    LimitOptions { memory, processes, file_size }
}

/// Hooks with the secrets that they name.
pub fn hooks(specs: &[HookSpec], environment: &Environment) -> Result<Vec<HookSpec>, Wrong> {
    let mut specs = specs.to_vec();
    for spec in &mut specs {
        let place = spec.source.to_string();
        if let HookAction::Http { secret, secret_env: Some(name), .. } = &mut spec.action {
            let missing = || {
                Wrong::Config(format!(
                    "the hook at {place} signs with the variable {name}, which is not set. Set it, or remove the hook"
                ))
            };
            *secret = Some(HookSecret::new(environment.text(name).ok_or_else(missing)?));
        }
    }
    Ok(specs)
}

pub fn budgets(budget: &ostler::config::Budget) -> ostler::Budgets {
    let ostler::config::Budget { day, project, agent } = *budget;
    ostler::Budgets { day, project, agent }
}

/// The user's own price list, if there is one.
fn prices(home: &Path) -> Result<PriceBook, Wrong> {
    let file = home.join("prices.toml");
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            return Ok(PriceBook::default());
        }
        Err(error) => {
            return Err(Wrong::Config(format!("{} cannot be read: {error}", file.display())));
        }
    };
    PriceBook::parse(&text)
        .map_err(|(line, what)| Wrong::Config(format!("{}:{line}: {what}", file.display())))
}

fn instructions(places: &SettingsPlaces, trusted: bool) -> InstructionPlaces {
    let user = [Some(places.ostler_home.clone()), places.claude_home.clone()];
    InstructionPlaces {
        cwd: places.cwd.clone(),
        project: places.project.clone(),
        home: places.user_home.clone(),
        user: user.into_iter().flatten().collect(),
        trusted,
    }
}

fn session(args: &RunArgs) -> Result<SessionChoice, Wrong> {
    let usage = |text: &str| Err(Wrong::Usage(text.to_owned()));
    match (&args.resume, args.continue_, args.fork_session, &args.session_id) {
        (Some(id), _, true, _) => Ok(SessionChoice::Fork(Some(id.clone()))),
        (Some(id), ..) => Ok(SessionChoice::Resume(id.clone())),
        (None, true, true, _) => Ok(SessionChoice::Fork(None)),
        (None, true, ..) => Ok(SessionChoice::Continue),
        (None, false, true, _) => usage("--fork-session needs --resume ID or --continue"),
        (None, false, false, Some(id)) if ostler::is_uuid(id) => {
            Ok(SessionChoice::Named(SessionId::new(id.as_str())))
        }
        (None, false, false, Some(id)) => {
            usage(&format!("--session-id wants a UUID, not \"{id}\""))
        }
        (None, false, false, None) => Ok(SessionChoice::New),
    }
}
