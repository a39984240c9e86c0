//! An undo for which there is no room: it names the file, and is finished when there is.

use super::running;
use crate::full_disk::{can_mount, code, mounting};

/// One file is replaced, which needs room for both; what the command made goes first. What a person changes until the undo
/// is finished is part of it, so the redo is told to leave the ballast alone.
const STORY: &str = r#"
project=$1 program=$2
mount -t tmpfs -o size=4m none "$project" || exit 99
cd "$project" && yes old | head -c 900000 > big
"$program" -p go --permission-mode bypassPermissions --no-sandbox > /dev/null; echo "ran $?"
cat /dev/zero > ballast 2> /dev/null
"$program" undo; echo "full $?"
"$program" undo; echo "again $?"
rm ballast
"$program" undo; echo "finished $?"; echo "content $(head -c 3 big) $(echo *)"
"$program" undo --redo --keep ballast; echo "redone $?"; echo "and $(head -c 3 big) $(echo *)"
"#;

#[test]
fn it_is_finished_when_there_is_room() {
    if !can_mount() {
        return;
    }
    let world = running(&["yes new | head -c 900000 > big; echo made > made"]);
    let ran = mounting(&world, STORY, &[world.project().as_os_str()]);
    let codes = ["ran ", "full ", "again ", "finished ", "redone "].map(|what| code(&ran, what));
    assert_eq!(codes, [0, 74, 74, 0, 0], "{ran:?}");
    let said = "/big: No space left on device (os error 28); some of it may be done: run it again";
    assert_eq!(ran.stderr.matches(said).count(), 2, "{}", ran.stderr);
    assert!(ran.stdout.contains("content old big\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("and new big made\n"), "{}", ran.stdout);
}
