//! Response heads, and the usual words of an error status.

use std::fmt::Write;

use bytes::Bytes;
use serde_json::json;

pub(super) fn error_body(kind: &str, message: &str, request_id: &str) -> Bytes {
    let error = json!({"type": kind, "message": message});
    json!({"type": "error", "error": error, "request_id": request_id}).to_string().into()
}

pub(super) fn fixed(
    status: u16,
    content_type: &str,
    length: usize,
    request_id: &str,
    extra: &[(String, String)],
) -> Bytes {
    let mut head = start(status, request_id, extra);
    if !content_type.is_empty() {
        line(&mut head, "content-type", content_type);
    }
    if status != 204 && status != 304 {
        line(&mut head, "content-length", &length.to_string());
    }
    head.push_str("\r\n");
    head.into()
}

pub(super) fn streaming(request_id: &str, extra: &[(String, String)]) -> Bytes {
    let mut head = start(200, request_id, extra);
    line(&mut head, "content-type", "text/event-stream; charset=utf-8");
    line(&mut head, "cache-control", "no-cache");
    line(&mut head, "transfer-encoding", "chunked");
    head.push_str("\r\n");
    head.into()
}

fn start(status: u16, request_id: &str, extra: &[(String, String)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    line(&mut head, "request-id", request_id);
    for (name, value) in extra {
        line(&mut head, name, value);
    }
    head
}

fn line(head: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = write!(head, "{name}: {value}\r\n");
}

pub(super) fn usual_kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        408 | 504 => "timeout_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

pub(super) fn usual_status(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

pub(super) fn usual_message(status: u16) -> &'static str {
    match status {
        401 => "invalid x-api-key",
        429 => "This request would exceed the rate limit.",
        413 => "Request exceeds the maximum size",
        500 => "Internal server error",
        529 => "Overloaded",
        _ => reason(status),
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Scripted",
    }
}
