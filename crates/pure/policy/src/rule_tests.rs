//! Rules as tables: how they are read, what they cover, and what they must not.

use super::*;
use crate::file_pattern::match_name;
use proptest::prelude::*;
use std::path::Path;

fn workspace() -> Workspace {
    Workspace {
        cwd: "/ws".into(),
        roots: vec!["/ws".into()],
        readable: vec![],
        home: "/home/u".into(),
        tools: crate::test_tools::tools(),
        ..Workspace::default()
    }
}

fn rule(text: &str) -> Rule {
    Rule::parse(text, &workspace()).unwrap()
}

fn files(rule: &Rule) -> &FilePattern {
    match &rule.matcher {
        Matcher::Files(pattern) => pattern,
        other => panic!("{other:?}"),
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    files(&rule(&format!("Read({pattern})"))).matches(Path::new(path))
}

#[test]
fn patterns() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("//etc/hosts", &["/etc/hosts"], &["/etc/hosts2", "/ws/etc/hosts", "/etc"]),
        ("//etc", &["/etc", "/etc/ssh/key"], &["/etcetera", "/ws/etc"]),
        ("//", &["/", "/etc/hosts", "/ws/a"], &[]),
        ("~/notes/*.md", &["/home/u/notes/a.md"], &["/home/u/notes/x/a.md", "/ws/notes/a.md"]),
        ("~/", &["/home/u", "/home/u/.ssh/id"], &["/home/u2/x", "/home", "/ws/a"]),
        ("~", &["/home/u/.ssh/id"], &["/home/u2/x", "/ws/~"]),
        ("~/x", &["/home/u/x"], &["/home/u/y/x"]),
        ("/src", &["/ws/src", "/ws/src/a/b.rs"], &["/src", "/ws/lib/src"]),
        ("./src/**", &["/ws/src/a.rs", "/ws/src/a/b.rs"], &["/ws/srcs/a.rs", "/ws/a/src/b.rs"]),
        ("src/*.rs", &["/ws/src/a.rs"], &["/ws/src/a/b.rs", "/ws/a/src/b.rs", "/ws/src/a.rsx"]),
        ("src/*/mod.rs", &["/ws/src/a/mod.rs"], &["/ws/src/mod.rs", "/ws/src/a/b/mod.rs"]),
        ("src/**/mod.rs", &["/ws/src/mod.rs", "/ws/src/a/b/mod.rs"], &["/ws/src/a/b/mod.rsx"]),
        (
            ".env",
            &["/ws/.env", "/ws/a/b/.env", "/ws/.env/deep"],
            &["/ws/.env.local", "/ws/x.env", "/.env"],
        ),
        ("*.key", &["/ws/a.key", "/ws/a/b.key", "/ws/.key"], &["/ws/a.keys", "/a.key"]),
        ("secrets/", &["/ws/secrets/a", "/ws/x/secrets/a"], &["/ws/secrets2/a"]),
        ("./secrets/", &["/ws/secrets/a"], &["/ws/x/secrets/a"]),
        (".", &["/ws", "/ws/a/b"], &["/ws2", "/"]),
        ("../lib/**", &["/lib/a"], &["/ws/lib/a"]),
        ("..", &["/", "/ws/a", "/etc/hosts"], &[]),
        ("./a/../b", &["/ws/b/x"], &["/ws/a/b", "/b"]),
        ("a?c", &["/ws/abc", "/ws/aéc"], &["/ws/ac", "/ws/abbc", "/ws/a/c"]),
        ("*a*b*", &["/ws/ab", "/ws/xaxbx", "/ws/aab"], &["/ws/ba", "/ws/a"]),
        ("**", &["/ws/a", "/ws/a/b/c"], &["/etc/hosts"]),
    ];
    for (pattern, hits, misses) in table {
        for path in *hits {
            assert!(matches(pattern, path), "{pattern} should match {path}");
        }
        for path in *misses {
            assert!(!matches(pattern, path), "{pattern} should not match {path}");
        }
    }
}

#[test]
fn whole_tools() {
    for text in ["Bash", " Bash ", "Bash(*)", "mcp__files__read", "Read", "Agent"] {
        let rule = rule(text);
        assert_eq!(rule.matcher, Matcher::Whole, "{text}");
        assert_eq!(rule.text(), text.trim());
        assert!(rule.is_whole_tool(&rule.tool), "{text}");
        assert!(!rule.is_whole_tool("Other"), "{text}");
    }
    assert!(!rule("Read(./x)").is_whole_tool("Read"));
}

#[test]
fn what_is_not_a_rule_is_refused() {
    let malformed = |text: &str| Err(RuleError::Malformed(text.into()));
    let no_pattern = |text: &str| Err(RuleError::NoPattern(text.into()));
    let command = |text: &str| Err(RuleError::Command(text.into()));
    let domain = |text: &str| Err(RuleError::Domain(text.into()));
    let quote = |text: &str| Err(RuleError::Quote(text.into()));
    let empty = |text: &str, tool: &str| Err(RuleError::Empty(text.into(), tool.into()));
    let table = [
        ("Bash()", empty("Bash()", "Bash")),
        ("Read( )", empty("Read( )", "Read")),
        ("mcp__a__b()", empty("mcp__a__b()", "mcp__a__b")),
        ("", malformed("")),
        ("(x)", malformed("(x)")),
        ("Read(", malformed("Read(")),
        ("Read(./x", malformed("Read(./x")),
        ("Read(./x) and more", malformed("Read(./x) and more")),
        ("Read)", malformed("Read)")),
        ("Read Edit", malformed("Read Edit")),
        ("./src", malformed("./src")),
        ("mcp__", malformed("mcp__")),
        ("Read*", malformed("Read*")),
        ("WebFetch(docs.rs)", domain("WebFetch(docs.rs)")),
        ("WebFetch(domain:)", domain("WebFetch(domain:)")),
        ("WebFetch(domain:a b)", domain("WebFetch(domain:a b)")),
        ("Deploy(./x)", no_pattern("Deploy(./x)")),
        ("TodoWrite(./x)", no_pattern("TodoWrite(./x)")),
        ("Skill(a b)", no_pattern("Skill(a b)")),
        ("Skill(a*)", no_pattern("Skill(a*)")),
        ("Skill(./x)", no_pattern("Skill(./x)")),
        ("Bash( :*)", command("Bash( :*)")),
        ("Bash('ls)", quote("Bash('ls)")),
        ("Bash(git commit -m ' *)", quote("Bash(git commit -m ' *)")),
        ("Bash(echo \"it's:*)", quote("Bash(echo \"it's:*)")),
        ("*", malformed("*")),
        ("mcp__a*b", malformed("mcp__a*b")),
    ];
    for (text, expected) in table {
        assert_eq!(Rule::parse(text, &workspace()), expected, "{text}");
    }
}

#[test]
fn a_refusal_says_what_to_write_instead() {
    let said = |text: &str| Rule::parse(text, &workspace()).unwrap_err().to_string();
    assert!(said("Read(").contains("Edit(./src/**)"));
    assert!(said("Agent(x)").contains("write its name alone"));
}

fn reads(path: &str) -> Access {
    Access::reading(PathScope::File(path.into()))
}
fn reads_tree(path: &str) -> Access {
    Access::reading(PathScope::Tree(path.into()))
}
fn writes(path: &str) -> Access {
    Access::writing(PathScope::File(path.into()))
}
fn both(a: Access, b: Access) -> Access {
    Access {
        reads: [a.reads, b.reads].concat(),
        writes: [a.writes, b.writes].concat(),
        ..Access::nothing()
    }
}
fn beside(access: Access, host: &str) -> Access {
    Access { hosts: vec![host.into()], ..access }
}

/// As an allow rule: all of the call, or none of it.
#[test]
fn covers_all() {
    let table = [
        ("Read(./src/**)", "Read", reads("/ws/src/a"), true),
        ("Read(./src/**)", "Grep", reads_tree("/ws/src"), true),
        ("Read(./src/**)", "Glob", reads_tree("/ws/src/a"), true),
        ("Read(./src/**)", "Grep", reads_tree("/ws"), false),
        ("Read(./src/*.rs)", "Grep", reads_tree("/ws/src"), false),
        ("Read(./src/**)", "Read", reads("/ws-evil/src/a"), false),
        ("Read(./src/**)", "Edit", writes("/ws/src/a"), false),
        ("Read(./src/**)", "Read", writes("/ws/src/a"), false),
        ("Read(./src/**)", "Bash", reads("/ws/src/a"), false),
        ("Grep(./src/**)", "Grep", reads_tree("/ws/src"), true),
        ("Grep(./src/**)", "Read", reads("/ws/src/a"), false),
        ("Edit(./src/**)", "Edit", writes("/ws/src/a"), true),
        ("Edit(./src/**)", "Write", writes("/ws/src/a"), true),
        ("Edit(./src/**)", "Revert", writes("/ws/src/a"), true),
        ("Edit(./src/**)", "Edit", writes("/ws/lib/a"), false),
        ("Edit(./src/**)", "Edit", both(writes("/ws/src/a"), writes("/ws/lib/a")), false),
        ("Edit(./src/**)", "Edit", both(writes("/ws/src/a"), reads("/etc/hosts")), false),
        ("Edit(./src/**)", "Edit", beside(writes("/ws/src/a"), "host"), false),
        ("Edit(./src/**)", "Edit", Access { known: false, ..writes("/ws/src/a") }, false),
        ("Edit(./src/**)", "Edit", Access::nothing(), false),
        ("Write(./src/**)", "Write", writes("/ws/src/a"), true),
        ("Write(./src/**)", "Edit", writes("/ws/src/a"), false),
        ("Edit", "Edit", writes("/etc/hosts"), true),
        ("Edit", "Write", writes("/ws/a"), false),
        ("Bash", "Bash", Access::unknown(), true),
        ("Bash", "BashX", Access::unknown(), false),
    ];
    for (text, tool, access, expected) in table {
        assert_eq!(rule(text).covers_all(tool, &access), expected, "{text} for {tool} {access:?}");
    }
}

/// As a deny rule: any of the call, wholly or somewhere below a directory.
#[test]
fn touches() {
    use Reach::{Below, Full, None};
    let mixed = || both(reads("/ws/src/a"), reads("/ws/.env"));
    let table = [
        ("Read(.env)", "Read", reads("/ws/.env"), Full),
        ("Read(.env)", "Read", reads("/ws/a/.env"), Full),
        ("Read(.env)", "Read", reads("/ws/env"), None),
        ("Read(.env)", "Bash", mixed(), Full),
        ("Read(.env)", "Grep", reads_tree("/ws"), Below),
        ("Read(.env)", "Edit", writes("/ws/.env"), None),
        ("Read(./secrets/**)", "Grep", reads_tree("/ws"), Below),
        ("Read(./secrets/**)", "Grep", reads_tree("/"), Below),
        ("Read(./secrets/**)", "Grep", reads_tree("/ws/secrets/deep"), Full),
        ("Read(./secrets/**)", "Grep", reads_tree("/ws/src"), None),
        ("Read(./a/*/c)", "Grep", reads_tree("/ws/a/b"), Below),
        ("Read(./a/*/c)", "Grep", reads_tree("/ws/a/b/d"), None),
        ("Read(./a/**/c)", "Grep", reads_tree("/ws/a/b/d"), Below),
        ("Read(~/.ssh/**)", "Grep", reads_tree("/home"), Below),
        ("Read(~/.ssh/**)", "Grep", reads_tree("/ws"), None),
        ("Edit(./lock)", "Bash", writes("/ws/lock"), Full),
        ("Edit(./lock)", "Write", writes("/ws/lock"), Full),
        ("Edit(./lock)", "Bash", reads("/ws/lock"), None),
        ("Edit(./lock)", "Bash", Access::writing(PathScope::Tree("/ws".into())), Below),
        ("Write(./lock)", "Edit", writes("/ws/lock"), Full),
        ("Grep(./src/**)", "Grep", reads_tree("/ws/src"), Full),
        ("Grep(./src/**)", "Edit", writes("/ws/src/a"), None),
        ("Grep(./src/**)", "Read", reads("/ws/src/a"), None),
    ];
    for (text, tool, access, expected) in table {
        assert_eq!(rule(text).touches(tool, &access), expected, "{text} for {tool} {access:?}");
    }
    // What was looked for and is not there is not touched.
    let gone = Access { absent: vec!["/ws/secrets".into()], ..reads_tree("/ws") };
    assert_eq!(rule("Read(./secrets/**)").touches("Bash", &gone), None);
    assert_eq!(rule("Read(./secrets2/**)").touches("Bash", &gone), Below);
}

#[test]
fn a_rule_can_name_any_tool_that_touches_files() {
    let revert = rule("Revert(./src/**)");
    let change = Access::writing(PathScope::File("/ws/src/a".into()));
    assert!(revert.covers_all("Revert", &change) && !revert.covers_all("Edit", &change));
    for tool in ["Revert", "Edit", "Bash", "mcp__a__b"] {
        assert_eq!(revert.touches(tool, &change), Reach::Full, "{tool}");
        assert_eq!(revert.touches(tool, &Access::nothing()), Reach::None, "{tool}");
    }
    assert_eq!(revert.touches("Read", &reads("/ws/src/a")), Reach::None);
    // Tools that are not known are covered by nobody's pattern but by the words of the rule language.
    let bare = Workspace { tools: Default::default(), ..workspace() };
    assert!(Rule::parse("Revert(./src/**)", &bare).is_err());
    let edit = Rule::parse("Edit(./src/**)", &bare).unwrap();
    assert!(edit.covers_all("Edit", &change) && !edit.covers_all("Revert", &change));
    assert_eq!(edit.touches("Revert", &change), Reach::Full, "a denial holds all the same");
}

#[test]
fn servers_and_hosts() {
    let names = |text: &str, tool: &str| rule(text).names(tool);
    assert!(names("mcp__a__b", "mcp__a__b") && !names("mcp__a__b", "mcp__a__bc"));
    assert!(names("mcp__a__*", "mcp__a__b") && !names("mcp__a__*", "mcp__ab__b"));
    assert!(names("mcp__a", "mcp__a__b") && !names("mcp__a", "mcp__ab__b"));
    assert!(!names("mcp__a__b", "mcp__a__b__c"));
    // Every tool of every server, and no other tool.
    assert!(names("mcp__*", "mcp__a__b") && names("mcp__*", "mcp__b__c"));
    assert!(!names("mcp__*", "Bash") && !names("mcp__*", "mcp_a"));
    assert!(names("mcp__a__get_*", "mcp__a__get_x") && !names("mcp__a__get_*", "mcp__a__set_x"));
    let fetch = |host: &str| Access { hosts: vec![host.into()], ..Access::nothing() };
    let table = [
        ("WebFetch(domain:docs.rs)", "docs.rs", true),
        ("WebFetch(domain:docs.rs)", "DOCS.rs", true),
        ("WebFetch(domain:docs.rs)", "evil-docs.rs", false),
        ("WebFetch(domain:docs.rs)", "docs.rs.evil.example", false),
        ("WebFetch(domain:*.rs)", "docs.rs", true),
        ("WebFetch(domain:*.docs.rs)", "docs.rs", false),
        ("WebFetch(domain:*.docs.rs)", "xdocs.rs", false),
    ];
    for (text, host, expected) in table {
        assert_eq!(rule(text).covers_all("WebFetch", &fetch(host)), expected, "{text} {host}");
    }
    assert!(!rule("WebFetch").covers_all("WebFetch", &Access::unknown()));
}

/// The slow and obvious way to compare a name with a pattern.
fn obvious(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => (0..=name.len()).any(|n| obvious(rest, &name[n..])),
        (Some((c, rest)), Some((d, name))) => (*c == '?' || c == d) && obvious(rest, name),
        _ => false,
    }
}

proptest! {
    #[test]
    fn names_match_as_the_obvious_way_says(pattern in "[ab*?]{0,7}", name in "[abé]{0,7}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(match_name(&pattern, &name), obvious(&chars(&pattern), &chars(&name)));
    }

    #[test]
    fn a_tree_is_touched_when_a_file_below_it_matches(
        pattern in "(\\./)?([ab*]|\\*\\*)(/([ab*]|\\*\\*)){0,3}",
        folder in "(/[ab]){0,3}",
        below in "(/[ab]){0,3}",
    ) {
        let rule = rule(&format!("Read({pattern}/x)"));
        let pattern = files(&rule);
        let (tree, file) = (format!("/ws{folder}"), format!("/ws{folder}{below}/x"));
        if pattern.matches(Path::new(&file)) {
            prop_assert!(pattern.may_touch(&PathScope::Tree(tree.into())));
        }
    }

    #[test]
    fn any_text_is_a_rule_or_an_error(text in "\\PC{0,20}") {
        if let Ok(rule) = Rule::parse(&text, &workspace()) {
            prop_assert_eq!(Rule::parse(rule.text(), &workspace()), Ok(rule.clone()));
        }
    }
}

/// Below an unknown home would be every path there is.
#[test]
fn a_home_that_is_not_known_matches_nothing() {
    for home in ["", "relative"] {
        let workspace = Workspace { home: home.into(), ..workspace() };
        for text in ["Read(~/**)", "Edit(~)"] {
            assert_eq!(Rule::parse(text, &workspace), Err(RuleError::NoHome(text.into())));
        }
        assert!(Rule::parse("Read(./a~b)", &workspace).is_ok());
    }
}

#[test]
fn who_works_in_the_root_has_not_allowed_the_disk() {
    let root = Workspace { cwd: "/".into(), roots: vec!["/".into()], ..workspace() };
    let rule = |text: &str| Rule::parse(text, &root).unwrap();
    assert!(!rule("Edit(./**)").covers_all("Edit", &writes("/etc/x")));
    assert!(!rule("Edit(/etc/**)").covers_all("Edit", &writes("/etc/x")));
    assert!(rule("Edit(//etc/**)").covers_all("Edit", &writes("/etc/x")));
    assert_eq!(rule("Edit(./etc/**)").touches("Edit", &writes("/etc/x")), Reach::Full);
}

#[test]
fn a_rule_on_a_skill_is_one_on_its_name() {
    let uses = |name: &str| {
        let skill = Some(name.to_owned());
        Access::inward(crate::Inward { skill, loosens: vec!["Bash".into()] })
    };
    for (text, name, expected) in [
        ("Skill", "review", true),
        ("Skill(*)", "review", true),
        ("Skill(review)", "review", true),
        ("Skill(review *)", "review", true),
        ("Skill(review:*)", "review", true),
        ("Skill(review)", "reviews", false),
        ("Skill(a:b)", "a:b", true),
    ] {
        assert_eq!(rule(text).covers_all("Skill", &uses(name)), expected, "{text} {name}");
        assert!(!rule(text).covers_all("Bash", &uses(name)), "{text}");
    }
    assert!(!rule("Skill(review)").covers_all("Skill", &Access::nothing()));
}

/// A pattern for a kind of tool covers those of the kind that arrive after it was read.
#[test]
fn a_tool_that_arrives_is_covered_like_others_of_its_kind() {
    let mut edits = rule("Edit(./src/**)");
    let (inside, outside) = (writes("/ws/src/a"), writes("/ws/lib/a"));
    assert!(!edits.covers_all("Stamp", &inside), "nobody knows what it is");
    edits.learn_tool("Stamp", ToolKind::Edits);
    edits.learn_tool("Look", ToolKind::Reads);
    edits.learn_tool("Call", ToolKind::Undeclared);
    assert!(edits.covers_all("Stamp", &inside) && !edits.covers_all("Stamp", &outside));
    assert!(!edits.covers_all("Look", &inside) && !edits.covers_all("Call", &inside));
    edits.learn_tool("Stamp", ToolKind::Undeclared);
    assert!(!edits.covers_all("Stamp", &inside), "it came back as something else");
    for narrow in ["Write(./src/**)", "Edit"] {
        let mut narrow = rule(narrow);
        narrow.learn_tool("Stamp", ToolKind::Edits);
        assert!(!narrow.covers_all("Stamp", &inside));
    }
}
