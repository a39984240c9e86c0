//! A control group for each command, where our own was delegated to us. It is made before the
//! command starts, holds all of its processes, and is removed when they are gone.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::command::ProcessLimits;
use crate::limits::{self, CONTROLLERS, Exceeded, MAIN};

#[derive(Debug, Default)]
pub(super) enum Groups {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// There is none for us: the supervisor watches instead.
    Absent,
    Below {
        path: PathBuf,
        /// Groups whose processes were not gone when they should have been removed.
        left: Vec<PathBuf>,
    },
}

/// The group of one command.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    /// Who writes 0 to it joins the group.
    pub join: OwnedFd,
}

impl Groups {
    /// None where there are no groups for us. Once there were, not to get one is an error: the
    /// limits would become weaker unnoticed.
    pub(super) fn make(
        &mut self,
        supervisor: i32,
        number: u32,
        limits: &ProcessLimits,
    ) -> Result<Option<Group>, String> {
        if limits.memory.is_none() && limits.tasks.is_none() {
            return Ok(None);
        }
        if matches!(self, Groups::Unknown) {
            *self = prepare(supervisor)
                .map_or(Groups::Absent, |path| Groups::Below { path, left: Vec::new() });
        }
        let Groups::Below { path, left } = self else { return Ok(None) };
        left.retain(|group| fs::remove_dir(group).is_err() && group.exists());
        let path = path.join(format!("ostler-{supervisor}-{number}"));
        create(&path, limits).map(Some).map_err(|error| {
            format!(
                "the control group {} that limits its memory and processes cannot be created ({error}); restart ostler",
                path.display()
            )
        })
    }

    /// What the command ran into. Whatever is left in the group is killed.
    pub(super) fn release(&mut self, group: Group) -> Option<Exceeded> {
        let exceeded = group.exceeded();
        if fs::remove_dir(&group.path).is_err() {
            let _ = fs::write(group.path.join("cgroup.kill"), "1");
            if fs::remove_dir(&group.path).is_err()
                && let Groups::Below { left, .. } = self
            {
                left.push(group.path);
            }
        }
        exceeded
    }

    /// When all commands have ended.
    pub(super) fn clean_up(&mut self) {
        if let Groups::Below { left, .. } = self {
            left.retain(|group| fs::remove_dir(group).is_err());
        }
    }
}

impl Group {
    fn exceeded(&self) -> Option<Exceeded> {
        let count = |file: &str, key: &str| {
            let text = limits::read(&self.path.join(file));
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        match () {
            () if count("memory.events", "oom_kill") > 0 => Some(Exceeded::Memory),
            () if count("pids.events", "max") > 0 => Some(Exceeded::TasksRefused),
            () => None,
        }
    }
}

fn create(path: &Path, limits: &ProcessLimits) -> io::Result<Group> {
    fs::create_dir(path)?;
    let made = fill(path, limits);
    if made.is_err() {
        let _ = fs::remove_dir(path);
    }
    made
}

fn fill(path: &Path, limits: &ProcessLimits) -> io::Result<Group> {
    if let Some(memory) = limits.memory {
        fs::write(path.join("memory.max"), memory.to_string())?;
        // All of it ends, not one process of many; and what is over the limit is not moved to swap.
        // Kernels without either still hold the limit.
        let _ = fs::write(path.join("memory.oom.group"), "1");
        let _ = fs::write(path.join("memory.swap.max"), "0");
    }
    if let Some(tasks) = limits.tasks {
        fs::write(path.join("pids.max"), tasks.to_string())?;
    }
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let join = rustix::fs::open(path.join("cgroup.procs"), flags, Mode::empty())?;
    Ok(Group { path: path.to_owned(), join })
}

/// Finds the group to make others below. Processes may only be in leaves, so we and our client move
/// to one of our own first.
fn prepare(supervisor: i32) -> Option<PathBuf> {
    let client = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let found = limits::delegated(&[supervisor, client]).ok()?;
    if !found.ready {
        make_ready(&found.path, &[client, supervisor])?;
    }
    sweep(&found.path);
    Some(found.path)
}

fn make_ready(path: &Path, ours: &[i32]) -> Option<()> {
    let main = path.join(format!("{MAIN}{}", ours.first()?));
    fs::create_dir(&main).ok()?;
    let join = |group: &Path| {
        ours.iter().try_for_each(|pid| fs::write(group.join("cgroup.procs"), pid.to_string()))
    };
    let enable = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    let moved =
        join(&main).and_then(|()| fs::write(path.join("cgroup.subtree_control"), enable.as_str()));
    if moved.is_err() {
        let _ = join(path);
        let _ = fs::remove_dir(&main);
    }
    moved.ok()
}

/// Empty groups of supervisors that were killed. One that is in use cannot be removed.
fn sweep(path: &Path) {
    let entries = path.read_dir().into_iter().flatten().flatten().take(1_000);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let owner = name.strip_prefix("ostler-").and_then(|rest| rest.split('-').next());
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let gone = |text: &str| !Path::new("/proc").join(text).exists();
        if owner.is_some_and(|owner| is_number(owner) && gone(owner)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a group as plain ones: the kernel's part is not tested here.
    fn groups(base: &Path) -> Groups {
        Groups::Below { path: base.to_owned(), left: Vec::new() }
    }

    const LIMITS: ProcessLimits = ProcessLimits {
        address_space: None,
        processes: None,
        open_files: None,
        file_size: None,
        memory: Some(1_000_000),
        tasks: Some(50),
    };

    #[test]
    fn a_group_that_cannot_be_made_stops_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let mut groups = groups(&dir.path().join("gone"));
        let why = groups.make(1, 1, &LIMITS).unwrap_err();
        assert!(why.contains("restart ostler") && why.contains("gone/ostler-1-1"), "{why}");
        // Where there were never any, the supervisor watches.
        assert!(Groups::Absent.make(1, 1, &LIMITS).unwrap().is_none());
        assert!(groups.make(1, 1, &ProcessLimits::default()).unwrap().is_none());
    }

    #[test]
    fn limits_are_written_and_what_was_hit_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ostler-1-7");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("cgroup.procs"), "").unwrap();
        let group = fill(&path, &LIMITS).unwrap();
        let text = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!((text("memory.max"), text("pids.max")), ("1000000".into(), "50".into()));
        assert_eq!(text("memory.oom.group"), "1");
        assert_eq!(group.exceeded(), None);
        fs::write(path.join("memory.events"), "low 0\nmax 812\noom 0\noom_kill 0\n").unwrap();
        fs::write(path.join("pids.events"), "max 0\n").unwrap();
        assert_eq!(group.exceeded(), None, "to be at the limit is no failure");
        fs::write(path.join("pids.events"), "max 3\n").unwrap();
        assert_eq!(group.exceeded(), Some(Exceeded::TasksRefused));
        fs::write(path.join("memory.events"), "oom 1\noom_kill 4\noom_group_kill 1\n").unwrap();
        assert_eq!(group.exceeded(), Some(Exceeded::Memory));
    }

    #[test]
    fn groups_of_dead_supervisors_go_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let dead = format!("ostler-{}-1", u32::MAX);
        let alive = format!("ostler-{}-1", std::process::id());
        for name in [dead.as_str(), &alive, "ostler-main-1", "app.scope"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        sweep(dir.path());
        let left = [dead.as_str(), &alive, "ostler-main-1", "app.scope"]
            .map(|name| dir.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
    }
}
