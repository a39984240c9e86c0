//! Judges a call exactly as a run would, with the same tools, files, rules, sandbox and snapshots, but runs nothing.

use crate::check::{Judged, verdict_on};
use crate::error::Error;
use crate::host::Host;
use crate::kit::{self, Kit, Others};
use crate::session_options::{SessionChoice, SessionOptions};
use crate::{assembly, log_choice, workspace};
use ostler_core::event;
use ostler_core::ids::SessionId;
use ostler_core::late_tools::{USE_TOOL, inner_call};
use ostler_core::message::ResultPart;
use ostler_core::permission::{Access, Decision, Live, Mode, Policy, Workspace};
use ostler_core::session::SessionRecord;
use ostler_core::tool::ToolOutput;
use ostler_tools::confine::Missing;
use ostler_tools::workspace::Files;
use ostler_tools::{DiskPlaces, Keeping, Paper, access_on_paper};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

/// Judges a call as a session with these options would at its beginning. Also gives what a run would say
/// before and with it: tools that nobody knows, a layer of the sandbox that is missing.
///
/// # Errors
/// If a session could not be opened with these options.
pub async fn explain(
    host: &Host,
    options: SessionOptions,
    tool: &str,
    input: &Value,
) -> Result<(Judged, Vec<String>), Error> {
    // The home directory is not created just to answer a question.
    let scratch = tempfile::tempdir().map_err(|error| Error::Runtime(error.to_string()))?;
    let missing = host.home().filter(|home| !home.is_dir()).map(Path::to_path_buf);
    let host = &match missing {
        Some(_) => host.at_home(scratch.path()),
        None => host.clone(),
    };
    let (mut workspace, policy) = workspace::workspace_and_rules(host, &options)?;
    let unknown = kit::check_tools(&options, &policy)?;
    let mut notices: Vec<String> = unknown.iter().map(event::words::notice).collect();
    let skills =
        workspace::at_home(host, &options, &policy, &SessionId::new("explain"), &mut workspace)?;
    workspace.ours.extend(missing.clone());
    let scope = host.executor().scope();
    let (at, environment) = (Live::from(workspace.clone()), options.environment.clone().into());
    let confinement = assembly::confinement(scope.executor(), &options, &at, &environment, &policy);
    let (session, rules) = (SessionRecord::default(), Live::from(policy.clone()));
    let (files, keeping) = kit::files(host, &options, &at, &session, None, &rules, &confinement);
    let log = log_choice::in_memory(&SessionChoice::New, &workspace.cwd)?.loaded.log;
    let memories =
        assembly::remembers(host, &options, missing.as_deref().or(host.home()), &workspace.cwd);
    let kit = Kit {
        executor: scope.executor().clone(),
        files: files.clone(),
        environment,
        keeping: keeping_to_judge(keeping),
        confinement: confinement.clone(),
        skills,
        memories,
        log,
        others: Others::default(),
    };
    let tools = kit::tools(&options, &rules, kit);
    // A call through the fixed tool is judged as what it stands for.
    let inner = inner_call(tool, input);
    let (tool, input) = inner.as_ref().map_or((tool, input), |(tool, input)| (tool, input));
    let name = ostler_tools::tool_name(tool);
    let access = match tools.iter().find(|tool| tool.spec().name == name) {
        Some(tool) => tool.access(input).map_err(|misuse| words(&misuse)),
        None => on_paper(name, input, &policy, &files, &options),
    };
    let runs = access.as_ref().ok().and_then(|access| access.runs.as_deref());
    let missing = runs.and_then(|commands| confinement.not_enforced(commands.only_reads()));
    notices.extend(missing.as_ref().map(Missing::announced));
    let mut judged = verdict_on(name, access, &policy, options.mode, &workspace);
    if inner.is_some() {
        let fixed = of_fixed_tool(&policy, options.mode, &workspace);
        judged.decision = judged.decision.or_stricter(fixed);
    }
    let _ = scope.close().await;
    Ok((judged, notices))
}

/// What the rules say of the tool through which others are called.
fn of_fixed_tool(policy: &Policy, mode: Mode, workspace: &Workspace) -> Decision {
    verdict_on(USE_TOOL, Ok(Access::nothing()), policy, mode, workspace).decision
}

/// Nothing is going to run, so the directories are not looked at ahead of it.
fn keeping_to_judge(keeping: Keeping) -> Keeping {
    match keeping {
        Keeping::By { snapshots } => Keeping::OnlyJudges(snapshots),
        other => other,
    }
}

/// A tool that a run with these options does not have.
fn on_paper(
    name: &str,
    input: &Value,
    policy: &Policy,
    files: &Files,
    options: &SessionOptions,
) -> Result<Access, String> {
    let path = options.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, path)| path.as_os_str());
    let places = &DiskPlaces::new(files, path);
    access_on_paper(name, input, &Paper { policy, places })
}

fn words(output: &ToolOutput) -> String {
    let text = output.content.iter().find_map(|part| match part {
        ResultPart::Text { text } => Some(text.clone()),
        ResultPart::Image(_) => None,
    });
    text.unwrap_or_else(|| "the call is not understood".into())
}
