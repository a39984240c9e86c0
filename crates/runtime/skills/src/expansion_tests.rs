//! Arguments in their places, and commands in theirs.

use super::*;
use crate::skill::SkillOrigin;
use proptest::prelude::*;

pub(crate) fn skill(body: &str) -> Skill {
    Skill {
        name: "it".into(),
        description: String::new(),
        when_to_use: None,
        argument_hint: None,
        arguments: vec!["branch".into(), "depth".into()],
        for_model: true,
        for_user: true,
        allowed_tools: Vec::new(),
        model: None,
        is_command: false,
        paths: Vec::new(),
        body: body.into(),
        origin: SkillOrigin::User,
        file: "/s/it/SKILL.md".into(),
        folder: "/s/it".into(),
        trusted: true,
    }
}

fn pieces(body: &str, arguments: &str) -> Vec<SkillPiece> {
    let situation = Situation { arguments, session: "id-1", project: Path::new("/proj") };
    let mut pieces = expand(&skill(body), situation);
    pieces.retain(|piece| *piece != SkillPiece::Text(String::new()));
    pieces
}

fn text(body: &str, arguments: &str) -> String {
    let piece = |piece| match piece {
        SkillPiece::Text(text) => text,
        other => panic!("{other:?}"),
    };
    pieces(body, arguments).into_iter().map(piece).collect()
}

#[test]
fn placeholders() {
    for (body, arguments, expected) in [
        ("do $ARGUMENTS.", "a b", "do a b."),
        ("do $ARGUMENTS.", "", "do ."),
        ("$0|$1|$2", "a 'b c'", "a|b c|"),
        ("$ARGUMENTS[1] of $ARGUMENTS", "a b", "b of a b"),
        ("$ARGUMENTS[9]!", "a", "!"),
        ("$ARGUMENTS[x]", "a", "a[x]"),
        ("$ARGUMENTS[", "a", "a["),
        ("$ARGUMENTSX $ARGUMENTS", "a", "$ARGUMENTSX a"),
        ("$branch at $depth, $branches", "main 3", "main at 3, $branches"),
        ("$branch", "", ""),
        ("$10$1", "a b", "b"),
        ("\\$1 and \\$ARGUMENTS are $1", "a b", "$1 and $ARGUMENTS are b"),
        ("${CLAUDE_SKILL_DIR}/x ${OSTLER_SKILL_DIR}", "", "/s/it/x /s/it"),
        ("${CLAUDE_SESSION_ID} ${OSTLER_SESSION_ID}", "", "id-1 id-1"),
        ("${CLAUDE_PROJECT_DIR} ${OSTLER_PROJECT_DIR}", "", "/proj /proj"),
        ("${CLAUDE_HOME} ${X} ${ $( $ $HOME", "", "${CLAUDE_HOME} ${X} ${ $( $ $HOME"),
        // What was put in is not read again.
        ("$0 $1", "$1 ${CLAUDE_SESSION_ID}", "$1 ${CLAUDE_SESSION_ID}"),
        ("$ARGUMENTS", "!`rm x`", "!`rm x`"),
        // Without a place they go to the end.
        ("do it", "a b", "do it\n\nArguments: a b"),
        ("do it", "  ", "do it"),
        ("${CLAUDE_SKILL_DIR}", "a", "/s/it\n\nArguments: a"),
    ] {
        assert_eq!(text(body, arguments), expected, "{body} / {arguments}");
    }
}

#[test]
fn commands_are_found_where_they_stand_alone() {
    let text = |text: &str| SkillPiece::Text(text.into());
    let command = |text: &str| SkillPiece::Command(text.into());
    assert_eq!(
        pieces("a !`git diff` b\n!`x`", ""),
        [text("a "), command("git diff"), text(" b\n"), command("x")]
    );
    for plain in ["a!`x`", "!`x\ny`", "!`", "!``", "!`  `", "`!x`", "\\!`x`"] {
        assert_eq!(pieces(plain, ""), [text(plain)], "{plain}");
    }
    let many = "!`x` ".repeat(40);
    let found = pieces(&many, "").iter().filter(|piece| **piece == command("x")).count();
    assert_eq!(found, MOST_COMMANDS);
    assert_eq!(commands(&many).len(), MOST_COMMANDS);
}

/// What a shell would read in an argument reaches no command.
#[test]
fn arguments_reach_commands_as_plain_words_only() {
    let body = "!`git log $ARGUMENTS`";
    assert_eq!(pieces(body, "main --stat"), [SkillPiece::Command("git log main --stat".into())]);
    for arguments in ["a; rm -rf x", "$(x)", "`x`", "a|b", "a\nb", "a>b", "a&b", "'a'", "~", "*"] {
        assert_eq!(pieces(body, arguments), [SkillPiece::Unfit("git log $ARGUMENTS".into())]);
    }
    // A command without a place for them runs as it is, and they go to the end.
    assert_eq!(
        pieces("!`x`", "a; b"),
        [SkillPiece::Command("x".into()), SkillPiece::Text("\n\nArguments: a; b".into())]
    );
    assert_eq!(pieces("!`ls ${CLAUDE_SKILL_DIR}`", ""), [SkillPiece::Command("ls /s/it".into())]);
}

proptest! {
    #[test]
    fn anything_expands(body in "[$A-Z\\[\\]0-9{}a-z`!\\\\ \n]{0,80}", arguments in ".{0,20}") {
        let _ = pieces(&body, &arguments);
        prop_assert!(commands(&body).len() <= MOST_COMMANDS);
    }

    /// Without a dollar, a command or arguments a text stays what it is.
    #[test]
    fn plain_texts_stay(body in "[a-z`\\\\{}\n ]{1,80}") {
        prop_assert_eq!(text(&body, ""), body);
    }
}

fn of_command(body: &str, arguments: &str) -> Vec<SkillPiece> {
    let situation = Situation { arguments, session: "id-1", project: Path::new("/proj") };
    let command = Skill { is_command: true, ..skill(body) };
    let mut pieces = expand(&command, situation);
    pieces.retain(|piece| *piece != SkillPiece::Text(String::new()));
    pieces
}

#[test]
fn a_command_counts_its_arguments_from_1() {
    let text = |body: &str| match of_command(body, "one 'two words'").as_slice() {
        [SkillPiece::Text(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text("$1, then $2, not $3."), "one, then two words, not .");
    assert_eq!(text("$ARGUMENTS[0] and $ARGUMENTS"), "one and one 'two words'");
    assert_eq!(text("$0 and $1"), "one and two words", "it counts from 0");
}

#[test]
fn a_command_names_files() {
    let files = |body: &str, arguments: &str| -> Vec<String> {
        let pieces = of_command(body, arguments).into_iter();
        let file = |piece| match piece {
            SkillPiece::File(path) => Some(path),
            _ => None,
        };
        pieces.filter_map(file).collect()
    };
    assert_eq!(files("See @a.txt, @src/b.rs and (@c.md)\n@d/", ""), ["a.txt", "src/b.rs", "d/"]);
    assert_eq!(files("Look at @$1.", "src/x.rs"), ["src/x.rs"]);
    assert_eq!(files("mail a@b.example, @param, @ x", ""), [] as [&str; 0]);
    // What a person or a model passes in names no file by itself.
    assert_eq!(files("Do $ARGUMENTS", "@secret.txt"), [] as [&str; 0]);
    // Skills write such words for other reasons.
    assert!(!pieces("See @a.txt", "").iter().any(|piece| matches!(piece, SkillPiece::File(_))));
    let texts = of_command("See @a.txt, now", "").into_iter();
    let text = |piece| match piece {
        SkillPiece::Text(text) => Some(text),
        _ => None,
    };
    assert_eq!(texts.filter_map(text).collect::<String>(), "See @a.txt, now", "the text stays");
}
