use super::desk;
use super::support::{Desk, has, text};
use ostler_core::permission::{Access, PathScope};
use serde_json::{Value, json};

fn scene() -> Desk {
    let desk = desk();
    desk.write("src/b.rs", "use x;\nfn one() {}\nfn two() {\n    one();\n}\n");
    desk.write("src/a.rs", "fn ONE() {}\r\n");
    desk.write("doc.md", "one and two\n");
    desk.write("skip.log", "one\n");
    desk.write(".gitignore", "*.log\n");
    desk.write("data.bin", b"one\0one\n");
    desk.write(".git/HEAD", "one\n");
    desk
}

#[tokio::test]
async fn modes() {
    let desk = scene();
    let grep = async |mut input: Value, more: Value| {
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        desk.ok("Grep", input).await
    };
    let one = || json!({"pattern": "one"});
    assert_eq!(grep(one(), json!({})).await, "doc.md\nsrc/b.rs");
    assert_eq!(grep(one(), json!({"-i": true})).await, "doc.md\nsrc/a.rs\nsrc/b.rs");
    assert_eq!(grep(one(), json!({"output_mode": "files_with_matches"})).await, "doc.md\nsrc/b.rs");
    assert_eq!(
        grep(one(), json!({"output_mode": "count"})).await,
        "doc.md:1\nsrc/b.rs:2\n[3 matching lines in 2 files]"
    );
    let content = || json!({"pattern": "one", "output_mode": "content"});
    assert_eq!(
        grep(content(), json!({})).await,
        "doc.md:1:one and two\nsrc/b.rs:2:fn one() {}\nsrc/b.rs:4:    one();"
    );
    assert_eq!(grep(content(), json!({"-n": false, "glob": "*.md"})).await, "doc.md:one and two");
    assert_eq!(
        grep(content(), json!({"type": "rust", "-C": 1})).await,
        "src/b.rs-1-use x;\nsrc/b.rs:2:fn one() {}\nsrc/b.rs-3-fn two() {\nsrc/b.rs:4:    one();\nsrc/b.rs-5-}"
    );
    assert_eq!(
        grep(
            json!({"pattern": "use|two", "output_mode": "content", "path": "src"}),
            json!({"-A": "0", "-B": 0})
        )
        .await,
        "src/b.rs:1:use x;\nsrc/b.rs:3:fn two() {"
    );
    assert_eq!(
        grep(
            json!({"pattern": "ONE|^}", "output_mode": "content", "context": 0}),
            json!({"glob": "!*.md"})
        )
        .await,
        "src/a.rs:1:fn ONE() {}\nsrc/b.rs:5:}"
    );
    assert_eq!(
        grep(
            json!({"pattern": r"two\(\) \{.*one", "output_mode": "content"}),
            json!({"multiline": true})
        )
        .await,
        "src/b.rs:3:fn two() {\nsrc/b.rs:4:    one();"
    );
    assert_eq!(
        grep(json!({"pattern": "nowhere"}), json!({})).await,
        "No matches for nowhere in the workspace folder."
    );
    // A file that is named is searched even if it is ignored.
    assert_eq!(grep(content(), json!({"path": "skip.log"})).await, "skip.log:1:one");
}

#[tokio::test]
async fn a_page_at_a_time_in_the_same_order() {
    let desk = desk();
    for i in 0..300 {
        desk.write(&format!("d{}/f{i:03}", i % 7), format!("hit {i}\n"));
    }
    let all: Vec<String> = desk
        .ok("Grep", json!({"pattern": "hit", "head_limit": 0}))
        .await
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(all.len(), 300);
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(all, sorted);
    let default = desk.ok("Grep", json!({"pattern": "hit"})).await;
    has(&default, "\n[There is more. Continue with offset 250, or narrow the search.]");
    assert_eq!(default.lines().take(250).map(str::to_owned).collect::<Vec<_>>(), all[..250]);
    let mut paged = Vec::new();
    while paged.len() < 300 {
        let input = json!({"pattern": "hit", "head_limit": 70, "offset": paged.len()});
        let page = desk.ok("Grep", input).await;
        paged.extend(page.lines().filter(|line| !line.starts_with('[')).map(str::to_owned));
    }
    assert_eq!(paged, all);
    let beyond = desk.ok("Grep", json!({"pattern": "hit", "offset": 1000})).await;
    assert_eq!(beyond, "[There are only 300 lines of output; offset 1000 is beyond the end.]");
}

#[tokio::test]
async fn output_is_bounded() {
    let desk = desk();
    desk.write("min.js", format!("{}needle{}\n", "a".repeat(100_000), "b".repeat(100_000)));
    desk.write("many", "a line with a needle in it\n".repeat(5_000));
    let text = desk
        .ok("Grep", json!({"pattern": "needle", "output_mode": "content", "head_limit": 0}))
        .await;
    assert!(text.chars().count() < 10_200, "{}", text.len());
    has(&text, "needle");
    has(&text, "Continue with offset");
    let long = desk
        .ok("Grep", json!({"pattern": "needle", "output_mode": "content", "path": "min.js"}))
        .await;
    assert!(long.contains("needle") && long.chars().count() < 600);
}

#[tokio::test]
async fn wrong_inputs_and_places() {
    let desk = scene();
    for (input, expected) in [
        (json!({"pattern": "("}), "not a valid regular expression"),
        (json!({"pattern": "a\\nb"}), "set multiline"),
        (json!({"pattern": "x", "glob": "{"}), "`glob` is not valid"),
        (json!({"pattern": "x", "type": "klingon"}), "`type` is not valid"),
        (json!({"pattern": "x", "output_mode": "all"}), "must be one of"),
        (json!({"pattern": "x", "path": "sorc"}), "does not exist. Did you mean"),
        (json!({"pattern": "x", "path": "a\0"}), "NUL"),
    ] {
        has(&desk.err("Grep", input).await, expected);
    }
    let reads = |path: &str| desk.access("Grep", json!({"pattern": "x", "path": path})).unwrap();
    let tree = Access::reading(PathScope::Tree(desk.root.join("src")));
    assert_eq!(reads("src"), Access { filtered: true, ..tree });
    assert_eq!(reads("doc.md"), Access::reading(PathScope::File(desk.root.join("doc.md"))));
}

/// The desk of these tests lets no file named `.secret` be read unasked.
#[tokio::test]
async fn what_may_not_be_read_is_left_out_of_a_tree() {
    let desk = desk();
    desk.write("a", "key\n");
    desk.write(".secret", "key 1\n");
    desk.write("deep/.secret", "key 2\n");
    for mode in ["content", "files_with_matches", "count"] {
        let found = desk.ok("Grep", json!({"pattern": "key", "output_mode": mode})).await;
        has(&found, "[2 files left out: reading them needs the user's approval.]");
        assert!(found.starts_with('a') && !found.contains("secret"), "{found}");
    }
    let none = desk.ok("Grep", json!({"pattern": "key", "path": "deep"})).await;
    has(&none, "No matches");
    has(&none, "[1 file left out");
    // What is not searched anyway is not told about.
    let others = desk.ok("Grep", json!({"pattern": "key", "glob": "a"})).await;
    assert_eq!(others, "a");
    // A file that is named was asked about before; and names are no content.
    let named = json!({"pattern": "key", "path": ".secret"});
    has(&desk.ok("Grep", named.clone()).await, ".secret");
    // But not if there was nothing yet to ask about.
    std::fs::remove_file(desk.root.join(".secret")).unwrap();
    let judged = desk.access("Grep", named.clone()).unwrap();
    desk.write(".secret", "key 1\n");
    has(
        &text(&desk.run("Grep", named, judged).await),
        "was replaced between the decision and this call",
    );
    assert_eq!(desk.ok("Glob", json!({"pattern": "*"})).await, ".secret\na\ndeep/.secret");
}

#[tokio::test]
async fn special_files_are_passed_over() {
    let desk = desk();
    desk.write("a", "x\n");
    let pipe = desk.root.join("p");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .unwrap();
    std::os::unix::fs::symlink("/dev/zero", desk.root.join("z")).unwrap();
    let found = tokio::time::timeout(
        std::time::Duration::from_secs(20),
        desk.ok("Grep", json!({"pattern": "x"})),
    );
    assert_eq!(found.await.unwrap(), "a");
    has(&desk.err("Grep", json!({"pattern": "x", "path": "p"})).await, "is a named pipe");
}
