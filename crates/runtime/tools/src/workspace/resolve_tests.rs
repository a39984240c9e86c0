use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A directory with some links; `$` in the tables stands for its path.
fn scene() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("ws/d/deep")).unwrap();
    fs::create_dir_all(root.join("out")).unwrap();
    fs::write(root.join("ws/a"), "a").unwrap();
    fs::write(root.join("out/s"), "s").unwrap();
    symlink(root.join("out/s"), root.join("ws/abs")).unwrap();
    symlink("../a", root.join("ws/d/rel")).unwrap();
    symlink("abs", root.join("ws/chain")).unwrap();
    symlink(root.join("out"), root.join("ws/dir")).unwrap();
    symlink("nowhere/x", root.join("ws/dangling")).unwrap();
    symlink("circle2", root.join("ws/circle1")).unwrap();
    symlink("circle1", root.join("ws/circle2")).unwrap();
    (dir, root)
}

/// With and without descriptors, by the kernel and by hand: always the same.
fn walk(cwd: &Path, text: &str) -> Result<PathBuf, FileError> {
    let roots = [cwd.to_path_buf()];
    let doors =
        [Door::new(&roots), Door::new(&roots).by_hand(), Door::new(&[]), Door::new(&[]).by_hand()];
    let results = doors.map(|door| resolve(&door, cwd, text));
    let told = |result: &Result<PathBuf, FileError>| match result {
        Ok(path) => format!("{path:?}"),
        Err(error) => error.to_string(),
    };
    assert!(results.iter().all(|result| told(result) == told(&results[0])), "{text}: {results:?}");
    results.into_iter().next().unwrap()
}

#[test]
fn paths_lead_where_the_kernel_would_go() {
    let (_keep, root) = scene();
    let base = root.to_str().unwrap();
    for (text, expected) in [
        ("a", "$/ws/a"),
        ("./a", "$/ws/a"),
        ("d//rel", "$/ws/a"),
        ("d/../a", "$/ws/a"),
        ("$/ws/a", "$/ws/a"),
        ("/$/ws/a", "$/ws/a"),
        (".", "$/ws"),
        ("d/", "$/ws/d"),
        ("..", "$"),
        ("../out/s", "$/out/s"),
        ("abs", "$/out/s"),
        ("chain", "$/out/s"),
        ("dir/sub/new", "$/out/sub/new"),
        // `..` behind a link leaves the link's target, not the directory the link stands in.
        ("dir/../ws/a", "$/ws/a"),
        ("dir/../out/s", "$/out/s"),
        ("dangling", "$/ws/nowhere/x"),
        ("new/deep/file", "$/ws/new/deep/file"),
        ("~/x", "$/ws/~/x"),
        ("${HOME}", "$/ws/${HOME}"),
        ("...three", "$/ws/...three"),
        ("a\nb", "$/ws/a\nb"),
        ("/../../etc", "/etc"),
    ] {
        // Only the scene's own `$`: `${` is a name.
        let fill = |text: &str| text.replace("$/", &format!("{base}/")).replace("$END", base);
        let expected = if expected == "$" { base.to_owned() } else { fill(expected) };
        assert_eq!(walk(&root.join("ws"), &fill(text)).unwrap(), PathBuf::from(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_resolved_says_why() {
    let (_keep, root) = scene();
    let long_name = "n".repeat(256);
    let long_path = "d/".repeat(2100);
    for (text, expected) in [
        ("", "is empty"),
        ("a\0.png", "NUL"),
        (long_name.as_str(), "name in the path is too long"),
        (long_path.as_str(), "path is too long"),
        ("a/x", "is not a directory"),
        ("a/", "is not a directory"),
        ("a/.", "is not a directory"),
        ("a/..", "is not a directory"),
        ("new/", "ends with a slash"),
        ("nosuch/../a", "`..` leads nowhere"),
        ("circle1", "too many links"),
        ("circle1/x", "too many links"),
    ] {
        let error = walk(&root.join("ws"), text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_working_folder_may_itself_be_a_link() {
    let (_keep, root) = scene();
    symlink(root.join("ws"), root.join("door")).unwrap();
    assert_eq!(walk(&root.join("door"), "a").unwrap(), root.join("ws/a"));
    assert_eq!(walk(&root.join("door"), "../out/s").unwrap(), root.join("out/s"));
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::write(root.join("x42"), "").unwrap();
    for i in 1..42 {
        symlink(format!("x{}", i + 1), root.join(format!("x{i}"))).unwrap();
    }
    assert_eq!(walk(&root, "x2").unwrap(), root.join("x42"));
    assert!(matches!(walk(&root, "x1"), Err(FileError::Links(_))));
}

#[test]
fn a_root_is_what_it_was_at_the_start() {
    let (_keep, root) = scene();
    let ws = root.join("ws");
    for by_hand in [false, true] {
        let door = Door::new(std::slice::from_ref(&ws));
        let door = if by_hand { door.by_hand() } else { door };
        fs::rename(&ws, root.join("ws.old")).unwrap();
        symlink(root.join("out"), &ws).unwrap();
        fs::write(root.join("out/a"), "theirs").unwrap();
        let resolved = |text: &str| resolve(&door, &ws, text).unwrap();
        for text in ["a", "./d/../a", "../ws/a", ws.join("a").to_str().unwrap()] {
            assert_eq!(resolved(text), ws.join("a"), "{text}");
        }
        // What only looks like it is not taken for it.
        assert_eq!(resolved("../ws.old/a"), root.join("ws.old/a"));
        fs::remove_file(&ws).unwrap();
        fs::rename(root.join("ws.old"), &ws).unwrap();
    }
}

#[test]
fn links_of_the_kernel_are_not_followed() {
    let cwd = Path::new("/");
    for text in ["/proc/self/root/etc", "/proc/self/cwd", "/proc/self/exe", "/proc/self/fd/0"] {
        assert!(matches!(walk(cwd, text), Err(FileError::Magic(_))), "{text}");
    }
    let own = PathBuf::from(format!("/proc/{}/environ", std::process::id()));
    assert_eq!(walk(cwd, "/proc/self/environ").unwrap(), own);
}
