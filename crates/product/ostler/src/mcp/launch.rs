//! How the program of a server is started for a session.

use crate::assembly::confinement;
use crate::host::Host;
use crate::session_options::SessionOptions;
use ostler_core::permission::{Live, Policy, Workspace};
use ostler_mcp::{LaunchServer, ServerConfig, ServerReach, ServerScope};
use ostler_tools::CommandVariables;
use ostler_tools::confine::ServerAccess;
use std::sync::Arc;

pub(super) fn launch(
    host: &Host,
    options: &SessionOptions,
    (workspace, environment): (&Live<Workspace>, &Live<CommandVariables>),
    policy: &Policy,
) -> LaunchServer {
    // Its own, with its own temporary directory: a server may outlive the session that started it.
    let confinement = confinement(host.executor(), options, workspace, environment, policy);
    let prepare = move |config: &ServerConfig, command: &mut ostler_exec::Command| {
        let ServerReach { unconfined, network, write_project, read, write } = config.reach.clone();
        match unconfined {
            true => Ok(()),
            false => {
                // What a plugin writes is not what the person wrote.
                let reads_arguments = config.scope != ServerScope::Plugin;
                let access = ServerAccess { network, write_project, read, write, reads_arguments };
                confinement.confine_server(command, &access)
            }
        }
    };
    LaunchServer {
        cwd: workspace.now().cwd.clone(),
        environment: options.environment.clone(),
        prepare: Arc::new(prepare),
    }
}
