//! Rules the user accepted for a project, kept outside of it.

use crate::error::is_plain;
use crate::files::{MOST_BYTES, read_own, update};
use crate::located_json::{Document, Located};
use crate::places::resolved;
use crate::{ConfigError, SettingsPlaces};
use ostler_core::permission::{Anchors, Bound, Rule, Source, Tier};
use ostler_core::ports::Approvals;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A rule that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptApproval {
    pub rule: String,
    /// What `./` in it refers to.
    pub folder: PathBuf,
    pub when: Option<String>,
    pub bound: Option<Bound>,
    /// Its line in the file.
    pub line: usize,
}

/// Rules of a project.
const MOST: usize = 1000;

/// # Errors
/// If the file is there and cannot be read or understood.
pub fn list(places: &SettingsPlaces) -> Result<Vec<KeptApproval>, ConfigError> {
    let project = places.real_project()?;
    let file = file(places, &project);
    match read_own(&file, MOST_BYTES)? {
        Some(text) => read(&text, &file, &project),
        None => Ok(Vec::new()),
    }
}

/// True if there was such a rule.
///
/// # Errors
/// If the file cannot be read, understood or written.
pub fn revoke(places: &SettingsPlaces, rule: &str) -> Result<bool, ConfigError> {
    let rule = rule.trim();
    if !list(places)?.iter().any(|kept| kept.rule == rule) {
        return Ok(false);
    }
    let project = places.real_project()?;
    let file = file(places, &project);
    let mut found = false;
    update(&file, MOST_BYTES, |text| {
        let mut kept =
            text.map(|text| read(&text, &file, &project)).transpose()?.unwrap_or_default();
        let before = kept.len();
        kept.retain(|kept| kept.rule != rule);
        found = kept.len() < before;
        Ok(found.then(|| written(&kept, &project)))
    })?;
    Ok(found)
}

/// The rules that apply to this project and working directory.
pub(crate) fn rules(places: &SettingsPlaces) -> Result<Vec<Rule>, ConfigError> {
    let file = file(places, &places.real_project()?);
    let mut rules = Vec::new();
    for kept in list(places)? {
        let mut rule = parsed(&kept, places, &file)?;
        // What was accepted for commands that start in one directory does not apply to another.
        let elsewhere = |bound: &Bound| resolved(&bound.folder) != resolved(&places.cwd);
        if kept.bound.as_ref().is_some_and(elsewhere) {
            continue;
        }
        rule.bound = kept.bound;
        rules.push(rule);
    }
    Ok(rules)
}

fn parsed(kept: &KeptApproval, places: &SettingsPlaces, file: &Path) -> Result<Rule, ConfigError> {
    let SettingsPlaces { user_home, tools, .. } = places;
    let anchors = Anchors { cwd: &kept.folder, home: user_home, settings: &kept.folder, tools };
    let source =
        Source { tier: Tier::Approval, file: Some(file.to_owned()), line: Some(kept.line) };
    Rule::parse_at(&kept.rule, anchors, source)
        .map_err(|error| ConfigError::new(file, kept.line, error.to_string()))
}

fn file(places: &SettingsPlaces, project: &Path) -> PathBuf {
    places.kept_about(project).join("approvals.json")
}

fn read(text: &str, file: &Path, project: &Path) -> Result<Vec<KeptApproval>, ConfigError> {
    let root = Document::root(text, file)?;
    let (mut version, mut of, mut rules) = (None, None, None);
    for (key, value) in root.object("the file")? {
        match key.as_str() {
            "version" => version = Some((value.number("version")?, value)),
            "project" => of = Some((value.text("project")?, value)),
            "rules" => rules = Some(value.list("rules")?),
            _ => return Err(unknown(&key, value)),
        }
    }
    let missing = |name: &str| root.wrong(format!("\"{name}\" is missing; delete the file"));
    let (version, at) = version.ok_or_else(|| missing("version"))?;
    if version != 1 {
        return Err(at.wrong(format!("unknown version {version}; delete the file")));
    }
    let (of, at) = of.ok_or_else(|| missing("project"))?;
    if Path::new(&of) != project {
        return Err(at.wrong(format!("it belongs to another project, {of}; delete the file")));
    }
    let rules = rules.ok_or_else(|| missing("rules"))?;
    if rules.len() > MOST {
        return Err(root.wrong(format!("more than {MOST} rules; remove some")));
    }
    rules.into_iter().map(read_rule).collect()
}

fn read_rule(entry: Located<'_>) -> Result<KeptApproval, ConfigError> {
    let (mut rule, mut folder, mut when, mut bound) = (None, None, None, None);
    let mut line = entry.line();
    for (key, value) in entry.object("an approval")? {
        match key.as_str() {
            "rule" => {
                line = value.line();
                rule = Some(value.text("rule")?);
                if !rule.as_deref().is_some_and(is_plain) {
                    return Err(value.wrong("the rule contains an invisible character; remove it"));
                }
            }
            "folder" => folder = Some(read_path(value)?),
            "when" => when = Some(value.text("when")?),
            "bound" => bound = Some(read_bound(value)?),
            _ => return Err(unknown(&key, value)),
        }
    }
    match (rule, folder) {
        (Some(rule), Some(folder)) => Ok(KeptApproval { rule, folder, when, bound, line }),
        _ => Err(entry.wrong("an approval needs \"rule\" and \"folder\"; remove it")),
    }
}

fn read_bound(value: Located<'_>) -> Result<Bound, ConfigError> {
    let (mut folder, mut files) = (None, Vec::new());
    for (key, value) in value.object("bound")? {
        match key.as_str() {
            "folder" => folder = Some(read_path(value)?),
            "files" => {
                for (path, hash) in value.object("files")? {
                    files.push((PathBuf::from(path), hash.text("a hash")?));
                }
            }
            _ => return Err(unknown(&key, value)),
        }
    }
    let folder =
        folder.ok_or_else(|| value.wrong("\"bound\" needs \"folder\"; remove the entry"))?;
    // Bound to nothing would be bound to anything.
    if files.is_empty() {
        return Err(value.wrong("\"bound\" lists no files; remove the entry"));
    }
    Ok(Bound { folder, files })
}

fn read_path(value: Located<'_>) -> Result<PathBuf, ConfigError> {
    let path = PathBuf::from(value.text("a directory")?);
    if !path.is_absolute() {
        return Err(value.wrong("\"folder\" must be an absolute path; remove the entry"));
    }
    Ok(path)
}

fn unknown(key: &str, value: Located<'_>) -> ConfigError {
    value.wrong(format!("unknown key \"{key}\"; remove it"))
}

fn written(kept: &[KeptApproval], project: &Path) -> String {
    let rules: Vec<_> = kept.iter().map(written_rule).collect();
    format!("{:#}\n", json!({ "version": 1, "project": project, "rules": rules }))
}

fn written_rule(kept: &KeptApproval) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("rule".into(), json!(kept.rule));
    entry.insert("folder".into(), json!(kept.folder));
    if let Some(when) = &kept.when {
        entry.insert("when".into(), json!(when));
    }
    if let Some(bound) = &kept.bound {
        let pair = |(path, hash): &(PathBuf, String)| (path.display().to_string(), json!(hash));
        let files: Map<_, _> = bound.files.iter().map(pair).collect();
        entry.insert("bound".into(), json!({ "folder": bound.folder, "files": files }));
    }
    entry
}

/// The approvals of one project, on disk.
pub struct FileApprovals {
    places: SettingsPlaces,
    stamp: Option<Box<dyn Fn() -> String + Send + Sync>>,
}

impl FileApprovals {
    pub fn new(places: SettingsPlaces) -> Self {
        FileApprovals { places, stamp: None }
    }

    /// Says when a rule is accepted.
    #[must_use]
    pub fn stamped(self, stamp: impl Fn() -> String + Send + Sync + 'static) -> Self {
        FileApprovals { stamp: Some(Box::new(stamp)), ..self }
    }

    /// As it will be read again: a rule that would mean something else then is not kept.
    fn kept(&self, rule: &Rule, file: &Path) -> Result<KeptApproval, String> {
        let failed = |why: &str| {
            format!(
                "the rule {} cannot be saved because {why}; it applies to this session only",
                rule.text()
            )
        };
        let paths =
            rule.bound.iter().flat_map(|bound| &bound.files).map(|(path, _)| path.as_path());
        let folder = rule.bound.iter().map(|bound| bound.folder.as_path());
        if !paths.chain(folder).all(|path| path.is_absolute() && path.to_str().is_some()) {
            return Err(failed("a path in it cannot be stored as text"));
        }
        let real = self.places.resolved().ok();
        for places in std::iter::once(&self.places).chain(&real) {
            let kept = KeptApproval {
                rule: rule.text().to_owned(),
                folder: places.cwd.clone(),
                when: self.stamp.as_ref().map(|stamp| stamp()),
                bound: rule.bound.clone(),
                line: 0,
            };
            let again = parsed(&kept, places, file);
            let same = |again: Rule| again.tool == rule.tool && again.matcher == rule.matcher;
            let writable = kept.folder.is_absolute() && kept.folder.to_str().is_some();
            if writable && is_plain(&kept.rule) && again.is_ok_and(same) {
                return Ok(kept);
            }
        }
        Err(failed("it would have a different meaning when loaded again"))
    }
}

impl Approvals for FileApprovals {
    fn keep(&self, rules: &[Rule]) -> Result<(), String> {
        let in_words = |error: ConfigError| error.to_string();
        let project = self.places.real_project().map_err(in_words)?;
        if project.to_str().is_none() {
            return Err(
                "the project's path cannot be stored as text; the rule applies to this session only".into(),
            );
        }
        let file = file(&self.places, &project);
        let new: Vec<KeptApproval> =
            rules.iter().map(|rule| self.kept(rule, &file)).collect::<Result<_, _>>()?;
        update(&file, MOST_BYTES, |text| {
            let mut all =
                text.map(|text| read(&text, &file, &project)).transpose()?.unwrap_or_default();
            for kept in new {
                let same = |old: &KeptApproval| {
                    (&old.rule, &old.folder, &old.bound) == (&kept.rule, &kept.folder, &kept.bound)
                };
                if !all.iter().any(same) {
                    all.push(kept);
                }
            }
            if all.len() > MOST {
                return Err(ConfigError::new(
                    &file,
                    None,
                    format!("more than {MOST} rules; revoke some"),
                ));
            }
            Ok(Some(written(&all, &project)))
        })
        .map_err(in_words)
    }
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
