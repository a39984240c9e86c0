//! What goes wrong when: it depends on how many tasks are done, not on the time, so that every run has its share.

use crate::crowd::Crowd;
use crate::facts::{Fact, FactFile};
use crate::hosts::{self, CUT};
use crate::plan::Plan;
use crate::random::Random;
use crate::redis_process::RedisProcess;
use std::time::{Duration, Instant};

/// Tasks between two kills, and between two stops.
const KILL_EVERY: usize = 8;
const STOP_EVERY: usize = 6;
const SOON_MS: usize = 250;
const LATER_MS: usize = 1_500;
/// The link of the first host is cut when so many of a hundred are done. The server is restarted when so many of a hundred tasks are done.
const CUT_AT: usize = 45;
const RESTARTS: [usize; 2] = [30, 65];

pub struct Disturbances {
    random: Random,
    lease: Duration,
    kills: usize,
    stops: usize,
    restarts: Vec<usize>,
    /// Which host, and after how many tasks.
    cut: Option<(String, usize)>,
    restored: Option<(String, Instant)>,
}

impl Disturbances {
    pub fn new(plan: &Plan, host: Option<&str>) -> Self {
        Disturbances {
            random: Random::new(plan.seed ^ 0xd15c0),
            lease: Duration::from_millis(plan.lease_ms),
            kills: 0,
            stops: 0,
            restarts: RESTARTS.iter().map(|share| plan.tasks * share / 100).collect(),
            cut: host.map(|host| (host.to_owned(), plan.tasks * CUT_AT / 100)),
            restored: None,
        }
    }

    pub fn strike(
        &mut self,
        done: usize,
        crowd: &mut Crowd,
        server: Option<&mut RedisProcess>,
        facts: &mut FactFile,
    ) -> Result<(), String> {
        while self.kills < done / KILL_EVERY {
            self.kills += 1;
            crowd.kill_one(facts)?;
        }
        while self.stops < done / STOP_EVERY {
            self.stops += 1;
            crowd.stop_one(self.absence(), facts)?;
        }
        if let Some(server) = server
            && self.restarts.first().is_some_and(|at| *at <= done)
        {
            self.restarts.remove(0);
            server.restart()?;
            facts.record(&Fact::ServerRestarted)?;
        }
        Ok(())
    }

    /// Cuts a link when it is time, and restores it.
    pub fn cut_link(&mut self, done: usize, facts: &mut FactFile) -> Result<(), String> {
        if let Some((host, _)) = self.cut.take_if(|(_, at)| *at <= done) {
            hosts::cut(&host)?;
            facts.record(&Fact::LinkCut { host: host.clone() })?;
            self.restored = Some((host, Instant::now() + CUT));
        }
        if let Some((host, _)) = self.restored.take_if(|(_, at)| *at <= Instant::now()) {
            hosts::restore(&host)?;
            facts.record(&Fact::LinkRestored { host })?;
        }
        Ok(())
    }

    /// Whether a link is still cut.
    pub fn is_under_way(&self) -> bool {
        self.restored.is_some()
    }

    /// Long enough for somebody else to claim the task: half of them come back while that one works on it.
    fn absence(&mut self) -> Duration {
        let longest = if self.random.percent(50) { SOON_MS } else { LATER_MS };
        let more = u64::try_from(self.random.below(longest)).unwrap_or(0);
        self.lease + Duration::from_millis(more)
    }
}
