//! The worker processes: started, killed, stopped, continued, started again.

use crate::facts::{Fact, FactFile};
use crate::hosts::{Hosts, clone_path};
use crate::plan::Plan;
use crate::random::Random;
use crate::{real_worker, repository};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Member {
    name: String,
    /// The network namespace that it is in.
    host: Option<String>,
    child: Child,
    /// Stopped, and to be continued then.
    stopped_until: Option<Instant>,
}

pub struct Crowd {
    plan: Plan,
    directory: PathBuf,
    members: Vec<Member>,
    random: Random,
    /// Ends that nobody caused.
    pub failures: u32,
}

/// More and something is wrong with all of them.
const MOST_FAILURES: u32 = 20;

impl Crowd {
    pub fn start(plan: &Plan, directory: &Path, hosts: Option<&Hosts>) -> Result<Crowd, String> {
        let mut crowd = Crowd {
            plan: plan.clone(),
            directory: directory.to_owned(),
            members: Vec::new(),
            random: Random::new(plan.seed ^ 0xc0ffee),
            failures: 0,
        };
        for (number, name) in plan.worker_names().into_iter().enumerate() {
            let host = hosts.and_then(|hosts| hosts.of(number)).map(str::to_owned);
            let child = crowd.launch(&name, host.as_deref())?;
            crowd.members.push(Member { name, host, child, stopped_until: None });
        }
        Ok(crowd)
    }

    fn launch(&mut self, name: &str, host: Option<&str>) -> Result<Child, String> {
        if !self.plan.real.is_empty() {
            return real_worker::start(&self.plan, &self.directory, name);
        }
        let program = std::env::current_exe().map_err(|why| why.to_string())?;
        let (mut command, clone) = match host {
            None => (Command::new(program), repository::path(&self.directory)),
            Some(host) => {
                // It becomes the worker: the same process.
                let mut command = Command::new("ip");
                command.args(["netns", "exec", host]).arg(program);
                (command, clone_path(&self.directory, host))
            }
        };
        let seed = self.random.number().to_string();
        command.arg("worker").arg(&self.directory).args([name, &seed]).arg(clone);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().map_err(|why| format!("cannot start a worker: {why}"))
    }

    /// Kills one that is running, and starts it again. Those that are stopped have something before them yet.
    pub fn kill_one(&mut self, facts: &mut FactFile) -> Result<(), String> {
        let Some(at) = self.anyone_running() else { return Ok(()) };
        let Some(member) = self.members.get_mut(at) else { return Ok(()) };
        let _ = member.child.kill();
        let _ = member.child.wait();
        facts.record(&Fact::Killed { worker: member.name.clone() })?;
        self.replace(at)
    }

    fn anyone_running(&mut self) -> Option<usize> {
        let running = |(_, member): &(usize, &Member)| member.stopped_until.is_none();
        let places = self.members.iter().enumerate().filter(running).map(|(at, _)| at);
        let places: Vec<usize> = places.collect();
        places.get(self.random.below(places.len())).copied()
    }

    fn replace(&mut self, at: usize) -> Result<(), String> {
        let Some(member) = self.members.get(at) else { return Ok(()) };
        let (name, host) = (member.name.clone(), member.host.clone());
        let child = self.launch(&name, host.as_deref())?;
        if let Some(member) = self.members.get_mut(at) {
            (member.child, member.stopped_until) = (child, None);
        }
        Ok(())
    }

    /// Stops one for longer than a lease: it goes on later, and does not know that it was away.
    pub fn stop_one(&mut self, away: Duration, facts: &mut FactFile) -> Result<(), String> {
        let Some(at) = self.anyone_running() else { return Ok(()) };
        let Some(member) = self.members.get_mut(at) else { return Ok(()) };
        let pid = pid(&member.child);
        signal(pid, Signal::STOP);
        member.stopped_until = Some(Instant::now() + away);
        // Not by us: a process that is stopped in the middle of a transaction keeps us waiting, too.
        std::thread::spawn(move || {
            std::thread::sleep(away);
            signal(pid, Signal::CONT);
        });
        facts.record(&Fact::Stopped { worker: member.name.clone() })
    }

    /// Continues those whose time has come, and starts again those that ended.
    pub fn look_after(&mut self, facts: &mut FactFile) -> Result<(), String> {
        for at in 0..self.members.len() {
            let Some(member) = self.members.get_mut(at) else { break };
            if member.stopped_until.is_some_and(|until| until <= Instant::now()) {
                member.stopped_until = None;
                signal(pid(&member.child), Signal::CONT);
                facts.record(&Fact::Continued { worker: member.name.clone() })?;
            }
            if member.child.try_wait().map_err(|why| why.to_string())?.is_none() {
                continue;
            }
            let name = member.name.clone();
            self.failures += 1;
            if self.failures > MOST_FAILURES {
                return Err(format!(
                    "{} workers ended by themselves; the last was {name}",
                    self.failures
                ));
            }
            self.replace(at)?;
        }
        Ok(())
    }

    pub fn is_anyone_stopped(&self) -> bool {
        self.members.iter().any(|member| member.stopped_until.is_some())
    }

    /// Asks all of them to end.
    pub fn dismiss(&self) {
        self.members.iter().for_each(|member| signal(pid(&member.child), Signal::TERM));
    }

    /// Whether all have ended, after they were told to.
    pub fn has_ended(&mut self) -> Result<bool, String> {
        let mut ended = true;
        for member in &mut self.members {
            ended &= member.child.try_wait().map_err(|why| why.to_string())?.is_some();
        }
        Ok(ended)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).unwrap_or_default())
}

fn signal(pid: Option<Pid>, signal: Signal) {
    if let Some(pid) = pid {
        let _ = kill_process(pid, signal);
    }
}
