//! What is repeated after a summary, in the bytes of the request that follows it; and what is remembered before it.

use crate::compaction::with_summaries;
use crate::support::{World, finished, open, until, with};
use ostler::{Event, Receipt, Session, SessionChoice, Terminal};
use ostler_model_server::{Reply, calls, text};
use serde_json::{Value, json};

/// A summary now. Its receipt.
async fn compact(session: &Session) -> Receipt {
    let mut receipt = None;
    let mut turn = session.compact(None).unwrap();
    let end = until(&mut turn, |event| {
        if let Event::Compacted { receipt: made } = event {
            receipt = Some((**made).clone());
        }
        matches!(event, Event::Finished(_))
    });
    let Event::Finished(end) = end.await else { unreachable!() };
    assert_eq!(end.terminal, Terminal::Completed, "{end:?}");
    receipt.unwrap_or_else(|| panic!("no summary: {}", end.text))
}

async fn said(session: &Session, prompt: &str) {
    let end = finished(session.ask(prompt).unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed, "{end:?}");
}

/// Turns with answers long enough that the newest six messages are others than what matters here.
async fn talk(session: &Session) {
    for n in 0..4 {
        said(session, &format!("and what about {n}?")).await;
    }
}

fn talking() -> impl Iterator<Item = Reply> {
    (0..4).map(|n| text(format!("About {n} there is this to say. ").repeat(60)))
}

fn read(name: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": name }))
}

/// In an order that is known.
fn one_by_one(names: &[&str]) -> impl Iterator<Item = Reply> {
    names.iter().map(|name| calls([read(name)]))
}

fn write(world: &World, name: &str, content: &str) {
    let path = world.project().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The texts that the newest conversation begins with, each a block.
fn opening(world: &World) -> Vec<String> {
    let request = world.server.requests().pop().unwrap();
    let blocks = request.messages()[0]["content"].as_array().unwrap().clone();
    let texts = blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned());
    let texts: Vec<String> = texts.collect();
    assert!(texts.iter().any(|text| text.starts_with("<summary>")), "{texts:?}");
    texts
}

fn starting<'a>(texts: &'a [String], with: &str) -> Vec<&'a str> {
    texts.iter().map(String::as_str).filter(|text| text.starts_with(with)).collect()
}

/// Six files are read, one changes afterwards, one goes; a plan is made and a skill used; then all of it is summarized.
pub async fn files_plan_and_skills_are_said_again_as_they_are() {
    let names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt", "g.txt"];
    let todos = json!([
        { "content": "look around", "status": "completed" },
        { "content": "mend the gate", "status": "in_progress" },
    ]);
    let begun = [
        calls([("TodoWrite", json!({ "todos": todos }))]),
        calls([("Skill", json!({ "skill": "code-review", "args": "" }))]),
        text("started"),
    ];
    // What follows: one turn after the summary, then another summary and a turn after that.
    let later = talking().chain([text("going on")]).chain(talking()).chain([text("still")]);
    let world = World::new(with_summaries(one_by_one(&names).chain(begun).chain(later)));
    for name in names {
        write(&world, name, &format!("{name} as it was\n"));
    }
    let session = open(world.on_disk());
    said(&session, "begin").await;
    talk(&session).await;
    write(&world, "d.txt", "d.txt as it became\n");
    std::fs::remove_file(world.project().join("e.txt")).unwrap();
    for round in ["first", "second"] {
        let receipt = compact(&session).await;
        said(&session, "go on").await;
        let texts = opening(&world);
        let files = starting(&texts, "<file ");
        // The five read last, as they are now; the one that is gone is not replaced by an older one.
        let shown: Vec<bool> =
            names.map(|name| files.iter().filter(|text| text.contains(name)).count() == 1).to_vec();
        assert_eq!(shown, [false, false, true, true, false, true, true], "{round}: {files:?}");
        assert!(files.iter().any(|text| text.contains("d.txt as it became")), "{files:?}");
        assert!(!texts.concat().contains("d.txt as it was"), "{round}: {texts:?}");
        let plan = starting(&texts, "<plan>");
        assert!(plan.len() == 1 && plan[0].contains("[in_progress] mend the gate"), "{plan:?}");
        let skill = starting(&texts, "<skill name=\"code-review\">");
        assert!(skill.len() == 1 && skill[0].len() > 1_500, "{round}: {skill:?}");
        for name in ["plan", "skill code-review", "d.txt", "environment"] {
            let named = receipt.attached.iter().filter(|one| one.as_str() == name).count();
            assert_eq!(named, 1, "{round}: {name} in {:?}", receipt.attached);
        }
        if round == "first" {
            talk(&session).await;
        }
    }
    world.assert_never_rejected();
}

/// Large files are shown in part, and as many as there is room for.
pub async fn what_is_attached_keeps_to_its_room() {
    for (window, most) in [(200_000_u64, 63_000), (30_000, 8_000)] {
        let names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
        let later = [text("read")].into_iter().chain(talking()).chain([text("going on")]);
        let world = World::new(with_summaries(one_by_one(&names).chain(later)));
        for name in names {
            write(&world, name, &format!("{name}: {}\n", "é".repeat(40)).repeat(400));
        }
        let mut options = world.options();
        options.session.settings.context.window = Some(window);
        let session = open(options);
        said(&session, "begin").await;
        talk(&session).await;
        let receipt = compact(&session).await;
        said(&session, "go on").await;
        let texts = opening(&world);
        let files = starting(&texts, "<file ");
        let bytes: usize = files.iter().map(|text| text.len()).sum();
        println!("window {window}: {} files of {bytes} bytes attached", files.len());
        assert!(!files.is_empty() && bytes <= most, "{window}: {bytes} bytes");
        assert!(files.iter().all(|text| text.len() < 12_200), "one file takes it all");
        assert!(files.iter().all(|text| text.contains("Read shows the rest")), "{files:?}");
        // The newest go first.
        assert!(files[0].contains("e.txt"), "{}", &files[0][..100]);
        let told = receipt.attached.iter().filter(|name| name.ends_with(".txt")).count();
        assert_eq!(told, files.len(), "the receipt says what was attached");
        world.assert_never_rejected();
    }
}

/// Old results are left out before anything is summarized. The skill that one of them brought is in use all the same.
pub async fn a_skill_outlives_the_result_that_brought_it() {
    let begun = [
        calls([("Skill", json!({ "skill": "debugging", "args": "" }))]),
        calls([("Bash", json!({ "command": "seq 1 6000" }))]),
        text("begun"),
    ];
    let later = talking().chain([text("going on")]).chain(talking()).chain([text("so")]);
    let world = World::new(with_summaries(begun.into_iter().chain(later)));
    let session = open(world.on_disk());
    said(&session, "begin").await;
    talk(&session).await;
    // The next turn is over the threshold, and leaving results out is enough.
    let mut options = with(world.on_disk(), |o| o.session.log = SessionChoice::Continue);
    options.session.settings.context.bounds.threshold = Some(session.context().tokens);
    drop(session);
    let session = open(options);
    said(&session, "go on").await;
    let log = world.log();
    assert!(log.iter().any(|fact| fact["fact"] == "elided"), "nothing was left out");
    assert!(!log.iter().any(|fact| fact["fact"] == "boundary"), "a summary came first");
    let newest = world.server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(newest.contains("<skill name=\\\"debugging\\\">"), "its words are gone: {newest}");
    talk(&session).await;
    compact(&session).await;
    said(&session, "and on").await;
    let texts = opening(&world);
    assert_eq!(starting(&texts, "<skill name=\"debugging\">").len(), 1, "{texts:?}");
    world.assert_never_rejected();
}

/// Instruction files below the directory count since something near them was read: also after a summary, and after
/// another process has gone on with the session, as they are then.
pub async fn nested_instructions_are_read_anew() {
    let begun = [calls([read("sub/deep/x.txt")]), text("read")];
    let later = talking().chain([text("on")]).chain(talking()).chain([text("so")]);
    let world = World::new(with_summaries(begun.into_iter().chain(later)));
    write(&world, "AGENTS.md", "Outer rule one.");
    write(&world, "sub/CLAUDE.md", "Inner rule one.");
    write(&world, "other/CLAUDE.md", "Nobody reads this.");
    write(&world, "sub/deep/x.txt", "x\n");
    let options = || with(world.on_disk(), |o| o.session.instructions = Some(world.instructions()));
    let session = open(options());
    said(&session, "begin").await;
    talk(&session).await;
    let texts = world.told(world.server.requests().len() - 1);
    assert_eq!(texts.matches("Inner rule one.").count(), 1, "{texts}");
    let mut session = session;
    for (round, before) in [("two", "one"), ("three", "two")] {
        // Somebody else continues with it.
        drop(session);
        session = open(with(options(), |o| o.session.log = SessionChoice::Continue));
        write(&world, "AGENTS.md", &format!("Outer rule {round}."));
        write(&world, "sub/CLAUDE.md", &format!("Inner rule {round}."));
        compact(&session).await;
        said(&session, "go on").await;
        let whole = world.told(world.server.requests().len() - 1);
        for rule in ["Outer", "Inner"] {
            let count = |of: &str| whole.matches(&format!("{rule} rule {of}.")).count();
            assert_eq!((count(before), count(round)), (0, 1), "{rule} {round}: {whole}");
        }
        assert!(!whole.contains("Nobody reads this."), "{whole}");
        let texts = opening(&world);
        let at = |with: &str| texts.iter().position(|text| text.contains(with)).unwrap();
        assert!(at("Outer rule") < at("Inner rule") && at("Inner rule") < at("<summary>"));
        if round == "two" {
            talk(&session).await;
        }
    }
    world.assert_never_rejected();
}

fn remembered(world: &World) -> Vec<String> {
    let cwd = world.project().canonicalize().unwrap();
    let home = world.root().join("home");
    let memories = ostler::memories(&home, &cwd, None, ostler::Network::default());
    memories.list(None, 100).unwrap().into_iter().map(|memory| memory.text).collect()
}

/// Kept before the conversation is summarized, not when the session ends: by then the words are gone.
pub async fn what_was_said_before_a_summary_is_remembered() {
    let answers = [text("Decision: we use the second port. ".repeat(2))].into_iter();
    let world = World::new(with_summaries(answers.chain(talking())));
    let session = open(world.on_disk());
    said(&session, "Hello. Always build with the locked file. Which port?").await;
    talk(&session).await;
    // When its turn ends, and still after the summary.
    let has = |kept: &[String], words: &str| kept.iter().any(|text| text.contains(words));
    assert!(has(&remembered(&world), "Always build with the locked file."));
    compact(&session).await;
    let kept = remembered(&world);
    assert!(has(&kept, "Always build with the locked file."), "{kept:?}");
    assert!(has(&kept, "e use the second port"), "{kept:?}");
    session.close("other").await;
    let twice = remembered(&world);
    let count = twice.iter().filter(|text| text.contains("locked file")).count();
    assert_eq!(count, 1, "kept once: {twice:?}");
}

/// The place of the memory cannot be used: the summary is made all the same, and the session continues.
pub async fn a_memory_that_fails_does_not_fail_the_summary() {
    let answers = [text("ok ".repeat(300))].into_iter().chain(talking()).chain([text("on")]);
    let world = World::new(with_summaries(answers));
    std::fs::create_dir_all(world.root().join("home")).unwrap();
    std::fs::write(world.root().join("home/memory"), "in the way").unwrap();
    let session = open(world.on_disk());
    said(&session, "Always build with the locked file.").await;
    talk(&session).await;
    let receipt = compact(&session).await;
    assert!(receipt.after < receipt.before);
    said(&session, "go on").await;
    assert!(opening(&world).concat().contains("Work was done."));
    let cwd = world.project().canonicalize().unwrap();
    let home = world.root().join("home");
    let memories = ostler::memories(&home, &cwd, None, ostler::Network::default());
    assert!(
        memories.list(None, 10).is_ok_and(|all| all.is_empty()) || memories.list(None, 10).is_err()
    );
    world.assert_never_rejected();
}
