//! One file that contains a skill, read within limits.

use crate::catalog::SkillLayout;
use crate::front_matter::{self, FrontMatterError, SkillFrontMatter};
use crate::names::{is_name, split_rules};
use crate::skill::{Problem, Skill, SkillOrigin};
use ostler_core::permission::{Rule, Workspace};
use ostler_core::tool_facts::KnownTools;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file.
pub(crate) const MOST_BYTES: u64 = 256 * 1024;
/// Rules, arguments and patterns of a skill.
const MOST_ITEMS: usize = 50;
const DESCRIBED: usize = 4_000;

/// What is known of a file without reading it: when it changes, the file is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SkillStamp {
    place: (u64, u64),
    size: u64,
    changed: [i64; 4],
}

impl SkillStamp {
    pub(crate) fn of(file: &Path) -> Option<SkillStamp> {
        let data = fs::metadata(file).ok()?;
        let changed = [data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()];
        Some(SkillStamp { place: (data.dev(), data.ino()), size: data.size(), changed })
    }
}

/// How a text is to be read.
pub(crate) struct SkillSource<'a> {
    /// Free of links.
    pub(crate) file: &'a Path,
    /// What its place calls it.
    pub(crate) name: &'a str,
    pub(crate) layout: SkillLayout,
    pub(crate) origin: SkillOrigin,
    pub(crate) trusted: bool,
    /// Put in front of the name.
    pub(crate) namespace: Option<&'a str>,
    /// What its rules can name.
    pub(crate) tools: &'a KnownTools,
}

/// The name by which trust knows a content.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a file, and its real path. `within`: a directory, free of links, that it must not lead out of.
pub(crate) fn load(
    file: &Path,
    within: Option<&Path>,
    judge: &dyn Fn(&Path) -> Result<(), String>,
) -> Result<(PathBuf, Vec<u8>), String> {
    let unread = |error: std::io::Error| format!("cannot read it ({error}); skipped");
    let real = fs::canonicalize(file).map_err(unread)?;
    if within.is_some_and(|folder| !real.starts_with(folder)) {
        return Err("a link leads out of the project; skipped".into());
    }
    let seen = fs::symlink_metadata(&real).map_err(unread)?;
    if !seen.is_file() {
        return Err("it is not a regular file; skipped".into());
    }
    judge(&real)?;
    let opened = File::open(&real).map_err(unread)?;
    let data = opened.metadata().map_err(unread)?;
    if (seen.dev(), seen.ino()) != (data.dev(), data.ino()) {
        return Err("it changed while Ostler read it; skipped".into());
    }
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes and is skipped; shorten it"));
    }
    Ok((real, bytes))
}

/// The skill that a content makes, if it does, and everything wrong with it.
pub(crate) fn skill(bytes: &[u8], source: &SkillSource<'_>) -> (Option<Skill>, Vec<Problem>) {
    let mut wrongs = Vec::new();
    let skill = match read(bytes, source, &mut wrongs) {
        Ok(skill) => Some(skill),
        Err((line, what)) => {
            wrongs.push((line, format!("{what}; the skill is skipped")));
            None
        }
    };
    let file = source.file.to_owned();
    let problem = |(line, what): FrontMatterError| Problem { file: file.clone(), line, what };
    (skill, wrongs.into_iter().map(problem).collect())
}

fn read(
    bytes: &[u8],
    source: &SkillSource<'_>,
    wrongs: &mut Vec<FrontMatterError>,
) -> Result<Skill, FrontMatterError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let front = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = front.iter().filter(|byte| **byte == b'\n').count() + 1;
        (line, "this is not UTF-8".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let parts = front_matter::split(&text)?;
    let front = match parts.front {
        Some(front) if source.origin == SkillOrigin::Shipped => front_matter::shipped(front),
        Some(front) => front_matter::read(front, wrongs)?,
        None => SkillFrontMatter::default(),
    };
    let body = parts.body.trim();
    if body.is_empty() {
        return Err((1, "there are no instructions after the front matter".into()));
    }
    let name = name(&front, source, wrongs)?;
    let line = |text: String| one_line(&text, DESCRIBED);
    let description = front.text("description", wrongs).unwrap_or_else(|| first_words(body));
    Ok(Skill {
        name,
        description: line(description),
        when_to_use: front.text("when-to-use", wrongs).map(line),
        argument_hint: front.text("argument-hint", wrongs).map(line),
        arguments: bounded(front.list("arguments", blanks, wrongs)),
        for_model: !hides_from_model(&front, parts.front.unwrap_or_default(), wrongs),
        for_user: front.yes("user-invocable", true, wrongs),
        allowed_tools: allowed(&front, source.tools, wrongs),
        model: front.text("model", wrongs),
        is_command: source.layout == SkillLayout::Commands,
        paths: bounded(front.list("paths", commas, wrongs)),
        body: body.to_owned(),
        origin: source.origin,
        file: source.file.to_owned(),
        folder: source.file.parent().unwrap_or(Path::new("/")).to_owned(),
        trusted: source.trusted,
    })
}

/// The name in the file, or else the one that follows from its place.
fn name(
    front: &SkillFrontMatter,
    source: &SkillSource<'_>,
    wrongs: &mut Vec<FrontMatterError>,
) -> Result<String, FrontMatterError> {
    let given = front.text("name", wrongs).filter(|_| source.layout == SkillLayout::Skills);
    let whole = |name: &str| match source.namespace {
        Some(namespace) => format!("{namespace}:{name}"),
        None => name.to_owned(),
    };
    if let Some(name) = given {
        if is_name(&name) && is_name(&whole(&name)) {
            return Ok(whole(&name));
        }
        let what = "a name can only have letters, digits and - _ . :, at most 64; using the name of the directory";
        wrongs.push((front.line("name"), what.into()));
    }
    match is_name(source.name) && is_name(&whole(source.name)) {
        true => Ok(whole(source.name)),
        false => Err((1, format!("{:?} is not a valid skill name", source.name))),
    }
}

/// If this cannot be read, the model does not use the skill on its own.
fn hides_from_model(
    front: &SkillFrontMatter,
    text: &str,
    wrongs: &mut Vec<FrontMatterError>,
) -> bool {
    const KEY: &str = "disable-model-invocation";
    let said = front.broken && text.replace('_', "-").contains(KEY);
    let unclear = front.has(KEY) || said;
    front.yes(KEY, unclear, wrongs)
}

/// Rules are used only from valid front matter.
fn allowed(
    front: &SkillFrontMatter,
    tools: &KnownTools,
    wrongs: &mut Vec<FrontMatterError>,
) -> Vec<String> {
    const KEY: &str = "allowed-tools";
    if front.broken {
        if front.has(KEY) {
            wrongs.push((front.line(KEY), "allowed-tools is ignored until this is fixed".into()));
        }
        return Vec::new();
    }
    let tools = tools.clone();
    let somewhere = Workspace { cwd: "/".into(), home: "/".into(), tools, ..Workspace::default() };
    let mut rules = bounded(front.list(KEY, split_rules, wrongs));
    rules.retain(|rule| match Rule::parse(rule, &somewhere) {
        _ if rule == "*" => {
            let what = "allowed-tools: * would allow every tool and is ignored; name the tools";
            wrongs.push((front.line(KEY), what.into()));
            false
        }
        Ok(_) => true,
        Err(error) => {
            let what = one_line(&format!("{error}; ignored"), 300);
            wrongs.push((front.line(KEY), what));
            false
        }
    });
    rules
}

fn bounded(mut items: Vec<String>) -> Vec<String> {
    items.truncate(MOST_ITEMS);
    items
}

fn blanks(text: &str) -> Vec<String> {
    text.split([' ', ',', '\t']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn commas(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The first line with content.
fn first_words(body: &str) -> String {
    let lines = body.lines().map(|line| line.trim().trim_start_matches('#').trim());
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// One line without anything that could be taken for the end of a list or for a command to a terminal.
fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = ostler_core::text::enclosed(&words.join(" "));
    line.chars().filter(|c| !c.is_control()).take(most).collect()
}

#[cfg(test)]
#[path = "skill_file_tests.rs"]
mod tests;
