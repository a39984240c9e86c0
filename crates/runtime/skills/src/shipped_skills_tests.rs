//! What ships is what it should be.

use super::*;
use crate::front_matter;
use crate::listing::one_line;

#[test]
fn shipped_skills_are_faultless_and_short() {
    let all = shipped(Some(Path::new("/home/x/shipped")), &KnownTools::default());
    let names: Vec<&str> = all.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["agent-building", "code-review", "debugging", "pdf"]);
    for (skill, (name, text)) in all.iter().zip(SKILLS) {
        let file = Path::new("/x").join(name).join("SKILL.md");
        let (layout, origin, tools) =
            (SkillLayout::Skills, SkillOrigin::Shipped, &KnownTools::default());
        let source = SkillSource {
            file: &file,
            name,
            layout,
            origin,
            trusted: true,
            namespace: None,
            tools,
        };
        assert_eq!(skill_file::skill(text.as_bytes(), &source).1, [], "{name}");
        assert!(skill.for_model && skill.for_user && skill.when_to_use.is_some(), "{name}");
        assert!(one_line(skill).chars().count() < 300, "{name}");
        assert!(skill.body.len() < 4_000 && skill.body.contains("$ARGUMENTS"), "{name}");
        assert!(skill.allowed_tools.is_empty() && !skill.body.contains("!`"), "{name}");
        assert_eq!(skill.folder, Path::new("/home/x/shipped").join(name));
    }
}

#[test]
fn without_a_parser_their_front_matter_reads_the_same() {
    for (name, text) in SKILLS {
        let front = front_matter::split(text).unwrap().front.unwrap();
        let mut wrongs = Vec::new();
        let parsed = front_matter::read(front, &mut wrongs).unwrap();
        assert_eq!((front_matter::shipped(front), wrongs), (parsed, Vec::new()), "{name}");
    }
}

#[test]
fn files_are_put_where_the_text_says_and_mended() {
    let world = tempfile::tempdir().unwrap();
    let at = world.path().join("shipped");
    for _ in 0..2 {
        unpack("pdf", SkillOrigin::Shipped, Some(&at)).unwrap();
        let file = at.join("pdf/scripts/pdf.py");
        assert_eq!(fs::read_to_string(&file).unwrap(), FILES[0].2);
        fs::write(&file, "something else").unwrap();
    }
    assert_eq!(fs::read_dir(at.join("pdf/scripts")).unwrap().count(), 1, "nothing is left lying");
    assert!(unpack("pdf", SkillOrigin::Shipped, None).is_err());
    assert!(unpack("debugging", SkillOrigin::Shipped, None).is_ok(), "it has no files");
    assert!(unpack("pdf", SkillOrigin::User, None).is_ok(), "somebody else's");
}
