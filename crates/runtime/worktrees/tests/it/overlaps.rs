//! Branches that change the same places: reported early, both kept, and whether they would conflict.

use crate::world::{World, new_tree, write};
use ostler_worktrees::{LineRange, Overlap, TrialMerge};
use std::path::PathBuf;

fn numbers(change: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let text = change.iter().find(|(at, _)| *at == number).map(|(_, text)| (*text).to_owned());
        text.unwrap_or(format!("line {number}")) + "\n"
    };
    (1..=20).map(line).collect()
}

#[tokio::test]
async fn two_trees_that_edit_the_same_file_are_reported_by_file_and_line() {
    let world = World::new();
    world.write("list", &numbers(&[]));
    world.write("other", "x\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "list"]);
    let trees = world.trees().await;
    let change = async |name: &str, files: &[(&str, String)]| {
        let tree = trees.create(new_tree(name)).await.unwrap();
        files.iter().for_each(|(file, text)| write(tree.path(), file, text));
        tree
    };
    // Nothing is committed yet: the probe looks at the files.
    let one = change("one", &[("list", numbers(&[(3, "three"), (10, "ten")]))]).await;
    let two = change("two", &[("list", numbers(&[(10, "TEN")])), ("mine", "x".into())]).await;
    let far = change("far", &[("list", numbers(&[(18, "eighteen")]))]).await;
    let apart = change("apart", &[("other", "y\n".into())]).await;
    let before = world.refs();
    let names = ["one", "two", "far", "apart"].map(str::to_owned);
    let found = trees.overlaps(&names).await.unwrap();
    let pairs: Vec<(&str, &str)> = found.iter().map(|pair| (&*pair.one, &*pair.other)).collect();
    assert_eq!(pairs, [("one", "two"), ("one", "far"), ("two", "far")]);
    let (conflict, clean) = (&found[0], &found[1]);
    assert_eq!(conflict.files.len(), 1);
    assert_eq!(conflict.files[0].path, PathBuf::from("list"));
    assert_eq!(conflict.files[0].lines, [LineRange { first: 10, last: 10 }]);
    assert_eq!(conflict.merge, TrialMerge::Conflict { files: vec!["list".into()] });
    assert_eq!(clean.files[0].lines, []);
    assert!(matches!(clean.merge, TrialMerge::Clean { .. }));
    // Looking changes nothing: both branches and both trees are as they were.
    assert_eq!(world.refs(), before);
    for (tree, text) in [(&one, "ten"), (&two, "TEN")] {
        assert!(std::fs::read_to_string(tree.path().join("list")).unwrap().contains(text));
    }
    // Whoever commits is compared with those that are in use at this moment.
    let live = async |most| -> Vec<(String, bool)> {
        let found = trees.overlaps_with_live("one", most).await.unwrap();
        let pair = |it: &Overlap| (it.other.clone(), matches!(it.merge, TrialMerge::Clean { .. }));
        found.iter().map(pair).collect()
    };
    let both = [("two".to_owned(), false), ("far".to_owned(), true)];
    assert_eq!(live(8).await, both);
    assert_eq!(live(1).await, both[..1]);
    trees.release(two).await.unwrap();
    assert_eq!(live(8).await, both[1..]);
    assert_eq!(world.refs(), before);
    drop((far, apart));
}

#[tokio::test]
async fn a_diff_shows_what_is_committed_and_what_is_not() {
    let world = World::new();
    world.branch("x", &[("file", "changed\n")]).await;
    let trees = world.trees().await;
    write(&world.state.join("project/x"), "new", "not committed\n");
    // The target goes on meanwhile; that is not part of the diff.
    world.write("elsewhere", "x");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "elsewhere"]);
    let diff = trees.diff("x").await.unwrap();
    let files: Vec<(&str, Option<u64>, Option<u64>)> = diff
        .files
        .iter()
        .map(|file| (file.path.to_str().unwrap(), file.added, file.removed))
        .collect();
    assert_eq!(files, [("file", Some(1), Some(3)), ("new", Some(1), Some(0))]);
    let text = String::from_utf8(trees.diff_text(&diff).await.unwrap()).unwrap();
    assert!(
        text.contains("+not committed") && text.contains("-two") && !text.contains("elsewhere"),
        "{text}"
    );
}
