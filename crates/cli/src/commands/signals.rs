//! The signals that end a turn, or the program.

use crate::exit::Code;
use anyhow::Result;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub struct Signals {
    int: Signal,
    term: Signal,
    hup: Signal,
}

impl Signals {
    /// From now on these signals end nothing by themselves.
    pub fn new() -> Result<Self> {
        Ok(Signals {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// The code the program would end with because of it.
    pub async fn next(&mut self) -> Code {
        tokio::select! {
            _ = self.int.recv() => Code::Interrupted,
            _ = self.term.recv() => Code::Terminated,
            _ = self.hup.recv() => Code::Terminated,
        }
    }
}
