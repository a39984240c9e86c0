//! One worker process: claims, commits, writes to others, reports. It may be killed or stopped anywhere.

use crate::facts::{self, Fact, FactFile};
use crate::heartbeat::Heartbeat;
use crate::plan::{Plan, worker_name};
use crate::random::Random;
use crate::{board_access, repository};
use ostler_board::{
    AgentChange, BoardError, Claimed, Delivery, MailId, NewMail, Outcome, POSTMASTER, SharedBoard,
    TaskAction, receive_new,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Claims nothing more, when this file is there; ends, when that one is.
pub const DRAIN: &str = "drain";
pub const STOP: &str = "stop";
/// Steps of the made-up work, and the longest pause of one.
const STEPS: usize = 5;
const PAUSE_MS: usize = 70;
/// Longer than any link is cut.
const MOST_WAITING: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_millis(200);

struct ChaosWorker {
    name: String,
    plan: Plan,
    directory: PathBuf,
    clone: PathBuf,
    board: Box<dyn SharedBoard>,
    facts: FactFile,
    random: Random,
    /// Mail that an earlier process of this name or this one has recorded.
    seen: HashSet<String>,
    lease: Duration,
    heartbeat: Heartbeat,
}

/// `clone` is the repository to commit in.
pub fn run(directory: &Path, name: &str, seed: &str, clone: &Path) -> Result<(), String> {
    // A run that is killed leaves nobody behind.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let plan = Plan::load(directory)?;
    let seen = facts::read(directory, name)?.into_iter().filter_map(|fact| match fact {
        Fact::Received { mail, .. } => Some(mail),
        _ => None,
    });
    let seen = seen.collect();
    let mut facts = FactFile::append_to(directory, name)?;
    facts.record(&Fact::Started { pid: std::process::id() })?;
    let heartbeat = Heartbeat::start(&plan, directory, name)?;
    let mut worker = ChaosWorker {
        name: name.to_owned(),
        board: open_patiently(&plan, directory)?,
        lease: Duration::from_millis(plan.lease_ms),
        plan,
        directory: directory.to_owned(),
        clone: clone.to_owned(),
        facts,
        heartbeat,
        random: Random::new(seed.parse().unwrap_or(1)),
        seen,
    };
    let done = worker.work();
    if let Err(why) = &done {
        worker.facts.record(&Fact::Trouble { why: why.clone() })?;
    }
    done
}

/// A worker on a host that is cut off waits, as a service that is started again and again would.
pub fn open_patiently(plan: &Plan, directory: &Path) -> Result<Box<dyn SharedBoard>, String> {
    let begin = Instant::now();
    loop {
        match board_access::open(plan, directory) {
            Err(_) if begin.elapsed() < MOST_WAITING => std::thread::sleep(IDLE),
            opened => return opened,
        }
    }
}

fn words(error: BoardError) -> String {
    error.to_string()
}

impl ChaosWorker {
    fn work(&mut self) -> Result<(), String> {
        // Whoever starts a worker knows that its last process is gone.
        self.board.set_agent(&self.name, &AgentChange::Started { lead: None }).map_err(words)?;
        let bell = self.board.bell();
        let mut is_drained = false;
        while !self.directory.join(STOP).exists() {
            let ticket = bell.ticket();
            let has_read = self.read_mail()?;
            if !is_drained && self.directory.join(DRAIN).exists() {
                self.facts.record(&Fact::Drained)?;
                is_drained = true;
            }
            let claimed = match is_drained {
                true => None,
                false => self.board.claim(None, &self.name, self.lease).map_err(words)?,
            };
            match claimed {
                Some(claimed) => self.attempt(&claimed)?,
                None if has_read => {}
                None => bell.wait(ticket, IDLE),
            }
        }
        Ok(())
    }

    fn attempt(&mut self, claimed: &Claimed) -> Result<(), String> {
        let (task, fence) = (claimed.id.0.clone(), claimed.fence);
        self.facts.record(&Fact::Claimed { task: task.clone(), fence })?;
        self.heartbeat.begin(&task, fence);
        let done = self.produce(&task, fence);
        self.heartbeat.end();
        done
    }

    fn produce(&mut self, task: &str, fence: u64) -> Result<(), String> {
        let task = task.to_owned();
        for _ in 0..STEPS {
            let pause = self.random.below(PAUSE_MS);
            std::thread::sleep(Duration::from_millis(u64::try_from(pause).unwrap_or(0)));
        }
        let branch = repository::commit_attempt(&self.clone, &task, fence)?;
        self.push(&branch)?;
        let committed = Fact::Committed { task: task.clone(), fence, branch: branch.clone() };
        self.facts.record(&committed)?;
        if self.random.percent(50) {
            self.send(&format!("{task} {fence}"))?;
        }
        let finish = TaskAction::Finish { fence, result: Some(branch) };
        let fact = match self.board.act(&task, &finish) {
            Ok(_) => Fact::FinishAccepted { task, fence },
            Err(BoardError::Refused(why)) => {
                Fact::FinishRefused { task, fence, why: why.to_string() }
            }
            Err(error) => return Err(words(error)),
        };
        self.facts.record(&fact)
    }

    /// Nothing happens on this machine, where the repository is at hand.
    fn push(&self, branch: &str) -> Result<(), String> {
        if self.plan.remote.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let name = format!("refs/heads/{branch}");
        let what = format!("{name}:{name}");
        loop {
            match repository::git(&self.clone, &["push", "-q", &self.plan.remote, &what]) {
                Ok(_) => return Ok(()),
                Err(why) if begin.elapsed() > MOST_WAITING => return Err(why),
                Err(_) => std::thread::sleep(IDLE),
            }
        }
    }

    fn send(&mut self, text: &str) -> Result<(), String> {
        let to = worker_name(self.random.below(self.plan.workers));
        let mail = ostler::new_uuid();
        self.facts.record(&Fact::Sending { mail: mail.clone(), to: to.clone() })?;
        let new = NewMail::new(MailId(mail.clone()), self.name.as_str(), to.as_str(), text);
        self.board.send(&new).map_err(words)?;
        self.facts.record(&Fact::Sent { mail, to })
    }

    /// Whether there was any.
    fn read_mail(&mut self) -> Result<bool, String> {
        let mut has_read = false;
        loop {
            let seen = &self.seen;
            let next = receive_new(&mut *self.board, &self.name, self.lease, &mut |id| {
                seen.contains(id.as_str())
            });
            match next {
                Ok(Some(delivery)) => self.read(&delivery)?,
                Ok(None) => return Ok(has_read),
                // What was recorded before is not settled in time; it comes again.
                Err(BoardError::Refused(_)) => {}
                Err(error) => return Err(words(error)),
            }
            has_read = true;
        }
    }

    fn read(&mut self, delivery: &Delivery) -> Result<(), String> {
        let mail = &delivery.mail;
        let (id, from) = (mail.id.0.clone(), mail.from.clone());
        let received = Fact::Received { mail: id.clone(), from: from.clone(), seq: mail.seq };
        self.facts.record(&received)?;
        self.seen.insert(id);
        // A reply to a reply would never end.
        let replies = mail.in_reply_to.is_none() && from != POSTMASTER && self.random.percent(25);
        let outcome = match replies {
            true => Outcome::Replied { text: "thanks".to_owned() },
            false => Outcome::Handled,
        };
        let reply = mail.id.reply().0;
        if replies {
            self.facts.record(&Fact::Sending { mail: reply.clone(), to: from.clone() })?;
        }
        match self.board.settle(delivery, &outcome) {
            Ok(()) if replies => self.facts.record(&Fact::Sent { mail: reply, to: from }),
            // Refused: it took too long and comes again, but is not read again.
            Ok(()) | Err(BoardError::Refused(_)) => Ok(()),
            Err(error) => Err(words(error)),
        }
    }
}
