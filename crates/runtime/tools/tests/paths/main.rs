//! The corpus of paths, on a real disk, as an ordinary user. Started with `supervise`, this program is the supervisor
//! of its own commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod observed_effects;
mod policy;
#[path = "../support/mod.rs"]
mod support;
mod world;

use std::process::{Command, ExitCode};
use std::time::Duration;
use world::{Case, World};

const SUPERVISE: &str = "supervise";
const CORPUS: &str = include_str!("../../../../../fixtures/corpus/paths.jsonl");
/// Lines of the corpus; a case that is lost would pass unseen.
const CASES: usize = 97;
/// A hang is a failure, not a wait.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SUPERVISE) {
        ostler_exec::supervise();
    }
    if rustix::process::geteuid().is_root() {
        return as_ordinary_user(&words);
    }
    let filter = words.into_iter().find(|word| !word.starts_with('-')).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let cases: Vec<Case> = CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), CASES);
    let (mut run, mut preferred, mut exceptions) = (0, 0, Vec::new());
    for case in cases.iter().filter(|case| case.id.contains(&filter)) {
        run += 1;
        match runtime.block_on(async { tokio::time::timeout(LIMIT, play(case)).await }) {
            Ok(Ok(verdict)) => preferred += usize::from(verdict == case.expect),
            Ok(Err(why)) => exceptions.push(format!("{}: {why}", case.id)),
            Err(_) => exceptions.push(format!("{}: it hangs", case.id)),
        }
    }
    for exception in &exceptions {
        println!("exception: {exception}");
    }
    let accepted = run - exceptions.len();
    println!(
        "paths: {run} cases, {accepted} accepted ({preferred} as preferred), {} exceptions",
        exceptions.len()
    );
    if exceptions.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Root reads and writes everything, so the corpus means little for root.
fn as_ordinary_user(words: &[String]) -> ExitCode {
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    let Some(setpriv) = setpriv else {
        println!("SKIPPED paths: running as root, and there is no setpriv to become somebody else");
        return ExitCode::SUCCESS;
    };
    let status = Command::new(setpriv)
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(words)
        .status()
        .unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The verdict, if it is one of those accepted and the world looks as it should afterwards.
async fn play(case: &Case) -> Result<&'static str, String> {
    let world = World::new(case);
    let (verdict, output) = world.play(case).await;
    if !case.accept.iter().any(|accepted| accepted == verdict) {
        return Err(format!("{verdict}, where only {:?} is accepted: {output}", case.accept));
    }
    observed_effects::check(case, &world, verdict, &output).await?;
    Ok(verdict)
}
