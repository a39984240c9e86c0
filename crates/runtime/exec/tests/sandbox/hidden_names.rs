//! Hidden names inside a root: unreadable, not empty, and nothing a command does uncovers them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ostler_exec::{Layers, Sandbox};

use crate::ordinary_user;
use crate::world::{World, combinations};

const SECRET: &str = "the-secret";

/// Each of them prints the secret, or changes something about the hidden names, without a sandbox.
const ACTIONS: &[&str] = &[
    "cat .env",
    "cat sub/deep/.env",
    "cat link",
    "cat other-name",
    "cat vault/key",
    "cat $(echo .en)v",
    "exec 3<.env; cat <&3",
    "cat /proc/self/root$PWD/.env",
    "cat /proc/self/cwd/.env",
    "tar cf - .",
    "cp .env copy; cat copy",
    "ln .env copy; cat copy",
    "ln -s .env copy; cat copy",
    "mv .env copy; cat copy",
    "rm -f .env; ls -A",
    "echo changed > .env; cat sub/deep/.env",
    "chmod 777 .env && cat .env",
    "mv -T other-name .env; cat .env",
    "mv sub moved; cat moved/deep/.env",
    "mv sub/deep sub/moved; cat sub/moved/.env",
    "mv vault moved; cat moved/key",
    "chmod 777 vault; cat vault/key",
    "rm -rf vault sub; cat other-name",
];

fn lay_out(world: &World) {
    let root = &world.root;
    for name in ["sub", "vault", "moved", "copy", ".env", "other-name", "link"] {
        let _ = fs::remove_dir_all(root.join(name));
        let _ = fs::remove_file(root.join(name));
    }
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    fs::create_dir(root.join("vault")).unwrap();
    for name in [".env", "sub/deep/.env", "vault/key"] {
        fs::write(root.join(name), SECRET).unwrap();
    }
    fs::hard_link(root.join(".env"), root.join("other-name")).unwrap();
    std::os::unix::fs::symlink(".env", root.join("link")).unwrap();
}

fn hiding(world: &World, layers: Layers, names: &[&str]) -> Sandbox {
    let mut sandbox = world.sandbox(layers);
    sandbox.hidden.retain(|path| !path.starts_with(&world.root));
    sandbox.hidden.extend(names.iter().map(|name| world.root.join(name)));
    sandbox
}

/// The hidden names with what they hold.
fn state(world: &World) -> Vec<(PathBuf, String)> {
    let names = [".env", "other-name", "sub/deep/.env", "vault/key"];
    let read = |name: &str| {
        let path = world.root.join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
        (path, text)
    };
    names.map(read).to_vec()
}

#[tokio::test]
async fn nothing_shows_or_changes_a_hidden_name() {
    let name = "hidden_names::nothing_shows_or_changes_a_hidden_name";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    let names = [".env", "other-name", "sub/deep/.env", "vault"];
    for action in ACTIONS {
        lay_out(&world);
        let before = state(&world);
        let free = world.run(action, None).await.output.to_text();
        let has_effect = free.contains(SECRET) || state(&world) != before;
        assert!(has_effect, "{action} does nothing without a sandbox: {free}");
        for (name, layers) in combinations(&world).await {
            lay_out(&world);
            let sandbox = hiding(&world, layers, &names);
            let text = world.run(action, Some(&sandbox)).await.output.to_text();
            assert!(!text.contains(SECRET), "{action} with {name}: {text}");
            assert_eq!(state(&world), before, "{action} with {name}: {text}");
        }
    }
}

#[tokio::test]
async fn a_hidden_name_is_refused_and_not_empty() {
    let name = "hidden_names::a_hidden_name_is_refused_and_not_empty";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        lay_out(&world);
        let sandbox = hiding(&world, layers, &[".env", "other-name", "vault"]);
        for action in ["cat .env", "cat other-name", "cat vault/key", "ls vault", "cd vault"] {
            let finished = world.run(action, Some(&sandbox)).await;
            let text = finished.output.to_text();
            let refused = text.contains("Permission denied");
            // A directory may be entered with Landlock, which then refuses what lies in it.
            let entered = action == "cd vault" && !layers.bubblewrap;
            assert!(refused || entered, "{action} with {name}: {text}");
            assert!(!finished.status.success() || entered, "{action} with {name}: {text}");
        }
    }
}

#[tokio::test]
async fn what_lies_around_a_hidden_file_works_as_before() {
    let name = "hidden_names::what_lies_around_a_hidden_file_works_as_before";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        lay_out(&world);
        let names = [".env", "other-name", "sub/deep/.env"];
        let mut sandbox = hiding(&world, layers, &names);
        let list = "ls -A . sub/deep && cat vault/key";
        let free = world.run(list, None).await.output.to_text();
        assert_eq!(world.run(list, Some(&sandbox)).await.output.to_text(), free, "{name}");
        if layers.bubblewrap {
            let work = "echo x > new && mv new sub/deep/new && rm sub/deep/new && echo done";
            let text = world.run(work, Some(&sandbox)).await.output.to_text();
            assert_eq!(text, "done\n", "{name}");
            // What is read-only stays so around a hidden name.
            sandbox.frozen.push(world.root.join("sub"));
            let write = "echo x > sub/deep/new; echo x > sub/new; mv sub other; ls -A sub/deep";
            let text = world.run(write, Some(&sandbox)).await.output.to_text();
            assert!(text.ends_with("\n.env\n"), "{name}: {text}");
            assert!(!world.root.join("sub/new").exists(), "{name}: {text}");
        }
    }
}

/// A command could give itself the permission that we lack when we look.
#[tokio::test]
async fn names_in_a_directory_that_cannot_be_entered_are_not_taken_for_missing() {
    let name =
        "hidden_names::names_in_a_directory_that_cannot_be_entered_are_not_taken_for_missing";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    let deep = world.root.join("sub/deep");
    let action = "chmod 755 sub/deep; cat sub/deep/.env; echo evil > sub/deep/.env";
    for (name, layers) in combinations(&world).await {
        for (mode, hides) in [(0o000, true), (0o600, true), (0o000, false), (0o555, false)] {
            if !layers.bubblewrap && !hides {
                continue;
            }
            lay_out(&world);
            let file = deep.join(if mode == 0o555 { "missing" } else { ".env" });
            let mut sandbox = hiding(&world, layers, &[]);
            let list = if hides { &mut sandbox.hidden } else { &mut sandbox.frozen };
            list.push(file.clone());
            fs::set_permissions(&deep, fs::Permissions::from_mode(mode)).unwrap();
            let command = world.command(action, Some(&sandbox));
            let ran = world.executor.run(command, |_| {}).await;
            fs::set_permissions(&deep, fs::Permissions::from_mode(0o755)).unwrap();
            let case = format!("{mode:o} {hides} with {name}");
            match ran {
                Ok(finished) => {
                    assert!(!layers.bubblewrap, "{case}: it must not run");
                    let text = finished.output.to_text();
                    assert!(!text.contains(SECRET), "{case}: {text}");
                }
                Err(error) => assert!(error.to_string().contains("cannot be protected"), "{error}"),
            }
            let kept = fs::read_to_string(deep.join(".env")).unwrap();
            assert_eq!(kept, SECRET, "{case}");
        }
    }
}
