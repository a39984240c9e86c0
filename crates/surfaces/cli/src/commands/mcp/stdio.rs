//! Standard input and output as streams that nobody has to wait for at the end: two threads do the blocking.

use std::io::{Read, Write};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Bytes on the way in each direction.
const ROOM: usize = 64 * 1024;
/// How long the end waits for a client that does not read.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What is still to be written when the writing stream is dropped.
pub struct Writing(oneshot::Receiver<()>);

impl Writing {
    /// Returns when everything is written, or nobody reads it.
    pub async fn end(self) {
        let _ = tokio::time::timeout(LAST_WORDS, self.0).await;
    }
}

/// A stream to read from, one to write to, and the end of the latter.
///
/// # Errors
/// If no thread can be had.
pub fn streams() -> std::io::Result<(DuplexStream, DuplexStream, Writing)> {
    let (read, mut input) = duplex(ROOM);
    let (write, mut output) = duplex(ROOM);
    let runtime = Handle::current();
    let reading = runtime.clone();
    std::thread::Builder::new().name("stdin".into()).spawn(move || {
        let (mut stdin, mut buffer) = (std::io::stdin().lock(), vec![0; ROOM]);
        loop {
            let count = match stdin.read(&mut buffer) {
                Ok(count) if count > 0 => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                _ => return,
            };
            let bytes = buffer.get(..count).unwrap_or_default();
            if reading.block_on(input.write_all(bytes)).is_err() {
                return;
            }
        }
    })?;
    let (done, written) = oneshot::channel();
    std::thread::Builder::new().name("stdout".into()).spawn(move || {
        let (mut stdout, mut buffer) = (std::io::stdout().lock(), vec![0; ROOM]);
        while let Ok(count @ 1..) = runtime.block_on(output.read(&mut buffer)) {
            let bytes = buffer.get(..count).unwrap_or_default();
            if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
                break;
            }
        }
        let _ = done.send(());
    })?;
    Ok((read, write, Writing(written)))
}
