//! Who may run without a question, who is asked about, who is refused.

use crate::lines;
use ostler_core::permission::Mode;
use ostler_core::ports::Reply;
use ostler_testkit::{
    FakeApprover, FakeTool, Rig, Script, TestAgent, calls, finished, says, trace,
};

fn tools() -> [FakeTool; 4] {
    [
        FakeTool::reading("Read"),
        FakeTool::writing("Write"),
        FakeTool::unknown("Run"),
        FakeTool::contacting("Fetch", "example.org"),
    ]
}

fn decided(rig: &Rig) -> Vec<String> {
    let log = rig.timeline.render_log();
    log.lines().filter(|line| line.starts_with("decided")).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_is_told_why_and_does_not_run() {
    let rig = TestAgent::new()
        .tools(tools())
        .deny("Write(./secret/**)")
        .deny("Fetch")
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/secret/key")
                .call("f1", "Fetch")
                .call_on("w2", "Write", "/ws/open")
                .end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    insta::assert_snapshot!(lines(&events, &["finished", "end"]).join("\n"), @r#"
    finished denied w1 error "Permission denied: the deny rule Write(./secret/**) covers it. Nothing…"
    finished denied f1 error "Permission denied: the deny rule Fetch covers it. Nothing was run. Con…"
    finished w2 ok "echo {"path":"/ws/open"}"
    end completed "done" iterations=2 calls=1 in=200 out=20 cost=0.000900 denied=w1,f1
    "#);
    assert_eq!(rig.timeline.began(), ["w2"]);
    assert!(rig.approver.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn yes_no_and_the_reasons_are_recorded() {
    let replies = [Reply::Yes, Reply::No("not in this folder".into()), Reply::Yes];
    let rig = TestAgent::new()
        .tools(tools())
        .approver(FakeApprover::scripted(replies))
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/a")
                .call_on("w2", "Write", "/ws/b")
                .call("f1", "Fetch")
                .end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(
        lines(&events, &["asked"]),
        [
            "asked w1 Write: it would change a",
            "asked w2 Write: it would change b",
            "asked f1 Fetch: it would contact example.org",
        ]
    );
    let mut results = lines(&events, &["finished"]);
    results.sort();
    insta::assert_snapshot!(results.join("\n"), @r#"
    finished denied w2 error "Permission denied: not in this folder. Nothing was run. Continue witho…"
    finished f1 ok "echo {}"
    finished w1 ok "echo {"path":"/ws/a"}"
    "#);
    assert_eq!(
        finished(&events).denials.iter().map(|denial| denial.id.as_str()).collect::<Vec<_>>(),
        ["w2"]
    );
    insta::assert_snapshot!(decided(&rig).join("\n"), @r"
    decided w1 allow: the user said yes
    decided w2 deny: not in this folder
    decided f1 allow: the user said yes
    ");
    assert_eq!(rig.timeline.began(), ["w1", "f1"]);
    let questions = rig.approver.questions();
    assert_eq!(questions[0].input, serde_json::json!({ "path": "/ws/a" }));
    assert_eq!(
        (questions[2].tool.as_str(), questions[2].touches.contacts.as_slice()),
        ("Fetch", ["example.org".to_owned()].as_slice())
    );
}

/// Asked once, for this answer's other calls and for later ones that the offered rule covers; another tool still asks.
#[tokio::test(start_paused = true)]
async fn yes_for_the_session_holds_for_what_was_offered() {
    let rig = TestAgent::new()
        .tools(tools())
        .approver(FakeApprover::scripted([Reply::YesForSession, Reply::No("no".into())]))
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/src/a")
                .call_on("w2", "Write", "/ws/src/b")
                .end_calls(),
            Script::new().call_on("w3", "Write", "/ws/src/c").call("f1", "Fetch").end_calls(),
            says("done"),
            Script::new().call_on("w4", "Write", "/ws/src/d").end_calls(),
            says("done"),
        ])
        .build();
    let first = rig.turn("go").await;
    rig.turn("go on").await;
    assert_eq!(rig.approver.asked(), ["w1", "f1"]);
    assert_eq!(lines(&first, &["asked"]).len(), 2, "{}", trace(&first));
    assert_eq!(rig.timeline.began(), ["w1", "w2", "w3", "w4"]);
    insta::assert_snapshot!(decided(&rig).join("\n"), @r"
    decided w1 allow: the user said yes for this session
    decided w2 allow: the user said yes for this session
    decided w3 allow: the allow rule Edit(./src/**) covers it
    decided f1 deny: no
    decided w4 allow: the allow rule Edit(./src/**) covers it
    ");
}

/// One at a time (a law of every run) and in the order of the calls, also when many threads run them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_come_in_the_order_of_the_calls() {
    for _ in 0..10 {
        let ids: Vec<_> = (0..40).map(|n| format!("w{n}")).collect();
        let script = ids
            .iter()
            .fold(Script::new(), |script, id| script.call_on(id, "Write", &format!("/ws/{id}")));
        let rig = TestAgent::new()
            .tools(tools())
            .approver(FakeApprover::no("no"))
            .settings(|settings| settings.max_parallel_calls = 40)
            .answers([script.end_calls(), says("done")])
            .build();
        let events = rig.turn("go").await;
        assert_eq!(rig.approver.asked(), ids);
        assert_eq!(finished(&events).denials.len(), 40);
    }
}

#[tokio::test(start_paused = true)]
async fn only_reading_inside_the_roots_runs_without_a_question() {
    let rig = TestAgent::new()
        .tools(tools())
        .approver(FakeApprover::no("no"))
        .answers([
            Script::new()
                .call_on("in", "Read", "/ws/a")
                .call_on("out", "Read", "/etc/passwd")
                .call_on("beside", "Read", "/ws-other/a")
                .call_on("write", "Write", "/ws/a")
                .call("run", "Run")
                .call("fetch", "Fetch")
                .end_calls(),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["in"]);
    insta::assert_snapshot!(lines(&events, &["asked"]).join("\n"), @r"
    asked out Read: it would read /etc/passwd outside the workspace
    asked beside Read: it would read /ws-other/a outside the workspace
    asked write Write: it would change a
    asked run Run: what it would touch is not known
    asked fetch Fetch: it would contact example.org
    ");
    assert_eq!(finished(&events).denials.len(), 5);
}

/// In a mode that may not ask, what would ask is refused; in plan mode nothing may change anything.
#[tokio::test(start_paused = true)]
async fn modes_refuse_without_asking() {
    let run = |mode| async move {
        let rig = TestAgent::new()
            .tools(tools())
            .approver(FakeApprover::yes())
            .allow("Run")
            .mode(mode)
            .answers([
                Script::new()
                    .call_on("r", "Read", "/ws/a")
                    .call_on("w", "Write", "/ws/a")
                    .call("u", "Run")
                    .end_calls(),
                says("done"),
            ])
            .build();
        let events = rig.turn("go").await;
        (
            rig.timeline.began().join(" "),
            rig.approver.asked().join(" "),
            lines(&events, &["finished denied"]).join("\n"),
        )
    };
    let (began, asked, denied) = run(Mode::Plan).await;
    assert_eq!((began.as_str(), asked.as_str()), ("r", ""));
    insta::assert_snapshot!(denied, @r#"
    finished denied w error "Permission denied: plan mode allows no changes. Nothing was run. Conti…"
    finished denied u error "Permission denied: plan mode allows no changes. Nothing was run. Conti…"
    "#);
    let (began, asked, denied) = run(Mode::DontAsk).await;
    assert_eq!((began.as_str(), asked.as_str()), ("r u", ""));
    insta::assert_snapshot!(denied, @r#"finished denied w error "Permission denied: it would change a, and this mode does not ask. Noth…""#);
    let (began, asked, _) = run(Mode::AcceptEdits).await;
    assert_eq!((began.as_str(), asked.as_str()), ("r w u", ""));
    let (began, asked, _) = run(Mode::Default).await;
    assert_eq!((began.as_str(), asked.as_str()), ("r w u", "w"));
}

/// A deny rule holds even where nothing asks.
#[tokio::test(start_paused = true)]
async fn a_deny_rule_stands_above_an_allow_rule_and_bypass() {
    let rig = TestAgent::new()
        .tools(tools())
        .mode(Mode::BypassPermissions)
        .allow("Run")
        .deny("Run")
        .answers([calls([("u1", "Run")]), says("done")])
        .build();
    let events = rig.turn("go").await;
    assert!(rig.timeline.began().is_empty());
    assert_eq!(finished(&events).denials[0].id.as_str(), "u1");
}

/// Somebody who says no to one call does not stop the others.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_refused_one_runs() {
    let rig = TestAgent::new()
        .tools(tools())
        .approver(FakeApprover::scripted([Reply::No("no".into()), Reply::Yes]))
        .answers([
            Script::new()
                .call_on("w1", "Write", "/ws/a")
                .call_on("w2", "Write", "/ws/a")
                .end_calls(),
            says("done"),
        ])
        .build();
    rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["w2"]);
}

/// A yes for the session was given to the directory that was shown: what leaves it asks again.
#[tokio::test(start_paused = true)]
async fn a_yes_for_the_session_ends_at_its_folder() {
    let write = |id: &str, path: &str| Script::new().call_on(id, "Write", path).end_calls();
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write")])
        .approver(FakeApprover::scripted([Reply::YesForSession, Reply::No("not there".into())]))
        .answers([
            write("w1", "/ws/src/a"),
            write("w2", "/ws/src/b"),
            write("w3", "/ws/lib/c"),
            says("done"),
        ])
        .build();
    let events = rig.turn("go").await;
    assert_eq!(finished(&events).denials.len(), 1);
    assert_eq!(finished(&events).calls_run, 2);
}

/// Where no rule can be offered, a yes for the session is one to this very call.
#[tokio::test(start_paused = true)]
async fn without_an_offer_only_the_same_call_is_allowed_again() {
    let run = |id: &str, what: &str| {
        Script::new().call_with(id, "Run", serde_json::json!({ "what": what })).end_calls()
    };
    let rig = TestAgent::new()
        .tools(tools())
        .approver(FakeApprover::scripted([Reply::YesForSession, Reply::No("no".into())]))
        .answers([run("r1", "a"), run("r2", "a"), run("r3", "b"), says("done")])
        .build();
    rig.turn("go").await;
    assert_eq!(rig.approver.asked(), ["r1", "r3"]);
    assert!(rig.approver.questions().iter().all(|question| question.decision.offer.is_empty()));
    assert_eq!(rig.timeline.began(), ["r1", "r2"]);
}

/// A yes was given to what was shown. What became something else meanwhile does not run.
#[tokio::test(start_paused = true)]
async fn what_changes_while_the_question_is_open_does_not_run() {
    let rig = TestAgent::new()
        .tools([FakeTool::writing("Write").moves_to("/ws/elsewhere")])
        .approver(FakeApprover::yes())
        .answers([Script::new().call_on("w1", "Write", "/ws/a").end_calls(), says("done")])
        .build();
    rig.turn("go").await;
    assert_eq!(rig.approver.asked(), ["w1"]);
    assert!(rig.timeline.began().is_empty(), "{}", rig.timeline.render());
    insta::assert_snapshot!(decided(&rig).join("\n"), @"decided w1 deny: what it touches changed while the question was open");
}

/// Rules for a turn go with it; what the user has accepted meanwhile stays, and so does what was there before.
#[tokio::test(start_paused = true)]
async fn rules_for_a_turn_go_with_it() {
    use ostler_core::permission::Source;
    let write = |id: &str| Script::new().call_on(id, "Write", "/ws/a").end_calls();
    let rig = TestAgent::new()
        .tools(tools())
        .deny("Fetch")
        .approver(FakeApprover::scripted([Reply::No("no".into())]))
        .answers([
            Script::new().call_on("w1", "Write", "/ws/a").call("f1", "Fetch").end_calls(),
            says("done"),
            write("w2"),
            says("done"),
        ])
        .build();
    let rules: Vec<String> =
        ["Write", "Fetch", "no rule at all("].iter().map(|rule| (*rule).to_owned()).collect();
    rig.agent.gate.allow_for_turn(&rules, &Source::default());
    let first = rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["w1"], "a deny holds: {}", trace(&first));
    assert!(rig.approver.asked().is_empty());
    rig.agent.gate.begin_turn();
    rig.turn("again").await;
    assert_eq!(rig.timeline.began(), ["w1"], "it is asked about again, and refused");
    assert_eq!(rig.approver.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_was_there_before_does_not_go_with_the_turn() {
    use ostler_core::permission::Source;
    let rig = TestAgent::new()
        .tools(tools())
        .allow("Write")
        .answers([Script::new().call_on("w1", "Write", "/ws/a").end_calls(), says("done")])
        .build();
    rig.agent.gate.allow_for_turn(&["Write".to_owned()], &Source::default());
    rig.agent.gate.begin_turn();
    rig.turn("go").await;
    assert_eq!(rig.timeline.began(), ["w1"]);
}
