//! The signals that end a turn, or the program.

use crate::exit::{self, Code};
use crate::output::printer;
use anyhow::Result;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// After a signal the program waits this long for whoever reads its output, and then ends without.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

pub struct Signals {
    int: Option<Signal>,
    term: Option<Signal>,
    hup: Option<Signal>,
    /// The last one that came.
    caught: Option<Code>,
}

impl Signals {
    /// From now on these signals end nothing by themselves, so nothing may keep them from being heard: output is written
    /// aside. What was ignored at the start stays ignored: `nohup` wants it so, and a shell that runs us in the
    /// background.
    pub fn new() -> Result<Self> {
        printer::start();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        let take = |kind: SignalKind| match ignored >> (kind.as_raw_value() - 1) & 1 {
            0 => signal(kind).map(Some),
            _ => Ok(None),
        };
        Ok(Signals {
            int: take(SignalKind::interrupt())?,
            term: take(SignalKind::terminate())?,
            hup: take(SignalKind::hangup())?,
            caught: None,
        })
    }

    /// The code the program would end with because of it.
    pub async fn next(&mut self) -> Code {
        let code = tokio::select! {
            () = received(&mut self.int) => Code::Interrupted,
            () = received(&mut self.term) => Code::Terminated,
            () = received(&mut self.hup) => Code::Terminated,
        };
        self.caught = Some(code);
        code
    }

    /// What was caught has done its work: a turn was ended, the program continues.
    pub fn forget(&mut self) {
        self.caught = None;
    }

    /// The end of the program: a failure is reported, and what was said is written. Readers may take their time until a
    /// signal comes; then the code says whether all of it was written.
    pub async fn end(&mut self, outcome: Result<Code>) -> Code {
        let code = outcome.unwrap_or_else(|error| exit::report(&error));
        if self.caught.is_none() {
            tokio::select! {
                biased;
                written = printer::written() => return written.map_or_else(|error| failed(error, code), |()| code),
                _ = self.next() => {}
            }
        }
        match tokio::time::timeout(AFTER_SIGNAL, printer::written()).await {
            Ok(_) => code,
            Err(_) => self.caught.unwrap_or(code),
        }
    }
}

/// What could not be written at the end fails a run that went well.
fn failed(error: std::io::Error, code: Code) -> Code {
    match code {
        Code::Done => exit::report(&error.into()),
        code => code,
    }
}

async fn received(signal: &mut Option<Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        std::future::pending::<()>().await;
    }
}

/// The signals that this process ignores, one bit each, from the kernel's description of it.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::ignored;

    #[test]
    fn the_kernel_says_what_is_ignored() {
        assert_eq!(
            ignored("Name:\tx\nSigBlk:\tff\nSigIgn:\t0000000000001003\nSigCgt:\t1\n"),
            0x1003
        );
        assert_eq!(ignored("SigIgn:\tnonsense"), 0);
        assert_eq!(ignored(""), 0);
    }
}
