//! Which files the kernel opens in order to start a program: the program itself, the interpreters
//! of scripts, and the loaders of dynamically linked programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How often a script may be interpreted by another script. The kernel stops at five.
const MAX_DEPTH: usize = 5;

/// How much of a script's first line the kernel looks at.
const FIRST_LINE: usize = 256;

/// Program headers that are looked at; real programs have about a dozen.
const MAX_HEADERS: u64 = 64;

/// The longest name of a loader.
const MAX_NAME: u64 = 4096;

/// The named programs, with links resolved, and everything the kernel starts on their behalf. What
/// does not exist is left out, because it cannot be executed either.
pub(crate) fn with_interpreters<'a>(named: impl Iterator<Item = &'a Path>) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for path in named {
        let mut next = Some(path.to_path_buf());
        for _ in 0..=MAX_DEPTH {
            let Some(real) = next.and_then(|path| path.canonicalize().ok()) else { break };
            if !all.insert(real.clone()) {
                break;
            }
            next = interpreter(&real);
        }
    }
    all
}

/// The program that the kernel starts for this file, if it is not started by itself.
fn interpreter(path: &Path) -> Option<PathBuf> {
    // A pipe of this name must not make us wait.
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut file = file.ok().filter(is_plain)?;
    let mut head = Vec::with_capacity(FIRST_LINE);
    file.by_ref().take(FIRST_LINE as u64).read_to_end(&mut head).ok()?;
    match head.strip_prefix(b"#!") {
        Some(line) => script_interpreter(line),
        None => loader(&file, &head),
    }
}

fn is_plain(file: &File) -> bool {
    file.metadata().is_ok_and(|data| data.is_file())
}

fn script_interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// The `PT_INTERP` entry of a 64-bit little-endian ELF file; others do not run in a sandbox.
fn loader(file: &File, head: &[u8]) -> Option<PathBuf> {
    const INTERPRETER: u64 = 3;
    let number = |bytes: &[u8], at: usize, size: usize| {
        let field = bytes.get(at..at + size)?;
        Some(field.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (number(head, 32, 8)?, number(head, 54, 2)?, number(head, 56, 2)?);
    let mut entry = vec![0; usize::try_from(size).ok().filter(|size| *size >= 56)?];
    for index in 0..count.min(MAX_HEADERS) {
        file.read_exact_at(&mut entry, table.checked_add(index * size)?).ok()?;
        if number(&entry, 0, 4)? == INTERPRETER {
            let (at, length) = (number(&entry, 8, 8)?, number(&entry, 32, 8)?.min(MAX_NAME));
            let mut name = vec![0; usize::try_from(length).ok()?];
            file.read_exact_at(&mut name, at).ok()?;
            let name = name.split(|byte| *byte == 0).next()?;
            return Some(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&Path]) -> BTreeSet<PathBuf> {
        with_interpreters(paths.iter().copied())
    }

    #[test]
    fn scripts_bring_their_interpreters_and_programs_their_loaders() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (inner, outer) = (base.join("inner"), base.join("outer"));
        std::fs::write(&inner, "#! /bin/sh -e\n").unwrap();
        std::fs::write(&outer, format!("#!{}\n", inner.display())).unwrap();
        let found = of(&[&outer]);
        let shell = Path::new("/bin/sh").canonicalize().unwrap();
        assert!(found.contains(&inner) && found.contains(&outer) && found.contains(&shell));
        let loaders = |found: &BTreeSet<PathBuf>| {
            let is_loader = |path: &&PathBuf| path.to_string_lossy().contains("/ld-");
            found.iter().filter(is_loader).count()
        };
        assert_eq!(loaders(&found), 1, "{found:?}");
        assert_eq!(loaders(&of(&[Path::new("/bin/sh"), Path::new("/bin/cat")])), 1);
    }

    #[test]
    fn what_is_broken_or_missing_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let file = |name: &str, content: &[u8]| {
            std::fs::write(base.join(name), content).unwrap();
            base.join(name)
        };
        let mut cut = std::fs::read("/bin/sh").unwrap();
        cut.truncate(100);
        for odd in [&b""[..], b"#!", b"#!  \n", b"#!/nonexistent/x\n", b"\x7fELF\x02\x01", &cut] {
            let path = file("odd", odd);
            assert_eq!(of(&[&path]).into_iter().collect::<Vec<_>>(), [path], "{odd:?}");
        }
        let itself = base.join("loop");
        file("loop", format!("#!{}\n", itself.display()).as_bytes());
        assert_eq!(of(&[&itself]).len(), 1);
        assert!(of(&[Path::new("/nonexistent/x")]).is_empty());
    }
}
