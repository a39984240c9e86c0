//! What find deletes from the top on, and where a test of it leaves something out.

use crate::steps::steps;
use ostler_policy::Effect;

fn ruins(text: &str) -> bool {
    steps(text).steps.iter().any(|step| matches!(step.effect, Effect::Ruin(_)))
}

#[test]
fn find_that_deletes_everything() {
    for text in [
        "find / -delete",
        "find ~ -delete",
        "find ~/ -delete",
        "find \"$HOME\" -delete",
        "find $HOME -delete",
        "find /* -delete",
        "find /usr/.. -delete",
        "find x / -delete",
        "find -L / -delete",
        "find -H -P / -delete",
        "cd / && find . -delete",
        "cd / && find -delete",
        "cd && find . -type f -delete",
        "find / -type f -delete",
        "find / -xdev -depth -mindepth 1 -delete",
        "find ~ -name '*' -print -delete",
        "find / '(' -type f ')' -delete -name x",
        "find / -exec rm {} +",
        "find / -exec rm -rf {} ';'",
        "find / -type f -execdir /bin/rm -f {} ';'",
        "find / -exec sudo -n rm -rf {} +",
        "find / -maxdepth 1 -exec rm -rf {} +",
        "find ~ -type f -exec shred {} +",
        "sudo find / -delete",
        "bash -c 'find / -delete'",
        "for d in / /tmp; do find \"$d\" -delete; done",
    ] {
        assert!(ruins(text), "{text}");
    }
}

#[test]
fn find_that_leaves_something_out() {
    for text in [
        "find . -delete",
        "find -delete",
        "find /tmp -delete",
        "find ~/x -delete",
        "find '~' -delete",
        "cd /tmp && find . -delete",
        "find / -name '*.pyc' -delete",
        "find / -empty -delete",
        "find / -maxdepth 1 -delete",
        "find / -maxdepth 1 -exec rm {} +",
        "find / -user x -exec rm -rf {} +",
        "find / -type d ! -name x -delete",
        "find / -name \"$x\" -delete",
        "find / $x -delete",
        "find / -type f",
        "find / -exec ls {} +",
        "find / -exec rm /tmp/x ';'",
        "find / -exec grep -q x {} ';' -delete",
        "find / -exec echo rm {} ';'",
        "find / -name -delete",
    ] {
        assert!(!ruins(text), "{text}");
        let known = steps(text).only_reads();
        assert!(!known || !text.contains("delete") && !text.contains("rm"), "{text}");
    }
}
