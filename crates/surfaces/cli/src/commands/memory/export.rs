//! `ostler memory export`: writes a new file, or replaces one that an earlier export wrote. Other files are not replaced
//! without `--force`, and links are not followed.

use crate::args::memory::ExportArgs;
use crate::exit::Code;
use anyhow::{Context, Result, bail};
use ostler::{EXPORT_MARK, Memories, Memory};
use ostler_sdk::escaped;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The first line of an export is not longer.
const LONGEST: u64 = 64 << 10;

pub fn run(memories: &Memories, args: &ExportArgs) -> Result<Code> {
    let all = memories.list(None, usize::MAX)?;
    let text = match args.json {
        true => all
            .iter()
            .map(|one| Ok(escaped(&serde_json::to_string(one)?) + "\n"))
            .collect::<Result<String>>()?,
        false => ostler::to_markdown(&all),
    };
    if args.file.as_os_str() == "-" {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(Code::Done);
    }
    put(&args.file, text.as_bytes(), args.force)?;
    let (count, file) = (all.len(), args.file.display());
    writeln!(std::io::stdout().lock(), "{count} memories written to {file}")?;
    Ok(Code::Done)
}

/// What is there now.
enum There {
    Nothing,
    Export(Permissions),
    Other(&'static str),
}

/// Whole or not at all.
fn put(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let shown = path.display();
    let there = there(path).with_context(|| format!("cannot inspect {shown}"))?;
    let keep = match there {
        There::Nothing => None,
        There::Export(permissions) => Some(permissions),
        There::Other(_) if force && !path.is_dir() => None,
        There::Other(what) => bail!(
            "{shown} {what} and was not changed. Give another FILE, use - for standard output, or pass --force to overwrite it"
        ),
    };
    let replace = keep.is_some() || force;
    let temporary = beside(path);
    let written = write_new(&temporary, bytes, keep).and_then(|()| match replace {
        true => std::fs::rename(&temporary, path),
        // Fails if somebody made the file meanwhile.
        false => std::fs::hard_link(&temporary, path),
    });
    if written.is_err() || !replace {
        let _ = std::fs::remove_file(&temporary);
    }
    written.with_context(|| format!("cannot write {shown}"))
}

fn there(path: &Path) -> std::io::Result<There> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(There::Nothing),
        Err(error) => return Err(error),
    };
    Ok(match found.file_type() {
        kind if kind.is_symlink() => There::Other("is a link"),
        kind if !kind.is_file() => There::Other("is not a regular file"),
        _ if found.len() == 0 || is_export(path)? => There::Export(found.permissions()),
        _ => There::Other("was not written by an export"),
    })
}

/// By its first line: the mark, or an entry in JSON.
fn is_export(path: &Path) -> std::io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(LONGEST)).read_until(b'\n', &mut line)?;
    let line = line.trim_ascii();
    Ok(line == EXPORT_MARK.as_bytes() || serde_json::from_slice::<Memory>(line).is_ok())
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

fn write_new(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_export_made_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
        let export = format!("{EXPORT_MARK}\n# Memory\n");
        std::fs::write(at("own.md"), "# Memory\nmine").unwrap();
        std::fs::write(at("rc"), "alias").unwrap();
        std::os::unix::fs::symlink(at("rc"), at("link.md")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("dangling.md")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("old.md"), &export).unwrap();
        std::fs::write(at("empty.md"), "").unwrap();
        for (name, force, works) in [
            ("new.md", false, true),
            ("new.md", false, false),
            ("own.md", false, false),
            ("link.md", false, false),
            ("dangling.md", false, false),
            ("folder", false, false),
            ("folder", true, false),
            ("old.md", false, true),
            ("empty.md", false, true),
            ("link.md", true, true),
            ("own.md", true, true),
            ("no/such/folder.md", false, false),
        ] {
            let outcome = put(&at(name), b"x", force);
            assert_eq!(outcome.is_ok(), works, "{name} {force} {outcome:?}");
            if let (Err(error), true) = (&outcome, at(name).symlink_metadata().is_ok()) {
                assert!(force || error.to_string().contains("--force"), "{error:#}");
            }
            assert_eq!((read("rc").as_str(), at("nowhere").exists()), ("alias", false), "{name}");
        }
        assert_eq!(read("own.md"), "x");
        assert!(!at("link.md").is_symlink(), "the link itself was replaced");
        let left = std::fs::read_dir(folder.path()).unwrap().flatten();
        assert!(
            left.into_iter().all(|entry| !entry.file_name().to_string_lossy().ends_with(".new"))
        );
    }
}
