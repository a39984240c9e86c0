//! Directories: what counts, what goes before what, and what is seen when it changes.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        World { folder: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn skill(&self, place: &str, name: &str) -> PathBuf {
        let text = format!("---\nname: {name}\ndescription: of {place}\n---\nbody !`ls`");
        self.write(&format!("{place}/{name}/SKILL.md"), &text)
    }

    fn folders(&self) -> Vec<Folder> {
        let own = Folder {
            path: self.at("home/skills"),
            layout: SkillLayout::Skills,
            origin: SkillOrigin::User,
            within: None,
            namespace: None,
        };
        let mut all = vec![own];
        all.extend(crate::project_folders(&self.at("p"), &self.at("p/sub")));
        all
    }

    fn catalog(&self) -> Catalog {
        let tools = KnownTools::default();
        Catalog::new(self.folders(), crate::shipped(None, &tools), [], tools)
    }
}

fn names(catalog: &Catalog) -> Vec<String> {
    let all = catalog.all();
    let own = all.iter().filter(|skill| skill.origin != SkillOrigin::Shipped);
    own.map(|skill| format!("{}:{}", skill.origin.name(), skill.name)).collect()
}

fn said(catalog: &Catalog) -> String {
    catalog.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_users_go_before_the_projects_and_those_before_the_shipped() {
    let world = World::new();
    world.skill("home/skills", "mine");
    world.skill("home/skills", "both");
    world.skill("p/.claude/skills", "both");
    world.skill("p/.ostler/skills", "pdf");
    world.skill("p/sub/.claude/skills", "near");
    world.write("p/.claude/commands/deploy.md", "Deploy.");
    world.write("p/.claude/commands/notes.txt", "no skill");
    world.write("p/.claude/skills/empty/README.md", "no skill");
    let catalog = world.catalog();
    assert_eq!(
        names(&catalog),
        ["user:both", "user:mine", "project:deploy", "project:near", "project:pdf"]
    );
    assert_eq!(catalog.find("both").unwrap().description, "of home/skills");
    assert_eq!(
        catalog.find("pdf").unwrap().origin,
        SkillOrigin::Project,
        "the shipped one gives way"
    );
    assert!(catalog.find("code-review").is_some() && catalog.find("none").is_none());
    let problems = said(&catalog);
    assert!(
        problems.contains("p/.claude/skills/both/SKILL.md:1: the skill both from"),
        "{problems}"
    );
    assert_eq!(catalog.problems().len(), 1, "{problems}");
}

#[test]
fn one_that_is_broken_does_not_take_the_others_along() {
    let world = World::new();
    world.skill("p/.claude/skills", "good");
    world.write("p/.claude/skills/open/SKILL.md", "---\nname: x\n");
    world.write("p/.claude/skills/bad/SKILL.md", "---\ndescription: d\nx: [\n---\nbody");
    world.write("p/.claude/skills/long/SKILL.md", &"x".repeat(300_000));
    fs::create_dir_all(world.at("p/.claude/skills/folder/SKILL.md")).unwrap();
    let catalog = world.catalog();
    assert_eq!(names(&catalog), ["project:bad", "project:good"]);
    let problems = said(&catalog);
    for says in [
        "open/SKILL.md:1: the front matter has no end",
        "bad/SKILL.md:",
        "long/SKILL.md:1: it is longer than 262144 bytes",
        "folder/SKILL.md:1: it is not a regular file",
    ] {
        assert!(problems.contains(says), "{says}\n{problems}");
    }
    let first = catalog.new_problems();
    assert_eq!(first.len(), 4);
    catalog.refresh();
    assert_eq!(catalog.new_problems(), [], "each is said once");
}

#[test]
fn links_lead_nowhere_out_of_a_project() {
    let world = World::new();
    world.skill("elsewhere", "stray");
    world.skill("p/inside", "inner");
    fs::create_dir_all(world.at("p/.claude/skills")).unwrap();
    fs::create_dir_all(world.at("home/skills")).unwrap();
    symlink(world.at("elsewhere/stray"), world.at("p/.claude/skills/stray")).unwrap();
    symlink(world.at("p/inside/inner"), world.at("p/.claude/skills/inner")).unwrap();
    symlink(world.at("gone"), world.at("p/.claude/skills/gone")).unwrap();
    symlink(world.at("elsewhere/stray"), world.at("home/skills/stray")).unwrap();
    let catalog = world.catalog();
    assert_eq!(names(&catalog), ["user:stray", "project:inner"]);
    assert_eq!(catalog.find("stray").unwrap().folder, world.at("elsewhere/stray"));
    assert!(said(&catalog).contains("a link leads out of the project"), "{}", said(&catalog));
}

#[test]
fn changes_are_seen_when_asked_for() {
    let world = World::new();
    let catalog = world.catalog();
    assert_eq!(names(&catalog), [] as [&str; 0]);
    let file = world.skill("p/.claude/skills", "new");
    assert_eq!(names(&catalog), [] as [&str; 0], "nobody looked");
    catalog.refresh();
    assert_eq!(names(&catalog), ["project:new"]);
    let before = catalog.find("new").unwrap();
    catalog.refresh();
    assert!(Arc::ptr_eq(&before, &catalog.find("new").unwrap()), "nothing is read twice");
    // The same length, and the time set back: it is another content all the same.
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let text = fs::read_to_string(&file).unwrap().replace("description: of", "description: OF");
    fs::write(&file, text).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    catalog.refresh();
    assert!(catalog.find("new").unwrap().description.starts_with("OF"));
    fs::remove_file(&file).unwrap();
    catalog.refresh();
    assert_eq!(names(&catalog), [] as [&str; 0]);
}

#[test]
fn trust_is_in_a_content() {
    let world = World::new();
    let file = world.skill("p/.claude/skills", "it");
    world.skill("home/skills", "mine");
    let wanting = crate::project_files(&world.at("p"), &world.at("p/sub"), &KnownTools::default());
    assert_eq!(wanting.len(), 1);
    assert_eq!(wanting[0].2, ["runs `ls` when the skill it is used"]);
    let accepted = [hash(&wanting[0].1)];
    let catalog = Catalog::new(world.folders(), Vec::new(), accepted, KnownTools::default());
    let trusted = |name: &str| catalog.find(name).unwrap().trusted;
    assert!(trusted("it") && trusted("mine"));
    assert!(!world.catalog().find("it").unwrap().trusted);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "\nmore").unwrap();
    catalog.refresh();
    assert!(!trusted("it"), "a changed file is a new file");
}

#[test]
fn folders_are_looked_at_within_bounds() {
    let world = World::new();
    for n in 0..500 + 20 {
        world.write(&format!("p/.claude/commands/c{n:04}.md"), "x");
    }
    assert_eq!(names(&world.catalog()).len(), 500);
}
