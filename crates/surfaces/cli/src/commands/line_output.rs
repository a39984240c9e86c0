//! A session on a plain terminal: turn after turn, with what each of them took.

use super::conversation::Conversation;
use super::rewind::counted;
use super::sessions::age;
use super::waiting_line::Waiting;
use crate::exit::{warn, warn_of};
use crate::output::paint::Paint;
use crate::output::screen::Screen;
use crate::output::visible_text::visible;
use crate::output::{agents, say, usage};
use anyhow::Result;
use ostler::{Envelope, Event, Finished, InboundSource, QueuedItem, words};

/// Characters of a title and of an answer in the line about a resumed session.
const OVERVIEW: usize = 60;

pub struct LineOutput {
    pub screen: Screen,
    pub waiting: Waiting,
    /// The first word of what was entered last.
    entered: String,
    /// The turn is a summary of the conversation.
    compacted: bool,
    /// The next turn was asked for.
    asked: bool,
    /// A turn began that nobody asked for, and nothing has said why yet.
    unexplained: bool,
    /// Ends of jobs that the model does not know of yet, while the session is driven.
    ended_jobs: Vec<QueuedItem>,
}

impl LineOutput {
    pub fn new() -> Self {
        let (screen, waiting) = (Screen::new(), Waiting::new());
        LineOutput {
            screen,
            waiting,
            entered: String::new(),
            compacted: false,
            asked: false,
            unexplained: false,
            ended_jobs: Vec::new(),
        }
    }

    /// What was entered leads to a turn.
    pub fn begin(&mut self, line: &str) {
        self.entered = line.split_whitespace().next().unwrap_or_default().to_owned();
        (self.screen, self.compacted) = (Screen::new(), false);
        (self.asked, self.unexplained) = (true, false);
        self.ended_jobs.clear();
    }

    /// Says why a turn starts that nobody asked for: the first of these that is the end of a job or mail of a teammate.
    pub fn explain(&mut self, items: &[QueuedItem]) -> Result<()> {
        let mut reasons = items.iter().filter_map(|item| match &item.source {
            InboundSource::Job { summary: Some(summary), .. } => Some(summary.clone()),
            InboundSource::Job { id, .. } => Some(format!("Background job {id} ended")),
            InboundSource::Agent { path } => Some(format!("Mail from {}", path.names().join("/"))),
            _ => None,
        });
        let Some(said) = reasons.next() else { return Ok(()) };
        self.waiting.clear();
        self.screen.note(&format!("{}: starting a turn", visible(&said)))
    }

    pub fn greet(&mut self, conversation: &mut Conversation<'_>, news: &[String]) -> Result<()> {
        let (session, version) = (&conversation.session, env!("CARGO_PKG_VERSION"));
        say(&format!("ostler {version} · {} · session {}", session.model(), session.id()))?;
        let paint = Paint::for_terminal();
        news.iter().try_for_each(|notice| say(&paint.dim(&visible(notice))))?;
        self.overview(conversation)?;
        self.announce(conversation)?;
        say("Type a prompt, or /help for commands. You can also type while the agent works.")
    }

    /// Another session took the place of the last one.
    pub fn switched(&mut self, conversation: &mut Conversation<'_>) -> Result<()> {
        self.last_words(conversation)?;
        say(&format!("session {}", conversation.session.id()))?;
        self.overview(conversation)?;
        self.announce(conversation)
    }

    /// What a resumed session is about, in one line.
    fn overview(&self, conversation: &Conversation<'_>) -> Result<()> {
        let Some(found) = conversation.session.overview() else { return Ok(()) };
        let short = |text: &str| {
            let text = visible(text);
            match text.char_indices().nth(OVERVIEW) {
                Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
                None => text,
            }
        };
        let turns = counted(usize::try_from(found.turns).unwrap_or(usize::MAX), "turn");
        let mut line = format!("resumed \"{}\" · {turns}", short(&found.title));
        if let Some(at) = found.last_turn {
            line += &format!(" · {} ago", age(ostler::now_ms().saturating_sub(at.0)));
        }
        if let Some(answer) = found.last_answer {
            line += &format!(" · last answer: {}", short(&answer));
        }
        say(&Paint::for_terminal().dim(&line))
    }

    /// What was found on opening, and what a resumed session was about to do.
    fn announce(&mut self, conversation: &Conversation<'_>) -> Result<()> {
        let found = conversation.session.announce();
        found.iter().for_each(|envelope| warn_of(&envelope.event));
        let (lines, plan) = conversation.announce();
        lines.iter().for_each(|line| warn(line));
        plan.map_or(Ok(()), |plan| self.screen.plan(&plan))
    }

    /// Of sessions that have ended.
    pub fn last_words(&mut self, conversation: &mut Conversation<'_>) -> Result<()> {
        let paint = Paint::for_terminal();
        conversation.last_words().into_iter().try_for_each(|words| {
            words.events.iter().for_each(|envelope| warn_of(&envelope.event));
            words.tools.iter().try_for_each(|line| say(&paint.dim(&visible(line))))
        })
    }

    /// Shows what is waited for, while nothing else is shown.
    pub async fn wait(&self) {
        loop {
            self.waiting.tick().await;
            self.waiting.draw(self.screen.room());
        }
    }

    /// What an agent does is a line now and then.
    pub fn envelope(&mut self, envelope: &Envelope) -> Result<()> {
        if envelope.agent.is_root() {
            self.waiting.event(&envelope.event);
            return self.event(&envelope.event);
        }
        let Some(line) = agents::line(envelope) else { return Ok(()) };
        self.waiting.clear();
        self.screen.note(&line)
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Queued(item)
                if matches!(
                    item.source,
                    InboundSource::Job { .. } | InboundSource::Agent { .. }
                ) =>
            {
                self.ended_jobs.push(item.clone());
                self.screen.event(event)
            }
            Event::TurnStarted { .. } => {
                self.unexplained = !std::mem::take(&mut self.asked);
                self.screen.event(event)
            }
            Event::Delivered { ids } => {
                let told = |item: &mut QueuedItem| ids.contains(&item.id);
                let told: Vec<QueuedItem> = self.ended_jobs.extract_if(.., told).collect();
                if std::mem::take(&mut self.unexplained) {
                    self.explain(&told)?;
                }
                self.screen.event(event)
            }
            Event::Finished(finished) => {
                self.screen.end_line()?;
                // What no answer showed: why a conversation was not summarized.
                if finished.iterations == 0 && !self.compacted {
                    say(&visible(&finished.text))?;
                }
                self.compacted = false;
                show_end(finished)
            }
            Event::PromptRefused { why } => {
                let command = visible(&self.entered);
                say(&format!("There is no command {command}; /help lists them. {}", visible(why)))
            }
            event => {
                self.compacted |= matches!(event, Event::Compacted { .. });
                self.screen.event(event)
            }
        }
    }
}

fn show_end(finished: &Finished) -> Result<()> {
    if let Some(line) = words::failure(finished) {
        warn(&line);
    }
    say(&usage::line(finished))?;
    usage::budgets(finished).try_for_each(|line| say(&line))
}
