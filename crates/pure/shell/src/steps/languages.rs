//! Programs whose first operand is a program: awk and jq where they only read, and versions of interpreters.

use super::judge::{StepVerdict, touch};
use crate::options::{self, Miss, Named};
use ostler_policy::script::Word;
use ostler_policy::{Act, TouchKind};

/// Programs that print their version and end. Not cargo, rustc, go, yarn and their like: a file of the project may choose
/// which program answers to that name.
const VERSIONED: &[&str] = &[
    "node",
    "npm",
    "ruby",
    "perl",
    "php",
    "deno",
    "bun",
    "gcc",
    "g++",
    "clang",
    "make",
    "cmake",
    "docker",
    "kubectl",
    "uv",
    "java",
    "javac",
    "lua",
    "jq",
    "curl",
    "wget",
    "rsync",
    "tsc",
    "sqlite3",
    "psql",
    "ninja",
    "zsh",
    "tar",
    "rg",
    "sed",
    "grep",
    "gh",
    "ruff",
    "mypy",
    "redis-server",
    "redis-cli",
    "awk",
    "find",
    "split",
];

/// A form that only reads, or `python3 --version` and its like, with nothing else on the line.
pub(super) fn version(name: &str, words: &[Word]) -> Option<StepVerdict> {
    if let Some(verdict) = super::read_only_forms::judge(name, words) {
        return Some(verdict);
    }
    let [Word::Literal(only)] = words else { return None };
    let known = match name {
        "java" | "javac" => matches!(only.as_str(), "--version" | "-version"),
        "ffmpeg" | "ffprobe" => only == "-version",
        "node" | "npm" | "ruby" | "perl" | "php" => matches!(only.as_str(), "--version" | "-v"),
        _ if is_python(name, "python") || is_python(name, "pip") => {
            matches!(only.as_str(), "--version" | "-V")
        }
        _ if is_in_a_table(name) => matches!(only.as_str(), "--version" | "--help"),
        _ => VERSIONED.contains(&name) && only == "--version",
    };
    known.then(|| StepVerdict::reads(Vec::new()))
}

/// Programs without an option that writes or runs; what they do not know they refuse.
fn is_in_a_table(name: &str) -> bool {
    crate::table::program(name).is_some()
}

/// `python`, `python3`, `python3.12`.
pub(super) fn is_python(name: &str, stem: &str) -> bool {
    let Some(version) = name.strip_prefix(stem) else { return false };
    version.split('.').all(|part| part.bytes().all(|b| b.is_ascii_digit()))
        && !version.starts_with('.')
        && !version.ends_with('.')
}

pub(super) fn awk(words: &[Word]) -> StepVerdict {
    judged("awk", awk_files(words))
}

pub(super) fn jq(words: &[Word]) -> StepVerdict {
    judged("jq", jq_files(words))
}

fn judged(name: &str, found: Result<Vec<Named>, Miss>) -> StepVerdict {
    match found {
        Ok(files) => StepVerdict::reads(files.into_iter().map(touch(Act::Read)).collect()),
        Err(miss) => StepVerdict::miss(name, miss, 1),
    }
}

fn awk_files(words: &[Word]) -> Result<Vec<Named>, Miss> {
    let mut at = 0;
    while let Some(text) = words.get(at).and_then(Word::literal) {
        match text {
            "--" => {
                at += 1;
                break;
            }
            "-F" | "-v" => at += 1,
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => {
                return Err(Miss::at(at, format!("{text} is not known to be read-only")));
            }
            _ => break,
        }
        if let Some(value) = words.get(at) {
            options::literal(value)?;
        }
        at += 1;
    }
    let program = options::literal(words.get(at).ok_or("it has no program")?)?;
    awk_only_prints(program).map_err(|why| Miss::at(at, why))?;
    files(words, at + 1)
}

fn awk_only_prints(program: &str) -> Result<(), String> {
    let refused =
        ["system", "getline", "@", "ARGV", "ARGC", "ENVIRON", "SYMTAB", "FUNCTAB", "PROCINFO"];
    if let Some(found) = refused.iter().find(|word| program.contains(*word)) {
        return Err(format!("an awk program with {found} can do more than print"));
    }
    if program.replace("||", "").contains('|') {
        return Err("an awk program with | runs another program".into());
    }
    if !program.contains('>') || !program.contains("print") {
        return Ok(());
    }
    // To print, or to compare? The braces tell, where strings are all that is quoted.
    let mut depth = 0_usize;
    let (mut inside, mut quoted) = (false, false);
    for (at, c) in program.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '/' => inside |= !divides(program.get(..at).unwrap_or_default()),
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '>' => inside |= depth > 0,
            _ => {}
        }
    }
    match inside || quoted || program.contains(['\\', '#']) {
        true => Err("an awk program with > can write a file".into()),
        false => Ok(()),
    }
}

/// A slash behind this is a division and not the beginning of an expression, in which quotes and braces mean nothing.
fn divides(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
    let name = before.get(start..).unwrap_or_default();
    let keywords = [
        "print", "printf", "return", "in", "case", "do", "else", "exit", "next", "nextfile",
        "delete", "length", "func", "function", "switch", "default", "break", "continue", "BEGIN",
        "END",
    ];
    !name.is_empty() && !keywords.contains(&name)
}

fn jq_files(words: &[Word]) -> Result<Vec<Named>, Miss> {
    let long = [
        "raw-output",
        "compact-output",
        "null-input",
        "slurp",
        "exit-status",
        "sort-keys",
        "monochrome-output",
        "color-output",
        "ascii-output",
        "join-output",
        "raw-input",
        "tab",
    ];
    let mut at = 0;
    while let Some(text) = words.get(at).and_then(Word::literal) {
        let known = match text.strip_prefix("--") {
            Some("arg" | "argjson") => {
                for value in words.get(at + 1..at + 3).ok_or("--arg lacks a value")? {
                    options::literal(value)?;
                }
                at += 2;
                true
            }
            Some("indent") => {
                at += 1;
                true
            }
            Some(name) => long.contains(&name),
            None if text.starts_with('-') => {
                text.chars().skip(1).all(|c| "rcnseSMCajR".contains(c))
            }
            None => break,
        };
        if !known {
            return Err(Miss::at(at, format!("{text} is not known to be read-only")));
        }
        at += 1;
    }
    let program = options::literal(words.get(at).ok_or("it has no program")?)?;
    jq_only_reads(program).map_err(|why| Miss::at(at, why))?;
    // It takes options behind its program, too.
    files(words, at + 1)
}

fn jq_only_reads(program: &str) -> Result<(), String> {
    let refused =
        ["env", "ENV", "input_filename", "import", "include", "modulemeta", "get_search_list"];
    let mut before = ' ';
    let mut name = String::new();
    let mut ahead = ' ';
    for c in program.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            if name.is_empty() {
                ahead = before;
            }
            name.push(c);
        } else if !name.is_empty() {
            if ahead != '.' && refused.contains(&name.as_str()) {
                return Err(format!("a jq program with {name} reads more than its files"));
            }
            name.clear();
        }
        before = c;
    }
    Ok(())
}

/// The words from here on are files, and nothing but files.
fn files(words: &[Word], from: usize) -> Result<Vec<Named>, Miss> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(from) {
        let refused = |why: String| Miss::at(at, why);
        match word {
            Word::Literal(path) if path == "-" => {}
            Word::Literal(path) if path.starts_with('-') || path.contains('=') => {
                return Err(refused(format!("{path} can be more than a file")));
            }
            Word::Literal(path) => {
                found.push(options::readable(path, TouchKind::File).map_err(refused)?);
            }
            Word::Glob(pattern) if options::cannot_be_option(pattern) => {
                found.push(options::glob(pattern).map_err(refused)?);
            }
            Word::Glob(pattern) => return Err(refused(format!("{pattern} can match an option"))),
            Word::Dynamic { .. } => return Err("it is not known what it reads".into()),
        }
    }
    Ok(found)
}
