//! Where skills are looked for: the user's directories, then the project's.

use crate::SettingsPlaces;
use crate::places::resolved;
use ostler_skills::{Folder, SkillLayout, SkillOrigin, project_folders};
use std::path::Path;

/// In the order in which they count.
pub fn skill_folders(places: &SettingsPlaces) -> Vec<Folder> {
    let mut folders = Vec::new();
    let mut own = |home: &Path, name: &str, layout: SkillLayout| {
        let path = home.join(name);
        let (origin, within, namespace) = (SkillOrigin::User, None, None);
        folders.push(Folder { path, layout, origin, within, namespace });
    };
    if places.sources.user {
        own(&places.ostler_home, "skills", SkillLayout::Skills);
        own(&places.ostler_home, "commands", SkillLayout::Commands);
        if let Some(home) = &places.claude_home {
            own(home, "skills", SkillLayout::Skills);
            own(home, "commands", SkillLayout::Commands);
        }
    }
    if let Ok(project) = places.real_project()
        && places.sources.project
        && !places.project_is_home(&project)
    {
        let mine: Vec<_> = folders.iter().map(|folder| resolved(&folder.path)).collect();
        let of_project = project_folders(&project, &resolved(&places.cwd));
        folders.extend(of_project.into_iter().filter(|it| !mine.contains(&resolved(&it.path))));
    }
    folders
}
