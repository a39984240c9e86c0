use super::desk;
use super::support::has;
use ostler_core::permission::{Access, PathScope};
use serde_json::json;

#[tokio::test]
async fn files_by_name_in_order() {
    let desk = desk();
    for path in
        ["src/b.rs", "src/a.rs", "src/deep/c.rs", "main.rs", ".env", ".git/x.rs", "target/t.rs"]
    {
        desk.write(path, "");
    }
    desk.write(".gitignore", "/target\n");
    let glob = |pattern: &str| desk.ok("Glob", json!({"pattern": pattern}));
    assert_eq!(glob("*.rs").await, "main.rs\nsrc/a.rs\nsrc/b.rs\nsrc/deep/c.rs");
    assert_eq!(glob("**/*.rs").await, "main.rs\nsrc/a.rs\nsrc/b.rs\nsrc/deep/c.rs");
    assert_eq!(glob("src/*.rs").await, "src/a.rs\nsrc/b.rs");
    assert_eq!(glob("src/**").await, "src/a.rs\nsrc/b.rs\nsrc/deep/c.rs");
    assert_eq!(glob("src/a.rs").await, "src/a.rs");
    assert_eq!(glob(".*").await, ".env\n.gitignore");
    assert_eq!(
        desk.ok("Glob", json!({"pattern": "*.rs", "path": "src/deep/"})).await,
        "src/deep/c.rs"
    );
    assert_eq!(
        glob("*.py").await,
        "No file matches *.py in the workspace folder (files that git ignores are not listed)."
    );
    assert_eq!(glob("{src,src/deep,src/../src}/*.rs").await, "src/a.rs\nsrc/b.rs\nsrc/deep/c.rs");
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().canonicalize().unwrap();
    std::fs::write(path.join("a.rs"), "").unwrap();
    let outside = desk.ok("Glob", json!({"pattern": "*", "path": path})).await;
    assert_eq!(outside, path.join("a.rs").display().to_string());
}

#[tokio::test]
async fn access_is_the_folder_that_is_walked() {
    let desk = desk();
    desk.write("src/a", "");
    std::os::unix::fs::symlink("/etc", desk.root.join("etc")).unwrap();
    let reads = |input| desk.access("Glob", input).unwrap();
    let walked = |path: std::path::PathBuf| Access {
        filtered: true,
        ..Access::reading(PathScope::Tree(path))
    };
    let tree = |path: &str| walked(desk.root.join(path));
    assert_eq!(reads(json!({"pattern": "*"})), walked(desk.root.clone()));
    assert_eq!(reads(json!({"pattern": "src/*"})), tree("src"));
    assert_eq!(reads(json!({"pattern": "*", "path": "src"})), tree("src"));
    let outside = walked(desk.root.parent().unwrap().into());
    assert_eq!(reads(json!({"pattern": "../**"})), outside);
    assert_eq!(reads(json!({"pattern": "**", "path": ".."})), outside);
    assert_eq!(reads(json!({"pattern": "etc/*"})), walked("/etc".into()));
    assert_eq!(reads(json!({"pattern": "/etc/*", "path": "src"})), walked("/etc".into()));
    let both = reads(json!({"pattern": "{src,..}/*"})).reads;
    assert!(both.contains(&outside.reads[0]) && both.contains(&tree("src").reads[0]));
    let many = format!("{}{{.,..}}/*", "{a,b}".repeat(9));
    for pattern in [&many, "*/{.,..}/*", "*/../../x", "", "src/", "[a", "**/.."] {
        assert!(desk.access("Glob", json!({"pattern": pattern})).is_err(), "{pattern}");
    }
}

#[tokio::test]
async fn long_lists_and_wrong_places() {
    let desk = desk();
    for i in 0..1_100 {
        desk.write(&format!("d/{i:04}"), "");
    }
    let list = desk.ok("Glob", json!({"pattern": "d/*"})).await;
    assert_eq!(list.lines().count(), 1_001);
    has(&list, "d/0999\n[The first 1000 are shown; there are more.");
    has(
        &desk.err("Glob", json!({"pattern": "*", "path": "D"})).await,
        "does not exist. Did you mean",
    );
    has(&desk.err("Glob", json!({"pattern": "*", "path": "d/0001"})).await, "is not a directory");
}

#[tokio::test]
async fn names_that_are_no_text_are_listed() {
    use std::os::unix::ffi::OsStrExt;
    let desk = desk();
    desk.write("ok.txt", "");
    std::fs::write(desk.root.join(std::ffi::OsStr::from_bytes(b"bad\xff.txt")), "").unwrap();
    desk.write("two\nlines.txt", "");
    assert_eq!(
        desk.ok("Glob", json!({"pattern": "*"})).await,
        "bad\u{fffd}.txt\nok.txt\ntwo\\nlines.txt"
    );
}
