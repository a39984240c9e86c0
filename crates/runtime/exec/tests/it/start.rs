//! How a command is started: what it finds around it, and what happens if it cannot be.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use ostler_exec::{Command, ExecError, Executor, SupervisorProgram, bash, find_bash};

use crate::support::*;

async fn text_of(text: &str) -> String {
    run(text).await.output.to_text()
}

#[tokio::test]
async fn a_command_finds_exactly_what_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    let mut command = Command::new("/usr/bin/env", &cwd);
    command.env = vec![("A".into(), "x y".into()), ("B".into(), "".into())];
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert_eq!(finished.output.to_text(), "A=x y\nB=\n");

    let command = Command::new("/bin/pwd", &cwd);
    let finished = executor().run(command, |_| {}).await.unwrap();
    assert_eq!(finished.output.to_text(), format!("{}\n", cwd.display()));
}

#[tokio::test]
async fn no_descriptor_of_ours_reaches_a_command() {
    // One of ours that was opened carelessly.
    let careless = std::fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&careless, rustix::io::FdFlags::empty()).unwrap();
    // The listing has a descriptor of its own; input is nothing, both outputs are one pipe.
    for padding in [0, 150_000] {
        let text = format!("exec ls -l /proc/self/fd # {}", "x".repeat(padding));
        let listing = text_of(&text).await;
        let links: Vec<_> = listing.lines().filter_map(|line| line.split_once(" -> ")).collect();
        let names: Vec<_> =
            links.iter().map(|(left, _)| left.rsplit(' ').next().unwrap()).collect();
        assert_eq!(names, ["0", "1", "2", "3"], "{listing}");
        assert_eq!(links[0].1, "/dev/null");
        assert!(links[1].1.starts_with("pipe:") && links[1].1 == links[2].1, "{listing}");
        assert!(links[3].1.starts_with("/proc/"), "{listing}");
    }
}

#[tokio::test]
async fn signals_start_clean() {
    let status = text_of("exec cat /proc/self/status").await;
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    };
    for name in ["SigBlk:", "SigIgn:", "ShdPnd:", "SigPnd:"] {
        assert_eq!(field(name), "0000000000000000", "{name}");
    }
}

#[tokio::test]
async fn a_command_leads_its_own_group_in_a_session_without_a_terminal() {
    let text = text_of("exec cat /proc/self/stat").await;
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    let (parent, group, session, terminal) = (fields[1], fields[2], fields[3], fields[4]);
    assert!(text.starts_with(&format!("{group} (")), "{text}");
    assert_eq!(session, parent, "the session is the supervisor's");
    assert_eq!(terminal, "0");
    assert_eq!(text_of("ulimit -c").await, "0\n");
    let score: i32 = text_of("cat /proc/self/oom_score_adj").await.trim().parse().unwrap();
    assert!(score >= 500, "{score}");
}

#[tokio::test]
async fn input_is_empty_and_ends_at_once() {
    assert_eq!(text_of("cat; read x || echo none").await, "none\n");
}

#[test]
fn b16_a_prompt_on_the_terminal_fails_at_once() {
    // The client has a controlling terminal; its commands have not.
    let output = std::process::Command::new(HELPER)
        .args(["tty", "read -s -p 'Password: ' x </dev/tty; echo $?"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("/dev/tty") && text.contains("exit code 0") && text.trim_end().ends_with('1'),
        "{text}"
    );
}

#[tokio::test]
async fn b22_what_cannot_be_executed_is_said_precisely() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode: u32| {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let executor = executor();
    let error = async |program: std::path::PathBuf| {
        executor.run(Command::new(program, "/"), |_| {}).await.unwrap_err()
    };

    assert!(matches!(error("/nonexistent/bash".into()).await, ExecError::NotFound { .. }));
    assert!(matches!(error(file("plain", "", 0o644)).await, ExecError::NotExecutable { .. }));
    assert!(matches!(error(file("text", "hello", 0o755)).await, ExecError::NotExecutable { .. }));
    assert!(matches!(error(dir.path().into()).await, ExecError::NotExecutable { .. }));
    assert!(matches!(
        error(file("lost", "#!/nonexistent\n", 0o755)).await,
        ExecError::NotFound { .. }
    ));
    assert!(matches!(error("bash".into()).await, ExecError::Invalid { .. }));

    let cwd = executor.run(Command::new("/bin/true", "/nonexistent"), |_| {}).await.unwrap_err();
    assert!(
        matches!(&cwd, ExecError::Directory { .. }) && cwd.to_string().contains("/nonexistent"),
        "{cwd}"
    );

    assert!(find_bash().is_ok());
    let finished = executor.run(script("echo the next works"), |_| {}).await.unwrap();
    assert_eq!(finished.output.to_text(), "the next works\n");
}

#[tokio::test]
async fn a_long_command_with_a_long_environment_works() {
    let executor = executor();
    let value = "v".repeat(200_000);
    let env = (0..200).map(|n| (format!("VARIABLE_{n}").into(), "e".repeat(500).into())).collect();
    let text = format!(
        "x={value}; cat <<'EOF'\n${{#x}} `#\nEOF\necho ${{#x}} ${{#VARIABLE_199}} $0\nexit 5"
    );
    let finished = executor.run(bash(&text, "/", env), |_| {}).await.unwrap();
    assert_eq!(finished.output.to_text(), "${#x} `#\n200000 500 /bin/bash\n");
    assert_eq!(finished.status.to_string(), "exit code 5");

    // The same amount in arguments of allowed length.
    let mut command = script("echo $#");
    command.args.push("name".into());
    command.args.extend((0..4000).map(|_| "a".repeat(50).into()));
    assert_eq!(executor.run(command, |_| {}).await.unwrap().output.to_text(), "4000\n");
}

#[tokio::test]
async fn b23_a_command_that_is_too_long_is_a_clear_error() {
    let executor = executor();
    let long = "x".repeat(2_000_000);
    let mut argument = Command::new("/bin/echo", "/");
    argument.args.push(long.clone().into());
    let mut environment = script("echo");
    environment.env.extend((0..30).map(|n| (format!("V{n}").into(), "x".repeat(100_000).into())));
    let mut huge = script("echo");
    huge.env.push(("V".into(), "x".repeat(5_000_000).into()));

    for command in [script(&format!(": {long}")), argument, environment, huge] {
        let error = executor.run(command, |_| {}).await.unwrap_err();
        assert!(matches!(error, ExecError::TooLong { bytes } if bytes > 2_000_000), "{error}");
        assert!(error.to_string().contains("file"), "says what to do: {error}");
    }
    assert_eq!(executor.run(script("echo on"), |_| {}).await.unwrap().output.to_text(), "on\n");
}

#[tokio::test]
async fn a_program_that_is_no_supervisor_is_a_clear_error() {
    for program in ["/nonexistent", "/bin/true", "/etc/passwd"] {
        let executor =
            Executor::new(SupervisorProgram { program: program.into(), args: Vec::new() });
        let error = executor.run(script("echo"), |_| {}).await.unwrap_err();
        assert!(matches!(error, ExecError::SupervisorStart { .. }), "{error}");
        assert!(error.to_string().contains(program));
    }
}

#[test]
fn a_supervisor_started_by_hand_ends_at_once() {
    let status =
        std::process::Command::new(HELPER).arg("supervise").stdin(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}
