//! What the program says, written by a thread of its own once the program takes signals itself: a reader that stops
//! reading then holds up the turn, but never a signal.
//!
//! What can be written without waiting is written at once: waking a thread for each line would take longer.
//!
//! Before [`start`] everything is written by whoever says it, and a signal ends the program while it waits.

use ostler::{Driver, Envelope};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::{Errno, ReadWriteFlags};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// While this many bytes or more wait to be written, no further event is taken from a turn.
const MOST_WAITING: usize = 64 * 1024;

/// How long the end of the program waits for output that nobody waited for before, such as the report of a defect.
const LAST_WORDS: Duration = Duration::from_secs(2);

static PRINTER: OnceLock<Printer> = OnceLock::new();

#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

/// In one queue, so that the order of both streams is kept where they meet on a terminal.
struct Printer {
    queue: Sender<(Stream, Vec<u8>)>,
    backlog: watch::Sender<Backlog>,
    output: Arc<dyn AsFd + Send + Sync>,
    /// A file takes everything at once.
    is_file: bool,
    /// The kernel can write to the output without waiting; not every kind of file and not every kernel can.
    is_immediate: AtomicBool,
}

#[derive(Clone, Copy, Default)]
struct Backlog {
    bytes: usize,
    /// Why standard output cannot be written any more.
    failed: Option<Errno>,
}

/// From here on nothing is written by the caller. Where no thread can be had, everything stays as it was.
pub fn start() {
    if PRINTER.get().is_none()
        && let Ok(printer) = Printer::start(io::stdout(), io::stderr())
    {
        // Two starts at once do no harm: the second thread ends with its queue.
        let _ = PRINTER.set(printer);
    }
}

/// # Errors
/// If standard output cannot be written; also by what was printed before.
pub fn print(text: &str) -> io::Result<()> {
    match PRINTER.get() {
        Some(printer) => printer.push(Stream::Output, text),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        }
    }
}

/// If standard error is closed, there is nobody to tell.
pub fn print_error(text: &str) {
    let _ = match PRINTER.get() {
        Some(printer) => printer.push(Stream::Errors, text),
        None => io::stderr().lock().write_all(text.as_bytes()),
    };
}

/// The next event of a turn, taken when there is room for what will be said about it. Who is in a hurry, after a signal,
/// does not wait for a reader. Cancel-safe.
///
/// # Errors
/// If standard output cannot be written any more.
pub async fn paced(driver: &mut Driver, is_in_a_hurry: bool) -> io::Result<Option<Arc<Envelope>>> {
    use futures_util::StreamExt;
    if let Some(printer) = PRINTER.get().filter(|_| !is_in_a_hurry) {
        printer.below(MOST_WAITING).await?;
    }
    Ok(driver.next().await)
}

/// Returns when everything is written. Cancel-safe.
///
/// # Errors
/// If standard output cannot be written any more.
pub async fn written() -> io::Result<()> {
    match PRINTER.get() {
        Some(printer) => printer.below(1).await,
        None => Ok(()),
    }
}

/// The last thing a program does: waits a moment for what is still to be written.
pub fn end() {
    let is_waiting = |printer: &Printer| printer.backlog.borrow().bytes > 0;
    if PRINTER.get().is_some_and(is_waiting) {
        let _ = ostler::block_on(async { tokio::time::timeout(LAST_WORDS, written()).await });
    }
}

impl Printer {
    fn start(
        output: impl AsFd + Send + Sync + 'static,
        errors: impl AsFd + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, waiting) = channel();
        let backlog = watch::Sender::new(Backlog::default());
        let (shared, output) = (backlog.clone(), Arc::new(output));
        let sink = Arc::clone(&output);
        let work = move || write_queue(&waiting, &shared, &*sink, &errors);
        std::thread::Builder::new().name("printer".into()).spawn(work)?;
        let is_file = rustix::fs::fstat(&*output)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        Ok(Printer { queue, backlog, output, is_file, is_immediate: true.into() })
    }

    /// Never waits.
    fn push(&self, stream: Stream, text: &str) -> io::Result<()> {
        let Backlog { bytes, failed } = *self.backlog.borrow();
        if let (Stream::Output, Some(error)) = (stream, failed) {
            return Err(error.into());
        }
        let written = match stream {
            // Nothing may overtake what waits.
            Stream::Output if bytes == 0 => self.write_now(text.as_bytes()),
            Stream::Output | Stream::Errors => 0,
        };
        let rest = text.as_bytes().get(written..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        self.backlog.send_modify(|backlog| backlog.bytes += rest.len());
        let sent = self.queue.send((stream, rest.to_vec()));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// As much as can be written without waiting. An error is left to the thread, which meets it again.
    fn write_now(&self, bytes: &[u8]) -> usize {
        if !self.is_immediate.load(Ordering::Relaxed) {
            return 0;
        }
        // Where the file is: a pipe has no other place.
        let here = u64::MAX;
        let slices = [IoSlice::new(bytes)];
        let written = match self.is_file {
            true => rustix::io::write(&self.output, bytes),
            false => rustix::io::pwritev2(&self.output, &slices, here, ReadWriteFlags::NOWAIT),
        };
        match written {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => {
                self.is_immediate.store(false, Ordering::Relaxed);
                0
            }
        }
    }

    /// Returns when fewer bytes than these wait to be written.
    async fn below(&self, bytes: usize) -> io::Result<()> {
        let mut backlog = self.backlog.subscribe();
        let failed = match backlog.wait_for(|backlog| backlog.bytes < bytes).await {
            Ok(backlog) => backlog.failed,
            // It lives as long as we do.
            Err(_) => None,
        };
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn write_queue(
    waiting: &Receiver<(Stream, Vec<u8>)>,
    backlog: &watch::Sender<Backlog>,
    output: &impl AsFd,
    errors: &impl AsFd,
) {
    let mut failed = None;
    while let Ok((stream, bytes)) = waiting.recv() {
        match stream {
            // What follows a failed write would be read as if nothing were missing.
            Stream::Output if failed.is_some() => {}
            Stream::Output => failed = write_all(output, &bytes).err(),
            Stream::Errors => _ = write_all(errors, &bytes),
        }
        backlog.send_modify(|backlog| {
            backlog.bytes -= bytes.len();
            backlog.failed = failed;
        });
    }
}

fn write_all(stream: &impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(stream, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            // Others share the pipe or the terminal and have made it so.
            Err(Errno::AGAIN) => _ = poll(&mut [PollFd::new(stream, PollFlags::OUT)], None),
            // Closed, or opened for reading only: as good as nobody who reads.
            Err(Errno::BADF) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::io::Read;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn is_ready(future: impl Future<Output = io::Result<()>>) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// More than a pipe holds, so that the thread is stuck in it.
    fn flood() -> String {
        "x".repeat(1 << 20)
    }

    #[test]
    fn nobody_waits_to_say_something_and_the_next_event_waits_for_the_reader() {
        let (mut reader, writer) = io::pipe().unwrap();
        let (mut heard, errors) = io::pipe().unwrap();
        let printer = Printer::start(writer, errors).unwrap();
        printer.push(Stream::Output, &flood()).unwrap();
        printer.push(Stream::Errors, "after it").unwrap();
        assert!(!is_ready(printer.below(MOST_WAITING)), "nobody reads");
        let mut all = vec![0; 1 << 20];
        reader.read_exact(&mut all).unwrap();
        let mut word = [0; 8];
        heard.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"after it");
        ostler::block_on(printer.below(1)).unwrap().unwrap();
    }

    #[test]
    fn a_reader_that_went_away_is_an_error_for_what_follows() {
        let (reader, writer) = io::pipe().unwrap();
        let (mut heard, errors) = io::pipe().unwrap();
        let printer = Printer::start(writer, errors).unwrap();
        printer.push(Stream::Output, &flood()).unwrap();
        drop(reader);
        let error = ostler::block_on(printer.below(1)).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(printer.push(Stream::Output, "more").is_err());
        printer.push(Stream::Errors, "still").unwrap();
        let mut word = [0; 5];
        heard.read_exact(&mut word).unwrap();
        // A closed standard error is nobody's failure.
        drop(heard);
        printer.push(Stream::Errors, "lost").unwrap();
    }

    /// Some of it is written at once and some by the thread.
    #[test]
    fn nothing_overtakes_what_waits() {
        let (mut reader, writer) = io::pipe().unwrap();
        let printer = Printer::start(writer, io::stderr()).unwrap();
        let reading = std::thread::spawn(move || {
            let mut all = String::new();
            reader.read_to_string(&mut all).map(|_| all)
        });
        let lines: Vec<String> = (0..50_000).map(|number| format!("{number}\n")).collect();
        lines.iter().for_each(|line| printer.push(Stream::Output, line).unwrap());
        ostler::block_on(printer.below(1)).unwrap().unwrap();
        drop(printer);
        assert!(reading.join().unwrap().unwrap() == lines.concat());
    }

    #[test]
    fn a_pipe_that_others_made_non_blocking_is_waited_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let flags = rustix::fs::fcntl_getfl(&writer).unwrap() | rustix::fs::OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&writer, flags).unwrap();
        let printer = Printer::start(writer, io::stderr()).unwrap();
        printer.push(Stream::Output, &flood()).unwrap();
        let mut all = vec![0; 1 << 20];
        reader.read_exact(&mut all).unwrap();
        assert!(all.iter().all(|byte| *byte == b'x'));
        ostler::block_on(printer.below(1)).unwrap().unwrap();
    }
}
