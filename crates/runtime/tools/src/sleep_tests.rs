//! A wait has an end: its time, or an arrival.

use super::*;
use ostler_core::inbox::Delivery;
use ostler_core::message::ResultPart;
use ostler_core::ports::{Arrivals, Blobs, BoxFuture, NoArrivals, Progress, Recorder, StoreError};
use ostler_core::session::Entry;
use tokio::sync::Notify;

struct Nothing;

impl Progress for Nothing {
    fn tail(&self, _: &str) {}
}

impl Recorder for Nothing {
    fn record(&self, _: Entry) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Blobs for Nothing {
    fn put(&self, _: &[u8]) -> Result<ostler_core::ids::BlobRef, StoreError> {
        Ok("none".into())
    }
    fn get(&self, _: &ostler_core::ids::BlobRef) -> Result<Vec<u8>, StoreError> {
        Ok(Vec::new())
    }
    fn spill(&self, _: &[u8]) -> Result<Option<std::path::PathBuf>, StoreError> {
        Ok(None)
    }
}

/// Arrives when it is told to.
struct Once(Arc<Notify>);

impl Arrivals for Once {
    fn next(&self) -> BoxFuture<'static, QueuedItem> {
        let told = self.0.clone();
        Box::pin(async move {
            told.notified().await;
            let source = InboundSource::Job { id: "j1".into(), summary: None };
            QueuedItem { id: "i1".into(), source, when: Delivery::Later, text: "done".into() }
        })
    }
}

fn context(arrivals: Arc<dyn Arrivals>) -> ToolContext {
    ToolContext {
        call: "s1".into(),
        judged: Access::nothing(),
        progress: Arc::new(Nothing),
        recorder: Arc::new(Nothing),
        blobs: Arc::new(Nothing),
        arrivals,
        beside_others: false,
    }
}

fn said(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(ResultPart::Text { text }) => text,
        _ => "",
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_its_time_has_passed() {
    let output = Sleep.run(Input { seconds: 600 }, context(Arc::new(NoArrivals))).await;
    assert_eq!(said(&output), "600 s have passed. Nothing arrived.");
}

#[tokio::test(start_paused = true)]
async fn an_arrival_wakes_it() {
    let told = Arc::new(Notify::new());
    let sleeping = Sleep.run(Input { seconds: 600 }, context(Arc::new(Once(told.clone()))));
    let tells = async {
        tokio::time::advance(Duration::from_secs(7)).await;
        told.notify_one();
    };
    let (output, ()) = tokio::join!(sleeping, tells);
    assert_eq!(
        said(&output),
        "Ended after 7 s because of a report from a background job. It follows."
    );
}

#[test]
fn a_wait_is_bounded_and_asks_nobody() {
    for (seconds, accepted) in [(0, false), (1, true), (600, true), (601, false)] {
        let access = Sleep.access(&Input { seconds });
        assert_eq!(access.is_ok(), accepted, "{seconds}");
        assert!(access.map_or(true, |access| access.is_harmless()));
    }
}
