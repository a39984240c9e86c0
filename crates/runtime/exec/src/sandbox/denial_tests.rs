use super::*;
use crate::sandbox::Layers;

fn sandbox(landlock: bool, seccomp: bool, bubblewrap: bool) -> Sandbox {
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect();
    Sandbox {
        writable: paths(&["/home/u/work"]),
        readable: paths(&["/home/u/.cargo"]),
        homes: paths(&["/home", "/home/u", "/root"]),
        hidden: paths(&["/home/u/.ssh", "/home/u/work/keys"]),
        frozen: paths(&["/home/u/work/.git/hooks", "/home/u/work/.git/config"]),
        temp: "/tmp/private".into(),
        network: false,
        layers: Layers { landlock, seccomp, bubblewrap },
        bounds: None,
    }
}

fn hint(text: &str, sandbox: &Sandbox) -> Option<(DeniedAct, Layer)> {
    let denied = denial_hint(text, ExitStatus::Code(1), sandbox)?;
    assert!(text.contains(&denied.line));
    Some((denied.act, denied.layer))
}

fn write(path: &str) -> DeniedAct {
    DeniedAct::Write(path.into())
}

fn read(path: &str) -> DeniedAct {
    DeniedAct::Read(path.into())
}

#[test]
fn a_refusal_by_the_floor_is_recognised() {
    let floor = sandbox(true, true, false);
    for (text, act, layer) in [
        (
            "/bin/bash: line 1: /srv/data/x: Permission denied",
            write("/srv/data/x"),
            Layer::Landlock,
        ),
        ("bash: line 3: /tmp/x: Permission denied", write("/tmp/x"), Layer::Landlock),
        (
            "touch: cannot touch '/home/u/other': Permission denied",
            write("/home/u/other"),
            Layer::Landlock,
        ),
        (
            "mkdir: cannot create directory ‘/home/u/d’: Permission denied",
            write("/home/u/d"),
            Layer::Landlock,
        ),
        (
            "cat: /home/u/.ssh/id_rsa: Permission denied",
            read("/home/u/.ssh/id_rsa"),
            Layer::Landlock,
        ),
        ("ls: cannot open directory '/tmp': Permission denied", read("/tmp"), Layer::Landlock),
        (
            "grep: /home/u/work/keys/a: Permission denied",
            read("/home/u/work/keys/a"),
            Layer::Landlock,
        ),
        (
            "PermissionError: [Errno 13] Permission denied: '/home/u/.npmrc'",
            read("/home/u/.npmrc"),
            Layer::Landlock,
        ),
        ("bash: socket: Operation not permitted", DeniedAct::Network, Layer::Seccomp),
        (
            "bash: line 1: /dev/tcp/1.1.1.1/80: Operation not permitted",
            DeniedAct::Network,
            Layer::Seccomp,
        ),
        ("curl: (6) Could not resolve host: example.org", DeniedAct::Network, Layer::Seccomp),
        (
            "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
            DeniedAct::Network,
            Layer::Seccomp,
        ),
        (
            "docker: dial unix /var/run/docker.sock: socket: operation not permitted.",
            DeniedAct::Socket,
            Layer::Seccomp,
        ),
        (
            "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted",
            DeniedAct::Call,
            Layer::Seccomp,
        ),
        ("unshare: unshare failed: Operation not permitted", DeniedAct::Call, Layer::Seccomp),
        (
            "  File \"socket.py\", line 232, in __init__\n    _socket.socket.__init__(self, family)\nPermissionError: [Errno 1] Operation not permitted",
            DeniedAct::Network,
            Layer::Seccomp,
        ),
    ] {
        assert_eq!(hint(text, &floor), Some((act, layer)), "{text}");
    }
}

#[test]
fn a_refusal_by_bubblewrap_is_recognised() {
    let all = sandbox(true, true, true);
    let bubble = Layer::Bubblewrap;
    let (hooks, config) = ("/home/u/work/.git/hooks", "/home/u/work/.git/config");
    for (text, act) in [
        ("touch: cannot touch '/etc/x': Read-only file system", write("/etc/x")),
        ("bash: line 1: /home/u/other: Read-only file system", write("/home/u/other")),
        ("cp: cannot create regular file '../x': Read-only file system", write("../x")),
        ("bash: .git/hooks/pre-commit: Read-only file system", write(hooks)),
        ("bash: /home/u/work/.git/hooks/pre-commit: Read-only file system", write(hooks)),
        ("error: could not write config file .git/config: Device or resource busy", write(config)),
        ("error: could not lock config file .git/config: Read-only file system", write(config)),
        ("mv: cannot move './.git' to 'old/': Device or resource busy", write(hooks)),
        (
            "OSError: [Errno 30] Read-only file system: '/home/u/.cache/x'",
            write("/home/u/.cache/x"),
        ),
        ("Error: EROFS: read-only file system, mkdir '/home/u/.npm'", write("/home/u/.npm")),
        ("ping: connect: Network is unreachable", DeniedAct::Network),
        (
            "npm ERR! network request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
            DeniedAct::Network,
        ),
        (
            "urllib.error.URLError: <urlopen error>\nsocket.gaierror: [Errno -3] Temporary failure in name resolution",
            DeniedAct::Network,
        ),
    ] {
        assert_eq!(hint(text, &all), Some((act, bubble)), "{text}");
    }
    let masked = "cat: /home/u/work/keys: Permission denied";
    let without_landlock = sandbox(false, true, true);
    assert_eq!(hint(masked, &without_landlock), Some((read("/home/u/work/keys"), bubble)));
}

#[test]
fn an_ordinary_failure_is_not_blamed_on_the_sandbox() {
    for text in [
        "",
        "error: test failed",
        "cat: /etc/shadow: Permission denied",
        "bash: line 1: /etc/hosts: Permission denied",
        "mkdir: cannot create directory '/usr/local/x': Permission denied",
        "bash: ./script.sh: Permission denied",
        "bash: line 1: /home/u/work/script.sh: Permission denied",
        "/bin/bash: line 1: /home/u/.cargo/bin/x: Is a directory",
        "cat: /home/u/.ssh/id: No such file or directory",
        "error: could not lock config file .git/config: File exists",
        "rm: cannot remove '/home/u/work/mnt': Device or resource busy",
        "bash: line 1: /home/u/work/x: Read-only file system",
        "touch: cannot touch '/tmp/x': Read-only file system",
        "kill: (1) - Operation not permitted",
        "chown: changing ownership of 'x': Operation not permitted",
        "curl: (7) Failed to connect to localhost port 1: Connection refused",
        "tests/net.rs:12: assert that we print Could not resolve host when offline",
        "    expected \"Network is unreachable\" but found nothing",
        "git@github.com: Permission denied (publickey).",
        "cat: /dev/mem: Permission denied",
    ] {
        for layers in [(true, true, false), (true, true, true), (false, true, true)] {
            let sandbox = sandbox(layers.0, layers.1, layers.2);
            // Without bubblewrap nobody can tell who made it read-only or busy.
            assert_eq!(hint(text, &sandbox), None, "{text} with {layers:?}");
        }
    }
}

#[test]
fn what_is_granted_or_not_held_or_succeeded_is_not_a_refusal() {
    let mut granted = sandbox(true, true, true);
    granted.network = true;
    assert_eq!(hint("curl: (6) Could not resolve host: example.org", &granted), None);
    granted.layers.bubblewrap = false;
    assert_eq!(hint("bash: socket: Operation not permitted", &granted), None);
    let none = sandbox(false, false, false);
    for text in [
        "curl: (6) Could not resolve host: example.org",
        "bash: socket: Operation not permitted",
        "touch: cannot touch '/srv/x': Permission denied",
        "touch: cannot touch '/srv/x': Read-only file system",
    ] {
        assert_eq!(hint(text, &none), None, "{text}");
    }
    let text = "touch: cannot touch '/srv/x': Read-only file system";
    let all = sandbox(true, true, true);
    assert!(denial_hint(text, ExitStatus::Code(1), &all).is_some());
    assert_eq!(denial_hint(text, ExitStatus::Code(0), &all), None);
}

#[test]
fn the_last_refusal_counts_and_any_text_is_read() {
    let all = sandbox(true, true, true);
    let text = "touch: '/srv/a': Read-only file system\nbash: /srv/b: Read-only file system\nbye";
    assert_eq!(hint(text, &all).unwrap().0, write("/srv/b"));
    let long = format!("bash: /srv/b: Read-only file system\n{}", "x\n".repeat(MAX_LINES));
    assert_eq!(hint(&long, &all), None, "too far above to have been the reason");
    for odd in
        ["Read-only file system", ": Read-only file system", "‘’/\u{fffd}: EROFS", "/: EROFS"]
    {
        let _ = hint(odd, &all);
    }
    let denied = denial_hint(text, ExitStatus::Code(1), &all).unwrap();
    assert_eq!(denied.to_string(), "the sandbox (bubblewrap) blocked writing to /srv/b");
}
