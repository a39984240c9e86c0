//! Credentials, version, content type and betas.

use super::{ValidationError, ValidationRule, invalid};
use crate::record::Headers;
use crate::script::ServerRules;

pub(crate) fn check(headers: &Headers, rules: &ServerRules) -> ValidationRule {
    if rules.auth {
        credentials(headers)?;
    }
    if rules.version && headers.get("anthropic-version").is_none_or(str::is_empty) {
        return Err(invalid("anthropic-version: header is required"));
    }
    let content_type = headers.get("content-type").unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(invalid(format!(
            "content-type: must be application/json, found {content_type:?}"
        )));
    }
    match betas(headers).find(|beta| rules.refuse_betas.iter().any(|refused| refused == beta)) {
        Some(beta) => Err(invalid(format!(
            "Unexpected value(s) `{beta}` for the `anthropic-beta` header. Please consult our documentation or try again without the header."
        ))),
        None => Ok(()),
    }
}

pub(super) fn betas(headers: &Headers) -> impl Iterator<Item = &str> {
    headers.all("anthropic-beta").flat_map(|value| value.split(',')).map(str::trim)
}

fn credentials(headers: &Headers) -> ValidationRule {
    let key = headers.get("x-api-key").is_some_and(|key| !key.is_empty());
    let bearer = headers.get("authorization").is_some_and(|value| {
        value.split_once(' ').is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()
        })
    });
    if key || bearer {
        return Ok(());
    }
    let message = "x-api-key header is required".to_owned();
    Err(ValidationError { status: 401, kind: "authentication_error", message })
}
