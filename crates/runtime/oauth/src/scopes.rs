//! Sets of scopes, and which set a login asks for.

use crate::error::OAuthError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A login that asks for more is refused: nobody could read the question.
pub const MOST_SCOPES: usize = 100;
const LONGEST_SCOPE: usize = 256;

/// At least one scope, each once, in the order they were named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// From a list separated by blanks; words that are no scopes (RFC 6749, 3.3) are left out.
    pub fn parse(text: &str) -> Option<Scopes> {
        Scopes::collect(text.split_ascii_whitespace())
    }

    pub fn collect<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Scopes> {
        let mut found: Vec<String> = Vec::new();
        for word in words {
            // One more than allowed, so that the limit is noticed.
            if is_scope(word)
                && found.len() <= MOST_SCOPES
                && !found.iter().any(|known| known == word)
            {
                found.push(word.to_owned());
            }
        }
        (!found.is_empty()).then_some(Scopes(found))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn contains_all(&self, other: &Scopes) -> bool {
        other.iter().all(|scope| self.iter().any(|own| own == scope))
    }

    #[must_use]
    pub fn union(&self, other: &Scopes) -> Scopes {
        Scopes::collect(self.iter().chain(other.iter())).unwrap_or_else(|| self.clone())
    }
}

fn is_scope(word: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !word.is_empty() && word.len() <= LONGEST_SCOPE && word.bytes().all(is_allowed)
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> String {
        scopes.to_string()
    }
}

impl TryFrom<String> for Scopes {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Scopes, &'static str> {
        Scopes::parse(&text).ok_or("it names no scopes")
    }
}

/// Everything that has a say in what a login asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScopeSources<'a> {
    /// Set by a person: exactly these.
    pub configured: Option<&'a Scopes>,
    /// In the server's challenge.
    pub challenged: Option<&'a Scopes>,
    /// In the server's metadata.
    pub resource: Option<&'a Scopes>,
    /// What an earlier login at the same authorization server asked for.
    pub earlier: Option<&'a Scopes>,
    /// In the authorization server's metadata.
    pub authorization_server: Option<&'a Scopes>,
}

/// The scopes to ask for; none: leave the choice to the authorization server.
///
/// # Errors
/// If there are too many.
pub fn select(sources: ScopeSources<'_>) -> Result<Option<Scopes>, OAuthError> {
    const OFFLINE: &str = "offline_access";
    if let Some(configured) = sources.configured {
        return bounded(configured.clone()).map(Some);
    }
    let Some(needed) = sources.challenged.or(sources.resource) else {
        return Ok(sources.earlier.cloned());
    };
    let all = match sources.earlier {
        Some(earlier) => earlier.union(needed),
        None => needed.clone(),
    };
    let offers_offline =
        sources.authorization_server.is_some_and(|all| all.iter().any(|scope| scope == OFFLINE));
    let all = match Scopes::parse(OFFLINE) {
        Some(offline) if offers_offline => all.union(&offline),
        _ => all,
    };
    bounded(all).map(Some)
}

fn bounded(scopes: Scopes) -> Result<Scopes, OAuthError> {
    match scopes.0.len() > MOST_SCOPES {
        true => Err(OAuthError::TooManyScopes { most: MOST_SCOPES }),
        false => Ok(scopes),
    }
}

/// Whether logging in once more can satisfy a challenge: not if the last login already asked for all of it.
///
/// # Errors
/// If it cannot.
pub fn check_step_up(
    asked: Option<&Scopes>,
    challenged: Option<&Scopes>,
) -> Result<(), OAuthError> {
    match (asked, challenged) {
        (Some(asked), Some(challenged)) if asked.contains_all(challenged) => {
            Err(OAuthError::ScopesNotEnough { scopes: challenged.clone() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scopes(text: &str) -> Option<Scopes> {
        Scopes::parse(text)
    }

    #[test]
    fn the_nearest_source_decides_and_nothing_granted_is_lost() {
        // configured, challenged, resource, earlier, authorization server -> asked for
        let table = [
            ("", "", "", "", "", ""),
            ("", "", "", "", "offline_access", ""),
            ("", "a", "b c", "", "", "a"),
            ("", "", "b c", "", "", "b c"),
            ("", "b", "", "a", "", "a b"),
            ("", "b a", "", "a", "", "a b"),
            ("x", "a", "b", "c", "offline_access", "x"),
            ("", "a", "", "", "a offline_access", "a offline_access"),
            ("", "a", "", "", "a", "a"),
            ("", "", "", "a", "", "a"),
        ];
        for (configured, challenged, resource, earlier, server, expected) in table {
            let all = [configured, challenged, resource, earlier, server].map(scopes);
            let sources = ScopeSources {
                configured: all[0].as_ref(),
                challenged: all[1].as_ref(),
                resource: all[2].as_ref(),
                earlier: all[3].as_ref(),
                authorization_server: all[4].as_ref(),
            };
            assert_eq!(select(sources), Ok(scopes(expected)), "{all:?}");
        }
    }

    #[test]
    fn words_that_are_no_scopes_are_left_out() {
        assert_eq!(scopes("a \"b\" c\\d é a").unwrap().to_string(), "a");
        assert_eq!(scopes(" \t"), None);
    }

    #[test]
    fn a_flood_of_scopes_is_refused() {
        let many: Vec<String> = (0..10_000).map(|n| format!("s{n}")).collect();
        let challenged = Scopes::parse(&many.join(" "));
        let sources = ScopeSources { challenged: challenged.as_ref(), ..ScopeSources::default() };
        assert_eq!(select(sources), Err(OAuthError::TooManyScopes { most: MOST_SCOPES }));
    }

    #[test]
    fn a_step_up_that_brings_nothing_new_is_refused() {
        let check =
            |asked, challenged| check_step_up(scopes(asked).as_ref(), scopes(challenged).as_ref());
        assert!(check("a", "b").is_ok());
        assert!(check("a", "a b").is_ok());
        assert!(check("", "a").is_ok());
        assert!(check("a", "").is_ok());
        assert!(check("a b", "b").is_err());
    }

    proptest! {
        #[test]
        fn a_union_has_all_of_both_once(a in "[a-e ]{1,20}", b in "[a-e ]{1,20}") {
            if let (Some(a), Some(b)) = (scopes(&a), scopes(&b)) {
                let union = a.union(&b);
                prop_assert!(union.contains_all(&a) && union.contains_all(&b));
                let mut sorted: Vec<&str> = union.iter().collect();
                sorted.sort_unstable();
                sorted.dedup();
                prop_assert_eq!(sorted.len(), union.iter().count());
                prop_assert!(union.iter().all(|s| a.iter().chain(b.iter()).any(|known| known == s)));
            }
        }
    }
}
