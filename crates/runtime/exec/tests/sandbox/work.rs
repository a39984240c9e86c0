//! Ordinary work continues inside the sandbox.

use ostler_exec::Sandbox;

use crate::ordinary_user;
use crate::world::{World, combinations};

struct Work {
    name: &'static str,
    script: &'static str,
    expected: &'static str,
    needs: &'static str,
}

const fn work(name: &'static str, script: &'static str, expected: &'static str) -> Work {
    Work { name, script, expected, needs: "/bin/bash" }
}

const WORK: &[Work] = &[
    work("a file in the root", "echo a > src/a; mv src/a b; cat b; rm b; mkdir d; rmdir d", "a\n"),
    work("listing the root", "cd src; touch x y; ls; echo *", "x\ny\nx y\n"),
    work("linking in the root", "echo a > src/a; ln src/a src/b; ln -s a src/c; cat src/c", "a\n"),
    work("pipes", "seq 1000 | sort -rn | head -1 | tr -d '\\n' | wc -c", "4\n"),
    work("background jobs", "sleep 0.01 & a=$!; (exit 3) & b=$!; wait $a; wait $b; echo $?", "3\n"),
    work("process substitution", "diff <(echo a) <(echo b) | tail -1", "> b\n"),
    work("a here document", "cat <<E\ntext\nE", "text\n"),
    work(
        "devices",
        "echo x > /dev/null; head -c 2 /dev/zero | wc -c; head -c 1 /dev/urandom | wc -c",
        "2\n1\n",
    ),
    work(
        "writing to the standard streams by name",
        "echo a > /dev/stdout; echo b > /dev/stderr",
        "a\nb\n",
    ),
    work(
        "temporary files",
        "t=$(mktemp) && echo x > $t && cat $t && rm $t && echo $(dirname $t | grep -c .)",
        "x\n1\n",
    ),
    work(
        "reading the system",
        "head -c 4 /etc/hosts >/dev/null && test -r /usr/bin/env && uname -s",
        "Linux\n",
    ),
    work("a readable part of the home", "cat $HOME/.tools/version", "content\n"),
    work("signals within", "sleep 100 & kill %1; wait %1; echo $?", "143\n"),
    work("its own processes", "ps -o comm= -p $$; true", "bash\n"),
    work("chmod in the root", "touch src/x; chmod 700 src/x; stat -c %a src/x", "700\n"),
    Work {
        name: "python with processes and threads",
        script: "/usr/bin/python3 -c '
import subprocess, tempfile, threading, socket
a, b = socket.socketpair(); a.send(b\"x\")
threading.Thread(target=lambda: print(b.recv(1).decode())).start()
with tempfile.TemporaryFile() as f: f.write(b\"x\")
print(subprocess.check_output([\"echo\", \"inner\"], text=True), end=\"\")'",
        expected: "x\ninner\n",
        needs: "/usr/bin/python3",
    },
    Work {
        name: "node with a child",
        script: "node -e 'require(\"child_process\").exec(\"echo inner\", (e, o) => process.stdout.write(o))'",
        expected: "inner\n",
        needs: "/usr/bin/node",
    },
    Work {
        name: "compiling",
        script: "echo 'int main(void) { return 4; }' > src/a.c && cc -o src/a src/a.c && src/a; echo $?",
        expected: "4\n",
        needs: "/usr/bin/cc",
    },
];

/// Nothing is hidden in the root: as it is in a user's project.
fn plain(world: &World, layers: ostler_exec::Layers) -> Sandbox {
    let mut sandbox = world.sandbox(layers);
    sandbox.hidden.retain(|path| !path.starts_with(&world.root));
    sandbox
}

#[tokio::test]
async fn tools_work_inside() {
    let Some(base) = ordinary_user::folder("work::tools_work_inside") else { return };
    let world = World::new(&base);
    let combinations = combinations(&world).await;
    for work in WORK {
        if !std::path::Path::new(work.needs).exists() {
            println!("SKIPPED {}: {} is not installed", work.name, work.needs);
            continue;
        }
        for (name, layers) in &combinations {
            let finished = world.run(work.script, Some(&plain(&world, *layers))).await;
            let text = finished.output.to_text();
            assert_eq!(text, work.expected, "{} with {name}: {}", work.name, finished.status);
            world.reset();
        }
    }
}

#[tokio::test]
async fn two_hundred_at_once_each_get_their_own_end() {
    let Some(base) = ordinary_user::folder("work::two_hundred_at_once_each_get_their_own_end")
    else {
        return;
    };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let mut all = tokio::task::JoinSet::new();
        for number in 0..200 {
            let script =
                format!("echo {number} > src/{number}; cat src/{number}; exit {}", number % 100);
            let command = world.command(&script, Some(&plain(&world, layers)));
            let executor = world.executor.clone();
            all.spawn(async move { (number, executor.run(command, |_| {}).await) });
        }
        while let Some(done) = all.join_next().await {
            let (number, finished) = done.unwrap();
            let finished = finished.unwrap();
            assert_eq!(finished.output.to_text(), format!("{number}\n"), "{name}");
            assert_eq!(
                finished.status.to_string(),
                format!("exit code {}", number % 100),
                "{name}"
            );
        }
        world.reset();
    }
}

#[tokio::test]
async fn a_granted_network_works_and_nothing_more_is_granted_with_it() {
    let name = "work::a_granted_network_works_and_nothing_more_is_granted_with_it";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    for (name, layers) in combinations(&world).await {
        let mut sandbox = world.sandbox(layers);
        sandbox.network = true;
        let text = world.run("read -N 5 x </dev/tcp/127.0.0.1/$TCP; echo $x", Some(&sandbox)).await;
        assert_eq!(text.output.to_text(), "hello\n", "{name}");
        let resolver = world.run("cat /etc/resolv.conf", Some(&sandbox)).await;
        assert!(resolver.status.success(), "{name}: {}", resolver.output.to_text());
        for action in crate::actions::SOCKETS.iter().take(5) {
            let text = world.run(action.script, Some(&sandbox)).await.output.to_text();
            assert!(!text.contains("DID-IT"), "{} with {name} and network: {text}", action.name);
        }
        let text = world.run("cat $HOME/.ssh/id; echo x > $OUT/new", Some(&sandbox)).await;
        assert!(!text.output.to_text().contains("content"), "{name}");
        assert!(!world.outside.join("new").exists(), "{name}");
    }
}

#[tokio::test]
async fn loopback_works_in_the_private_network_of_bubblewrap() {
    let name = "work::loopback_works_in_the_private_network_of_bubblewrap";
    let Some(base) = ordinary_user::folder(name) else { return };
    let world = World::new(&base);
    let script = "/usr/bin/python3 -c '
import socket, threading, os
s = socket.create_server((\"127.0.0.1\", 0))
threading.Thread(target=lambda: s.accept()[0].send(b\"tcp\")).start()
print(socket.create_connection(s.getsockname()).recv(3).decode())
u = socket.socket(socket.AF_UNIX); u.bind(\"/tmp/own\"); u.listen()
c = socket.socket(socket.AF_UNIX); c.connect(\"/tmp/own\"); print(\"unix\")
print([name for _, name in socket.if_nameindex()])'; ls /run | wc -l; rm /tmp/own";
    for (name, layers) in combinations(&world).await {
        let text = world.run(script, Some(&world.sandbox(layers))).await.output.to_text();
        if layers.bubblewrap {
            assert_eq!(text, "tcp\nunix\n['lo']\n0\n", "{name}");
        } else {
            assert!(text.contains("Operation not permitted"), "{name} has no sockets: {text}");
        }
    }
}
