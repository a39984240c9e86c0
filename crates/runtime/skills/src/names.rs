//! What may be a skill's name, and how a list of rules is written in one line.

const MOST_NAME: usize = 64;

/// Letters, digits and `-`, `_`, `.`, `:`; begins with a letter, a digit or `_`.
pub fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    name.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && name.chars().all(legal)
        && name.chars().nth(MOST_NAME).is_none()
}

/// `Read, Bash(git log:*) Grep`: split at commas and blanks outside parentheses.
pub fn split_rules(text: &str) -> Vec<String> {
    let (mut rules, mut rule, mut depth) = (Vec::new(), String::new(), 0usize);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            rules.push(std::mem::take(&mut rule));
        } else {
            rule.push(c);
        }
    }
    rules.push(rule);
    rules.retain(|rule| !rule.trim().is_empty());
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "code-review", "a.b:c_d", "über", "1st", "_x", "sub:x", &"x".repeat(64)]
        {
            assert!(is_name(good), "{good}");
        }
        for bad in
            ["", "-a", ".a", ":a", "a b", "a/b", "..", "a\n", "a\u{1b}[0m", "<a>", &"x".repeat(65)]
        {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn rules() {
        assert_eq!(split_rules("Read, Bash(git log:*) Grep"), ["Read", "Bash(git log:*)", "Grep"]);
        assert_eq!(split_rules(" , "), [] as [&str; 0]);
        assert_eq!(split_rules("Bash(a, b"), ["Bash(a, b"]);
    }
}
