//! What a session tells outside of its log, for all its agents: what they cost, and whether a request is being repeated.

use super::Blocked;
use ostler_core::event::AgentPath;
use ostler_core::ids::SessionId;
use ostler_core::time::Timestamp;
use ostler_ledger::{CostReport, Db, ReportKey};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes at the end of the event log that are read.
const TAIL: u64 = 256 << 10;

#[derive(Default)]
pub(super) struct SessionSigns {
    costs: Option<CostReport>,
    /// By path.
    retries: HashMap<String, Blocked>,
}

impl SessionSigns {
    /// What cannot be read is not known.
    pub(super) fn read(home: &Path, session: &SessionId) -> Self {
        let costs = costs(&home.join("ledger.db"), session);
        let events = home.join("events").join(format!("{session}.jsonl"));
        SessionSigns { costs, retries: retries(&tail(&events)) }
    }

    /// The ledger knows agents by their path; the session has the sum of all of them.
    pub(super) fn cost(&self, path: &AgentPath) -> Option<f64> {
        let report = self.costs.as_ref().filter(|report| report.total.requests > 0)?;
        if path.is_root() {
            return report.total.known_cost();
        }
        let name = path.names().join("/");
        let is_below =
            |key: &str| key.strip_prefix(&name).is_some_and(|rest| rest.starts_with('/'));
        let mut own = report.lines.iter().filter(|line| line.key == name || is_below(&line.key));
        own.try_fold(0.0, |sum, line| Some(sum + line.known_cost()?))
    }

    pub(super) fn retry(&self, path: &AgentPath) -> Option<Blocked> {
        self.retries.get(&path.to_string()).cloned()
    }
}

fn costs(path: &Path, session: &SessionId) -> Option<CostReport> {
    if !path.exists() {
        return None;
    }
    let mut report = CostReport::builder(ReportKey::Agent);
    let db = Db::open(path).ok()?;
    db.each(Timestamp(0), Some(session.as_str()), |row| report.add(&row)).ok()?;
    Some(report.finish())
}

fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(TAIL);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// Whose last event is a retry.
fn retries(events: &str) -> HashMap<String, Blocked> {
    let mut retries = HashMap::new();
    for event in events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        let agent = text("agent").unwrap_or("/").to_owned();
        match text("event") {
            Some("retrying") => {
                let attempt = event.get("attempt").and_then(Value::as_u64).unwrap_or_default();
                let error = text("error").unwrap_or_default().to_owned();
                retries.insert(agent, Blocked::Retry { attempt, error });
            }
            _ => drop(retries.remove(&agent)),
        }
    }
    retries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_lasts_until_the_next_event_of_the_same_agent() {
        let retry = |n: u64| Blocked::Retry { attempt: n, error: "overloaded".into() };
        let events = r#"
{"event":"retrying","attempt":1,"error":"overloaded","agent":"/explorer-1"}
{"event":"retrying","attempt":2,"error":"overloaded"}
{"event":"retrying","attempt":3,"error":"overloaded","agent":"/explorer-2"}
{"event":"call_started","agent":"/explorer-2"}
{"event":"retrying","attempt":4,"#;
        let found = retries(events);
        assert_eq!(found.get("/explorer-1"), Some(&retry(1)));
        assert_eq!(found.get("/"), Some(&retry(2)));
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
