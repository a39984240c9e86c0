//! The overview of a board on a server.

use crate::redis_board::RedisBoard;
use crate::reply::{Asked, Read, Reply};
use ostler_board::{
    Board, BoardError, BoardOverview, DamagedEntry, MOST_SHOWN, MailBacklog, ServerState, Status,
    TaskCounts, TaskQuery, Throughput, WorkerClaim,
};
use std::collections::{BTreeMap, HashMap};

/// Mails that are looked at: a backlog may be endless.
const MOST_MAILS: usize = 100_000;

impl RedisBoard {
    pub(crate) fn look_over(&mut self) -> Result<BoardOverview, BoardError> {
        let mut reply = self.tasks(vec!["overview".to_owned()], Asked::default())?;
        let counted = self.readable(counts(&mut reply));
        let (tasks, finished, damaged) = counted?;
        let in_progress = TaskQuery { statuses: vec![Status::InProgress], limit: MOST_SHOWN };
        Ok(BoardOverview {
            board: self.address().to_string(),
            tasks,
            finished,
            workers: WorkerClaim::all(self.list(&in_progress)?.tasks),
            mail: self.backlogs()?,
            damaged,
            server: Some(self.server_state()),
        })
    }

    fn backlogs(&mut self) -> Result<Vec<MailBacklog>, BoardError> {
        let mut found: BTreeMap<String, MailBacklog> = BTreeMap::new();
        let (mut after, mut looked) = ("0".to_owned(), 0);
        while looked < MOST_MAILS {
            let mut reply = self.mail(vec!["backlog".to_owned(), after.clone()])?;
            let page = reply.text().and_then(|next| {
                after = next;
                reply.lists()?.iter_mut().map(backlog).collect::<Read<Vec<MailBacklog>>>()
            });
            for one in self.readable(page)? {
                looked += usize::try_from(one.unread + one.delivered).unwrap_or(MOST_MAILS);
                let own = found.entry(one.to.clone()).or_insert(MailBacklog {
                    unread: 0,
                    delivered: 0,
                    ..one.clone()
                });
                own.unread += one.unread;
                own.delivered += one.delivered;
                own.oldest_ms = own.oldest_ms.min(one.oldest_ms);
            }
            if after.is_empty() {
                break;
            }
        }
        Ok(found.into_values().take(MOST_SHOWN).collect())
    }

    fn server_state(&mut self) -> ServerState {
        let info = self.info();
        let fields: HashMap<&str, &str> =
            info.lines().filter_map(|line| line.trim_end().split_once(':')).collect();
        let text = |name: &str| fields.get(name).map(|value| (*value).to_owned());
        let number = |name: &str| fields.get(name).and_then(|value| value.parse().ok());
        let valkey = text("valkey_version");
        let product = if valkey.is_some() { "valkey" } else { "redis" };
        let version = valkey.or_else(|| text("redis_version"));
        ServerState {
            product: version.as_ref().map(|_| product.to_owned()),
            version,
            role: text("role"),
            replicas: number("connected_slaves"),
            clients: number("connected_clients"),
            memory_bytes: number("used_memory"),
            memory_limit_bytes: number("maxmemory"),
            aof: number("aof_enabled").map(|is: u64| is == 1),
            aof_sync: self.setting("appendfsync"),
            aof_last_write: text("aof_last_write_status"),
        }
    }
}

fn counts(reply: &mut Reply) -> Read<(TaskCounts, Throughput, Vec<DamagedEntry>)> {
    let mut counts = [0; 6];
    for count in &mut counts {
        *count = reply.number()?;
    }
    let tasks = TaskCounts::of(counts, reply.number()?);
    let finished = Throughput { last_minute: reply.number()?, last_5_minutes: reply.number()? };
    Ok((tasks, finished, reply.damaged()?))
}

fn backlog(reply: &mut Reply) -> Read<MailBacklog> {
    Ok(MailBacklog {
        to: reply.text()?,
        unread: reply.number()?,
        delivered: reply.number()?,
        oldest_ms: reply.number()?,
    })
}
