//! A board in memory that goes through all tasks each time: the model that the real ones are compared with. It shares no
//! code with the rules. It can break one rule at a time, to see that the suite notices.

use crate::memory_mail::Post;
use ostler_board::touches::Touches;
use ostler_board::{
    Blocker, Board, BoardError, Claimed, HistoryEntry, Limits, NewTask, Refusal, Status, Task,
    TaskAction, TaskEvent, TaskId, TaskList, TaskQuery,
};
use ostler_core::time::Clock;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NoFence,
    FenceGoesBack,
    LeaseNeverEnds,
    LateFinishCounts,
    OverlapIsIgnored,
    DependenciesAreIgnored,
    FailedCountsAsDone,
    CirclesAreAllowed,
    PhantomsAreAllowed,
    HalfABatchStays,
    PriorityIsIgnored,
    NewestFirst,
    NeverParked,
    DoneCanBeCancelled,
    TwoGetTheSame,
    PeekConsumes,
    ReceiveRemoves,
    AcknowledgedComesAgain,
    NoBounce,
    LeadIsNotTold,
    StartedKeepsLeases,
    NeverGivenUp,
    StaleDeliverySettles,
    SameMailTwice,
    OneNumberForAll,
    NoLimit,
    ArchiveGrows,
    LagForgetsDelivered,
    TextIsCut,
    NamedTaskIsTakenAnyway,
    FirstPrefixWins,
    TotalIsWhatIsShown,
    RenewalShortens,
    LastReportCounts,
    CancelledStaysClaimed,
    HistoryForgetsItsFirst,
    CaseIsIgnored,
    EmptyClaimRings,
    ClaimIsSilent,
    AnyIdIsSent,
}

#[derive(Default)]
pub struct World {
    pub tasks: Vec<Entry>,
    pub fence: u64,
    /// How often those who wait were woken by claims.
    pub rings: u64,
    pub post: Post,
}

#[derive(Clone)]
pub struct Entry {
    task: Task,
    losses: u32,
}

pub struct MemoryBoard {
    pub world: Arc<Mutex<World>>,
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
    pub fault: Option<Fault>,
}

impl MemoryBoard {
    pub fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// Says whether anything changed.
    fn expire(&self, world: &mut World) -> bool {
        let mut has_changed = false;
        let now = self.now();
        for entry in &mut world.tasks {
            let is_over = entry.task.lease_until.is_some_and(|until| until <= now);
            if !is_over || self.is(Fault::LeaseNeverEnds) {
                continue;
            }
            (entry.losses, has_changed) = (entry.losses + 1, true);
            let ended = entry.task.lease_until.take().unwrap();
            let worker = entry.task.claimed_by.clone().unwrap();
            let fence = entry.task.fence.unwrap();
            if entry.losses < self.limits.losses || self.is(Fault::NeverParked) {
                entry.task.status = Status::Pending;
                note(entry, TaskEvent::LeaseExpired { worker, fence }, ended);
            } else {
                entry.task.status = Status::Parked;
                let reason = format!(
                    "{} workers in a row lost their lease on it, the last was {worker}",
                    entry.losses
                );
                entry.task.error = Some(reason.clone());
                note(entry, TaskEvent::Parked { reason }, ended);
            }
        }
        has_changed
    }

    fn blockers(&self, world: &World, task: &Task) -> Vec<Blocker> {
        let needed = world.tasks.iter().filter(|entry| task.depends_on.contains(&entry.task.id));
        let open = |status| match status {
            Status::Done => false,
            Status::Failed => !self.is(Fault::FailedCountsAsDone),
            _ => true,
        };
        let mut found: Vec<Blocker> = needed
            .filter(|entry| open(entry.task.status) && !self.is(Fault::DependenciesAreIgnored))
            .map(|entry| Blocker {
                id: entry.task.id.clone(),
                status: entry.task.status,
                reason: entry.task.error.clone(),
            })
            .collect();
        found.sort_by_key(|blocker| task.depends_on.iter().position(|id| *id == blocker.id));
        found
    }

    fn overlaps(&self, world: &World, task: &Task) -> Option<TaskId> {
        let own = Touches::parse(&task.touches).unwrap();
        let held = world.tasks.iter().filter(|entry| entry.task.status == Status::InProgress);
        let mut meet =
            held.filter(|entry| Touches::parse(&entry.task.touches).unwrap().overlap(&own));
        meet.next().map(|entry| entry.task.id.clone()).filter(|_| !self.is(Fault::OverlapIsIgnored))
    }

    fn choose(&self, world: &World) -> Option<usize> {
        let fits = |at: &usize| {
            let task = &world.tasks[*at].task;
            let is_open = match task.status {
                Status::InProgress => self.is(Fault::TwoGetTheSame),
                status => status == Status::Pending,
            };
            is_open && self.blockers(world, task).is_empty() && self.overlaps(world, task).is_none()
        };
        let rank = |at: &usize| {
            let priority = world.tasks[*at].task.priority;
            let order = if self.is(Fault::NewestFirst) { usize::MAX - at } else { *at };
            (Some(priority).filter(|_| !self.is(Fault::PriorityIsIgnored)), order)
        };
        (0..world.tasks.len()).filter(fits).min_by_key(rank)
    }

    fn seen(&self, world: &World, at: usize, is_whole: bool) -> Task {
        let mut task = world.tasks[at].task.clone();
        if task.status == Status::Pending {
            task.claimed_by = None;
            task.blocked_by = self.blockers(world, &task);
        }
        if !is_whole {
            task.description.clear();
            task.history.clear();
            task.result = None;
        }
        task
    }

    fn find(&self, world: &World, id: &str) -> Result<usize, Refusal> {
        let all = || world.tasks.iter().enumerate();
        if let Some((at, _)) = all().find(|(_, entry)| entry.task.id.as_str() == id) {
            return Ok(at);
        }
        let fits: Vec<usize> = all()
            .filter(|(_, entry)| !id.is_empty() && entry.task.id.as_str().starts_with(id))
            .map(|(at, _)| at)
            .collect();
        match fits.as_slice() {
            [] => Err(Refusal::NoSuchTask(id.into())),
            [only] => Ok(*only),
            [first, ..] if self.is(Fault::FirstPrefixWins) => Ok(*first),
            _ => Err(Refusal::Ambiguous { prefix: id.into(), ids: vec![] }),
        }
    }

    fn check(&self, task: &NewTask) -> Result<(), Refusal> {
        let limits = &self.limits;
        let too_long = |what, bytes, most| Err(Refusal::TooLong { what, bytes, most });
        let (title, description) = (&task.title, &task.description);
        if self.is(Fault::NoLimit) {
            return Ok(());
        }
        if title.trim().is_empty() || title.contains('\n') {
            return Err(Refusal::Title);
        }
        if title.len() > limits.title_bytes {
            return too_long("the title", title.len(), limits.title_bytes);
        }
        if description.len() > limits.text_bytes {
            return too_long("the description", description.len(), limits.text_bytes);
        }
        let many = [
            ("dependencies", task.depends_on.len(), limits.dependencies),
            ("globs", task.touches.len(), limits.globs),
        ];
        for (what, count, most) in many.map(|(what, a, b)| (what, a as u64, b as u64)) {
            if count > most {
                return Err(Refusal::TooMany { what, count, most });
            }
        }
        Touches::parse(&task.touches).map(drop).map_err(Refusal::Glob)
    }

    fn insert(&self, world: &mut World, tasks: &[NewTask]) -> Result<(), Refusal> {
        for (at, task) in tasks.iter().enumerate() {
            self.check(task)?;
            if world.tasks.iter().any(|entry| entry.task.id == task.id) {
                return Err(Refusal::Exists(task.id.to_string()));
            }
            let mut depends_on: Vec<TaskId> = Vec::new();
            for name in &task.depends_on {
                let is_new = tasks.iter().any(|other| other.id.as_str() == name);
                let id = match self.find(world, name) {
                    Ok(found) => world.tasks[found].task.id.clone(),
                    Err(_) if is_new || self.is(Fault::PhantomsAreAllowed) => TaskId(name.clone()),
                    Err(Refusal::NoSuchTask(id)) => {
                        let title = task.title.clone();
                        return Err(Refusal::NoSuchDependency { title, id });
                    }
                    Err(other) => return Err(other),
                };
                if !depends_on.contains(&id) {
                    depends_on.push(id);
                }
            }
            if !self.is(Fault::CirclesAreAllowed) {
                no_circle(tasks, at)?;
            }
            let mut new = fresh(task, depends_on, self.now());
            if self.is(Fault::TextIsCut) {
                new.description = new.description.lines().take(1).collect();
            }
            world.tasks.push(Entry { task: new, losses: 0 });
        }
        Ok(())
    }
}

/// Walks every way from this task; a way longer than there are tasks has been somewhere twice.
fn no_circle(tasks: &[NewTask], from: usize) -> Result<(), Refusal> {
    let start = tasks[from].id.as_str();
    let mut ways = vec![vec![start]];
    while let Some(way) = ways.pop() {
        let last = way[way.len() - 1];
        let Some(task) = tasks.iter().find(|task| task.id.as_str() == last) else { continue };
        for need in &task.depends_on {
            let mut longer = way.clone();
            longer.push(need);
            if need == start {
                return Err(Refusal::Cycle(longer.iter().map(ToString::to_string).collect()));
            }
            if longer.len() <= tasks.len() {
                ways.push(longer);
            }
        }
    }
    Ok(())
}

fn fresh(task: &NewTask, depends_on: Vec<TaskId>, now: u64) -> Task {
    Task {
        id: task.id.clone(),
        status: Status::Pending,
        title: task.title.clone(),
        description: task.description.clone(),
        priority: task.priority,
        depends_on,
        touches: task.touches.clone(),
        claimed_by: None,
        fence: None,
        lease_until: None,
        attempt: 0,
        result: None,
        error: None,
        blocked_by: vec![],
        created_ms: now,
        changed_ms: now,
        history: vec![HistoryEntry { at_ms: now, event: TaskEvent::Added }],
    }
}

fn note(entry: &mut Entry, event: TaskEvent, now: u64) {
    entry.task.changed_ms = now;
    entry.task.history.push(HistoryEntry { at_ms: now, event });
}

impl Board for MemoryBoard {
    fn add(&mut self, tasks: &[NewTask]) -> Result<Vec<TaskId>, BoardError> {
        let mut world = self.world.lock().unwrap();
        let before = world.tasks.clone();
        let is_too_many = before.len() + tasks.len() > usize::try_from(self.limits.tasks).unwrap();
        if is_too_many && !self.is(Fault::NoLimit) {
            let (count, most) = (0, self.limits.tasks);
            return Err(Refusal::TooMany { what: "tasks", count, most }.into());
        }
        if let Err(refusal) = self.insert(&mut world, tasks) {
            if !self.is(Fault::HalfABatchStays) {
                world.tasks = before;
            }
            return Err(refusal.into());
        }
        Ok(tasks.iter().map(|task| task.id.clone()).collect())
    }

    fn claim(
        &mut self,
        id: Option<&str>,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, BoardError> {
        let mut world = self.world.lock().unwrap();
        if lease < self.limits.shortest_lease || lease > self.limits.longest_lease {
            return Err(Refusal::Lease { seconds: lease.as_secs(), least: 0, most: 0 }.into());
        }
        let has_changed = self.expire(&mut world);
        let at = match id {
            None => self.choose(&world),
            Some(id) => {
                let at = self.find(&world, id)?;
                let task = &world.tasks[at].task;
                let id = task.id.to_string();
                let is_free = task.status == Status::Pending;
                if !is_free && !self.is(Fault::NamedTaskIsTakenAnyway) {
                    let (status, action) = (task.status, "claimed");
                    return Err(Refusal::Status { id, status, action }.into());
                }
                if let Some(by) = self.blockers(&world, task).pop() {
                    let (status, reason) = (by.status, by.reason);
                    return Err(Refusal::Blocked { id, by: by.id.0, status, reason }.into());
                }
                if let Some(with) = self.overlaps(&world, task) {
                    return Err(Refusal::Overlaps { id, with: with.0 }.into());
                }
                Some(at)
            }
        };
        let Some(at) = at else {
            world.rings += u64::from(has_changed || self.is(Fault::EmptyClaimRings));
            return Ok(None);
        };
        world.rings += u64::from(!self.is(Fault::ClaimIsSilent));
        world.fence += 1;
        let own = world.tasks[at].task.attempt;
        let fence = if self.is(Fault::FenceGoesBack) { u64::from(own) + 1 } else { world.fence };
        let until = self.now() + u64::try_from(lease.as_millis()).unwrap();
        let entry = &mut world.tasks[at];
        let task = &mut entry.task;
        (task.status, task.claimed_by) = (Status::InProgress, Some(worker.into()));
        (task.fence, task.lease_until) = (Some(fence), Some(until));
        task.attempt += 1;
        (task.result, task.error) = (None, None);
        note(entry, TaskEvent::Claimed { worker: worker.into(), fence }, self.now());
        let id = entry.task.id.clone();
        Ok(Some(Claimed { id, fence, lease_until: until }))
    }

    fn act(&mut self, id: &str, action: &TaskAction) -> Result<Task, BoardError> {
        let mut world = self.world.lock().unwrap();
        let at = self.find(&world, id)?;
        let is_live = world.tasks[at].task.lease_until.is_some_and(|until| until > self.now());
        let is_late = self.is(Fault::LateFinishCounts) || self.is(Fault::LeaseNeverEnds);
        if !is_late {
            self.expire(&mut world);
        }
        let now = self.now();
        let entry = &mut world.tasks[at];
        let (status, own) = (entry.task.status, entry.task.fence);
        let refused = Refusal::Status { id: entry.task.id.to_string(), status, action: "changed" };
        match action {
            TaskAction::Renew { fence, .. }
            | TaskAction::Finish { fence, .. }
            | TaskAction::Fail { fence, .. }
            | TaskAction::Return { fence, .. } => {
                let is_mine = own == Some(*fence) || (self.is(Fault::NoFence) && own.is_some());
                let is_repeated = matches!(
                    (action, status),
                    (TaskAction::Finish { .. }, Status::Done)
                        | (TaskAction::Fail { .. }, Status::Failed)
                        | (TaskAction::Return { .. }, Status::Pending)
                );
                if is_mine && is_repeated && !self.is(Fault::LastReportCounts) {
                    return Ok(self.seen(&world, at, true));
                }
                let is_running = match status {
                    Status::InProgress => is_live || is_late,
                    Status::Cancelled => self.is(Fault::CancelledStaysClaimed),
                    _ => is_repeated,
                };
                if !is_mine || !is_running {
                    return Err(Refusal::Stale { id: String::new(), fence: *fence, why: "" }.into());
                }
                if self.is(Fault::RenewalShortens) {
                    entry.task.lease_until = None;
                }
                report(entry, action, &self.limits, now);
            }
            TaskAction::Retry => {
                if matches!(status, Status::Pending | Status::InProgress | Status::Done) {
                    return Err(refused.into());
                }
                (entry.task.status, entry.task.error, entry.losses) = (Status::Pending, None, 0);
                note(entry, TaskEvent::Retried, now);
            }
            TaskAction::Cancel { reason } => match status {
                Status::Done if !self.is(Fault::DoneCanBeCancelled) => return Err(refused.into()),
                Status::Cancelled => {}
                _ => {
                    (entry.task.status, entry.task.error) = (Status::Cancelled, reason.clone());
                    entry.task.lease_until = None;
                    note(entry, TaskEvent::Cancelled { reason: reason.clone() }, now);
                }
            },
        }
        let most = self.limits.history as usize;
        let history = &mut world.tasks[at].task.history;
        while history.len() > most && !self.is(Fault::NoLimit) {
            history.remove(usize::from(!self.is(Fault::HistoryForgetsItsFirst)));
        }
        Ok(self.seen(&world, at, true))
    }

    fn show(&mut self, id: &str) -> Result<Task, BoardError> {
        let mut world = self.world.lock().unwrap();
        self.expire(&mut world);
        let at = self.find(&world, id)?;
        Ok(self.seen(&world, at, true))
    }

    fn next(&mut self) -> Result<Option<Task>, BoardError> {
        let mut world = self.world.lock().unwrap();
        self.expire(&mut world);
        Ok(self.choose(&world).map(|at| self.seen(&world, at, true)))
    }

    fn list(&mut self, query: &TaskQuery) -> Result<TaskList, BoardError> {
        let mut world = self.world.lock().unwrap();
        self.expire(&mut world);
        let fits = |at: &usize| {
            query.statuses.is_empty() || query.statuses.contains(&world.tasks[*at].task.status)
        };
        let all: Vec<usize> = (0..world.tasks.len()).filter(fits).collect();
        let shown = all.iter().take(query.limit);
        let tasks: Vec<Task> = shown.map(|at| self.seen(&world, *at, false)).collect();
        let total = if self.is(Fault::TotalIsWhatIsShown) { tasks.len() } else { all.len() };
        Ok(TaskList { tasks, total: total as u64, damaged: Vec::new() })
    }
}

fn report(entry: &mut Entry, action: &TaskAction, limits: &Limits, now: u64) {
    match action {
        TaskAction::Renew { lease, .. } => {
            let until = now + u64::try_from(lease.as_millis()).unwrap();
            entry.task.lease_until = entry.task.lease_until.max(Some(until));
            entry.task.changed_ms = now;
        }
        TaskAction::Finish { fence, result } => {
            entry.task.status = Status::Done;
            entry.task.result = result.clone().map(|mut text| {
                text.truncate(limits.text_bytes);
                text
            });
            (entry.losses, entry.task.lease_until) = (0, None);
            note(entry, TaskEvent::Finished { fence: *fence }, now);
        }
        TaskAction::Fail { fence, error } => {
            (entry.task.status, entry.task.error) = (Status::Failed, Some(error.clone()));
            (entry.losses, entry.task.lease_until) = (0, None);
            note(entry, TaskEvent::Failed { fence: *fence, error: error.clone() }, now);
        }
        TaskAction::Return { fence, reason } => {
            entry.task.status = Status::Pending;
            (entry.losses, entry.task.lease_until) = (0, None);
            note(entry, TaskEvent::Returned { fence: *fence, reason: reason.clone() }, now);
        }
        TaskAction::Retry | TaskAction::Cancel { .. } => {}
    }
}
