//! Contents by their hash, one file each. Not synced: a process that dies loses nothing, a power cut may; so
//! every content is checked by its hash before it is used.

use crate::clock::StampClock;
use crate::disk::StoreDisk;
use crate::error::Error;
use crate::item::{Hash, Stamp, Why};
use rustix::fd::{AsFd, AsRawFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmod, fstat, linkat, open, openat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Read whole; larger ones are copied in pieces.
const SMALL: u64 = 1 << 20;
/// The largest file that is kept by copying it.
pub const LARGE: u64 = 256 << 20;
/// The largest object of git that is kept by copying it, where it cannot be linked.
const LARGE_PINNED: u64 = 64 << 20;
/// The most that one snapshot may read, so that a directory that is far too large is not copied for minutes.
const AT_ONCE: u64 = 4 << 30;
const OWNER_READS: u32 = 0o400;
/// How often a file is read again that changes while it is read.
const TRIES: usize = 3;

pub(crate) struct Objects<'a> {
    pub disk: &'a StoreDisk,
    pub kept: AtomicU64,
    pub read: AtomicU64,
}

/// What became of a file.
pub(crate) enum KeptObject {
    Is {
        hash: Hash,
        stamp: Stamp,
        racy: bool,
    },
    LeftOut(Why),
    /// It is not there any more, or is something else by now.
    Gone,
}

impl Objects<'_> {
    pub(crate) fn place(&self, hash: &Hash) -> PathBuf {
        let hex = hash.hex();
        let (folder, name) = hex.split_at(2);
        self.disk.dir.join("objects").join(folder).join(name)
    }

    fn fail(&self, error: io::Error) -> Error {
        Error::io("write to", &self.disk.dir, error)
    }

    fn may_read(&self, bytes: u64) -> Result<(), Error> {
        match self.read.fetch_add(bytes, Ordering::Relaxed) + bytes > AT_ONCE {
            true => Err(Error::TooMuch(AT_ONCE)),
            false => Ok(()),
        }
    }

    /// Keeps the content of the file of this name. The clock was read before.
    pub(crate) fn keep(
        &self,
        folder: impl AsFd,
        name: &[u8],
        clock: &StampClock,
    ) -> Result<KeptObject, Error> {
        let mut last = KeptObject::Gone;
        for _ in 0..TRIES {
            let file = match open_to_read(folder.as_fd(), name) {
                Ok(file) => file,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => {
                    return Ok(KeptObject::Gone);
                }
                Err(_) => return Ok(KeptObject::LeftOut(Why::Unreadable)),
            };
            let Ok(before) = fstat(&file) else { return Ok(KeptObject::Gone) };
            if !crate::item::kind(&before).is_file() {
                return Ok(KeptObject::Gone);
            }
            let before = self.disk.stamp(&before);
            let hash = match before.size <= SMALL {
                true => self.small(&file),
                false => self.large(&file, before.size),
            };
            let hash = match hash? {
                Some(hash) => hash,
                None => return Ok(KeptObject::LeftOut(Why::Large)),
            };
            let Ok(after) = fstat(&file) else { return Ok(KeptObject::Gone) };
            let stamp = self.disk.stamp(&after);
            last = KeptObject::Is { hash, stamp, racy: stamp != before || clock.is_racy(&stamp) };
            if stamp == before {
                break;
            }
        }
        Ok(last)
    }

    fn small(&self, file: &File) -> Result<Option<Hash>, Error> {
        let mut bytes = Vec::new();
        // It may grow meanwhile; then it is read again.
        let read = file.take(2 * SMALL).read_to_end(&mut bytes);
        read.map_err(|error| Error::io("read for", &self.disk.dir, error))?;
        self.put(&bytes).map(Some)
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Hash, Error> {
        self.may_read(bytes.len() as u64)?;
        let hash = Hash::of(bytes);
        let place = self.place(&hash);
        if fs::symlink_metadata(&place).is_ok_and(|meta| meta.len() == bytes.len() as u64) {
            return Ok(hash);
        }
        self.kept.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let (mut file, path) = self.disk.temporary().map_err(|e| self.fail(e))?;
        let written = self.disk.write(&mut file, bytes).and_then(|()| self.settle(&path, &place));
        written.map(|()| hash).map_err(|error| {
            let _ = self.disk.remove(&path);
            self.fail(error)
        })
    }

    /// Shares the blocks where the file system can, else copies up to a bound.
    fn large(&self, file: &File, size: u64) -> Result<Option<Hash>, Error> {
        let fail = |error| self.fail(error);
        if size > AT_ONCE {
            return Ok(None);
        }
        let (mut copy, path) = self.disk.temporary().map_err(fail)?;
        let cloned = rustix::fs::ioctl_ficlone(&copy, file).is_ok();
        let refused = if !cloned && size > LARGE { Some(Ok(None)) } else { None };
        if let Some(refused) = refused.or_else(|| self.may_read(size).err().map(Err)) {
            let _ = self.disk.remove(&path);
            return refused;
        }
        let hashed = self.hash_into(file, (!cloned).then_some(&mut copy));
        let settled = hashed.and_then(|hash| {
            let place = self.place(&hash);
            match fs::symlink_metadata(&place).is_ok_and(|meta| meta.len() == size) {
                true => self.disk.remove(&path)?,
                false => self.settle(&path, &place)?,
            }
            Ok(hash)
        });
        let hash = settled.map_err(|error| {
            let _ = self.disk.remove(&path);
            fail(error)
        })?;
        self.kept.fetch_add(if cloned { 0 } else { size }, Ordering::Relaxed);
        Ok(Some(hash))
    }

    fn hash_into(&self, mut file: &File, mut copy: Option<&mut File>) -> io::Result<Hash> {
        self.disk.point()?;
        file.rewind()?;
        let (mut digest, mut buffer, mut total) = (Sha256::new(), vec![0; 256 << 10], 0u64);
        loop {
            let length = file.read(&mut buffer)?;
            let piece = buffer.get(..length).unwrap_or_default();
            if length == 0 || total > 2 * LARGE && copy.is_some() {
                return Ok(Hash(digest.finalize().into()));
            }
            total += length as u64;
            digest.update(piece);
            if let Some(copy) = &mut copy {
                copy.write_all(piece)?;
            }
        }
    }

    fn settle(&self, from: &Path, place: &Path) -> io::Result<()> {
        match self.disk.rename(from, place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folder(place)?;
                self.disk.rename(from, place)
            }
            other => other,
        }
    }

    fn make_folder(&self, place: &Path) -> io::Result<()> {
        let folder = place.parent().unwrap_or(place);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// A further name for a file that never changes.
    pub(crate) fn pin(
        &self,
        folder: impl AsFd,
        name: &[u8],
        inner: &[u8],
        stamp: Stamp,
    ) -> Result<KeptObject, Error> {
        let mut digest = Sha256::new();
        digest.update(b"git object ");
        digest.update(inner);
        digest.update(stamp.size.to_le_bytes());
        let hash = Hash(digest.finalize().into());
        let place = self.place(&hash);
        let is = Ok(KeptObject::Is { hash, stamp, racy: false });
        if fs::symlink_metadata(&place).is_ok_and(|meta| meta.len() == stamp.size) {
            return is;
        }
        let link = || linkat(folder.as_fd(), name, CWD, &place, AtFlags::empty());
        self.disk.point().map_err(|e| self.fail(e))?;
        let linked = match link() {
            Err(Errno::NOENT) if self.make_folder(&place).is_ok() => link(),
            other => other,
        };
        match linked {
            Ok(()) | Err(Errno::EXIST) => is,
            Err(Errno::NOENT) => Ok(KeptObject::Gone),
            Err(_) if stamp.size > LARGE_PINNED => Ok(KeptObject::LeftOut(Why::Large)),
            Err(_) => self.pin_by_copy(folder, name, &place, hash, stamp),
        }
    }

    fn pin_by_copy(
        &self,
        folder: impl AsFd,
        name: &[u8],
        place: &Path,
        hash: Hash,
        stamp: Stamp,
    ) -> Result<KeptObject, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(folder.as_fd(), name, flags, Mode::empty()).map(File::from) else {
            return Ok(KeptObject::LeftOut(Why::Unreadable));
        };
        self.may_read(stamp.size)?;
        self.kept.fetch_add(stamp.size, Ordering::Relaxed);
        let (mut copy, path) = self.disk.temporary().map_err(|e| self.fail(e))?;
        let copied = self.hash_into(&file, Some(&mut copy));
        copied.and_then(|_| self.settle(&path, place)).map_err(|e| self.fail(e))?;
        Ok(KeptObject::Is { hash, stamp, racy: false })
    }

    /// The file of this name still holds this content.
    pub(crate) fn is_content(&self, folder: impl AsFd, name: &OsStr, hash: &Hash) -> bool {
        let file = open_to_read(folder, name.as_bytes());
        file.is_ok_and(|file| self.hash_into(&file, None).is_ok_and(|found| found == *hash))
    }

    /// The content, if it is what it is called.
    pub(crate) fn read(&self, hash: &Hash) -> Result<Vec<u8>, Error> {
        let lost = || Error::Lost(hash.hex());
        let bytes = fs::read(self.place(hash)).map_err(|_| lost())?;
        if Hash::of(&bytes) == *hash { Ok(bytes) } else { Err(lost()) }
    }

    /// Copies the content into an open file, sharing blocks where possible. False if it is not held any more.
    pub(crate) fn copy_to(&self, hash: &Hash, to: &mut File) -> io::Result<bool> {
        let Ok(object) = File::open(self.place(hash)) else { return Ok(false) };
        if rustix::fs::ioctl_ficlone(&*to, &object).is_ok() {
            return Ok(self.hash_into(&object, None).is_ok_and(|found| found == *hash));
        }
        Ok(self.hash_into(&object, Some(to))? == *hash)
    }

    pub(crate) fn has(&self, hash: &Hash) -> bool {
        fs::symlink_metadata(self.place(hash)).is_ok()
    }

    /// The pinned file, readable again if somebody closed it meanwhile.
    pub(crate) fn pinned(&self, hash: &Hash) -> Result<PathBuf, Error> {
        let place = self.place(hash);
        let meta = fs::symlink_metadata(&place).map_err(|_| Error::Lost(hash.hex()))?;
        if meta.permissions().mode() & 0o400 == 0 {
            let _ = fs::set_permissions(&place, fs::Permissions::from_mode(0o444));
        }
        Ok(place)
    }
}

/// Never through a link. A file that is closed to its owner, us, is opened up for a moment.
fn open_to_read(folder: impl AsFd, name: &[u8]) -> Result<File, Errno> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(folder.as_fd(), name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        other => return other.map(File::from),
    }
    let place = openat(folder, name, flags | OFlags::PATH, Mode::empty())?;
    let stat = fstat(&place)?;
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if !is_ours || !crate::item::kind(&stat).is_file() || stat.st_mode & OWNER_READS != 0 {
        return Err(Errno::ACCESS);
    }
    // By this name it is the file that was just looked at, whatever takes its place meanwhile.
    let same = format!("/proc/self/fd/{}", place.as_raw_fd());
    let mode = Mode::from_raw_mode(stat.st_mode);
    chmod(&same, mode | Mode::RUSR)?;
    let opened = open(&same, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    chmod(&same, mode)?;
    opened.map(File::from)
}
