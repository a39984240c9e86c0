//! Looks at what a server offers again when it says that this changed.

use crate::connection::Connection;
use crate::handler::Handler;
use crate::server::Server;
use crate::stdio::task;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient, ServiceError};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Changes that come in a burst are looked at once.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest pause before a change is looked at.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After so much time without a change, the next one is looked at soon again.
const QUIET: Duration = Duration::from_secs(1);
/// The pause before a subscription that ended is made again; it doubles up to the longest one.
const AGAIN: Duration = Duration::from_secs(1);
/// The first revision in which changes are told only to those who subscribe.
const SUBSCRIBED: &str = "2026-07-28";

pub(crate) fn watch(server: &Arc<Server>, connection: &Arc<Connection>) -> AbortOnDropHandle<()> {
    let limit = server.config().start_limit;
    let handler = connection.handler.clone();
    let listening = subscription(connection);
    let (server, connection) = (Arc::downgrade(server), Arc::downgrade(connection));
    task(async move {
        let _listening = listening;
        let mut pace = Pace::default();
        loop {
            handler.tools_changed().await;
            tokio::time::sleep(pace.pause(Instant::now())).await;
            let Some(connection) = Weak::upgrade(&connection) else { return };
            let asked = tokio::time::timeout(limit, connection.manifest()).await;
            pace.looked(Instant::now());
            let Ok(Ok(manifest)) = asked else { continue };
            let Some(server) = server.upgrade() else { return };
            if server.manifest().is_none_or(|known| *known != manifest) {
                server.learned(manifest);
            }
        }
    })
}

/// A server that never stops changing is looked at less and less often.
#[derive(Default)]
struct Pace {
    pause: Duration,
    looked: Option<Instant>,
}

impl Pace {
    /// How long to wait after a change that is noticed now.
    fn pause(&mut self, now: Instant) -> Duration {
        let quiet = (2 * self.pause).max(QUIET);
        let is_restless = self.looked.is_some_and(|at| now.saturating_duration_since(at) < quiet);
        self.pause = match is_restless {
            true => (2 * self.pause).min(LONGEST_PAUSE),
            false => SETTLE,
        };
        self.pause
    }

    fn looked(&mut self, now: Instant) {
        self.looked = Some(now);
    }
}

/// Servers of the newest revision tell of changes only on request.
fn subscription(connection: &Connection) -> Option<AbortOnDropHandle<()>> {
    let info = connection.peer().peer_info()?;
    let wanted = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
    let wanted = wanted.supported_by(&info.capabilities);
    let is_needed = *info.protocol_version.as_str() >= *SUBSCRIBED
        && (wanted.tools_list_changed.is_some() || wanted.prompts_list_changed.is_some());
    let (peer, handler) = (connection.peer().clone(), connection.handler.clone());
    is_needed.then(|| task(listen(peer, handler, wanted)))
}

async fn listen(peer: Peer<RoleClient>, handler: Handler, wanted: SubscriptionFilter) {
    let mut pause = AGAIN;
    while !peer.is_transport_closed() {
        let listening = peer.listen(wanted.clone()).await;
        if matches!(listening, Err(ServiceError::McpError(_))) {
            // It says no, and will say so again.
            return;
        }
        if let Ok(mut subscription) = listening {
            let begin = Instant::now();
            while let Ok(Some(change)) = subscription.next().await {
                if matches!(
                    change,
                    ServerNotification::ToolListChangedNotification(_)
                        | ServerNotification::PromptListChangedNotification(_)
                ) {
                    handler.note_change();
                }
            }
            // What changed in between was told to nobody.
            handler.note_change();
            if begin.elapsed() > LONGEST_PAUSE {
                pause = AGAIN;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_stops_changing_is_looked_at_less_and_less_often() {
        let mut pace = Pace::default();
        let begin = Instant::now();
        let mut now = begin;
        let mut looks = 0;
        while now - begin < Duration::from_secs(3_600) {
            now += pace.pause(now);
            pace.looked(now);
            looks += 1;
        }
        assert!(looks < 80, "{looks} in an hour");
        // A change now and then is looked at soon.
        now += 3 * LONGEST_PAUSE;
        assert_eq!(pace.pause(now), SETTLE);
        pace.looked(now);
        assert_eq!(pace.pause(now + Duration::from_millis(10)), 2 * SETTLE);
        pace.looked(now);
        assert_eq!(pace.pause(now + Duration::from_secs(5)), SETTLE);
    }
}
