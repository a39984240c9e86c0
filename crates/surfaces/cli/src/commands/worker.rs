//! `ostler worker`: claims tasks from the board and works on each in a worktree of its own.

use super::signals::Signals;
use super::{no_key, tasks, trust};
use crate::args::worker::WorkerArgs;
use crate::exit::{Code, progress, warn};
use crate::output::printer;
use anyhow::Result;
use ostler::{Host, WorkerEnd, WorkerEvent, WorkerOptions, WorkerStop};
use ostler_profile::{Access, Environment};
use ostler_sdk::escaped;
use std::sync::Arc;
use std::time::Duration;

pub fn run(init: &ostler::Init, environment: &Environment, args: &WorkerArgs) -> Result<Code> {
    let profile = trust::begin_with(environment, args.flags(), args.trust)?;
    let credentials = match profile.access()? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) => return Ok(no_key::explain(&provider)),
    };
    let options = profile.options(credentials)?;
    let boards = [tasks::open(environment, &args.board)?, tasks::open(environment, &args.board)?];
    profile.news().iter().for_each(|notice| warn(notice));
    if !options.session.sandbox.enabled {
        warn("the sandbox is off: commands of workers can change your checkout");
    }
    ostler::block_on(async {
        let host = Host::open(init, options.host)?;
        let mut signals = Signals::new()?;
        let stop = WorkerStop::default();
        let session = options.session;
        let places = &profile.places;
        let variables = session.environment.clone();
        let trees = host.worktrees(&places.project, &places.cwd, variables).await?;
        let workers = WorkerOptions {
            name: name(args),
            count: args.count.into(),
            lease: Duration::from_secs(args.lease),
            once: args.once,
            check: args.check.clone().or_else(|| session.worktrees.check.clone()),
            push: args.push.clone(),
            session,
        };
        let tell = teller(args.board.json);
        let work = ostler::run_workers(&host, trees, boards, workers, stop.clone(), tell);
        tokio::pin!(work);
        let mut caught = None;
        let end = loop {
            tokio::select! {
                biased;
                code = signals.next() => match caught {
                    // Claims that are not returned expire by themselves.
                    Some(_) => return Ok(code),
                    None => {
                        warn("stopping: running tasks go back to the board; send the signal again to stop at once");
                        caught = Some(code);
                        stop.stop();
                    }
                },
                end = &mut work => break end,
            }
        };
        let code = end.map(|end| code(end, caught)).map_err(anyhow::Error::from);
        host.close().await;
        Ok(signals.end(code).await)
    })?
}

fn code(end: WorkerEnd, caught: Option<Code>) -> Code {
    match end {
        WorkerEnd::NothingLeft => Code::Done,
        WorkerEnd::NothingToClaim => {
            warn("nothing to claim");
            tasks::NOTHING
        }
        WorkerEnd::Stopped => caught.unwrap_or(Code::Done),
        WorkerEnd::GaveUp { reason } => {
            warn(&format!("stopped, because something outside keeps failing: {reason}"));
            Code::Failed
        }
        WorkerEnd::Refused { reason } => {
            warn(&reason);
            Code::Failed
        }
        WorkerEnd::OutOfMoney { reason } => {
            warn(&reason);
            Code::Limit
        }
    }
}

/// A line for people on standard error, or an object for programs on standard output.
fn teller(json: bool) -> Arc<dyn Fn(&WorkerEvent) + Send + Sync> {
    Arc::new(move |event: &WorkerEvent| match json {
        true => {
            let line = serde_json::to_string(event).unwrap_or_default();
            // Whoever reads it may have gone; the work goes on.
            let _ = printer::print(&format!("{}\n", escaped(&line)));
        }
        false => progress(&event.to_string()),
    })
}

fn name(args: &WorkerArgs) -> String {
    args.name.clone().unwrap_or_else(|| {
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let machine = match machine.trim() {
            "" => "worker",
            machine => machine,
        };
        format!("{machine}-{}", std::process::id())
    })
}
