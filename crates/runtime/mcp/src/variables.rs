//! `${NAME}` and `${NAME:-default}` in a configuration.

/// A variable that a configuration uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    pub name: String,
    pub default: Option<String>,
}

/// The text with its variables replaced. `value` gives those that are set.
///
/// # Errors
/// In words, if a variable is not set and has no default, or holds a credential of a provider.
pub fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        expanded.push_str(before);
        let Some((one, next)) = parse(after) else {
            expanded.push_str("${");
            rest = &after[2..];
            continue;
        };
        if ostler_exec::is_model_variable(&one.name) {
            let name = &one.name;
            return Err(format!("${{{name}}} is a credential for models and is not passed on"));
        }
        match value(&one.name).or(one.default) {
            Some(value) => expanded.push_str(&value),
            None => return Err(format!("the variable {} is not set", one.name)),
        }
        rest = next;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The variables that a text uses.
pub(crate) fn uses(text: &str) -> Vec<VariableUse> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        match parse(&rest[start..]) {
            Some((one, next)) => {
                found.push(one);
                rest = next;
            }
            None => rest = &rest[start + 2..],
        }
    }
    found
}

/// A use at the very beginning, and what comes after it.
fn parse(text: &str) -> Option<(VariableUse, &str)> {
    let inner = text.strip_prefix("${")?;
    let (inside, after) = inner.split_once('}')?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inside, None),
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = !name.is_empty() && name.chars().all(legal);
    is_name.then(|| (VariableUse { name: name.to_owned(), default }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_defaults_fill_in() {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        let expand = |text: &str| expand(text, &value);
        assert_eq!(expand("x${A}y${B:-2}${C:-}$A ${ ${A"), Ok("x1y2$A ${ ${A".to_owned()));
        assert_eq!(expand("${B}"), Err("the variable B is not set".to_owned()));
    }

    #[test]
    fn credentials_of_providers_stay_here_even_with_a_default() {
        let value = |_: &str| Some("secret".to_owned());
        for text in ["${ANTHROPIC_API_KEY}", "x${OPENAI_API_KEY:-none}", "${ostler_token}"] {
            let refused = expand(text, &value).unwrap_err();
            assert!(refused.contains("not passed on") && !refused.contains("secret"), "{refused}");
        }
    }
}
