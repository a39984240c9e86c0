//! Lets the linker put the functions that every start runs next to each other (`start-order.txt`, decision 23), join
//! functions with the same code, and write the program's own addresses in their short form.
//!
//! Each only where it works: a tiny program is linked in the same way first, and run. Everything works without it, too;
//! the program file is larger then, and a start loads more of it.

use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=start-order.txt");
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("PROFILE") != "release" {
        return;
    }
    let list = Path::new(&variable("CARGO_MANIFEST_DIR")).join("start-order.txt");
    let order =
        ["--no-warn-symbol-ordering", &format!("--symbol-ordering-file={}", list.display())];
    // The short form takes a C library of 2022 or later, where the program is built and where it runs.
    for arguments in [&order[..], &["--icf=all"], &["-z", "pack-relative-relocs"]] {
        if works(arguments, &variable) {
            for argument in arguments {
                println!("cargo:rustc-link-arg-bin=ostler=-Xlinker");
                println!("cargo:rustc-link-arg-bin=ostler={argument}");
            }
        }
    }
}

fn works(arguments: &[&str], variable: &impl Fn(&'static str) -> String) -> bool {
    let folder = variable("OUT_DIR");
    let source = Path::new(&folder).join("probe.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut probe = Command::new(variable("RUSTC"));
    probe.arg(&source).args(["--target", &variable("TARGET"), "--out-dir", &folder]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        probe.arg(format!("-Clinker={linker}"));
    }
    probe.args(variable("CARGO_ENCODED_RUSTFLAGS").split('\u{1f}').filter(|flag| !flag.is_empty()));
    for argument in arguments {
        probe.args(["-Clink-arg=-Xlinker", &format!("-Clink-arg={argument}")]);
    }
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let linked = probe.status().is_ok_and(|status| status.success());
    // For another platform it cannot be run.
    let runs =
        || variable("HOST") != variable("TARGET") || succeeds(Path::new(&folder).join("probe"));
    linked && runs()
}

fn succeeds(program: impl AsRef<Path>) -> bool {
    Command::new(program.as_ref()).status().is_ok_and(|status| status.success())
}
