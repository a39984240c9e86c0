//! `sandbox.limits` of settings: how much memory, how many processes and how large a file a command may have.

use crate::ConfigError;
use crate::located_json::Located;

/// A limit that is not set has a default that depends on the machine. `u64::MAX` means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Bytes of memory of a command with everything it starts.
    pub memory: Option<u64>,
    /// Its processes and threads.
    pub processes: Option<u64>,
    /// Bytes of any one file it writes.
    pub file_size: Option<u64>,
}

const UNLIMITED: &str = "unlimited";

/// Nothing useful runs with less.
const LEAST_MEMORY: u64 = 16 << 20;
const LEAST_PROCESSES: u64 = 16;
const LEAST_FILE: u64 = 1 << 10;

impl SandboxLimits {
    fn each(&mut self, other: &Self, merge: fn(Option<u64>, Option<u64>) -> Option<u64>) {
        self.memory = merge(self.memory, other.memory);
        self.processes = merge(self.processes, other.processes);
        self.file_size = merge(self.file_size, other.file_size);
    }

    /// The later value counts.
    pub(crate) fn replace(&mut self, later: &Self) {
        self.each(later, |before, later| later.or(before));
    }

    /// The smaller value counts.
    pub(crate) fn lower(&mut self, other: &Self) {
        self.each(other, |a, b| a.into_iter().chain(b).min());
    }
}

pub(crate) fn parse(value: Located<'_>) -> Result<SandboxLimits, ConfigError> {
    let mut found = SandboxLimits::default();
    for (key, value) in value.object("sandbox.limits")? {
        match key.as_str() {
            "memory" => found.memory = Some(size(value, &key, LEAST_MEMORY)?),
            "fileSize" => found.file_size = Some(size(value, &key, LEAST_FILE)?),
            "processes" => found.processes = Some(processes(value)?),
            _ => {
                let what = format!(
                    "unknown key \"{key}\" in sandbox.limits (known: memory, processes, fileSize)"
                );
                return Err(value.wrong(what));
            }
        }
    }
    Ok(found)
}

fn processes(value: Located<'_>) -> Result<u64, ConfigError> {
    let text = value.scalar().unwrap_or_default();
    let number = if text == UNLIMITED { Some(u64::MAX) } else { text.parse().ok() };
    number.filter(|number| *number >= LEAST_PROCESSES).ok_or_else(|| {
        value.wrong(format!(
            "sandbox.limits.processes must be a number of at least {LEAST_PROCESSES}, or \"{UNLIMITED}\"; {}",
            value.found()
        ))
    })
}

fn size(value: Located<'_>, key: &str, least: u64) -> Result<u64, ConfigError> {
    let text = value.scalar().unwrap_or_default();
    let bytes = if text == UNLIMITED { Some(u64::MAX) } else { bytes(&text) };
    let bytes = bytes.ok_or_else(|| {
        let what = "must be a size such as \"512M\", \"8G\" or a number of bytes, or";
        let found = value.found();
        value.wrong(format!("sandbox.limits.{key} {what} \"{UNLIMITED}\"; {found}"))
    })?;
    if bytes < least {
        let found = value.found();
        let what = format!("sandbox.limits.{key} must be at least {least} bytes; {found}");
        return Err(value.wrong(what));
    }
    Ok(bytes)
}

/// `8G`, `8GB` and `8 GiB` are the same: units are powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.strip_prefix(' ').unwrap_or(unit).to_ascii_uppercase();
    let power = match unit.as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1024u64.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located_json::Document;
    use std::path::Path;

    fn read(text: &str) -> Result<SandboxLimits, String> {
        let root = Document::root(text, Path::new("f.json")).unwrap();
        parse(root).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_have_units() {
        let memory = |text: &str| read(&format!("{{\"memory\": {text}}}")).unwrap().memory;
        for (text, expected) in [
            ("\"8G\"", 8 << 30),
            ("\"8GB\"", 8 << 30),
            ("\"8 GiB\"", 8 << 30),
            ("\"512m\"", 512 << 20),
            ("\"1T\"", 1 << 40),
            ("\"20000K\"", 20_480_000),
            ("1073741824", 1 << 30),
            ("\"unlimited\"", u64::MAX),
        ] {
            assert_eq!(memory(text), Some(expected), "{text}");
        }
        let all = read(r#"{"memory": "1G", "processes": 100, "fileSize": "2K"}"#).unwrap();
        let expected =
            SandboxLimits { memory: Some(1 << 30), processes: Some(100), file_size: Some(2048) };
        assert_eq!(all, expected);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, said) in [
            ("{\n\"memory\": \"8X\"}", "f.json:2: sandbox.limits.memory must be a size"),
            ("{\"memory\": \"-1\"}", "f.json:1: sandbox.limits.memory must be a size"),
            ("{\"memory\": 1.5}", "f.json:1: sandbox.limits.memory must be a size"),
            ("{\"memory\": true}", "f.json:1: sandbox.limits.memory must be a size"),
            ("{\"memory\": \"99999999T\"}", "f.json:1: sandbox.limits.memory must be a size"),
            ("{\"memory\": \"1M\"}", "f.json:1: sandbox.limits.memory must be at least"),
            ("{\"processes\": 1}", "f.json:1: sandbox.limits.processes must be a number of at"),
            ("{\"processes\": \"many\"}", "f.json:1: sandbox.limits.processes must be a number"),
            ("{\"files\": 1}", "f.json:1: unknown key \"files\" in sandbox.limits"),
            ("[]", "f.json:1: sandbox.limits must be an object"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
