//! Arguments and environment → options.

use crate::args::{RunArgs, split_list};
use crate::environment::Environment;
use crate::exit::Wrong;
use ostler::{Approver, Credentials, Options, SessionChoice, SessionId};
use std::sync::Arc;

pub fn options(
    args: &RunArgs,
    environment: &Environment,
    credentials: Credentials,
    approver: Option<Arc<dyn Approver>>,
) -> Result<Options, Wrong> {
    let cwd = std::env::current_dir().map_err(|error| {
        Wrong::Config(format!("the current folder cannot be used: {error}. Change to another one"))
    })?;
    let mut options = Options::new(cwd, credentials);
    options.home = Some(environment.home()?);
    options.user_home = environment.user_home().unwrap_or_default();
    options.add_dirs.clone_from(&args.add_dir);
    options.base_url = environment.text("ANTHROPIC_BASE_URL");
    if let Some(model) = args.model.clone().or_else(|| environment.text("ANTHROPIC_MODEL")) {
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
    options.mode = args.permission_mode.into();
    options.allow = split_list(&args.allowed_tools);
    options.deny = split_list(&args.disallowed_tools);
    options.tools = (!args.tools.is_empty()).then(|| split_list(&args.tools));
    options.max_turns = args.max_turns;
    options.max_budget_usd = args.max_budget_usd;
    if let Some(approver) = approver {
        options.approver = approver;
    }
    options.environment = environment.for_commands();
    options.proxies = environment.proxies();
    options.ca_file = environment.ca_file()?;
    options.deadlines = environment.deadlines()?;
    options.retry_wait = environment.retry_wait()?;
    options.settings = environment.settings()?;
    options.settings.raw_events = args.include_partial_messages;
    options.fault = environment.fault();
    Ok(options)
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
