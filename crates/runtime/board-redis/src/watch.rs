//! Hears of changes that others make. A message that is lost only delays them: whoever waits also looks by itself.

use crate::address::Address;
use crate::server::connect;
use ostler_board::backend::Registry;
use ostler_board::{Bell, Ringer};
use redis::RedisError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How soon the thread ends after the last bell is gone, and how long it waits before it connects again.
const LISTEN: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(250);

static BELLS: Registry<Bell> = Registry::new();

/// Ends the thread.
struct End(Arc<AtomicBool>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One per board and process.
pub(crate) fn bell_of(address: &Address, key: &str) -> Arc<Bell> {
    let name = address.to_string();
    BELLS.get_or_make(Path::new(&name), || {
        let (address, channel) = (address.clone(), format!("{key}:bell"));
        Bell::on_a_server(|ringer| {
            let is_over = Arc::new(AtomicBool::new(false));
            let end = End(is_over.clone());
            let thread = std::thread::Builder::new().name("board-bell".into());
            // Without the thread, those who wait look once a second.
            let _ = thread.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    if listen(&address, &channel, &ringer, &is_over).is_err() {
                        std::thread::sleep(PAUSE);
                    }
                }
            });
            Box::new(end)
        })
    })
}

fn listen(
    address: &Address,
    channel: &str,
    ringer: &Ringer,
    is_over: &AtomicBool,
) -> Result<(), RedisError> {
    let mut connection = connect(&address.info)?;
    let mut messages = connection.as_pubsub();
    messages.subscribe(channel)?;
    messages.set_read_timeout(Some(LISTEN))?;
    // What happened before is not announced.
    ringer.ring();
    while !is_over.load(Ordering::Relaxed) {
        match messages.get_message() {
            Ok(_) => ringer.ring(),
            Err(error) if error.is_timeout() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
