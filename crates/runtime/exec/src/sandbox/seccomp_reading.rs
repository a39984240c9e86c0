//! What the filter refuses besides, for commands that only read and for those that share the IPC
//! of the user.

use std::collections::BTreeMap;

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

type ReadingRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Shared memory, semaphores and message queues that every process of the user can open.
const SHARED_IPC: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Changes of files that Landlock does not cover, locks that make others wait, and files in memory,
/// which could be executed without having a name.
const CHANGES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_truncate,
    libc::SYS_flock,
    libc::SYS_memfd_create,
    MEMFD_SECRET,
];

// Newer than the C library's list; the numbers are the same on every architecture.
const MEMFD_SECRET: i64 = 447;
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Those that only the older architectures have.
#[cfg(target_arch = "x86_64")]
const CHANGES_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const CHANGES_HERE: &[i64] = &[];

/// Calls that concern the caller if the process number in this argument is zero.
const OF_A_PROCESS: &[(i64, u8)] = &[
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// The only requests that a command may make of a file: some change files that are open for
/// reading. Terminals are asked for their size, pipes for what they hold.
const REQUESTS: &[u64] = &[
    0x5401,      // TCGETS
    0x802c_542a, // TCGETS2
    0x540f,      // TIOCGPGRP
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x8008_6601, // FS_IOC_GETFLAGS
    0x801c_581f, // FS_IOC_FSGETXATTR
    0xc020_660b, // FS_IOC_FIEMAP
    0x1277,      // BLKSSZGET
    0x1260,      // BLKGETSIZE
    0x8008_1272, // BLKGETSIZE64
];

/// Commands of `fcntl` that make other processes wait, or send them signals.
const FILE_COMMANDS: &[u64] = &[
    libc::F_SETLK as u64,
    libc::F_SETLKW as u64,
    libc::F_OFD_SETLK as u64,
    libc::F_OFD_SETLKW as u64,
    libc::F_SETLEASE as u64,
    libc::F_SETOWN as u64,
    15, // F_SETOWN_EX
];

pub(super) fn refuse_shared_ipc(rules: &mut ReadingRules) {
    rules.extend(SHARED_IPC.iter().map(|number| (*number, Vec::new())));
}

pub(super) fn refuse_changes(rules: &mut ReadingRules) -> Result<(), BackendError> {
    rules.extend(CHANGES.iter().chain(CHANGES_HERE).map(|number| (*number, Vec::new())));
    for (number, index) in OF_A_PROCESS {
        rules.insert(*number, vec![rule(&[(*index, SeccompCmpOp::Ne, 0)])?]);
    }
    // All processes of a user, even if the user is given as zero.
    let everybody = [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];
    for (number, whose) in everybody {
        let everybody = rule(&[(0, SeccompCmpOp::Eq, whose)])?;
        rules.entry(number).or_default().push(everybody);
    }
    // Looking at the limits of others is fine, setting them is not. A pointer has two halves.
    let other = (0, SeccompCmpOp::Ne, 0);
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    let other = SeccompCondition::new(other.0, SeccompCmpArgLen::Dword, other.1, other.2)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![other, sets])?]);
    let unknown: Vec<_> = REQUESTS.iter().map(|request| (1, SeccompCmpOp::Ne, *request)).collect();
    rules.insert(libc::SYS_ioctl, vec![rule(&unknown)?]);
    let refused = FILE_COMMANDS.iter().map(|command| rule(&[(1, SeccompCmpOp::Eq, *command)]));
    rules.insert(libc::SYS_fcntl, refused.collect::<Result<_, _>>()?);
    Ok(())
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    let condition = |(index, operator, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*index, SeccompCmpArgLen::Dword, operator.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

#[cfg(test)]
pub(super) fn listed() -> (Vec<i64>, Vec<i64>, &'static [u64]) {
    (SHARED_IPC.to_vec(), CHANGES.iter().chain(CHANGES_HERE).copied().collect(), REQUESTS)
}
