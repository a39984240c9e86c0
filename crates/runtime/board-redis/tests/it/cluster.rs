//! Three nodes on this machine: the whole suite, whichever node a client is told of.

use crate::contract::CASES;
use crate::redis_place::on;
use crate::redis_server::RedisServer;
use ostler_board_redis::Scripts;
use redis::cmd;
use std::process::{Command, Stdio};
use std::sync::Arc;

fn node() -> Option<Arc<RedisServer>> {
    // The port for the other nodes is 10 000 higher.
    loop {
        let server = RedisServer::start(&["--cluster-enabled", "yes"])?;
        if server.port < 55_000 {
            return Some(Arc::new(server));
        }
    }
}

#[test]
fn the_suite_passes_on_a_cluster() {
    let nodes: Vec<Arc<RedisServer>> = (0..3).map_while(|_| node()).collect();
    if nodes.len() < 3 {
        return;
    }
    let mut create = Command::new("redis-cli");
    create.args(["--cluster", "create"]);
    create.args(nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)));
    create.args(["--cluster-replicas", "0", "--cluster-yes"]).stdout(Stdio::null());
    if !create.status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: boards on a Redis cluster (redis-cli cannot create one)");
        return;
    }
    for node in &nodes {
        let mut connection = node.connection();
        let is_ready = |info: String| info.contains("cluster_state:ok");
        while !is_ready(cmd("CLUSTER").arg("INFO").query(&mut connection).unwrap()) {
            std::thread::yield_now();
        }
    }
    for (n, (_, case)) in CASES.iter().enumerate() {
        case(&on(nodes[n % 3].clone(), Scripts::default()));
    }
    // The boards are spread over all of them.
    for node in &nodes {
        let keys: u64 = cmd("DBSIZE").query(&mut node.connection()).unwrap();
        assert!(keys > 0, "nothing on port {}", node.port);
    }
    println!("{} cases on a cluster of {} nodes", CASES.len(), nodes.len());
}
