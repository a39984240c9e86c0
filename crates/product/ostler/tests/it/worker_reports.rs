//! What a worker has done reaches the board as long as its lease may last, and is never lost in silence.

use crate::isolated_agents::{git, repository};
use crate::support::{World, host};
use ostler::board::{
    AgentChange, Bell, Board, BoardError, BoardFile, BoardOverview, Claimed, Delivery, Lag, Mail,
    MailQuery, MailReceipt, Mailbox, NewMail, NewTask, Outcome, SharedBoard, Status, Task,
    TaskAction, TaskId, TaskList, TaskQuery,
};
use ostler::{WorkerEnd, WorkerEvent, WorkerOptions, WorkerStop, run_workers};
use ostler_model_server::{Recorded, Reply, Script, status, text};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When the board cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    /// For that many reports.
    Reports(u32),
    /// From the first claim on, for ever.
    AfterTheClaim,
}

struct FlakyBoard {
    board: BoardFile,
    away: Away,
    /// Reports that failed, or claims that were made.
    count: Arc<AtomicU32>,
}

fn away() -> BoardError {
    let address = "redis://nowhere".to_owned();
    BoardError::Server { address, why: "it is away".into(), hint: "Wait" }
}

impl Board for FlakyBoard {
    fn add(&mut self, tasks: &[NewTask]) -> Result<Vec<TaskId>, BoardError> {
        self.board.add(tasks)
    }

    fn claim(
        &mut self,
        id: Option<&str>,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, BoardError> {
        if self.away == Away::AfterTheClaim && self.count.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(away());
        }
        self.board.claim(id, worker, lease)
    }

    fn act(&mut self, id: &str, action: &TaskAction) -> Result<Task, BoardError> {
        let is_report = !matches!(action, TaskAction::Renew { .. });
        let fails = match self.away {
            Away::AfterTheClaim => true,
            Away::Reports(most) => is_report && self.count.fetch_add(1, Ordering::SeqCst) < most,
        };
        if fails { Err(away()) } else { self.board.act(id, action) }
    }

    fn show(&mut self, id: &str) -> Result<Task, BoardError> {
        self.board.show(id)
    }

    fn next(&mut self) -> Result<Option<Task>, BoardError> {
        self.board.next()
    }

    fn list(&mut self, query: &TaskQuery) -> Result<TaskList, BoardError> {
        self.board.list(query)
    }
}

impl Mailbox for FlakyBoard {
    fn send(&mut self, mail: &NewMail) -> Result<MailReceipt, BoardError> {
        self.board.send(mail)
    }

    fn receive(&mut self, who: &str, lease: Duration) -> Result<Option<Delivery>, BoardError> {
        self.board.receive(who, lease)
    }

    fn settle(&mut self, delivery: &Delivery, outcome: &Outcome) -> Result<(), BoardError> {
        self.board.settle(delivery, outcome)
    }

    fn peek(&mut self, query: &MailQuery) -> Result<Vec<Mail>, BoardError> {
        self.board.peek(query)
    }

    fn lag(&mut self, from: &str, to: &str) -> Result<Lag, BoardError> {
        self.board.lag(from, to)
    }

    fn set_agent(&mut self, name: &str, change: &AgentChange) -> Result<(), BoardError> {
        self.board.set_agent(name, change)
    }
}

impl SharedBoard for FlakyBoard {
    fn bell(&self) -> Arc<Bell> {
        self.board.bell()
    }

    fn overview(&mut self) -> Result<BoardOverview, BoardError> {
        self.board.overview()
    }
}

struct Outcomes {
    end: WorkerEnd,
    events: Vec<WorkerEvent>,
    tasks: Vec<Task>,
}

/// The title of a task says what becomes of it.
fn answer(request: &Recorded) -> Reply {
    let first = request.messages()[0].to_string();
    let has_written = request.json()["messages"].to_string().contains("tool_result");
    if first.contains("the broken one") {
        return status(400).error("invalid_request_error", "no such thing");
    }
    let write = json!({ "file_path": "made.txt", "content": "made" });
    match has_written {
        true => text("made it"),
        false => text("I write.").call("Write", write),
    }
}

async fn work(titles: &[&str], lease: Duration, away: Away) -> Outcomes {
    let world = World::new(Script::new().by(answer).forever());
    repository(&world);
    let home = world.root().join("home");
    let project = world.project().canonicalize().unwrap();
    let board = || ostler::open_project_board(&home, &project).unwrap();
    for (nth, title) in titles.iter().enumerate() {
        board().add(&[NewTask::new(TaskId(format!("t{nth}")), *title)]).unwrap();
    }
    let mut options = world.on_disk();
    options.host.retry_wait = Some(Duration::from_millis(1));
    let host = host(&options);
    let trees = host.worktrees(&project, &project, options.session.environment.clone());
    let trees = trees.await.unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let flaky = || -> Box<dyn SharedBoard> {
        Box::new(FlakyBoard { board: board(), away, count: count.clone() })
    };
    let workers = WorkerOptions {
        name: "w".into(),
        count: 1,
        lease,
        once: true,
        check: None,
        push: None,
        session: options.session,
    };
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = events.clone();
    let tell = Arc::new(move |event: &WorkerEvent| heard.lock().unwrap().push(event.clone()));
    let boards = [flaky(), flaky()];
    let end = run_workers(&host, trees, boards, workers, WorkerStop::default(), tell).await;
    host.close().await;
    let mut board = board();
    let tasks = (0..titles.len()).map(|nth| board.show(&format!("t{nth}")).unwrap()).collect();
    let branches = git(&world, &["branch", "--list", "ostler/*"]);
    assert!(branches.contains("ostler/t0-1"), "{branches}");
    let events = std::mem::take(&mut *events.lock().unwrap());
    Outcomes { end: end.unwrap(), events, tasks }
}

/// More tries than a short outage needs.
pub async fn a_report_is_repeated_until_the_board_takes_it() {
    let lease = Duration::from_secs(600);
    let done = work(&["a good one", "the broken one"], lease, Away::Reports(12)).await;
    assert_eq!(done.end, WorkerEnd::NothingLeft, "{:?}", done.events);
    let statuses: Vec<Status> = done.tasks.iter().map(|task| task.status).collect();
    assert_eq!(statuses, [Status::Done, Status::Failed], "{:?}", done.events);
    assert!(done.tasks.iter().all(|task| task.attempt == 1), "nothing was done twice");
}

/// The board stays away until the lease is over: the worker stops trying, and says which branch has the work.
pub async fn a_report_that_comes_too_late_is_said_with_its_branch() {
    let done = work(&["a good one"], Duration::from_secs(1), Away::AfterTheClaim).await;
    let WorkerEnd::GaveUp { reason } = &done.end else { panic!("{:?}", done.end) };
    assert!(reason.contains("it is away"), "{reason}");
    let lost = done.events.iter().find_map(|event| match event {
        WorkerEvent::Lost { work, reason, .. } => Some((work.clone(), reason.clone())),
        _ => None,
    });
    let (work, reason) = lost.expect("what was done is not forgotten in silence");
    let work = work.unwrap();
    assert!(work.branch.starts_with("ostler/t0-1") && work.commit.is_some(), "{work:?}");
    assert!(reason.starts_with("its end could not be reported: "), "{reason}");
}
