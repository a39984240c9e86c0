//! Section B of the fault corpus through the built program: the scripted model calls, real processes and files answer.
//! What must hold after every run is checked by `sound`, as for section A.

mod commands;
mod disk;
mod files;
pub mod namespace;

use crate::faults_model::sound;
use crate::support::{Ran, World, finish};
use ostler_model_server::{Reply, Script, calls, text};
use serde_json::{Value, json};
use std::path::Path;

const GO: [&str; 6] =
    ["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"];

/// A result as the model got it.
#[derive(Debug)]
pub struct Told {
    pub text: String,
    pub is_error: bool,
}

impl Told {
    pub fn of(result: &Value) -> Self {
        let text =
            result["content"].as_str().map_or_else(|| result["content"].to_string(), str::to_owned);
        Told { text, is_error: result["is_error"] == true }
    }
}

pub fn bash(command: &str) -> Reply {
    calls([("Bash", json!({ "command": command }))])
}

/// Runs one call, lets the caller look around while the next request waits, and ends the turn.
pub fn called(input: Value, look: impl FnOnce(&World, u32)) -> Told {
    let script = Script::new().answer(calls([("Bash", input)])).answer(text("ok").due_at("hold"));
    let world = World::new(script);
    let child = world.command(&GO).spawn().unwrap();
    let pid = child.id();
    let running = std::thread::spawn(move || finish(child));
    crate::support::wait(world.server.gate("hold").reached()).unwrap();
    look(&world, pid);
    world.server.gate("hold").release();
    let ran = running.join().unwrap();
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "completed"), "{ran:?}");
    sound(&world, &ran);
    Told::of(world.server.requests()[1].tool_results()[0])
}

/// A run that ends well; all results of all calls, in order.
pub fn completes(
    script: Script,
    prepare: impl FnOnce(&World),
    args: &[&str],
) -> (World, Ran, Vec<Told>) {
    let world = World::new(script);
    prepare(&world);
    let ran = finish(world.command(args).spawn().unwrap());
    assert_eq!((ran.code, ran.terminal().as_str()), (Some(0), "completed"), "{ran:?}");
    let told = results(&world);
    sound(&world, &ran);
    (world, ran, told)
}

pub fn results(world: &World) -> Vec<Told> {
    let requests = world.server.requests();
    requests.iter().flat_map(|request| request.tool_results()).map(Told::of).collect()
}

/// Rows about what is not there yet.
const NOT_BUILT: [(&str, &str); 0] = [];

#[test]
fn every_row_of_the_corpus_has_its_test() {
    let corpus = include_str!("../../../../../fixtures/corpus/faults.md");
    let (_, rest) = corpus.split_once("## B. ").expect("section B");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| B")?.split(' ').next()).collect();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tests = sources(&crates);
    let tested = |row: &str| {
        let named = [format!("fn b{row}_"), format!("/ B{row}:"), format!("row B{row})")];
        tests.iter().any(|text| named.iter().any(|name| text.contains(name)))
    };
    let missing: Vec<&str> = rows.iter().copied().filter(|row| !tested(row)).collect();
    assert_eq!(missing, NOT_BUILT.map(|(row, _)| row));
    println!(
        "fault rows tested: {} of section B; not built: {NOT_BUILT:?}",
        rows.len() - missing.len()
    );
}

/// The texts of all tests.
fn sources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && path.to_str().unwrap().contains("/tests/")
        {
            found.push(std::fs::read_to_string(path).unwrap());
        }
    }
    found
}
