//! A sandbox as bytes, for the way from the client to the supervisor and on into bubblewrap.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::available_layers::Bubblewrap;
use super::{Bounds, Layers, Sandbox};

/// A sandbox with what is needed to set it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub sandbox: Sandbox,
    pub bubblewrap: Option<Bubblewrap>,
}

const LISTS: usize = 8;

pub(crate) fn pack(order: &Order) -> Vec<u8> {
    let sandbox = &order.sandbox;
    let bubblewrap = order.bubblewrap.as_ref();
    let bounds = sandbox.bounds.as_ref();
    let flags = [
        sandbox.network,
        sandbox.layers.landlock,
        sandbox.layers.seccomp,
        sandbox.layers.bubblewrap,
        bubblewrap.is_some_and(|found| found.disable_userns),
        bubblewrap.is_some_and(|found| found.bind_fd),
        bounds.is_some(),
        bounds.is_some_and(|bounds| bounds.programs.is_some()),
        bounds.is_some_and(|bounds| bounds.only_reads),
        bounds.is_some_and(|bounds| bounds.temp),
    ];
    let bits = flags.iter().rev().fold(0u32, |bits, flag| bits << 1 | u32::from(*flag));
    let lists = lists(sandbox);
    let mut bytes = bits.to_ne_bytes().to_vec();
    lists.iter().for_each(|list| bytes.extend((list.len() as u32).to_ne_bytes()));
    let program = bubblewrap.map(|found| found.program.clone()).unwrap_or_default();
    for path in [&sandbox.temp, &program].into_iter().chain(lists.into_iter().flatten()) {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

fn lists(sandbox: &Sandbox) -> [&[PathBuf]; LISTS] {
    let bounds = sandbox.bounds.as_ref();
    [
        &sandbox.writable,
        &sandbox.readable,
        &sandbox.homes,
        &sandbox.hidden,
        &sandbox.frozen,
        bounds.and_then(|bounds| bounds.programs.as_deref()).unwrap_or_default(),
        bounds.map(|bounds| bounds.search_path.as_slice()).unwrap_or_default(),
        bounds.map(|bounds| bounds.reads.as_slice()).unwrap_or_default(),
    ]
}

pub(crate) fn unpack(bytes: &[u8]) -> Option<Order> {
    let (numbers, mut strings) = bytes.split_at_checked(4 * (1 + LISTS))?;
    let number = |index: usize| {
        Some(u32::from_ne_bytes(numbers.get(index * 4..index * 4 + 4)?.try_into().ok()?))
    };
    let bits = number(0)?;
    let flag = |index: u32| bits >> index & 1 == 1;
    let mut next = || {
        let text = CStr::from_bytes_until_nul(strings).ok()?;
        strings = strings.get(text.to_bytes_with_nul().len()..)?;
        Some(PathBuf::from(OsStr::from_bytes(text.to_bytes())))
    };
    let (temp, program) = (next()?, next()?);
    let mut list = |index| (0..number(index)?).map(|_| next()).collect::<Option<Vec<_>>>();
    let sandbox = Sandbox {
        writable: list(1)?,
        readable: list(2)?,
        homes: list(3)?,
        hidden: list(4)?,
        frozen: list(5)?,
        temp,
        network: flag(0),
        layers: Layers { landlock: flag(1), seccomp: flag(2), bubblewrap: flag(3) },
        bounds: None,
    };
    let (programs, search_path, reads) = (list(6)?, list(7)?, list(8)?);
    let bounds = flag(6).then(|| Bounds {
        programs: flag(7).then_some(programs),
        search_path,
        reads,
        only_reads: flag(8),
        temp: flag(9),
    });
    let sandbox = Sandbox { bounds, ..sandbox };
    let bubblewrap = (!program.as_os_str().is_empty()).then(|| Bubblewrap {
        program,
        disable_userns: flag(4),
        bind_fd: flag(5),
    });
    Some(Order { sandbox, bubblewrap })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paths() -> impl Strategy<Value = Vec<PathBuf>> {
        prop::collection::vec("/[a-z\u{e9}/. ]{0,12}".prop_map(PathBuf::from), 0..5)
    }

    fn bounds() -> impl Strategy<Value = Option<Bounds>> {
        let parts = (prop::option::of(paths()), paths(), paths(), any::<[bool; 2]>());
        prop::option::of(parts.prop_map(|(programs, search_path, reads, [only_reads, temp])| {
            Bounds { programs, search_path, reads, only_reads, temp }
        }))
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            lists in [paths(), paths(), paths(), paths(), paths()],
            temp in "/[a-z]{0,9}",
            flags in any::<[bool; 7]>(),
            bounds in bounds(),
        ) {
            let [writable, readable, homes, hidden, frozen] = lists;
            let [network, landlock, seccomp, bubblewrap, disable_userns, bind_fd, found] = flags;
            let layers = Layers { landlock, seccomp, bubblewrap };
            let temp = PathBuf::from(temp);
            let sandbox =
                Sandbox { writable, readable, homes, hidden, frozen, temp, network, layers, bounds };
            let program = "/usr/bin/bwrap".into();
            let bubblewrap = found.then_some(Bubblewrap { program, disable_userns, bind_fd });
            let order = Order { sandbox, bubblewrap };
            let bytes = pack(&order);
            prop_assert_eq!(unpack(&bytes), Some(order));
            for cut in 0..bytes.len() {
                prop_assert!(unpack(&bytes[..cut]).is_none(), "a part is not taken for the whole");
            }
        }
    }
}
