//! The filter as the kernel would run it: every refusal, also of calls that cannot be made here.

use super::*;
use seccompiler::sock_filter;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// The machine that runs filters, as far as ours use it.
fn verdict(program: &[sock_filter], number: i64, arch: u32, args: [u64; 6]) -> u32 {
    let mut data = (number as u32).to_le_bytes().to_vec();
    data.extend(arch.to_le_bytes());
    data.extend([0; 8]);
    args.iter().for_each(|arg| data.extend(arg.to_le_bytes()));
    let (mut at, mut value) = (0, 0u32);
    loop {
        let step = &program[at];
        at += 1;
        let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            0x20 => {
                let from = step.k as usize;
                value = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x05 => at += step.k as usize,
            0x15 => at += jump(value == step.k),
            0x25 => at += jump(value > step.k),
            0x35 => at += jump(value >= step.k),
            0x54 => value &= step.k,
            0x06 => return step.k,
            code => panic!("an instruction that is not known here: {code:#x}"),
        }
    }
}

fn own_arch() -> u32 {
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    machine | 0xc000_0000
}

fn judge(grants: Grants, number: i64, args: &[u64]) -> u32 {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    verdict(&program(grants).unwrap(), number, own_arch(), all)
}

const NONE: Grants = Grants { unix: false, internet: false, ipc: false, changes: true };
const NETWORK: Grants = Grants { internet: true, ..NONE };
const INSIDE: Grants = Grants { unix: true, internet: true, ipc: true, changes: true };
const READING: Grants = Grants { changes: false, ..NONE };

#[test]
fn ordinary_calls_pass_and_the_list_is_refused_whatever_its_arguments() {
    for sockets in [NONE, NETWORK, INSIDE, READING] {
        for number in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_kill] {
            assert_eq!(judge(sockets, number, &[]), ALLOW, "{number}");
        }
        for number in REFUSED.iter().chain(REFUSED_HERE) {
            assert_eq!(judge(sockets, *number, &[1, 2, 3, 4, 5, 6]), EPERM, "{number}");
        }
        assert_eq!(judge(sockets, libc::SYS_clone3, &[]), ENOSYS);
    }
}

/// A search that takes a wrong turn would let a call through, or refuse one that no list names.
#[test]
fn every_number_gets_its_own_answer() {
    for grants in [NONE, NETWORK, INSIDE, READING] {
        let rules = rules(grants).unwrap();
        let program = program(grants).unwrap();
        for number in (0..600).filter(|number| *number != libc::SYS_clone3) {
            let found = verdict(&program, number, own_arch(), [0; 6]);
            match rules.get(&number) {
                None => assert_eq!(found, ALLOW, "{number} {grants:?}"),
                Some(rules) if rules.is_empty() => assert_eq!(found, EPERM, "{number} {grants:?}"),
                Some(_) => {}
            }
        }
    }
}

#[test]
fn a_process_or_thread_can_be_made_but_no_namespace() {
    let thread = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_THREAD;
    for flags in [libc::SIGCHLD, thread, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD] {
        assert_eq!(judge(NONE, libc::SYS_clone, &[flags as u64]), ALLOW);
        for namespace in NAMESPACES {
            let flags = (flags | namespace) as u32 as u64;
            assert_eq!(judge(NONE, libc::SYS_clone, &[flags]), EPERM, "{flags:#x}");
            // The kernel does not look at the upper half, and it must not lead past us.
            assert_eq!(judge(NONE, libc::SYS_clone, &[flags | 1 << 40]), EPERM, "{flags:#x}");
        }
    }
}

#[test]
fn typing_for_the_user_is_refused_and_other_requests_pass() {
    for (request, expected) in
        [(0x5412, EPERM), (0x541c, EPERM), (0x5401, ALLOW), (0x5413, ALLOW), (0x1_0000_5412, EPERM)]
    {
        assert_eq!(judge(INSIDE, libc::SYS_ioctl, &[0, request]), expected, "{request:#x}");
    }
}

#[test]
fn only_granted_families_can_be_opened() {
    for family in 0..60 {
        for (sockets, granted) in
            [(NONE, &[][..]), (NETWORK, &[2, 10, 16]), (INSIDE, &[1, 2, 10, 16])]
        {
            let expected = if granted.contains(&family) { ALLOW } else { EPERM };
            let args = [family, libc::SOCK_STREAM as u64, 0];
            assert_eq!(judge(sockets, libc::SYS_socket, &args), expected, "{family} {sockets:?}");
            // Of netlink only routes, which have the number 0.
            let args = [family, libc::SOCK_RAW as u64, 15];
            let expected = if family == 16 { EPERM } else { expected };
            assert_eq!(judge(sockets, libc::SYS_socket, &args), expected, "{family} {sockets:?}");
        }
    }
}

#[test]
fn a_pair_is_for_talking_to_each_other() {
    let flags = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u64;
    for (kind, in_floor) in [(1, ALLOW), (5, ALLOW), (2, EPERM), (3, EPERM)] {
        for kind in [kind, kind | flags] {
            assert_eq!(judge(NONE, libc::SYS_socketpair, &[1, kind]), in_floor, "{kind}");
            assert_eq!(judge(INSIDE, libc::SYS_socketpair, &[1, kind]), ALLOW, "{kind}");
            assert_eq!(judge(INSIDE, libc::SYS_socketpair, &[30, kind]), EPERM, "{kind}");
        }
    }
}

#[test]
fn another_architecture_does_not_lead_past_the_filter() {
    let program = program(INSIDE).unwrap();
    let i386 = 3 | 0x4000_0000;
    assert_eq!(verdict(&program, 11, i386, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    if cfg!(target_arch = "x86_64") {
        for number in [0, libc::SYS_ptrace, libc::SYS_socket, 512] {
            let x32 = number | 0x4000_0000;
            assert_eq!(verdict(&program, x32, own_arch(), [0; 6]), ENOSYS, "{number}");
        }
    }
}

#[test]
fn sockets_follow_from_the_layers() {
    use crate::sandbox::{Bounds, Layers};
    let of_bounds = |landlock, bubblewrap, network, bounds| {
        Grants::of(&Sandbox {
            writable: Vec::new(),
            readable: Vec::new(),
            homes: Vec::new(),
            hidden: Vec::new(),
            frozen: Vec::new(),
            temp: "/tmp/x".into(),
            network,
            layers: Layers { landlock, seccomp: true, bubblewrap },
            bounds,
        })
    };
    let of = |landlock, bubblewrap, network| of_bounds(landlock, bubblewrap, network, None);
    assert_eq!(of(true, false, false), NONE);
    assert_eq!(of(true, false, true), NETWORK);
    assert_eq!(of(false, true, false), INSIDE);
    // The host's network brings its abstract sockets; nothing but Landlock keeps them away.
    assert_eq!(of(false, true, true), Grants { ipc: true, ..NETWORK });
    let scoped = landlock::version().is_ok_and(landlock::has_scopes);
    assert_eq!(of(true, true, true), if scoped { INSIDE } else { Grants { ipc: true, ..NETWORK } });
    let reading = Bounds { only_reads: true, ..Bounds::default() };
    for (bubblewrap, network) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(of_bounds(true, bubblewrap, network, Some(reading.clone())), READING);
    }
    assert_eq!(of_bounds(true, true, false, Some(Bounds::default())), INSIDE);
}

#[test]
fn ipc_of_the_user_is_for_private_namespaces_only() {
    let (shared, ..) = seccomp_reading::listed();
    for number in shared {
        for (grants, expected) in
            [(NONE, EPERM), (NETWORK, EPERM), (READING, EPERM), (INSIDE, ALLOW)]
        {
            assert_eq!(judge(grants, number, &[]), expected, "{number} {grants:?}");
        }
    }
}

#[test]
fn a_command_that_only_reads_changes_nothing_about_files_and_processes() {
    let (_, changes, requests) = seccomp_reading::listed();
    for number in changes {
        assert_eq!(judge(NONE, number, &[]), ALLOW, "{number}");
        assert_eq!(judge(READING, number, &[]), EPERM, "{number}");
    }
    for request in requests {
        assert_eq!(judge(READING, libc::SYS_ioctl, &[0, *request]), ALLOW, "{request:#x}");
    }
    // Flags, attributes, verity and encryption of files, and typing for the user.
    for request in [0x4008_6602, 0x401c_5820, 0x4080_6685, 0x800c_6613, 0x5412, 0x540e, 0] {
        assert_eq!(judge(READING, libc::SYS_ioctl, &[0, request]), EPERM, "{request:#x}");
    }
    for command in [libc::F_SETLEASE, libc::F_SETLK, libc::F_OFD_SETLKW, libc::F_SETOWN] {
        assert_eq!(judge(READING, libc::SYS_fcntl, &[3, command as u64]), EPERM, "{command}");
        assert_eq!(judge(NONE, libc::SYS_fcntl, &[3, command as u64]), ALLOW, "{command}");
    }
    assert_eq!(judge(READING, libc::SYS_fcntl, &[3, libc::F_SETFD as u64]), ALLOW);
}

#[test]
fn a_command_that_only_reads_sets_priorities_and_limits_for_itself_only() {
    for number in [libc::SYS_sched_setscheduler, libc::SYS_sched_setaffinity, libc::SYS_move_pages]
    {
        assert_eq!(judge(READING, number, &[0, 1]), ALLOW);
        assert_eq!(judge(READING, number, &[77, 1]), EPERM);
        assert_eq!(judge(NONE, number, &[77, 1]), ALLOW);
    }
    for (which, who, expected) in [(0, 0, ALLOW), (1, 0, ALLOW), (0, 77, EPERM), (2, 0, EPERM)] {
        assert_eq!(judge(READING, libc::SYS_setpriority, &[which, who]), expected, "{which} {who}");
    }
    for (which, who, expected) in [(1, 0, ALLOW), (1, 77, EPERM), (3, 0, EPERM)] {
        assert_eq!(judge(READING, libc::SYS_ioprio_set, &[which, who]), expected, "{which} {who}");
    }
    let pointer = 0x7fff_0000_0000;
    for (pid, new, expected) in [(0, pointer, ALLOW), (77, 0, ALLOW), (77, pointer, EPERM)] {
        let args = [pid, 7, new, 0];
        assert_eq!(judge(READING, libc::SYS_prlimit64, &args), expected, "{pid} {new:#x}");
    }
}

/// The kernel checks and translates every instruction again for each command.
#[test]
fn a_filter_is_short() {
    for grants in [NONE, NETWORK, INSIDE, READING] {
        let length = program(grants).unwrap().len();
        println!("{grants:?} {length}");
        assert!(length < 440, "{grants:?}: {length} instructions");
    }
}
