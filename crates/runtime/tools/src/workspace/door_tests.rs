use super::*;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

/// A root with a file and a directory, links in it, and a directory outside.
fn scene() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("ws/d/e")).unwrap();
    fs::create_dir_all(base.join("out/e")).unwrap();
    fs::write(base.join("ws/d/f"), "inside").unwrap();
    fs::write(base.join("out/f"), "outside").unwrap();
    symlink("d", base.join("ws/link")).unwrap();
    symlink("d/f", base.join("ws/file-link")).unwrap();
    symlink(base.join("out"), base.join("ws/away")).unwrap();
    (dir, base)
}

fn doors(roots: &[PathBuf]) -> [Door; 2] {
    [Door::new(roots), Door::new(roots).by_hand()]
}

fn content(fd: OwnedFd) -> String {
    let mut text = String::new();
    fs::File::from(fd).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn no_link_is_followed_and_both_ways_agree() {
    let (_keep, base) = scene();
    let file = OFlags::RDONLY | OFlags::NONBLOCK;
    for roots in [vec![], vec![base.join("ws")]] {
        for door in doors(&roots) {
            for (path, expected) in [
                ("ws/d/f", Ok("inside")),
                ("ws/./d//f", Ok("inside")),
                ("out/f", Ok("outside")),
                ("ws/link/f", Err(Errno::LOOP)),
                ("ws/away/f", Err(Errno::LOOP)),
                ("ws/file-link", Err(Errno::LOOP)),
                ("ws/away", Err(Errno::LOOP)),
                ("ws/d/f/x", Err(Errno::NOTDIR)),
                ("ws/d/x", Err(Errno::NOENT)),
                ("ws/x/f", Err(Errno::NOENT)),
                ("ws/../out/f", Err(Errno::INVAL)),
            ] {
                let opened = door.open(&base.join(path), file).map(content);
                assert_eq!(opened.as_deref(), expected.as_ref().copied(), "{path} {roots:?}");
            }
            assert_eq!(door.open(Path::new("ws/d/f"), file).err(), Some(Errno::INVAL));
        }
    }
}

#[test]
fn a_link_is_seen_but_not_through() {
    let (_keep, base) = scene();
    for door in doors(&[base.join("ws")]) {
        let look = |path: &str| door.look(&base.join(path));
        assert_eq!(look("ws/away").unwrap().target, Some(base.join("out")));
        assert_eq!(look("ws/away").unwrap().kind(), FileType::Symlink);
        assert!(look("ws").unwrap().is_folder() && look("ws/d").unwrap().is_folder());
        assert_eq!(look("ws/d/f").unwrap().kind(), FileType::RegularFile);
        assert_eq!(look("ws/away/f").err(), Some(Errno::LOOP));
        assert_eq!(door.look(Path::new("/proc/self/root")).err(), Some(Errno::LOOP));
        let own = PathBuf::from(format!("/proc/{}/root", std::process::id()));
        assert_eq!(door.look(&own).err(), Some(Errno::XDEV));
    }
}

#[test]
fn the_descriptor_decides_what_the_root_is() {
    let (_keep, base) = scene();
    let ws = base.join("ws");
    for door in doors(std::slice::from_ref(&ws)) {
        assert!(door.is_same(&ws) && door.is_same(&ws.join("d")));
        fs::rename(&ws, base.join("old")).unwrap();
        symlink(base.join("out"), &ws).unwrap();
        let read = |path: &Path| door.open(path, OFlags::RDONLY).map(content);
        assert_eq!(read(&ws.join("d/f")).as_deref(), Ok("inside"));
        assert_eq!(read(&ws.join("f")).err(), Some(Errno::NOENT));
        assert!(!door.is_same(&ws) && !door.is_same(&ws.join("d")));
        let path = ws.join("made/here/x");
        drop(door.make_place(&path).unwrap());
        assert!(!base.join("out/made").exists() && !base.join("old/made").exists());
        fs::remove_file(&ws).unwrap();
        fs::rename(base.join("old"), &ws).unwrap();
    }
}

#[test]
fn places_are_folders_that_are_held() {
    let (_keep, base) = scene();
    let ws = base.join("ws");
    for door in doors(std::slice::from_ref(&ws)) {
        assert_eq!(door.place(&ws).err(), Some(Errno::ISDIR));
        assert_eq!(door.place(Path::new("/")).err(), Some(Errno::ISDIR));
        assert_eq!(door.place(&ws.join("away/f")).err(), Some(Errno::LOOP));
        assert!(door.make_place(&ws.join("away/new/f")).is_err());
        assert!(door.make_place(&ws.join("d/f/new/x")).is_err());
        assert!(!base.join("out/new").exists());
        let path = ws.join("a/b/c");
        let (place, parents) = door.make_place(&path).unwrap();
        assert_eq!(place.name, "c");
        parents.keep();
        // Moved while it is held: the write goes where the directory went, not to what took its name.
        fs::rename(ws.join("a"), ws.join("moved")).unwrap();
        symlink(base.join("out"), ws.join("a")).unwrap();
        fs::create_dir(base.join("out/b")).unwrap();
        let flags = OFlags::CREATE | OFlags::WRONLY;
        rustix::fs::openat(&place.folder, place.name, flags, Mode::RUSR).unwrap();
        assert!(ws.join("moved/b/c").exists() && !base.join("out/b/c").exists());
        fs::remove_dir(base.join("out/b")).unwrap();
        fs::remove_file(ws.join("a")).unwrap();
        fs::remove_dir_all(ws.join("moved")).unwrap();
    }
}

#[test]
fn the_deepest_root_is_taken_and_the_whole_disk_is_none() {
    let (_keep, base) = scene();
    let roots = [PathBuf::from("/"), base.join("ws"), base.join("ws/d"), base.join("nowhere")];
    for door in doors(&roots) {
        assert_eq!(door.roots(), [base.join("ws"), base.join("ws/d")]);
        fs::rename(base.join("ws/d"), base.join("taken")).unwrap();
        let read = door.open(&base.join("ws/d/f"), OFlags::RDONLY).map(content);
        assert_eq!(read.as_deref(), Ok("inside"));
        fs::rename(base.join("taken"), base.join("ws/d")).unwrap();
    }
}

/// The work grows with the depth of a path, not with its square.
#[test]
fn a_deep_path_takes_a_few_steps_for_each_name() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for by_hand in [false, true] {
        let door = Door::new(std::slice::from_ref(&root));
        let door = if by_hand { door.by_hand() } else { door };
        let names = 1_500;
        let text = format!("{by_hand}/{}x", "a/".repeat(names));
        LOOKED_UP.set(0);
        let path = super::super::resolve::resolve(&door, &root, &text).unwrap();
        assert!(LOOKED_UP.get() < 10, "what does not exist is not looked for: {}", LOOKED_UP.get());
        // More directories than a process may have descriptors, and all of them go if the file does not come to be.
        drop(door.make_place(&path).unwrap());
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
        door.make_place(&path).unwrap().1.keep();
        LOOKED_UP.set(0);
        let there = super::super::resolve::resolve(&door, &root, &text).unwrap();
        assert_eq!(there, path);
        door.make_place(&path).unwrap().1.keep();
        let steps = LOOKED_UP.get();
        assert!(steps > names && steps < 4 * names, "{steps}");
        std::fs::remove_dir_all(root.join(by_hand.to_string())).unwrap();
    }
}
