use super::*;
use ostler_core::ids::SessionId;
use ostler_core::session::Entry;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A log on a disk that answers on request.
struct SlowLog {
    id: SessionId,
    moments: UnboundedSender<String>,
    answers: Mutex<Receiver<()>>,
    driver: ThreadId,
}

impl SessionLog for SlowLog {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn append(&self, _: &Entry) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        assert_ne!(std::thread::current().id(), self.driver, "this thread drives turns");
        self.moments.send(format!("{} begins", self.id)).unwrap();
        self.answers.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        self.moments.send(format!("{} ends", self.id)).unwrap();
        Ok(())
    }
}

/// A log, and what lets one of its syncs end.
fn slow(id: &str, moments: &UnboundedSender<String>) -> (Arc<dyn SessionLog>, Sender<()>) {
    let (answer, answers) = channel();
    let (moments, answers) = (moments.clone(), Mutex::new(answers));
    let driver = std::thread::current().id();
    (Arc::new(SlowLog { id: SessionId::new(id), moments, answers, driver }), answer)
}

async fn next(moments: &mut UnboundedReceiver<String>) -> String {
    moments.recv().await.unwrap()
}

fn sync_of(
    pool: &SyncPool,
    log: &Arc<dyn SessionLog>,
) -> tokio::task::JoinHandle<Result<(), StoreError>> {
    let (pool, log) = (pool.clone(), log.clone());
    tokio::spawn(async move { pool.sync(&log).await })
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_neither_the_sync_nor_the_interrupt_of_others() {
    let (told, mut moments) = unbounded_channel();
    let pool = SyncPool::default();
    let ((hangs, answer), (works, ready)) = (slow("hangs", &told), slow("works", &told));
    ready.send(()).unwrap();
    let stuck = sync_of(&pool, &hangs);
    assert_eq!(next(&mut moments).await, "hangs begins");
    sync_of(&pool, &works).await.unwrap().unwrap();
    assert_eq!(next(&mut moments).await, "works begins");
    assert_eq!(next(&mut moments).await, "works ends");
    // The turn that waits for it can be given up at once.
    stuck.abort();
    assert!(stuck.await.unwrap_err().is_cancelled());
    assert!(moments.try_recv().is_err(), "its disk has still not answered");
    answer.send(()).unwrap();
    assert_eq!(next(&mut moments).await, "hangs ends");
}

#[tokio::test]
async fn a_thread_is_taken_until_its_disk_answers_even_if_nobody_waits() {
    let (told, mut moments) = unbounded_channel();
    let pool = SyncPool::with_threads(1);
    let ((first, answer), (second, ready)) = (slow("first", &told), slow("second", &told));
    ready.send(()).unwrap();
    let given_up = sync_of(&pool, &first);
    assert_eq!(next(&mut moments).await, "first begins");
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    let waits = sync_of(&pool, &second);
    tokio::task::yield_now().await;
    answer.send(()).unwrap();
    waits.await.unwrap().unwrap();
    let mut order = Vec::new();
    while let Ok(moment) = moments.try_recv() {
        order.push(moment);
    }
    assert_eq!(order, ["first ends", "second begins", "second ends"]);
}

/// A log that counts how many of its kind sync at the same time.
struct CountingLog {
    id: SessionId,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// Lets as many at once through as the pool may run.
    together: Arc<std::sync::Barrier>,
}

impl SessionLog for CountingLog {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn append(&self, _: &Entry) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.together.wait();
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn a_thousand_sessions_sync_on_a_few_threads() {
    let (now, most) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
    let together = Arc::new(std::sync::Barrier::new(MOST_AT_ONCE));
    let (pool, mut all) = (SyncPool::default(), tokio::task::JoinSet::new());
    for n in 0..1000 {
        let (id, now, most) = (SessionId::new(format!("s{n}")), Arc::clone(&now), most.clone());
        let log: Arc<dyn SessionLog> =
            Arc::new(CountingLog { id, now, most, together: together.clone() });
        let pool = pool.clone();
        all.spawn(async move { pool.sync(&log).await });
    }
    let results = all.join_all().await;
    assert!(results.len() == 1000 && results.iter().all(Result::is_ok));
    assert_eq!(most.load(Ordering::SeqCst), MOST_AT_ONCE);
}
