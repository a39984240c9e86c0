//! Reading HTTP/1.1 requests: heads, bodies by length or in chunks, `Expect: 100-continue`.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::record::Headers;

const MOST_HEADERS: usize = 128;
const MOST_HEAD_BYTES: usize = 64 << 10;
/// What is read and discarded after a refusal, so that the client sees the refusal and no reset.
const DRAINED: Duration = Duration::from_secs(5);

pub(crate) struct Incoming {
    pub method: String,
    pub target: String,
    pub headers: Headers,
    pub body: Bytes,
    pub keep_alive: bool,
}

pub(crate) enum NoRequest {
    /// The client went away, or was silent for too long; there is nobody to answer.
    Gone,
    /// Not a request we serve; the connection cannot be used further.
    Bad { status: u16, message: String },
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

fn bad(status: u16, message: impl Into<String>) -> NoRequest {
    NoRequest::Bad { status, message: message.into() }
}

/// The next request of a connection. `buffer` keeps what was read beyond it.
pub(crate) async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    most_body: usize,
    idle: Duration,
) -> Result<Incoming, NoRequest> {
    timeout(idle, read(stream, buffer, most_body)).await.unwrap_or(Err(NoRequest::Gone))
}

async fn read(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    most_body: usize,
) -> Result<Incoming, NoRequest> {
    let head = loop {
        if let Some(head) = parse_head(buffer)? {
            break head;
        }
        if buffer.len() > MOST_HEAD_BYTES {
            return Err(bad(431, "The request head is too large"));
        }
        more(stream, buffer).await?;
    };
    let length = length(&head.headers)?;
    if matches!(length, Length::Known(bytes) if bytes > most_body) {
        return Err(too_large());
    }
    let continues = head.headers.get("expect").is_some_and(|value| {
        value.eq_ignore_ascii_case("100-continue") && head.minor == 1 && buffer.is_empty()
    });
    if continues {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let body = match length {
        Length::Known(bytes) => {
            while buffer.len() < bytes {
                more(stream, buffer).await?;
            }
            buffer.split_to(bytes).freeze()
        }
        Length::Chunked => chunked(stream, buffer, most_body).await?,
    };
    let wish = head.headers.get("connection").unwrap_or_default().to_ascii_lowercase();
    let keep_alive = head.minor == 1 && !wish.split(',').any(|word| word.trim() == "close");
    let Head { method, target, headers, .. } = head;
    Ok(Incoming { method, target, headers, body, keep_alive })
}

struct Head {
    method: String,
    target: String,
    minor: u8,
    headers: Headers,
}

fn parse_head(buffer: &mut BytesMut) -> Result<Option<Head>, NoRequest> {
    let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut slots);
    let size = match request.parse(buffer) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(bad(400, format!("The request head cannot be read: {error}"))),
    };
    let headers = request
        .headers
        .iter()
        .map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned()));
    let head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        minor: request.version.unwrap_or_default(),
        headers: Headers(headers.collect()),
    };
    buffer.advance(size);
    Ok(Some(head))
}

enum Length {
    Known(usize),
    Chunked,
}

fn length(headers: &Headers) -> Result<Length, NoRequest> {
    let mut lengths = headers.all("content-length");
    let declared = lengths.next();
    match (headers.get("transfer-encoding"), declared) {
        (Some(_), Some(_)) => Err(bad(400, "Both content-length and transfer-encoding are given")),
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => Ok(Length::Chunked),
        (Some(coding), None) => Err(bad(501, format!("transfer-encoding {coding} is not known"))),
        (None, None) => Ok(Length::Known(0)),
        (None, Some(text)) => {
            // `+5` would pass a plain parse.
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if !digits || lengths.any(|other| other != text) {
                return Err(bad(400, "content-length is not one number"));
            }
            text.parse().map(Length::Known).map_err(|_| too_large())
        }
    }
}

async fn chunked(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    most: usize,
) -> Result<Bytes, NoRequest> {
    let mut body = BytesMut::new();
    loop {
        let (start, size) = loop {
            match httparse::parse_chunk_size(buffer) {
                Ok(httparse::Status::Complete(found)) => break found,
                Ok(httparse::Status::Partial) if buffer.len() <= MOST_HEAD_BYTES => {
                    more(stream, buffer).await?;
                }
                _ => return Err(bad(400, "A chunk size of the body cannot be read")),
            }
        };
        buffer.advance(start);
        let size = usize::try_from(size).map_err(|_| too_large())?;
        if size > most.saturating_sub(body.len()) {
            return Err(too_large());
        }
        if size == 0 {
            trailers(stream, buffer).await?;
            return Ok(body.freeze());
        }
        while buffer.len() < size + 2 {
            more(stream, buffer).await?;
        }
        body.extend_from_slice(&buffer.split_to(size));
        if buffer.split_to(2).as_ref() != b"\r\n" {
            return Err(bad(400, "A chunk of the body does not end where it should"));
        }
    }
}

async fn trailers(stream: &mut TcpStream, buffer: &mut BytesMut) -> Result<(), NoRequest> {
    loop {
        match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                let line = buffer.split_to(end + 1);
                if line.trim_ascii().is_empty() {
                    return Ok(());
                }
            }
            None if buffer.len() > MOST_HEAD_BYTES => {
                return Err(bad(400, "The trailers of the body are too large"));
            }
            None => more(stream, buffer).await?,
        }
    }
}

async fn more(stream: &mut TcpStream, buffer: &mut BytesMut) -> Result<(), NoRequest> {
    buffer.reserve(64 << 10);
    match stream.read_buf(buffer).await? {
        0 => Err(NoRequest::Gone),
        _ => Ok(()),
    }
}

fn too_large() -> NoRequest {
    bad(413, "Request exceeds the maximum size")
}

/// Ends a connection whose request was not read to its end.
pub(crate) async fn drain(stream: &mut TcpStream) {
    let rest = async {
        let mut scrap = vec![0; 64 << 10];
        while !matches!(stream.read(&mut scrap).await, Ok(0) | Err(_)) {}
    };
    // Whoever is still sending after that gets the reset.
    let _ = timeout(DRAINED, rest).await;
}
