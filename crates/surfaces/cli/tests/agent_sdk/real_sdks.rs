//! The SDKs themselves, as published.

use std::path::{Path, PathBuf};
use std::process::Command;

fn cases() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agent_sdk"))
}

/// Where the SDKs are installed.
fn installed(part: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("OSTLER_TEST_AGENT_SDK")?);
    Some(folder.join(part)).filter(|path| path.exists())
}

fn run(mut command: Command) {
    let command = command
        .env("OSTLER_TEST_PROGRAM", env!("CARGO_BIN_EXE_ostler"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("ANTHROPIC_API_KEY")
        .current_dir(cases());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let last: Vec<&str> = said.lines().filter(|line| line.contains(" cases ")).collect();
    println!("{}", last.join("\n"));
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_python_sdk_drives_ostler() {
    let Some(python) = installed("venv/bin/python") else {
        return println!("SKIPPED: the Python Agent SDK (not installed; scripts/test does that)");
    };
    let mut command = Command::new(python);
    command.arg("run.py");
    run(command);
}

#[test]
fn the_typescript_sdk_drives_ostler() {
    let Some(modules) = installed("node_modules/@anthropic-ai/claude-agent-sdk") else {
        return println!(
            "SKIPPED: the TypeScript Agent SDK (not installed; scripts/test does that)"
        );
    };
    let mut command = Command::new("node");
    command.arg("smoke.mjs").arg(modules.join("sdk.mjs"));
    run(command);
}
