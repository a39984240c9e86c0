//! Keeping, finding, forgetting, and what the disk may do to it.

use crate::support::{DAY, Fails, Topics, fact, memories, with_topics};
use ostler_core::memory::{FactKind, KeptMemory, MemoryError, MemoryFact, Scope};
use ostler_core::ports::MemoryStore;
use ostler_memory::{Meaning, Shown};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const FACT: FactKind = FactKind::Fact;

fn texts(found: &[ostler_core::memory::Memory]) -> Vec<&str> {
    found.iter().map(|memory| memory.text.as_str()).collect()
}

/// Every byte below a directory.
fn bytes_below(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        all.extend(fs::read(entry.unwrap().path()).unwrap());
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn kept_once_with_its_origin_and_date() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, hand) = memories(folder.path(), Meaning::None);
    hand.0.store(5 * DAY, Ordering::Relaxed);
    let KeptMemory::New(id) = memories.add(&fact("The staging port is 5433.", FACT)).unwrap()
    else {
        panic!()
    };
    assert_eq!(id, "p1");
    hand.0.store(9 * DAY, Ordering::Relaxed);
    assert_eq!(
        memories.add(&fact("the staging  port is 5433", FACT)).unwrap(),
        KeptMemory::Known("p1".into())
    );
    let all = memories.list(None, 10).unwrap();
    assert_eq!(texts(&all), ["The staging port is 5433."]);
    assert_eq!(all[0].at.0, 9 * DAY, "when it was last stated");
    assert_eq!(all[0].origin, fact("", FACT).origin);
    let user = ostler_core::memory::MemoryFact {
        scope: Scope::User,
        ..fact("British spelling everywhere.", FactKind::Preference)
    };
    assert_eq!(memories.add(&user).unwrap().id(), "u1");
    assert!(folder.path().join("p.db").exists() && folder.path().join("user.db").exists());
    assert_eq!(
        texts(&memories.list(Some(FactKind::Preference), 10).unwrap()),
        ["British spelling everywhere."]
    );
}

#[test]
fn files_are_private_and_looking_makes_none() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("memory");
    let (memories, _) = memories(&inside, Meaning::None);
    assert!(memories.recall("anything at all", 600, &Shown::nothing()).memories.is_empty());
    assert!(memories.search("anything", 5).unwrap().memories.is_empty());
    assert!(memories.list(None, 5).unwrap().is_empty());
    assert_eq!(memories.forget("p1"), Err(MemoryError::NotFound("p1".into())));
    assert!(!inside.exists());
    memories.add(&fact("Something to keep.", FACT)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inside), 0o700);
    for entry in fs::read_dir(&inside).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn forgotten_is_gone_from_the_disk_and_not_learnt_again() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = with_topics(folder.path());
    let text = "The zebrafish deploys on Thursdays.";
    for n in 0..50 {
        memories.add(&fact(&format!("Note number {n} about sql."), FACT)).unwrap();
    }
    let id = memories.add(&fact(text, FACT)).unwrap().id().to_owned();
    assert!(holds(&bytes_below(folder.path()), "zebrafish"));
    memories.forget(&id).unwrap();
    let bytes = bytes_below(folder.path());
    assert!(!holds(&bytes, "zebrafish"), "also not in the index of words");
    assert!(!holds(&bytes, "Thursdays"));
    assert!(
        memories
            .search("zebrafish deploys", 5)
            .unwrap()
            .memories
            .iter()
            .all(|memory| memory.text != text)
    );
    assert_eq!(memories.forget(&id), Err(MemoryError::NotFound(id)));
    // By itself it does not come back; asked for, it does.
    let again = memories.remember(&[fact(text, FACT)]).unwrap();
    assert_eq!((again.new, again.known), (0, 0));
    assert!(matches!(memories.add(&fact(text, FACT)).unwrap(), KeptMemory::New(_)));
    assert_eq!(memories.remember(&[fact(text, FACT)]).unwrap().known, 1);
    for id in ["", "p", "p0", "x1", "p1x", "ü", "p99999999999999999999"] {
        assert_eq!(memories.forget(id), Err(MemoryError::NotFound(id.into())), "{id}");
    }
}

#[test]
fn a_later_fact_of_the_same_key_takes_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = memories(folder.path(), Meaning::None);
    let keyed = |text: &str| ostler_core::memory::MemoryFact {
        key: Some("changed".into()),
        ..fact(text, FACT)
    };
    memories.remember(&[keyed("Work changed a.rs."), fact("Something else.", FACT)]).unwrap();
    memories.remember(&[keyed("Work changed a.rs, b.rs.")]).unwrap();
    let all = memories.list(None, 10).unwrap();
    assert_eq!(texts(&all), ["Work changed a.rs, b.rs.", "Something else."]);
    assert_eq!(texts(&memories.search("a.rs", 10).unwrap().memories), ["Work changed a.rs, b.rs."]);
}

#[test]
fn found_by_meaning_and_by_words() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = with_topics(folder.path());
    memories
        .remember(&[
            fact("Rollout happens on Tuesday.", FACT),
            fact("Postgres runs on port 5433.", FACT),
            fact("XK-4711 is the code of the printer.", FACT),
            fact("The css lives in web/.", FACT),
        ])
        .unwrap();
    let first = |query: &str| memories.search(query, 3).unwrap().memories[0].text.clone();
    assert_eq!(first("when do we ship?"), "Rollout happens on Tuesday.", "no word in common");
    assert_eq!(first("what is XK-4711"), "XK-4711 is the code of the printer.", "no meaning known");
    assert_eq!(memories.search("when do we ship?", 3).unwrap().note, None);
    let recalled = memories.recall("when do we ship?", 600, &Shown::nothing()).memories;
    assert_eq!(texts(&recalled), ["Rollout happens on Tuesday."], "what does not fit stays away");
    let shown =
        Shown::of([ostler_core::message::Message::user("rollout happens on tuesday")].iter());
    assert!(memories.recall("when do we ship?", 600, &shown).memories.is_empty());
    assert!(
        memories.recall("when do we ship?", 3, &Shown::nothing()).memories.is_empty(),
        "no budget"
    );
}

#[test]
fn preferences_open_a_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = with_topics(folder.path());
    memories
        .remember(&[
            fact("Always answer in German.", FactKind::Preference),
            fact("The css lives in web/.", FACT),
        ])
        .unwrap();
    let recalled = memories.recall("fix the sql", 600, &Shown::nothing()).memories;
    assert_eq!(texts(&recalled), ["Always answer in German."]);
    let begun = Shown::of([ostler_core::message::Message::user("hello there")].iter());
    assert!(memories.recall("fix the sql", 600, &begun).memories.is_empty());
}

#[test]
fn without_a_model_words_are_used_and_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for meaning in [
        Meaning::None,
        Meaning::Installed(folder.path().join("none.bin")),
        Meaning::Given(Arc::new(Fails)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (memories, _) = memories(folder.path(), meaning);
        memories.add(&fact("Postgres runs on port 5433.", FACT)).unwrap();
        let found = memories.search("postgres port", 5).unwrap();
        assert_eq!(texts(&found.memories), ["Postgres runs on port 5433."]);
        assert!(found.note.unwrap().starts_with("Found by words only"));
    }
}

#[test]
fn entries_of_another_time_get_their_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, _) = memories(folder.path(), Meaning::None);
    plain
        .remember(
            &(0..200).map(|n| fact(&format!("Note {n} on the rollout."), FACT)).collect::<Vec<_>>(),
        )
        .unwrap();
    let (memories, _) = with_topics(folder.path());
    assert!(memories.search("when do we ship?", 5).unwrap().memories.is_empty());
    assert_eq!(memories.embed_all().unwrap(), 200);
    assert_eq!(memories.embed_all().unwrap(), 0);
    assert_eq!(memories.search("when do we ship?", 5).unwrap().memories.len(), 5);
}

#[test]
fn two_processes_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (one, _) = with_topics(folder.path());
    let (two, _) = with_topics(folder.path());
    one.add(&fact("Rollout happens on Tuesday.", FACT)).unwrap();
    assert_eq!(two.search("ship", 5).unwrap().memories.len(), 1);
    let id = two.add(&fact("Deploy needs a tag.", FACT)).unwrap().id().to_owned();
    assert_eq!(one.search("ship", 5).unwrap().memories.len(), 2);
    two.forget(&id).unwrap();
    assert_eq!(texts(&one.search("ship", 5).unwrap().memories), ["Rollout happens on Tuesday."]);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let folder = folder.path();
            scope.spawn(move || {
                let (memories, _) = with_topics(folder);
                for n in 0..20 {
                    memories
                        .add(&fact(&format!("Writer {writer} notes number {n}."), FACT))
                        .unwrap();
                    memories.add(&fact(&format!("All writers note number {n}."), FACT)).unwrap();
                }
            });
        }
    });
    let (memories, _) = with_topics(folder.path());
    assert_eq!(memories.list(None, 1000).unwrap().len(), 6 * 20 + 20);
    assert_eq!(memories.notices(), [] as [&str; 0]);
}

#[test]
fn a_damaged_database_is_set_aside() {
    let garbage = vec![b'x'; 8192];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    fs::write(&path, &garbage).unwrap();
    let (memories, _) = with_topics(folder.path());
    memories.add(&fact("Something to keep.", FACT)).unwrap();
    let notices = memories.notices();
    assert!(notices.len() == 1 && notices[0].contains("p.db.broken-1"), "{notices:?}");
    assert!(memories.notices().is_empty(), "said once");
    assert_eq!(fs::read(folder.path().join("p.db.broken-1")).unwrap(), garbage, "untouched");
    assert_eq!(memories.list(None, 5).unwrap().len(), 1);
    drop(memories);
    // Damage in the middle of a good one.
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[4096..end].fill(0xa5);
    for ending in ["p.db-wal", "p.db-shm"] {
        fs::remove_file(folder.path().join(ending)).ok();
    }
    fs::write(&path, &bytes).unwrap();
    let (memories, _) = with_topics(folder.path());
    memories.add(&fact("Something else to keep.", FACT)).unwrap();
    assert_eq!(texts(&memories.list(None, 5).unwrap()), ["Something else to keep."]);
    assert!(folder.path().join("p.db.broken-2").exists());
}

/// What can be read of a damaged database continues, under the same ids; what was forgotten stays so.
#[test]
fn what_is_readable_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let (memories, _) = with_topics(folder.path());
    let facts: Vec<_> = (0..200)
        .map(|n| fact(&format!("Module m{n} is written in language l{n}."), FACT))
        .collect();
    memories.remember(&facts).unwrap();
    memories.forget("p7").unwrap();
    drop(memories);
    let mut bytes = fs::read(&path).unwrap();
    // The word index is broken, and with it every writing.
    let at = bytes.windows(12).position(|part| part == b"Module m150 ").unwrap() / 4096;
    bytes[at * 4096..(at + 1) * 4096].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let (memories, _) = with_topics(folder.path());
    let left = memories.list(None, 1_000).unwrap().len();
    memories.add(&fact("Something else to keep.", FACT)).unwrap();
    let notices = memories.notices();
    assert!(notices.len() == 1 && notices[0].contains("recovered"), "{notices:?}");
    let all = memories.list(None, 1_000).unwrap();
    assert!(all.len() > 100 && all.len() < 200, "{} {left}", all.len());
    for memory in all.iter().filter(|memory| memory.text.starts_with("Module")) {
        let n: usize = memory.id[1..].parse().unwrap();
        assert!(memory.text.starts_with(&format!("Module m{} ", n - 1)), "{memory:?}");
    }
    assert_eq!(memories.remember(&facts[6..7]).unwrap().new, 0, "still forgotten");
}

#[test]
fn the_newer_statement_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, hand) = with_topics(folder.path());
    let preference = |text: &str| fact(text, FactKind::Preference);
    let say = |facts: &[MemoryFact]| {
        hand.0.fetch_add(DAY, std::sync::atomic::Ordering::Relaxed);
        memories.remember(facts).unwrap();
    };
    say(&[preference("Always deploy on Friday."), fact("The staging port is 5433.", FACT)]);
    say(&[preference("Always use pnpm in web/."), fact("The design is Ann's work.", FACT)]);
    say(&[preference("Never deploy on Friday."), fact("The staging port is 5434.", FACT)]);
    say(&[preference("Always use npm in web/.")]);
    let all = memories.list(None, 50).unwrap();
    let texts = texts(&all);
    assert!(
        !texts.contains(&"Always deploy on Friday.") && texts.contains(&"Never deploy on Friday.")
    );
    assert!(
        !texts.contains(&"The staging port is 5433.")
            && texts.contains(&"The staging port is 5434.")
    );
    assert_eq!(texts.len(), 5, "the rest stays: {texts:?}");
    let found = memories.search("use pnpm in web", 5).unwrap().memories;
    let place = |text: &str| found.iter().position(|one| one.text == text).unwrap();
    assert!(place("Always use npm in web/.") < place("Always use pnpm in web/."));
}

#[test]
fn a_newer_layout_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (a); PRAGMA user_version = 9;").unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let (memories, _) = with_topics(folder.path());
    let error = memories.add(&fact("Something to keep.", FACT)).unwrap_err().to_string();
    assert!(error.contains("newer version"), "{error}");
    assert!(memories.recall("anything", 600, &Shown::nothing()).memories.is_empty());
    let after = fs::read(&path).unwrap();
    assert_eq!(
        before[100..],
        after[100..before.len()],
        "only the journal mode in the header may differ"
    );
}

#[test]
fn what_is_refused_is_not_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = memories(folder.path(), Meaning::None);
    memories.add(&fact("Something to keep.", FACT)).unwrap();
    let secret = format!("The key is sk-ant-{} and works.", "a1B2".repeat(8));
    let error = memories.add(&fact(&secret, FACT)).unwrap_err();
    assert!(matches!(&error, MemoryError::Refused(why) if !why.contains("sk-ant")), "{error}");
    let remembered = memories
        .remember(&[
            fact(&secret, FACT),
            fact("Short", FACT),
            fact(&"x ".repeat(2000), FACT),
            fact("Kept as well.", FACT),
        ])
        .unwrap();
    assert_eq!((remembered.new, remembered.refused.len()), (1, 3));
    assert!(!holds(&bytes_below(folder.path()), "sk-ant"));
}

#[test]
fn hostile_questions_are_only_questions() {
    let folder = tempfile::tempdir().unwrap();
    let (memories, _) = memories(folder.path(), Meaning::Given(Arc::new(Topics)));
    memories.add(&fact("Postgres runs on port 5433.", FACT)).unwrap();
    for query in [
        "\"",
        "* OR *",
        "NEAR(a b)",
        "text:postgres",
        "'; DROP TABLE memories; --",
        "^a -b (",
        "\0\u{1}",
        "a\"b\"\"c",
    ] {
        memories.search(query, 5).unwrap();
        memories.recall(query, 600, &Shown::nothing());
    }
    assert_eq!(memories.list(None, 5).unwrap().len(), 1);
    assert_eq!(memories.search(&"postgres ".repeat(20_000), 5).unwrap().memories.len(), 1);
}
