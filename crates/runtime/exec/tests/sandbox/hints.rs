//! What a real refusal prints is recognised as one, and what merely fails is not.

use ostler_exec::{DeniedAct, denial_hint};

use crate::ordinary_user;
use crate::world::{World, combinations};

#[tokio::test]
async fn real_refusals_are_told_from_real_failures() {
    let Some(base) = ordinary_user::folder("hints::real_refusals_are_told_from_real_failures")
    else {
        return;
    };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let sandbox = world.sandbox(layers);
        let hint = async |script: &str| {
            let finished = world.run(script, Some(&sandbox)).await;
            let text = finished.output.to_text();
            assert!(!finished.status.success(), "{name}: {script}: {text}");
            (denial_hint(&text, finished.status, &sandbox).map(|denied| denied.act), text)
        };
        let (act, text) = hint("echo x > $OUT/new").await;
        assert_eq!(act, Some(DeniedAct::Write(world.outside.join("new"))), "{name}: {text}");
        let (act, text) = hint("touch $HOME/new").await;
        assert_eq!(act, Some(DeniedAct::Write(world.home.join("new"))), "{name}: {text}");
        let (act, text) = hint("unshare -U true").await;
        assert_eq!(act, Some(DeniedAct::Call), "{name}: {text}");
        let (act, text) = hint("exec 3<>/dev/tcp/192.0.2.1/9").await;
        assert_eq!(act, Some(DeniedAct::Network), "{name}: {text}");
        if layers.bubblewrap {
            let frozen = DeniedAct::Write(world.root.join(".git/hooks"));
            let (act, text) = hint("echo x > .git/hooks/pre-commit").await;
            assert_eq!(act, Some(frozen), "{name}: {text}");
        } else {
            let (act, text) = hint("cat $HOME/.ssh/id").await;
            let read = DeniedAct::Read(world.home.join(".ssh/id"));
            assert_eq!(act, Some(read), "{name}: {text}");
        }
        for ordinary in [
            "cat /etc/shadow",
            "echo x > /etc/hosts.new; false",
            "rm src/nothing",
            "chown root src",
        ] {
            let (act, text) = hint(ordinary).await;
            let read_only = layers.bubblewrap && text.contains("Read-only");
            assert!(act.is_none() || read_only, "{name}: {ordinary}: {act:?}: {text}");
        }
    }
}
