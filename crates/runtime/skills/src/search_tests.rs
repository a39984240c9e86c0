use super::*;
use crate::skill::SkillOrigin;
use std::os::unix::fs::symlink;

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn with(files: &[&str]) -> Self {
        let world = World { folder: tempfile::tempdir().unwrap() };
        for file in files {
            let path = world.at(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Names, and what is said with paths below the world.
    fn search(&self, layout: SkillLayout) -> (Vec<String>, Vec<String>) {
        let within = Some(self.at("p"));
        let folder = Folder {
            path: self.at("p/in"),
            layout,
            origin: SkillOrigin::Project,
            within,
            namespace: None,
        };
        let SkillSearch { candidates, problems, .. } = SkillSearch::of(&folder);
        let top = format!("{}/", self.at("").display().to_string().trim_end_matches('/'));
        let said = problems.iter().map(|problem| problem.to_string().replace(&top, "")).collect();
        (candidates.into_iter().map(|found| found.name).collect(), said)
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn commands_below_are_named_by_their_directories() {
    let world = World::with(&[
        "p/in/top.md",
        "p/in/sub/x.md",
        "p/in/sub/deep/y.md",
        "p/in/whole/SKILL.md",
        "p/in/whole/part.md",
        "p/in/notes.txt",
        "p/in/a/b/c/d/e/last.md",
        "p/in/a/b/c/d/e/f/beyond.md",
    ]);
    let (names, said) = world.search(SkillLayout::Commands);
    assert_eq!(names, ["a:b:c:d:e:last", "sub:deep:y", "sub:x", "top", "whole"]);
    assert_eq!(said, ["p/in/a/b/c/d/e/f:1: commands nested this deep are not loaded"]);
}

#[test]
fn links_lead_neither_out_nor_round() {
    let world = World::with(&["p/in/x.md", "p/shared/y.md", "out/z.md"]);
    symlink(world.at("p/in"), world.at("p/in/round")).unwrap();
    symlink(world.at("p/shared"), world.at("p/in/sub")).unwrap();
    symlink(world.at("out"), world.at("p/in/away")).unwrap();
    let (names, said) = world.search(SkillLayout::Commands);
    assert_eq!(names, ["sub:y", "x"]);
    assert_eq!(said, ["p/in/away:1: a link leads out of the project; skipped"]);
}

#[test]
fn skills_in_the_wrong_place_are_said() {
    let world = World::with(&[
        "p/in/good/SKILL.md",
        "p/in/_under/SKILL.md",
        "p/in/group/one/SKILL.md",
        "p/in/small/skill.md",
        "p/in/single.md",
        "p/in/README.md",
        "p/in/data/list.csv",
    ]);
    let (names, said) = world.search(SkillLayout::Skills);
    assert_eq!(names, ["_under", "good"]);
    assert_eq!(
        said,
        [
            "p/in/group/one/SKILL.md:1: not loaded; move its directory directly into the skills directory",
            "p/in/single.md:1: a skill is a directory with a SKILL.md; this file is not loaded",
            "p/in/small/skill.md:1: not loaded; rename it to SKILL.md",
        ]
    );
    assert_eq!(World::with(&[]).search(SkillLayout::Skills).1, NOTHING);
}

#[test]
fn what_is_beyond_the_bound_is_said() {
    let files: Vec<String> = (0..MOST_FILES + 3).map(|n| format!("p/in/s/c{n:04}.md")).collect();
    let world = World::with(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let (names, said) = world.search(SkillLayout::Commands);
    assert_eq!((names.len(), names[0].as_str()), (MOST_FILES, "s:c0000"));
    assert_eq!(said, ["p/in:1: more than 500 skills; the rest is not loaded"]);
}
