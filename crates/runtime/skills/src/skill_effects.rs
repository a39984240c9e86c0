//! What a project's skills would do besides saying something: it holds once the user has accepted their content.

use crate::catalog::{Folder, SkillLayout};
use crate::expansion::{commands, files};
use crate::search::{Candidate, SkillSearch};
use crate::skill::{Skill, SkillOrigin};
use crate::skill_file::{self, SkillSource};
use ostler_core::tool_facts::KnownTools;
use std::path::{Path, PathBuf};

/// Directories of a project, and how they are laid out.
const FOLDERS: [(&str, SkillLayout); 4] = [
    (".ostler/skills", SkillLayout::Skills),
    (".ostler/commands", SkillLayout::Commands),
    (".claude/skills", SkillLayout::Skills),
    (".claude/commands", SkillLayout::Commands),
];

/// Files of a project that want something.
const MOST_FILES: usize = 100;

/// Where a project's skills are: near the working directory first. Both are free of links.
pub fn project_folders(project: &Path, cwd: &Path) -> Vec<Folder> {
    let mut places = vec![cwd];
    if cwd != project {
        places.push(project);
    }
    let folder = |place: &Path, (name, layout): (&str, SkillLayout)| Folder {
        path: place.join(name),
        layout,
        origin: SkillOrigin::Project,
        within: Some(project.to_owned()),
        namespace: None,
    };
    places.iter().flat_map(|place| FOLDERS.map(|each| folder(place, each))).collect()
}

/// The files of a project's skills that want something, with their content, by path.
pub fn project_files(
    project: &Path,
    cwd: &Path,
    tools: &KnownTools,
) -> Vec<(PathBuf, Vec<u8>, Vec<String>)> {
    let mut wanting = Vec::new();
    for folder in project_folders(project, cwd) {
        for Candidate { file, name } in SkillSearch::of(&folder).candidates {
            let Ok((real, bytes)) = skill_file::load(&file, Some(project), &|_| Ok(())) else {
                continue;
            };
            let source = SkillSource {
                file: &real,
                name: &name,
                layout: folder.layout,
                origin: SkillOrigin::Project,
                trusted: false,
                namespace: None,
                tools,
            };
            let wants =
                skill_file::skill(&bytes, &source).0.map(|skill| wants(&skill)).unwrap_or_default();
            if !wants.is_empty() && wanting.len() < MOST_FILES {
                wanting.push((file, bytes, wants));
            }
        }
    }
    wanting.sort();
    wanting
}

/// In words, one line each.
pub fn wants(skill: &Skill) -> Vec<String> {
    let name = &skill.name;
    let runs = commands(&skill.body).into_iter();
    let runs = runs.map(|command| format!("runs `{command}` when the skill {name} is used"));
    let allows = skill.allowed_tools.iter();
    let allows = allows.map(|rule| format!("allows {rule} while the skill {name} is used"));
    let reads = files(skill).into_iter();
    let reads = reads.map(|file| format!("reads {file} when the command {name} is used"));
    let model = skill.model.iter().filter(|_| skill.is_command);
    let model = model.map(|model| format!("uses the model {model} for the command {name}"));
    runs.chain(allows).chain(reads).chain(model).collect()
}
