//! Turns driven by drawn bytes, with the entries their journal writes: in the order in which it writes them.

use super::*;
use crate::ids::InboundId;

const LIMITS: Limits = Limits {
    max_iterations: Some(4),
    may_escalate: true,
    has_fallback: true,
    max_resumes: 2,
    max_stop_blocks: 1,
    max_nudges: 1,
    max_cut_calls: 1,
    max_stream_retries: 1,
    max_pauses: 1,
    max_empty_retries: 1,
};
const TURNS: usize = 3;

pub(super) struct Live {
    pub(super) entries: Vec<Entry>,
    /// What the machine saw last.
    pub(super) view: View,
    /// The first moment at which the fold saw something else.
    pub(super) disagreement: Option<String>,
    pub(super) kills: usize,
    folded: SessionRecord,
    bytes: Vec<u8>,
    drawn: usize,
    named: usize,
    /// What arrived and was not admitted, and how much may still arrive.
    pending: Vec<InboundId>,
    arrivals: usize,
}

/// The process is gone.
struct Killed;

impl Live {
    pub(super) fn play(bytes: Vec<u8>) -> Self {
        let mut live = Live {
            entries: Vec::new(),
            view: View::default(),
            disagreement: None,
            kills: 0,
            folded: SessionRecord::default(),
            bytes,
            drawn: 0,
            named: 0,
            pending: Vec::new(),
            arrivals: 6,
        };
        for _ in 0..TURNS {
            if live.turn().is_err() {
                live.kills += 1;
                live.view = SessionRecord::fold(live.entries.clone()).close().view;
            }
            live.close();
        }
        live
    }

    /// A deferred call that nobody resumes is answered by what comes next.
    fn close(&mut self) {
        if !self.view.open_calls().is_empty() {
            self.view = self.folded.clone().close().view;
        }
    }

    /// Something may arrive at any time.
    fn listen(&mut self) -> Result<(), Killed> {
        if self.arrivals == 0 || self.draw(12) != 0 {
            return Ok(());
        }
        self.arrivals -= 1;
        let item = arrival(&format!("i{}", self.arrivals));
        self.pending.push(item.id.clone());
        self.write(Entry::Inbound(Box::new(item)))
    }

    fn draw(&mut self, below: usize) -> usize {
        let byte = self.bytes[self.drawn % self.bytes.len()];
        self.drawn += 1;
        // The position goes in, so that short lists do not repeat themselves.
        (usize::from(byte) + self.drawn / self.bytes.len()) % below
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let nth = self.draw(from.len());
        from[nth].clone()
    }

    fn write(&mut self, entry: Entry) -> Result<(), Killed> {
        self.folded.apply(entry.clone());
        self.entries.push(entry);
        if self.draw(40) == 0 { Err(Killed) } else { Ok(()) }
    }

    fn turn(&mut self) -> Result<(), Killed> {
        let content =
            self.pick(&[vec![Block::text("go")], vec![Block::text("see"), image()], vec![]]);
        let message = Message::User { content };
        self.write(Entry::prompt(message.clone(), AT))?;
        self.view.push(message);
        let mut state = State::start(self.view.clone());
        loop {
            let step = next(&state);
            if let Step::Finish(_) = step {
                self.view = state.view;
                return Ok(());
            }
            let outcome = self.outcome(step, &state)?;
            let Advance { state: new, facts } = advance(state, outcome, &LIMITS);
            for fact in facts {
                self.record(fact)?;
            }
            state = new;
            self.compare(&state);
        }
    }

    fn record(&mut self, fact: Fact) -> Result<(), Killed> {
        match fact {
            Fact::Answered(item) => {
                self.write(Entry::Answer { message: item.message().clone(), stop: None })
            }
            Fact::Noted(item) => self.write(Entry::note(item.message().clone())),
            Fact::Admitted { item, ids } => {
                self.pending.retain(|id| !ids.contains(id));
                self.write(Entry::Note { message: item.message().clone(), inbound: ids })
            }
            Fact::Went(why) => self.write(Entry::Went { why }),
            Fact::Ended(terminal) => self.write(Entry::End { terminal, at: AT }),
            Fact::Dropped => Ok(()),
        }
    }

    fn compare(&mut self, state: &State) {
        let pending = self.folded.inbox.iter().map(|item| &item.id).eq(&self.pending);
        let same = pending
            && self.folded.view == state.view
            && self.folded.view.open_calls() == state.view.open_calls();
        if !same && self.disagreement.is_none() {
            let (folded, live) = (show(&self.folded.view), show(&state.view));
            self.disagreement = Some(format!("folded {folded}, live {live}, at {:?}", state.phase));
        }
    }

    fn outcome(&mut self, step: Step, state: &State) -> Result<Outcome, Killed> {
        let quiet = !matches!(step, Step::Sample { .. } | Step::SettleTools);
        if quiet && self.draw(30) == 0 {
            return Ok(Outcome::Interrupted);
        }
        self.listen()?;
        let view = || state.view.clone();
        Ok(match step {
            Step::Prepare if !self.pending.is_empty() => {
                Outcome::Received { message: Message::user("wait"), ids: self.pending.clone() }
            }
            Step::StopHooks if !self.pending.is_empty() => Outcome::StopHooks(StopVerdict::Arrived),
            Step::Prepare if self.draw(30) == 0 => {
                Outcome::Prepared(Err(PrepareError::BudgetSpent))
            }
            Step::Prepare => Outcome::Prepared(Ok(view())),
            Step::Sample { .. } => self.sampled()?,
            Step::Collapse => Outcome::Collapsed(self.pick(&[None, Some((view(), 1))])),
            Step::Compact => Outcome::Compacted(self.pick(&[None, Some(view())])),
            Step::SettleTools => self.settled(state.view.open_calls())?,
            Step::StopHooks | Step::Finish(_) => {
                let message = Message::meta("hook");
                let verdicts = [
                    StopVerdict::Pass,
                    StopVerdict::Prevent,
                    StopVerdict::Block(message.clone()),
                    StopVerdict::SpendMore(message),
                ];
                Outcome::StopHooks(self.pick(&verdicts))
            }
        })
    }

    fn sampled(&mut self) -> Result<Outcome, Killed> {
        use ModelErrorKind::{BadImage, BadThinking, ContextOverflow, Overloaded, Protocol};
        let kind =
            self.pick(&[ContextOverflow, Overloaded, BadImage, BadImage, BadThinking, Protocol]);
        let ends = [
            SampleEnd::EndOfTurn,
            SampleEnd::EndOfTurn,
            SampleEnd::EndOfTurn,
            SampleEnd::MaxOutput,
            SampleEnd::WindowFull,
            SampleEnd::Paused,
            SampleEnd::Refused,
            SampleEnd::Empty,
            SampleEnd::Cancelled,
            SampleEnd::Broken(kind),
            SampleEnd::Failed(kind),
        ];
        let redirected = !self.pending.is_empty() && self.draw(2) == 0;
        let end = if redirected { SampleEnd::Redirected } else { self.pick(&ends) };
        self.write(Entry::Spent {
            model: "m".into(),
            usage: Usage::default(),
            cost: None,
            charge: None,
            front: None,
        })?;
        let mut content = self.pick(&[
            vec![],
            vec![Block::text("x")],
            vec![thinking(), Block::text("so")],
            vec![thinking()],
        ]);
        for _ in 0..self.draw(4) {
            self.named += 1;
            content.push(call(&format!("c{}", self.named)));
        }
        let cut = self.draw(4) == 0;
        let message =
            (!content.is_empty()).then(|| Message::assistant(&ModelId::new("m"), content));
        Ok(Outcome::Sampled { message, cut, end })
    }

    /// Calls start and finish in any order; the driver hands the results over as it likes.
    fn settled(&mut self, open: &[CallId]) -> Result<Outcome, Killed> {
        let mut left = open.to_vec();
        let mut results = Vec::new();
        while !left.is_empty() {
            let nth = self.draw(left.len());
            let id = left.swap_remove(nth);
            if self.draw(2) == 0 {
                self.write(Entry::CallStarted { id: id.clone() })?;
            }
            let seen = ResultPart::Image(Image {
                media: "image/png".into(),
                data: "AA==".into(),
                blob: None,
            });
            let content = self.pick(&[vec![ResultPart::text("ok")], vec![seen], vec![]]);
            let result = Block::ToolResult { id, content, is_error: self.draw(2) == 0 };
            self.write(Entry::CallFinished { result: result.clone(), seen: vec![] })?;
            results.push(result);
        }
        let extra = (0..self.draw(3)).map(|n| Message::meta(format!("note {n}"))).collect();
        let ends =
            [ToolsEnd::Finished, ToolsEnd::Finished, ToolsEnd::Finished, ToolsEnd::Cancelled];
        let end = match self.pending.is_empty() {
            true => self.pick(&[&ends[..], &[ToolsEnd::HookStopped, ToolsEnd::Deferred]].concat()),
            false => ToolsEnd::Redirected,
        };
        Ok(Outcome::ToolsSettled { results, extra, end })
    }
}
