//! `ostler events`: what happened, and what is queued for webhooks.

use crate::args::ConfigArgs;
use crate::args::hooks::{EventsCommand, ReplayArgs, TailArgs};
use crate::exit::{Code, Wrong, warn};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::{Delivered, HookAction, HookSecret, Sender, WebhookQueue};
use ostler_profile::{Environment, Profile};
use ostler_sdk::escaped;
use rustix::fs::inotify;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

pub fn run(environment: &Environment, command: &EventsCommand) -> Result<Code> {
    match command {
        EventsCommand::Tail(args) => tail(environment, args),
        EventsCommand::Deliver(args) => deliver(&Webhooks::of(environment, &args.config)?),
        EventsCommand::Replay(args) => replay(&Webhooks::of(environment, &args.config)?, args),
    }
}

fn tail(environment: &Environment, args: &TailArgs) -> Result<Code> {
    let folder = environment.home()?.join("events");
    let path = log(&folder, args.session.as_deref())?;
    let mut file = BufReader::new(File::open(&path)?);
    let mut lines = Vec::new();
    while let Some(line) = next_line(&mut file)? {
        lines.push(line);
    }
    for line in lines.iter().skip(lines.len().saturating_sub(args.lines)) {
        print(line, args.json)?;
    }
    if !args.follow {
        return Ok(Code::Done);
    }
    let changes = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&changes, &path, inotify::WatchFlags::MODIFY)?;
    let mut buffer = [0; 4096];
    loop {
        while let Some(line) = next_line(&mut file)? {
            print(&line, args.json)?;
        }
        rustix::io::read(&changes, &mut buffer)?;
    }
}

fn log(folder: &Path, session: Option<&str>) -> Result<PathBuf> {
    let logs = ostler::event_logs(folder);
    let named = |path: &&PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        session.is_none_or(|session| name.starts_with(session))
    };
    let found = logs.iter().find(named);
    match (found, session) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(session)) => {
            Err(Wrong::Usage(format!("no events of session {session}")).into())
        }
        (None, None) => Err(Wrong::Usage("no events yet".into()).into()),
    }
}

/// A whole line, or none yet.
fn next_line(file: &mut BufReader<File>) -> Result<Option<String>> {
    use std::io::Seek;
    let at = file.stream_position()?;
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?;
    if line.pop() == Some(b'\n') {
        return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
    }
    file.seek(std::io::SeekFrom::Start(at))?;
    Ok(None)
}

fn print(line: &str, raw: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if raw {
        writeln!(out, "{}", escaped(line))?;
    } else if let Ok(Value::Object(fields)) = serde_json::from_str(line) {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let rest = fields.iter().filter(|(name, value)| {
            !matches!(name.as_str(), "at" | "event" | "id" | "session") && !value.is_null()
        });
        let rest: Vec<String> = rest
            .map(|(name, value)| match value.as_str() {
                Some(text) => format!("{}={}", visible(name), visible(text)),
                None => format!("{}={}", visible(name), escaped(&value.to_string())),
            })
            .collect();
        writeln!(out, "{}  {}  {}", visible(text("at")), visible(text("event")), rest.join("  "))?;
    }
    Ok(out.flush()?)
}

/// The webhooks that are configured here and have queues.
struct Webhooks {
    folder: PathBuf,
    endpoints: Vec<(String, Option<HookSecret>)>,
    sender: Sender,
}

impl Webhooks {
    fn of(environment: &Environment, config: &ConfigArgs) -> Result<Self> {
        let profile = Profile::load(environment, config.flags())?;
        let mut endpoints: Vec<(String, Option<HookSecret>)> = Vec::new();
        for hook in profile.hooks()? {
            if let HookAction::Http { url, secret, blocking: false, .. } = hook.action
                && !endpoints.iter().any(|(known, _)| *known == url)
            {
                endpoints.push((url, secret));
            }
        }
        let certificates = profile.environment.ca_file()?.map(|file| file.pem).unwrap_or_default();
        let folder = profile.places.ostler_home.join("webhooks");
        Ok(Webhooks { folder, endpoints, sender: ostler::webhook_sender(certificates) })
    }

    /// Queues whose webhook is not configured here, with events in them.
    fn strangers(&self) -> Vec<(String, u64)> {
        let known = |queue: &WebhookQueue| self.endpoints.iter().any(|(url, _)| *url == queue.url);
        let queues = WebhookQueue::all(&self.folder).into_iter().filter(|queue| !known(queue));
        queues
            .map(|queue| (queue.waiting(), queue.url))
            .filter(|(n, _)| *n > 0)
            .map(|(n, url)| (url, n))
            .collect()
    }
}

fn deliver(webhooks: &Webhooks) -> Result<Code> {
    let sending = ostler::deliver_all(&webhooks.folder, &webhooks.endpoints, &webhooks.sender);
    let delivered = ostler::block_on(sending)?;
    report(&delivered)?;
    for (url, waiting) in webhooks.strangers() {
        warn(&format!("{waiting} waiting for {url}, which is not configured here"));
    }
    let waits = delivered.iter().any(|one| one.waiting > 0);
    Ok(if waits { Code::Failed } else { Code::Done })
}

fn replay(webhooks: &Webhooks, args: &ReplayArgs) -> Result<Code> {
    let wanted = |url: &String| args.endpoint.as_ref().is_none_or(|endpoint| endpoint == url);
    let endpoints: Vec<_> =
        webhooks.endpoints.iter().filter(|(url, _)| wanted(url)).cloned().collect();
    if endpoints.is_empty() {
        let what = "no such webhook is configured; ostler hooks list shows all";
        return Err(Wrong::Usage(what.into()).into());
    }
    let mut found = Vec::new();
    for (url, secret) in endpoints {
        match ostler::replay(&webhooks.folder, &url, args.from.as_deref()) {
            Ok(true) => found.push((url, secret)),
            Ok(false) => {}
            Err(why) => return Err(anyhow::anyhow!("{url}: {why}")),
        }
    }
    if found.is_empty() {
        return Err(Wrong::Usage("no such event in the queue".into()).into());
    }
    let sending = ostler::deliver_all(&webhooks.folder, &found, &webhooks.sender);
    let delivered = ostler::block_on(sending)?;
    report(&delivered)?;
    let waits = delivered.iter().any(|one| one.waiting > 0);
    Ok(if waits { Code::Failed } else { Code::Done })
}

fn report(delivered: &[Delivered]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if delivered.is_empty() {
        writeln!(out, "No webhooks are configured.")?;
    }
    for Delivered { url, sent, refused, waiting, error } in delivered {
        let why = error.as_ref().filter(|_| *waiting > 0);
        let why = why.map(|why| format!(" ({})", visible(why))).unwrap_or_default();
        let put_aside = match refused {
            0 => String::new(),
            refused => format!(", {refused} refused (kept in refused.jsonl)"),
        };
        writeln!(out, "{}  {sent} sent{put_aside}, {waiting} waiting{why}", visible(url))?;
    }
    Ok(())
}
