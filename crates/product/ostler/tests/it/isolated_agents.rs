//! Agents and teammates with a worktree of their own.

use crate::subagents::{agent, all, end, plays};
use crate::support::{World, becomes, host, open, with, with_log};
use crate::teams::{delegated, leading};
use ostler::{
    AgentDefinition, AgentIsolation, Envelope, Event, Host, Mode, Options, Session, SessionChoice,
};
use ostler_model_server::{Reply, text};
use serde_json::json;
use std::process::Command;
use std::sync::Arc;

pub fn git(world: &World, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(words);
    command.current_dir(world.project()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub fn repository(world: &World) {
    git(world, &["init", "-q", "-b", "main", "."]);
    std::fs::write(world.project().join("file"), "one\n").unwrap();
    git(world, &["add", "."]);
    git(world, &["commit", "-qm", "first"]);
}

fn apart() -> AgentDefinition {
    AgentDefinition {
        name: "apart".into(),
        description: "works alone".into(),
        prompt: "You work alone.".into(),
        isolation: AgentIsolation::Worktree,
        ..AgentDefinition::default()
    }
}

fn with_apart(options: Options) -> Options {
    with(options, |options| options.session.agents = vec![apart()])
}

fn on_disk(world: &World) -> (Host, Session) {
    let options = with_apart(world.on_disk());
    let host = host(&options);
    (host.clone(), host.session(options.session).unwrap())
}

fn write(file: &str, content: &str) -> Reply {
    text("I write.").call("Write", json!({ "file_path": file, "content": content }))
}

fn resume(answer: Reply, name: &str, prompt: &str) -> Reply {
    answer.call("Agent", json!({ "description": "on", "prompt": prompt, "resume": name }))
}

/// The results of the root's calls, whole.
fn results(seen: &[Arc<Envelope>]) -> Vec<(bool, String)> {
    let own = seen.iter().filter(|envelope| envelope.agent.is_root());
    let result = |envelope: &Arc<Envelope>| match &envelope.event {
        Event::CallFinished { result, .. } => {
            let value = serde_json::to_value(result).unwrap();
            let parts = value["content"].as_array().unwrap().iter();
            let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            Some((value["is_error"] == true, texts.join("\n")))
        }
        _ => None,
    };
    own.filter_map(result).collect()
}

fn branches(world: &World) -> Vec<String> {
    let listed = git(world, &["branch", "--list", "ostler/*", "--format=%(refname:short)"]);
    listed.lines().map(str::to_owned).collect()
}

/// Its report names branch and commit, the checkout stays as it is, and a resumed agent finds its files again.
pub async fn an_agent_works_in_a_worktree_and_finds_it_again() {
    let bash = |command: &str| text("I run.").call("Bash", json!({ "command": command }));
    let world = World::new(plays([
        (
            "go",
            vec![
                agent(text("I ask."), "apart", "task-a"),
                resume(text("More."), "apart-1", "task-b"),
                text("done"),
            ],
        ),
        (
            "task-a",
            vec![
                write("made", "x\n"),
                bash("git add made; git update-ref refs/heads/main HEAD~0; pwd"),
                text("made it"),
                write("more", "y\n"),
                text("and more"),
            ],
        ),
    ]));
    repository(&world);
    let (host, session) = on_disk(&world);
    let seen = all(session.ask("go").unwrap()).await;
    let told = results(&seen);
    let [branch] = branches(&world).try_into().unwrap();
    assert!(branch.starts_with("ostler/apart-"), "{branch}");
    let commits = git(&world, &["log", "--format=%H %s", &branch]);
    let commits: Vec<&str> = commits.lines().collect();
    assert_eq!(commits.len(), 3, "one for each turn, on top of the first: {commits:?}");
    for (result, commit) in told.iter().zip([commits[1], commits[0]]) {
        let commit = commit.split(' ').next().unwrap();
        assert!(!result.0, "{result:?}");
        let place = format!("they are on the branch {branch}, commit {commit}.");
        assert!(result.1.contains(&place), "{place}: {result:?}");
    }
    assert_eq!(git(&world, &["show", &format!("{branch}:made")]), "x");
    assert_eq!(git(&world, &["show", &format!("{branch}:more")]), "y");
    assert!(
        !world.project().join("made").exists() && git(&world, &["status", "--short"]).is_empty()
    );
    let of_child =
        world.server.requests().iter().map(|it| it.json().to_string()).collect::<Vec<_>>();
    assert!(of_child.iter().any(|it| it.contains("Read-only file system")), "{of_child:?}");
    assert!(of_child[1].contains("a git worktree of your own, on the branch ostler/apart-"));
    assert_eq!(end(&seen).text, "done");
    session.close("other").await;
    host.close().await;
}

pub async fn an_agent_that_changed_nothing_leaves_no_worktree() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "apart", "task-a"), text("done")]),
        ("task-a", vec![text("I look.").call("Read", json!({ "file_path": "file" })), text("one")]),
    ]));
    repository(&world);
    let (_host, session) = on_disk(&world);
    let seen = all(session.ask("go").unwrap()).await;
    let told = results(&seen);
    assert!(
        !told[0].0 && told[0].1.starts_with("one") && !told[0].1.contains("branch"),
        "{told:?}"
    );
    assert_eq!(branches(&world), [] as [&str; 0]);
    session.close("other").await;
}

/// What the one above may not do, it may not do in its worktree either, and rules about the checkout hold there.
pub async fn an_isolated_agent_has_no_more_rights_than_its_starter() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "apart", "task-a"), text("done")]),
        (
            "task-a",
            vec![
                write("src/ok", "x\n"),
                write("lib/no", "x\n"),
                write("secret/no", "x\n"),
                text("tried"),
            ],
        ),
    ]));
    repository(&world);
    let options = with(with_apart(world.on_disk()), |options| {
        options.session.mode = Mode::Default;
        options.session.allow =
            vec!["Edit(./src/**)".into(), "Edit(./secret/**)".into(), "Agent".into()];
        options.session.deny = vec!["Edit(./secret/**)".into()];
    });
    let session = open(options);
    let seen = all(session.ask("go").unwrap()).await;
    let told = results(&seen);
    let [branch] = branches(&world).try_into().unwrap_or_else(|_| panic!("{told:?}"));
    let files = git(&world, &["ls-tree", "-r", "--name-only", &branch]);
    assert_eq!(files, "file\nsrc/ok", "{files}");
    session.close("other").await;
}

pub async fn a_repository_is_needed_and_the_reason_is_told() {
    let world =
        World::new(plays([("go", vec![agent(text("I ask."), "apart", "x"), text("done")])]));
    let (_host, session) = on_disk(&world);
    let seen = all(session.ask("go").unwrap()).await;
    let told = results(&seen);
    assert!(told[0].0 && told[0].1.contains("repository"), "{told:?}");
    session.close("other").await;
}

/// It keeps its worktree between mails and across restarts of its lead.
pub async fn a_teammate_keeps_its_worktree() {
    let world = World::new(plays([
        (
            "go",
            vec![
                delegated(text("I ask."), "writer", "alpha: begin"),
                text("delegated"),
                text("noted"),
                delegated(text("Again."), "writer", "beta: go on"),
                text("delegated"),
                text("noted, too"),
            ],
        ),
        ("alpha", vec![write("a", "x\n"), text("begun"), write("b", "y\n"), text("went on")]),
    ]));
    repository(&world);
    let options = || {
        with(leading(&world, &["writer"]), |options| {
            options.session.team.teammates[0].isolation = AgentIsolation::Worktree;
        })
    };
    let session = open(options());
    let id = session.id().to_string();
    all(session.ask("go").unwrap()).await;
    session.report_due().await;
    all(session.run_reports().unwrap()).await;
    let [branch] = branches(&world).try_into().unwrap();
    let first = git(&world, &["rev-parse", &branch]);
    let told = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(told.contains(&format!("on the branch {branch}, commit {first}")), "{told}");
    session.close("other").await;
    drop(session);
    let session = open(with_log(options(), SessionChoice::Resume(id)));
    all(session.ask("again").unwrap()).await;
    session.report_due().await;
    all(session.run_reports().unwrap()).await;
    assert_eq!(branches(&world), [branch.as_str()], "the same one");
    assert_eq!(git(&world, &["rev-parse", &format!("{branch}~1")]), first);
    assert_eq!(git(&world, &["show", &format!("{branch}:b")]), "y");
    assert!(!world.project().join("a").exists());
    session.close("other").await;
}

/// The call is interrupted: what the agent had done is committed all the same.
pub async fn an_interrupted_agents_work_is_kept() {
    let world = World::new(plays([
        ("go", vec![agent(text("I ask."), "apart", "task-a"), text("done")]),
        ("task-a", vec![write("made", "x\n"), text("held").due_at("never")]),
    ]));
    repository(&world);
    let (_host, session) = on_disk(&world);
    let turn = tokio::spawn(all(session.ask("go").unwrap()));
    becomes("the agent has written", || world.server.requests().len() == 3).await;
    crate::support::interrupt(&session);
    turn.await.unwrap();
    let saved = || match branches(&world).first() {
        Some(branch) => git(&world, &["ls-tree", "--name-only", branch]).contains("made"),
        None => false,
    };
    becomes("its work is committed", saved).await;
    session.close("other").await;
}
