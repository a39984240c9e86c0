//! Which words could be files, and which of those must be asked about.

use super::*;

#[test]
fn what_of_a_word_could_be_a_path() {
    for (word, expected) in [
        ("a/b", &["a/b"][..]),
        ("-C/tmp", &["/tmp"]),
        ("--junitxml=/tmp/x", &["/tmp/x"]),
        ("--cov-report=html:/tmp/x", &["html", "/tmp/x"]),
        ("@/tmp/args", &["/tmp/args"]),
        ("https://x.example/../y", &[]),
        ("--registry=https://x.example/", &[]),
        ("--release", &[]),
        ("a::b", &["a", "b"]),
        ("f=@.env;type=x", &["f", ".env", "type", "x", ".env", "type", "x"]),
        ("f=<.env", &["f", ".env", ".env"]),
    ] {
        assert_eq!(candidates(word), expected, "{word}");
    }
}

#[test]
fn a_message_is_no_file() {
    let words = |line: &str| -> Vec<Word> {
        line.split(' ').map(|word| Word::Literal(word.into())).collect()
    };
    for (line, at, expected) in [
        ("git commit -m /etc", 3, true),
        ("git commit -am /etc", 3, true),
        ("git commit --message=/etc", 2, true),
        ("git commit -F /etc", 3, false),
        ("git add -m /etc", 3, false),
        ("tar -m /etc", 2, false),
    ] {
        assert_eq!(is_message(&words(line), at), expected, "{line}");
    }
}

mod named_files {
    use super::super::super::decide::{Verdict, decide};
    use super::super::super::{Commands, Mode, Policy, Workspace};
    use super::*;
    use crate::script::Dynamic;
    use Verdict::{Allow, Ask};

    fn workspace() -> Workspace {
        Workspace {
            cwd: "/ws".into(),
            roots: vec!["/ws".into()],
            home: "/home/u".into(),
            tools: crate::test_tools::tools(),
            ..Workspace::default()
        }
    }

    fn unknown(words: Vec<Word>) -> Step {
        let effect = Effect::Unknown("it may do anything".into());
        Step {
            words,
            folder: Some(Vec::new()),
            place: Some("/ws".into()),
            effect,
            ..Step::default()
        }
    }

    fn literal(text: &str) -> Word {
        Word::Literal(text.into())
    }

    fn dynamic(parts: Vec<WordPart>) -> Word {
        Word::Dynamic { why: Dynamic::Parameter, source: "?".into(), parts }
    }

    fn part(text: &str) -> WordPart {
        WordPart::Literal(text.into())
    }

    fn value(name: &str) -> WordPart {
        let (name, form) = (name.to_owned(), Form::Value);
        WordPart::Parameter { name, form, quoted: false, scripts: Vec::new() }
    }

    fn judged(step: Step, allow: &[&str], deny: &[&str], ask: &[&str], mode: Mode) -> Verdict {
        let rules = |texts: &[&str]| -> Vec<Rule> {
            texts.iter().map(|text| Rule::parse(text, &workspace()).unwrap()).collect()
        };
        let policy =
            Policy { allow: rules(allow), deny: rules(deny), ask: rules(ask), ..Policy::default() };
        let commands = Commands { steps: vec![step], ..Commands::default() };
        let access = Access { runs: Some(commands.into()), ..Access::unknown() };
        decide("Bash", &access, &policy, mode, &workspace()).verdict
    }

    /// As a whole allow and a bypass see it: both must say the same.
    fn free(step: &Step, deny: &[&str]) -> Verdict {
        let by_rule = judged(step.clone(), &["Bash"], deny, &[], Mode::Default);
        let by_mode = judged(step.clone(), &[], deny, &[], Mode::BypassPermissions);
        assert_eq!(by_rule, by_mode, "{step:?}");
        by_rule
    }

    #[test]
    fn secrets() {
        let tilde = |rest: &str| dynamic(vec![WordPart::Tilde(String::new()), part(rest)]);
        for (word, expected) in [
            (literal("/home/u/.ssh/id_rsa"), Ask),
            (literal("/home/u/.ssh"), Ask),
            (literal("../home/u/.aws/credentials"), Ask),
            (literal("@/home/u/.netrc"), Ask),
            (literal("-T/home/u/.netrc"), Ask),
            (literal("--file=/home/u/.netrc"), Ask),
            (literal("/home/u/.ssh:/root/.ssh:ro"), Ask),
            (literal("file:///home/u/.ssh/id_rsa"), Ask),
            (literal("~/.ssh/id_rsa"), Ask),
            (literal("/proc/self/environ"), Ask),
            (literal("/home/u/.config"), Ask),
            (literal("/home/u/.docker"), Ask),
            (Word::Glob("/home/u/.ssh/id*".into()), Ask),
            (tilde("/.ssh/id_rsa"), Ask),
            (tilde("/.aws"), Ask),
            (tilde("/.cargo/"), Ask),
            (dynamic(vec![value("HOME"), part("/.ssh/id_rsa")]), Ask),
            (dynamic(vec![part("-d@"), value("HOME"), part("/.netrc")]), Ask),
            (dynamic(vec![value("PWD"), part("/../home/u/.netrc")]), Ask),
            (dynamic(vec![WordPart::Tilde("u".into()), part("/.ssh")]), Ask),
            (dynamic(vec![value("HOME"), part("/.ssh/"), value("x")]), Ask),
            (
                dynamic(vec![
                    WordPart::Tilde(String::new()),
                    part("/.ssh/"),
                    WordPart::Glob("*".into()),
                ]),
                Ask,
            ),
            (dynamic(vec![WordPart::Tilde(String::new()), WordPart::Glob("/.ssh/*".into())]), Ask),
            (dynamic(vec![WordPart::Tilde(String::new())]), Allow),
            (dynamic(vec![value("HOME")]), Allow),
            (literal("/home/u"), Allow),
            (literal("."), Allow),
            (literal("/"), Allow),
            (tilde("/.config/other"), Allow),
            (tilde("/.cargo/bin/x"), Allow),
            (dynamic(vec![value("x"), part("/.ssh/id_rsa")]), Allow),
            (dynamic(vec![WordPart::Tilde("other".into()), part("/.ssh")]), Allow),
            (literal(".ssh/id_rsa"), Allow),
            (literal("https://x.example/home/u/.ssh"), Allow),
            (literal("src/main.rs"), Allow),
        ] {
            let step = unknown(vec![literal("tool"), word]);
            assert_eq!(free(&step, &[]), expected, "{:?}", step.words);
            let over = Step { transparent: true, ..step };
            assert_eq!(free(&over, &[]), Allow, "{:?}", over.words);
        }
    }

    #[test]
    fn a_secret_that_a_rule_spells_out_is_allowed() {
        let step = unknown(vec![literal("tool"), literal("/home/u/.ssh/known_hosts")]);
        let with = |allow: &[&str]| judged(step.clone(), allow, &[], &[], Mode::Default);
        assert_eq!(with(&["Bash", "Read(~/.ssh/known_hosts)"]), Allow);
        assert_eq!(with(&["Bash", "Read(~/.ssh/config)"]), Ask);
        assert_eq!(with(&["Bash", "Read(~/**)"]), Ask);
    }

    #[test]
    fn files_that_a_rule_names() {
        let glob = |text: &str| Word::Glob(text.into());
        for (word, rule, expected) in [
            (literal(".env"), "Read(.env)", Ask),
            (literal("@.env"), "Read(.env)", Ask),
            (literal("f=@.env;type=x"), "Read(.env)", Ask),
            (literal("sub/.env"), "Read(.env)", Ask),
            (literal("secrets"), "Read(./secrets/**)", Ask),
            (literal("a=b/key"), "Read(./a=b/**)", Ask),
            (literal("src/x.rs"), "Edit(./src/**)", Ask),
            (dynamic(vec![value("PWD"), part("/.env")]), "Read(.env)", Ask),
            (glob(".en*"), "Read(.env)", Ask),
            (glob("/ws/.en*"), "Read(.env)", Ask),
            (
                dynamic(vec![value("PWD"), part("/"), WordPart::Glob(".e*".into())]),
                "Read(.env)",
                Ask,
            ),
            (glob("s*"), "Read(./secrets/**)", Ask),
            (glob("src/*.js"), "Read(**/*.pem)", Allow),
            (glob("*"), "Read(.env)", Allow),
            (literal("env"), "Read(.env)", Allow),
            (literal("."), "Read(.env)", Allow),
            (literal("https://x.example/.env"), "Read(.env)", Allow),
            (literal("src"), "Read(./secrets/**)", Allow),
        ] {
            let step = unknown(vec![literal("tool"), word]);
            assert_eq!(free(&step, &[rule]), expected, "{:?} {rule}", step.words);
            let asked = judged(step.clone(), &["Bash"], &[], &[rule], Mode::Default);
            assert_eq!(asked, expected, "{:?} {rule}", step.words);
        }
        let message = ["git", "commit", "-m", ".env"].map(literal).to_vec();
        assert_eq!(free(&unknown(message), &["Read(.env)"]), Allow);
    }

    #[test]
    fn files_of_a_table_in_a_folder_that_is_not_known() {
        for (act, path, kind, expected) in [
            (Act::Read, "~/.ssh/id_rsa", TouchKind::File, Ask),
            (Act::Read, "/home/u/.aws", TouchKind::Tree, Ask),
            (Act::Read, "~/.ssh/*", TouchKind::Glob, Ask),
            (Act::Read, ".env", TouchKind::File, Ask),
            (Act::Write, ".git/config", TouchKind::File, Ask),
            (Act::Redirect, ".git/hooks/x", TouchKind::File, Ask),
            (Act::Read, ".git/config", TouchKind::File, Allow),
            (Act::Read, "src", TouchKind::File, Allow),
            (Act::Write, "src", TouchKind::File, Allow),
            (Act::Read, "~", TouchKind::Names, Allow),
            (Act::Read, "", TouchKind::Repository, Allow),
            (Act::Run, ".env", TouchKind::File, Allow),
        ] {
            let touches = vec![Touch::new(act, path, kind)];
            let (words, effect) = (vec![literal("tool")], Effect::Writes);
            let step = Step { words, effect, touches, ..Step::default() };
            assert_eq!(free(&step, &["Read(.env)"]), expected, "{act:?} {path}");
        }
    }

    #[test]
    fn each_folder_holds_a_secret() {
        let workspace = workspace();
        for held in HELD {
            let secret = workspace.home.join(held);
            let sensitive = crate::guarded_names::sensitive;
            assert!(sensitive(&secret, &workspace).is_some(), "{held}");
            let folder = secret.parent().unwrap();
            assert!(sensitive(folder, &workspace).is_none(), "{held}");
        }
    }
}
