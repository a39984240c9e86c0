//! What an agent in a tree can do to the repository, the main checkout and other trees: nothing. As an ordinary user,
//! with the real kernel; every action is also shown to succeed without the sandbox.

use crate::ordinary_user;
use crate::world::{PATH, World, new_tree, write};
use ostler_exec::{Executor, Layers, Sandbox, bash};
use ostler_worktrees::{Author, Worktree, Worktrees};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Longer than anything here takes on a busy machine; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// In the directory of the tree. `$MAIN` and `$OTHER` are the main checkout and another tree, `$COMMON` the repository.
const ACTIONS: &[(&str, &str)] = &[
    ("branch -D", "git branch -D keep"),
    ("update-ref of another tree", "git update-ref refs/heads/ostler/other keep"),
    ("update-ref of the own branch", "git update-ref refs/heads/ostler/mine keep"),
    ("update-ref of the target", "git update-ref refs/heads/main keep"),
    ("gc", "git gc -q --prune=now"),
    ("stash drop", "git stash drop"),
    ("worktree remove", "git worktree remove --force \"$OTHER\""),
    ("worktree lock", "git worktree lock \"$OTHER\""),
    ("commit", "echo x > new; git add new && git -c user.name=n -c user.email=e@x commit -qm x"),
    ("settings", "git config core.pager evil"),
    ("hooks", "echo x > \"$COMMON/hooks/post-checkout\""),
    ("reset of the main checkout", "git -C \"$MAIN\" reset -q --hard keep"),
    ("write by an absolute path", "echo x > \"$MAIN/file\""),
    ("write by a relative path", "up=$(realpath --relative-to=. \"$MAIN\"); echo x > \"$up/file\""),
    ("write through a link", "ln -s \"$MAIN/file\" link && echo x > link"),
    ("write through a linked directory", "ln -s \"$MAIN\" link && echo x > link/file"),
    ("write through a hard link", "ln \"$MAIN/file\" hard && echo x > hard"),
    ("remove", "rm \"$MAIN/file\""),
    ("move away", "mv \"$MAIN/file\" moved"),
    ("create", "echo x > \"$MAIN/new\""),
    ("write to another tree", "echo x > \"$OTHER/file\""),
    ("replace another tree", "mv \"$OTHER\" \"$OTHER.moved\""),
];

struct Ground {
    world: World,
    trees: Worktrees,
    mine: Worktree,
    other: PathBuf,
    executor: Executor,
    temp: PathBuf,
}

impl Ground {
    async fn new(base: &Path) -> Ground {
        let mut world = World::at(base, "home/work");
        world.state = world.home.join(".ostler/worktrees");
        world.git(&["branch", "keep"]);
        world.git(&["checkout", "-q", "keep"]);
        world.git(&["commit", "-q", "--allow-empty", "-m", "another"]);
        world.git(&["checkout", "-q", "main"]);
        world.write("file", "stashed\n");
        world.git(&["stash", "-q"]);
        let trees = world.trees().await;
        let other = trees.create(new_tree("other")).await.unwrap();
        let path = other.path().to_path_buf();
        trees.release(other).await.unwrap();
        let mine = trees.create(new_tree("mine")).await.unwrap();
        let temp = base.join("temp");
        fs::create_dir(&temp).unwrap();
        let executor = world.executor();
        Ground { world, trees, mine, other: path, executor, temp }
    }

    /// As for other commands in a linked worktree, then narrowed.
    async fn sandbox(&self, layers: Layers) -> Sandbox {
        let common = self.trees.repository().common_dir.clone();
        let mut sandbox = Sandbox {
            writable: vec![self.mine.path().to_path_buf(), common],
            readable: vec![self.world.home.join(".gitconfig")],
            homes: vec![self.world.home.clone(), "/root".into(), "/home".into()],
            hidden: vec![self.world.home.join(".ostler")],
            frozen: Vec::new(),
            temp: self.temp.clone(),
            network: false,
            layers,
            bounds: None,
        };
        self.trees.access(self.mine.record()).await.unwrap().apply(&mut sandbox);
        sandbox
    }

    async fn run(&self, script: &str, sandbox: Option<Sandbox>) -> (bool, String) {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let variables = [
            ("PATH", PATH.to_owned()),
            ("HOME", text(&self.world.home)),
            ("MAIN", text(&self.world.repo)),
            ("OTHER", text(&self.other)),
            ("COMMON", text(&self.trees.repository().common_dir)),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into())).to_vec();
        let mut command = bash(&format!("set -e; {script}"), self.mine.path(), variables);
        command.time_limit = Some(PATIENCE);
        command.sandbox = sandbox.map(Arc::new);
        let report = self.executor.run(command, |_| {}).await.unwrap();
        (report.status.success(), report.output.to_text())
    }

    /// Everything that does not belong to the tree.
    fn state(&self) -> String {
        let mut text = self.world.refs() + "\n" + &self.world.git(&["count-objects", "-v"]);
        text += &self.world.git(&["worktree", "list", "--porcelain"]);
        for folder in
            [&self.world.repo, &self.other, &self.trees.repository().common_dir.join("hooks")]
        {
            let mut entries: Vec<_> = folder.read_dir().into_iter().flatten().flatten().collect();
            entries.sort_by_key(|entry| entry.file_name());
            for entry in entries {
                let content = fs::read_to_string(entry.path()).unwrap_or_default();
                text += &format!("{} {content:?}\n", entry.path().display());
            }
        }
        text + &fs::read_to_string(self.trees.repository().common_dir.join("config")).unwrap()
    }
}

async fn combinations(executor: &Executor) -> Vec<(&'static str, Layers)> {
    let here = executor.probe().await.layers();
    let layers = |landlock, seccomp, bubblewrap| Layers { landlock, seccomp, bubblewrap };
    let all = [
        ("floor", layers(true, true, false)),
        ("bubblewrap+seccomp", layers(false, true, true)),
        ("bubblewrap+floor", layers(true, true, true)),
    ];
    let is_here = |asked: &Layers| {
        (here.landlock || !asked.landlock)
            && (here.seccomp || !asked.seccomp)
            && (here.bubblewrap || !asked.bubblewrap)
    };
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, asked)| is_here(asked));
    missing.iter().for_each(|(name, _)| println!("SKIPPED {name}: this machine lacks a layer"));
    there
}

#[tokio::test]
async fn the_kernel_refuses_everything_outside_the_tree() {
    let name = "sandbox::the_kernel_refuses_everything_outside_the_tree";
    let Some(base) = ordinary_user::folder(name) else { return };
    for (number, (action, script)) in ACTIONS.iter().enumerate() {
        let ground = Ground::new(&base.join(number.to_string())).await;
        let before = ground.state();
        for (layers_name, layers) in combinations(&ground.executor).await {
            let sandbox = ground.sandbox(layers).await;
            let (succeeded, text) = ground.run(script, Some(sandbox)).await;
            assert!(!succeeded, "{action} succeeded in {layers_name}: {text}");
            assert_eq!(ground.state(), before, "{action} in {layers_name}: {text}");
            for link in ["link", "hard", "new"] {
                let _ = fs::remove_file(ground.mine.path().join(link));
            }
        }
        let (succeeded, text) = ground.run(script, None).await;
        assert!(
            succeeded && ground.state() != before,
            "{action} fails without the sandbox, too: {text}"
        );
        println!("refused: {action}");
        fs::remove_dir_all(base.join(number.to_string())).unwrap();
    }
}

#[tokio::test]
async fn work_in_the_tree_goes_on_and_the_harness_commits_it() {
    let name = "sandbox::work_in_the_tree_goes_on_and_the_harness_commits_it";
    let Some(base) = ordinary_user::folder(name) else { return };
    let ground = Ground::new(&base.join("x")).await;
    for (layers_name, layers) in combinations(&ground.executor).await {
        let sandbox = ground.sandbox(layers).await;
        let script = format!(
            "echo '{layers_name}' > file; mkdir -p src; echo x > src/new; git status --porcelain; git diff --stat | tail -1; git log --format=%s; \
             cat \"$MAIN/file\" > /dev/null"
        );
        let (succeeded, text) = ground.run(&script, Some(sandbox)).await;
        assert!(succeeded, "{layers_name}: {text}");
        assert!(text.contains(" M file") && text.contains("first"), "{layers_name}: {text}");
        let committed =
            ground.trees.commit(&ground.mine, layers_name, &Author::default()).await.unwrap();
        assert!(committed.commit.is_some(), "{layers_name}");
        if layers.bubblewrap {
            let sandbox = ground.sandbox(layers).await;
            let script = "rm -f .git; echo 'gitdir: /evil' > .git";
            let (succeeded, _) = ground.run(script, Some(sandbox)).await;
            assert!(!succeeded, "{layers_name}: the link to the repository cannot be replaced");
        }
    }
    assert_eq!(ground.world.git(&["log", "-1", "--format=%an", "ostler/mine"]), "Ostler");
    drop(ground);
    fs::remove_dir_all(base.join("x")).unwrap();
}

#[tokio::test]
async fn a_sandbox_keeps_what_does_not_concern_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let world = World::at(&base, "repo");
    let trees = world.trees().await;
    let tree = trees.create(new_tree("x")).await.unwrap();
    write(&base, "cache/x", "x");
    let mut sandbox = Sandbox {
        writable: vec![
            base.clone(),
            base.join("cache"),
            world.repo.join("src"),
            tree.path().to_path_buf(),
        ],
        readable: vec![base.join("tools")],
        homes: Vec::new(),
        hidden: Vec::new(),
        frozen: Vec::new(),
        temp: base.join("temp"),
        network: false,
        layers: Layers::default(),
        bounds: None,
    };
    let access = trees.access(tree.record()).await.unwrap();
    access.apply(&mut sandbox);
    // A root around the repository and one inside it would both open it.
    assert_eq!(sandbox.writable, [base.join("cache"), tree.path().to_path_buf()]);
    assert_eq!(sandbox.readable, [base.join("tools"), world.repo.clone(), world.repo.join(".git")]);
    assert_eq!(sandbox.frozen, [tree.path().join(".git")]);
    let twice = sandbox.clone();
    access.apply(&mut sandbox);
    assert_eq!(sandbox, twice);
}
