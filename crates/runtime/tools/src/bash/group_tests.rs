//! Who may run beside whom: every pair and every group that a few claims can form.

use super::*;
use ostler_core::permission::PathScope;

/// What a claim reads and writes: single files, and one directory as a whole.
const SCOPES: [&str; 4] = ["/w/a", "/w/d/b", "/w/d/", "/w/e"];

fn scope(name: &str) -> PathScope {
    match name.strip_suffix('/') {
        Some(tree) => PathScope::Tree(tree.into()),
        None => PathScope::File(name.into()),
    }
}

/// Bits 0–3 are what it reads, 4–7 what it writes, 8 that the kernel cannot hold it to that.
fn claim(bits: u16) -> Claim {
    let named = |from: u16| {
        let has = move |at: &usize| bits >> from & (1 << at) != 0;
        (0..SCOPES.len()).filter(has).map(|at| scope(SCOPES[at])).collect::<Vec<_>>()
    };
    let access = Access { reads: named(0), writes: named(4), ..Access::nothing() };
    let paths = access.writes.iter().map(|scope| scope.path().to_path_buf()).collect();
    Claim { access, only: (bits < 256).then_some(paths), identities: Vec::new() }
}

/// Written down once more, so that a wrong `Access::conflicts` cannot agree with itself.
fn overlap(a: usize, b: usize) -> bool {
    a == b || matches!((a.min(b), a.max(b)), (1, 2))
}

fn clash(a: u16, b: u16) -> bool {
    let has = |bits: u16, at: usize| bits & (1 << at) != 0;
    let pairs = (0..4).flat_map(|x| (0..4).map(move |y| (x, y)));
    pairs.filter(|(x, y)| overlap(*x, *y)).any(|(x, y)| {
        has(a >> 4, x) && (has(b >> 4, y) || has(b, y)) || has(b >> 4, y) && has(a, x)
    })
}

#[test]
fn only_claims_that_the_kernel_holds_apart_run_side_by_side() {
    for a in 0..512 {
        for b in 0..512 {
            let expected = a < 256 && b < 256 && !clash(a, b);
            assert_eq!(claim(a).may_run_beside(&claim(b)), expected, "{a:09b} {b:09b}");
        }
    }
}

/// Whatever comes in whatever order: what was let in has no two that touch what one of them writes.
#[test]
fn no_group_holds_conflicting_writes() {
    let mut seed = 1u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut largest = 0;
    for _ in 0..20_000 {
        let mut group: Vec<u16> = Vec::new();
        for _ in 0..8 {
            // Mostly few reads, so that groups come to be.
            let newcomer = (next(512) & next(512)) as u16;
            if group.iter().all(|one| claim(*one).may_run_beside(&claim(newcomer))) {
                group.push(newcomer);
            }
        }
        largest = largest.max(group.iter().filter(|bits| **bits > 15).count());
        for (at, a) in group.iter().enumerate() {
            assert!(group[..at].iter().all(|b| !clash(*a, *b)), "{group:?}");
        }
    }
    assert!(largest >= 3, "no group was large enough to prove anything");
}

#[test]
fn one_file_under_two_names_is_not_shared() {
    let named = |name: &str, inode: u64| Claim {
        access: Access::writing(scope(name)),
        only: Some(vec![name.into()]),
        identities: vec![(1, inode)],
    };
    assert!(named("/w/a", 7).may_run_beside(&named("/w/A", 8)));
    assert!(!named("/w/a", 7).may_run_beside(&named("/w/A", 7)));
}
