use super::*;
use globset::{GlobBuilder, GlobMatcher};

fn overlap(a: &str, b: &str) -> bool {
    let parse = |glob: &str| Touches::parse(&[glob]).unwrap();
    let found = parse(a).overlap(&parse(b));
    assert_eq!(found, parse(b).overlap(&parse(a)), "{a} {b}");
    found
}

#[test]
fn what_people_write() {
    for (a, b, expected) in [
        ("src/a.rs", "src/a.rs", true),
        ("src/a.rs", "src/b.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**/*.rs", "src/deep/er/a.rs", true),
        ("src/**", "src", true),
        ("src/**", "src/", true),
        ("src", "src/a.rs", true),
        ("src/", "./src//a.rs", true),
        ("src", "srcs/a.rs", false),
        ("src/a.rs", "src/a.rs/b", false),
        ("src/v1.2/", "src/v1.2/b", true),
        (".github", ".github/workflows/ci.yml", true),
        ("Makefile", "src/*.rs", false),
        ("src/**", "*", false),
        ("**", "anything/at/all", true),
        ("**/*.md", "docs/**", true),
        ("**/*.md", "src/*.rs", false),
        ("*.md", "**/*.rs", false),
        ("a*c", "*b*", true),
        ("a?c", "ab", false),
        ("{src,docs}/*.md", "docs/a.md", true),
        ("{src,docs}/*.md", "lib/a.md", false),
        ("a{b{c,d},e}f", "abdf", true),
        ("a{b{c,d},e}f", "abf", false),
        ("[ab].rs", "c.rs", true),
        ("[ab].rs", "cd.rs", false),
        ("[]a].rs", "x.rs", true),
        ("[a", "[a", true),
        ("[a", "ba", false),
        (r"a\*", "ab", false),
        (r"a\*", "a*", true),
        ("A.rs", "a.rs", false),
        ("täß/*", "täß/x", true),
        (".", "any/file", true),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "zzz", true),
    ] {
        assert_eq!(overlap(a, b), expected, "{a} and {b}");
    }
    let nothing = Touches::default();
    assert!(!nothing.overlap(&Touches::parse(&["**"]).unwrap()) && nothing.is_empty());
}

#[test]
fn a_glob_that_cannot_be_used_is_named() {
    for (glob, why) in [
        ("", "it is empty"),
        (" ", "it is empty"),
        ("/etc/passwd", "it is absolute"),
        ("../x", "contains \"..\""),
        ("a/../../b", "contains \"..\""),
        ("a\nb", "control characters"),
    ] {
        let error = Touches::parse(&["ok", glob]).unwrap_err();
        assert!(error.contains(why) && !error.contains('\n'), "{glob:?}: {error}");
    }
}

/// Every text of these letters with at most this many.
fn texts(letters: &[&str], most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..most {
        last = last
            .iter()
            .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Another matcher, which knows single paths only: two globs overlap if there is a path that both match.
#[test]
fn all_small_globs_agree_with_a_matcher_of_paths() {
    let is_usual = |text: &str| {
        !text.is_empty()
            && !text.starts_with('/')
            && !text.ends_with('/')
            && !text.contains("//")
            // What other matchers disagree about: `**` next to something else in a segment.
            && text.split('/').all(|name| name == "**" || !name.contains("**"))
    };
    let globs: Vec<String> =
        texts(&["a", "b", "/", "*", "?"], 4).into_iter().filter(|text| is_usual(text)).collect();
    let paths: Vec<String> =
        texts(&["a", "b", "/"], 6).into_iter().filter(|text| is_usual(text)).collect();
    let matcher = |glob: &str| -> GlobMatcher {
        GlobBuilder::new(glob).literal_separator(true).build().unwrap().compile_matcher()
    };
    let covered: Vec<Vec<usize>> = globs
        .iter()
        .map(|glob| {
            let is_plain = glob.rsplit('/').next().unwrap().chars().all(char::is_alphanumeric);
            let below = is_plain.then(|| matcher(&format!("{glob}/**")));
            let own = matcher(glob);
            let fits = |path: &str| {
                own.is_match(path) || below.as_ref().is_some_and(|below| below.is_match(path))
            };
            paths.iter().enumerate().filter(|(_, path)| fits(path)).map(|(at, _)| at).collect()
        })
        .collect();
    let parsed: Vec<Touches> = globs.iter().map(|glob| Touches::parse(&[glob]).unwrap()).collect();
    let mut bits = vec![false; paths.len()];
    let (mut yes, mut no) = (0, 0);
    for a in 0..globs.len() {
        covered[a].iter().for_each(|at| bits[*at] = true);
        for b in a..globs.len() {
            let (found, expected) =
                (parsed[a].overlap(&parsed[b]), covered[b].iter().any(|at| bits[*at]));
            // The path that two long globs share may be longer than those tried here.
            let is_decided = expected || globs[a].len() + globs[b].len() <= 6;
            assert!(!is_decided || found == expected, "{} and {}", globs[a], globs[b]);
            yes += usize::from(found);
            no += usize::from(is_decided && !found);
        }
        covered[a].iter().for_each(|at| bits[*at] = false);
    }
    assert!(globs.len() > 300 && yes > 1000 && no > 1000, "{} {yes} {no}", globs.len());
}
