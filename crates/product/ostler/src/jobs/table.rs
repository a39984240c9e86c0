//! The jobs of one session.

use super::JobOptions;
use super::owed_inspections::look;
use super::stop_requests::stop_on_request;
use crate::plain_threads::CHORES;
use crate::session_events::SessionEvents;
use crate::subagents::end_of_lost_agent;
use crate::system::{SystemClock, SystemIds, new_uuid};
use ostler_core::event::Event;
use ostler_core::ids::{CallId, IdSource, InboundId, JobId, SessionId};
use ostler_core::inbox::{Delivery, Inbound, InboundSource};
use ostler_core::job::{self, JobEnd, JobKind, JobRecord, JobStatus, JobView};
use ostler_core::ports::{BoxFuture, JobPlace, JobWork, Jobs, Recorder};
use ostler_core::session::Entry;
use ostler_core::text::fill;
use ostler_core::time::Clock;
use ostler_engine::Journal;
use ostler_store::{JobFolder, JobFolders, process_mark, prune_jobs};
use ostler_tools::JobOutputReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError, Weak};
use tempfile::TempDir;
use tokio::sync::watch;

const ONE_RUNNING: &str = include_str!("../../../../../prompts/jobs/one-running.md").trim_ascii();
const TOO_MANY: &str = include_str!("../../../../../prompts/jobs/too-many.md").trim_ascii();

/// Once a process.
static PRUNING: Once = Once::new();

/// Jobs that ended and can still be read by name.
const ENDED: usize = 32;
/// Hexadecimal digits of a job's name.
const NAME: usize = 6;
/// Bytes of an output, enough for a notice.
const NEWEST: u64 = 4 * job::PREVIEW as u64;

pub(crate) struct JobTable {
    journal: Journal,
    events: Arc<SessionEvents>,
    options: JobOptions,
    cwd: PathBuf,
    place: TablePlace,
    state: Mutex<TableState>,
    /// Counts what a person wanted moved to the background; none: every call.
    wishes: watch::Sender<(u64, Option<CallId>)>,
    /// Counts ends.
    ends: watch::Sender<u64>,
    /// For what waits for the end of a kept job.
    me: Weak<JobTable>,
}

/// Where the outputs go.
enum TablePlace {
    Home(JobFolders),
    /// A session that leaves nothing behind has a directory while it needs one.
    Temporary {
        session: SessionId,
        folder: OnceLock<Option<TempDir>>,
    },
}

#[derive(Default)]
struct TableState {
    /// Oldest first.
    jobs: Vec<Job>,
    /// Reports of jobs that a person stopped.
    expected: Vec<InboundId>,
    closed: bool,
}

struct Job {
    record: JobRecord,
    work: Arc<dyn JobWork>,
    end: Option<JobEnd>,
    over: watch::Sender<bool>,
    /// Held while it runs.
    folder: Option<JobFolder>,
    /// The model asked for its end.
    stopped_by_model: bool,
}

/// Why a job ended: the end that a person brought about is no news to that person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndedBy {
    /// Or the model, or time.
    Itself,
    Person,
}

impl TableState {
    fn add(
        &mut self,
        record: JobRecord,
        work: Arc<dyn JobWork>,
        over: watch::Sender<bool>,
        folder: Option<JobFolder>,
    ) {
        let ended = self.jobs.iter().filter(|job| job.end.is_some()).count();
        if ended > ENDED {
            let oldest = self.jobs.iter().position(|job| job.end.is_some());
            oldest.map(|oldest| self.jobs.remove(oldest));
        }
        let (end, stopped_by_model) = (None, false);
        self.jobs.push(Job { record, work, end, over, folder, stopped_by_model });
    }
}

impl Job {
    fn view(&self) -> JobView {
        JobView { record: self.record.clone(), end: self.end.clone() }
    }
}

impl JobTable {
    /// Reports what an earlier process left running.
    pub(crate) fn open(
        home: Option<&Path>,
        cwd: &Path,
        options: JobOptions,
        journal: Journal,
        events: Arc<SessionEvents>,
    ) -> Arc<Self> {
        if let Some(home) = home.map(Path::to_owned) {
            PRUNING.call_once(|| CHORES.run(move || prune_jobs(&home)));
        }
        let session = journal.log().id().clone();
        let home = home.and_then(|home| JobFolders::of(home, &session));
        let place = match home {
            Some(folders) => TablePlace::Home(folders),
            None => TablePlace::Temporary { session, folder: OnceLock::new() },
        };
        let (state, wishes) = (Mutex::default(), watch::Sender::new((0, None)));
        let (cwd, ends) = (cwd.to_owned(), watch::Sender::new(0));
        let table = Arc::new_cyclic(|me| {
            let me = me.clone();
            JobTable { journal, events, options, cwd, place, state, wishes, ends, me }
        });
        for job in table.journal.jobs() {
            if job.kept && table.follow_again(&job) {
                continue;
            }
            let seen = table.folders().and_then(|folders| match job.kept {
                true => Some(look(&folders.folder(&job.id), None).end),
                false => folders.end(&job.id),
            });
            let lost = || match job.kind {
                JobKind::Command => JobEnd::died(),
                JobKind::Agent => end_of_lost_agent(&table.journal, &job),
            };
            let output = job.output.as_deref().map(JobOutputReader::new);
            let output = output.map(|output| output.newest(NEWEST)).unwrap_or_default();
            table.report(&job, &seen.unwrap_or_else(lost), &output, EndedBy::Itself);
        }
        table
    }

    pub(super) fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Lists a job that a keeper runs, if `write_down` does not fail. It learns whether there is room for another.
    pub(super) fn add_kept(
        &self,
        record: JobRecord,
        work: Arc<dyn JobWork>,
        write_down: impl FnOnce(&JobRecord, Result<(), String>) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut state = self.state();
        write_down(&record, self.room(&state))?;
        state.add(record, work, watch::Sender::new(false), None);
        Ok(())
    }

    pub(super) fn folders(&self) -> Option<JobFolders> {
        match &self.place {
            TablePlace::Home(folders) => Some(folders.clone()),
            TablePlace::Temporary { session, folder } => {
                let make =
                    || tempfile::Builder::new().prefix("ostler-jobs-").tempdir_in("/tmp").ok();
                let folder = folder.get_or_init(make).as_ref()?;
                Some(JobFolders::at(&folder.path().join("jobs"), session))
            }
        }
    }

    /// Where the directories of kept jobs are.
    pub(super) fn kept_folders(&self) -> Option<&JobFolders> {
        match &self.place {
            TablePlace::Home(folders) => Some(folders),
            TablePlace::Temporary { .. } => None,
        }
    }

    /// Something runs, or has ended and is not reported yet; of all kinds of jobs, or of one.
    pub(crate) fn is_busy(&self, kind: Option<JobKind>) -> bool {
        let is_meant = |job: &&Job| kind.is_none_or(|kind| job.record.kind == kind);
        self.state().jobs.iter().filter(is_meant).any(|job| !*job.over.borrow())
    }

    /// Comes back with the next end of a job, from when it was called.
    pub(crate) fn next_end(&self) -> BoxFuture<'static, ()> {
        let mut ends = self.ends.subscribe();
        Box::pin(async move {
            let _ = ends.changed().await;
        })
    }

    /// Something else than a job has a report in the inbox.
    pub(crate) fn report_arrived(&self) {
        self.ends.send_modify(|count| *count += 1);
        self.events.wake_driver();
    }

    /// The calls that run commands, or one of them, go on in the background. False: no call heard it.
    pub(crate) fn move_calls(&self, call: Option<CallId>) -> bool {
        // Whoever hears it stops listening.
        let is_heard = self.wishes.receiver_count() > 0;
        self.wishes.send_modify(|(count, which)| {
            *count += 1;
            *which = call;
        });
        is_heard
    }

    pub(crate) fn is_full(&self) -> bool {
        self.room(&self.state()).is_err()
    }

    /// What ends with the session is reported as ended, and nothing new begins. The processes are the caller's to end.
    /// Gives what is stopped.
    pub(crate) fn close(&self) -> Vec<JobRecord> {
        let running: Vec<JobRecord> = {
            let mut state = self.state();
            state.closed = true;
            let ending = state.jobs.iter().filter(|job| job.end.is_none() && !job.record.kept);
            ending.map(|job| job.record.clone()).collect()
        };
        for job in &running {
            self.end(&job.id, JobEnd::closed());
        }
        running
    }

    fn room(&self, state: &TableState) -> Result<(), String> {
        let running = state.jobs.iter().filter(|job| job.end.is_none()).count();
        match (state.closed, running < self.options.most) {
            (true, _) => Err("the session is closed".to_owned()),
            (false, true) => Ok(()),
            (false, false) => Err(full(running)),
        }
    }

    /// The one record of the end. What the log refuses now is reported when the session is opened again.
    fn report(&self, job: &JobRecord, end: &JobEnd, output: &str, by: EndedBy) {
        let (id, summary) = (job.id.to_string(), Some(job::summary(job, end)));
        let item = Inbound {
            id: InboundId::new(SystemIds.uuid()),
            source: InboundSource::Job { id, summary },
            when: Delivery::NextBoundary,
            body: job::notice(job, end, output),
            at: SystemClock.now(),
        };
        let queued = item.queued();
        if by == EndedBy::Person {
            self.state().expected.push(item.id.clone());
        }
        if self.journal.inbox().arrive(item).is_ok() {
            self.events.emit(Event::Queued(queued));
        }
        self.ends.send_modify(|count| *count += 1);
        self.events.wake_driver();
    }

    /// The report of a job that a person stopped.
    pub(crate) fn is_expected(&self, report: &InboundId) -> bool {
        self.state().expected.contains(report)
    }

    /// As [`Jobs::stop`], which is the model's.
    pub(crate) fn stop_for_person(&self, id: &JobId) -> bool {
        self.ask_to_end(id, false)
    }

    fn ask_to_end(&self, id: &JobId, for_model: bool) -> bool {
        let work = {
            let mut state = self.state();
            let running = |job: &&mut Job| job.record.id == *id && job.end.is_none();
            state.jobs.iter_mut().find(running).map(|job| {
                job.stopped_by_model |= for_model;
                Arc::clone(&job.work)
            })
        };
        work.map(|work| work.stop()).is_some()
    }

    fn work(&self, id: &JobId) -> Option<Arc<dyn JobWork>> {
        let state = self.state();
        state.jobs.iter().find(|job| job.record.id == *id).map(|job| Arc::clone(&job.work))
    }

    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs for JobTable {
    fn reserve(&self) -> Result<JobPlace, String> {
        self.room(&self.state())?;
        let name = new_uuid().replace('-', "");
        let id = JobId::new(format!("b{}", name.get(..NAME).unwrap_or(&name)));
        let folders = self.folders().ok_or("no directory for its output could be made in /tmp")?;
        let output = folders.reserve(&id).map_err(|error| error.to_string())?;
        // A session that leaves nothing behind cannot learn of it later.
        let kept = self.options.keep && matches!(self.place, TablePlace::Home(_));
        Ok(JobPlace { id, output, at: SystemClock.now(), limit: self.options.limit, kept })
    }

    fn begin(&self, record: JobRecord, work: Arc<dyn JobWork>) -> Result<(), String> {
        let folders = self.folders().ok_or("it has no directory")?;
        let process = work.pid().and_then(process_mark);
        let mut state = self.state();
        self.room(&state)?;
        let folder =
            folders.begin(&record, &self.cwd, process).map_err(|error| error.to_string())?;
        let entry = Entry::Detached { job: Box::new(record.clone()) };
        self.journal.record(entry).map_err(|error| error.to_string())?;
        let over = watch::Sender::new(false);
        if record.kind == JobKind::Agent {
            stop_on_request(&folder, Arc::clone(&work), over.subscribe());
        }
        state.add(record, work, over, Some(folder));
        Ok(())
    }

    fn keep(&self, record: JobRecord, order: Vec<u8>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.start_keeper(record, order))
    }

    fn take_late_commands(&self) -> bool {
        self.options.take_late_commands && self.options.most > 0
    }

    fn finish_inspections(&self) -> Result<Vec<String>, String> {
        self.look_at_the_rest()
    }

    fn end(&self, id: &JobId, mut end: JobEnd) {
        let Some(work) = self.work(id) else { return };
        end.at.get_or_insert_with(|| SystemClock.now());
        let output = work.newest();
        let (record, folder, by) = {
            let mut state = self.state();
            let closed = state.closed;
            let open = |job: &&mut Job| job.record.id == *id && job.end.is_none();
            // One that ends after its session is reported when that is opened again.
            let open = |job: &&mut Job| open(job) && !(closed && job.record.kept);
            let Some(job) = state.jobs.iter_mut().find(open) else { return };
            let folder = job.folder.take();
            let from_outside = folder.as_ref().is_some_and(JobFolder::is_stopped);
            if from_outside {
                end = stopped_from_outside(end);
            }
            let is_stopped = end.status == JobStatus::Stopped && !job.stopped_by_model;
            let by = if from_outside || is_stopped { EndedBy::Person } else { EndedBy::Itself };
            // Before the log has it: a process that finds no notice there finds the end here.
            if let Some(folder) = &folder {
                let _ = folder.finish(&end);
            }
            job.end = Some(end.clone());
            (job.record.clone(), folder, by)
        };
        self.report(&record, &end, &output, by);
        drop(folder);
        if let Some(job) = self.state().jobs.iter().find(|job| job.record.id == *id) {
            job.over.send_replace(true);
        }
    }

    fn moved(&self, call: &CallId) -> BoxFuture<'static, ()> {
        let (mut wishes, call) = (self.wishes.subscribe(), call.clone());
        Box::pin(async move {
            let is_meant =
                |which: &Option<CallId>| which.as_ref().is_none_or(|which| *which == call);
            while wishes.changed().await.is_ok() {
                if is_meant(&wishes.borrow_and_update().1) {
                    return;
                }
            }
            std::future::pending().await
        })
    }

    fn list(&self) -> Vec<JobView> {
        self.state().jobs.iter().map(Job::view).collect()
    }

    fn new_output(&self, id: &JobId) -> Option<String> {
        Some(self.work(id)?.new_output())
    }

    fn ended(&self, id: &JobId) -> BoxFuture<'static, ()> {
        let state = self.state();
        let over =
            state.jobs.iter().find(|job| job.record.id == *id).map(|job| job.over.subscribe());
        Box::pin(async move {
            if let Some(mut over) = over {
                // An error says that it is not even listed any more.
                let _ = over.wait_for(|over| *over).await;
            }
        })
    }

    fn stop(&self, id: &JobId) -> bool {
        self.ask_to_end(id, true)
    }
}

fn full(running: usize) -> String {
    match running {
        0 => "background jobs are turned off (maxJobs is 0)".to_owned(),
        1 => ONE_RUNNING.to_owned(),
        _ => fill(TOO_MANY, &[("running", &running.to_string())]),
    }
}

/// A command that a signal ends looks as if it had failed; an agent says itself that it was stopped.
fn stopped_from_outside(end: JobEnd) -> JobEnd {
    let words = match end.status {
        JobStatus::Failed => return end.stopped_from_outside(),
        JobStatus::Stopped => "was stopped with `ostler jobs stop`".to_owned(),
        _ => return end,
    };
    JobEnd { status: JobStatus::Stopped, words, ..end }
}
