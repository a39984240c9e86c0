//! `ostler demo`: the ordinary product against a scripted model, in a small broken repository.

use crate::args::DemoArgs;
use crate::environment::Environment;
use crate::exit::{self, Code, Wrong};
use crate::output::paint::Paint;
use crate::output::screen::Screen;
use crate::output::{text::failure, usage};
use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use ostler::{Engine, Event, Finished, Options};
use ostler_model_server::{ModelServer, Script};
use std::path::Path;
use tokio::signal::unix::{SignalKind, signal};

const SCRIPT: &str = include_str!("../../demo/script.yaml");
const PROMPT: &str = "The test fails. Find out why and mend it.";
const FILES: [(&str, &str); 4] = [
    ("README.md", include_str!("../../demo/project/README.md")),
    ("prices.txt", include_str!("../../demo/project/prices.txt")),
    ("test.sh", include_str!("../../demo/project/test.sh")),
    ("lib/total.sh", include_str!("../../demo/project/lib/total.sh")),
];
const COMMIT: &str = "git init -q -b main . && git add -A && \
    git -c user.name=demo -c user.email=demo@example.invalid commit -q -m 'Stable accounts'";

pub fn run(init: &ostler::Init, environment: &Environment, args: &DemoArgs) -> Result<Code> {
    let folder = tempfile::Builder::new().prefix("ostler-demo-").tempdir()?;
    let project = folder.path().join("project");
    for (name, text) in FILES {
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&project))?;
        std::fs::write(path, text)?;
    }
    let code = ostler::block_on(async {
        ostler::run_command(init, COMMIT, &project, environment.for_commands(&[]))
            .await
            .map_err(|error| Wrong::Config(format!("the demo needs bash and git: {error}")))?;
        story(init, environment, folder.path(), &project).await
    })??;
    let paint = Paint::for_terminal();
    if args.clean {
        folder.close()?;
    } else {
        let kept = folder.keep();
        Screen::new().line(
            &paint.dim(&format!("The repository and the session are in {}", kept.display())),
        )?;
    }
    Ok(code)
}

async fn story(
    init: &ostler::Init,
    environment: &Environment,
    home: &Path,
    project: &Path,
) -> Result<Code> {
    let server = ModelServer::start(Script::from_yaml(SCRIPT).context("the demo's script")?)?;
    let mut options = Options::new(project, ostler::api_key("demo", "scripted"));
    options.home = Some(home.join("ostler"));
    options.base_url = Some(server.url());
    options.model = "scripted-demo".into();
    options.environment = environment.for_commands(&[]);
    options.allow = vec!["Bash".into(), "Edit(./**)".into()];
    // A machine without bubblewrap shows the demo all the same, and says so.
    options.sandbox.accept_missing = true;
    let engine = Engine::open(init, options)?;
    let (mut screen, paint) = (Screen::new(), Paint::for_terminal());
    screen.line(&paint.dim(&format!(
        "A scripted model on {}; everything else is real. Nothing leaves this machine.",
        server.url()
    )))?;
    let layers = engine.confinement().summary();
    screen.line(&paint.dim(&format!("Commands run in a sandbox: {layers}.")))?;
    screen.line(&format!("{} {PROMPT}", paint.bold(">")))?;
    let finished = turn(&engine, &mut screen).await?;
    engine.close().await;
    screen.end_line()?;
    if let Some(line) = failure(&finished) {
        exit::warn(&line);
    }
    screen.line(&paint.dim(&usage::line(&finished)))?;
    let rejected = server.rejected();
    server.shutdown().await;
    match exit::of_turn(&finished) {
        Code::Done => {
            check(project, &rejected)?;
            Ok(Code::Done)
        }
        code => Ok(code),
    }
}

async fn turn(engine: &Engine, screen: &mut Screen) -> Result<Finished> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut stream = engine.submit(PROMPT);
    loop {
        tokio::select! {
            biased;
            _ = interrupts.recv() => engine.interrupt(),
            event = stream.next() => match event {
                Some(Event::Finished(finished)) => return Ok(finished),
                Some(event) => screen.event(&event)?,
                None => bail!("the turn ended without a word"),
            },
        }
    }
}

/// The demo is over when the work is done, not when the script has ended.
fn check(project: &Path, rejected: &[String]) -> Result<()> {
    if let Some(reason) = rejected.first() {
        bail!("the model server refused a request: {reason}");
    }
    let mended = std::fs::read_to_string(project.join("lib/total.sh"))?;
    if !mended.contains("sum + price") {
        bail!("the file was not mended");
    }
    Ok(())
}
