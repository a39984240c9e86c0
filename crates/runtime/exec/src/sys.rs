//! System calls that rustix does not offer, or whose safe form needs an owned descriptor, each
//! behind a safe function; and the process list. What changes descriptors or signals is for the
//! supervisor only, which has one thread.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Where the supervisor keeps its socket; its own descriptors start here.
const CHANNEL_FD: libc::c_int = 3;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes the socket that arrived as standard input, closes every other descriptor, and leaves
/// `/dev/null` as the three standard streams, which commands then inherit as their input.
pub(crate) fn take_channel() -> io::Result<OwnedFd> {
    // SAFETY: plain calls on descriptor numbers. The caller runs before anything in this process
    // owns a descriptor, so none that is in use is closed or replaced.
    unsafe {
        check(libc::dup3(0, CHANNEL_FD, libc::O_CLOEXEC))?;
        close_from(CHANNEL_FD + 1);
        let null = check(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC))?;
        for stream in 0..=2 {
            check(libc::dup2(null, stream))?;
        }
        libc::close(null);
        Ok(OwnedFd::from_raw_fd(CHANNEL_FD))
    }
}

/// # Safety
/// No descriptor from `first` on may be owned by anything.
unsafe fn close_from(first: libc::c_int) {
    // SAFETY: see above; numbers that are not open are ignored.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        // Kernels before 5.9. The bound keeps an unlimited table from taking forever.
        let limit = libc::sysconf(libc::_SC_OPEN_MAX).clamp(0, 65_536) as libc::c_int;
        for fd in first..limit {
            libc::close(fd);
        }
    }
}

/// Blocks every signal that would end the supervisor and gives each its default action, so that
/// commands start clean after an empty mask. Returns a descriptor that is readable when a child ends.
pub(crate) fn mute_signals() -> io::Result<OwnedFd> {
    // SAFETY: zeroes are the kernel's form of "default action" whatever the order of its fields,
    // and the buffer is larger than that structure; the sets are initialised before use; no other
    // thread exists that could observe the change half-done.
    unsafe {
        let default = [0u64; 8];
        for signal in 1..=64 {
            // The C library hides two signals from its own function, and those are inherited too.
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null::<u8>(),
                8,
            );
        }
        let mut all = all_signals();
        // Faults of our own must end us, not be held back.
        for fault in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP]
        {
            libc::sigdelset(&mut all, fault);
        }
        check(libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()))?;

        let mut child: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut child);
        libc::sigaddset(&mut child, libc::SIGCHLD);
        let fd = check(libc::signalfd(-1, &child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Children {
    /// This one has ended and waits to be reaped.
    Ended(i32),
    AllRunning,
    None,
}

/// Looks for an ended child without reaping it, so that its number still belongs to it.
pub(crate) fn look_for_ended() -> Children {
    loop {
        // SAFETY: `info` is a plain C structure for which zero is valid; waitid fills it, and
        // si_pid is meaningful after a successful waitid (zero: none has ended).
        let (result, pid) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            (libc::waitid(libc::P_ALL, 0, &mut info, flags), info.si_pid())
        };
        match (result, pid) {
            (0, 0) => return Children::AllRunning,
            (0, pid) => return Children::Ended(pid),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return Children::None,
        }
    }
}

/// The soft limit of real-time run time of a process, in which the supervisor keeps its mark.
pub(crate) fn realtime_limit(pid: i32) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads into a valid structure; a null new limit changes nothing.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_RTTIME, std::ptr::null(), &mut limit) };
    (result == 0).then_some(limit.rlim_cur)
}

/// The entries of a directory in `/proc` that are numbers: processes or threads.
pub(crate) fn numbers_in(directory: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The version of Landlock, or the error number of the question.
pub(crate) fn landlock_version() -> Result<i32, i32> {
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the kernel takes no structure and changes nothing.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION)
    };
    match i32::try_from(version) {
        Ok(version) if version > 0 => Ok(version),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Asks whether filters can refuse calls with an error.
pub(crate) fn seccomp_can_refuse() -> io::Result<()> {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one number from the pointer and changes nothing.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Owns a descriptor that was handed over by number. None if it is not open.
pub(crate) fn adopt(fd: i32) -> Option<OwnedFd> {
    // SAFETY: the number is checked to be open; it was given to this process by whoever started
    // it, and the caller takes each one once, before anything else owns it.
    unsafe { (libc::fcntl(fd, libc::F_GETFD) >= 0).then(|| OwnedFd::from_raw_fd(fd)) }
}

/// Closes every descriptor but the standard streams and these, of which commands get none, and
/// keeps others from looking into this process.
pub(crate) fn keep_to_ourselves(kept: &[i32]) {
    // SAFETY: the caller runs before anything in this process owns a descriptor, so none that is
    // in use is closed; numbers that are not open are ignored.
    unsafe {
        for fd in numbers_in("/proc/self/fd").into_iter().filter(|fd| *fd > 2) {
            if kept.contains(&fd) {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            } else {
                libc::close(fd);
            }
        }
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
    }
}

/// Puts nothing in the place of the standard streams, so that no pipe is held open.
pub(crate) fn let_go_of_streams() {
    // SAFETY: plain calls on the numbers of the standard streams, which nothing here owns.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null >= 0 {
            for stream in 0..=2 {
                libc::dup2(null, stream);
            }
            libc::close(null);
        }
    }
}

pub(crate) fn standard_error() -> std::os::fd::BorrowedFd<'static> {
    // SAFETY: descriptor 2 is open for the life of every process that this crate starts.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(2) }
}

/// Blocks all signals. What comes is read from the descriptor, by [`next_signal`].
pub(crate) fn block_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised before use, and the descriptor is new.
    unsafe {
        let all = all_signals();
        check(libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()))?;
        let fd = check(libc::signalfd(-1, &all, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// The number of a signal that has come, if one has.
pub(crate) fn next_signal(signals: &OwnedFd) -> Option<i32> {
    let mut info = [0; size_of::<libc::signalfd_siginfo>()];
    let read = rustix::io::read(signals, &mut info).ok()?;
    // It begins with the number.
    let number = info.get(..read)?.first_chunk::<4>()?;
    i32::try_from(u32::from_ne_bytes(*number)).ok()
}

fn all_signals() -> libc::sigset_t {
    // SAFETY: the set is initialised before use.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        all
    }
}

/// Reaps a child that has ended, and says how.
pub(crate) fn reap(pid: i32) -> Option<crate::wire::CommandEnded> {
    use crate::wire::CommandEnded;
    use rustix::process::{Pid, WaitOptions, waitpid};
    let (_, status) = waitpid(Some(Pid::from_raw(pid)?), WaitOptions::empty()).ok().flatten()?;
    Some(match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandEnded::Code(code),
        (None, signal) => CommandEnded::Signal(signal.unwrap_or(0)),
    })
}

pub(crate) fn signal_group(group: i32, signal: i32) {
    if group > 1 {
        // SAFETY: sends a signal to a group that this process has made.
        unsafe { libc::kill(-group, signal) };
    }
}

/// The words this process was started with. They say nothing but which role it has.
pub(crate) fn own_words() -> Vec<Vec<u8>> {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}
