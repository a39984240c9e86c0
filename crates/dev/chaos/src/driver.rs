//! The run: makes the board, disturbs everybody until all tasks are done, lets the mail arrive, exports and merges.

use crate::arguments::Order;
use crate::crowd::Crowd;
use crate::disturbances::Disturbances;
use crate::facts::{self, Fact, FactFile};
use crate::git_remote::GitRemote;
use crate::hosts::{self, Hosts};
use crate::plan::{Plan, Store};
use crate::redis_process::RedisProcess;
use crate::worker::{DRAIN, STOP};
use crate::{board_access, export, merging, real_worker, repository};
use ostler_board::{BoardError, MailQuery, SharedBoard, Status, TaskAction, TaskQuery};
use ostler_model_server::ModelServer;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

pub const DRIVER: &str = "driver";
/// Tasks after which branches are packed.
const PACK_EVERY: usize = 100;
const LOOK: Duration = Duration::from_millis(20);

/// What can be disturbed beside the workers.
struct Surroundings<'a> {
    server: Option<&'a mut RedisProcess>,
    hosts: Option<&'a Hosts>,
}

struct Deadline {
    begin: Instant,
    limit: Duration,
}

impl Deadline {
    /// # Errors
    /// When the time is over.
    fn check(&self, what: &str) -> Result<(), String> {
        match self.begin.elapsed() < self.limit {
            true => Ok(()),
            false => Err(format!("chaos: not finished after {} s: {what}", self.limit.as_secs())),
        }
    }
}

pub fn run(order: &Order) -> Result<(), String> {
    let Order { plan, directory } = order;
    let mut plan = plan.clone();
    let wrong = |why| format!("cannot use {}: {why}", directory.display());
    fs::create_dir_all(directory).map_err(wrong)?;
    let is_empty = directory.read_dir().map_err(wrong)?.next().is_none();
    if !is_empty {
        return Err(format!("{} is not empty; choose another --dir", directory.display()));
    }
    let directory = &directory.canonicalize().map_err(wrong)?;
    let limit = Duration::from_secs(plan.limit_seconds);
    let deadline = Deadline { begin: Instant::now(), limit };
    let hosts = match plan.hosts {
        0 => None,
        count => match Hosts::create(count) {
            Ok(hosts) => Some(hosts),
            Err(why) => {
                println!("SKIPPED: chaos with network namespaces as hosts ({why})");
                return Ok(());
            }
        },
    };
    let address = hosts.as_ref().map_or("127.0.0.1", |hosts| hosts.address.as_str());
    let mut server = match plan.store {
        Store::Redis => Some(RedisProcess::start(directory, address)?),
        Store::Sqlite => None,
    };
    plan.address = server.as_ref().map(RedisProcess::url).unwrap_or_default();
    repository::create(directory)?;
    let remote = hosts.as_ref().map(|_| GitRemote::start(directory, address)).transpose()?;
    if let (Some(hosts), Some(remote)) = (&hosts, &remote) {
        plan.remote = remote.url.clone();
        hosts::make_clones(hosts, directory, &remote.url)?;
    }
    let model = (!plan.real.is_empty()).then(real_worker::model).transpose()?;
    plan.model = model.as_ref().map(ModelServer::url).unwrap_or_default();
    plan.save(directory)?;
    let mut board = board_access::open(&plan, directory)?;
    for batch in plan.batches() {
        board.add(&batch).map_err(words)?;
    }
    let mut facts = FactFile::append_to(directory, DRIVER)?;
    let surroundings = Surroundings { server: server.as_mut(), hosts: hosts.as_ref() };
    disturb(&plan, directory, &mut *board, surroundings, &mut facts, &deadline)?;
    let worked = deadline.begin.elapsed();
    export::write(&mut *board, directory)?;
    let begin = Instant::now();
    merging::run(directory)?;
    println!(
        "chaos: {} tasks done in {} s, merged in {} s",
        plan.tasks,
        worked.as_secs(),
        begin.elapsed().as_secs()
    );
    Ok(())
}

fn words(error: BoardError) -> String {
    error.to_string()
}

fn disturb(
    plan: &Plan,
    directory: &Path,
    board: &mut dyn SharedBoard,
    mut around: Surroundings<'_>,
    facts: &mut FactFile,
    deadline: &Deadline,
) -> Result<(), String> {
    let mut crowd = Crowd::start(plan, directory, around.hosts)?;
    let mut packed = 0;
    let mut disturbances = Disturbances::new(plan, around.hosts.and_then(|hosts| hosts.of(0)));
    loop {
        let done = usize::try_from(count(board, Status::Done)?).unwrap_or(usize::MAX);
        crowd.look_after(facts)?;
        let is_quiet = !crowd.is_anyone_stopped() && !disturbances.is_under_way();
        if done >= plan.tasks && is_quiet {
            break;
        }
        deadline.check(&format!("{done} of {} tasks are done", plan.tasks))?;
        disturbances.cut_link(done, facts)?;
        if done / PACK_EVERY > packed {
            packed = done / PACK_EVERY;
            repository::pack_branches(directory)?;
        }
        if done < plan.tasks {
            disturbances.strike(done, &mut crowd, around.server.as_deref_mut(), facts)?;
            retry_parked(board, facts)?;
        }
        std::thread::sleep(LOOK);
    }
    if !plan.real.is_empty() {
        crowd.dismiss();
        return end(&mut crowd, deadline);
    }
    settle(plan, directory, board, &mut crowd, facts, deadline)
}

fn count(board: &mut dyn SharedBoard, status: Status) -> Result<u64, String> {
    let query = TaskQuery { statuses: vec![status], limit: 0 };
    board.list(&query).map(|list| list.total).map_err(words)
}

/// As a person would: a task that lost three workers in a row gets another chance.
fn retry_parked(board: &mut dyn SharedBoard, facts: &mut FactFile) -> Result<(), String> {
    let query = TaskQuery { statuses: vec![Status::Parked], limit: 100 };
    for task in board.list(&query).map_err(words)?.tasks {
        match board.act(task.id.as_str(), &TaskAction::Retry) {
            Ok(_) | Err(BoardError::Refused(_)) => {}
            Err(error) => return Err(words(error)),
        }
        facts.record(&Fact::Retried { task: task.id.0 })?;
    }
    Ok(())
}

/// Nobody sends any more, all mail arrives, everybody ends.
fn settle(
    plan: &Plan,
    directory: &Path,
    board: &mut dyn SharedBoard,
    crowd: &mut Crowd,
    facts: &mut FactFile,
    deadline: &Deadline,
) -> Result<(), String> {
    let mark = |name| fs::write(directory.join(name), "").map_err(|why| why.to_string());
    mark(DRAIN)?;
    let names = plan.worker_names();
    loop {
        crowd.look_after(facts)?;
        let mut drained = 0;
        for name in &names {
            drained += usize::from(facts::read(directory, name)?.contains(&Fact::Drained));
        }
        let open = board.peek(&MailQuery { limit: 10, ..MailQuery::default() }).map_err(words)?;
        if drained == names.len() && open.is_empty() {
            break;
        }
        let left = open.len();
        deadline.check(&format!("{drained} workers are idle, mail is left: {left} or more"))?;
        std::thread::sleep(LOOK);
    }
    mark(STOP)?;
    end(crowd, deadline)
}

fn end(crowd: &mut Crowd, deadline: &Deadline) -> Result<(), String> {
    while !crowd.has_ended()? {
        deadline.check("the workers do not end")?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}
