//! The shortest line that still shows an effect, as far as removing parts gets.

/// Tries of one minimisation.
const MOST_TRIES: usize = 160;

pub fn minimise(line: &str, mut still: impl FnMut(&str) -> bool) -> String {
    let mut parts = split(line);
    let mut tries = 0;
    let mut length = parts.len() / 2;
    while length > 0 && tries < MOST_TRIES {
        let mut at = 0;
        let mut removed = false;
        while at < parts.len() && tries < MOST_TRIES {
            let end = (at + length).min(parts.len());
            let mut without = parts.clone();
            without.drain(at..end);
            tries += 1;
            if still(&without.concat()) {
                parts = without;
                removed = true;
            } else {
                at += length;
            }
        }
        if !removed || length > 1 {
            length = if removed && length > 1 { length } else { length / 2 };
        }
    }
    parts.concat()
}

/// Names, numbers and blanks stay whole; every other character is a part.
fn split(line: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let class = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 1,
        ' ' | '\t' => 2,
        _ => 0,
    };
    let mut last = 0;
    for c in line.chars() {
        match parts.last_mut() {
            Some(part) if class(c) != 0 && class(c) == last => part.push(c),
            _ => parts.push(c.to_string()),
        }
        last = class(c);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_left_out() {
        let line = "ls -la; for RANDOM in a b; do echo $x; done && true";
        let made = minimise(line, |text| text.contains("RANDOM") && text.contains("$x"));
        assert_eq!(made, "RANDOM$x");
    }
}
