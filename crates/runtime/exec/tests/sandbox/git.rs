//! Git inside the sandbox: its work is done, and what would make it run other programs is frozen.

use crate::ordinary_user;
use crate::world::{World, combinations};

const SETUP: &str = "rm -rf .git; git init -q -b main . && git config user.name n && git config user.email e@x && \
    git config commit.gpgsign false && touch .git/hooks/x && rm -rf .git/info";

#[tokio::test]
async fn commits_branches_and_stashes_work_with_frozen_parts() {
    let name = "git::commits_branches_and_stashes_work_with_frozen_parts";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let setup = world.run(SETUP, None).await;
        assert!(setup.status.success(), "{}", setup.output.to_text());
        let mut sandbox = world.sandbox(layers);
        sandbox.hidden.retain(|path| !path.starts_with(&world.root));
        let script = "set -e; echo 1 > src/a; git add src; git commit -qm one; git checkout -qb other; \
            echo 2 > src/a; git stash -q; git stash pop -q; git commit -qam two; git checkout -q main; \
            git merge -q other; git log --format=%s; git status --porcelain src; git gc -q";
        let finished = world.run(script, Some(&sandbox)).await;
        assert_eq!(finished.output.to_text(), "two\none\n", "{name}");
        assert!(finished.status.success(), "{name}");
        if layers.bubblewrap {
            let text =
                world.run("git config x.y z; echo $?", Some(&sandbox)).await.output.to_text();
            assert!(text.contains("could not") && !text.ends_with("0\n"), "{name}: {text}");
            assert!(
                !world.root.join(".git/info/attributes").exists(),
                "{name}: a stub was left behind"
            );
        }
        world.run("rm -rf .git src/*", None).await;
        world.reset();
    }
}

#[tokio::test]
async fn a_stub_leaves_when_the_last_of_its_users_has_ended() {
    let name = "git::a_stub_leaves_when_the_last_of_its_users_has_ended";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        if !layers.bubblewrap {
            continue;
        }
        let sandbox = world.sandbox(layers);
        let stub = world.root.join(".git/info/attributes");
        let wait = "echo ready > src/ready; until [ -e src/go ]; do sleep 0.01; done; \
            echo x > .git/info/attributes || echo held";
        let first = world.executor.spawn(world.command(wait, Some(&sandbox))).await.unwrap();
        world.run("until [ -e src/ready ]; do sleep 0.01; done", None).await;
        world.run(":", Some(&sandbox)).await;
        assert!(stub.exists(), "{name}: the first still relies on it");
        std::fs::write(world.root.join("src/go"), "").unwrap();
        let text = first.wait().await.unwrap().output.to_text();
        assert!(text.ends_with("held\n"), "{name}: {text}");
        assert!(!stub.exists(), "{name}");
        world.reset();
    }
}
