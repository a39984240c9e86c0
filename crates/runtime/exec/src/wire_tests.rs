use super::*;
use proptest::prelude::*;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

const NOWHERE: CommandOrigin = CommandOrigin { scope: NO_SCOPE, soft_open_files: None };

fn command(args: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new("/bin/x", "/dir");
    command.args = args.iter().map(OsString::from).collect();
    command.env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    command
}

#[test]
fn a_request_arrives_as_it_was_sent() {
    let mut sent = command(&["-c", "", "é x"], &[("A", ""), ("B", "x=y")]);
    sent.limits.open_files = Some(16);
    sent.limits.file_size = Some(0);
    let origin = CommandOrigin { scope: 7, soft_open_files: Some(256) };
    let body = encode(&sent, origin, b"packed").unwrap();
    let expected = WireRequest {
        program: c"/bin/x",
        cwd: c"/dir",
        args: vec![c"/bin/x", c"-c", c"", c"é x"],
        env: vec![c"A=", c"B=x=y"],
        limits: sent.limits,
        origin,
        sandbox: Some(b"packed"),
    };
    assert_eq!(decode(&body).unwrap(), expected);
    assert_eq!(body.len(), size(&sent) + 6, "the size is known before the body is made");
}

#[test]
fn what_no_program_can_receive_is_refused_with_a_reason() {
    let refused = |command: &Command, reason: &str| {
        let error = encode(command, NOWHERE, &[]).unwrap_err();
        assert!(matches!(error, ExecError::Invalid { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    };
    refused(&command(&["a\0b"], &[]), "NUL");
    refused(&command(&[], &[("A", "x\0")]), "NUL");
    refused(&command(&[], &[("", "x")]), "name");
    refused(&command(&[], &[("A=B", "x")]), "name");
    refused(&Command::new("bash", "/"), "absolute");
    refused(&Command::new("/bin/bash", "here"), "absolute");
    refused(&crate::bash(&format!("{}\0", "x".repeat(200_000)), "/", vec![]), "NUL");
}

#[test]
fn too_much_is_refused_before_it_is_copied() {
    let long = "x".repeat(MAX_BODY);
    assert!(
        matches!(encode(&command(&[&long], &[]), NOWHERE, &[]), Err(ExecError::TooLong { bytes }) if bytes > MAX_BODY)
    );
    let script = ":;".repeat(MAX_SCRIPT);
    assert!(matches!(
        encode(&crate::bash(&script, "/", vec![]), NOWHERE, &[]),
        Err(ExecError::TooLong { .. })
    ));
}

#[test]
fn reports_arrive_as_they_were_sent() {
    let mut reports = vec![WireReport::Started { pid: 4711 }];
    for stage in LaunchStage::ALL {
        reports.push(WireReport::Failed(WireFailure { stage, errno: 7 }));
    }
    for ended in [CommandEnded::Code(0), CommandEnded::Code(255), CommandEnded::Signal(9)] {
        reports.push(WireReport::Exited(Exit { ended, signalled: 15, exceeded: None }));
    }
    for report in reports {
        assert_eq!(WireReport::decode(&report.encode()), Some(report));
    }
    assert_eq!(WireReport::decode(&[0; REPORT_SIZE]), None);
    assert_eq!(WireReport::decode(&[1; 3]), None);
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&body);
        let _ = WireReport::decode(&body);
    }

    #[test]
    fn any_strings_survive(
        args in prop::collection::vec(prop::collection::vec(1u8.., 0..20), 0..6),
        value in prop::collection::vec(1u8.., 0..20),
        sandbox in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut sent = Command::new("/p", "/");
        sent.args = args.iter().cloned().map(OsString::from_vec).collect();
        sent.env = vec![("N".into(), OsString::from_vec(value.clone()))];
        let body = encode(&sent, NOWHERE, &sandbox).unwrap();
        let request = decode(&body).unwrap();
        let received: Vec<_> = request.args[1..].iter().map(|arg| arg.to_bytes().to_vec()).collect();
        prop_assert_eq!(received, args);
        prop_assert_eq!(request.sandbox.unwrap_or_default(), sandbox);
        prop_assert_eq!(request.env[0].to_bytes(), [&b"N="[..], &value].concat());
    }
}
