//! Bytes on the socket: pacing, chunking, waiting and breaking.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{ReplyEnding, ReplyItem, Response};
use crate::gates::Gates;
use crate::record::ServedOutcome;
use crate::script::{Framing, How, Wait};

/// Events are collected up to this size when nobody asked for their timing.
const COALESCED: usize = 64 << 10;
static FILL: [u8; 32 << 10] = [b'x'; 32 << 10];

/// Why a delivery stopped early.
enum DeliveryStopped {
    ClientGone,
    /// One wait lasted longer than the server's limit.
    Held,
}

impl From<io::Error> for DeliveryStopped {
    fn from(_: io::Error) -> Self {
        Self::ClientGone
    }
}

/// How it went, and whether the connection can carry another request.
pub(crate) struct SentBytes {
    pub outcome: ServedOutcome,
    pub reusable: bool,
}

pub(crate) async fn deliver(
    stream: &mut TcpStream,
    response: Response,
    gates: &Gates,
    hold: Duration,
) -> SentBytes {
    let mut wire = ReplyWire {
        stream,
        gates,
        hold,
        pending: BytesMut::new(),
        chunked: response.chunked,
        chunk: response.chunk,
    };
    // A body that ended by the rules leaves the connection whole, even if it ended too early.
    let proper = matches!(response.ending, ReplyEnding::Complete | ReplyEnding::Inside(How::End));
    let reusable = proper && response.keep_alive;
    match wire.send(response).await {
        Ok(outcome) => SentBytes { outcome, reusable },
        Err(DeliveryStopped::ClientGone) => {
            SentBytes { outcome: ServedOutcome::ClientGone, reusable: false }
        }
        Err(DeliveryStopped::Held) => SentBytes { outcome: ServedOutcome::GaveUp, reusable: false },
    }
}

struct ReplyWire<'a> {
    stream: &'a mut TcpStream,
    gates: &'a Gates,
    hold: Duration,
    pending: BytesMut,
    chunked: bool,
    chunk: Option<usize>,
}

impl ReplyWire<'_> {
    async fn send(&mut self, response: Response) -> Result<ServedOutcome, DeliveryStopped> {
        for wait in &response.due {
            self.wait(wait).await?;
        }
        if let ReplyEnding::Unanswered(how) = response.ending {
            return self.break_off(how).await;
        }
        if let Some(head) = &response.head {
            self.raw(head).await?;
        }
        // Timing asked for means: every event in a write of its own.
        let eager = response.pace.is_some() || response.chunk.is_some();
        let mut first = true;
        for item in response.items {
            if let (Some(pace), ReplyItem::Event { .. }, false) = (response.pace, &item, first) {
                self.wait(&Wait::Pause(pace)).await?;
            }
            first = false;
            self.item(item).await?;
            if eager || self.pending.len() >= COALESCED {
                self.flush().await?;
            }
        }
        self.flush().await?;
        if let ReplyEnding::Inside(how) = response.ending
            && how != How::End
        {
            return self.break_off(how).await;
        }
        if self.chunked {
            self.raw(b"0\r\n\r\n").await?;
        }
        match response.ending {
            ReplyEnding::After(how) => self.break_off(how).await,
            ReplyEnding::Inside(_) => Ok(ServedOutcome::Broken),
            _ => Ok(ServedOutcome::Delivered),
        }
    }

    async fn item(&mut self, item: ReplyItem) -> Result<(), DeliveryStopped> {
        match item {
            ReplyItem::Event { bytes, .. } | ReplyItem::Bytes(bytes) => {
                self.pending.extend_from_slice(&bytes);
            }
            ReplyItem::Wait(wait) => {
                self.flush().await?;
                self.wait(&wait).await?;
            }
            ReplyItem::Flood { head, mut fill, tail, .. } => {
                self.pending.extend_from_slice(&head);
                while fill > 0 {
                    let part = fill.min(FILL.len() as u64);
                    self.pending.extend_from_slice(FILL.get(..part as usize).unwrap_or(&FILL));
                    self.flush().await?;
                    fill -= part;
                }
                self.pending.extend_from_slice(&tail);
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), DeliveryStopped> {
        let body = self.pending.split().freeze();
        let size = self.chunk.unwrap_or(body.len()).max(1);
        for piece in body.chunks(size) {
            let bytes = if self.chunked { in_chunk(piece) } else { Bytes::copy_from_slice(piece) };
            self.raw(&bytes).await?;
        }
        Ok(())
    }

    async fn raw(&mut self, bytes: &[u8]) -> Result<(), DeliveryStopped> {
        match timeout(self.hold, self.stream.write_all(bytes)).await {
            Ok(written) => Ok(written?),
            Err(_) => Err(DeliveryStopped::Held),
        }
    }

    async fn wait(&mut self, wait: &Wait) -> Result<(), DeliveryStopped> {
        let gates = self.gates;
        let waited = async {
            match wait {
                Wait::Pause(pause) => sleep(*pause).await,
                Wait::Gate(name) => gates.pass(name).await,
            }
        };
        tokio::select! {
            biased;
            waited = timeout(self.hold, waited) => waited.map_err(|_| DeliveryStopped::Held),
            () = hangup(self.stream) => Err(DeliveryStopped::ClientGone),
        }
    }

    async fn endless(
        &mut self,
        piece: &[u8],
        every: Duration,
    ) -> Result<ServedOutcome, DeliveryStopped> {
        let piece = if self.chunked { in_chunk(piece) } else { Bytes::copy_from_slice(piece) };
        let hold = self.hold;
        let endless = async {
            loop {
                self.wait(&Wait::Pause(every)).await?;
                self.raw(&piece).await?;
            }
        };
        timeout(hold, endless).await.unwrap_or(Err(DeliveryStopped::Held))
    }

    async fn break_off(&mut self, how: How) -> Result<ServedOutcome, DeliveryStopped> {
        match how {
            How::End => {}
            How::Close => self.stream.shutdown().await?,
            How::Reset => self.stream.set_zero_linger()?,
            How::Stall => {
                return match timeout(self.hold, hangup(self.stream)).await {
                    Ok(()) => Err(DeliveryStopped::ClientGone),
                    Err(_) => Err(DeliveryStopped::Held),
                };
            }
            How::Ping(every) => {
                let ping = Framing::default().event("ping", &serde_json::json!({"type": "ping"}));
                return self.endless(&ping, every).await;
            }
            How::Comment(every) => return self.endless(b": still here\n\n", every).await,
        }
        Ok(ServedOutcome::Broken)
    }
}

fn in_chunk(piece: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(piece.len() + 20);
    out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    out.extend_from_slice(piece);
    out.extend_from_slice(b"\r\n");
    out.freeze()
}

/// Ends when the client has closed the connection; never if it sent more bytes first.
async fn hangup(stream: &TcpStream) {
    match stream.peek(&mut [0; 1]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}
