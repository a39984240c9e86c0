//! Thirty ways to lose work, each undone: files, index, refs, stashes.

use super::{Tree, running, sh, tree, undone};
use crate::support::World;
use std::fs;
use std::io::ErrorKind;

/// A repository with history, branches, a tag, stashes and a worktree, in the middle of work.
const REPOSITORY: &str = r##"
git init -q -b main
git config user.name Ann; git config user.email ann@example.org; git config gc.auto 0
mkdir -p src/lib docs empty cache
printf 'fn main() {\n    println!("main");\n}\n' > src/main.rs
printf 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n' > src/lib/util.rs
printf '# Project\n\nRead me.\n' > README.md
printf 'first\nsecond\nthird\n' > docs/person.md
printf '#!/bin/sh\necho hi\n' > run.sh; chmod 755 run.sh
printf '\0\1\2\3binary' > data.bin
ln -s README.md link
printf 'ignored.log\ncache/\nwt/\n' > .gitignore
git add -A; git commit -qm one
echo more >> README.md; git commit -qam two; git tag v1; git tag -am annotated v2
git checkout -qb feature HEAD~1; echo feature > feature.txt; git add -A; git commit -qm feature
git checkout -q main; echo third >> run.sh; git commit -qam three
echo stashed >> README.md; git stash -q
echo stashed > untracked-in-stash; echo again >> run.sh; git stash -q -u
git worktree add -q wt -b worktree feature; echo dirty >> wt/feature.txt
git gc -q; echo four > four.txt; git add four.txt; git commit -qm four
echo staged >> README.md; git add README.md
echo '// unstaged' >> src/main.rs
sed -i s/one/ONE/ src/lib/util.rs; git add src/lib/util.rs; sed -i s/seven/SEVEN/ src/lib/util.rs
rm run.sh
echo note > notes.txt; mkdir -p new/deep; echo x > new/deep/x
echo log > ignored.log; echo c > cache/a
mkdir t; cp -a src t/; echo OVER > t/src/main.rs; tar cf over.tar -C t src/main.rs; rm -r t
"##;

const COMMANDS: [&str; 30] = [
    "git reset --hard",
    "git clean -fdx",
    "git stash drop",
    "git stash clear",
    "git branch -D feature",
    "git checkout -- .",
    "git rm -rfq .",
    "git commit -q --amend -m gone",
    "git stash -q -u && git rebase -q feature",
    "git stash drop -q && git reflog expire --expire=now --all && git gc -q --prune=now",
    "rm -rf src",
    // By that name it asks, and nobody is there to say yes.
    "find . -maxdepth 1 -name '.gi[s-u]' -exec rm -rf {} +",
    "mv src lost && mv README.md docs/",
    ": > src/main.rs; > notes.txt",
    "find . -name '*.rs' -delete",
    "sed -i s/main/gone/ src/main.rs",
    "python3 -c \"import shutil; shutil.rmtree('src'); open('README.md', 'w').write('x')\"",
    "printf 'rm -rf src new\\necho x > README.md\\n' > x.sh && bash x.sh && rm x.sh",
    "chmod -R 000 src docs",
    "ln -sf /dev/null README.md",
    "tar xf over.tar",
    "cp data.bin README.md",
    "truncate -s 0 src/main.rs notes.txt ignored.log",
    "dd if=/dev/zero of=data.bin bs=1 count=10",
    "git update-ref -d refs/heads/feature",
    "git tag -d v1 v2 && git pack-refs --all",
    "git worktree remove --force wt",
    "git switch -q --discard-changes -C main feature",
    "git reflog expire --expire=now --all",
    "git read-tree --empty",
];

/// Everything that must be as before: the directory, and what git says.
#[derive(Clone, Debug, PartialEq)]
struct Everything {
    tree: Tree,
    git: Vec<String>,
}

/// Index, status, refs, stashes with their content, logs, objects, the other worktree. Looking changes nothing.
const LOOK: &str = r"
export GIT_OPTIONAL_LOCKS=0; set +e; exec 2>&1
git ls-files -s --full-name
git status --porcelain=v2 --branch --ignored --untracked-files=all
git for-each-ref; cat .git/HEAD; git rev-parse HEAD
git stash list; for s in $(git stash list --format=%gd); do git stash show -p --include-untracked $s; done
git reflog --all; git fsck --no-progress --no-dangling
git worktree list --porcelain | grep -v '^worktree'; git -C wt status -s
true";

fn everything(world: &World) -> Everything {
    let place = world.project().display().to_string();
    let plain = |text: &str| text.replace(&place, "HERE");
    let tree = tree(world).into_iter().map(|(path, line)| (path, plain(&line))).collect();
    Everything { tree, git: sh(world, LOOK).lines().map(plain).collect() }
}

/// One repository for all: made once, copied for each command.
fn template() -> World {
    let world = running(&[]);
    sh(&world, REPOSITORY);
    world
}

fn dirty(template: &World, command: &str) -> World {
    let world = running(&[command]);
    let from = template.project();
    let from = from.display();
    sh(
        &world,
        &format!("cp -a {from}/. . && sed -i s#{from}#$PWD# wt/.git .git/worktrees/wt/gitdir"),
    );
    world
}

/// Runs it as the model's command.
fn destroy(world: &World, command: &str) {
    let ran = world.go();
    assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
    let denied = ran.result()["permission_denials"].clone();
    assert_eq!(denied, serde_json::json!([]), "{command}");
}

#[test]
fn thirty_destructive_commands_are_undone() {
    let template = template();
    let (mut restored, mut kept) = (0, 0);
    let before = everything(&template);
    for command in COMMANDS {
        let world = dirty(&template, command);
        destroy(&world, command);
        assert!(everything(&world) != before, "{command} did no harm");
        let (ran, said) = undone(&world, &[]);
        assert_eq!(ran.code, Some(0), "{command}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(said["complete"], true, "{command}: {said:#}");
        assert_eq!(everything(&world), before, "{command}");
        restored += 1;

        let world = dirty(&template, command);
        destroy(&world, command);
        edited_by_a_person(&world, command, before.clone());
        kept += 1;
    }
    println!(
        "undo: {} commands, {restored} restored; {} with a person's edit, {kept} kept",
        COMMANDS.len(),
        COMMANDS.len()
    );
}

const PERSONS: &str = "first\nsecond\nthird\n";

/// A person writes a new file, changes an old one unless it is closed, and asks for the status; then undoes.
fn edited_by_a_person(world: &World, command: &str, mut before: Everything) {
    let old = world.project().join("docs/person.md");
    let had = fs::read_to_string(&old);
    let is_missing = had.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let is_closed = had.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    let mine = match is_closed {
        true => PERSONS.to_owned(),
        false => {
            let mine = format!("{}mine\n", had.unwrap_or_default());
            fs::create_dir_all(old.parent().unwrap()).unwrap();
            fs::write(&old, &mine).unwrap();
            mine
        }
    };
    world.file("person.txt", "mine\n");
    sh(world, "git status >/dev/null 2>&1 || true");
    let (ran, said) = undone(world, &[]);
    assert!(matches!(ran.code, Some(0 | 1)), "{command}: {}", ran.stderr);
    assert_eq!(world.read("person.txt"), "mine\n", "{command}");
    assert_eq!(world.read("docs/person.md"), mine, "{command}: {said:#}");
    let mut after = everything(world);
    if is_missing {
        assert_eq!(world.read("docs/person.md.before-undo"), PERSONS, "{command}");
        assert_eq!(ran.code, Some(1), "{command}: a conflict is said");
    }
    for state in [&mut before, &mut after] {
        state.tree.retain(|path, _| !path.to_string_lossy().contains("person"));
        // In the index it stands as before; what the status says of it is another matter.
        state.git.retain(|line| !line.contains("person") || line.starts_with("100644"));
    }
    assert_eq!(after, before, "{command}: {said:#}");
}
