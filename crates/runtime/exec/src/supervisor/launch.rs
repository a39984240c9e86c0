//! Starts one command: a child that shares our memory until it executes the program.
//!
//! `clone` with `CLONE_VM | CLONE_VFORK` copies no page tables and suspends us until the child has
//! executed or ended, so the child can leave the reason of a failure in our memory; there is no
//! pipe for it. The child has a stack of its own and its own copies of descriptor table, signal
//! actions, limits and directory; what it changes there is not changed for us.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::floor::Floor;
use crate::command::{ProcessLimits, SCRIPT_FD};
use crate::marks::ProcessMark;
use crate::wire::{LaunchStage, WireFailure, WireRequest};

const STACK_SIZE: usize = 64 * 1024;

/// Commands should be chosen before us and our client when memory runs out.
const OOM_SCORE: &[u8] = b"500";

/// What a command is connected to.
pub(super) struct Streams {
    pub output: OwnedFd,
    pub script: Option<OwnedFd>,
    pub input: Option<OwnedFd>,
    pub errors: Option<OwnedFd>,
}

/// How a command is started, besides what it asks for itself.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub mark: Option<ProcessMark>,
    pub floor: Option<&'a Floor>,
    /// Descriptors of ours that it gets under the same number.
    pub keep: &'a [c_int],
    /// It starts with no signal blocked. Bubblewrap does with all: what is sent to its group is
    /// for the command inside.
    pub unblock: bool,
    /// It dies with us. Bubblewrap must not: killed in the middle of its start it would leave its
    /// first process behind, which only it could end. That process watches us itself, see `inner_process`.
    pub dies_with_us: bool,
    /// It is alone in a user namespace, where the kernel counts its processes apart from ours.
    pub alone: bool,
    /// The control group it joins.
    pub group: Option<BorrowedFd<'a>>,
}

pub(super) struct Launcher {
    stack: Box<[u128]>,
    own_pid: i32,
    raise_oom_score: bool,
}

/// All the child needs, prepared before it exists: it must not allocate.
struct LaunchPlan<'a> {
    program: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    cwd: *const c_char,
    output: c_int,
    errors: c_int,
    input: Option<c_int>,
    script: Option<c_int>,
    limits: ProcessLimits,
    soft_open_files: Option<u64>,
    /// Of the user, or of the user namespace: the kernel does not count by command.
    processes: Option<u64>,
    setting: Setting<'a>,
    ruleset: c_int,
    filter: Option<libc::sock_fprog>,
    parent: i32,
    raise_oom_score: bool,
    failure: Option<WireFailure>,
}

impl Launcher {
    pub(super) fn new(own_pid: i32) -> Self {
        // Lowering the score again is not allowed, so a higher one that we inherited stays.
        let inherited = std::fs::read_to_string("/proc/self/oom_score_adj").ok();
        let inherited = inherited.and_then(|score| score.trim().parse::<i32>().ok());
        Self {
            stack: vec![0; STACK_SIZE / size_of::<u128>()].into_boxed_slice(),
            own_pid,
            raise_oom_score: inherited.is_some_and(|score| score < 500),
        }
    }

    pub(super) fn launch(
        &mut self,
        request: &WireRequest<'_>,
        streams: &Streams,
        setting: Setting<'_>,
    ) -> Result<i32, WireFailure> {
        let pointers = |strings: &[&CStr]| -> Vec<*const c_char> {
            strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
        };
        let (args, env) = (pointers(&request.args), pointers(&request.env));
        let mut plan = LaunchPlan {
            program: request.program.as_ptr(),
            args: args.as_ptr(),
            env: env.as_ptr(),
            cwd: request.cwd.as_ptr(),
            output: streams.output.as_raw_fd(),
            errors: streams.errors.as_ref().unwrap_or(&streams.output).as_raw_fd(),
            input: streams.input.as_ref().map(|fd| fd.as_raw_fd()),
            script: streams.script.as_ref().map(|fd| fd.as_raw_fd()),
            limits: request.limits,
            soft_open_files: request.origin.soft_open_files,
            processes: processes(&request.limits, setting.alone),
            setting,
            ruleset: floor_rules(setting.floor),
            filter: setting.floor.and_then(filter),
            parent: self.own_pid,
            raise_oom_score: self.raise_oom_score,
            failure: None,
        };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack is ours, aligned to 16 bytes, used by one child at a time (we sleep
        // until it has left it) and grows down from its end. The plan and all it points to live
        // beyond this call. The child calls only async-signal-safe functions and does not return
        // into our frames. All signals with handlers are blocked.
        let pid = unsafe {
            let top = self.stack.as_mut_ptr_range().end.cast::<c_void>();
            libc::clone(child, top, flags, (&raw mut plan).cast::<c_void>())
        };
        if pid < 0 {
            return Err(WireFailure { stage: LaunchStage::Fork, errno: errno() });
        }
        match plan.failure {
            None => Ok(pid),
            Some(failure) => {
                // SAFETY: reaps the child that has just ended; a null status is allowed.
                unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
                Err(failure)
            }
        }
    }
}

/// The kernel counts the processes of the user, so those that run already are added. There are at
/// most as many as the whole system has, which is one short file to read.
fn processes(limits: &ProcessLimits, alone: bool) -> Option<u64> {
    // Kernels before 5.14 count those outside of the namespace too.
    let counts_apart = || kernel_version().is_some_and(|version| version >= (5, 14));
    let others = match limits.tasks {
        None => 0,
        // Bubblewrap and its first process.
        Some(_) if alone && counts_apart() => 2,
        Some(_) => tasks_of_system(),
    };
    let for_tasks = limits.tasks.map(|tasks| tasks.saturating_add(others));
    limits.processes.into_iter().chain(for_tasks).min()
}

/// If it is not known, no limit is set by it; the supervisor still counts the command's own.
fn tasks_of_system() -> u64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = text.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).unwrap_or(u64::MAX)
}

fn kernel_version() -> Option<(u32, u32)> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut parts = release.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn floor_rules(floor: Option<&Floor>) -> c_int {
    floor.and_then(|floor| floor.ruleset.as_ref()).map_or(-1, |made| made.fd.as_raw_fd())
}

/// The filter as the kernel takes it; the instructions stay where they are.
fn filter(floor: &Floor) -> Option<libc::sock_fprog> {
    let program = floor.filter.as_ref()?;
    let len = libc::c_ushort::try_from(program.len()).ok()?;
    Some(libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast() })
}

fn errno() -> i32 {
    // SAFETY: the location is valid for the life of the thread.
    unsafe { *libc::__errno_location() }
}

extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a pointer to its plan and sleeps while we use it.
    let plan = unsafe { &mut *plan.cast::<LaunchPlan<'_>>() };
    let stage = become_command(plan);
    plan.failure = Some(WireFailure { stage, errno: errno() });
    // SAFETY: ends this process only, without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

/// Returns only if something failed, and what; errno says why.
fn become_command(plan: &LaunchPlan<'_>) -> LaunchStage {
    // SAFETY: system calls with pointers that `launch` keeps valid; none allocates or locks.
    unsafe {
        // If we are killed ourselves, the command dies with us; what it has started is then
        // ended by the client, by the mark below.
        if plan.setting.dies_with_us {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        }
        if libc::getppid() != plan.parent {
            libc::_exit(127);
        }
        if libc::setpgid(0, 0) != 0 {
            return LaunchStage::Group;
        }
        if libc::dup2(plan.output, 1) < 0 || libc::dup2(plan.errors, 2) < 0 {
            return LaunchStage::Streams;
        }
        if plan.input.is_some_and(|fd| libc::dup2(fd, 0) < 0) {
            return LaunchStage::Streams;
        }
        for fd in plan.setting.keep {
            if libc::fcntl(*fd, libc::F_SETFD, 0) != 0 {
                return LaunchStage::Streams;
            }
        }
        if libc::chdir(plan.cwd) != 0 {
            return LaunchStage::Directory;
        }
        if plan.raise_oom_score {
            raise_oom_score();
        }
        if let Some(group) = plan.setting.group
            && libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) != 1
        {
            return LaunchStage::Limits;
        }
        if !set_limits(plan) {
            return LaunchStage::Limits;
        }
        if plan.setting.floor.is_some() && !put_on_floor(plan) {
            return LaunchStage::Sandbox;
        }
        // After the last use of a descriptor whose number it may take.
        if plan.script.is_some_and(|fd| libc::dup2(fd, SCRIPT_FD) < 0) {
            return LaunchStage::Streams;
        }
        if plan.setting.unblock {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        }
        // Our own runtime ignores it, and what is ignored stays so beyond an exec.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execve(plan.program, plan.args, plan.env);
        LaunchStage::Exec
    }
}

/// Rules and filter hold for this process only, not for us whose memory it shares: they belong to
/// the task and its credentials, which `clone` has copied.
///
/// # Safety
/// Only in the child.
unsafe fn put_on_floor(plan: &LaunchPlan<'_>) -> bool {
    // SAFETY: the filter points to instructions that `launch` keeps alive.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return false;
        }
        if plan.ruleset >= 0
            && libc::syscall(libc::SYS_landlock_restrict_self, plan.ruleset, 0) != 0
        {
            return false;
        }
        let Some(filter) = &plan.filter else { return true };
        let filter: *const libc::sock_fprog = filter;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, filter) == 0
    }
}

/// # Safety
/// Only in the child.
unsafe fn raise_oom_score() {
    // SAFETY: a constant path and a constant buffer. Failing is fine: it is a preference.
    unsafe {
        let fd = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, OOM_SCORE.as_ptr().cast(), OOM_SCORE.len());
            libc::close(fd);
        }
    }
}

/// # Safety
/// Only in the child.
unsafe fn set_limits(plan: &LaunchPlan<'_>) -> bool {
    let asked = [
        (libc::RLIMIT_AS, plan.limits.address_space),
        (libc::RLIMIT_NPROC, plan.processes),
        (libc::RLIMIT_NOFILE, plan.limits.open_files),
        (libc::RLIMIT_FSIZE, plan.limits.file_size),
    ];
    // SAFETY: the structures are ours; the limits concern this process only.
    unsafe {
        // Some sandboxes refuse this one; then strays are ended a little later, see `strays`.
        if let Some(mark) = plan.setting.mark {
            let mark = libc::rlimit { rlim_cur: mark.limit(), rlim_max: libc::RLIM_INFINITY };
            libc::setrlimit(libc::RLIMIT_RTTIME, &mark);
        }
        if let Some(limit) = plan.soft_open_files
            && !lower(libc::RLIMIT_NOFILE, limit, false)
        {
            return false;
        }
        asked
            .into_iter()
            .all(|(resource, limit)| limit.is_none_or(|limit| lower(resource, limit, true)))
    }
}

/// Lowers a soft limit, and the hard one with it if it is to stay.
///
/// # Safety
/// Only in the child.
unsafe fn lower(resource: libc::__rlimit_resource_t, limit: u64, for_good: bool) -> bool {
    let mut current = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structures are ours; the limits concern this process only.
    unsafe {
        if libc::getrlimit(resource, &mut current) != 0 {
            return false;
        }
        let value = limit.min(current.rlim_max);
        let rlim_max = if for_good { value } else { current.rlim_max };
        libc::setrlimit(resource, &libc::rlimit { rlim_cur: value, rlim_max }) == 0
    }
}
