//! A try that failed: what the loop is told, and what the retry rules need besides. Every text is one line, names
//! the host, and holds neither markup nor secrets.

use crate::deadline::Expired;
use crate::protocol::anthropic_messages::error;
use crate::secret::Secret;
use http::{HeaderMap, StatusCode};
use ostler_core::model::{ModelError, ModelErrorKind};
use reqwest::Url;
use std::error::Error;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Failure {
    pub error: ModelError,
    pub should_retry: Option<bool>,
    /// The provider's own words, from which a remedy may be read.
    pub words: String,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Failure { error, should_retry: None, words: String::new() }
    }
}

/// Who was asked, for texts.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// With the port only if it is not the usual one.
    pub host: String,
    pub host_and_port: String,
    pub proxy: Option<String>,
    /// Where the credential came from.
    pub credential: String,
    pub secret: Secret,
}

impl Peer {
    /// An answer that is no success, or a success that is no event stream.
    pub fn refusal(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        model: &str,
    ) -> Failure {
        let found = error::of_body(body).unwrap_or_default();
        let words = error::words(body);
        let code = status.as_u16();
        let told = if words.is_empty() { String::new() } else { format!(": {words}") };
        let host = &self.host;
        if status.is_success() {
            let kind = error::kind(None, &found);
            let what =
                if found.r#type.is_some() { "an error in place of" } else { "something else than" };
            return self.failure(
                kind,
                None,
                format!("{host} sent {what} an event stream{told}"),
                words,
            );
        }
        let kind = error::kind(Some(code), &found);
        let message = match kind {
            _ if status.is_redirection() => {
                let target = redirect_host(headers);
                format!(
                    "{host} answered {code}, a redirect to {target}, which was not followed: credentials go to the configured host only; set the base URL to the right one"
                )
            }
            ModelErrorKind::Auth => {
                format!("{host} answered {code}{told} (credential: {})", self.credential)
            }
            ModelErrorKind::ModelNotFound => {
                format!("{host} answered {code} for the model `{model}`{told}")
            }
            _ => format!("{host} answered {code}{told}"),
        };
        let mut failure = self.failure(kind, Some(code), message, words);
        failure.error.retry_after = retry_after(headers);
        failure.should_retry = should_retry(headers);
        failure
    }

    /// The request could not be delivered, or no answer came.
    pub fn unreachable(&self, why: &reqwest::Error) -> Failure {
        let cause = match why.is_timeout() {
            true => "it did not answer in time".to_owned(),
            false => error::one_line(&cause(why)),
        };
        let to = &self.host_and_port;
        // The innermost text is not always the telling one: a proxy's certificate error is wrapped twice.
        if chain(why).any(|text| text.contains("certificate")) {
            let message = format!("the certificate of {to} was not accepted: {cause}");
            let failure = self.failure(ModelErrorKind::Unavailable, None, message, String::new());
            return Failure { should_retry: Some(false), ..failure };
        }
        let message = match (&self.proxy, why.is_connect()) {
            (Some(proxy), true) => format!("cannot reach {to} through the proxy {proxy}: {cause}"),
            (None, true) => format!("cannot connect to {to}: {cause}"),
            (Some(proxy), false) => {
                format!("the connection to {to} through the proxy {proxy} failed: {cause}")
            }
            (None, false) => format!("the connection to {to} failed: {cause}"),
        };
        self.failure(ModelErrorKind::Unavailable, None, message, String::new())
    }

    pub fn broken(&self, why: &reqwest::Error) -> Failure {
        let message = format!(
            "the connection to {} broke: {}",
            self.host_and_port,
            error::one_line(&cause(why))
        );
        self.failure(ModelErrorKind::Unavailable, None, message, String::new())
    }

    pub fn late(&self, expired: Expired, started: bool) -> Failure {
        let host = &self.host_and_port;
        let message = match (expired, started) {
            (Expired::Silence(limit) | Expired::Total(limit), false) => {
                format!("{host} did not begin to answer within {}", human(limit))
            }
            (Expired::Silence(limit), true) => format!("{host} sent no event for {}", human(limit)),
            (Expired::Total(limit), true) => {
                format!("the answer of {host} was not complete after {} of waiting", human(limit))
            }
        };
        self.failure(ModelErrorKind::Unavailable, None, message, String::new())
    }

    /// What the parser or the decoder found wrong.
    pub fn misread(&self, kind: ModelErrorKind, message: &str) -> Failure {
        self.failure(kind, None, format!("{}: {message}", self.host), String::new())
    }

    fn failure(
        &self,
        kind: ModelErrorKind,
        status: Option<u16>,
        message: String,
        words: String,
    ) -> Failure {
        let message = self.secret.hide_in(&message);
        Failure {
            error: ModelError { kind, message, status, retry_after: None },
            should_retry: None,
            words,
        }
    }
}

fn redirect_host(headers: &HeaderMap) -> String {
    let target = headers
        .get(http::header::LOCATION)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    match Url::parse(target) {
        Ok(url) => url.host_str().unwrap_or("another address").to_owned(),
        Err(_) => "another path".to_owned(),
    }
}

/// Seconds only: a date would need a clock, and none of the providers we know sends one.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 =
        headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn chain(error: &(dyn Error + 'static)) -> impl Iterator<Item = String> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error.to_string())
    })
}

fn cause(error: &reqwest::Error) -> String {
    chain(error).last().unwrap_or_default()
}

pub(crate) fn human(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        s if s >= 3_600 => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
        s if s >= 120 && s % 60 == 0 => format!("{} min", s / 60),
        s if s >= 120 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn peer() -> Peer {
        Peer {
            host: "api.test".into(),
            host_and_port: "api.test:443".into(),
            proxy: None,
            credential: "ANTHROPIC_API_KEY".into(),
            secret: Secret::new("sk-very-secret"),
        }
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(k, v)| (http::HeaderName::from_static(k), HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn texts_by_status() {
        let body = br#"{"type":"error","error":{"type":"x","message":"bad key sk-very-secret"}}"#;
        let table: &[(u16, &[u8], ModelErrorKind, &str)] = &[
            (
                401,
                body,
                ModelErrorKind::Auth,
                "api.test answered 401: bad key [secret] (credential: ANTHROPIC_API_KEY)",
            ),
            (
                404,
                br#"{"error":{"message":"model: m"}}"#,
                ModelErrorKind::ModelNotFound,
                "api.test answered 404 for the model `m`: model: m",
            ),
            (400, br#"{"message":"no"}"#, ModelErrorKind::BadRequest, "api.test answered 400: no"),
            (503, b"", ModelErrorKind::Unavailable, "api.test answered 503"),
            (
                502,
                b"<html><title>502 Bad Gateway</title>",
                ModelErrorKind::Unavailable,
                "api.test answered 502: a web page titled \"502 Bad Gateway\"",
            ),
            (
                200,
                b"",
                ModelErrorKind::Unavailable,
                "api.test sent something else than an event stream",
            ),
            (
                200,
                br#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                ModelErrorKind::Overloaded,
                "api.test sent an error in place of an event stream: busy",
            ),
            (
                200,
                b"<html>",
                ModelErrorKind::Unavailable,
                "api.test sent something else than an event stream: a web page",
            ),
        ];
        for (status, body, kind, message) in table {
            let status = StatusCode::from_u16(*status).expect("a status");
            let failure = peer().refusal(status, &HeaderMap::new(), body, "m");
            assert_eq!((failure.error.kind, failure.error.message.as_str()), (*kind, *message));
        }
    }

    #[test]
    fn a_redirect_names_the_other_host_only() {
        for (target, named) in [
            ("https://evil.test/v1?key=1", "evil.test"),
            ("/other", "another path"),
            ("", "another path"),
        ] {
            let failure =
                peer().refusal(StatusCode::FOUND, &headers(&[("location", target)]), b"", "m");
            assert!(failure.error.message.contains(named), "{}", failure.error.message);
            assert!(!failure.error.message.contains("key=1"));
            assert_eq!(failure.error.kind, ModelErrorKind::BadRequest);
        }
    }

    #[test]
    fn hints_in_the_headers() {
        let hints = |list| {
            let failure = peer().refusal(StatusCode::TOO_MANY_REQUESTS, &headers(list), b"", "m");
            (failure.error.retry_after, failure.should_retry)
        };
        assert_eq!(hints(&[("retry-after", "2")]), (Some(Duration::from_secs(2)), None));
        assert_eq!(hints(&[("retry-after", "0.5")]), (Some(Duration::from_millis(500)), None));
        assert_eq!(
            hints(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), ("x-should-retry", "false")]),
            (None, Some(false))
        );
        assert_eq!(hints(&[("retry-after", "-1"), ("x-should-retry", "true")]), (None, Some(true)));
        assert_eq!(hints(&[("retry-after", "1e300"), ("x-should-retry", "maybe")]), (None, None));
    }

    #[test]
    fn times_for_people() {
        let table = [
            (90, "90 s"),
            (120, "2 min"),
            (150, "2 min 30 s"),
            (1_800, "30 min"),
            (4_000, "1 h 6 min"),
        ];
        for (seconds, text) in table {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
        assert_eq!(human(Duration::from_millis(250)), "250 ms");
    }
}
