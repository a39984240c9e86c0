//! For the tests: a supervisor, and clients that run in a process of their own because they are killed, wait for each
//! other, or live on a full disk.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use ostler_exec::{Executor, SupervisorProgram, supervise};
use ostler_worktrees::{
    Author, Check, CheckFuture, Git, GitLimits, MergeQueue, NewTree, ObjectId, Owner, OwnerKind,
    PruneOptions, QueueOptions, TreeLimits, Verdict, WorktreeSetup, Worktrees,
};
use std::io::Read;
use std::path::{Path, PathBuf};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == "supervise") {
        supervise();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Err(error) = runtime.block_on(work(&args)) {
        println!("error: {error}");
        std::process::exit(1);
    }
}

async fn work(args: &[&str]) -> Result<(), ostler_worktrees::WorktreeError> {
    let [what, repository, state, rest @ ..] = args else { std::process::exit(64) };
    let environment: Vec<_> = std::env::vars_os().collect();
    let executor = Executor::new(SupervisorProgram::this_binary(["supervise"]));
    let git = Git::find(executor, environment, GitLimits::default())?;
    let setup = WorktreeSetup {
        git,
        state: PathBuf::from(state),
        project: "project".into(),
        limits: TreeLimits::default(),
    };
    let trees = Worktrees::open(setup, Path::new(repository)).await?;
    match (*what, rest) {
        // Creates a tree and holds it until its input ends.
        ("create", [name]) => {
            let tree = trees.create(new_tree(name)).await?;
            println!("{}", tree.name());
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        // Creates a tree, writes a file, commits, and lets go.
        ("work", [name, file, text]) => {
            let tree = trees.create(new_tree(name)).await?;
            std::fs::write(tree.path().join(file), text).unwrap();
            trees.commit(&tree, "Work", &Author::default()).await?;
            trees.release(tree).await?;
        }
        ("merge", branches) => {
            let branches: Vec<String> = branches.iter().map(ToString::to_string).collect();
            let mut queue = MergeQueue::open(&trees, QueueOptions::new("main")).await?;
            let report = queue.run(&branches, Some(&mut NoRed)).await?;
            println!("{}", serde_json::to_string(&report).unwrap());
        }
        ("prune", []) => {
            let options = PruneOptions { ignored: true, ..PruneOptions::default() };
            let report = trees.prune(options, None).await?;
            println!("{}", serde_json::to_string(&report).unwrap());
        }
        _ => std::process::exit(64),
    }
    Ok(())
}

fn new_tree(name: &str) -> NewTree<'_> {
    let owner = Owner { kind: OwnerKind::Worker, id: "helper".into(), task: None };
    NewTree { name, owner, include: None, commands: None, now_ms: 1 }
}

/// Fails if a file called `red` is among the merged files.
struct NoRed;

impl Check for NoRed {
    fn check<'a>(&'a mut self, files: &'a Path, _commit: &'a ObjectId) -> CheckFuture<'a> {
        let is_red = files.join("red").exists();
        let verdict = if is_red { Verdict::Red { report: "red".into() } } else { Verdict::Green };
        Box::pin(std::future::ready(verdict))
    }
}
