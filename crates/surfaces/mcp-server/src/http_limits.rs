//! What is checked about a request before anybody reads it as MCP.

use crate::token::Token;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::time::Duration;

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Where the server is found.
const PATH: &str = "/mcp";
/// Bytes of a request.
pub(crate) const LARGEST_BODY: usize = 4 * 1024 * 1024;
/// How long a request may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The request with its whole body, or the answer to one that is refused.
pub(crate) async fn admitted(
    request: Request<Incoming>,
    token: Option<&Token>,
) -> Result<Request<Bytes>, Box<Answer>> {
    if token.is_some_and(|token| !shows(request.headers(), token)) {
        return Err(Box::new(unauthorized()));
    }
    if request.uri().path() != PATH {
        return Err(refused(StatusCode::NOT_FOUND, "there is nothing here but /mcp"));
    }
    if announced(request.headers()).is_some_and(|length| length > LARGEST_BODY as u64) {
        return Err(too_large());
    }
    let (parts, body) = request.into_parts();
    let collected = Limited::new(body, LARGEST_BODY).collect();
    match tokio::time::timeout(BODY_TIME, collected).await {
        Ok(Ok(body)) => Ok(Request::from_parts(parts, body.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(refused(StatusCode::BAD_REQUEST, "the request broke off")),
        Err(_) => Err(refused(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")),
    }
}

fn shows(headers: &HeaderMap, token: &Token) -> bool {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let only = shown.next().filter(|_| shown.next().is_none());
    only.and_then(|value| value.to_str().ok()).is_some_and(|value| token.is_shown_by(value))
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn unauthorized() -> Answer {
    let mut answer = *refused(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong");
    let wants = header::HeaderValue::from_static("Bearer");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, wants);
    answer
}

fn too_large() -> Box<Answer> {
    refused(StatusCode::PAYLOAD_TOO_LARGE, "a request can have at most 4 MiB")
}

pub(crate) fn refused(status: StatusCode, why: &'static str) -> Box<Answer> {
    let mut answer = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *answer.status_mut() = status;
    Box::new(answer)
}
