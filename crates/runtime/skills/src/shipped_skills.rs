//! The skills that ship with the program. Their files are put on the disk when one is used that has any.

use crate::catalog::SkillLayout;
use crate::skill::{Skill, SkillOrigin};
use crate::skill_file::{self, SkillSource};
use ostler_core::tool_facts::KnownTools;
use std::fs;
use std::path::Path;

const SKILLS: [(&str, &str); 4] = [
    ("agent-building", include_str!("../../../../skills/agent-building/SKILL.md")),
    ("code-review", include_str!("../../../../skills/code-review/SKILL.md")),
    ("debugging", include_str!("../../../../skills/debugging/SKILL.md")),
    ("pdf", include_str!("../../../../skills/pdf/SKILL.md")),
];

/// Skill, path below its directory, content.
const FILES: [(&str, &str, &str); 1] =
    [("pdf", "scripts/pdf.py", include_str!("../../../../skills/pdf/scripts/pdf.py"))];

/// Their path when there is no directory for them.
const NOWHERE: &str = "/nonexistent";

/// `at`: the directory for their files.
pub fn shipped(at: Option<&Path>, tools: &KnownTools) -> Vec<Skill> {
    let skill = |(name, text): &(&str, &str)| {
        let file = at.unwrap_or(Path::new(NOWHERE)).join(name).join("SKILL.md");
        let (layout, origin) = (SkillLayout::Skills, SkillOrigin::Shipped);
        let source = SkillSource {
            file: &file,
            name,
            layout,
            origin,
            trusted: true,
            namespace: None,
            tools,
        };
        skill_file::skill(text.as_bytes(), &source).0
    };
    SKILLS.iter().filter_map(skill).collect()
}

/// Writes the files of a shipped skill to the place that its text names. Files that are already there stay.
///
/// # Errors
/// In words.
pub(crate) fn unpack(name: &str, origin: SkillOrigin, at: Option<&Path>) -> Result<(), String> {
    for (_, below, content) in
        FILES.iter().filter(|(skill, ..)| origin == SkillOrigin::Shipped && *skill == name)
    {
        let at = at.ok_or("there is no directory for them")?;
        let file = at.join(name).join(below);
        if fs::read(&file).is_ok_and(|found| found == content.as_bytes()) {
            continue;
        }
        let folder = file.parent().unwrap_or(at);
        let new = file.with_extension(format!("{}.new", std::process::id()));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&new, content))
            .and_then(|()| fs::rename(&new, &file))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "shipped_skills_tests.rs"]
mod tests;
