//! A turn as a `Stream`: polling it drives the loop, dropping it cancels everything the turn owns.

use futures_core::Stream;
use ostler_core::event::Event;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

pub struct TurnStream {
    turn: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    events: mpsc::Receiver<Event>,
}

/// The turn's only way to emit events. `emit` waits until the reader has room.
#[derive(Clone)]
pub(crate) struct Emitter(mpsc::Sender<Event>);

impl Emitter {
    pub(crate) async fn emit(&self, event: Event) {
        // The receiver lives as long as the future that calls this, so the send cannot fail.
        let _ = self.0.send(event).await;
    }
}

impl TurnStream {
    pub(crate) fn new<F>(start: impl FnOnce(Emitter) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(1);
        TurnStream { turn: Some(Box::pin(start(Emitter(sender)))), events }
    }
}

impl Stream for TurnStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
            return Poll::Ready(Some(event));
        }
        if let Some(turn) = self.turn.as_mut()
            && turn.as_mut().poll(cx).is_ready()
        {
            self.turn = None;
        }
        self.events.poll_recv(cx)
    }
}
