//! What an image is and how large, from its first bytes; nothing is decoded.

/// The media type, if providers take it.
pub fn format(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

/// Width and height, if the header tells them.
pub fn pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    match format(bytes)? {
        "image/png" => Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?)),
        "image/gif" => Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?)),
        "image/jpeg" => jpeg(bytes),
        _ => webp(bytes),
    }
}

/// Walks the segments to the frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // Fill bytes before a marker.
            0xff => at += 1,
            // Markers that stand alone.
            0x01 | 0xd0..=0xd8 => at += 2,
            // Frame headers, all but the three that only share their range.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(big(bytes, at + 2, 2)?).ok()?,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        b"VP8L" => {
            let packed = little(bytes, 21, 4)?;
            Some(((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1))
        }
        _ => None,
    }
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(
        bytes
            .get(at..at.checked_add(length)?)?
            .iter()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
    )
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(
        bytes
            .get(at..at.checked_add(length)?)?
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_sizes() {
        let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &[0, 0, 3, 0xe8, 0, 0, 1, 0xf4]].concat();
        let gif = [&b"GIF89a"[..], &[0x40, 1, 0xf0, 0]].concat();
        let jpeg = [
            &b"\xff\xd8"[..],
            &[0xff, 0xe0, 0, 4, 9, 9],
            &[0xff, 0xff, 0xc4, 0, 3, 9],
            &[0xff, 0xc2, 0, 11, 8, 1, 0x2c, 2, 0x58],
        ]
        .concat();
        let webp = |rest: &[u8]| [&b"RIFF\0\0\0\0WEBP"[..], rest].concat();
        let lossy =
            webp(&[&b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a"[..], &[0x90, 1, 0x2c, 0x41]].concat());
        let lossless =
            webp(&[&b"VP8L\0\0\0\0\x2f"[..], &((299u32 | 399 << 14).to_le_bytes())].concat());
        let extended = webp(&[&b"VP8X\0\0\0\0\0\0\0\0"[..], &[0xe7, 3, 0, 0xf3, 1, 0]].concat());
        for (bytes, media, size) in [
            (&png, "image/png", (1000, 500)),
            (&gif, "image/gif", (320, 240)),
            (&jpeg, "image/jpeg", (600, 300)),
            (&lossy, "image/webp", (400, 300)),
            (&lossless, "image/webp", (300, 400)),
            (&extended, "image/webp", (1000, 500)),
        ] {
            assert_eq!((format(bytes), pixels(bytes)), (Some(media), Some(size)));
        }
        assert_eq!(format(b"plain text"), None);
        assert_eq!(pixels(b"\xff\xd8\xff\xd9"), None);
    }

    proptest::proptest! {
        #[test]
        fn foreign_bytes_never_panic(
            start in proptest::sample::select(vec![&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF89a", b"RIFF0000WEBPVP8 ", b"RIFF0000WEBPVP8L"]),
            rest in proptest::collection::vec(proptest::num::u8::ANY, 0..60),
        ) {
            let _ = pixels(&[start, &rest].concat());
        }
    }
}
