//! A sign of life while nothing comes: how long it has been waited for what. On a terminal only, on standard error, gone
//! before anything else is written.

use ostler::{CallId, Event};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shorter silence needs no sign.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_secs(1);

/// Shared by everybody who writes while a turn runs.
#[derive(Clone)]
pub struct Waiting {
    is_seen: bool,
    state: Arc<Mutex<State>>,
}

struct State {
    /// When something was written last.
    since: Instant,
    next: Instant,
    /// Calls at work.
    running: Vec<(CallId, String)>,
    /// Characters that stand on the screen.
    drawn: usize,
}

impl Waiting {
    pub fn new() -> Self {
        let now = Instant::now();
        let state = State { since: now, next: now + PATIENCE, running: Vec::new(), drawn: 0 };
        let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        Waiting { is_seen, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn begins.
    pub fn begin(&self) {
        self.clear();
        self.state().running.clear();
    }

    /// Comes back when it is time to draw. Cancel-safe.
    pub async fn tick(&self) {
        if !self.is_seen {
            return std::future::pending().await;
        }
        let next = self.state().next;
        tokio::time::sleep_until(next.into()).await;
    }

    /// `room`: columns that are left on the current line; none while a question is open.
    pub fn draw(&self, room: usize) {
        let mut state = self.state();
        state.next = Instant::now() + PAUSE;
        let mut bytes = erasure(std::mem::take(&mut state.drawn));
        let names: Vec<&str> = state.running.iter().map(|(_, name)| name.as_str()).collect();
        let text = words(&names, state.since.elapsed());
        let width = text.chars().count();
        if width < room {
            bytes += &text;
            state.drawn = width;
        }
        show(&bytes);
    }

    /// Something is about to be written.
    pub fn clear(&self) {
        let mut state = self.state();
        state.since = Instant::now();
        state.next = state.since + PATIENCE;
        show(&erasure(std::mem::take(&mut state.drawn)));
    }

    /// Before it is shown.
    pub fn event(&self, event: &Event) {
        match event {
            // Nothing is written for these.
            Event::CallProgress { .. } | Event::ThinkingDelta { .. } | Event::Raw(_) => return,
            Event::CallStarted { id, name, .. } => {
                self.state().running.push((id.clone(), name.clone()));
            }
            Event::CallFinished { id, .. } => self.state().running.retain(|(known, _)| known != id),
            _ => {}
        }
        self.clear();
    }
}

/// It only decorates: whoever writes next finds out that nobody reads.
fn show(bytes: &str) {
    if !bytes.is_empty() {
        crate::output::printer::print_error(bytes);
    }
}

fn erasure(width: usize) -> String {
    let back = "\u{8}".repeat(width);
    format!("{back}{}{back}", " ".repeat(width))
}

fn words(running: &[&str], silent: Duration) -> String {
    let what = match running {
        [] => "waiting for the model".to_owned(),
        [name] => format!("running {}", crate::output::visible_text::visible(name)),
        more => format!("running {} tools", more.len()),
    };
    format!("… {what}, {} s", silent.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_is_waited_for() {
        let after = |seconds: u64| Duration::from_millis(seconds * 1000 + 999);
        assert_eq!(words(&[], after(3)), "… waiting for the model, 3 s");
        assert_eq!(words(&["Bash"], after(61)), "… running Bash, 61 s");
        assert_eq!(words(&["Bash", "Read"], after(4)), "… running 2 tools, 4 s");
        assert_eq!(words(&["a\u{1b}[2J"], after(2)), "… running a\\u{1b}[2J, 2 s");
        assert_eq!(erasure(2), "\u{8}\u{8}  \u{8}\u{8}");
        assert_eq!(erasure(0), "");
    }
}
