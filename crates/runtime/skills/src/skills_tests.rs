//! Skills in use, with a host that writes down what it is asked for.

use super::*;
use crate::catalog::{Folder, SkillLayout};
use crate::skill::SkillOrigin;
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl Host for Asked {
    fn command(&self, command: String) -> BoxFuture<'static, Result<String, String>> {
        self.0.lock().unwrap().push(format!("run {command}"));
        let answer = match command.as_str() {
            "no" => Err("the gate says no".to_owned()),
            "long" => Ok("x".repeat(100_000)),
            other => Ok(format!("<{other} !`x` $0>")),
        };
        Box::pin(std::future::ready(answer))
    }

    fn read(&self, path: String) -> BoxFuture<'static, Result<Option<String>, String>> {
        self.0.lock().unwrap().push(format!("read {path}"));
        let answer = match path.as_str() {
            "secret.txt" => Err("the gate says no".to_owned()),
            "types/node" => Ok(None),
            other => Ok(Some(format!("1\tall of {other} @b.txt $1"))),
        };
        Box::pin(std::future::ready(answer))
    }

    fn allow(&self, rules: &[String], skill: &Skill) {
        self.0.lock().unwrap().push(format!("allow {} for {}", rules.join(" "), skill.name));
    }
}

/// Nothing here waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

struct World {
    _folder: tempfile::TempDir,
    skills: Skills,
    asked: Arc<Asked>,
}

fn world(origin: SkillOrigin, skills: &[(&str, &str)]) -> World {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, text) in skills {
        std::fs::create_dir_all(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("SKILL.md"), text).unwrap();
    }
    let within = (origin == SkillOrigin::Project).then(|| root.clone());
    let folders =
        vec![Folder { path: root, layout: SkillLayout::Skills, origin, within, namespace: None }];
    let skills = Skills::new(
        Catalog::new(folders, vec![], [], Default::default()),
        "s1",
        "/proj".into(),
        None,
    );
    let asked = Arc::new(Asked::default());
    skills.serve(asked.clone());
    World { _folder: folder, skills, asked }
}

impl World {
    fn used(&self, name: &str, arguments: &str) -> (String, Vec<String>) {
        let text = now(self.skills.used(&self.skills.for_user(name).unwrap(), arguments));
        (text, std::mem::take(&mut self.asked.0.lock().unwrap()))
    }
}

const IT: &str = "---\nallowed-tools: Read, Bash(${CLAUDE_SKILL_DIR}/run:*)\n---\nA !`one` B !`no` C $0 D !`long`";

#[test]
fn rules_come_first_then_commands_in_order() {
    let world = world(SkillOrigin::User, &[("it", IT)]);
    let (text, asked) = world.used("it", "arg");
    let folder = world.skills.for_user("it").unwrap().folder.display().to_string();
    assert_eq!(
        asked,
        [&format!("allow Read Bash({folder}/run:*) for it"), "run one", "run no", "run long"]
    );
    let start = format!(
        "<skill name=\"it\">\nThis skill's files are in {folder}.\nA <one !`x` $0> B [not run: `no`: the gate says no] C arg D xxx"
    );
    assert!(text.starts_with(&start), "{}", &text[..400]);
    assert!(text.ends_with("x\n</skill>") && text.len() < 20_000, "{}", text.len());
}

#[test]
fn without_trust_nothing_runs_and_nothing_is_allowed() {
    let world = world(SkillOrigin::Project, &[("it", IT)]);
    let (text, asked) = world.used("it", "arg");
    assert_eq!(asked, [] as [&str; 0]);
    assert!(text.contains("[not run: `one`: the content of this skill is not trusted]"), "{text}");
    assert!(text.contains("Its allowed-tools are ignored") && text.contains("C arg"), "{text}");
    assert_eq!(world.skills.loosens(&world.skills.for_user("it").unwrap()), [] as [&str; 0]);
}

#[test]
fn a_command_does_not_get_what_a_shell_would_read() {
    let world = world(SkillOrigin::User, &[("it", "!`show $0`")]);
    assert_eq!(world.used("it", "a.txt").1, ["run show a.txt"]);
    let (text, asked) = world.used("it", "$(rm)");
    assert_eq!(asked, [] as [&str; 0]);
    assert!(text.contains("[not run: `show $0`: the arguments contain"), "{text}");
}

#[test]
fn who_may_use_what() {
    let both = world(
        SkillOrigin::User,
        &[
            ("all", "x"),
            ("typed", "---\ndisable-model-invocation: true\n---\nx"),
            ("own", "---\nuser-invocable: false\n---\nx"),
        ],
    );
    let skills = &both.skills;
    assert!(skills.for_model("all").is_ok() && skills.for_user("all").is_ok());
    let why = skills.for_model("typed").unwrap_err();
    assert_eq!(why, "There is no skill \"typed\" here. The skills are: all, own.");
    assert!(skills.for_user("own").unwrap_err().contains("all, typed."));
    assert!(skills.for_user("\u{1b}[2J").unwrap_err().is_ascii());
    let told = skills.told(None).unwrap();
    assert!(Skills::is_listing(&told), "{told}");
    assert!(told.contains("\n- all: x\n- own: x\n") && !told.contains("typed"), "{told}");
    let none =
        world(SkillOrigin::User, &[("typed", "---\ndisable-model-invocation: true\n---\nx")]);
    assert_eq!(none.skills.told(None), None);
    assert!(none.skills.for_model("x").unwrap_err().contains("none"));
}

#[test]
fn the_list_takes_one_per_cent_of_the_window() {
    let long = format!("---\ndescription: {}\n---\nx", "word ".repeat(280));
    let names: Vec<String> = (0..20).map(|n| format!("skill-{n:02}")).collect();
    let skills: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), long.as_str())).collect();
    let world = world(SkillOrigin::User, &skills);
    let frame = LISTING.chars().count() - "{skills}".len();
    for (window, budget) in [(None, 8_000), (Some(200_000), 8_000), (Some(1_000_000), 40_000)] {
        let told = world.skills.told(window).unwrap().chars().count() - frame;
        assert!(told <= budget && told > budget / 2, "{window:?}: {told}");
    }
    let told = world.skills.told(Some(100)).unwrap();
    assert!(told.contains("- and 20 more"), "{told}");
}

#[test]
fn slashes() {
    for (prompt, expected) in [
        ("/review", Some(("review", ""))),
        (" /review  a b \n", Some(("review", "a b"))),
        ("/review\na", Some(("review", "a"))),
        ("/etc/passwd", None),
        ("/", None),
        ("// x", None),
        ("a /review", None),
        ("/a,b", None),
    ] {
        assert_eq!(slash(prompt), expected, "{prompt:?}");
    }
}

#[test]
fn files_that_a_command_names_are_read_after_trust() {
    for (origin, expected) in [
        (SkillOrigin::User, vec!["read a.txt", "read secret.txt", "read types/node"]),
        (SkillOrigin::Project, vec![]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("look.md"), "See @a.txt @secret.txt @types/node").unwrap();
        let within = (origin == SkillOrigin::Project).then(|| root.clone());
        let (layout, namespace) = (SkillLayout::Commands, None);
        let folders = vec![Folder { path: root, layout, origin, within, namespace }];
        let catalog = Catalog::new(folders, vec![], [], Default::default());
        let skills = Skills::new(catalog, "s1", "/proj".into(), None);
        let asked = Arc::new(Asked::default());
        skills.serve(asked.clone());
        let command = skills.for_user("look").unwrap();
        let text = now(skills.used(&command, ""));
        assert_eq!(*asked.0.lock().unwrap(), expected);
        assert!(text.contains("See @a.txt @secret.txt @types/node"), "{text}");
        if origin == SkillOrigin::User {
            assert!(text.contains("Contents of a.txt:\n1\tall of a.txt @b.txt $1"), "{text}");
            assert!(text.contains("[not read: secret.txt: the gate says no]"), "{text}");
        } else {
            assert_eq!(text.matches("[not read: ").count(), 3, "{text}");
        }
    }
}
