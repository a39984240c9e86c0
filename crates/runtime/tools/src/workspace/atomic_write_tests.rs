use super::*;
use std::fs;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Over whatever is there now, in a directory that is a root, by the kernel and by hand.
fn each(test: impl Fn(&Path, &dyn Fn(&Path, &[u8], Option<u32>) -> Result<(), FileError>, &Door)) {
    for by_hand in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let door = Door::new(std::slice::from_ref(&root));
        let door = if by_hand { door.by_hand() } else { door };
        let put = |path: &Path, bytes: &[u8], mode: Option<u32>| {
            let over = fs::symlink_metadata(path).ok().map(|meta| FileStamp::of(&meta));
            replace(&door, path, bytes, mode, over)
        };
        test(&root, &put, &door);
    }
}

#[test]
fn content_and_mode_arrive_and_nothing_else_does() {
    each(|root, put, _| {
        let path = root.join("f");
        put(&path, b"one", None).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        put(&path, b"two", Some(0o104751)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
        assert_eq!(names(root), ["f"]);
    });
}

#[test]
fn a_hard_link_elsewhere_keeps_its_content() {
    each(|root, put, _| {
        let (here, there) = (root.join("here"), root.join("there"));
        fs::write(&there, "old").unwrap();
        fs::hard_link(&there, &here).unwrap();
        put(&here, b"new", Some(0o644)).unwrap();
        assert_eq!(fs::read(&there).unwrap(), b"old");
    });
}

#[test]
fn a_failure_leaves_no_trace() {
    each(|root, put, _| {
        // A directory cannot be replaced by a file: everything up to the rename succeeds.
        let target = root.join("new/deep/target");
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("inside"), "").unwrap();
        assert!(put(&target, b"x", None).is_err());
        assert_eq!(names(&root.join("new/deep")), ["target"]);

        let long = root.join("made/for").join("n".repeat(300));
        assert!(put(&long, b"x", None).is_err());
        assert_eq!(names(root), ["new"]);
        assert!(put(root, b"x", None).is_err());
    });
}

#[test]
fn parents_are_made() {
    each(|root, put, door| {
        let path = root.join("a/b/c");
        put(&path, b"x", None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
        remove(door, &path).unwrap();
        assert!(names(&root.join("a/b")).is_empty());
    });
}

#[test]
fn what_came_to_stand_there_meanwhile_is_not_overwritten() {
    each(|root, _, door| {
        let path = root.join("f");
        let stamp = |path: &Path| Some(FileStamp::of(&fs::symlink_metadata(path).unwrap()));
        let refused = |over| {
            let refused = replace(door, &path, b"ours", Some(0o644), over);
            assert!(matches!(refused, Err(FileError::Moved(_))), "{refused:?}");
            assert!(names(root).iter().all(|name| !name.ends_with(".tmp")));
        };
        // New, when there was to be nothing.
        fs::write(&path, "theirs").unwrap();
        refused(None);
        // Longer than it was, another file, a link, gone.
        let before = stamp(&path);
        fs::write(&path, "theirs and more").unwrap();
        refused(before);
        let before = stamp(&path);
        fs::write(root.join("g"), "theirs and more").unwrap();
        fs::rename(root.join("g"), &path).unwrap();
        refused(before);
        assert_eq!(fs::read(&path).unwrap(), b"theirs and more");
        let before = stamp(&path);
        fs::rename(&path, root.join("g")).unwrap();
        std::os::unix::fs::symlink("g", &path).unwrap();
        refused(before);
        assert!(path.is_symlink());
        fs::remove_file(&path).unwrap();
        refused(before);
        assert!(!path.exists());
    });
}
