//! The seccomp filter of a sandbox: system calls that are refused whatever they name.
//!
//! Everything is allowed but a list. What is on it fails with "Operation not permitted"; `clone3`
//! fails as if the kernel did not know it, because a filter cannot look at its flags, and the C
//! library then falls back to `clone`, where it can.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::seccomp_tree::{FilterAnswer, search};
use super::{Sandbox, landlock, seccomp_reading};

/// Refused with any arguments.
const REFUSED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
];

// Newer than the C library's list; the numbers are the same on every architecture.
const QUOTACTL_FD: i64 = 443;
const OPEN_TREE_ATTR: i64 = 467;

/// Those that not every architecture has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] =
    &[libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Kinds of new namespaces that `clone` can be asked for.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Terminal requests that type for the user.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// The kind of a socket, without the flags that may stand beside it.
const SOCKET_KIND: u64 = 0xf;

/// What a filter lets through, where that depends on the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Grants {
    /// Which sockets can be made.
    pub unix: bool,
    pub internet: bool,
    /// IPC between processes that are not related.
    pub ipc: bool,
    /// Changes of files and processes; without them the command only reads.
    pub changes: bool,
}

impl Grants {
    /// Without bubblewrap the sockets and the IPC of the user's session are within reach, so there
    /// are none. With it they are hidden, but abstract sockets only if the network is a private
    /// one or Landlock keeps them away.
    pub(crate) fn of(sandbox: &Sandbox) -> Self {
        let only_reads = sandbox.bounds.as_ref().is_some_and(|bounds| bounds.only_reads);
        let scoped = sandbox.layers.landlock && landlock::version().is_ok_and(landlock::has_scopes);
        let bubblewrap = sandbox.layers.bubblewrap && !only_reads;
        Self {
            unix: bubblewrap && (!sandbox.network || scoped),
            internet: !only_reads && (bubblewrap || sandbox.network),
            ipc: bubblewrap,
            changes: !only_reads,
        }
    }
}

/// Whether the kernel can do it, and we can for this architecture.
pub(crate) fn check() -> Result<(), String> {
    architecture()?;
    crate::sys::seccomp_can_refuse().map_err(|_| "this kernel has no seccomp filters".into())
}

pub(crate) fn program(grants: Grants) -> Result<BpfProgram, String> {
    let words =
        |error: seccompiler::BackendError| format!("the seccomp filter is invalid: {error}");
    let rules = rules(grants).map_err(words)?;
    let answer = |rules: &Vec<SeccompRule>| match rules.is_empty() {
        true => FilterAnswer::Refuse,
        false => FilterAnswer::GoOn,
    };
    let answers = rules.iter().map(|(number, rules)| (*number, answer(rules))).collect();
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    let conditions = rules.into_iter().filter(|(_, rules)| !rules.is_empty()).collect();
    let filter = SeccompFilter::new(conditions, SeccompAction::Allow, refusal, architecture()?);
    let body: BpfProgram = filter.and_then(BpfProgram::try_from).map_err(words)?;
    Ok(search(&answers, architecture()?).into_iter().chain(body).collect())
}

fn architecture() -> Result<TargetArch, String> {
    let name = std::env::consts::ARCH;
    TargetArch::try_from(name).map_err(|_| format!("no seccomp filter is known for {name}"))
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(grants: Grants) -> Result<SeccompRules, seccompiler::BackendError> {
    let mut rules: SeccompRules =
        REFUSED.iter().chain(REFUSED_HERE).map(|number| (*number, Vec::new())).collect();
    let clone = NAMESPACES.iter().map(|flag| {
        let flag = *flag as u32 as u64;
        SeccompRule::new(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    let ioctl = [TIOCSTI, TIOCLINUX].map(|request| is(1, request).and_then(one));
    rules.insert(libc::SYS_ioctl, ioctl.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, socket_rules(grants)?);
    rules.insert(libc::SYS_socketpair, pair_rules(grants)?);
    if !grants.ipc {
        seccomp_reading::refuse_shared_ipc(&mut rules);
    }
    if !grants.changes {
        seccomp_reading::refuse_changes(&mut rules)?;
    }
    Ok(rules)
}

/// Refuses every family but those that are granted; of netlink only routes are.
fn socket_rules(grants: Grants) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut granted = Vec::new();
    if grants.unix {
        granted.push(libc::AF_UNIX);
    }
    if grants.internet {
        granted.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    let others: Result<Vec<_>, _> =
        granted.iter().map(|family| is_not(0, *family as u64)).collect();
    let mut refused = Vec::new();
    let others = others?;
    if others.is_empty() {
        // A rule needs a condition; this one always holds.
        refused.push(one(argument(0, SeccompCmpOp::Ge, 0)?)?);
    } else {
        refused.push(SeccompRule::new(others)?);
    }
    if grants.internet {
        let netlink = is(0, libc::AF_NETLINK as u64)?;
        let other = is_not(2, libc::NETLINK_ROUTE as u64)?;
        refused.push(SeccompRule::new(vec![netlink, other])?);
    }
    Ok(refused)
}

/// A datagram socket of a pair can still be sent elsewhere; the other kinds cannot.
fn pair_rules(grants: Grants) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut refused = vec![one(is_not(0, libc::AF_UNIX as u64)?)?];
    if !grants.unix {
        let kind = SeccompCmpOp::MaskedEq(SOCKET_KIND);
        refused.push(one(argument(1, kind, libc::SOCK_DGRAM as u64)?)?);
        let raw = SeccompCmpOp::MaskedEq(SOCKET_KIND);
        refused.push(one(argument(1, raw, libc::SOCK_RAW as u64)?)?);
    }
    Ok(refused)
}

/// The kernel looks at the lower half of these arguments only, and so does the filter.
fn argument(
    index: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

fn is(index: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    argument(index, SeccompCmpOp::Eq, value)
}

fn is_not(index: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    argument(index, SeccompCmpOp::Ne, value)
}

fn one(condition: SeccompCondition) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition])
}

#[cfg(test)]
#[path = "seccomp_tests.rs"]
mod tests;
