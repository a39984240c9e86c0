//! What goes wrong when: it depends on how many tasks are done, not on the time, so that every run has its share.

use crate::crowd::Crowd;
use crate::facts::{Fact, FactFile};
use crate::plan::Plan;
use crate::random::Random;
use crate::redis_process::RedisProcess;
use std::time::Duration;

/// Tasks between two kills, and between two stops.
const KILL_EVERY: usize = 8;
const STOP_EVERY: usize = 6;
const SOON_MS: usize = 250;
const LATER_MS: usize = 1_500;
/// The server is restarted when so many of a hundred tasks are done.
const RESTARTS: [usize; 2] = [30, 65];

pub struct Disturbances {
    random: Random,
    lease: Duration,
    kills: usize,
    stops: usize,
    restarts: Vec<usize>,
}

impl Disturbances {
    pub fn new(plan: &Plan) -> Self {
        Disturbances {
            random: Random::new(plan.seed ^ 0xd15c0),
            lease: Duration::from_millis(plan.lease_ms),
            kills: 0,
            stops: 0,
            restarts: RESTARTS.iter().map(|share| plan.tasks * share / 100).collect(),
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

    /// Long enough for somebody else to claim the task: half of them come back while that one works on it.
    fn absence(&mut self) -> Duration {
        let longest = if self.random.percent(50) { SOON_MS } else { LATER_MS };
        let more = u64::try_from(self.random.below(longest)).unwrap_or(0);
        self.lease + Duration::from_millis(more)
    }
}
