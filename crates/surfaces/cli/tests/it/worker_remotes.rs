//! Workers on another host push their branches, and this host merges what the board says is done.

use crate::support::{Ran, World, finish};
use crate::worker_trees::at;
use crate::workers::{bash, command, event, events, git, is_about, world};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A project whose remote is a bare repository, with a second clone for the other host.
struct Hosts {
    world: World,
    place: PathBuf,
    board: String,
}

impl Hosts {
    fn new(world: World) -> Hosts {
        let place = world.home().parent().unwrap().to_owned();
        at(&place, &["init", "-q", "--bare", "-b", "main", "origin.git"]);
        git(&world, &["remote", "add", "origin", place.join("origin.git").to_str().unwrap()]);
        git(&world, &["push", "-q", "origin", "main"]);
        at(&place, &["clone", "-q", "origin.git", "other"]);
        std::fs::create_dir_all(world.home()).unwrap();
        let board = place.join("board.db").to_str().unwrap().to_owned();
        Hosts { world, place, board }
    }

    fn tasks(&self, args: &[&str]) -> Value {
        let ran = self.world.run(&[&["tasks"], args, &["--board", &self.board, "--json"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    fn add(&self, args: &[&str]) -> String {
        self.tasks(&[&["add"], args].concat())["id"].as_str().unwrap().to_owned()
    }

    /// A worker on the other host, until nothing is left.
    fn work(&self, args: &[&str]) -> Ran {
        let words = ["--once", "--push", "origin", "--board", &self.board];
        let mut command = command(&self.world, &[&words, args].concat());
        command.current_dir(self.place.join("other"));
        command.env("OSTLER_HOME", self.place.join("home-of-other"));
        finish(command.spawn().unwrap())
    }

    fn merge(&self, args: &[&str]) -> Ran {
        let words = ["worktrees", "merge", "--from", "origin", "--board", &self.board];
        self.world.run(&[&words, args].concat())
    }

    #[track_caller]
    fn merged(&self, args: &[&str], code: i32) -> Value {
        let ran = self.merge(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let refs = git(&self.world, &["for-each-ref", "refs/ostler", "refs/heads/ostler"]);
        assert_eq!(refs, "", "nothing is left of what was fetched, and no branch was made");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Somebody pushes a branch by hand. Gives its commit.
    fn push(&self, branch: &str, file: &str) -> String {
        let other = self.place.join("other");
        at(&other, &["checkout", "-q", "--detach", "origin/main"]);
        std::fs::write(other.join(file), branch).unwrap();
        at(&other, &["add", "."]);
        at(&other, &["commit", "-qm", branch]);
        at(&other, &["push", "-q", "-f", "origin", &format!("HEAD:refs/heads/{branch}")]);
        at(&other, &["checkout", "-q", "main"]);
        at(&other, &["rev-parse", &format!("origin/{branch}")])
    }

    /// Claims a task, and gives its fence.
    fn claim(&self, id: &str) -> String {
        self.tasks(&["claim", id, "--worker", "w"])["fence"].to_string()
    }

    fn finish(&self, id: &str, fence: &str, result: &str) {
        self.tasks(&["finish", id, "--fence", fence, "--result", result]);
    }

    fn files(&self) -> String {
        git(&self.world, &["ls-tree", "--name-only", "main"]).replace('\n', " ")
    }
}

fn reasons(report: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let all = report["left_out"].as_array().unwrap_or_else(|| panic!("{report}"));
    all.iter().map(|left| (word(&left["branch"]), word(&left["reason"]))).collect()
}

fn outcomes(report: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let all = report["branches"].as_array().unwrap();
    all.iter().map(|branch| (word(&branch["branch"]), word(&branch["outcome"]))).collect()
}

#[test]
fn what_workers_of_another_host_have_done_is_merged_here() {
    let hosts = Hosts::new(world(|request, answers| {
        let is = |words: &str| is_about(request, words);
        match answers {
            0 if is("Merge ostler/") => bash("printf 'left\\nright\\n' > file"),
            0 if is("attempt=\\\"2\\\"") => bash("echo x > good"),
            0 if is("Left") => bash("echo left > file"),
            0 if is("Right") => bash("echo right > file; echo x > beside"),
            0 => bash("echo x > bad"),
            _ => text("Done."),
        }
    }));
    hosts.add(&["Left"]);
    let right = hosts.add(&["Right"]);
    let bad = hosts.add(&["Third"]);
    let ran = hosts.work(&["--check", "test ! -e bad"]);
    assert_eq!((events(&ran, "finished").len(), events(&ran, "failed").len()), (2, 1), "{ran:?}");
    hosts.push("ostler/feedbeef-1-planted", "planted");
    hosts.push("ostler/Of-Somebody", "planted");
    let dry = hosts.merged(&["--all", "--dry-run"], 0);
    assert_eq!(dry["overlaps"].as_array().unwrap().len(), 1, "{dry}");
    assert_eq!(hosts.files(), ".gitignore file");

    let report = hosts.merged(&["--all"], 1);
    let conflict = format!("ostler/{right}-1-right");
    let found: Vec<String> = outcomes(&report).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(found, ["merged", "conflict"], "in the order in which they were done: {report}");
    let id = report["tasks"][0]["task"].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    assert_eq!(report["tasks"], json!([{"branch": conflict, "task": id, "status": "pending"}]));
    assert_eq!(report["from"], "origin");
    let unfinished = format!("ostler/{bad}-1-third");
    let mut left_out = reasons(&report);
    left_out.sort();
    let mut expected = [
        ("ostler/Of-Somebody".to_owned(), "its name is not one that Ostler gives".to_owned()),
        (unfinished.clone(), format!("task {bad} is failed")),
        ("ostler/feedbeef-1-planted".to_owned(), "no task of the board has this branch".to_owned()),
    ];
    expected.sort();
    assert_eq!(left_out, expected);
    assert_eq!(hosts.files(), ".gitignore file", "neither planted nor bad");

    // The other host puts it right, on top of what was merged, and does the failed task again.
    git(&hosts.world, &["push", "-q", "origin", "main"]);
    hosts.tasks(&["retry", &bad]);
    let ran = hosts.work(&[]);
    assert_eq!(events(&ran, "finished").len(), 2, "{ran:?}");
    let ran = hosts.merge(&["--all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told =
        format!("{unfinished} was left out: it is attempt 1 of task {bad}, and attempt 2 is");
    assert!(ran.stdout.contains(&told), "{ran:?}");
    assert!(ran.stdout.ends_with("git push origin main\n"), "{ran:?}");
    assert_eq!(hosts.files(), ".gitignore beside file good");
    assert_eq!(git(&hosts.world, &["show", "main:file"]), "left\nright");
    let report = hosts.merged(&["--all"], 0);
    assert_eq!(report["branches"], json!([]), "what is merged is not looked at again");
    hosts.world.assert_never_rejected();
}

/// Who can push chooses branches, and a model writes results; the board and the commit decide.
#[test]
fn a_branch_that_the_board_does_not_record_is_not_merged() {
    let world = World::new(Script::new());
    git(&world, &["init", "-q", "-b", "main", "."]);
    world.file("file", "x\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-qm", "first"]);
    let hosts = Hosts::new(world);
    let result =
        |branch: &str, commit: &str| format!("Done.\n\nBranch: {branch}\nCommit: {commit}");
    let mut branches = Vec::new();
    for title in ["honest", "moved", "lying", "running", "unrecorded"] {
        let id = hosts.add(&[title]);
        let branch = format!("ostler/{id}-1-{title}");
        let (commit, fence) = (hosts.push(&branch, title), hosts.claim(&id));
        match title {
            "honest" | "moved" => hosts.finish(&id, &fence, &result(&branch, &commit)),
            "lying" => hosts.finish(&id, &fence, &result(&branch, &"a".repeat(40))),
            // The claim of a model, and then what the worker says.
            "unrecorded" => {
                let text = format!("{}\n\nNo files were changed.", result(&branch, &commit));
                hosts.finish(&id, &fence, &text);
            }
            _ => {}
        }
        branches.push((id, branch));
    }
    hosts.push(&branches[1].1, "evil");
    let report = hosts.merged(&["--all"], 0);
    assert_eq!(outcomes(&report), [(branches[0].1.clone(), "merged".to_owned())], "{report}");
    let found = reasons(&report);
    for ((id, branch), words) in branches.iter().zip([
        "",
        "it has moved: the result of task ",
        "names commit aaaaaaaaaa",
        "is in progress",
        "does not end with this branch and its commit",
    ]) {
        let reason = found.iter().find(|(left, _)| left == branch).map(|(_, reason)| reason);
        let is_as_expected =
            |reason: &String| reason.contains(words) && reason.contains(id.as_str());
        assert!(reason.map_or(words.is_empty(), is_as_expected), "{branch} {words}: {found:?}");
    }
    assert_eq!(hosts.files(), "file honest");

    // By name, too.
    let running = hosts.merge(&[&branches[3].1]);
    assert_eq!(running.code, Some(1), "{running:?}");
    assert!(running.stdout.contains("was left out: task "), "{running:?}");
    let name = branches[0].1.strip_prefix("ostler/").unwrap();
    assert_eq!(hosts.merged(&[name], 0)["branches"][0]["outcome"], "already_merged");
    let nothing = hosts.merge(&["no-such-1-branch"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.stdout.contains("the remote has no branch of a worker"), "{nothing:?}");
    let nowhere = hosts.world.run(&["worktrees", "merge", "--from", "nowhere", "--all"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(nowhere.stderr.contains("git has no remote called \"nowhere\""), "{nowhere:?}");
    let both = hosts.merge(&["--all", "--commit"]);
    assert_eq!(both.code, Some(2), "there are no files to commit: {both:?}");
}

/// What is checked is what was fetched, and what fails goes back to the board.
#[test]
fn a_check_that_fails_returns_the_work_of_another_host() {
    let hosts = Hosts::new(world(|_, answers| match answers {
        0 => bash("echo x > bad"),
        _ => text("Done."),
    }));
    let id = hosts.add(&["Something"]);
    let ran = hosts.work(&[]);
    assert_eq!(event(&ran, "finished")["task"], json!(id), "{ran:?}");
    // What a merge that was killed has left goes, too.
    git(&hosts.world, &["update-ref", "refs/ostler/incoming/origin/9-1-left", "main"]);
    let report = hosts.merged(&["--all", "--check", "test ! -e bad"], 1);
    assert_eq!(report["branches"][0]["outcome"], "red", "{report}");
    let task = report["tasks"][0]["task"].as_str().unwrap();
    assert_eq!(hosts.tasks(&["show", task])["depends_on"], json!([id]));
    assert_eq!(hosts.files(), ".gitignore file");
}
