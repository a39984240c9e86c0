//! `ostler -p`: one prompt, or the rest of a turn that was left open; no terminal.

use super::local::{self, Local};
use super::no_key::{self, check_continue};
use super::signals::Signals;
use super::{cost, stdin, trust};
use crate::args::{Format, RunArgs};
use crate::exit::{self, Code, Wrong, warn};
use crate::output::json::JsonOutput;
use crate::output::screen::Screen;
use crate::output::sink::Standard;
use crate::output::stream_json::StreamJsonOutput;
use crate::output::text::{ScreenOutput, TextOutput};
use crate::output::{Output, printer};
use anyhow::Result;
use ostler::{Driver, Event, Finished, Host, Input, Prompt, Session, SystemIds, Timestamp};
use ostler_profile::{Access, Environment, Profile};
use ostler_sdk::{Frames, SessionFacts, StreamJson};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

/// How long jobs are waited for after a result.
const PATIENCE_WITH_JOBS: Duration = Duration::from_secs(5);
/// Turns that begin with the end of a job: the model can start another job in each of them.
const MOST_REPORTS: usize = 100;

pub fn run(init: &ostler::Init, environment: &Environment, args: &RunArgs) -> Result<Code> {
    let began = Timestamp(ostler::now_ms());
    let goes_on = args.resume.is_some() || args.continue_;
    let prompt = stdin::prompt(args.prompt.as_deref(), !goes_on)?;
    let profile = match begin(environment, args) {
        Ok(profile) => profile,
        Err(error) => return refused(args.output_format, error),
    };
    let credentials = match profile.access()? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) => return Ok(no_key::explain(&provider)),
    };
    let source = credentials.label.clone();
    let options = profile.options(credentials)?;
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
        let mut output = output(&session, args, &source, began);
        let code = async {
            let Some(prompt) = prompt else {
                let driver = match session.can_resume_turn() {
                    true => session.resume_turn()?,
                    false => return refused(args.output_format, nothing_open(&session)),
                };
                return turn(&session, driver, output.as_mut(), &mut signals).await;
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
                    turn(&session, session.compact(focus)?, output.as_mut(), &mut signals).await
                }
                None => {
                    let prompt = Prompt::typed(prompt.typed).with_piped(prompt.piped);
                    turn(&session, session.ask(prompt)?, output.as_mut(), &mut signals).await
                }
            }
        };
        let code = reports(code.await, &session, output.as_mut(), &mut signals).await;
        output.done()?;
        session.close("other").await.iter().for_each(|envelope| exit::warn_of(&envelope.event));
        host.close().await;
        if args.verbose && args.output_format == Format::Text {
            session.tool_statistics().iter().for_each(|line| warn(line));
        }
        Ok(signals.end(code).await)
    })?
}

fn begin(environment: &Environment, args: &RunArgs) -> Result<Profile> {
    let profile = trust::begin(environment, args)?;
    check_continue(&profile, args)?;
    Ok(profile)
}

fn output(session: &Session, args: &RunArgs, source: &str, began: Timestamp) -> Box<dyn Output> {
    let (sink, verbose) = (Standard, args.verbose);
    let facts = || Arc::new(SessionFacts::of(session, source, env!("CARGO_PKG_VERSION")));
    let ids = Arc::new(SystemIds);
    match args.output_format {
        Format::Text if std::io::stdout().is_terminal() => {
            Box::new(ScreenOutput { screen: Screen::new(), verbose })
        }
        Format::Text => Box::new(TextOutput { sink, verbose }),
        Format::Json => {
            Box::new(JsonOutput { frames: Frames::new(facts(), ids, began), sink, result: None })
        }
        Format::StreamJson => {
            let lines = StreamJson::new(facts(), ids, began, args.include_partial_messages);
            Box::new(StreamJsonOutput { lines, sink })
        }
    }
}

fn nothing_open(session: &Session) -> Wrong {
    let id = session.id();
    Wrong::Usage(format!(
        "the last turn of session {id} is over, so there is nothing to continue. Give a prompt: ostler -p \"…\" --resume {id}"
    ))
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

/// Drives one turn to its end, through interrupts. The first Ctrl+C ends it in order, the second at once.
async fn turn(
    session: &Session,
    driver: Driver,
    output: &mut dyn Output,
    signals: &mut Signals,
) -> Result<Code> {
    rest_of_turn(session, driver, output, signals, false).await
}

/// What comes before a turn has begun goes to standard error.
async fn rest_of_turn(
    session: &Session,
    mut driver: Driver,
    output: &mut dyn Output,
    signals: &mut Signals,
    mut has_begun: bool,
) -> Result<Code> {
    let mut stopped_by = None;
    loop {
        let envelope = tokio::select! {
            biased;
            caught = signals.next() => match stopped_by {
                Some(Code::Terminated) => return Ok(Code::Terminated),
                Some(_) => return Ok(caught),
                None => {
                    stopped_by = Some(caught);
                    session.send(Input::Interrupt { cancel_queued: true })?;
                    continue;
                }
            },
            envelope = printer::paced(&mut driver, stopped_by.is_some()) => envelope?,
        };
        let Some(envelope) = envelope else { return Ok(stopped_by.unwrap_or(Code::Internal)) };
        match &envelope.event {
            // Nothing was done: a script must see that.
            Event::PromptRefused { why } => return output.local(why).map(|()| Code::Usage),
            Event::Notice { .. } if !has_begun => exit::warn_of(&envelope.event),
            event => {
                has_begun = true;
                output.event(&envelope)?;
                if let (true, Event::Finished(finished)) = (envelope.agent.is_root(), event) {
                    return Ok(code(finished, stopped_by));
                }
            }
        }
    }
}

/// Background jobs that end soon are told to the model, a turn each, and so are all agents in the background. Commands that
/// run longer end with the session.
async fn reports(
    first: Result<Code>,
    session: &Session,
    output: &mut dyn Output,
    signals: &mut Signals,
) -> Result<Code> {
    let mut last = first?;
    for _ in 0..MOST_REPORTS {
        if last != Code::Done || !(session.has_running_jobs() || session.has_report()) {
            break;
        }
        match next_report(session, output, signals).await? {
            NextReport::Signal(caught) => return Ok(caught),
            NextReport::None => break,
            NextReport::Turn(driver) => {
                last = rest_of_turn(session, driver, output, signals, true).await?;
            }
        }
    }
    Ok(last)
}

enum NextReport {
    Signal(Code),
    /// Nothing ended in time.
    None,
    /// The end of a job has started a turn.
    Turn(Driver),
}

/// Meanwhile what agents do is shown. An agent ends at the latest when its time is up, and its end may take a moment to start
/// a turn.
async fn next_report(
    session: &Session,
    output: &mut dyn Output,
    signals: &mut Signals,
) -> Result<NextReport> {
    let mut driver = session.drive()?;
    let patience = tokio::time::sleep(PATIENCE_WITH_JOBS);
    tokio::pin!(patience);
    let mut has_agents = session.has_background_agents();
    loop {
        tokio::select! {
            biased;
            caught = signals.next() => return Ok(NextReport::Signal(caught)),
            envelope = printer::paced(&mut driver, false) => {
                let Some(envelope) = envelope? else { return Ok(NextReport::None) };
                output.event(&envelope)?;
                if envelope.agent.is_root() && matches!(envelope.event, Event::TurnStarted { .. }) {
                    return Ok(NextReport::Turn(driver));
                }
            }
            () = &mut patience => {
                let had_agents = std::mem::replace(&mut has_agents, session.has_background_agents());
                if !has_agents && !had_agents {
                    return Ok(NextReport::None);
                }
                patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE_WITH_JOBS);
            }
        }
    }
}

fn code(finished: &Finished, stopped_by: Option<Code>) -> Code {
    match (exit::of_turn(finished), stopped_by) {
        (Code::Interrupted, Some(code)) => code,
        (code, _) => code,
    }
}
