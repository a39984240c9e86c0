//! A call that runs by itself, and what is heard of it. Dropping it stops the call in order.

use ostler::{Question, Session};
use rmcp::model::{CallToolResult, JsonObject};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) enum News {
    /// The call goes on when the session has the answer.
    Asked(Box<Question>, Session),
    Done(Box<CallToolResult>),
}

pub(crate) struct RunningCall {
    pub(crate) tool: String,
    pub(crate) arguments: JsonObject,
    news: mpsc::UnboundedReceiver<News>,
    progress: watch::Receiver<String>,
    _stop: DropGuard,
}

/// What is heard of a call.
pub(crate) enum Heard {
    News(News),
    Progress(String),
}

/// For the call itself. A call asks one question at a time, so little can pile up.
#[derive(Clone)]
pub(crate) struct Reporter {
    news: mpsc::UnboundedSender<News>,
    progress: watch::Sender<String>,
}

impl Reporter {
    pub(crate) fn asked(&self, question: Box<Question>, session: &Session) {
        // If nobody listens, the call is being stopped.
        let _ = self.news.send(News::Asked(question, session.clone()));
    }

    pub(crate) fn progress(&self, text: String) {
        self.progress.send_replace(text);
    }
}

impl RunningCall {
    /// `work` has to end soon after its token was cancelled.
    pub(crate) fn start<F>(
        tool: String,
        arguments: JsonObject,
        work: impl FnOnce(Reporter, CancellationToken) -> F,
    ) -> Self
    where
        F: Future<Output = CallToolResult> + Send + 'static,
    {
        let (stop, (send, news)) = (CancellationToken::new(), mpsc::unbounded_channel());
        let (tell, progress) = watch::channel(String::new());
        let reporter = Reporter { news: send.clone(), progress: tell };
        let work = work(reporter, stop.clone());
        tokio::spawn(async move {
            let result = work.await;
            let _ = send.send(News::Done(Box::new(result)));
        });
        RunningCall { tool, arguments, news, progress, _stop: stop.drop_guard() }
    }

    /// None: it ended without a result.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        tokio::select! {
            biased;
            news = self.news.recv() => news.map(Heard::News),
            Ok(()) = self.progress.changed() => {
                let text = self.progress.borrow_and_update().clone();
                Some(Heard::Progress(text))
            }
        }
    }
}
