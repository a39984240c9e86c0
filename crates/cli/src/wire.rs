//! Arguments, environment and settings → options.

use crate::args::{RunArgs, split_list};
use crate::commands::Keeper;
use crate::environment::Environment;
use crate::exit::Wrong;
use crate::setup::Setup;
use ostler::config::{FileApprovals, Places};
use ostler::{Approver, Credentials, InstructionPlaces, Options, SessionChoice, SessionId};
use std::path::PathBuf;
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
    options.base_url = environment.text("ANTHROPIC_BASE_URL");
    let chosen = args.model.clone().or_else(|| environment.text("ANTHROPIC_MODEL"));
    if let Some(model) = chosen.or_else(|| loaded.model.clone()) {
        if model.trim().is_empty() {
            return Err(Wrong::Usage("--model wants a name".into()));
        }
        options.model = model;
    }
    if args.fallback_model.as_deref().is_some_and(|name| name.contains(',')) {
        return Err(Wrong::Usage("--fallback-model takes one model".into()));
    }
    options.fallback_model.clone_from(&args.fallback_model);
    options.session = session(args)?;
    options.system_prompt.clone_from(&args.system_prompt);
    options.append_system_prompt.clone_from(&args.append_system_prompt);
    options.instructions = Some(instructions(places));
    let mode = args.permission_mode.map(ostler::Mode::from);
    options.mode = mode.or(loaded.mode).unwrap_or_default();
    options.allow = split_list(&args.allowed_tools);
    options.deny = split_list(&args.disallowed_tools);
    options.tools = (!args.tools.is_empty()).then(|| split_list(&args.tools));
    options.max_turns = args.max_turns;
    options.max_budget_usd = args.max_budget_usd;
    if let Some(approver) = approver {
        options.approver = approver;
        let files = FileApprovals::new(places.clone()).stamped(ostler::now_text);
        options.approvals = Arc::new(Keeper { kept_by: Arc::new(files) });
    }
    options.environment = environment.for_commands(&loaded.env);
    options.proxies = environment.proxies();
    options.ca_file = environment.ca_file()?;
    options.deadlines = environment.deadlines()?;
    options.retry_wait = environment.retry_wait()?;
    options.settings = environment.settings()?;
    options.settings.raw_events = args.include_partial_messages;
    options.fault = environment.fault();
    Ok(options)
}

fn instructions(places: &Places) -> InstructionPlaces {
    let user = [Some(places.ostler_home.clone()), places.claude_home.clone()];
    InstructionPlaces {
        cwd: places.cwd.clone(),
        project: places.project.clone(),
        home: places.user_home.clone(),
        user: user.into_iter().flatten().collect(),
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
