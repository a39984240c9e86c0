//! Content by its hash, on files and in memory.

use crate::samples::{files, home, id, opened};
use ostler_core::ids::BlobRef;
use ostler_core::ports::{Blobs, SessionStore, StoreError};
use ostler_store::{FileBlobs, FileStore, MemoryBlobs};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// The hash of `abc`, from the standard that defines it.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

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
        assert_eq!(blobs.path(&name), None);
    }
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
    let path = blobs.path(&blobs.put(b"abc").unwrap()).unwrap();
    assert_eq!(path, home.path().join("blobs/ba").join(ABC));
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(path.ancestors().skip(1).take(2).map(mode).collect::<Vec<_>>(), [0o700, 0o700]);
    assert_eq!(files(home.path(), ""), [path], "no temporary file is left");
}

#[test]
fn what_is_there_is_not_written_again_and_what_is_cut_short_is() {
    let home = home();
    let blobs = FileBlobs::new(home.path()).unwrap();
    let name = blobs.put(b"abc").unwrap();
    let path = blobs.path(&name).unwrap();
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
    let path = blobs.path(&name).unwrap();
    fs::write(&path, "abd").unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    fs::remove_file(&path).unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    let elsewhere = home.path().join("elsewhere");
    fs::write(&elsewhere, "abc").unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert_eq!(blobs.get(&name), Err(StoreError::BlobLost(ABC.into())));
    assert_eq!(blobs.path(&name), None);
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

/// Processes that start together all find the folders missing; each must find them made.
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
