//! What cautions are about: changes and code that the sandbox and undo can stand behind, and everything else.

use ostler_policy::script::Word;
use ostler_policy::{Act, Concern};

/// The concern of each caution, over all steps.
fn concerns(text: &str) -> Vec<Concern> {
    let commands = crate::steps(text);
    let steps = commands.steps.iter();
    steps.flat_map(|step| step.cautions.iter().map(|caution| caution.concern)).collect()
}

#[test]
fn ordinary_changes() {
    for text in [
        "sed -i s/a/b/ f",
        "git branch x",
        "git branch -D x",
        "git tag -a v1 -m x",
        "cp -r a b",
        "curl -o x https://h.example",
        "curl -sox https://h.example",
        "wget -O x https://h.example",
        "terraform plan -out=x",
    ] {
        assert_eq!(concerns(text), [Concern::Writes], "{text}");
    }
    // Each file that a download goes to is known.
    for text in ["curl -o x https://h.example", "curl --output=x https://h.example"] {
        let commands = crate::steps(text);
        let written = commands.steps.iter().flat_map(|step| &step.touches);
        let written: Vec<(Act, &str)> =
            written.map(|touch| (touch.act, touch.path.as_str())).collect();
        assert_eq!(written, [(Act::Write, "x")], "{text}");
    }
}

#[test]
fn code_that_a_program_is_there_to_run() {
    for text in ["python3 x.py", "node -e 1", "npx eslint", "bash x.sh", "perl x", "python3 -"] {
        let found = concerns(text);
        assert!(!found.is_empty() && found.iter().all(|c| *c == Concern::Code), "{text} {found:?}");
    }
    assert!(concerns("source x && make").iter().all(|concern| *concern == Concern::Code));
    // A variable for all that follows, or a new meaning of names, is more than the file's own code.
    assert!(concerns("NODE_OPTIONS=1; source x; make").contains(&Concern::Other));
    assert!(concerns("source x; alias y=z; make").contains(&Concern::Other));
}

#[test]
fn everything_else() {
    for text in [
        "sed s/a/b/e f",
        "sed -i s/a/b/e f",
        "git branch --edit-description",
        "git branch $x",
        "git tag -s v1",
        "git push --force",
        "cp -r a/. b",
        "cp -r .github b",
        "cp -rT a .github",
        "curl -o $x https://h.example",
        "curl -K x https://h.example",
        "tmux new",
        "python3 $x",
        "python3 -m pytest -p x",
        "find . -delete",
        "ls | xargs rm",
        "tar -I x -tf y",
    ] {
        assert!(concerns(text).contains(&Concern::Other), "{text} {:?}", concerns(text));
    }
}

#[test]
fn what_is_assigned_in_front() {
    let assigned = |text: &str| crate::steps(text).steps.first().unwrap().assigned.clone();
    let literal = |text: &str| Word::Literal(text.into());
    assert_eq!(assigned("A=1 B='x y' make"), [literal("A=1"), literal("B=x y")]);
    assert!(assigned("make A=1").is_empty());
    for text in ["A+=1 make", "A=$x make", "A=$(id) make"] {
        assert!(matches!(assigned(text).as_slice(), [Word::Dynamic { .. }]), "{text}");
    }
}
