//! A project's files may tighten; what they loosen or start takes effect once the user has accepted their content.

use crate::error::one_line;
use crate::files::{read_own, update};
use crate::located_json::{Document, Located};
use crate::places::hex_sha256;
use crate::project_files::{ProjectFiles, ProjectRequest};
use crate::{ConfigError, SettingsPlaces};
use ostler_core::diff;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What a project's files request, and their content. None of it is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    pub files: Vec<UntrustedFile>,
    root: PathBuf,
    accepted: Accepted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedFile {
    pub path: PathBuf,
    /// "allows Bash(npm test:*)", "sets env FOO", "starts MCP servers". Empty: it changed, and wants nothing.
    pub wants: Vec<String>,
    /// Nothing of this name was accepted before.
    pub is_new: bool,
    /// All of it if it is new; else unified, against the content that was accepted before.
    pub difference: Option<String>,
}

/// The content of a project's files that a user accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    sha256: String,
    /// By name; nothing where the content is too long to keep.
    files: Vec<(String, Option<String>)>,
}

/// Bytes of the whole record.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes and lines of a file that are kept, to show a difference later.
const MOST_KEPT: usize = 64 * 1024;
const MOST_LINES: usize = 4000;
/// Lines of a content or a difference.
const MOST_SHOWN: usize = 200;
const TOO_LONG: &str = "the difference is too long to show";
const NOT_SHOWN: &str = "it is too long to show or not text; look at it before you accept it";

/// Accepts what was shown: exactly the content that `load` saw.
///
/// # Errors
/// If it cannot be kept.
pub fn accept(places: &SettingsPlaces, untrusted: &Untrusted) -> Result<(), ConfigError> {
    let file = file(places);
    let Some(root) = untrusted.root.to_str() else {
        let what = "the path of the directory is not UTF-8 and cannot be stored; rename it";
        return Err(ConfigError::new(&untrusted.root, None, what));
    };
    update(&file, MOST_BYTES, |text| {
        let mut all = text.map(|text| read(&text, &file)).transpose()?.unwrap_or_default();
        all.retain(|(project, _)| project != root);
        all.push((root.to_owned(), untrusted.accepted.clone()));
        let mut text = written(&all);
        if text.len() as u64 > MOST_BYTES {
            for (_, content) in all.iter_mut().flat_map(|(_, accepted)| &mut accepted.files) {
                *content = None;
            }
            text = written(&all);
        }
        Ok(Some(text))
    })
}

fn file(places: &SettingsPlaces) -> PathBuf {
    places.ostler_home.join("trust.json")
}

impl Accepted {
    pub(crate) fn now(project: &ProjectFiles) -> Self {
        let mut all = Vec::new();
        let mut files = Vec::new();
        for file in &project.files {
            for part in [file.name.as_bytes(), &file.bytes] {
                all.extend_from_slice(&(part.len() as u64).to_le_bytes());
                all.extend_from_slice(part);
            }
            let text = std::str::from_utf8(&file.bytes).ok().filter(|text| is_short(text));
            files.push((file.name.clone(), text.map(str::to_owned)));
        }
        Accepted { sha256: hex_sha256(&all), files }
    }

    fn content(&self, name: &str) -> Option<Option<&str>> {
        let file = self.files.iter().find(|(known, _)| known == name);
        file.map(|(_, content)| content.as_deref())
    }

    pub(crate) fn is(&self, other: &Accepted) -> bool {
        self.sha256 == other.sha256
    }
}

/// What the user accepted for this project.
pub(crate) fn accepted(
    places: &SettingsPlaces,
    root: &Path,
) -> Result<Option<Accepted>, ConfigError> {
    let file = file(places);
    let Some(text) = read_own(&file, MOST_BYTES)? else { return Ok(None) };
    let all = read(&text, &file)?;
    let mine = all.into_iter().find(|(project, _)| Some(project.as_str()) == root.to_str());
    Ok(mine.map(|(_, accepted)| accepted))
}

pub(crate) fn untrusted(
    project: &ProjectFiles,
    wanted: Vec<ProjectRequest>,
    before: Option<&Accepted>,
) -> Untrusted {
    let now = Accepted::now(project);
    let mut names: Vec<&str> = project.files.iter().map(|file| file.name.as_str()).collect();
    let gone = before.iter().flat_map(|before| &before.files).map(|(name, _)| name.as_str());
    let gone: Vec<&str> = gone.filter(|name| !names.contains(name)).collect();
    names.extend(gone);
    let mut files = Vec::new();
    for name in names {
        let path = project.root.join(name);
        let wants = wanted.iter().find(|wanted| wanted.path == path);
        let wants = wants.map(|wanted| wanted.wants.clone()).unwrap_or_default();
        let known = before.filter(|before| before.content(name).is_some());
        let difference = match known {
            Some(before) => difference(name, before, &now),
            None => now.content(name).map(whole),
        };
        if !wants.is_empty() || difference.is_some() {
            files.push(UntrustedFile { path, wants, is_new: known.is_none(), difference });
        }
    }
    Untrusted { files, root: project.root.clone(), accepted: now }
}

fn difference(name: &str, before: &Accepted, now: &Accepted) -> Option<String> {
    let (old, new) = (before.content(name), now.content(name));
    if old == new && old != Some(None) {
        return None;
    }
    // A file that is not there is empty; one that was not kept cannot be compared.
    let (Some(old), Some(new)) = (old.unwrap_or(Some("")), new.unwrap_or(Some(""))) else {
        return Some(TOO_LONG.to_owned());
    };
    Some(bounded(&diff::unified(old, new, ("accepted", "now"), 3)))
}

fn whole(content: Option<&str>) -> String {
    content.map_or_else(|| NOT_SHOWN.to_owned(), bounded)
}

fn bounded(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(MOST_SHOWN).map(one_line).collect();
    if text.lines().nth(MOST_SHOWN).is_some() {
        lines.push("… and more".to_owned());
    }
    lines.join("\n")
}

fn is_short(text: &str) -> bool {
    text.len() <= MOST_KEPT && text.lines().count() <= MOST_LINES
}

fn read(text: &str, file: &Path) -> Result<Vec<(String, Accepted)>, ConfigError> {
    let root = Document::root(text, file)?;
    let (mut version, mut projects) = (None, Vec::new());
    for (key, value) in root.object("the file")? {
        match key.as_str() {
            "version" => version = Some(value.number("version")?),
            "projects" => {
                for (project, value) in value.object("projects")? {
                    projects.push((project, read_accepted(value)?));
                }
            }
            _ => return Err(value.wrong(format!("unknown key \"{key}\"; remove it"))),
        }
    }
    if version != Some(1) {
        return Err(root.wrong("the version must be 1; delete the file to start over"));
    }
    Ok(projects)
}

fn read_accepted(value: Located<'_>) -> Result<Accepted, ConfigError> {
    let (mut sha256, mut files) = (None, Vec::new());
    for (key, value) in value.object("a project")? {
        match key.as_str() {
            "sha256" => sha256 = Some(value.text("sha256")?),
            "files" => {
                for (name, value) in value.object("files")? {
                    let content =
                        if value.is_null() { None } else { Some(value.text("a content")?) };
                    files.push((name, content.filter(|content| is_short(content))));
                }
            }
            _ => return Err(value.wrong(format!("unknown key \"{key}\"; remove it"))),
        }
    }
    let sha256 = sha256.ok_or_else(|| value.wrong("\"sha256\" is missing; remove the entry"))?;
    Ok(Accepted { sha256, files })
}

fn written(all: &[(String, Accepted)]) -> String {
    let project = |(root, accepted): &(String, Accepted)| {
        let pair = |(name, content): &(String, Option<String>)| (name.clone(), json!(content));
        let files: Map<String, Value> = accepted.files.iter().map(pair).collect();
        (root.clone(), json!({ "sha256": accepted.sha256, "files": files }))
    };
    let projects: Map<String, Value> = all.iter().map(project).collect();
    format!("{:#}\n", json!({ "version": 1, "projects": projects }))
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
