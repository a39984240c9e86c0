//! The task board on a server.

use crate::redis_board::RedisBoard;
use crate::reply::Asked;
use crate::task_reply::{Detail, task};
use ostler_board::backend::{check_batch, clipped, has_twins};
use ostler_board::rules::cycle;
use ostler_board::touches::Touches;
use ostler_board::{
    Board, BoardError, Claimed, NewTask, Priority, Refusal, Status, Task, TaskAction, TaskId,
    TaskList, TaskQuery,
};
use std::time::Duration;

/// Tasks in one answer: the server does nothing else meanwhile.
const PAGE: usize = 200;

impl Board for RedisBoard {
    fn add(&mut self, tasks: &[NewTask]) -> Result<Vec<TaskId>, BoardError> {
        check_batch(tasks, self.limits())?;
        let circle = circle(tasks);
        let flag = |is: bool| u8::from(is).to_string();
        let mut words = vec!["add".to_owned(), flag(has_twins(tasks)), flag(circle.is_some())];
        tasks.iter().for_each(|task| describe(task, &mut words));
        let asked = Asked { most_tasks: self.limits().tasks, ..Asked::default() };
        match (self.tasks(words, asked), circle) {
            (Err(BoardError::Refused(Refusal::Cycle(_))), Some(path)) => {
                Err(Refusal::Cycle(path).into())
            }
            (result, _) => result.map(|_| tasks.iter().map(|task| task.id.clone()).collect()),
        }
    }

    fn claim(
        &mut self,
        id: Option<&str>,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, BoardError> {
        self.limits().name("the name of a worker", worker)?;
        let lease = self.limits().lease(lease)?.to_string();
        // An empty name would mean the next task.
        if id == Some("") {
            return Err(Refusal::NoSuchTask(String::new()).into());
        }
        let words = ["claim", id.unwrap_or_default(), worker, &lease].map(str::to_owned);
        let asked = Asked { action: "claimed", ..Asked::default() };
        let mut reply = self.tasks(words.to_vec(), asked)?;
        if reply.is_empty() {
            return Ok(None);
        }
        let read = reply.text().and_then(|id| {
            let (fence, lease_until) = (reply.number()?, reply.number()?);
            Ok(Claimed { id: TaskId(id), fence, lease_until })
        });
        self.readable(read).map(Some)
    }

    fn act(&mut self, id: &str, action: &TaskAction) -> Result<Task, BoardError> {
        let (limits, own) = (self.limits(), |text: &str| Some(text.to_owned()));
        let (name, done, fence, text) = match action {
            TaskAction::Renew { fence, lease } => {
                ("renew", "renewed", *fence, Some(limits.lease(*lease)?.to_string()))
            }
            TaskAction::Finish { fence, result } => {
                let result = result.as_deref().map(|text| clipped(text, limits.text_bytes));
                ("finish", "finished", *fence, result)
            }
            TaskAction::Fail { fence, error } => {
                ("fail", "failed", *fence, own(&clipped(error, limits.error_bytes)))
            }
            TaskAction::Return { fence, reason } => {
                ("give_back", "returned", *fence, own(&clipped(reason, limits.error_bytes)))
            }
            TaskAction::Retry => ("retry", "retried", 0, None),
            TaskAction::Cancel { reason } => {
                let reason = reason.as_deref().map(|text| clipped(text, limits.error_bytes));
                ("cancel", "cancelled", 0, reason)
            }
        };
        let has_text = u8::from(text.is_some()).to_string();
        let (number, text) = (fence.to_string(), text.unwrap_or_default());
        let words = ["act", id, name, &number, &has_text, &text].map(str::to_owned);
        let asked = Asked { action: done, fence, ..Asked::default() };
        let mut reply = self.tasks(words.to_vec(), asked)?;
        self.readable(task(&mut reply, Detail::Whole))
    }

    fn show(&mut self, id: &str) -> Result<Task, BoardError> {
        let words = ["show", id].map(str::to_owned);
        let mut reply = self.tasks(words.to_vec(), Asked::default())?;
        self.readable(task(&mut reply, Detail::Whole))
    }

    fn next(&mut self) -> Result<Option<Task>, BoardError> {
        let mut reply = self.tasks(vec!["next".to_owned()], Asked::default())?;
        if reply.is_empty() {
            return Ok(None);
        }
        self.readable(task(&mut reply, Detail::Whole)).map(Some)
    }

    fn list(&mut self, query: &TaskQuery) -> Result<TaskList, BoardError> {
        let wanted = if query.statuses.is_empty() { &Status::ALL[..] } else { &query.statuses };
        let number = |status: &Status| Status::ALL.iter().position(|each| each == status);
        let mut numbers: Vec<usize> = wanted.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let statuses: String = numbers.iter().map(ToString::to_string).collect();
        let mut list = TaskList::default();
        let mut after = "0".to_owned();
        loop {
            let size = PAGE.min(query.limit - list.tasks.len());
            let words = ["list", &statuses, &after, &size.to_string()].map(str::to_owned);
            let mut reply = self.tasks(words.to_vec(), Asked::default())?;
            let page = reply.number().and_then(|total| {
                list.total = total;
                after = reply.text()?;
                Ok((reply.lists()?, reply.damaged()?))
            });
            let (page, damaged) = self.readable(page)?;
            let is_last = page.len() < size;
            // A damaged one has nothing but its id.
            let whole = page.into_iter().filter(|one| one.len() > 1);
            let whole = whole.filter_map(|mut one| task(&mut one, Detail::Listed).ok());
            list.tasks.extend(whole);
            list.damaged = damaged;
            if is_last || list.tasks.len() >= query.limit {
                return Ok(list);
            }
        }
    }
}

/// A circle among the tasks: tasks of the board cannot be part of one.
fn circle(tasks: &[NewTask]) -> Option<Vec<String>> {
    let graph: Vec<(&str, Vec<&str>)> = tasks
        .iter()
        .map(|task| (task.id.as_str(), task.depends_on.iter().map(String::as_str).collect()))
        .collect();
    cycle(&graph).map(|path| path.into_iter().map(str::to_owned).collect())
}

fn describe(task: &NewTask, words: &mut Vec<String>) {
    let priority = Priority::ALL.iter().position(|each| *each == task.priority);
    // They were checked before.
    let touches = Touches::parse(&task.touches).unwrap_or_default();
    words.extend([
        task.id.as_str().to_owned(),
        task.title.clone(),
        task.description.clone(),
        priority.unwrap_or(1).to_string(),
        serde_json::to_string(&task.touches).unwrap_or_default(),
        touches.to_json(),
        task.depends_on.len().to_string(),
    ]);
    words.extend(task.depends_on.iter().cloned());
}
