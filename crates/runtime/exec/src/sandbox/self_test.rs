//! Each layer proves itself: alone, it refuses for real what works without it.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Bounds, Layers, Sandbox};
use crate::command::bash;
use crate::executor::Executor;

/// How long one command of the test may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a layer has to refuse.
#[derive(Clone, Copy)]
enum ProbeAct {
    /// Writing beside the root; writing into it must work.
    Write,
    /// Making an internet socket.
    Socket,
    /// Executing a program that is not named.
    Execute,
}

/// Tests every layer in a new directory below `scratch`, which is removed afterwards. Each result has
/// the name of its layer: `Landlock`, `programs` (Landlock, for commands that may execute only named
/// programs), `seccomp`, `bubblewrap`.
pub async fn self_test(
    executor: &Executor,
    scratch: &Path,
) -> Vec<(&'static str, Result<(), String>)> {
    let found = executor.probe().await;
    let none = Layers::default();
    let (landlock, only) = (found.landlock.map(drop), Layers { landlock: true, ..none });
    let layers = [
        ("Landlock", landlock.clone(), only, ProbeAct::Write),
        ("programs", landlock, only, ProbeAct::Execute),
        ("seccomp", found.seccomp, Layers { seccomp: true, ..none }, ProbeAct::Socket),
        (
            "bubblewrap",
            found.bubblewrap.map(drop),
            Layers { bubblewrap: true, ..none },
            ProbeAct::Write,
        ),
    ];
    let mut results = Vec::new();
    for (name, found, layers, act) in layers {
        let result = match found {
            Ok(()) => test(executor, scratch, layers, act).await,
            Err(reason) => Err(reason),
        };
        results.push((name, result));
    }
    results
}

async fn test(
    executor: &Executor,
    scratch: &Path,
    layers: Layers,
    act: ProbeAct,
) -> Result<(), String> {
    let place = ProbePlace::new(scratch)?;
    let free = place.attempt(executor, act, None).await?;
    if !free {
        return Err("the test proves nothing: the action also fails without the layer".into());
    }
    place.clear();
    match place.attempt(executor, act, Some(layers)).await? {
        true => Err("it does not work: an action that it has to refuse succeeded".into()),
        false => Ok(()),
    }
}

struct ProbePlace {
    folder: PathBuf,
    root: PathBuf,
    temp: PathBuf,
}

impl ProbePlace {
    fn new(scratch: &Path) -> Result<Self, String> {
        let words =
            |error: std::io::Error| format!("{} cannot be used: {error}", scratch.display());
        let scratch = scratch.canonicalize().map_err(words)?;
        let folder = scratch.join(format!("self-test-{}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let (root, temp) = (folder.join("root"), folder.join("temp"));
        builder.create(&root).and_then(|()| builder.create(&temp)).map_err(words)?;
        Ok(Self { folder, root, temp })
    }

    fn clear(&self) {
        let _ = std::fs::remove_file(self.folder.join("outside"));
        let _ = std::fs::remove_file(self.root.join("inside"));
        let _ = std::fs::remove_file(self.root.join("executed"));
    }

    /// Whether the act was done.
    async fn attempt(
        &self,
        executor: &Executor,
        act: ProbeAct,
        layers: Option<Layers>,
    ) -> Result<bool, String> {
        let script = match act {
            ProbeAct::Write => "echo x > inside; echo x > ../outside",
            // Nobody listens there: it is refused by the other side, unless it never gets so far.
            ProbeAct::Socket => "echo x > inside; : </dev/tcp/127.0.0.1/1",
            ProbeAct::Execute => {
                "echo x > inside; /bin/cat inside > /dev/null && echo x > executed"
            }
        };
        let mut command = bash(script, &self.root, vec![("LC_ALL".into(), "C".into())]);
        command.time_limit = Some(PATIENCE);
        command.sandbox = layers.map(|layers| Arc::new(self.sandbox(layers, act)));
        let finished = executor.run(command, |_| {}).await.map_err(|error| error.to_string())?;
        let text = finished.output.to_text();
        if !self.root.join("inside").exists() {
            return Err(format!("it refuses too much: {}", text.trim()));
        }
        match act {
            ProbeAct::Write => Ok(self.folder.join("outside").exists()),
            ProbeAct::Socket => Ok(!text.contains("Operation not permitted")),
            ProbeAct::Execute => Ok(self.root.join("executed").exists()),
        }
    }

    fn sandbox(&self, layers: Layers, act: ProbeAct) -> Sandbox {
        let named = Bounds { programs: Some(Vec::new()), ..Bounds::default() };
        Sandbox {
            writable: vec![self.root.clone()],
            readable: Vec::new(),
            homes: Vec::new(),
            hidden: Vec::new(),
            frozen: Vec::new(),
            temp: self.temp.clone(),
            network: false,
            layers,
            bounds: matches!(act, ProbeAct::Execute).then_some(named),
        }
    }
}

impl Drop for ProbePlace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
