//! The part of the filter that goes by numbers alone: a binary search. When a filter is installed
//! the kernel runs it once for each system call that exists, so a search instead of a list makes
//! every command start faster.

use std::collections::BTreeMap;

use seccompiler::{TargetArch, sock_filter};

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Where the kernel puts the number of the call, and the architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// Numbers from here on mean something other than they seem (x32).
const X32: u32 = 0x4000_0000;

/// Stands for the way to the end until that is known.
const TO_THE_END: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterAnswer {
    Refuse,
    /// It depends on the arguments, which whatever follows looks at.
    GoOn,
}

/// Instructions that allow every call without an answer, and continue behind their end where the
/// arguments count. `clone3` and numbers of x32 are unknown; another architecture is fatal.
pub(super) fn search(
    answers: &BTreeMap<i64, FilterAnswer>,
    architecture: TargetArch,
) -> Vec<sock_filter> {
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let mut all = vec![
        step(LOAD, ARCHITECTURE, 0, 0),
        step(JUMP_IF_EQUAL, audit_number(architecture), 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
        step(LOAD, NUMBER, 0, 0),
        step(JUMP_IF_AT_LEAST, X32, 1, 0),
        step(JUMP_IF_EQUAL, libc::SYS_clone3 as u32, 0, 1),
        step(RETURN, unknown, 0, 0),
    ];
    let answers: Vec<_> =
        answers.iter().map(|(number, answer)| (*number as u32, *answer)).collect();
    all.extend(tree(&answers));
    let end = all.len();
    for (at, step) in all.iter_mut().enumerate() {
        if step.code == JUMP && step.k == TO_THE_END {
            step.k = (end - at - 1) as u32;
        }
    }
    all
}

/// So many numbers are compared one after the other. The kernel checks and translates each instruction again for every command,
/// so a short program counts as much as a short way through it.
const IN_A_ROW: usize = 8;

fn tree(answers: &[(u32, FilterAnswer)]) -> Vec<sock_filter> {
    if answers.len() <= IN_A_ROW {
        return row(answers);
    }
    let (low, high) = answers.split_at(answers.len() / 2);
    let first = high.first().map_or(0, |(number, _)| *number);
    let low = tree(low);
    // A comparison jumps over 255 instructions at most.
    let mut all = match u8::try_from(low.len()) {
        Ok(length) => vec![step(JUMP_IF_AT_LEAST, first, length, 0)],
        Err(_) => {
            vec![step(JUMP_IF_AT_LEAST, first, 0, 1), step(JUMP, low.len() as u32, 0, 0)]
        }
    };
    all.extend(low);
    all.extend(tree(high));
    all
}

/// The comparisons, and behind them what each can lead to: allowed, refused, on to the end.
fn row(answers: &[(u32, FilterAnswer)]) -> Vec<sock_filter> {
    let count = answers.len();
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut all: Vec<_> = answers
        .iter()
        .enumerate()
        .map(|(at, (number, answer))| {
            let target = match answer {
                FilterAnswer::Refuse => count + 1,
                FilterAnswer::GoOn => count + 2,
            };
            step(JUMP_IF_EQUAL, *number, (target - at - 1) as u8, 0)
        })
        .collect();
    all.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    all.push(step(RETURN, refusal, 0, 0));
    all.push(step(JUMP, TO_THE_END, 0, 0));
    all
}

fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// As the kernel names it: the ELF machine, 64 bits, little-endian.
fn audit_number(architecture: TargetArch) -> u32 {
    let machine = match architecture {
        TargetArch::x86_64 => 62,
        TargetArch::aarch64 => 183,
        TargetArch::riscv64 => 243,
    };
    machine | 0xc000_0000
}
