//! The fuzzer by effect sees every kind of effect, and none where there is none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::process::Command;

/// A line, and a part of what is reported about it. Empty: nothing is.
const LINES: &[(&str, &str)] = &[
    ("ls", ""),
    ("cat src/lib.rs | sort | uniq -c", ""),
    ("git log --oneline; git status", ""),
    ("x='a[$(touch P)]'; echo \"$x\"", ""),
    ("touch P", "created /ws/P"),
    ("cat f", ""),
    ("touch P; rm P", "changed /ws"),
    ("echo x >> f", "changed /ws/f"),
    ("chmod 600 f", "mode of /ws/f"),
    ("touch -d @1000000000 f", "changed /ws/f"),
    ("touch -r g f", "changed /ws/f"),
    ("mv f h", "created /ws/h"),
    ("rm -r src", "removed /ws/src/lib.rs"),
    ("ls src", ""),
    ("ln f h", "created /ws/h"),
    ("chmod 666 ~/.ssh/id_rsa", "mode of /home/dev/.ssh/id_rsa"),
    ("echo x > /etc/hosts", "changed /etc/hosts"),
    ("echo x > /tmp/x", "created /tmp/x"),
    ("echo x > /x", "created /x"),
    ("cp f /usr/bin/zzz", "changed /usr/bin/zzz"),
    ("cat .env", "secret /ws/.env"),
    ("base64 < notes.md", "secret /ws/.env"),
    ("cat /home/dev/.ssh/id_rsa", "secret /home/dev/.ssh/id_rsa"),
    ("cat ~/notes.txt", "undeclared read of /home/dev/notes.txt"),
    ("/usr/bin/curl x", "program curl"),
    ("sudo id", "denied program sudo"),
    ("./evil", "created /ws/P"),
    ("echo x > /dev/tcp/127.0.0.1/7777", "network connection"),
    ("setsid sleep 1000 > /dev/null 2>&1 & disown", "process left behind"),
    ("while :; do :; done", "endless"),
    ("yes", "endless"),
    ("f() { f | f & }; f", ""),
    ("pwd", ""),
];

#[test]
fn every_kind_of_effect_is_seen() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("effects-replay");
    let rows: Vec<String> = LINES.iter().map(|(line, _)| format!("{line:?}\n")).collect();
    std::fs::write(&file, rows.concat()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-fuzz"));
    let output = command.args(["effects", "--replay"]).arg(&file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    if text.starts_with("SKIPPED: ") {
        return print!("{text}");
    }
    let reported: Vec<&str> = text.lines().filter(|row| row.contains("allowed\t")).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(reported.len(), LINES.len(), "{text}\n{errors}");
    for ((line, expected), row) in LINES.iter().zip(reported) {
        let mut parts = row.split('\t');
        let (verdict, effects) = (parts.next().unwrap(), parts.next().unwrap());
        // Whatever the gate does not allow may start no program and read no file: that much is always reported.
        match (*expected, verdict) {
            ("", "allowed") => assert_eq!(effects, "", "{line}"),
            ("", _) => {}
            (expected, _) => {
                let found = effects.split(", ").any(|effect| effect == expected);
                assert!(found, "{line}: {expected} is missing in {effects:?}");
            }
        }
    }
}
