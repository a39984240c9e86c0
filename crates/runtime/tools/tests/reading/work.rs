//! What the tables know to be read-only does the same with its policy as without a sandbox.

use crate::lines::{CHANGING, SAME};
use crate::support::{Desk, text};
use ostler_exec::{Executor, SupervisorProgram};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

const EVERYDAY: &str = include_str!("../../../../../fixtures/corpus/everyday.jsonl");

/// The programs of the coreutils alone are more.
const FEWEST_PROGRAMS: usize = 50;

/// How often a line is tried whose output differs.
const TRIES: usize = 8;

/// Prepares the workspace: some files, archives, a repository with two commits and a change.
const SETUP: &str = "
printf 'one 1\\ntwo 2\\nthree 3\\n' > a.txt; printf 'one 1\\ntwo 22\\n' > b.txt
mkdir -p src tests docs; printf 'fn main() {}\\n// two\\n' > src/main.rs; cp src/main.rs src/lib.rs
echo '# Title' > README.md; echo '{\"a\": 1, \"name\": \"x\"}' > data.json; cp data.json package.json
printf '[package]\\nname = \"x\"\\n' > Cargo.toml; echo 'all:' > Makefile; cp a.txt log.txt; cp a.txt data.csv
tar cf a.tar a.txt; gzip -k a.tar; bzip2 -k a.tar; xz -k a.tar
git init -q -b main; git config user.name x; git config user.email x@x.org
git add a.txt src; git commit -qm first; echo more >> src/main.rs; git add .; git commit -qm second; echo two >> a.txt
";

pub fn desk() -> Desk {
    let path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
    let environment = [("PATH", path), ("HOME", "/nonexistent")];
    let environment = environment.map(|(name, value)| (name.into(), value.into())).to_vec();
    Desk::new(Executor::new(SupervisorProgram::this_binary([crate::SUPERVISE])), environment)
}

pub async fn run(desk: &Desk, command: &str, outside: bool) -> String {
    text(
        &desk.call("Bash", json!({"command": command, "dangerouslyDisableSandbox": outside})).await,
    )
}

/// The programs of a line that is proved, if all of them are installed.
fn installed(line: &str) -> Result<BTreeSet<String>, String> {
    let commands = ostler_shell::steps(line);
    if !commands.only_reads() {
        return Err(format!("{line}: it is not proved"));
    }
    let names = commands.programs().ok_or(format!("{line}: its programs are not known"))?;
    let places = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(Path::new);
    let missing = names.iter().find(|name| !places.iter().any(|at| at.join(name).exists()));
    match missing {
        Some(name) => Err(format!("SKIPPED {line}: {name} is not installed")),
        None => Ok(names.into_iter().map(str::to_owned).collect()),
    }
}

pub async fn check() -> Vec<String> {
    let desk = desk();
    let made = run(&desk, SETUP, true).await;
    let mut faults = Vec::new();
    let mut programs = BTreeSet::new();
    for line in SAME.iter().chain(CHANGING) {
        match installed(line) {
            Ok(names) => programs.extend(names),
            Err(why) if why.starts_with("SKIPPED") => {
                println!("{why}");
                continue;
            }
            Err(why) => {
                faults.push(why);
                continue;
            }
        }
        let changing = CHANGING.contains(line);
        match compare(&desk, line, changing).await {
            Ok(free) if free.starts_with("Exit code") => {
                faults.push(format!("{line} fails without a sandbox: {free} (setup: {made})"));
            }
            Ok(_) => {}
            Err(fault) => faults.push(fault),
        }
    }
    let (lines, others) = everyday(&desk, &mut faults).await;
    programs.extend(others);
    println!(
        "work: {} programs, {} lines of ours, {lines} of everyday",
        programs.len(),
        SAME.len()
    );
    if programs.len() < FEWEST_PROGRAMS {
        faults.push(format!("only {} programs were tried: {programs:?}", programs.len()));
    }
    faults
}

/// What a line prints without a sandbox, if it prints the same with its policy. Some lines show what changes all the
/// time: it is enough if both agree once, or if they end alike where no two runs agree at all. `changing` ones agree if
/// they succeed.
async fn compare(desk: &Desk, line: &str, changing: bool) -> Result<String, String> {
    let mut tried = BTreeSet::new();
    let ending = |text: &str| text.lines().next().unwrap_or_default().starts_with("Exit code");
    let (mut free, mut held) = (String::new(), String::new());
    for _ in 0..TRIES {
        (free, held) = (run(desk, line, true).await, run(desk, line, false).await);
        if free == held || changing && !ending(&held) {
            return Ok(free);
        }
        tried.insert(free.clone());
    }
    match tried.len() > 1 && ending(&free) == ending(&held) {
        true => Ok(free),
        false => Err(format!("{line}\n  without: {free}\n  with its policy: {held}")),
    }
}

/// Every line of the everyday corpus that is proved and runs without a question, whether it finds what it looks for or not.
async fn everyday(desk: &Desk, faults: &mut Vec<String>) -> (usize, BTreeSet<String>) {
    let mut programs = BTreeSet::new();
    let mut count = 0;
    for case in EVERYDAY.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let line = case["input"]["command"].as_str().unwrap_or_default();
        let (Ok(names), Some("allow")) = (installed(line), case["expect"].as_str()) else {
            continue;
        };
        count += 1;
        programs.extend(names);
        faults.extend(compare(desk, line, false).await.err());
    }
    (count, programs)
}
