//! Keys that nobody knows: one that was meant to restrict must not be passed over.

use ostler_policy::edit_distance::edit_distance;

/// Longer keys are not compared.
const LONGEST: usize = 60;

/// Parts of a key that speak of a restriction, whatever else the key says.
const RESTRICTING: [&str; 4] = ["deny", "denied", "disallow", "forbid"];

/// The one of `names` that the key was probably meant to be.
pub(crate) fn nearest<'a>(key: &str, names: &[&'a str]) -> Option<&'a str> {
    if key.chars().count() > LONGEST {
        return None;
    }
    let lower = key.to_lowercase();
    let edits = |name: &str| edit_distance(&lower, &name.to_lowercase());
    let best = names.iter().copied().min_by_key(|name| edits(name))?;
    // A short name has many neighbours that mean something else: `task` is not `ask`, `tools` not `hooks`.
    let most = if best.len() < 8 { 1 } else { 2 };
    let begins_alike = lower.chars().next() == best.to_lowercase().chars().next();
    let near = edits(best) <= most && (most > 1 || begins_alike);
    near.then_some(best)
}

/// The restriction among `names` that a key was probably meant to be: by its letters, or by a word in it.
pub(crate) fn restriction<'a>(key: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = key.to_lowercase();
    let speaks = || RESTRICTING.iter().any(|part| lower.contains(part));
    let asks = || words(key).iter().any(|word| word == "ask");
    let named = |name: &str| names.iter().copied().find(|known| *known == name);
    nearest(key, names)
        .or_else(|| named("deny").filter(|_| speaks()))
        .or_else(|| named("ask").filter(|_| asks()))
}

/// `askUser`, `ask_user` and `ask-user` are `ask` and `user`.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in key.chars().take(LONGEST) {
        if !c.is_alphanumeric() || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["deny", "ask", "defaultMode", "hooks"];

    #[test]
    fn what_was_meant_to_restrict_is_recognized() {
        for (key, meant) in [
            ("dney", "deny"),
            ("denyy", "deny"),
            ("Deny", "deny"),
            ("DENY", "deny"),
            ("denied", "deny"),
            ("denyList", "deny"),
            ("always_deny", "deny"),
            ("disallowedTools", "deny"),
            ("forbidden", "deny"),
            ("asks", "ask"),
            ("aks", "ask"),
            ("askUser", "ask"),
            ("always_ask", "ask"),
            ("defaultmode", "defaultMode"),
            ("defualtMode", "defaultMode"),
            ("default_mode", "defaultMode"),
            ("hook", "hooks"),
        ] {
            assert_eq!(restriction(key, &NAMES), Some(meant), "{key}");
        }
    }

    #[test]
    fn ordinary_keys_are_not_taken_for_restrictions() {
        for key in [
            "task",
            "tasks",
            "mask",
            "key",
            "dev",
            "env",
            "end",
            "tools",
            "hosts",
            "books",
            "memory",
            "search",
            "allow",
            "additionalDirectories",
            "bypassPermissions",
            "directories",
            "tui",
            "verboseLogging",
            "",
        ] {
            assert_eq!(restriction(key, &NAMES), None, "{key}");
        }
        assert_eq!(nearest(&"deny".repeat(100_000), &NAMES), None);
        // Only what can stand there is suggested.
        assert_eq!(restriction("denyList", &["hooks"]), None);
    }
}
