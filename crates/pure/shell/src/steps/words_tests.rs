//! Words that are not known to the letter, made by hand.

use super::notation_tests::*;
use super::steps_of;
use ostler_policy::script::*;
use ostler_policy::{Commands, Effect, Position};

/// `for variable in values; do body; done`
fn looped(variable: &str, values: Vec<Word>, body: Script) -> Script {
    let body = Compound::For { variable: variable.into(), values: Some(values), body };
    script(vec![PipelineStage::Compound { body, redirects: Vec::new() }])
}

fn glob(pattern: &str) -> Word {
    Word::Glob(pattern.into())
}

fn found(text: &str, script: &Script) -> (Vec<String>, bool) {
    let commands = steps_of(text, script);
    (shown(&commands), commands.doubts.is_empty())
}

#[test]
fn loop_variables_stand_for_their_values() {
    let text = "for f in …; do wc -l \"$f\"; done";
    let table: Vec<(Vec<Word>, Script, &str)> = vec![
        (vec![glob("src/*.rs")], with("wc -l", quoted("f")), "wc -l \"$f\" = reads src/*.rs(glob)"),
        (
            vec![literal("a"), literal("b c")],
            with("cat", quoted("f")),
            "cat a = reads a\ncat b c = reads b c",
        ),
        (
            vec![literal("a"), literal("b")],
            with("cat", bare("f")),
            "cat a = reads a\ncat b = reads b",
        ),
        (vec![literal("a b")], with("cat", bare("f")), "cat $f = unknown !"),
        (vec![glob("*.rs")], with("cat", bare("f")), "cat $f = reads *.rs(glob) ./**(names)"),
        (vec![glob("a b/*.rs")], with("cat", bare("f")), "cat $f = unknown !"),
        (vec![glob("*.rs")], with("sort", bare("f")), "sort $f = unknown !"),
        (vec![glob("src/*")], with("rm", bare("f")), "rm $f = unknown !"),
        (vec![glob("*.rs")], with("sort", quoted("f")), "sort \"$f\" = unknown !1"),
        (vec![glob("*.rs")], with("sort --", quoted("f")), "sort -- \"$f\" = reads *.rs(glob)"),
        (
            vec![literal("-o"), literal("x")],
            with("sort", quoted("f")),
            "sort -o = unknown !1\nsort x = reads x",
        ),
        (vec![literal("a")], with("rm -r", quoted("f")), "rm -r a = writes w:a/**"),
        (
            vec![literal("x"), literal("/")],
            with("rm -r", quoted("f")),
            "rm -r x = writes w:x/**\nrm -r / = ruin",
        ),
        (vec![bare("y")], with("cat", quoted("f")), "cat \"$f\" = unknown !"),
        (vec![literal("a")], with("cat", quoted("g")), "cat \"$g\" = unknown !"),
    ];
    for (values, body, expected) in table {
        let expected = expected.lines().map(str::to_owned).collect();
        assert_eq!(found(text, &looped("f", values, body)), (expected, true));
    }
    let parts = vec![
        WordPart::Literal("src/".into()),
        parameter("f", Form::Value, true),
        WordPart::Literal(".rs".into()),
    ];
    let body = with("cat", dynamic("src/\"$f\".rs", parts));
    let (lines, _) = found(text, &looped("f", vec![literal("a"), literal("b")], body));
    assert_eq!(lines, ["cat src/a.rs = reads src/a.rs", "cat src/b.rs = reads src/b.rs"]);
}

#[test]
fn a_variable_that_is_set_elsewhere_is_not_known() {
    let script = looped("f", vec![literal("a")], with("cat", quoted("f")));
    for text in [
        "f=x; for f in a; do cat \"$f\"; done",
        "for f in a; do read f; cat \"$f\"; done",
        "for f in a; do eval x; cat \"$f\"; done",
        "for f in a; do printf -vf x; cat \"$f\"; done",
        "for f in a; do for f in b; do cat \"$f\"; done; done",
        "for f in a; do source x; cat \"$f\"; done",
    ] {
        assert_eq!(found(text, &script).0, ["cat \"$f\" = unknown !"], "{text}");
    }
    let fine = "for f in a; do cat \"$f\" \"${f}\"; done";
    assert_eq!(found(fine, &script).0, ["cat a = reads a"]);
}

/// The name is hidden from the text, but not from the steps.
#[test]
fn a_variable_that_is_set_in_a_nested_text_is_a_doubt() {
    let mut stages = with("eval", literal("f=/etc/x")).items;
    stages.extend(with("cat", quoted("f")).items);
    let script = looped("f", vec![literal("a")], Script { items: stages });
    let commands = steps_of("for f in a; do ev''al $'\\x66=/etc/x'; cat \"$f\"; done", &script);
    assert!(!commands.doubts.is_empty() && !commands.only_reads());
}

#[test]
fn a_folder_that_differs_each_time() {
    let body = simple(vec![literal("git"), literal("-C"), quoted("d"), literal("rev-parse")]);
    let script = looped("d", vec![literal("a"), literal("b")], body);
    let lines = found("for d in …; do git -C \"$d\" rev-parse; done", &script).0;
    assert_eq!(lines, ["git rev-parse = reads in a", "git rev-parse = reads in b"]);
    let body = simple(vec![literal("git"), literal("-C"), quoted("d"), literal("rev-parse")]);
    let many: Vec<Word> = (0..9).map(|n| literal(&n.to_string())).collect();
    let lines = found("for d in …; do git -C \"$d\" rev-parse; done", &looped("d", many, body)).0;
    assert_eq!(lines, ["git rev-parse = reads in ?"]);
}

#[test]
fn many_values_are_not_tried() {
    let values: Vec<Word> = (0..65).map(|n| literal(&format!("f{n}"))).collect();
    let script = looped("f", values, with("cat", quoted("f")));
    assert_eq!(found("for f in …; do cat \"$f\"; done", &script).0, ["cat \"$f\" = unknown !"]);
}

#[test]
fn the_home_folder() {
    let in_home = |rest: &str| {
        let parts = vec![parameter("HOME", Form::Value, true), WordPart::Literal(rest.into())];
        dynamic(&format!("\"$HOME{rest}\""), parts)
    };
    let table = [
        (with("cat", home("/x")), "cat ~/x = reads ~/x"),
        (with("git -P ls-tree HEAD", home("/x")), "git ls-tree HEAD ~/x = reads"),
        (with("cat", in_home("/x")), "cat \"$HOME/x\" = reads ~/x"),
        (with("cat", in_home("x")), "cat \"$HOMEx\" = unknown !"),
        (with("cat", bare("HOME")), "cat $HOME = unknown !"),
        (with("ls", home("")), "ls ~ = reads ~/"),
        (with("rm -rf", home("")), "rm -rf ~ = ruin"),
        (with("rm -rf", home("/")), "rm -rf ~/ = ruin"),
        (with("rm -rf", bare("HOME")), "rm -rf $HOME = ruin"),
        (with("rm -rf", quoted("HOME")), "rm -rf \"$HOME\" = ruin"),
        (with("rm -rf", home("/x")), "rm -rf ~/x = writes w:~/x/**"),
        (with("cd", home("/x")), "cd ~/x = reads"),
        (simple(vec![home("/bin/ls")]), "~/bin/ls = unknown run:~/bin/ls"),
        (with("cat", quoted("PWD")), "cat \"$PWD\" = reads ."),
    ];
    for (script, expected) in table {
        assert_eq!(found("x", &script), (vec![expected.to_owned()], true));
    }
}

#[test]
fn dynamic_words() {
    let sub = || substitution(simple(vec![literal("pwd")]), true);
    let process = || dynamic("<(…)", vec![WordPart::Process(simple(vec![literal("pwd")]))]);
    let option = dynamic(
        "--since=…",
        vec![
            WordPart::Literal("--since=".into()),
            WordPart::Command { script: simple(vec![literal("pwd")]), quoted: true },
        ],
    );
    let bad = dynamic(
        "--format=…",
        vec![
            WordPart::Literal("--format=".into()),
            WordPart::Command { script: simple(vec![literal("pwd")]), quoted: true },
        ],
    );
    let inner = "0> pwd = reads";
    let table: Vec<(Script, Vec<&str>)> = vec![
        (with("echo a", sub()), vec!["echo a $(…) = reads", inner]),
        (with("echo", bare("x")), vec!["echo $x = reads"]),
        (with("printf %s", quoted("x")), vec!["printf %s \"$x\" = reads"]),
        (with("printf", quoted("x")), vec!["printf \"$x\" = unknown !"]),
        (with("cat", sub()), vec!["cat $(…) = unknown !", inner]),
        (with("git log", option), vec!["git log --since=… = reads", inner]),
        (with("git log", bad), vec!["git log --format=… = unknown !", inner]),
        (with("cargo test", bare("x")), vec!["cargo test $x = unknown !"]),
        (with("git commit -m", sub()), vec!["git commit -m $(…) = unknown", inner]),
        (with("git commit -m", bare("x")), vec!["git commit -m $x = unknown !"]),
        (with("test -n", quoted("x")), vec!["test -n \"$x\" = reads"]),
        (with("test -n", bare("x")), vec!["test -n $x = unknown !2 !"]),
        (with("test -f", quoted("x")), vec!["test -f \"$x\" = unknown !"]),
        (with("find . -name", quoted("x")), vec!["find . -name \"$x\" = reads ./"]),
        (with("find . -name", bare("x")), vec!["find . -name $x = unknown ./ !2"]),
        (with("exit", bare("?")), vec!["exit $? = reads"]),
        (with("cat", process()), vec!["cat <(…) = reads", inner]),
        (with("bash", process()), vec!["bash <(…) = unknown !", inner]),
        (with("file", process()), vec!["file <(…) = unknown !", inner]),
        (with("cd", quoted("x")), vec!["cd \"$x\" = unknown !"]),
        (with("timeout", quoted("x")), vec!["timeout \"$x\" = unknown !", "0> \"$x\" = unknown !"]),
    ];
    for (script, expected) in table {
        assert_eq!(found("x", &script).0, expected);
    }
    let commands = steps_of("x", &with("echo a", sub()));
    assert_eq!(
        (commands.steps[1].inside, commands.steps[1].position),
        (Some(0), Position::Substitution)
    );
    assert!(commands.only_reads());
}

#[test]
fn what_the_shell_evaluates_is_a_doubt() {
    let expression = |plain| Expression {
        source: "x".into(),
        scripts: vec![simple(vec![literal("sudo")])],
        plain,
    };
    let part = |part: WordPart| steps_of("x", &with("echo", dynamic("?", vec![part])));
    let doubted = |commands: &Commands| !commands.doubts.is_empty();
    assert!(doubted(&part(parameter("x", Form::Evaluated, true))));
    assert!(!doubted(&part(parameter("x", Form::Made, true))));
    assert!(doubted(&part(WordPart::Arithmetic { expression: expression(false), quoted: true })));
    let plain = part(WordPart::Arithmetic { expression: expression(true), quoted: true });
    assert!(!doubted(&plain) && plain.steps.len() == 2 && !plain.only_reads());
    assert!(doubted(&steps_of("x", &with("echo", dynamic("?", Vec::new())))));
    assert!(doubted(&steps_of("x", &with("echo", literal("a\0b")))));
    assert!(doubted(&part(parameter("PATH", Form::Set, true))));
    assert!(!doubted(&part(parameter("x", Form::Set, true))));
    let nested = WordPart::Parameter {
        name: "x".into(),
        form: Form::Made,
        quoted: true,
        scripts: vec![simple(vec![literal("sudo"), literal("id")])],
    };
    assert_eq!(shown(&part(nested)), ["echo ? = reads", "0> sudo id = unknown", "1> id = reads"]);
    let other = WordPart::Other(vec![substitution(simple(vec![literal("ls")]), false)]);
    assert_eq!(shown(&part(other))[1], "0> ls = reads ./");
}

#[test]
fn lists_of_words_are_not_one_word() {
    let list = |source: &str, text: &str| {
        let parts = vec![WordPart::Literal(text.into()), parameter("a", Form::Value, true)];
        dynamic(source, parts)
    };
    for script in [
        with("git log", list("--since=\"${a[@]}\"", "--since=")),
        with("test -n", list("\"${a[@]}\"", "")),
        with("git commit -m", list("\"$@\"", "")),
        with("git commit -m", list("\"${x-\"$\\\n@\"}\"", "")),
    ] {
        let commands = steps_of("x", &script);
        assert!(!commands.steps[0].cautions.is_empty(), "{:?}", shown(&commands));
    }
    let message = with("git commit -m", list("\"$a me@b.example\"", ""));
    assert!(steps_of("x", &message).steps[0].cautions.is_empty());
    let script = looped("a", vec![literal("x")], with("cat", list("\"${a[1]}\"", "")));
    assert_eq!(found("for a in x; do …; done", &script).0, ["cat \"${a[1]}\" = unknown !"]);
}

#[test]
fn substitutions_everywhere() {
    let ls = || substitution(simple(vec![literal("ls")]), true);
    let redirect = |kind| Redirect { fd: None, kind, target: ls() };
    let command = Command {
        assignments: vec![Assignment {
            name: "x".into(),
            index: None,
            append: false,
            value: Assigned::Array(vec![(None, ls()), (Some(literal("1")), ls())]),
        }],
        words: vec![literal("echo")],
        redirects: vec![redirect(RedirectKind::HereDocument), redirect(RedirectKind::Write)],
    };
    let commands = steps_of("x", &script(vec![PipelineStage::Simple(command)]));
    assert_eq!(commands.steps.iter().filter(|step| step.inside == Some(0)).count(), 4);
    let case = Compound::Case { value: ls(), arms: vec![Arm { patterns: vec![ls()], body: None }] };
    let test = Compound::Test(vec![literal("-n"), ls()]);
    let compound = |body| PipelineStage::Compound { body, redirects: Vec::new() };
    let commands = steps_of("x", &script(vec![compound(case), compound(test)]));
    assert_eq!(
        shown(&commands),
        ["ls = reads ./", "ls = reads ./", "[[ -n $(…) ]] = reads", "2> ls = reads ./"]
    );
}

#[test]
fn double_brackets() {
    let test = |words: Vec<Word>| {
        let body = Compound::Test(words);
        let commands =
            steps_of("x", &script(vec![PipelineStage::Compound { body, redirects: Vec::new() }]));
        commands.steps[0].effect.clone()
    };
    let words = |text: &str| text.split(' ').map(literal).collect::<Vec<_>>();
    for text in [
        "-f a",
        "a == b",
        "a =~ b && ! -d c",
        "( a = b || -n c ) && -e d",
        "1 -eq 2",
        "a -nt b",
        "-n -n",
    ] {
        assert_eq!(test(words(text)), Effect::Reads, "{text}");
    }
    for text in [
        "-v a",
        "a -eq 1",
        "1 -lt a[0]",
        "-R x",
        "-o x",
        "a",
        "a b",
        "( a = b",
        "a = b )",
        "-f",
        "a = b c",
        "-v a = b && c",
    ] {
        assert!(matches!(test(words(text)), Effect::Unknown(_)), "{text}");
    }
    assert_eq!(test(vec![bare("x"), literal("=="), bare("y")]), Effect::Reads);
    assert!(matches!(test(vec![literal("-f"), bare("x")]), Effect::Unknown(_)));
    assert!(matches!(test(vec![bare("x"), literal("-eq"), literal("1")]), Effect::Unknown(_)));
}
