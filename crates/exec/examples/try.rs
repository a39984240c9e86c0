#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used)]
use ostler_exec::*;
use std::sync::Arc;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a[1] == "supervise" {
        supervise();
    }
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let ex = Executor::new(SupervisorProgram::this_binary(["supervise"]));
        ex.start().await.unwrap();
        let t = Instant::now();
        println!("{:?} {:?}", ex.probe().await, t.elapsed());
        let l = &a[1];
        let root = a[2].clone();
        let s = Sandbox {
            writable: vec![root.clone().into()],
            readable: vec![],
            homes: vec!["/root".into(), "/home".into()],
            hidden: vec![],
            frozen: vec![format!("{root}/.git/hooks").into(), format!("{root}/.git/config").into()],
            temp: a[3].clone().into(),
            network: l.contains('n'),
            layers: Layers {
                landlock: l.contains('l'),
                seccomp: l.contains('s'),
                bubblewrap: l.contains('b'),
            },
        };
        let mut c = bash(&a[4], &root, vec![("PATH".into(), "/usr/bin:/bin".into())]);
        if l != "plain" {
            c.sandbox = Some(Arc::new(s));
        }
        let n: u32 = a.get(5).map_or(1, |n| n.parse().unwrap());
        let t = Instant::now();
        for i in 0..n {
            let f = ex.run(c.clone(), |_| {}).await;
            if i == 0 {
                match f {
                    Ok(f) => println!("{} {:?}\n{}", f.status, f.wall, f.output.to_text()),
                    Err(e) => println!("{e}"),
                }
            }
        }
        println!("{:?} per command", t.elapsed() / n);
    });
}
