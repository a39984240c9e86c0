//! `ostler -p`: one prompt, no terminal.

use super::local::{self, Local};
use super::signals::Signals;
use super::stdin::{self, Given};
use super::watch::Watch;
use super::{cost, no_key, trust};
use crate::args::{Format, RunArgs};
use crate::exit::{self, Code, warn};
use crate::output::json::JsonOutput;
use crate::output::screen::Screen;
use crate::output::sink::Standard;
use crate::output::stream_json::StreamJsonOutput;
use crate::output::text::{ScreenOutput, TextOutput};
use crate::output::{Output, printer};
use anyhow::Result;
use ostler::{Engine, Event, EventStream, Finished, Prepared, SystemIds, Timestamp};
use ostler_profile::{Access, Environment};
use ostler_sdk::{Frames, SessionFacts, StreamJson};
use std::io::IsTerminal;
use std::sync::Arc;

pub fn run(init: &ostler::Init, environment: &Environment, args: &RunArgs) -> Result<Code> {
    let began = Timestamp(ostler::now_ms());
    let prompt = stdin::prompt(args.prompt.as_deref())?;
    let profile = match trust::begin(environment, args) {
        Ok(profile) => profile,
        Err(error) => return refused(args.output_format, error),
    };
    let credentials = match profile.access()? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) => return Ok(no_key::explain(&provider)),
    };
    let source = credentials.label.clone();
    let options = profile.options(credentials)?;
    let budgets = options.budgets;
    ostler::block_on(async {
        let engine = match Engine::open(init, options) {
            Ok(engine) => engine,
            Err(error) => return refused(args.output_format, error),
        };
        let mut signals = Signals::new()?;
        profile.news().iter().for_each(|notice| warn(notice));
        let mut output = output(&engine, args, &source, began);
        let answered = async {
            let mut watch = Watch::new(environment, engine.session_id())?;
            let code = match Local::of(&prompt.text()) {
                Some(Local::Context) => local::print(&engine.context(), args.output_format),
                Some(Local::Cost) => {
                    let (cwd, session) = (&engine.workspace().cwd, engine.session_id());
                    let lines = cost::of_session(environment.home()?, cwd, session, budgets)?;
                    output.local(&lines.join("\n")).map(|()| Code::Done)
                }
                Some(Local::Clear) => output.local(local::CLEAR).map(|()| Code::Done),
                local => {
                    let output = output.as_mut();
                    run_turn(&engine, &prompt, local, output, &mut watch, &mut signals).await
                }
            };
            for envelope in engine.close_because("other").await {
                watch.see(&envelope);
                exit::warn_of(&envelope.event);
            }
            let stats = watch.finish();
            if args.verbose && args.output_format == Format::Text {
                stats.iter().for_each(|line| warn(line));
            }
            code
        };
        let answered = answered.await;
        Ok(signals.end(answered).await)
    })?
}

fn output(engine: &Engine, args: &RunArgs, key_source: &str, began: Timestamp) -> Box<dyn Output> {
    let (sink, verbose) = (Standard, args.verbose);
    let facts = || Arc::new(SessionFacts::of(engine, key_source, env!("CARGO_PKG_VERSION")));
    let ids = Arc::new(SystemIds);
    match args.output_format {
        Format::Text if std::io::stdout().is_terminal() => {
            Box::new(ScreenOutput { screen: Screen::new(), verbose })
        }
        Format::Text => Box::new(TextOutput { sink, verbose }),
        Format::Json => Box::new(JsonOutput { frames: Frames::new(facts(), ids, began), sink }),
        Format::StreamJson => {
            let lines = StreamJson::new(facts(), ids, began, args.include_partial_messages);
            Box::new(StreamJsonOutput { lines, sink })
        }
    }
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

/// A prompt is looked at before it is sent: it may want a skill, or only room.
async fn run_turn(
    engine: &Engine,
    given: &Given,
    local: Option<Local>,
    output: &mut dyn Output,
    watch: &mut Watch,
    signals: &mut Signals,
) -> Result<Code> {
    if let Some(Local::Compact(words)) = local {
        return turn(engine, engine.compact(words), output, watch, signals).await;
    }
    let prepared = tokio::select! {
        biased;
        caught = signals.next() => return Ok(caught),
        prepared = engine.prepare(given.command()) => prepared,
    };
    match prepared {
        Prepared::Prompt(prompt) => {
            let prompt = given.marked(prompt);
            turn(engine, engine.submit_prepared(prompt), output, watch, signals).await
        }
        Prepared::Unknown { why, events } => {
            events.iter().for_each(|envelope| exit::warn_of(&envelope.event));
            output.local(&why)?;
            // Nothing was done: a script must see that.
            Ok(Code::Usage)
        }
    }
}

/// Drives one turn to its end, through interrupts. The first Ctrl+C ends it in order, the second at once.
async fn turn(
    engine: &Engine,
    mut stream: EventStream,
    output: &mut dyn Output,
    watch: &mut Watch,
    signals: &mut Signals,
) -> Result<Code> {
    let mut stopped_by = None;
    loop {
        tokio::select! {
            biased;
            caught = signals.next() => match stopped_by {
                Some(Code::Terminated) => return Ok(Code::Terminated),
                Some(_) => return Ok(caught),
                None => {
                    stopped_by = Some(caught);
                    engine.interrupt();
                }
            },
            envelope = printer::paced(&mut stream, stopped_by.is_some()) => {
                let Some(envelope) = envelope? else { return Ok(Code::Internal) };
                watch.see(&envelope);
                output.event(&envelope)?;
                if let Event::Finished(finished) = &envelope.event {
                    return Ok(code(finished, stopped_by));
                }
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
