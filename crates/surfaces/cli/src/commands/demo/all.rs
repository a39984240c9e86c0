//! The story of everything in one session: plan, skill, agent, background job, board, teammate, worktree, compaction and
//! memory. The process is killed with SIGKILL at three points and the session resumed each time.

use super::all_model::{self, AllModel, KILLS, NOTE, SESSION, SUMMARISE, TITLE};
use super::claims::so;
use super::place::Place;
use super::program_runs::{ProgramRuns, Until};
use super::stage::{Stage, Turn};
use super::team;
use anyhow::{Context, Result, bail};
use ostler_model_server::ModelServer;
use ostler_profile::Environment;

pub const FILES: &[(&str, &str)] = team::FILES;

const PROMPT: &str = "Make the command add check its arguments: plan it, have it described, test it, and note how we test.";
const TEAM: &str = "teammates:\n  - name: writer\n    isolation: worktree\n";
/// Tokens; so few that the journals fill it.
const WINDOW: &str = "15000";

pub async fn story(
    init: &ostler::Init,
    environment: &Environment,
    place: &Place,
    stage: &mut Stage,
) -> Result<()> {
    let server = ModelServer::start(AllModel::default().script(stage.paced))?;
    std::fs::create_dir_all(place.home())?;
    std::fs::write(place.home().join("team.yaml"), TEAM)?;
    let runs = ProgramRuns::new(init, environment, place, server.url())?
        .with("OSTLER_CONTEXT_WINDOW", WINDOW);
    stage.tell(&format!(
        "A scripted model on {}; everything else is real, kill -9 included. Nothing leaves this machine.",
        server.url()
    ))?;
    let story = AllStory { init, environment, place, server: &server, runs: &runs };
    story.plan_and_look(stage).await?;
    story.delegate(stage).await?;
    story.summarize(stage).await?;
    story.finish(stage).await?;
    story.merge(stage).await?;
    if let Some(reason) = server.rejected().first() {
        bail!("the model server refused a request: {reason}");
    }
    server.shutdown().await;
    Ok(())
}

struct AllStory<'a> {
    init: &'a ostler::Init,
    environment: &'a Environment,
    place: &'a Place,
    server: &'a ModelServer,
    runs: &'a ProgramRuns<'a>,
}

impl AllStory<'_> {
    async fn plan_and_look(&self, stage: &mut Stage) -> Result<()> {
        let about = "The session plans, loads a skill, starts the test in the background and an explorer, and adds a task to the board.";
        stage.part("1 · Plan, skill, job, agent, board", about).await?;
        let gate = self.server.gate(KILLS[0]);
        let words = ["-p", PROMPT, "--session-id", SESSION];
        let turn = self.runs.session(stage, &words, Until::KilledAt(&gate)).await?;
        stage.killed()?;
        worked(&turn, &["TodoWrite", "Skill", "Bash", "Agent", "BoardAdd"])?;
        let tasks = self.runs.json(&["tasks", "list"]).await?;
        so(tasks["tasks"][0]["title"] == TITLE, "the task is on the board after the kill")?;
        stage
            .tell("Verified: the task is on the board, although the process that added it is dead.")
    }

    async fn delegate(&self, stage: &mut Stage) -> Result<()> {
        let about = "The session continues in the middle of its turn, and gives the writer a task. Then it is killed while the writer works.";
        stage.part("2 · A teammate", about).await?;
        let gate = self.server.gate(KILLS[1]);
        let words = ["-p", "--resume", SESSION];
        let turn = self.runs.session(stage, &words, Until::KilledAt(&gate)).await?;
        stage.killed()?;
        worked(&turn, &["Delegate"])?;
        let mail = self.runs.json(&["mail", "list"]).await?;
        so(mail.to_string().contains(all_model::WRITE), "the task is in the writer's mailbox")?;
        stage.tell("Verified: the writer's task is in its mailbox.")
    }

    async fn summarize(&self, stage: &mut Stage) -> Result<()> {
        let about = "The writer starts again in its worktree and reports. The session reads long files, and is killed while it summarizes the conversation.";
        stage.part("3 · A worktree, and a window that fills up", about).await?;
        let gate = self.server.gate(KILLS[2]);
        let words = ["-p", "--resume", SESSION];
        self.runs.session(stage, &words, Until::KilledAt(&gate)).await?;
        stage.killed()?;
        let subject = self.git("git log -1 --format=%s --all --not main").await?;
        so(!subject.trim().is_empty(), "the writer's work is a commit on its branch")?;
        so(
            !self.place.project.join("docs").exists(),
            "the writer changed nothing in the checkout",
        )?;
        stage.tell(
            "Verified in git: the writer's work is on its branch, and the checkout is as it was.",
        )
    }

    async fn finish(&self, stage: &mut Stage) -> Result<()> {
        let about = "The summary is written, and the session does the rest: a note in memory, the task of the board, the test.";
        stage.part("4 · Compaction, memory, the task itself", about).await?;
        let words = ["-p", "--resume", SESSION];
        let turn = self.runs.session(stage, &words, Until::Finished).await?;
        worked(&turn, &["Memory", "BoardNext", "Edit", "Bash", "BoardUpdate", "TodoWrite"])?;
        so(turn.result("Bash", "1 of 6 check").is_some(), "the test passes")?;
        let tasks = self.runs.json(&["tasks", "list"]).await?;
        so(tasks["tasks"][0]["status"] == "done", "the board says that the task is done")?;
        let notes = self.runs.json(&["memory", "list"]).await?;
        so(notes.to_string().contains(NOTE), "the note is in memory")?;
        self.told_once()?;
        stage.tell("Verified: the task is done on the board, the note is in memory, and the end of the job and the writer's report were each reported once.")
    }

    /// In each request, whatever was repeated after a kill.
    fn told_once(&self) -> Result<()> {
        let requests = self.server.requests();
        let most = |text: &str| {
            let bodies = requests.iter().map(|one| String::from_utf8_lossy(&one.body));
            bodies.map(|body| body.matches(text).count()).max().unwrap_or_default()
        };
        so(most(all_model::WRITTEN) == 1, "the writer's report was delivered once")?;
        so(most("</task-notification>") == 1, "the end of the job was told once")?;
        let asked =
            requests.iter().filter(|one| String::from_utf8_lossy(&one.body).contains(SUMMARISE));
        so(asked.count() == 2, "the summary was asked for again after the kill")
    }

    async fn merge(&self, stage: &mut Stage) -> Result<()> {
        stage
            .part(
                "5 · The merge",
                "The writer's branch is merged into main, and the test runs on the result.",
            )
            .await?;
        let words = ["worktrees", "merge", "--all", "--check", "bash test.sh"];
        so(self.runs.command(stage, &words).await? == 0, "the writer's branch was merged")?;
        self.runs.command(stage, &["worktrees", "prune"]).await?;
        let files = self.git("git ls-tree -r --name-only main").await?;
        so(files.contains("docs/arguments.md"), "main has what the writer wrote")?;
        let tested = self.git("bash test.sh").await?;
        so(tested.contains("1 of 6 check"), "add checks its arguments on main")?;
        so(self.git("git status --porcelain").await?.is_empty(), "the checkout is clean")?;
        stage.tell("Verified in git: main has the work of the session and of the writer.")
    }

    async fn git(&self, script: &str) -> Result<String> {
        let environment = self.environment.for_commands(&[]);
        let ran = ostler::run_command(self.init, script, &self.place.project, environment).await;
        ran.with_context(|| format!("running {script}"))
    }
}

fn worked(turn: &Turn, tools: &[&str]) -> Result<()> {
    for tool in tools {
        let of_tool = || turn.calls.iter().filter(|call| call.name == *tool);
        let done = of_tool().any(|call| !call.failed);
        let why = of_tool().map(|call| call.result.as_str()).collect::<Vec<_>>().join("; ");
        so(done, &format!("{tool} was called and succeeded ({why})"))?;
    }
    Ok(())
}
