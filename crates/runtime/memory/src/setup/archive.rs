//! One file out of a zip archive. Sizes are bounded before anything is unpacked.

/// A file of the archive, unpacked, at most.
const LARGEST: usize = 256 << 20;
/// The end of the directory is within this many bytes of the end of the file.
const TAIL: usize = 22 + 65_535;

pub fn member(archive: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let (start, count) = directory(archive).ok_or("it is not a zip archive")?;
    let mut at = start;
    for _ in 0..count {
        let entry = archive.get(at..at.saturating_add(46)).ok_or("its directory ends too early")?;
        let number = |from: usize, size: usize| little(entry, from, size);
        let (name_size, extra, comment) = (number(28, 2), number(30, 2), number(32, 2));
        let called =
            archive.get(at + 46..at + 46 + name_size).ok_or("its directory ends too early")?;
        if little(entry, 0, 4) != 0x0201_4b50 {
            return Err("its directory is damaged".into());
        }
        if called == name.as_bytes() {
            return unpacked(archive, number(42, 4), number(10, 2), number(20, 4), number(24, 4))
                .ok_or_else(|| format!("{name} in it is damaged"));
        }
        at += 46 + name_size + extra + comment;
    }
    Err(format!("there is no {name} in it"))
}

/// Where the directory begins, and how many entries it has.
fn directory(archive: &[u8]) -> Option<(usize, usize)> {
    let tail = archive.len().saturating_sub(TAIL);
    let end = archive.get(tail..)?.windows(4).rposition(|four| four == b"PK\x05\x06")? + tail;
    let record = archive.get(end..end + 22)?;
    Some((little(record, 16, 4), little(record, 10, 2)))
}

fn unpacked(
    archive: &[u8],
    at: usize,
    method: usize,
    packed: usize,
    size: usize,
) -> Option<Vec<u8>> {
    let local = archive.get(at..at.checked_add(30)?)?;
    let start = at + 30 + little(local, 26, 2) + little(local, 28, 2);
    let data = archive.get(start..start.checked_add(packed)?)?;
    if size > LARGEST {
        return None;
    }
    let bytes = match method {
        0 => data.to_vec(),
        8 => miniz_oxide::inflate::decompress_to_vec_with_limit(data, size).ok()?,
        _ => return None,
    };
    (bytes.len() == size).then_some(bytes)
}

fn little(bytes: &[u8], from: usize, size: usize) -> usize {
    let part = bytes.get(from..from + size).unwrap_or_default();
    part.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}
