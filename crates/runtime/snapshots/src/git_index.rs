//! Whether two index files of git say the same: asking git for the status rewrites the times in it.

use crate::codec::ByteReader;
use sha2::{Digest, Sha256};

/// Bytes of an entry that hold times, device, inode, owner: a memory of git, not a state.
const MEMORY: usize = 24;

/// A digest of paths, modes, objects, stages and flags. None if the file is not understood.
pub(crate) fn meaning(bytes: &[u8]) -> Option<[u8; 32]> {
    let mut from = ByteReader::new(bytes);
    if from.take(4)? != b"DIRC" {
        return None;
    }
    let version = big(from.take(4)?)?;
    let count = big(from.take(4)?)?;
    if !(2..=3).contains(&version) {
        return None;
    }
    let mut digest = Sha256::new();
    for _ in 0..count {
        from.take(MEMORY)?;
        let mode = from.take(4)?;
        // Owner and size.
        from.take(12)?;
        let object = from.take(20)?;
        let flags = from.take(2)?;
        let mut length = 62;
        digest.update(mode);
        digest.update(object);
        digest.update(flags);
        if flags.first()? & 0x40 != 0 {
            digest.update(from.take(2)?);
            length += 2;
        }
        let mut path = Vec::new();
        loop {
            match from.u8()? {
                0 => break,
                byte => path.push(byte),
            }
        }
        digest.update((path.len() as u64).to_le_bytes());
        digest.update(&path);
        length += path.len() + 1;
        // Entries begin at multiples of eight.
        from.take((8 - length % 8) % 8)?;
    }
    Some(digest.finalize().into())
}

fn big(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
