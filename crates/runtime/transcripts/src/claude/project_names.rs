//! How Claude Code names the directory of a project's transcripts.

/// Longer names are cut, with a hash behind them.
pub(crate) const LONGEST: usize = 200;

/// `/home/ann/my app` is `-home-ann-my-app`.
pub fn project_directory_name(cwd: &str) -> String {
    let name: String =
        cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match name.get(..LONGEST) {
        Some(beginning) if name.len() > LONGEST => format!("{beginning}-{}", hash(cwd)),
        _ => name,
    }
}

/// The hash of a long path, as programs in JavaScript write it: 32 bits in base 36.
fn hash(text: &str) -> String {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    let mut rest = text.encode_utf16().fold(0i32, step).unsigned_abs();
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(rest % 36, 36));
        rest /= 36;
        if rest == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Whether a directory of this name holds transcripts of this path: other programs hash long paths differently.
pub(crate) fn is_name_of(name: &str, cwd: &str) -> bool {
    let expected = project_directory_name(cwd);
    if name == expected {
        return true;
    }
    let beginning = expected.get(..LONGEST + 1).filter(|_| expected.len() > LONGEST);
    beginning.is_some_and(|beginning| name.starts_with(beginning))
}

pub(crate) fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_as_claude_code_names_them() {
        assert_eq!(project_directory_name("/home/ann/my_app.v2"), "-home-ann-my-app-v2");
        let long = format!("/{}", "deep/".repeat(60));
        let name = project_directory_name(&long);
        assert!(name.starts_with("-deep-") && name.len() > LONGEST && name.len() < 210, "{name}");
        assert!(is_name_of(&name, &long));
        let other_hash = format!("{}-otherhash", name.get(..LONGEST).unwrap());
        assert!(is_name_of(&other_hash, &long));
        assert!(!is_name_of("-home-ann-my-app-v2-more", "/home/ann/my_app.v2"));
        // As the Python SDK computes it.
        assert_eq!(hash("/tmp/x"), "o2wb75");
        assert_eq!(hash(""), "0");
    }

    #[test]
    fn only_uuids_name_transcripts() {
        assert!(is_uuid("01234567-89ab-CDEF-0123-456789abcdef"));
        for wrong in ["", "../../etc/passwd", "01234567-89ab-cdef-0123-456789abcdeg", "agent-1"] {
            assert!(!is_uuid(wrong), "{wrong}");
        }
    }
}
