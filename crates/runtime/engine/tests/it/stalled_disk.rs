//! A disk that does not answer holds up its own sessions and nobody else's.

use crate::until_so;
use ostler_core::turn::Terminal;
use ostler_engine::SyncPool;
use ostler_testkit::{
    Script, StalledDisk, TestAgent, TimelineMoment, collect, finished, says, until,
};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// As many as may wait for disks while one thread is left for others.
const STALLED: usize = 7;

#[tokio::test]
async fn an_interrupt_does_not_wait_for_the_disk_of_others() {
    let (syncs, disk) = (SyncPool::default(), Arc::new(StalledDisk::default()));
    let stalled: Vec<_> = (0..STALLED)
        .map(|_| TestAgent::new().answers([says("done")]).disk(&disk).syncs(&syncs).build())
        .collect();
    let turns: Vec<_> = stalled.iter().map(|rig| tokio::spawn(collect(rig.start("go")))).collect();
    until_so("all of them wait for their disk", || disk.waiting() == STALLED).await;

    let holds = Script::new().text("half").hold();
    let rig = TestAgent::new().answers([holds]).syncs(&syncs).build();
    let interrupt = CancellationToken::new();
    let mut stream = rig.start_with("go", &interrupt);
    let read = until(&mut stream, "text \"half\"").await;
    let interrupted = Instant::now();
    interrupt.cancel();
    let events = rig.finish(read, stream).await;
    let took = interrupted.elapsed();
    assert_eq!(finished(&events).terminal, Terminal::AbortedStreaming);
    assert_eq!(rig.timeline.moments().last(), Some(&TimelineMoment::Synced), "its end is on disk");
    assert_eq!(disk.waiting(), STALLED, "the others still wait for theirs");
    println!(
        "stalled disk: an interrupt took {took:.1?} while {STALLED} sessions waited for theirs"
    );

    disk.answer();
    for turn in turns {
        assert_eq!(finished(&turn.await.unwrap()).terminal, Terminal::Completed);
    }
}
