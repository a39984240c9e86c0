//! All hooks of a session behind the port: who is told about what, all at once, and what they come to together.

use crate::command::{HookRun, Prepare, Runner};
use crate::delivery::Delivery;
use crate::fault::HookFault;
use crate::payload::About;
use crate::webhook_request::{Sender, WebhookReply};
use futures_util::FutureExt;
use futures_util::future::join_all;
use ostler_core::hook::{
    EventName, HookAction, HookAnswer, HookEvent, HookOutcome, HookSecret, HookSpec, Stand,
    answered, merge,
};
use ostler_core::ports::{BoxFuture, Hook, Hooks};
use ostler_exec::Executor;
use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub struct HookSetup {
    /// In the order in which they are asked; hooks of the program itself come first.
    pub specs: Vec<HookSpec>,
    pub inside: Vec<Arc<dyn Hook>>,
    pub executor: Executor,
    /// For commands, already cut down to what they may see.
    pub environment: Vec<(OsString, OsString)>,
    pub prepare: Option<Prepare>,
    pub about: About,
    /// Where events for webhooks wait; without it those that do not block are not sent, which is told.
    pub queues: Option<PathBuf>,
    pub sender: Sender,
    /// Is told when a command starts and ends.
    pub watch: Option<HookWatch>,
}

/// Must not wait.
pub type HookWatch = Arc<dyn Fn(&HookProgress) + Send + Sync>;

/// A command that started or, with an end, is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProgress {
    /// The same for the start and the end.
    pub id: String,
    /// Its command in a line.
    pub hook: String,
    pub event: EventName,
    /// What its matcher was compared with.
    pub matched: Option<String>,
    pub end: Option<HookRunEnd>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRunEnd {
    /// None: it was not started, or a signal ended it.
    pub exit_code: Option<i32>,
    /// The beginning of what it printed.
    pub stdout: String,
    pub stderr: String,
    /// It said what it had to say.
    pub is_ok: bool,
}

struct Registered {
    spec: HookSpec,
    heard: AtomicBool,
}

pub struct Registry {
    hooks: Vec<Registered>,
    inside: Vec<Arc<dyn Hook>>,
    runner: Runner,
    about: About,
    sender: Sender,
    delivery: Option<Delivery>,
    watch: Option<HookWatch>,
}

impl Registry {
    pub fn new(setup: HookSetup) -> Self {
        let mut hooks: Vec<Registered> = Vec::new();
        for spec in setup.specs {
            // Two of the same with different matchers are two.
            let same =
                |had: &Registered| had.spec.is_twin_of(&spec) && had.spec.matcher == spec.matcher;
            if !hooks.iter().any(same) {
                hooks.push(Registered { spec, heard: AtomicBool::new(false) });
            }
        }
        let queued = hooks.iter().filter_map(|hook| match &hook.spec.action {
            HookAction::Http { url, secret, blocking: false, .. } => {
                Some((url.clone(), secret.clone()))
            }
            _ => None,
        });
        let endpoints: Vec<(String, Option<HookSecret>)> = queued.collect();
        let delivery = setup
            .queues
            .filter(|_| !endpoints.is_empty())
            .map(|folder| Delivery::new(folder, endpoints, setup.sender.clone()));
        Registry {
            hooks,
            inside: setup.inside,
            runner: Runner {
                executor: setup.executor,
                environment: setup.environment,
                prepare: setup.prepare,
            },
            about: setup.about,
            sender: setup.sender,
            delivery,
            watch: setup.watch,
        }
    }

    /// Waits a moment for events that are on their way; the rest stays queued.
    pub async fn flush(&self, limit: Duration) {
        if let Some(delivery) = &self.delivery {
            let _ = tokio::time::timeout(limit, delivery.flushed()).await;
        }
    }

    /// Each kind of hook once, and one with `once` only the first time.
    fn chosen(&self, event: &HookEvent) -> Vec<&HookSpec> {
        let mut chosen: Vec<&HookSpec> = Vec::new();
        for Registered { spec, heard } in &self.hooks {
            let meant = spec.event == event.name() && spec.matcher.matches(event.matched());
            let twin = chosen.iter().any(|had| had.is_twin_of(spec));
            if meant && !twin && !(heard.swap(true, Ordering::Relaxed) && spec.once) {
                chosen.push(spec);
            }
        }
        chosen
    }

    async fn one(&self, spec: &HookSpec, event: &HookEvent, payload: &str) -> HookOutcome {
        let what = spec.what();
        let answer = match &spec.action {
            HookAction::Command { .. } if spec.in_background => {
                self.aside(spec.clone(), event.clone(), payload.to_owned());
                Ok(HookOutcome::default())
            }
            HookAction::Command { command, args } => {
                let line = (command.as_str(), args.as_deref());
                let id = self.started(spec, event);
                let run = self.runner.run(spec, line, &self.about, event, payload).await;
                self.ended(id, spec, event, &run);
                run.answer
            }
            HookAction::Http { url, secret, blocking: true, .. } if !spec.in_background => {
                self.ask(spec, url, secret.as_ref(), event, payload).await
            }
            HookAction::Http { url, .. } => match &self.delivery {
                Some(delivery) => delivery
                    .enqueue(url, event.name(), payload)
                    .map(|()| HookOutcome::default())
                    .map_err(|error| HookFault::Failed(error.to_string())),
                None => Err(HookFault::Failed("there is no directory for its queue".into())),
            },
            HookAction::Unavailable { why, .. } if spec.decides() => {
                Err(HookFault::Failed(why.clone()))
            }
            HookAction::Unavailable { .. } => Ok(HookOutcome::default()),
        };
        let mut outcome = answer.unwrap_or_else(|fault| fault.outcome(spec, event));
        outcome.heard = vec![what];
        outcome
    }

    fn started(&self, spec: &HookSpec, event: &HookEvent) -> String {
        let Some(watch) = &self.watch else { return String::new() };
        let id = self.sender.given().ids.uuid();
        watch(&progress(id.clone(), spec, event, None));
        id
    }

    fn ended(&self, id: String, spec: &HookSpec, event: &HookEvent, run: &HookRun) {
        let Some(watch) = &self.watch else { return };
        let end = HookRunEnd {
            exit_code: run.exit_code,
            stdout: run.stdout.clone(),
            stderr: run.stderr.clone(),
            is_ok: run.answer.is_ok(),
        };
        watch(&progress(id, spec, event, Some(end)));
    }

    async fn ask(
        &self,
        spec: &HookSpec,
        url: &str,
        secret: Option<&HookSecret>,
        event: &HookEvent,
        payload: &str,
    ) -> Result<HookOutcome, HookFault> {
        let id = self.sender.given().ids.uuid();
        let name = event.name().name();
        let sent = self.sender.send(url, secret, name, &id, payload.as_bytes(), spec.limit());
        verdict(spec, event, &sent.await.map_err(HookFault::Failed)?)
    }

    fn aside(&self, spec: HookSpec, event: HookEvent, payload: String) {
        let (runner, about) = (self.runner.clone(), self.about.clone());
        tokio::spawn(async move {
            if let HookAction::Command { command, args } = &spec.action {
                let line = (command.as_str(), args.as_deref());
                runner.run(&spec, line, &about, &event, &payload).await;
            }
        });
    }
}

fn progress(
    id: String,
    spec: &HookSpec,
    event: &HookEvent,
    end: Option<HookRunEnd>,
) -> HookProgress {
    let matched = event.matched().map(str::to_owned);
    HookProgress { id, hook: spec.what(), event: event.name(), matched, end }
}

/// What a webhook answered. One that blocks has to answer with a verdict: an empty body or a proxy's page is none.
pub(crate) fn verdict(
    spec: &HookSpec,
    event: &HookEvent,
    reply: &WebhookReply,
) -> Result<HookOutcome, HookFault> {
    if !(200..300).contains(&reply.status) {
        return Err(HookFault::Failed(format!("it answered with status {}", reply.status)));
    }
    let output = String::from_utf8_lossy(&reply.body);
    let must_decide = spec.decides();
    let said = HookAnswer { refused: false, must_decide, output: &output, errors: "" };
    let mut outcome = answered(event, &spec.what(), &said).map_err(HookFault::Unclear)?;
    if !output.trim_start().starts_with('{') {
        // Pages of proxies are not meant for the model.
        outcome.context.clear();
    }
    Ok(outcome)
}

async fn inside(hook: &dyn Hook, event: &HookEvent, payload: Option<&str>) -> HookOutcome {
    let called =
        AssertUnwindSafe(async { hook.call_with(event, payload).await }).catch_unwind().await;
    let mut outcome = called.unwrap_or_else(|_| {
        let why = "it panicked (a blocking hook without a verdict denies)";
        match event.name().can_block() {
            true => HookOutcome::of(Stand::Block, hook.name(), why),
            false => HookOutcome::notice(format!("the hook {} panicked", hook.name())),
        }
    });
    outcome.heard = vec![hook.name().to_owned()];
    outcome
}

impl Hooks for Registry {
    fn listens(&self, event: EventName, matched: Option<&str>) -> bool {
        let meant = |hook: &Registered| {
            hook.spec.event == event
                && hook.spec.matcher.matches(matched)
                && !(hook.spec.once && hook.heard.load(Ordering::Relaxed))
        };
        self.hooks.iter().any(meant) || self.inside.iter().any(|hook| hook.listens(event, matched))
    }

    fn fire(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome> {
        Box::pin(async move {
            let (name, matched) = (event.name(), event.matched());
            let payload = self.about.payload(&event, false);
            let near = self.inside.iter().filter(|hook| hook.listens(name, matched));
            let near = join_all(near.map(|hook| inside(hook.as_ref(), &event, payload.as_deref())));
            let chosen = self.chosen(&event);
            if chosen.is_empty() {
                return merge(near.await);
            }
            let Some(payload) = &payload else {
                let fault = HookFault::Failed("the event is too large for it".into());
                let too_large = chosen.iter().map(|spec| fault.outcome(spec, &event));
                return merge(near.await.into_iter().chain(too_large));
            };
            let far = join_all(chosen.iter().map(|spec| self.one(spec, &event, payload)));
            let (near, far) = tokio::join!(near, far);
            merge(near.into_iter().chain(far))
        })
    }
}
