//! The story of a team: an explorer finds the work, seven tasks are put on the board, two workers do them in worktrees of
//! their own while a writer describes the result, and the merge queue brings everything together.

use super::claims::so;
use super::place::Place;
use super::program_runs::{ProgramRuns, Until};
use super::stage::Stage;
use super::team_model::{self, COMMANDS};
use anyhow::{Context, Result, bail};
use ostler_model_server::ModelServer;
use ostler_profile::Environment;
use serde_json::Value;

const PROMPT: &str = "Make every command check its arguments. Let the team do it.";
const CHECK: &str = "bash test.sh";
const TEAM: &str = "teammates:\n  - name: explorer\n  - name: writer\n    isolation: worktree\n";
pub const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../demo/team/project/README.md")),
    ("test.sh", include_str!("../../../demo/team/project/test.sh")),
    ("lib/add.sh", include_str!("../../../demo/team/project/lib/add.sh")),
    ("lib/show.sh", include_str!("../../../demo/team/project/lib/show.sh")),
    ("lib/drop.sh", include_str!("../../../demo/team/project/lib/drop.sh")),
    ("lib/find.sh", include_str!("../../../demo/team/project/lib/find.sh")),
    ("lib/sort_by.sh", include_str!("../../../demo/team/project/lib/sort_by.sh")),
    ("lib/count.sh", include_str!("../../../demo/team/project/lib/count.sh")),
];

pub async fn story(
    init: &ostler::Init,
    environment: &Environment,
    place: &Place,
    stage: &mut Stage,
) -> Result<()> {
    let server = ModelServer::start(team_model::script(stage.paced))?;
    std::fs::create_dir_all(place.home())?;
    std::fs::write(place.home().join("team.yaml"), TEAM)?;
    let runs = ProgramRuns::new(init, environment, place, server.url())?;
    stage.tell(&format!(
        "A scripted model on {}; everything else is real: the commands below, git, the board. Nothing leaves this machine.",
        server.url()
    ))?;
    the_lead(&runs, stage).await?;
    the_workers(&runs, stage).await?;
    the_merge(&runs, stage).await?;
    if let Some(reason) = server.rejected().first() {
        bail!("the model server refused a request: {reason}");
    }
    server.shutdown().await;
    everything_is_on_main(init, environment, place).await?;
    stage.tell("Verified in git: main has all eight branches, and the test says that 6 of 6 commands check their arguments.")
}

async fn the_lead(runs: &ProgramRuns<'_>, stage: &mut Stage) -> Result<()> {
    let about = "The lead asks the explorer what is missing, puts seven tasks on the board, and gives the writer one more.";
    stage.part("1 · A lead and two teammates", about).await?;
    let words = ["-p", PROMPT, "--session-id", team_model::LEAD];
    let turn = runs.session(stage, &words, Until::Finished).await?;
    let added = turn.calls.iter().filter(|call| call.name == "BoardAdd" && !call.failed);
    so(added.count() == 7, "the lead put seven tasks on the board")?;
    let tasks = tasks(runs).await?;
    let waiting = tasks.iter().filter(|task| has_all_before_it(task)).count();
    so(tasks.len() == 7 && waiting == 1, "the board has seven tasks, and one waits for six")?;
    stage.tell("Verified on the board: seven tasks, of which one waits for the other six.")
}

fn has_all_before_it(task: &Value) -> bool {
    task["depends_on"].as_array().is_some_and(|before| before.len() == COMMANDS.len())
}

async fn the_workers(runs: &ProgramRuns<'_>, stage: &mut Stage) -> Result<()> {
    let about = "Each claims a task, works in a git worktree of its own, and is checked by the test before it reports.";
    stage.part("2 · Two workers", about).await?;
    let words = ["worker", "--count", "2", "--once", "--check", CHECK];
    let words: Vec<&str> = words.into_iter().chain(super::program_runs::ALLOWED).collect();
    so(runs.command(stage, &words).await? == 0, "the workers did what there was to do")?;
    let tasks = tasks(runs).await?;
    so(tasks.iter().all(|task| task["status"] == "done"), "all seven tasks are done")?;
    let finished = |task: &Value| task["changed_ms"].as_u64().unwrap_or(u64::MAX);
    let last = tasks.iter().max_by_key(|task| finished(task)).context("no task")?;
    so(has_all_before_it(last), "the task that waited for six was done last")?;
    stage.tell("Verified on the board: all are done, and the one that waited came last.")
}

async fn the_merge(runs: &ProgramRuns<'_>, stage: &mut Stage) -> Result<()> {
    let about = "Two tasks changed README.md. The queue merges all branches in memory and runs the test on the result.";
    stage.part("3 · One overlap, one merge", about).await?;
    so(
        runs.command(stage, &["worktrees", "merge", "--all", "--dry-run"]).await? == 0,
        "git can merge the overlap",
    )?;
    let words = ["worktrees", "merge", "--all", "--check", CHECK];
    so(runs.command(stage, &words).await? == 0, "all branches were merged")?;
    runs.command(stage, &["worktrees", "prune"]).await.map(drop)
}

async fn tasks(runs: &ProgramRuns<'_>) -> Result<Vec<Value>> {
    let listed = runs.json(&["tasks", "list"]).await?;
    Ok(listed["tasks"].as_array().context("a list of tasks")?.clone())
}

/// Git and the test say what happened, not the program.
async fn everything_is_on_main(
    init: &ostler::Init,
    environment: &Environment,
    place: &Place,
) -> Result<()> {
    let run = async |script: &str| {
        ostler::run_command(init, script, &place.project, environment.for_commands(&[])).await
    };
    let tested = run(CHECK).await?;
    so(tested.contains("6 of 6 check"), "every command checks its arguments on main")?;
    let files = run("git ls-tree --name-only -r main").await?;
    for name in ["CHANGES.md", "docs/arguments.md"] {
        so(files.lines().any(|line| line == name), &format!("main has {name}"))?;
    }
    so(run("git status --porcelain").await?.is_empty(), "the checkout is clean")?;
    let left = run("git worktree list").await?;
    so(left.lines().count() == 1, "no worktree is left")
}
