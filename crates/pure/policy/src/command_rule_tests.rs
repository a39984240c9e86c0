//! Command rules as tables: what they say, and what they must not be taken to say.

use super::super::command_regex::CommandRegex;
use super::super::rule::RuleError;
use super::*;
use proptest::prelude::*;

fn words(line: &str) -> Vec<Word> {
    line.split(' ').map(|word| Word::Literal(word.replace('_', " "))).collect()
}

/// `_` stands for a blank inside a word.
#[test]
fn patterns() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "npm run test:*",
            &["npm run test", "npm run test -- -w"],
            &["npm run testevil", "npm run", "npm run_test"],
        ),
        ("npm run test *", &["npm run test", "npm run test -- -w"], &["npm run testevil"]),
        ("pwd", &["pwd"], &["pwd -P", "pwdx", "xpwd"]),
        ("ls*", &["ls", "lsof", "ls -la x"], &["l", "als"]),
        (
            "git * main",
            &["git push main", "git push origin main"],
            &["git main", "git push mainx", "git push"],
        ),
        ("git commit -m 'a b'", &["git commit -m a_b"], &["git commit -m a b"]),
        ("echo 'a*'", &["echo a*"], &["echo abc"]),
        ("cargo  test:*", &["cargo test x"], &["cargo testx"]),
        ("*", &["anything at all"], &[]),
    ];
    for (text, hits, misses) in table {
        let pattern = CommandPattern::parse(text).unwrap();
        for line in *hits {
            assert!(pattern.matches(&words(line)), "{text} should match {line}");
        }
        for line in *misses {
            assert!(!pattern.matches(&words(line)), "{text} should not match {line}");
        }
    }
}

#[test]
fn what_stands_in_front_of_the_program() {
    let of = |text: &str| CommandPattern::parse(text).unwrap();
    let pattern = of("NODEENV=test X='a b' npm test:*");
    assert_eq!(pattern.words(), ["npm", "test"]);
    assert!(pattern.matches(&words("npm test x")) && pattern.sets("X") && !pattern.sets("Y"));
    assert!(pattern.spells_assigned(&words("NODEENV=test X=a_b")));
    for other in
        ["NODEENV=test", "X=a_b NODEENV=test", "NODEENV=test X=a_b Y=1", "NODEENV=test X=b"]
    {
        assert!(!pattern.spells_assigned(&words(other)), "{other}");
    }
    assert!(of("npm test").spells_assigned(&words("X=1")), "it says nothing of variables");
    // An assignment behind the program is a word, and one with a star is not spelled out.
    assert_eq!(of("make X=1").words(), ["make", "X=1"]);
    assert_eq!(of("X=* make").words(), ["X=*", "make"]);
    assert_eq!(of("--x=1 make").words(), ["--x=1", "make"]);
    assert!(of("X=1:*").words().is_empty() && !of("X=1:*").matches(&words("make")));
}

#[test]
fn what_a_pattern_says_behind_a_wrapper() {
    let of = |text: &str| CommandPattern::parse(text).unwrap();
    let behind = |text: &str, front: &str| of(text).behind(&words(front));
    assert_eq!(behind("timeout 8 npm run dev:*", "timeout 8"), Some(of("npm run dev:*")));
    assert_eq!(behind("timeout 8 npm run dev", "timeout 8"), Some(of("npm run dev")));
    for (text, front) in [
        ("timeout 8 npm", "timeout 9"),
        ("timeout * npm", "timeout 8"),
        ("timeout 8:*", "timeout 8"),
        ("timeout:*", "timeout 8"),
        ("X=1 timeout 8 npm", "timeout 8"),
    ] {
        assert_eq!(behind(text, front), None, "{text} {front}");
    }
}

/// A rule that forbids applies to every order and grouping of the same options.
#[test]
fn loosely() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "rm -rf:*",
            &[
                "rm -rf x",
                "rm -fr x",
                "rm -r -f x",
                "rm x -rf",
                "rm -rfv x",
                "rm -Rf x",
                "rm --recursive -f x",
                "rm -r --force x",
                "rm --recurs --forc x",
                "rm -rrrrrrf x",
            ],
            &["rm -r x", "rm x", "rmx -rf", "rm --recursive x", "rm -R x"],
        ),
        ("rm -rf /", &["rm -fr /", "rm / -r -f"], &["rm -rf /tmp", "rm -rf a /"]),
        (
            "git push --force:*",
            &["git push --force", "git push origin --force", "git push --forc", "git push -fu"],
            &["git push", "git pull --force", "git push --"],
        ),
        ("find -delete:*", &["find -delete", "find . -delete"], &["find . -type d -newer let"]),
    ];
    for (text, hits, misses) in table {
        let pattern = CommandPattern::parse(text).unwrap();
        for line in *hits {
            assert!(pattern.matches_loosely(&words(line)), "{text} should meet {line}");
        }
        for line in *misses {
            assert!(!pattern.matches_loosely(&words(line)), "{text} should not meet {line}");
        }
    }
}

#[test]
fn wrong_patterns() {
    for text in ["^ls(", "(?P<", "a{9999999}", "", "\\"] {
        assert!(matches!(CommandRegex::new(text), Err(RuleError::Regex { .. })), "{text}");
    }
    for text in ["", " ", ":*", "'ls", "a\\"] {
        assert_eq!(CommandPattern::parse(text), None, "{text}");
    }
}

#[test]
fn what_amounts_to_everything() {
    for text in [".*", "^", "a*", ".|x"] {
        assert!(CommandRegex::new(text).unwrap().is_everything(), "{text}");
    }
    assert!(!CommandRegex::new("^ls").unwrap().is_everything());
    assert!(CommandPattern::parse("*").unwrap().is_everything());
    assert!(!CommandPattern::parse("ls *").unwrap().is_everything());
    assert!(!CommandPattern::parse("* --help").unwrap().is_everything());
}

proptest! {
    /// An open prefix covers what it covers exactly, with any further words.
    #[test]
    fn a_prefix_ends_at_a_word(prefix in "[a-c]{1,3}( [a-c]{1,3}){0,2}", more in "[a-c ]{0,6}") {
        let pattern = CommandPattern::parse(&format!("{prefix}:*")).unwrap();
        let line = format!("{prefix}{more}");
        let given: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.into())).collect();
        prop_assert_eq!(pattern.matches(&given), more.is_empty() || more.starts_with(' '));
    }

    /// What matches as written also matches loosely.
    #[test]
    fn loose_is_wider(rule in "[ab]( -[rf]{1,2}| [xy]){0,3}", line in "[ab]( -[rf]{1,2}| [xy]){0,4}") {
        let pattern = CommandPattern::parse(&rule).unwrap();
        if pattern.matches(&words(&line)) {
            prop_assert!(pattern.matches_loosely(&words(&line)));
        }
    }
}

#[test]
fn behind_options_a_rule_may_be_meant() {
    let may = |rule: &str, line: &str| {
        CommandPattern::parse(rule).unwrap().may_stand_behind_options(&words(line))
    };
    for (rule, line) in [
        ("kubectl delete:*", "kubectl -n prod delete pod x"),
        ("kubectl delete:*", "kubectl --namespace=prod delete pod"),
        ("terraform destroy:*", "terraform -chdir=x destroy"),
        ("npm publish:*", "npm --prefix x publish"),
        ("cargo publish:*", "cargo +nightly publish"),
        ("aws s3 rm:*", "aws --profile p s3 rm x"),
    ] {
        assert!(may(rule, line), "{rule} {line}");
    }
    for (rule, line) in [
        ("kubectl delete:*", "kubectl get delete"),
        ("kubectl delete:*", "kubectl get -n delete"),
        ("npm publish:*", "npm run publish"),
        ("git push:*", "git commit -m push"),
        ("ls:*", "ls -la"),
        ("rm -rf:*", "rm -v -rf"),
    ] {
        assert!(!may(rule, line), "{rule} {line}");
    }
}
