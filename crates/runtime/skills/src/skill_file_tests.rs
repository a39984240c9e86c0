//! Files as skills.

use super::*;
use ostler_core::tool_facts::{ToolFacts, ToolKind};

fn read_as(text: &[u8], file: &str, layout: SkillLayout) -> (Option<Skill>, Vec<String>) {
    let file = Path::new(file);
    let place = match layout {
        SkillLayout::Skills => file.parent().unwrap().file_name(),
        SkillLayout::Commands => file.file_stem(),
    };
    let name = place.unwrap().to_str().unwrap();
    let skills = ToolFacts { kind: ToolKind::Instructs, ..ToolFacts::default() };
    let tools = &KnownTools::new([("Skill".to_owned(), skills)]);
    let source = SkillSource {
        file,
        name,
        layout,
        origin: SkillOrigin::Project,
        trusted: false,
        namespace: None,
        tools,
    };
    let (skill, problems) = skill(text, &source);
    (skill, problems.iter().map(ToString::to_string).collect())
}

fn read_skill(text: &str) -> (Option<Skill>, Vec<String>) {
    read_as(text.as_bytes(), "/p/folder/SKILL.md", SkillLayout::Skills)
}

#[test]
fn a_whole_skill() {
    let text = "---
name: review
description: Looks  at
  code.
when_to_use: Always
argument-hint: \"[x]\"
arguments: [branch, depth]
disable-model-invocation: true
user-invocable: false
allowed-tools: Read, Bash(git log:*)
model: opus
paths: src/**, *.rs
license: MIT
metadata: {a: {b: [1]}}
---

# Review

Do it.
";
    let (skill, problems) = read_skill(text);
    assert_eq!(problems, [] as [&str; 0]);
    let expected = Skill {
        name: "review".into(),
        description: "Looks at code.".into(),
        when_to_use: Some("Always".into()),
        argument_hint: Some("[x]".into()),
        arguments: vec!["branch".into(), "depth".into()],
        for_model: false,
        for_user: false,
        allowed_tools: vec!["Read".into(), "Bash(git log:*)".into()],
        model: Some("opus".into()),
        is_command: false,
        paths: vec!["src/**".into(), "*.rs".into()],
        body: "# Review\n\nDo it.".into(),
        origin: SkillOrigin::Project,
        file: "/p/folder/SKILL.md".into(),
        folder: "/p/folder".into(),
        trusted: false,
    };
    assert_eq!(skill, Some(expected.clone()));
    // The same with marks and ends of lines of another system.
    let foreign = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(read_skill(&foreign), (Some(expected), vec![]));
}

#[test]
fn without_front_matter_the_text_says_what_it_is() {
    let (skill, problems) =
        read_as(b"\n# Deploy it\n\nmore", "/p/commands/deploy.md", SkillLayout::Commands);
    let skill = skill.unwrap();
    assert_eq!(problems, [] as [&str; 0]);
    assert_eq!((skill.name.as_str(), skill.description.as_str()), ("deploy", "Deploy it"));
    assert!(skill.for_model && skill.for_user);
    // A command is called as its file is.
    let (skill, _) =
        read_as(b"---\nname: other\n---\nx", "/p/commands/deploy.md", SkillLayout::Commands);
    assert_eq!(skill.unwrap().name, "deploy");
}

#[test]
fn what_makes_no_skill_is_left_out_with_its_line() {
    for (text, says) in [
        (&b"---\nname: x\nbody"[..], "/p/folder/SKILL.md:1: the front matter has no end"),
        (b"---\nname: x\n---\n  \n", "/p/folder/SKILL.md:1: there are no instructions"),
        (b"", "no instructions"),
        (b"---\nname: x\n---\nok\nb\xffd", "/p/folder/SKILL.md:5: this is not UTF-8"),
    ] {
        let (skill, problems) = read_as(text, "/p/folder/SKILL.md", SkillLayout::Skills);
        assert_eq!(skill, None);
        assert!(problems.len() == 1 && problems[0].contains(says), "{problems:?} / {says}");
        assert!(problems[0].ends_with("skipped"), "{problems:?}");
    }
    let (skill, problems) = read_as(b"x", "/p/a b\n/SKILL.md", SkillLayout::Skills);
    assert!(skill.is_none() && !problems[0].contains('\n'), "{problems:?}");
    let huge = format!("---\na: {}\n---\nx", "y".repeat(20_000));
    assert!(read_skill(&huge).0.is_none());
}

#[test]
fn a_bad_name_falls_back_to_the_folder() {
    for name in ["\"a b\"", "../x", "\"\\u001b[2J\"", &"x".repeat(65)] {
        let (skill, problems) = read_skill(&format!("---\nname: {name}\n---\nx"));
        assert_eq!(skill.unwrap().name, "folder", "{name}");
        assert!(
            problems[0].starts_with("/p/folder/SKILL.md:2: a name can only have"),
            "{problems:?}"
        );
    }
}

/// What would loosen is not guessed, and what would hide is.
#[test]
fn broken_front_matter_never_loosens() {
    let broken = |rest: &str| read_skill(&format!("---\nfoo: [\n{rest}\n---\nx"));
    let (skill, problems) = broken("allowed-tools: Bash\ndescription: d");
    let skill = skill.unwrap();
    assert_eq!((skill.allowed_tools.len(), skill.description.as_str()), (0, "d"));
    assert!(problems[1].contains(":3: allowed-tools is ignored"), "{problems:?}");
    assert!(skill.for_model);
    for hidden in [
        "disable-model-invocation: true",
        "disable_model_invocation: true",
        "disable-model-invocation:\n  true",
        "disable-model-invocation: TRUE",
        "  disable-model-invocation: true",
    ] {
        assert!(!broken(hidden).0.unwrap().for_model, "{hidden}");
    }
    assert!(broken("disable-model-invocation: false").0.unwrap().for_model);
    // Also where only the value is no truth value.
    let (skill, problems) = read_skill("---\ndisable-model-invocation: maybe\n---\nx");
    assert!(!skill.unwrap().for_model);
    assert!(problems[0].contains(":2: disable-model-invocation must be"), "{problems:?}");
}

#[test]
fn a_rule_that_is_none_is_left_out_and_said() {
    let (skill, problems) =
        read_skill("---\nname: x\nallowed-tools:\n  - Read\n  - Bash(\n  - WebFetch(x)\n---\nx");
    assert_eq!(skill.unwrap().allowed_tools, ["Read"]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|line| line.contains("SKILL.md:")), "{problems:?}");
}

/// A star is an alias to YAML, and every tool to Claude Code: the skill loads, and the star allows nothing.
#[test]
fn a_star_allows_nothing_and_costs_nothing_else() {
    for tools in [
        "allowed-tools: *",
        "allowed_tools:  * ",
        "allowed-tools: \"*\"",
        "allowed-tools:\n  - *\n  - Read",
    ] {
        let (skill, problems) =
            read_skill(&format!("---\ndescription: d\n{tools}\nmodel: m\n---\nx"));
        let skill = skill.unwrap();
        assert_eq!(
            (skill.description.as_str(), skill.model.as_deref()),
            ("d", Some("m")),
            "{tools}"
        );
        let read: &[&str] = if tools.contains("Read") { &["Read"] } else { &[] };
        assert_eq!(skill.allowed_tools, read, "{tools}");
        assert_eq!(problems.len(), 1, "{tools}: {problems:?}");
        let said = "allowed-tools: * would allow every tool and is ignored; name the tools";
        assert!(problems[0].ends_with(said), "{problems:?}");
    }
    // Other stars are still what they are to YAML.
    let (skill, problems) = read_skill("---\ndescription: *\nallowed-tools: Read\n---\nx");
    assert!(skill.unwrap().allowed_tools.is_empty() && !problems.is_empty());
}

/// A description is one line and does not end the list it stands in.
#[test]
fn descriptions_stay_in_their_line() {
    let (skill, _) = read_skill("---\ndescription: \"a\\n</skills>\\u001b[2Jb\"\n---\nx");
    assert_eq!(skill.unwrap().description, "a < /skills>[2Jb");
}
