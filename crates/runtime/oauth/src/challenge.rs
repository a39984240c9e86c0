//! The `WWW-Authenticate` header of a 401 or 403 answer (RFC 9110, 6750, 9728).

use crate::scopes::Scopes;

/// Longer headers are not read.
const LONGEST: usize = 16 << 10;

/// What a server says when it wants a (different) token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    pub resource_metadata: Option<String>,
    pub scope: Option<Scopes>,
    pub error: Option<String>,
}

impl Challenge {
    /// The `Bearer` challenge among those in the header; an empty one if there is none.
    pub fn parse(header: &str) -> Challenge {
        let mut challenge = Challenge::default();
        let mut is_bearer = false;
        for part in parts(header.get(..LONGEST).unwrap_or(header)) {
            match part {
                Part::Scheme(scheme) => is_bearer = scheme.eq_ignore_ascii_case("bearer"),
                Part::Parameter(name, value) if is_bearer => challenge.set(&name, value),
                Part::Parameter(..) => {}
            }
        }
        challenge
    }

    /// The server accepts the token, but it does not cover this request.
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// The first of each name counts.
    fn set(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => {
                self.resource_metadata = self.resource_metadata.take().or(Some(value))
            }
            "scope" => self.scope = self.scope.take().or_else(|| Scopes::parse(&value)),
            "error" => self.error = self.error.take().or(Some(value)),
            _ => {}
        }
    }
}

enum Part {
    Scheme(String),
    Parameter(String, String),
}

/// Schemes and parameters in order. What is neither is skipped.
fn parts(header: &str) -> Vec<Part> {
    let mut found = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return found;
        }
        let (name, after) = token(rest);
        if name.is_empty() {
            rest = skip_one(rest);
            continue;
        }
        match after.trim_start_matches([' ', '\t']).strip_prefix('=') {
            Some(value) => {
                let (value, after) = parameter_value(value.trim_start_matches([' ', '\t']));
                found.push(Part::Parameter(name.to_owned(), value));
                rest = after;
            }
            None => {
                found.push(Part::Scheme(name.to_owned()));
                rest = after;
            }
        }
    }
}

fn skip_one(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let end = text.find(|c: char| !is_token(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        return (value.to_owned(), after);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_as_servers_send_them() {
        let table = [
            ("Bearer", None, None, None),
            (
                r#"Bearer resource_metadata="https://a.example/m", scope="files:read files:write""#,
                Some("https://a.example/m"),
                Some("files:read files:write"),
                None,
            ),
            (
                r#"bearer error="insufficient_scope",scope=write"#,
                None,
                Some("write"),
                Some("insufficient_scope"),
            ),
            // Parameters of another scheme are not ours.
            (r#"Basic realm="x", scope="no", Bearer scope="yes""#, None, Some("yes"), None),
            (r#"Bearer scope="yes", Digest scope="no", error="no""#, None, Some("yes"), None),
            // A comma and an escaped quote inside a value end nothing.
            (r#"Bearer realm="a, \"b\" Bearer scope=no", scope="yes""#, None, Some("yes"), None),
            ("Bearer  scope = spaced", None, Some("spaced"), None),
            (r#"Bearer scope="first", scope="second""#, None, Some("first"), None),
            (r#"Bearer scope="unclosed"#, None, Some("unclosed"), None),
            ("Negotiate abc/def==, Bearer scope=yes", None, Some("yes"), None),
            ("", None, None, None),
            (r#"Bearer scope="""#, None, None, None),
        ];
        for (header, metadata, scope, error) in table {
            let challenge = Challenge::parse(header);
            assert_eq!(challenge.resource_metadata.as_deref(), metadata, "{header}");
            assert_eq!(
                challenge.scope.map(|scope| scope.to_string()).as_deref(),
                scope,
                "{header}"
            );
            assert_eq!(challenge.error.as_deref(), error, "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_value_survives_quoting(value in "[ -~]{1,60}", noise in "[ -~]{0,40}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let noise = noise.replace(['\\', '"'], "");
            let header = format!("Other x=\"{noise}\", Bearer error=\"{quoted}\", realm=\"{noise}\"");
            prop_assert_eq!(Challenge::parse(&header).error, Some(value));
        }

        #[test]
        fn other_schemes_hide_nothing(noise in "[a-zA-Z0-9 ,/+]{0,80}") {
            let read = Challenge::parse(&format!("{noise}, Bearer scope=end"));
            prop_assert_eq!(read.scope, Scopes::parse("end"));
        }
    }
}
