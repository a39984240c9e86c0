//! Somebody swaps a directory or a file with a link to outside, all the time, while the door is used. Nothing outside
//! is ever written or read; and the same done by path, with the check before the act, is seen to escape.

use super::atomic_write;
use super::files::{Files, MAX_CHANGE};
use crate::blocking_task::TaskStop;
use crate::search::FileWalk;
use ostler_core::permission::Workspace;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Of each kind, each way: calls whose path led inside when it was judged.
const ROUNDS: usize = 850;
/// All of them, also those whose path led outside, which would be asked about. On a busy machine a path leads outside for
/// as long as the swapper does not get its turn.
const TRIES: usize = 20_000_000;
/// A row of rounds without so many swaps proves nothing.
const SWAPS: usize = 200;
/// Until the careless way is seen to escape.
const CARELESS: usize = 500_000;

/// What is swapped with what, and what is done to a path that goes through it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    ReadInFolder,
    ReadFile,
    WriteInFolder,
    WriteFile,
    MakeFolders,
    Remove,
}

const KINDS: [Kind; 6] = [
    Kind::ReadInFolder,
    Kind::ReadFile,
    Kind::WriteInFolder,
    Kind::WriteFile,
    Kind::MakeFolders,
    Kind::Remove,
];

impl Kind {
    fn path(self) -> &'static str {
        match self {
            Kind::ReadFile | Kind::WriteFile => "f",
            Kind::ReadInFolder | Kind::WriteInFolder | Kind::Remove => "d/s",
            Kind::MakeFolders => "d/made/here/s",
        }
    }
}

/// A workspace with `d` and `f`, links to outside beside them, and what is outside.
struct Scene {
    _keep: tempfile::TempDir,
    ws: PathBuf,
    out: PathBuf,
    /// The real `d`, whatever its name is by now.
    folder: OwnedFd,
    /// Held while something is swapped or put back; the door knows nothing of it.
    swaps: Mutex<()>,
}

const SECRET: &str = "outside";

impl Scene {
    fn new() -> Scene {
        // In memory where there is such a place: thousands of files are synced.
        let memory = tempfile::tempdir_in("/dev/shm");
        let keep = memory.or_else(|_| tempfile::tempdir()).unwrap();
        let base = keep.path().canonicalize().unwrap();
        let (ws, out) = (base.join("ws"), base.join("out"));
        fs::create_dir_all(ws.join("d")).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("s"), SECRET).unwrap();
        fs::write(ws.join("f"), "inside").unwrap();
        fs::write(ws.join("d/s"), "inside").unwrap();
        symlink(&out, ws.join("d-link")).unwrap();
        symlink(out.join("s"), ws.join("f-link")).unwrap();
        let folder = rustix::fs::open(ws.join("d"), OFlags::DIRECTORY, Mode::empty()).unwrap();
        Scene { _keep: keep, ws, out, folder, swaps: Mutex::default() }
    }

    fn workspace(&self) -> Workspace {
        let (cwd, roots) = (self.ws.clone(), vec![self.ws.clone()]);
        Workspace { cwd, roots, ..Workspace::default() }
    }

    fn is_untouched(&self) -> bool {
        let names: Vec<_> =
            fs::read_dir(&self.out).unwrap().map(|e| e.unwrap().file_name()).collect();
        names == ["s"] && fs::read_to_string(self.out.join("s")).unwrap() == SECRET
    }

    /// As it was before the call.
    fn reset(&self, kind: Kind) {
        let _still = self.swaps.lock().unwrap();
        let remove = |name: &str, flags| unlinkat(&self.folder, name, flags).is_ok();
        match kind {
            Kind::MakeFolders => {
                let made = remove("made/here/s", AtFlags::empty());
                assert_eq!(made, remove("made/here", AtFlags::REMOVEDIR), "half a tree was left");
                assert_eq!(made, remove("made", AtFlags::REMOVEDIR), "half a tree was left");
            }
            Kind::Remove => {
                let flags = OFlags::CREATE | OFlags::WRONLY;
                openat(&self.folder, "s", flags, Mode::RUSR | Mode::WUSR).unwrap();
            }
            // A rename may have taken the place of the link; it must not have gone through it.
            Kind::WriteFile => {
                let [f, link] = ["f", "f-link"].map(|name| self.ws.join(name));
                if !f.is_symlink() && !link.is_symlink() {
                    fs::remove_file(&link).unwrap();
                    symlink(self.out.join("s"), &link).unwrap();
                }
            }
            Kind::ReadInFolder | Kind::ReadFile | Kind::WriteInFolder => {}
        }
    }

    /// Does the work while everything is swapped, and says how often it was swapped.
    fn swapping<T>(&self, work: impl FnOnce(&AtomicUsize) -> T) -> (T, usize) {
        let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (a, b) in [("d", "d-link"), ("f", "f-link")] {
                        let (a, b) = (self.ws.join(a), self.ws.join(b));
                        let _alone = self.swaps.lock().unwrap();
                        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                        swaps.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            let stopper = Stopper(&stop);
            let done = work(&swaps);
            drop(stopper);
            swapper.join().unwrap();
            (done, swaps.load(Ordering::Relaxed))
        })
    }
}

/// Ends the swapping also when the work panics.
struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

enum Outcome {
    /// It would be asked about.
    JudgedOutside,
    Refused,
    Done,
    ReadOutside,
}

/// As the tools do it.
fn through_the_door(files: &Files, kind: Kind) -> Outcome {
    let path = match files.resolve(kind.path()) {
        Ok(path) if files.workspace().contains(&path) => path,
        _ => return Outcome::JudgedOutside,
    };
    let Ok(old) = files.load(&path, MAX_CHANGE) else { return Outcome::Refused };
    if old.as_ref().is_some_and(|old| old.bytes == SECRET.as_bytes()) {
        return Outcome::ReadOutside;
    }
    let (mode, over) = (old.as_ref().map(|old| old.mode), old.as_ref().map(|old| old.stamp));
    let done = match kind {
        Kind::ReadFile | Kind::ReadInFolder => Ok(()),
        Kind::Remove => atomic_write::remove(&files.door, &path),
        Kind::WriteFile | Kind::WriteInFolder | Kind::MakeFolders => {
            atomic_write::replace(&files.door, &path, b"inside", mode, over)
        }
    };
    if done.is_ok() { Outcome::Done } else { Outcome::Refused }
}

/// By path: check, then act.
fn carelessly(ws: &Path, kind: Kind) -> Option<bool> {
    let path = ws.join(kind.path());
    let parent = path.parent()?.canonicalize().ok()?;
    let path = parent.join(path.file_name()?);
    let path = path.canonicalize().unwrap_or(path);
    if !path.starts_with(ws) {
        return None;
    }
    match kind {
        Kind::ReadFile | Kind::ReadInFolder => Some(fs::read(&path).ok()? == SECRET.as_bytes()),
        _ => {
            let _ = fs::write(&path, "inside");
            Some(false)
        }
    }
}

#[test]
fn nothing_escapes_through_the_door() {
    let mut rounds = 0;
    for kind in KINDS {
        for by_hand in [false, true] {
            let scene = Scene::new();
            let files = Files::new(scene.workspace(), vec![], vec![]);
            let files = if by_hand { files.by_hand() } else { files };
            let ((done, refused), swaps) = scene.swapping(|swaps| {
                let (mut done, mut refused) = (0, 0);
                for _ in 0..TRIES {
                    scene.reset(kind);
                    match through_the_door(&files, kind) {
                        Outcome::JudgedOutside => std::thread::yield_now(),
                        Outcome::Refused => refused += 1,
                        Outcome::Done => done += 1,
                        Outcome::ReadOutside => panic!("{kind:?} read what is outside"),
                    }
                    let seen = done > 0 && swaps.load(Ordering::Relaxed) >= SWAPS;
                    if done + refused >= ROUNDS && seen {
                        break;
                    }
                }
                (done, refused)
            });
            assert!(scene.is_untouched(), "{kind:?} by hand {by_hand}: it escaped");
            assert!(done > 0 && swaps >= SWAPS, "{kind:?}: {done} done, {swaps} swaps");
            assert!(done + refused >= ROUNDS, "{kind:?}: {done} done, {refused} refused");
            rounds += done + refused;
            println!("{kind:?}, by hand {by_hand}: {done} done, {refused} refused, {swaps} swaps");
        }
    }
    println!("path races: {rounds} rounds, 0 escapes");
}

#[test]
fn the_careless_way_is_seen_to_escape() {
    for kind in [Kind::ReadInFolder, Kind::ReadFile, Kind::WriteInFolder, Kind::WriteFile] {
        let scene = Scene::new();
        let (seen, _) = scene.swapping(|_| {
            (0..CARELESS)
                .find(|_| carelessly(&scene.ws, kind) == Some(true) || !scene.is_untouched())
        });
        println!("path races, naive {kind:?}: escaped in round {seen:?}");
        assert!(seen.is_some(), "{kind:?}: the swaps are too rare for this test to mean anything");
    }
}

#[test]
fn a_walk_lists_nothing_from_outside() {
    let scene = Scene::new();
    fs::write(scene.out.join("only outside"), "").unwrap();
    let files = Files::new(scene.workspace(), vec![], vec![]);
    let stop = TaskStop::never();
    let walk = || FileWalk::new(&scene.ws, &stop).filter(|path| path.ends_with("only outside"));
    // The walk itself is fooled at times; what it gives is looked at again.
    let (fooled, _) = scene.swapping(|_| {
        (0..CARELESS).find(|_| {
            let found: Vec<PathBuf> = walk().collect();
            let escaped = found.iter().any(|path| files.is_file(path));
            assert!(!escaped, "a name from outside is listed");
            !found.is_empty()
        })
    });
    println!("the walk was fooled in round {fooled:?}");
    assert!(fooled.is_some(), "the swaps are too rare for this test to mean anything");
}
