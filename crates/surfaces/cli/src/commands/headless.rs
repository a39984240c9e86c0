//! `ostler -p`: one prompt, or the rest of a turn that was left open; no terminal.

use super::local::{self, Local};
use super::signals::Signals;
use super::{cost, no_key, stdin, trust};
use crate::args::{Format, RunArgs};
use crate::exit::{self, Code, Wrong, warn};
use crate::output::{self, Output, printer};
use anyhow::Result;
use ostler::{Driver, Event, Finished, Host, Input, Prompt, Session, SystemIds, Timestamp};
use ostler_profile::{Access, Environment};
use std::time::Duration;

/// How long jobs are waited for after a result.
const PATIENCE_WITH_JOBS: Duration = Duration::from_secs(5);
/// Turns that begin with the end of a job: the model can start another job in each of them.
const MOST_REPORTS: usize = 100;

pub fn run(init: &ostler::Init, environment: &Environment, args: &RunArgs) -> Result<Code> {
    let began = Timestamp(ostler::now_ms());
    let goes_on = args.resume.is_some() || args.continue_;
    let prompt = stdin::prompt(args.prompt.as_deref(), !goes_on)?;
    let profile = match trust::begin_session(environment, args) {
        Ok(profile) => profile,
        Err(error) => return refused(args.output_format, error),
    };
    let credentials = match profile.access()? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) => return Ok(no_key::explain(&provider)),
    };
    let (source, style) = (credentials.label.clone(), profile.output_styles().chosen);
    let options = unattended(profile.options(credentials)?);
    let budgets = options.host.budgets;
    ostler::block_on(async {
        let opened = Host::open(init, options.host)
            .and_then(|host| Ok((host.session(options.session)?, host)));
        let (session, host) = match opened {
            Ok(opened) => opened,
            Err(error) => return refused(args.output_format, error),
        };
        let mut signals = Signals::new()?;
        profile.news().iter().for_each(|notice| warn(notice));
        let mut output = output::of_run(&session, args, (&source, &style), began);
        let code = async {
            let Some(prompt) = prompt else {
                let driver = match session.can_resume_turn() {
                    true => session.resume_turn()?,
                    false => return refused(args.output_format, nothing_open(&session)),
                };
                return turns(&session, driver, output.as_mut(), &mut signals).await;
            };
            match Local::of(&prompt.text()) {
                Some(Local::Context) => local::print(&session.context(), args.output_format),
                Some(Local::Cost) => {
                    let (cwd, id) = (&session.workspace().cwd.clone(), session.id());
                    let lines = cost::of_session(environment.home()?, cwd, id, budgets)?;
                    output.local(&lines.join("\n")).map(|()| Code::Done)
                }
                Some(Local::Clear) => output.local(local::CLEAR).map(|()| Code::Done),
                Some(Local::Compact(focus)) => {
                    turns(&session, session.compact(focus)?, output.as_mut(), &mut signals).await
                }
                None => {
                    let prompt = Prompt::typed(prompt.typed).with_piped(prompt.piped);
                    turns(&session, session.ask(prompt)?, output.as_mut(), &mut signals).await
                }
            }
        };
        let code = code.await;
        output.done()?;
        session.close("other").await.iter().for_each(|envelope| exit::warn_of(&envelope.event));
        host.close().await;
        if args.verbose && args.output_format == Format::Text {
            session.tool_statistics().iter().for_each(|line| warn(line));
        }
        Ok(signals.end(code).await)
    })?
}

fn nothing_open(session: &Session) -> Wrong {
    let id = session.id();
    Wrong::Usage(format!(
        "the last turn of session {id} is over, so there is nothing to continue. Give a prompt: ostler -p \"…\" --resume {id}"
    ))
}

/// Nobody sees tools arrive later.
fn unattended(mut options: ostler::Options) -> ostler::Options {
    options.session.mcp.first_wait = ostler::McpOptions::UNATTENDED_WAIT;
    options
}

/// A run that could not begin is told in the format that was asked for, too.
fn refused(format: Format, error: impl Into<anyhow::Error>) -> Result<Code> {
    let error = error.into();
    if format != Format::Text {
        let frame = ostler_sdk::refused(&exit::words(&error), &SystemIds);
        printer::print(&ostler_sdk::line(&frame))?;
    }
    Err(error)
}

/// Drives the turn to its end, and those that begin with the end of a background job. The first Ctrl+C ends a turn in
/// order, the second at once. Notices that come before the first turn go to standard error.
async fn turns(
    session: &Session,
    driver: Driver,
    output: &mut dyn Output,
    signals: &mut Signals,
) -> Result<Code> {
    let mut driver = driver.until_quiet(PATIENCE_WITH_JOBS);
    let (mut stopped_by, mut last) = (None, None);
    let (mut has_begun, mut is_running, mut turns) = (false, true, 0);
    loop {
        let envelope = tokio::select! {
            biased;
            caught = signals.next() => match stopped_by {
                Some(Code::Terminated) => return Ok(Code::Terminated),
                None if is_running => {
                    stopped_by = Some(caught);
                    session.send(Input::Interrupt { cancel_queued: true })?;
                    continue;
                }
                _ => return Ok(caught),
            },
            envelope = printer::paced(&mut driver, stopped_by.is_some()) => envelope?,
        };
        let Some(envelope) = envelope else {
            return Ok(last.or(stopped_by).unwrap_or(Code::Internal));
        };
        match &envelope.event {
            // Nothing was done: a script must see that.
            Event::PromptRefused { why } => return output.local(why).map(|()| Code::Usage),
            Event::Notice { .. } if !has_begun => {
                exit::warn_of(&envelope.event);
                continue;
            }
            _ => output.event(&envelope)?,
        }
        has_begun = true;
        match &envelope.event {
            _ if !envelope.agent.is_root() => {}
            Event::TurnStarted { .. } => is_running = true,
            Event::Finished(finished) => {
                let code = code(finished, stopped_by);
                (is_running, turns) = (false, turns + 1);
                if code != Code::Done || turns > MOST_REPORTS {
                    return Ok(code);
                }
                last = Some(code);
            }
            _ => {}
        }
    }
}

fn code(finished: &Finished, stopped_by: Option<Code>) -> Code {
    match (exit::of_turn(finished), stopped_by) {
        (Code::Interrupted, Some(code)) => code,
        (code, _) => code,
    }
}
