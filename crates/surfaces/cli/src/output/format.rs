//! The output that a run asked for.

use super::Output;
use super::json::JsonOutput;
use super::screen::Screen;
use super::sink::Standard;
use super::stream_json::StreamJsonOutput;
use super::text::{ScreenOutput, TextOutput};
use crate::args::{Format, RunArgs};
use ostler::{Session, SystemIds, Timestamp};
use ostler_sdk::{Frames, SessionFacts, StreamJson};
use std::io::IsTerminal;
use std::sync::Arc;

/// `source` names the credential in use, and `style` the output style.
pub fn of_run(
    session: &Session,
    args: &RunArgs,
    (source, style): (&str, &str),
    began: Timestamp,
) -> Box<dyn Output> {
    let (sink, verbose) = (Standard, args.verbose);
    let facts = || {
        let facts = SessionFacts::of(session, source, env!("CARGO_PKG_VERSION"));
        Arc::new(SessionFacts { output_style: style.to_owned(), ..facts })
    };
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
