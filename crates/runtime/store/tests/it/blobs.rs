//! Content by its hash, on files and in memory.

use crate::samples::{files, home, id, opened};
use ostler_core::ids::BlobRef;
use ostler_core::ports::{Blobs, SessionStore, StoreError};
use ostler_store::{FileBlobs, FileStore, MemoryBlobs, spill_folder};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The hash of `abc`, from the standard that defines it.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn place(home: &tempfile::TempDir) -> PathBuf {
    home.path().join("blobs/ba").join(ABC)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn contract(blobs: &dyn Blobs) {
    assert_eq!(blobs.put(b"abc").unwrap(), ABC.into());
    assert_eq!(blobs.put(b"abc").unwrap(), ABC.into());
    let contents =
        [vec![], vec![0; 3], b"text\r\n".to_vec(), (0..=255).cycle().take(300_000).collect()];
    let names: Vec<_> = contents.iter().map(|bytes| blobs.put(bytes).unwrap()).collect();
    for (bytes, name) in contents.iter().zip(&names) {
        assert_eq!(&blobs.get(name).unwrap(), bytes);
    }
    for strange in
        ["", "ba", "../../etc/passwd", &ABC.to_uppercase(), &ABC[1..], &format!("{}0", &ABC[..63])]
    {
        let name = BlobRef::new(strange);
        assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(strange.into())));
    }
    assert_eq!(blobs.spill(b"abc").unwrap(), None, "no session, no place to spill");
}

#[test]
fn both_kinds_keep_the_contract() {
    contract(&MemoryBlobs::default());
    contract(&FileBlobs::new(home().path()).unwrap());
}

#[test]
fn a_blob_is_a_private_file_named_by_its_hash() {
    let home = home();
    let blobs = FileBlobs::new(home.path()).unwrap();
    blobs.put(b"abc").unwrap();
    let path = place(&home);
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(path.ancestors().skip(1).take(2).map(mode).collect::<Vec<_>>(), [0o700, 0o700]);
    assert_eq!(files(home.path(), ""), [path], "no temporary file is left");
}

#[test]
fn what_is_there_is_not_written_again_and_what_is_cut_short_is() {
    let home = home();
    let blobs = FileBlobs::new(home.path()).unwrap();
    let name = blobs.put(b"abc").unwrap();
    let path = place(&home);
    let inode = || fs::metadata(&path).unwrap().ino();
    let before = inode();
    blobs.put(b"abc").unwrap();
    assert_eq!(inode(), before);
    fs::write(&path, "ab").unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    blobs.put(b"abc").unwrap();
    assert_eq!(blobs.get(&name).unwrap(), b"abc");
}

#[test]
fn damage_and_links_are_seen() {
    let home = home();
    let blobs = FileBlobs::new(home.path()).unwrap();
    let name = blobs.put(b"abc").unwrap();
    let path = place(&home);
    fs::write(&path, "abd").unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    fs::remove_file(&path).unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    let elsewhere = home.path().join("elsewhere");
    fs::write(&elsewhere, "abc").unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    blobs.put(b"abc").unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_file(), "a link is replaced by the blob");
    assert_eq!(fs::read(&elsewhere).unwrap(), b"abc");
}

#[test]
fn many_put_the_same_at_once() {
    let home = home();
    let blobs = FileBlobs::new(home.path()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for n in 0..30u8 {
                    let name = blobs.put(&vec![n; 5000]).unwrap();
                    assert_eq!(blobs.get(&name).unwrap(), vec![n; 5000]);
                }
            });
        }
    });
    assert_eq!(files(home.path(), "").len(), 30);
}

#[test]
fn a_spill_is_a_private_file_in_a_folder_of_its_session() {
    let home = home();
    let store = FileStore::new(home.path()).unwrap();
    let [one, two] = [id(1), id(2)].map(|id| store.blobs_of(&id));
    assert!(!home.path().join("spills").exists(), "made by the first spill");
    let path = one.spill(b"abc").unwrap().unwrap();
    let folder = spill_folder(home.path(), &id(1)).unwrap();
    assert_eq!(path, folder.join(format!("{ABC}.txt")));
    assert_eq!(folder, home.path().join("spills").join(id(1).as_str()));
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(path.ancestors().skip(1).take(2).map(mode).collect::<Vec<_>>(), [0o700, 0o700]);
    assert_eq!(
        files(&home.path().join("spills"), ""),
        std::slice::from_ref(&path),
        "no temporary file is left"
    );

    let inode = || fs::metadata(&path).unwrap().ino();
    let before = inode();
    assert_eq!(one.spill(b"abc").unwrap(), Some(path.clone()));
    assert_eq!(inode(), before, "what is there is not written again");
    fs::write(&path, "ab").unwrap();
    one.spill(b"abc").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"abc", "what is cut short is");

    let other = two.spill(b"abc").unwrap().unwrap();
    assert_eq!(other.parent(), spill_folder(home.path(), &id(2)).as_deref());
    one.put(b"old content of a file").unwrap();
    assert_eq!(files(&folder, "").len(), 1, "blobs do not stand among the spills");
    assert_eq!(files(&home.path().join("blobs"), "").len(), 1, "nor spills among the blobs");
}

#[test]
fn a_name_that_is_no_file_name_spills_nowhere() {
    let home = home();
    let store = FileStore::new(home.path()).unwrap();
    for bad in ["", "..", "../blobs", "a/b"] {
        assert_eq!(spill_folder(home.path(), &bad.into()), None, "{bad:?}");
        assert_eq!(store.blobs_of(&bad.into()).spill(b"abc").unwrap(), None, "{bad:?}");
    }
}

/// Processes that start together all find the directories missing; each must find them made.
#[test]
fn many_make_the_same_folder_at_once() {
    for round in 0..200 {
        let home = home();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (home, start) = (home.path().join("new"), &start);
                scope.spawn(move || {
                    start.wait();
                    let store = FileStore::new(&home).unwrap();
                    store.create(opened(&id(thread))).unwrap();
                    assert_eq!(store.blobs().put(b"abc").unwrap(), ABC.into(), "{round}");
                });
            }
        });
    }
}
