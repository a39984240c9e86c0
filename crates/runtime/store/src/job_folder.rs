//! `<home>/jobs/<session>/<job>/`: what a job is, what it wrote, how it ended, and whether it runs.
//!
//! Whoever runs a job holds the kernel's lock on its `lock` file. The kernel drops it with the process, so a job runs
//! exactly if the lock is held; a process number alone would say nothing after a restart.

use crate::files::{RefusedFile, io_error, open_file, private_folder};
use crate::layout::is_file_name;
use crate::process_mark::ProcessMark;
use ostler_core::ids::{JobId, SessionId};
use ostler_core::job::{JobEnd, JobRecord, JobView};
use ostler_core::ports::StoreError;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const OUTPUT: &str = "output.txt";
const LOCK: &str = "lock";
const DESCRIPTION: &str = "job.json";
const STATUS: &str = "status.json";
/// Somebody asked for its end from outside.
const STOP: &str = "stop";
/// A FIFO that wakes the process which runs an agent: an agent has no process of its own that a signal could reach.
const WAKE: &str = "wake";
/// What is to be looked at in the project when a kept job has ended; it is there until somebody has looked.
const OWED: &str = "inspection.json";
/// Folders of jobs that ended longer ago are removed.
const KEPT_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Folders looked at, of sessions and of jobs of each.
const MOST: usize = 10_000;
/// A description is a few hundred bytes.
const LONGEST: u64 = 1 << 20;
/// What is to be looked at can be a list of many repositories.
const LONGEST_OWED: u64 = 256 << 20;

/// The jobs of one session.
#[derive(Clone, Debug)]
pub struct JobFolders {
    root: PathBuf,
    session: SessionId,
}

/// What others need to know of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDescription {
    pub session: SessionId,
    pub cwd: PathBuf,
    #[serde(flatten)]
    pub job: JobRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessMark>,
    /// The process that runs a kept job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<ProcessMark>,
}

/// A directory that should be that of a job, and why it is not taken for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableJob {
    pub folder: PathBuf,
    pub why: String,
}

/// A job of any session, as its folder tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundJob {
    pub folder: PathBuf,
    pub description: JobDescription,
    /// None: it runs.
    pub end: Option<JobEnd>,
}

/// The folder of a job that this process runs.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    /// Of no use but to be held.
    _lock: File,
}

impl JobFolders {
    /// None for a session whose name could not be that of a directory.
    pub fn of(home: &Path, session: &SessionId) -> Option<Self> {
        let root = job_folder(home, session)?;
        Some(JobFolders { root, session: session.clone() })
    }

    /// Somewhere else than at home.
    pub fn at(root: &Path, session: &SessionId) -> Self {
        JobFolders { root: root.to_owned(), session: session.clone() }
    }

    pub fn folder(&self, id: &JobId) -> PathBuf {
        self.root.join(id.as_str())
    }

    /// Where the output of a new job goes; the directory is made.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn reserve(&self, id: &JobId) -> Result<PathBuf, StoreError> {
        if let Some(parent) = self.root.parent() {
            private_folder(parent)?;
        }
        private_folder(&self.root)?;
        private_folder(&self.folder(id))?;
        Ok(self.folder(id).join(OUTPUT))
    }

    /// This process runs the job from here on.
    ///
    /// # Errors
    /// If the folder cannot be written, or another process runs it.
    pub fn begin(
        &self,
        job: &JobRecord,
        cwd: &Path,
        process: Option<ProcessMark>,
    ) -> Result<JobFolder, StoreError> {
        let folder = JobFolder::hold(self.folder(&job.id))?;
        self.describe(job, cwd, process, None)?;
        Ok(folder)
    }

    /// Tells others of a job that runs, here or in its keeper.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn describe(
        &self,
        job: &JobRecord,
        cwd: &Path,
        process: Option<ProcessMark>,
        keeper: Option<ProcessMark>,
    ) -> Result<(), StoreError> {
        let (session, cwd, job) = (self.session.clone(), cwd.to_owned(), job.clone());
        let path = self.folder(&job.id).join(DESCRIPTION);
        write(&path, &JobDescription { session, cwd, job, process, keeper }, false)
    }

    /// What was written down of it.
    pub fn description(&self, id: &JobId) -> Option<JobDescription> {
        described(&self.folder(id)).ok().flatten()
    }

    /// How it ended, if somebody saw that.
    pub fn end(&self, id: &JobId) -> Option<JobEnd> {
        read(&self.folder(id).join(STATUS))
    }

    /// How a job ended that does not run any more. If nobody saw it, it died.
    pub fn kept_end(&self, id: &JobId) -> JobEnd {
        kept_end(&self.folder(id))
    }

    /// A living process holds its lock.
    pub fn runs(&self, id: &JobId) -> bool {
        is_held(&self.folder(id))
    }

    /// The directories of jobs that do not run any more and whose project was not looked at.
    pub fn owing(&self) -> Vec<PathBuf> {
        folders(&self.root).into_iter().filter(|folder| owes(folder) && !is_held(folder)).collect()
    }
}

/// What a session may read of its jobs.
pub fn job_folder(home: &Path, session: &SessionId) -> Option<PathBuf> {
    is_file_name(session).then(|| home.join("jobs").join(session.as_str()))
}

impl JobFolder {
    /// # Errors
    /// If the folder cannot be written, or another process runs the job.
    pub fn hold(path: PathBuf) -> Result<Self, StoreError> {
        let place = path.join(LOCK);
        let open = open_file(&place, OFlags::WRONLY | OFlags::CREATE);
        let lock = open.map_err(|error| refused("open", &place, error))?;
        lock.try_lock().map_err(|error| io_error("lock", &place, error))?;
        Ok(JobFolder { path, _lock: lock })
    }

    /// On disk before the lock is given up.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(&self, end: &JobEnd) -> Result<(), StoreError> {
        write(&self.path.join(STATUS), end, false)
    }

    /// As [`JobFolder::finish`]; it also survives the end of the machine.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish_durably(&self, end: &JobEnd) -> Result<(), StoreError> {
        write(&self.path.join(STATUS), end, true)
    }

    /// Its directory and its lock are where they were: others can find the job.
    pub fn is_in_place(&self) -> bool {
        let found = self.path.join(LOCK).symlink_metadata();
        let name = |meta: fs::Metadata| (meta.dev(), meta.ino());
        found.is_ok_and(|found| self._lock.metadata().is_ok_and(|own| name(own) == name(found)))
    }

    /// What somebody has to look at when the job has ended. On the disk before the job starts.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn owe_inspection(&self, owed: &[u8]) -> Result<(), StoreError> {
        write_bytes(&self.path.join(OWED), owed, true)
    }

    /// None: nothing is left to look at.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn owed_inspection(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path.join(OWED);
        let mut bytes = Vec::new();
        let file = match open_file(&path, OFlags::RDONLY) {
            Ok(file) => file,
            Err(RefusedFile::Missing) => return Ok(None),
            Err(error) => return Err(refused("read", &path, error)),
        };
        let read = file.take(LONGEST_OWED + 1).read_to_end(&mut bytes);
        match read.map_err(|error| io_error("read", &path, error))? as u64 > LONGEST_OWED {
            true => Err(io_error("read", &path, "it is too large")),
            false => Ok(Some(bytes)),
        }
    }

    /// Somebody has looked.
    pub fn forget_inspection(&self) {
        let _ = fs::remove_file(self.path.join(OWED));
    }

    /// How it ended, if somebody saw that.
    pub fn seen_end(&self) -> Option<JobEnd> {
        read(&self.path.join(STATUS))
    }

    /// As [`JobFolders::kept_end`].
    pub fn kept_end(&self) -> JobEnd {
        kept_end(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn output(&self) -> PathBuf {
        self.path.join(OUTPUT)
    }

    /// Removes what is left of a job that nobody was told of.
    pub fn remove_undescribed(&self) {
        if !self.path.join(DESCRIPTION).exists() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    /// Somebody asked for its end from outside.
    pub fn is_stopped(&self) -> bool {
        self.path.join(STOP).exists()
    }

    /// The FIFO that [`FoundJob::request_stop`] writes to.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn stop_requests(&self) -> Result<PathBuf, StoreError> {
        let path = self.path.join(WAKE);
        match mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
            Ok(()) | Err(Errno::EXIST) => Ok(path),
            Err(error) => Err(io_error("create", &path, error)),
        }
    }
}

impl FoundJob {
    pub fn view(&self) -> JobView {
        JobView { record: self.description.job.clone(), end: self.end.clone() }
    }

    pub fn output(&self) -> PathBuf {
        self.folder.join(OUTPUT)
    }

    /// Its end, when it comes, is one that was asked for.
    ///
    /// # Errors
    /// If that cannot be written down.
    pub fn mark_stopped(&self) -> Result<(), StoreError> {
        let path = self.folder.join(STOP);
        let opened = open_file(&path, OFlags::WRONLY | OFlags::CREATE);
        opened.map(drop).map_err(|error| refused("write", &path, error))
    }

    /// Asks the process that runs it to end it, and marks it as stopped.
    ///
    /// # Errors
    /// If that process does not listen, or the request cannot be written.
    pub fn request_stop(&self) -> Result<(), StoreError> {
        let path = self.folder.join(WAKE);
        // Without a reader this fails instead of waiting for one.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|error| io_error("open", &path, error))?;
        self.mark_stopped()?;
        let written = rustix::io::write(&pipe, b"s");
        written.map(drop).map_err(|error| io_error("write", &path, error))
    }

    pub fn runs(&self) -> bool {
        is_held(&self.folder)
    }

    /// Nobody has looked at what it left in the project.
    pub fn owes_inspection(&self) -> bool {
        owes(&self.folder)
    }
}

fn refused(doing: &'static str, path: &Path, error: RefusedFile) -> StoreError {
    match error {
        RefusedFile::NotAFile(what) => io_error(doing, path, format!("it is {what}")),
        RefusedFile::Missing => io_error(doing, path, "its directory no longer exists"),
        RefusedFile::Io(error) => io_error(doing, path, error),
    }
}

fn owes(folder: &Path) -> bool {
    folder.join(OWED).symlink_metadata().is_ok()
}

/// The jobs of all sessions, oldest first.
pub fn found_jobs(home: &Path) -> Vec<FoundJob> {
    let sessions = folders(&home.join("jobs"));
    let mut found: Vec<FoundJob> =
        sessions.iter().flat_map(|session| folders(session)).filter_map(found_job).collect();
    found.sort_by_key(|job| job.description.job.at.0);
    found
}

/// Directories with a description that cannot be believed.
pub fn unreadable_jobs(home: &Path) -> Vec<UnreadableJob> {
    let sessions = folders(&home.join("jobs"));
    let unreadable = |folder: PathBuf| {
        let why = described(&folder).err()?;
        Some(UnreadableJob { folder, why })
    };
    sessions.iter().flat_map(|session| folders(session)).filter_map(unreadable).collect()
}

/// None: there is no description, as before the job has started. The names of the directories decide which job of which
/// session it is: a description of another one could make us signal its processes.
fn described(folder: &Path) -> Result<Option<JobDescription>, String> {
    let path = folder.join(DESCRIPTION);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let description: JobDescription =
        read(&path).ok_or_else(|| format!("{DESCRIPTION} cannot be read"))?;
    let (id, session) = (&description.job.id, &description.session);
    let name = |folder: Option<&Path>| folder.and_then(Path::file_name).map(OsStr::to_os_string);
    let is_named = |folder: Option<&Path>, id: &str| name(folder).is_some_and(|name| name == id);
    match () {
        () if !is_named(Some(folder), id.as_str()) => {
            Err(format!("{DESCRIPTION} describes another job ({id})"))
        }
        () if !is_named(folder.parent(), session.as_str()) => {
            Err(format!("{DESCRIPTION} describes a job of another session ({session})"))
        }
        () => Ok(Some(description)),
    }
}

fn found_job(folder: PathBuf) -> Option<FoundJob> {
    let description = described(&folder).ok().flatten()?;
    // In this order: what ends in between has its status on disk.
    let runs = is_held(&folder);
    let gone = |description: &JobDescription| match description.job.kept {
        true => kept_end(&folder),
        false => JobEnd::died(),
    };
    let end = read(&folder.join(STATUS)).or_else(|| (!runs).then(|| gone(&description)));
    Some(FoundJob { folder, description, end })
}

/// As [`JobFolders::kept_end`], by the directory of the job.
pub fn kept_end(folder: &Path) -> JobEnd {
    read(&folder.join(STATUS)).unwrap_or_else(|| match () {
        () if !folder.exists() => JobEnd::removed(),
        () if folder.join(STOP).exists() => JobEnd::lost().stopped_from_outside(),
        () => JobEnd::lost(),
    })
}

/// Removes folders of jobs that ended long ago.
pub fn prune_jobs(home: &Path) {
    let jobs = folders(&home.join("jobs"));
    for folder in jobs.iter().flat_map(|session| folders(session)) {
        let age = fs::metadata(&folder).and_then(|meta| meta.modified());
        let age = age.ok().and_then(|at| at.elapsed().ok());
        // What somebody still has to look at stays.
        if age.is_some_and(|age| age > KEPT_FOR) && !is_held(&folder) && !owes(&folder) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
    for session in jobs {
        // Only an empty one goes.
        let _ = fs::remove_dir(session);
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten().take(MOST);
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).map(|entry| entry.path()).collect()
}

fn is_held(folder: &Path) -> bool {
    let Ok(lock) = open_file(&folder.join(LOCK), OFlags::RDONLY) else { return false };
    matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut bytes = Vec::new();
    let file = open_file(path, OFlags::RDONLY).ok()?;
    let length = file.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(bytes.get(..length).filter(|_| length as u64 <= LONGEST)?).ok()
}

/// Whole or not at all; `durably`, it is on the disk afterwards.
fn write(path: &Path, value: &impl Serialize, durably: bool) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec_pretty(value).map_err(|error| io_error("write", path, error))?;
    write_bytes(path, &bytes, durably)
}

fn write_bytes(path: &Path, bytes: &[u8], durably: bool) -> Result<(), StoreError> {
    let new = path.with_extension("new");
    let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
    let written = made.and_then(|mut file| {
        file.write_all(bytes)?;
        if durably {
            file.sync_all()?;
        }
        fs::rename(&new, path)?;
        match path.parent().filter(|_| durably) {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    });
    written.map_err(|error| io_error("write", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::job::{JobKind, JobStatus};
    use ostler_core::time::Timestamp;

    fn record(id: &str) -> JobRecord {
        JobRecord {
            id: id.into(),
            kind: JobKind::Command,
            call: "c".into(),
            label: "sleep".into(),
            output: None,
            at: Timestamp(1),
            limit_ms: None,
            command: None,
            kept: false,
        }
    }

    #[test]
    fn a_job_runs_as_long_as_its_lock_is_held_and_its_end_is_what_was_seen() {
        let home = tempfile::tempdir().unwrap();
        let folders = JobFolders::of(home.path(), &"session".into()).unwrap();
        for id in ["b1", "b2"] {
            folders.reserve(&id.into()).unwrap();
        }
        let one = folders.begin(&record("b1"), home.path(), None).unwrap();
        let two = folders.begin(&record("b2"), home.path(), None).unwrap();
        assert!(folders.begin(&record("b1"), home.path(), None).is_err(), "it runs already");
        assert_eq!(found_jobs(home.path()).iter().filter(|job| job.end.is_none()).count(), 2);
        one.finish(&JobEnd::new(JobStatus::Completed, "completed")).unwrap();
        drop(one);
        // As if the process had been killed: nobody wrote down how it ended.
        drop(two);
        let ends = found_jobs(home.path()).into_iter().map(|job| job.end.unwrap().status);
        assert_eq!(ends.collect::<Vec<_>>(), [JobStatus::Completed, JobStatus::Died]);
        assert!(!folders.runs(&"b2".into()) && folders.end(&"b2".into()).is_none());
    }

    #[test]
    fn a_description_of_another_job_is_not_believed() {
        let home = tempfile::tempdir().unwrap();
        let folders = JobFolders::of(home.path(), &"session".into()).unwrap();
        for id in ["b1", "b2", "b3"] {
            folders.reserve(&id.into()).unwrap();
            folders.describe(&record(id), home.path(), None, None).unwrap();
        }
        let file = |id: &str| folders.folder(&id.into()).join(DESCRIPTION);
        fs::copy(file("b1"), file("b2")).unwrap();
        let text = fs::read_to_string(file("b3")).unwrap();
        fs::write(file("b3"), text.replace("\"session\": \"session\"", "\"session\": \"x\""))
            .unwrap();
        let found = found_jobs(home.path());
        assert_eq!(found.iter().map(|job| job.view().record.id).collect::<Vec<_>>(), ["b1".into()]);
        assert!(folders.description(&"b2".into()).is_none());
        let mut unreadable = unreadable_jobs(home.path());
        unreadable.sort_by(|a, b| a.folder.cmp(&b.folder));
        let why: Vec<&str> = unreadable.iter().map(|job| job.why.as_str()).collect();
        let expected = [
            "job.json describes another job (b1)",
            "job.json describes a job of another session (x)",
        ];
        assert_eq!(why, expected);
    }

    #[test]
    fn a_lock_that_was_removed_is_noticed_and_what_is_owed_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let folders = JobFolders::of(home.path(), &"session".into()).unwrap();
        folders.reserve(&"b1".into()).unwrap();
        let folder = folders.begin(&record("b1"), home.path(), None).unwrap();
        folder.owe_inspection(b"look").unwrap();
        assert!(folder.is_in_place() && folders.owing().is_empty(), "it runs");
        let lock = folders.folder(&"b1".into()).join(LOCK);
        fs::remove_file(&lock).unwrap();
        assert!(!folder.is_in_place());
        fs::write(&lock, "").unwrap();
        assert!(!folder.is_in_place(), "it is another one");
        drop(folder);
        let [owing] = folders.owing().try_into().unwrap();
        let folder = JobFolder::hold(owing).unwrap();
        assert_eq!(folder.owed_inspection().unwrap().as_deref(), Some(&b"look"[..]));
        folder.forget_inspection();
        assert_eq!(folder.owed_inspection().unwrap(), None);
        drop(folder);
        // Neither a link nor a pipe is opened.
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("/dev/null", &lock).unwrap();
        assert!(JobFolder::hold(folders.folder(&"b1".into())).is_err());
    }

    #[test]
    fn a_session_that_is_no_name_has_no_folder() {
        assert!(JobFolders::of(Path::new("/home"), &"../x".into()).is_none());
    }
}
