//! Copies into directories, and what they touch.

use super::super::notation_tests::shown;
use super::super::steps;

#[test]
fn what_is_written_and_what_is_not_known() {
    let table: &[(&str, &str)] = &[
        ("cp a b", "cp a b = writes a/** w:b/** w:b/a(glob)"),
        ("cp tpl/.envrc .", "cp tpl/.envrc . = writes tpl/.envrc/** w:./** w:./.envrc(glob)"),
        (
            "mv tpl/.vscode/ .",
            "mv tpl/.vscode/ . = writes tpl/.vscode//** w:tpl/.vscode//** w:./** w:./.vscode(glob)",
        ),
        ("cp x .git/", "cp x .git/ = writes x/** w:.git//** w:.git/x(glob)"),
        ("cp a/x b/y d", "cp a/x b/y d = writes a/x/** b/y/** w:d/** w:d/x(glob) w:d/y(glob)"),
        ("cp a ~", "cp a ~ = writes a/** w:~/** w:~/a(glob)"),
        ("cp 'a*b' d", "cp a*b d = writes a*b/** w:d/** w:d/a?b(glob)"),
        ("cp -r a b", "cp -r a b = writes a/** w:b/** w:b/a(glob) !1"),
        ("cp -p -fa a b", "cp -p -fa a b = writes a/** w:b/** w:b/a(glob) !2"),
        ("cp --archive a b", "cp --archive a b = writes a/** w:b/** w:b/a(glob) !1"),
        ("cp -p a b", "cp -p a b = writes a/** w:b/** w:b/a(glob)"),
        ("mv a/. b", "mv a/. b = writes a/./** w:a/./** w:b/** !1"),
        ("mv -f .. b", "mv -f .. b = writes ../** w:../** w:b/** !2"),
        ("cp -- -r b", "cp -- -r b = writes -r/** w:b/** w:b/-r(glob)"),
        ("cp a/*.rs d", "cp a/*.rs d = writes a/*.rs(glob) w:d/**"),
        ("cp a/.e* d", "cp a/.e* d = writes a/.e*(glob) w:d/** !1"),
        ("cp a/[.]e d", "cp a/[.]e d = writes a/[.]e(glob) w:d/** !1"),
        ("cp a*/.env d", "cp a*/.env d = writes a*/.env(glob) w:d/** w:d/.env(glob) !1"),
        ("ln -sr a d", "ln -sr a d = writes a/** w:d/** w:d/a(glob) !"),
        // Not known to a table, but what can be seen counts.
        ("cp -t .git x", "cp -t .git x = unknown w:.git/x(glob) w:.git(glob) !1"),
        ("cp -vt.git x", "cp -vt.git x = unknown w:.git/x(glob) w:.git(glob) !1"),
        (
            "mv --target-dir=.git x",
            "mv --target-dir=.git x = unknown w:x w:.git/x(glob) w:.git(glob) !1",
        ),
        (
            "install -m 755 x .git/hooks",
            "install -m 755 x .git/hooks = unknown w:.git/hooks/755(glob) w:.git/hooks/x(glob) \
             w:.git/hooks(glob)",
        ),
        ("install -d a .husky", "install -d a .husky = unknown w:a(glob) w:.husky(glob)"),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in table {
        let found = shown(&steps(text)).join("\n");
        if found != *expected {
            wrong.push(format!("{text}\n  {found}\n  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
