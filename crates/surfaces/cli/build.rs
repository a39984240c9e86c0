//! Lets the linker put the functions that every start runs next to each other (`start-order.txt`, decision 23).
//!
//! Only where the linker can: a tiny program is linked in the same way first. Everything works without it, too; a start
//! then loads more of the program file.

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
    let arguments = [
        "--no-warn-symbol-ordering".to_owned(),
        format!("--symbol-ordering-file={}", list.display()),
    ];
    if linker_takes(&arguments, &variable) {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bin=ostler=-Xlinker");
            println!("cargo:rustc-link-arg-bin=ostler={argument}");
        }
    }
}

fn linker_takes(arguments: &[String], variable: &impl Fn(&'static str) -> String) -> bool {
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
    probe.status().is_ok_and(|status| status.success())
}
