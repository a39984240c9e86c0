//! The hooks of a session, from options.

use crate::host::Host;
use crate::session_options::{SessionChoice, SessionOptions};
use crate::subagents::Lineage;
use crate::system::{SystemClock, SystemIds, jitter};
use ostler_core::hook::{HookAction, HookSpec, program_path};
use ostler_core::ids::SessionId;
use ostler_core::permission::Workspace;
use ostler_core::ports::{Hook, Hooks, NoHooks};
use ostler_engine::HookDesk;
use ostler_exec::{CommandScope, Executor};
use ostler_hooks::{
    About, AboutAgent, ClockAndIds, HookSetup, HookTrial, HookWatch, Prepare, Registry, Sender,
    try_hook,
};
use ostler_store::FileStore;
use ostler_tools::confine::{Confinement, Terms};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The hooks of a session: which run, and how.
#[derive(Clone, Default)]
pub struct HookOptions {
    /// As configured, in the order in which they are asked.
    pub specs: Vec<HookSpec>,
    /// Hooks of the calling program.
    pub inside: Vec<Arc<dyn Hook>>,
    /// The top of the project, for commands; none means the working directory.
    pub project: Option<PathBuf>,
    /// Can modify each hook command before it starts.
    pub prepare: Option<Prepare>,
    /// Called when a hook command starts and ends.
    pub watch: Option<HookWatch>,
}

pub(crate) fn source(session: &SessionChoice, empty: bool) -> &'static str {
    match session {
        SessionChoice::New | SessionChoice::Named(_) => "startup",
        SessionChoice::Continue if empty => "startup",
        SessionChoice::Resume(_) | SessionChoice::Continue => "resume",
        SessionChoice::Fork(_) => "fork",
    }
}

fn about(
    host: &Host,
    options: &SessionOptions,
    workspace: &Workspace,
    session_id: String,
    agent: Option<AboutAgent>,
) -> About {
    let cwd = workspace.cwd.clone();
    let transcript_path = transcript(host, &session_id).unwrap_or_default();
    let project = options.hooks.project.clone().unwrap_or_else(|| cwd.clone());
    let permission_mode = options.mode.name().to_owned();
    About { session_id, transcript_path, cwd, project, permission_mode, agent }
}

/// The session's log.
fn transcript(host: &Host, session: &str) -> Option<PathBuf> {
    let home = host.home()?;
    let found = FileStore::new(home).ok()?.find(session).ok()??;
    Some(home.join("sessions").join(found.project).join(format!("{session}.log")))
}

/// A hook reads itself wherever it lies: the files that its line names, and the directories where hooks are kept.
fn own_files(spec: &HookSpec, home: &Path) -> Vec<PathBuf> {
    let HookAction::Command { command, args } = &spec.action else { return Vec::new() };
    let words = command.split_whitespace().chain(args.iter().flatten().map(String::as_str));
    let path = |word: &str| {
        let word = word.trim_matches(['"', '\'', ';']);
        let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| word.strip_prefix(start));
        below.map_or_else(|| PathBuf::from(word), |below| home.join(below))
    };
    let named = words.map(path).filter(|path| path.is_absolute() && path.is_file());
    let kept = [".claude/hooks", ".ostler/hooks"].map(|folder| home.join(folder)).into_iter();
    named.chain(kept).filter_map(|path| path.canonicalize().ok()).collect()
}

/// What lies in the project runs only as it was when the settings were read: anybody who works there can rewrite it. In a
/// worktree it is the file there that has to be the same.
fn check_programs(spec: &HookSpec, about: &About, home: &Path) -> Result<(), String> {
    for program in &spec.programs {
        let Some(path) = program_path(&program.word, &about.cwd, &about.project, home) else {
            continue;
        };
        let found = std::fs::read(&path).ok();
        let sha256 = found.map(|bytes| {
            let digest = Sha256::digest(&bytes);
            digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        if sha256 != program.sha256 {
            return Err(format!(
                "{} has changed since Ostler started, so it does not run; look at it, and start Ostler again",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Hooks run in the sandbox unless somebody granted them more, and after that by whatever the caller wants.
fn prepare(
    host: &Host,
    options: &SessionOptions,
    confinement: Arc<Confinement>,
    about: About,
) -> Prepare {
    let more = options.hooks.prepare.clone();
    let home = host.options().user_home.clone();
    Arc::new(move |spec, command| {
        check_programs(spec, &about, &home)?;
        if !spec.outside {
            let mut held = confinement.held(Terms { unguarded: true, ..Terms::default() })?;
            held.also_readable(
                own_files(spec, &home).into_iter().chain(spec.plugin.clone()).collect(),
            );
            confinement.confine(command, &held);
        }
        more.as_ref().map_or(Ok(()), |more| more(spec, command))
    })
}

fn setup(
    host: &Host,
    options: &SessionOptions,
    executor: Executor,
    about: About,
    confinement: Arc<Confinement>,
) -> HookSetup {
    let hooks = &options.hooks;
    let certificates = host.options().ca_file.as_ref().map(|file| file.pem.clone());
    HookSetup {
        specs: hooks.specs.clone(),
        inside: hooks.inside.clone(),
        executor,
        environment: options.environment.clone(),
        prepare: Some(prepare(host, options, confinement, about.clone())),
        about,
        queues: host.home().map(|home| home.join("webhooks")),
        sender: webhook_sender(certificates.unwrap_or_default()),
        watch: hooks.watch.clone(),
    }
}

fn system_clock_and_ids() -> ClockAndIds {
    ClockAndIds { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds), jitter }
}

/// Sends to webhooks; `certificates` are trusted besides the system's, as PEM.
pub fn webhook_sender(certificates: Vec<u8>) -> Sender {
    Sender::new(certificates, system_clock_and_ids())
}

/// The hooks that a turn calls. Those of an agent get the id of the session that a person began, and who the agent is.
pub(crate) fn desk(
    host: &Host,
    registry: Option<&Arc<Registry>>,
    source: &str,
    session: &SessionId,
    lineage: Option<&Lineage>,
) -> HookDesk {
    let desk = HookDesk::new(port(registry), source);
    match lineage {
        Some(lineage) => {
            let log = registry.and_then(|_| transcript(host, session.as_str()));
            desk.of_subagent(lineage.subagent(session, log.as_deref()))
        }
        None => desk,
    }
}

/// None: nobody listens.
pub(crate) fn registry(
    host: &Host,
    options: &SessionOptions,
    scope: &CommandScope,
    workspace: &Workspace,
    (session, lineage): (&SessionId, Option<&Lineage>),
    confinement: &Arc<Confinement>,
) -> Option<Arc<Registry>> {
    if options.hooks.specs.is_empty() && options.hooks.inside.is_empty() {
        return None;
    }
    // Hooks in an agent hear of the session that a person began, and of the agent.
    let root = lineage.map_or(session, |lineage| &lineage.root).to_string();
    let agent = lineage.map(|lineage| {
        let (id, kind) = (session.to_string(), lineage.kind().to_owned());
        AboutAgent { id, kind }
    });
    let about = about(host, options, workspace, root, agent);
    let executor = scope.executor().clone();
    Some(Arc::new(Registry::new(setup(host, options, executor, about, confinement.clone()))))
}

pub(crate) fn port(registry: Option<&Arc<Registry>>) -> Arc<dyn Hooks> {
    match registry {
        Some(registry) => registry.clone(),
        None => Arc::new(NoHooks),
    }
}

/// Tries each configured hook with an event that never happened, one after the other, through its real path.
pub async fn verify_hooks(host: &Host, options: &SessionOptions) -> Vec<(HookSpec, HookTrial)> {
    let scope = host.executor().scope();
    let executor = scope.executor().clone();
    let workspace = Workspace {
        cwd: options.cwd.clone(),
        roots: vec![options.cwd.clone()],
        home: host.options().user_home.clone(),
        ours: host.home().map(Path::to_path_buf).into_iter().collect(),
        ..Workspace::default()
    };
    let about = about(host, options, &workspace, "canary".into(), None);
    let (held_by, environment) = (options.sandbox.clone(), options.environment.clone());
    let confinement = Confinement::new(executor.clone(), held_by, workspace, environment)
        .denying(&options.policy);
    let setup = setup(host, options, executor, about, Arc::new(confinement));
    let mut tried = Vec::new();
    for spec in &options.hooks.specs {
        tried.push((spec.clone(), try_hook(spec, &setup).await));
    }
    // If it does not answer, it ends with us.
    let _ = scope.close().await;
    tried
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_options::ForkSource;

    #[test]
    fn hooks_are_told_how_a_session_came_about() {
        let id = || Some("x".to_owned());
        for (choice, empty, expected) in [
            (SessionChoice::New, true, "startup"),
            (SessionChoice::Named(SessionId::new("x")), true, "startup"),
            (SessionChoice::Continue, true, "startup"),
            (SessionChoice::Continue, false, "resume"),
            (SessionChoice::Resume("x".into()), false, "resume"),
            (
                SessionChoice::Fork(ForkSource { session: id(), ..ForkSource::default() }),
                false,
                "fork",
            ),
            (SessionChoice::Fork(ForkSource::default()), false, "fork"),
        ] {
            assert_eq!(source(&choice, empty), expected, "{choice:?}");
        }
    }
}
