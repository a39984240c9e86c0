//! A try that failed: what the loop is told, and what the retry rules need besides. Every text is one line, names
//! the host, and holds neither markup nor secrets.

use crate::deadline::Expired;
use crate::plain_text::one_line;
use crate::protocol::Refusal;
use crate::secret::Secret;
use http::HeaderMap;
use ostler_core::model::{ModelError, ModelErrorKind};
use ostler_core::time::Clock;
use reqwest::Url;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct AttemptFailure {
    pub error: ModelError,
    pub should_retry: Option<bool>,
    /// More repeats than these would not help.
    pub repeats: Option<u32>,
    /// What the provider said, from which a remedy may be read.
    pub refusal: Option<Refusal>,
}

impl From<ModelError> for AttemptFailure {
    fn from(error: ModelError) -> Self {
        AttemptFailure { error, should_retry: None, repeats: None, refusal: None }
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
    pub clock: Now,
}

/// What the time is, if anybody said.
#[derive(Clone, Default)]
pub(crate) struct Now(pub Option<Arc<dyn Clock>>);

impl std::fmt::Debug for Now {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Now")
    }
}

impl Peer {
    /// A reply that is no answer: it is no success, or of another type.
    pub fn refused(&self, refusal: Refusal, headers: &HeaderMap, model: &str) -> AttemptFailure {
        let Refusal { kind, words, .. } = &refusal;
        let told = if words.is_empty() { String::new() } else { format!(": {words}") };
        let (host, code) = (&self.host, refusal.status);
        let message = match (code, kind) {
            (200..300, _) => {
                let what =
                    if refusal.is_error { "an error instead of" } else { "something other than" };
                format!("{host} sent {what} an event stream{told}")
            }
            (300..400, _) => {
                let target = redirect_host(headers);
                format!(
                    "{host} answered {code}, a redirect to {target}, which was not followed: credentials go to the configured host only; set the base URL to the right one"
                )
            }
            (_, ModelErrorKind::Auth) => {
                format!("{host} answered {code}{told} (credential: {})", self.credential)
            }
            (_, ModelErrorKind::ModelNotFound) => {
                format!("{host} answered {code} for the model `{model}`{told}")
            }
            _ => format!("{host} answered {code}{told}"),
        };
        let failed = !(200..300).contains(&code);
        let mut failure = self.failure(*kind, failed.then_some(code), message);
        failure.error.limits = refusal.limits;
        if failed {
            let asked = refusal.retry.after;
            failure.error.retry_after = asked.or_else(|| retry_after(headers, &self.clock));
        }
        failure.should_retry = refusal.retry.worthwhile;
        failure.refusal = Some(refusal);
        failure
    }

    /// The request could not be delivered, or no answer came.
    pub fn unreachable(&self, why: &reqwest::Error) -> AttemptFailure {
        let cause = match why.is_timeout() {
            true => "it did not answer in time".to_owned(),
            false => one_line(&cause(why)),
        };
        let to = &self.host_and_port;
        // The innermost text is not always the telling one: a proxy's certificate error is wrapped twice.
        if chain(why).any(|text| text.contains("certificate")) {
            let message = format!("the certificate of {to} was not accepted: {cause}");
            let failure = self.failure(ModelErrorKind::Unavailable, None, message);
            return AttemptFailure { should_retry: Some(false), ..failure };
        }
        if let Some(failure) = self.unknown_host(why, &cause) {
            return failure;
        }
        let message = match (&self.proxy, why.is_connect()) {
            (Some(proxy), true) => format!("cannot reach {to} through the proxy {proxy}: {cause}"),
            (None, true) => format!("cannot connect to {to}: {cause}"),
            (Some(proxy), false) => {
                format!("the connection to {to} through the proxy {proxy} failed: {cause}")
            }
            (None, false) => format!("the connection to {to} failed: {cause}"),
        };
        self.failure(ModelErrorKind::Unavailable, None, message)
    }

    /// A name that does not exist will not exist in three minutes either. A resolver that cannot say so now may be
    /// able to in a moment, but a machine without a network is not waited for.
    fn unknown_host(&self, why: &reqwest::Error, cause: &str) -> Option<AttemptFailure> {
        let lookup = lookup(chain(why))?;
        let to = &self.host_and_port;
        let (doing, hint) = match &self.proxy {
            Some(proxy) => {
                (format!("cannot reach {to} through the proxy {proxy}"), "check the proxy setting")
            }
            None => (format!("cannot connect to {to}"), "check the base URL"),
        };
        let message = match lookup {
            Lookup::NoSuchHost => format!("{doing}: the host does not exist, {hint} ({cause})"),
            Lookup::NoAnswer => format!("{doing}: its name cannot be looked up ({cause})"),
        };
        let failure = self.failure(ModelErrorKind::Unavailable, None, message);
        Some(match lookup {
            Lookup::NoSuchHost => AttemptFailure { should_retry: Some(false), ..failure },
            Lookup::NoAnswer => AttemptFailure { repeats: Some(MOST_LOOKUPS - 1), ..failure },
        })
    }

    pub fn broken(&self, why: &reqwest::Error) -> AttemptFailure {
        let message =
            format!("the connection to {} broke: {}", self.host_and_port, one_line(&cause(why)));
        self.failure(ModelErrorKind::Unavailable, None, message)
    }

    pub fn late(&self, expired: Expired, started: bool) -> AttemptFailure {
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
        self.failure(ModelErrorKind::Unavailable, None, message)
    }

    /// What was wrong with an answer.
    pub fn misread(&self, error: &ModelError) -> AttemptFailure {
        let message = format!("{}: {}", self.host, error.message);
        let mut failure = self.failure(error.kind, None, message);
        failure.error.limits = error.limits;
        failure
    }

    fn failure(
        &self,
        kind: ModelErrorKind,
        status: Option<u16>,
        message: String,
    ) -> AttemptFailure {
        let message = self.secret.hide_in(&message);
        AttemptFailure::from(ModelError { status, ..ModelError::new(kind, message) })
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

/// Seconds, or a date. A date is compared with the sender's own clock where it told us the time, because ours may be
/// wrong; one that has passed means "now".
fn retry_after(headers: &HeaderMap, clock: &Now) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = text(http::header::RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = date(asked)?;
    let local = || Some(clock.0.as_ref()?.now().0.cast_signed());
    let now = text(http::header::DATE).and_then(date).or_else(local)?;
    Some(Duration::from_millis(u64::try_from(until.saturating_sub(now)).unwrap_or(0)))
}

/// Milliseconds since the epoch of a date such as `Wed, 21 Oct 2026 07:28:00 GMT`.
fn date(text: &str) -> Option<i64> {
    let zoned =
        jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text);
    zoned.ok().map(|time| time.as_millisecond())
}

/// How often a name is looked up that the resolver says nothing about.
const MOST_LOOKUPS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lookup {
    NoSuchHost,
    NoAnswer,
}

/// The words of glibc, musl and macOS; there is no other sign.
const NO_SUCH_HOST: [&str; 5] = [
    "name or service not known",
    "name does not resolve",
    "nodename nor servname",
    "no address associated",
    "no such host",
];

fn lookup(mut causes: impl Iterator<Item = String>) -> Option<Lookup> {
    // The resolver's error is wrapped in this one.
    causes.find(|text| text.contains("dns error"))?;
    let said = causes.last().unwrap_or_default().to_lowercase();
    let gone = NO_SUCH_HOST.iter().any(|words| said.contains(words));
    Some(if gone { Lookup::NoSuchHost } else { Lookup::NoAnswer })
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
    use crate::protocol::Protocol as _;
    use crate::protocol::anthropic_messages::AnthropicMessages;
    use http::HeaderValue;

    fn peer() -> Peer {
        Peer {
            host: "api.test".into(),
            host_and_port: "api.test:443".into(),
            proxy: None,
            credential: "THE_KEY".into(),
            secret: Secret::new("sk-very-secret"),
            clock: Now::default(),
        }
    }

    fn refused(status: u16, headers: &HeaderMap, body: &[u8]) -> AttemptFailure {
        let refusal = AnthropicMessages.classify(status, headers, body);
        peer().refused(refusal, headers, "m")
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
                "api.test answered 401: bad key [secret] (credential: THE_KEY)",
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
                "api.test sent something other than an event stream",
            ),
            (
                200,
                br#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                ModelErrorKind::Overloaded,
                "api.test sent an error instead of an event stream: busy",
            ),
            (
                200,
                b"<html>",
                ModelErrorKind::Unavailable,
                "api.test sent something other than an event stream: a web page",
            ),
        ];
        for (status, body, kind, message) in table {
            let failure = refused(*status, &HeaderMap::new(), body);
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
            let failure = refused(302, &headers(&[("location", target)]), b"");
            assert!(failure.error.message.contains(named), "{}", failure.error.message);
            assert!(!failure.error.message.contains("key=1"));
            assert_eq!(failure.error.kind, ModelErrorKind::BadRequest);
        }
    }

    #[test]
    fn hints_in_the_headers() {
        let hints = |list| {
            let failure = refused(429, &headers(list), b"");
            (failure.error.retry_after, failure.should_retry)
        };
        assert_eq!(hints(&[("retry-after", "2")]), (Some(Duration::from_secs(2)), None));
        assert_eq!(hints(&[("retry-after", "0.5")]), (Some(Duration::from_millis(500)), None));
        assert_eq!(
            hints(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), ("x-should-retry", "false")]),
            (None, Some(false))
        );
        const DATE: (&str, &str) = ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT");
        const SENT: (&str, &str) = ("date", "Wed, 21 Oct 2026 07:27:30 GMT");
        assert_eq!(hints(&[DATE, SENT]), (Some(Duration::from_secs(30)), None));
        const LATE: (&str, &str) = ("date", "Wed, 21 Oct 2026 07:29:00 GMT");
        assert_eq!(hints(&[DATE, LATE]), (Some(Duration::ZERO), None));
        assert_eq!(hints(&[("retry-after", "soon"), SENT]), (None, None));
        assert_eq!(hints(&[("retry-after", "-1"), ("x-should-retry", "true")]), (None, Some(true)));
        assert_eq!(hints(&[("retry-after", "1e300"), ("x-should-retry", "maybe")]), (None, None));
    }

    /// Without the sender's clock ours has to do; whoever hands in none gets no advice from a date.
    #[test]
    fn a_date_is_compared_with_our_clock_where_the_sender_has_none() {
        struct Noon;
        impl Clock for Noon {
            fn now(&self) -> ostler_core::time::Timestamp {
                ostler_core::time::Timestamp(1_700_000_000_000)
            }
        }
        let asked = headers(&[("retry-after", "Tue, 14 Nov 2023 22:14:05 GMT")]);
        let clock = Now(Some(Arc::new(Noon)));
        assert_eq!(retry_after(&asked, &clock), Some(Duration::from_secs(45)));
        assert_eq!(retry_after(&asked, &Now::default()), None);
    }

    #[test]
    fn hosts_that_do_not_exist_are_told_from_resolvers_that_do_not_answer() {
        let of = |texts: &[&str]| lookup(texts.iter().map(|text| (*text).to_owned()));
        let failed = "failed to lookup address information: ";
        for (said, expected) in [
            ("Name or service not known", Lookup::NoSuchHost),
            ("nodename nor servname provided, or not known", Lookup::NoSuchHost),
            ("Name does not resolve", Lookup::NoSuchHost),
            ("Temporary failure in name resolution", Lookup::NoAnswer),
        ] {
            let said = format!("{failed}{said}");
            let texts = ["error sending request", "client error (Connect)", "dns error", &said];
            assert_eq!(of(&texts), Some(expected), "{said}");
        }
        assert_eq!(of(&["error sending request", "tcp connect error", "refused"]), None);
    }

    #[test]
    fn markup_in_a_message_is_reduced_to_text() {
        let body = br#"{"error":{"type":"api_error","message":"<html><body><h1>Bad Gateway</h1></body></html>"}}"#;
        let failure = refused(502, &HeaderMap::new(), body);
        assert_eq!(failure.error.message, "api.test answered 502: Bad Gateway");
        let body = b"proxy: <center>no <b>route</b></center>";
        let failure = refused(502, &HeaderMap::new(), body);
        assert_eq!(failure.error.message, "api.test answered 502: proxy: no route");
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
