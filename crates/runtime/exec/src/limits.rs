//! Resource limits of a whole command: which mechanism enforces them, and defaults for this machine.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The limit that a command ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Exceeded {
    /// It used more than [`ProcessLimits::memory`](crate::ProcessLimits::memory) and was killed.
    Memory = 1,
    /// It had more than [`ProcessLimits::tasks`](crate::ProcessLimits::tasks) and was killed.
    Tasks,
    /// The kernel refused to start more than [`ProcessLimits::tasks`](crate::ProcessLimits::tasks).
    TasksRefused,
}

impl Exceeded {
    pub(crate) const ALL: [Exceeded; 3] =
        [Exceeded::Memory, Exceeded::Tasks, Exceeded::TasksRefused];
}

/// What enforces the limits of memory and processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mechanism {
    /// The kernel, by a control group for each command below this one.
    ControlGroup(PathBuf),
    /// The supervisor looks at the processes a few times a second. The reason says why no control
    /// group can be had.
    Watched(String),
}

/// What enforces the limits of commands that this process starts.
pub fn limit_mechanism() -> Mechanism {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    match delegated(&[own]) {
        Ok(group) => Mechanism::ControlGroup(group.path),
        Err(why) => Mechanism::Watched(why),
    }
}

/// The group that holds our own processes after they have made room for groups of commands.
pub(crate) const MAIN: &str = "ostler-main-";
pub(crate) const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The longest file of a control group that is read.
const MOST: u64 = 64 << 10;

/// A control group below which we may make others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delegated {
    pub path: PathBuf,
    /// Its controllers are passed on already; our own processes need not be moved.
    pub ready: bool,
}

/// The control group of this process, if it was handed over to us. `ours` are the processes that may
/// be moved out of it. An error says what is missing.
pub(crate) fn delegated(ours: &[i32]) -> Result<Delegated, String> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let path = group_path(&own, &mounts).ok_or("control groups (version 2) are not mounted")?;
    // A supervisor that replaces a dead one starts in the group that its client was moved to.
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name.starts_with(MAIN)
        && let Some(above) = path.parent()
        && passes_on(above)
    {
        return Ok(Delegated { path: above.to_owned(), ready: true });
    }
    check(&path, ours)
}

pub(crate) fn check(path: &Path, ours: &[i32]) -> Result<Delegated, String> {
    if !has_words(&path.join("cgroup.controllers"), &CONTROLLERS) {
        return Err("the control group has no memory and pids controllers".into());
    }
    if !is_handed_over(path) {
        return Err("the control group is not delegated to Ostler (start it with `systemd-run --user --scope -p \
                    Delegate=yes ostler`)"
            .into());
    }
    let files = ["", "cgroup.procs", "cgroup.subtree_control"];
    if files.iter().any(|file| access(path.join(file), Access::WRITE_OK).is_err()) {
        return Err("the control group is not writable".into());
    }
    let ready = passes_on(path);
    let inside = read(&path.join("cgroup.procs"));
    let is_ours = |word: &str| word.parse().is_ok_and(|pid: i32| ours.contains(&pid));
    if !ready && !inside.split_ascii_whitespace().all(is_ours) {
        return Err("other processes share the control group".into());
    }
    Ok(Delegated { path: path.to_owned(), ready })
}

/// systemd marks what it delegates. In a container the top of what it sees is its own, and unlike
/// the top of the whole system it has limits itself.
fn is_handed_over(path: &Path) -> bool {
    let mut value = [0; 8];
    let marked = ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let length = rustix::fs::getxattr(path, *name, &mut value[..]).unwrap_or(0);
        value.get(..length) == Some(b"1")
    });
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    marked || (own.lines().any(|line| line == "0::/") && path.join("memory.max").exists())
}

fn passes_on(path: &Path) -> bool {
    has_words(&path.join("cgroup.subtree_control"), &CONTROLLERS)
}

fn has_words(file: &Path, wanted: &[&str]) -> bool {
    let text = read(file);
    wanted.iter().all(|word| text.split_ascii_whitespace().any(|found| found == *word))
}

pub(crate) fn read(file: &Path) -> String {
    use std::io::Read;
    let mut text = String::new();
    let opened = fs::File::open(file);
    let _ = opened.and_then(|file| file.take(MOST).read_to_string(&mut text));
    text
}

/// Where the control group of a process lies, from `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn group_path(own: &str, mounts: &str) -> Option<PathBuf> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let is_version_2 = after.split(' ').next() == Some("cgroup2");
        let mut fields = before.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        is_version_2.then_some((root, place))
    });
    let (root, place) = mount?;
    let below = Path::new(group).strip_prefix(root).ok()?;
    if below.components().any(|part| part == std::path::Component::ParentDir) {
        return None;
    }
    Some(Path::new(place).join(below))
}

/// Four fifths of the memory that this process may use.
pub fn default_memory() -> u64 {
    let machine = memory_of_machine(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = group_path(&own, &mounts);
    let groups = groups.iter().flat_map(|group| group.ancestors());
    let limits = groups.filter_map(|group| read(&group.join("memory.max")).trim().parse().ok());
    let all = limits.chain(machine).min().unwrap_or(8 << 30);
    all / 5 * 4
}

fn memory_of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// How many processes the kernel has killed for want of memory since it started.
pub fn oom_kills() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

/// Half of what is free on the file system, so that one endless file does not fill it; between
/// 256 MB and 64 GB.
pub fn default_file_size(place: &Path) -> u64 {
    const LEAST: u64 = 256 << 20;
    const MOST: u64 = 64 << 30;
    let free = rustix::fs::statvfs(place).map(|found| found.f_bavail * found.f_frsize);
    free.map_or(MOST, |free| (free / 2).clamp(LEAST, MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_found_by_its_mount() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        let at = |own: &str, mounts: &str| group_path(own, mounts);
        assert_eq!(at("0::/user.slice/x\n", mounts), Some("/sys/fs/cgroup/user.slice/x".into()));
        assert_eq!(at("0::/\n", mounts), Some("/sys/fs/cgroup".into()));
        let both = format!("29 23 0:25 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n{mounts}");
        let own = "3:pids:/p\n0::/a\n";
        assert_eq!(at(own, &both), Some("/sys/fs/cgroup/a".into()));
        let part = "30 23 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(at("0::/docker/1/b\n", part), Some("/sys/fs/cgroup/b".into()));
        // Outside of what is mounted, or without version 2.
        assert_eq!(at("0::/elsewhere\n", part), None);
        assert_eq!(at("0::/../x\n", mounts), None);
        assert_eq!(at("3:pids:/p\n", mounts), None);
        assert_eq!(at("0::/a\n", ""), None);
    }

    #[test]
    fn a_group_that_is_not_ours_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let why = || check(dir.path(), &[1, 2]).unwrap_err();
        assert!(why().contains("controllers"), "{}", why());
        file("cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
        for name in ["cgroup.procs", "cgroup.subtree_control"] {
            file(name, "");
        }
        // Writable, but nobody has handed it over.
        assert!(why().contains("not delegated"), "{}", why());
    }

    #[test]
    fn defaults_come_from_the_machine() {
        assert_eq!(memory_of_machine("MemTotal:   1000 kB\nMemFree: 5 kB\n"), Some(1_024_000));
        assert_eq!(memory_of_machine("nothing"), None);
        let machine = memory_of_machine(&fs::read_to_string("/proc/meminfo").unwrap()).unwrap();
        let memory = default_memory();
        assert!(memory > 0 && memory <= machine / 5 * 4, "{memory} of {machine}");
        assert!(oom_kills().is_some());
        let size = default_file_size(Path::new("/"));
        assert!((256 << 20..=64 << 30).contains(&size), "{size}");
    }
}
