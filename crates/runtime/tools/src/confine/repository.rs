//! Whether a repository that a command has made would run programs for whoever uses git in it, and how it is made inert.

use super::guard::settings;
use crate::read_small;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Of a file that git reads.
const MOST_BYTES: u64 = 1 << 20;
const MOST_HOOKS: usize = 200;
/// Names tried for what is renamed.
const MOST_NAMES: usize = 1_000;
/// Reasons that are told.
const MOST_REASONS: usize = 5;

/// A directory that git takes for a repository: `.git`, that of a submodule or a worktree, or a bare one.
pub(super) fn is_repository(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// A directory whose settings and hooks another one can use through its `commondir`. Git then needs no `HEAD` in it.
pub(super) fn can_be_shared(folder: &Path) -> bool {
    let is_folder = |name: &str| folder.join(name).is_dir();
    is_folder("objects") && is_folder("refs") && !is_folder("config")
}

/// What of it makes git run programs; empty for what `git clone`, `git init` and the like make. `known` are repositories
/// that commands cannot change: what they run was there before.
pub(super) fn runs(folder: &Path, known: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    let shared = shared_folder(folder);
    let is_known = shared.as_ref().is_some_and(|shared| known.contains(shared));
    match shared {
        None => found.push("commondir, which leads to no repository".to_owned()),
        Some(_) if is_known => {}
        // Nobody would notice a later change of it.
        Some(shared) if shared != folder && !is_repository(&shared) => {
            found.push("commondir, which leads to no repository".to_owned());
        }
        Some(shared) => {
            found.extend(configured(&shared.join("config")));
            found.extend(hooks(&shared.join("hooks")));
        }
    }
    found.extend(configured(&folder.join("config.worktree")));
    found.truncate(MOST_REASONS);
    found
}

/// Where its configuration and hooks are: in itself, unless it is a worktree of another.
fn shared_folder(folder: &Path) -> Option<PathBuf> {
    let link = folder.join("commondir");
    match link.symlink_metadata() {
        Err(_) => return Some(folder.to_owned()),
        // The sandbox would hold what the link leads to, and not the link.
        Ok(meta) if meta.is_symlink() => return None,
        Ok(_) => {}
    }
    let bytes = read_small(&link, MOST_BYTES)?;
    let text = String::from_utf8(bytes).ok()?;
    folder.join(text.trim_end()).canonicalize().ok()
}

fn configured(file: &Path) -> Vec<String> {
    let Ok(meta) = file.symlink_metadata() else { return Vec::new() };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    // From the next command on, the sandbox would hold what the link leads to, and not the link.
    if meta.is_symlink() {
        return vec![format!("{name}, which is a link")];
    }
    match read_small(file, MOST_BYTES).and_then(|bytes| running_settings(&bytes)) {
        Some(running) => running.into_iter().map(|(key, _)| key).collect(),
        None => vec![format!("{name}, which cannot be read with certainty")],
    }
}

/// The settings that make git run something; none if they cannot be read with certainty.
pub(super) fn running_settings(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut settings = settings(bytes)?;
    settings.retain(|(key, value)| runs_program(key, value));
    Some(settings)
}

/// Names of settings, at the end of their key, whose values are programs.
const PROGRAMS: &str = "
    command cmd program helper driver editor pager askpass textconv external hook tunnel clean smudge process
    sshcommand gitproxy hookspath difffilter uploadpack receivepack vcs smtpserver templatedir browser";

/// Whether a setting makes git run something, or read settings from elsewhere.
fn runs_program(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let section = key.split('.').next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or_default();
    let is_truth = ["", "true", "false", "yes", "no", "on", "off", "0", "1"]
        .contains(&value.to_ascii_lowercase().as_str());
    let leads_to_program = |text: &str| {
        let text = text.trim_start();
        text.contains("::") || text.starts_with(['-', '!']) || text.starts_with("ext:")
    };
    match section {
        // The built-in monitor is git itself.
        "core" if name == "fsmonitor" => !is_truth,
        "include" | "includeif" | "alias" | "hook" | "protocol" => true,
        "pager" => !is_truth,
        "remote" if ["url", "pushurl"].contains(&name) => leads_to_program(value),
        "url" => leads_to_program(key.get(4..).unwrap_or_default()) || leads_to_program(value),
        "submodule" if name == "update" || name == "url" => leads_to_program(value),
        "filter" if is_lfs_filter(&key, value) => false,
        "credential" if name == "helper" => !value.is_empty(),
        "difftool" | "mergetool" | "man" | "browser" | "guitool" | "instaweb" => true,
        "lfs" if ["path", "args"].contains(&name) => true,
        _ => PROGRAMS.split_ascii_whitespace().any(|end| name.ends_with(end)),
    }
}

/// What `git lfs install --local` sets.
fn is_lfs_filter(key: &str, value: &str) -> bool {
    let values = [
        ("filter.lfs.clean", ["git-lfs clean -- %f", ""]),
        ("filter.lfs.smudge", ["git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"]),
        ("filter.lfs.process", ["git-lfs filter-process", "git-lfs filter-process --skip"]),
    ];
    values.iter().any(|(known, values)| key == *known && values.contains(&value))
}

fn hooks(folder: &Path) -> Vec<String> {
    let Ok(meta) = folder.symlink_metadata() else { return Vec::new() };
    let Ok(entries) = folder.read_dir() else {
        return vec!["hooks, which cannot be read".into()];
    };
    if !meta.is_dir() {
        return vec!["hooks, which is a link".into()];
    }
    let mut names: Vec<String> = Vec::new();
    for (count, entry) in entries.enumerate() {
        let Some(entry) = entry.ok().filter(|_| count < MOST_HOOKS) else {
            return vec!["hooks, which cannot be read as a whole".into()];
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        // Git runs what is executable, through links, and what a link leads to can change later.
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let is_run = fs::metadata(&path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        let is_lfs = !is_link && is_lfs_hook(&path, &name);
        if (is_run || is_link) && !name.ends_with(".sample") && !is_lfs {
            names.push(format!("hooks/{name}"));
        }
    }
    names.sort();
    names
}

/// The hooks that git-lfs puts into every repository that has large files: they run git-lfs and nothing else.
fn is_lfs_hook(path: &Path, name: &str) -> bool {
    const FRONT: &str = "command -v git-lfs >/dev/null 2>&1 || { ";
    const SAY: [&str; 2] = [r#"printf >&2 "\n%s\n\n" ""#, r#"echo >&2 "\n"#];
    let text = read_small(path, 4_096).and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = text else { return false };
    let lines: Vec<&str> = text.lines().collect();
    let [first, second, third] = lines.as_slice() else { return false };
    let said = second.strip_prefix(FRONT).and_then(|rest| {
        SAY.iter().find_map(|say| rest.strip_prefix(say))?.strip_suffix("\"; exit 2; }")
    });
    // Nothing that a shell would expand within the quotes.
    let plain = |c: char| c.is_ascii_alphanumeric() || " .,;:'/()_-".contains(c);
    let said = said.map(|said| said.strip_suffix("\\n").unwrap_or(said));
    *first == "#!/bin/sh"
        && said.is_some_and(|said| said.chars().all(plain))
        && *third == format!("git lfs {name} \"$@\"")
}

/// Where a `.git` file leads, if it is one and can be read.
pub(super) fn led_to(link: &Path) -> Option<PathBuf> {
    let bytes = read_small(link, MOST_BYTES)?;
    let text = String::from_utf8(bytes).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    link.parent()?.join(target).canonicalize().ok()
}

/// What of a repository has to be renamed: without `HEAD` git does not find it, and without `objects` no other
/// directory can use its settings and hooks through a `commondir`.
pub(super) fn vital_parts(folder: &Path) -> Vec<PathBuf> {
    let parts = ["HEAD", "objects"].map(|name| folder.join(name));
    parts.into_iter().filter(|part| part.symlink_metadata().is_ok()).collect()
}

/// Renames what git looks for first, so that it finds no repository there: parts of a directory, the link itself.
/// Nothing is lost, and the new name says how to take it back.
pub(super) fn quarantine(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=MOST_NAMES {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let aside = path.with_file_name(format!("{name}.quarantined-{number}"));
        match renameat_with(CWD, path, CWD, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(aside),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
