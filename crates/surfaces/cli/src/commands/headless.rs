//! `ostler -p`: one prompt, no terminal.

use super::local::{self, Local};
use super::signals::Signals;
use super::stdin::{self, Given};
use super::watch::Watch;
use super::{cost, no_key, trust};
use crate::args::{Format, RunArgs};
use crate::environment::Environment;
use crate::exit::{self, Code, warn};
use crate::output::{Output, frames, json::JsonOutput, printer, stream_json::StreamJson, text};
use crate::providers::{self, Access};
use crate::wire;
use anyhow::Result;
use ostler::{Engine, Event, Finished, Level, Prepared, TurnStream};
use std::time::{Duration, Instant};

/// The end of a turn does not wait longer than this for the memory; what was begun goes on.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn run(init: &ostler::Init, environment: &Environment, args: &RunArgs) -> Result<Code> {
    let began = Instant::now();
    let prompt = stdin::prompt(args.prompt.as_deref())?;
    let setup = match trust::begin(environment, args) {
        Ok(setup) => setup,
        Err(wrong) => return refused(args.output_format, wrong),
    };
    let environment = &environment.with_defaults(&setup.loaded.own_env);
    let credentials = match providers::access(args, environment, &setup.loaded)? {
        Access::Given(credentials) => credentials,
        Access::Missing(provider) => return Ok(no_key::explain(&provider)),
    };
    let source = credentials.label.clone();
    let options = wire::options(args, environment, &setup, credentials, None)?;
    let denials = text::Denials::of(&options);
    let budgets = options.budgets;
    ostler::block_on(async {
        let engine = match Engine::open(init, options) {
            Ok(engine) => engine,
            Err(error) => return refused(args.output_format, error),
        };
        let mut signals = Signals::new()?;
        for notice in setup.news().iter().chain(engine.notices()) {
            warn(notice);
        }
        let mut output: Box<dyn Output> = match args.output_format {
            Format::Text => Box::new(text::TextOutput::new(denials)),
            Format::Json => Box::new(JsonOutput::new(&engine, began)),
            Format::StreamJson => Box::new(StreamJson::new(&engine, args, &source, began)),
        };
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
            for notice in engine.close_because("other").await {
                warn(&notice);
            }
            engine.memory_news().iter().for_each(|change| warn(&change.to_string()));
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

/// A run that could not begin is told in the format that was asked for, too.
fn refused(format: Format, error: impl Into<anyhow::Error>) -> Result<Code> {
    let error = error.into();
    if format != Format::Text {
        frames::print(&frames::refused(&exit::words(&error)))?;
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
        Prepared::Unknown(why) => {
            output.local(&why)?;
            // Nothing was done: a script must see that.
            Ok(Code::Usage)
        }
    }
}

/// Drives one turn to its end, through interrupts. The first Ctrl+C ends it in order, the second at once.
async fn turn(
    engine: &Engine,
    mut stream: TurnStream,
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
            notice = watch.slow() => output.event(&notice)?,
            event = printer::paced(&mut stream, stopped_by.is_some()) => match watch.seen(event?) {
                Some(Event::Finished(finished)) => {
                    // Nothing follows the end: what is kept of the turn is told before it.
                    let told = tokio::time::timeout(PATIENCE, engine.remember()).await;
                    for text in told.unwrap_or_default() {
                        output.event(&Event::Notice { level: Level::Warning, text })?;
                    }
                    tell_memory(engine, output)?;
                    output.finished(&finished)?;
                    return Ok(code(&finished, stopped_by));
                }
                Some(event) => {
                    output.event(&event)?;
                    tell_memory(engine, output)?;
                }
                None => return Ok(Code::Internal),
            },
        }
    }
}

fn tell_memory(engine: &Engine, output: &mut dyn Output) -> Result<()> {
    engine.memory_news().iter().try_for_each(|change| output.remembered(change))
}

fn code(finished: &Finished, stopped_by: Option<Code>) -> Code {
    match (exit::of_turn(finished), stopped_by) {
        (Code::Interrupted, Some(code)) => code,
        (code, _) => code,
    }
}
