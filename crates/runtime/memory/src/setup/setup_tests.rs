//! Nothing is installed unless it is exactly what is wanted.

use super::*;

/// A zip archive of stored files, as its format says.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let at = out.len() as u32;
        let size = (content.len() as u32).to_le_bytes();
        out.extend(b"PK\x03\x04");
        out.extend([0; 14]);
        out.extend(size);
        out.extend(size);
        out.extend((name.len() as u16).to_le_bytes());
        out.extend([0; 2]);
        out.extend(name.as_bytes());
        out.extend(*content);
        directory.extend(b"PK\x01\x02");
        directory.extend([0; 16]);
        directory.extend(size);
        directory.extend(size);
        directory.extend((name.len() as u16).to_le_bytes());
        directory.extend([0; 12]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, count) = (out.len() as u32, (files.len() as u16).to_le_bytes());
    out.extend(&directory);
    out.extend(b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(count);
    out.extend(count);
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

#[test]
fn a_file_is_found_in_an_archive() {
    let archive = zip(&[("a/b", b"first"), ("c", b"second")]);
    assert_eq!(archive::member(&archive, "a/b").unwrap(), b"first");
    assert_eq!(archive::member(&archive, "c").unwrap(), b"second");
    assert!(archive::member(&archive, "d").unwrap_err().contains("no d"));
    for cut in 0..archive.len() {
        // Never a panic, whatever is missing.
        let _ = archive::member(&archive[..cut], "c");
        let _ = archive::member(&archive[cut..], "c");
    }
}

#[test]
fn another_package_is_not_installed() {
    let home = tempfile::tempdir().unwrap();
    let error = install(home.path(), |package| {
        assert!(package.url.starts_with("https://"));
        Ok(zip(&[("x", b"y")]))
    })
    .unwrap_err();
    assert!(matches!(error, SetupError::Hash { .. }), "{error}");
    assert!(!model_path(home.path()).exists());
    let error = install(home.path(), |_| Err("no network".into())).unwrap_err();
    assert_eq!(error.to_string(), "no network");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn tensors_are_checked() {
    let json =
        br#"{"__metadata__":{"a":"b"},"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend(json);
    bytes.extend(1.5f32.to_le_bytes());
    bytes.extend(2.0f32.to_le_bytes());
    let tensors = tensors::Tensors::new(&bytes).unwrap();
    assert_eq!(tensors.floats("t", &[2]).unwrap(), [1.5, 2.0]);
    assert!(tensors.floats("t", &[1, 2]).is_err());
    assert!(tensors.floats("u", &[2]).is_err());
    for cut in 0..bytes.len() {
        if let Some(tensors) = tensors::Tensors::new(&bytes[..cut]) {
            assert!(tensors.floats("t", &[2]).is_err());
        }
    }
    assert!(tensors::Tensors::new(&u64::MAX.to_le_bytes()).is_none());
}
