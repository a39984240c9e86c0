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
        // Kernels before 5.9. The bound keeps an unlimited table from taking for ever.
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
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
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
