//! Requests between teammates: who may ask, who must answer, and what ends a wait. Pure, like [`rules`](crate::rules).
//!
//! Two rules keep a team alive, and both are needed: an agent that waits for an answer makes no second request, and it
//! still answers requests. Without the second rule, two agents that ask each other at the same moment wait until their
//! deadlines (`protocol_tests.rs` walks every order of events for two to four agents and shows both).
//!
//! A request is made in a turn. If that turn was answering a request itself, its answer is held back until the new request
//! has ended, and a further turn completes it. So an agent answers what it was asked with everything it learned.

use std::fmt;

/// What an agent is doing, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Idle,
    /// It has made a request that is not in the mailbox yet.
    Requesting,
    Waiting,
    Responding,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Requesting => "requesting",
            Phase::Waiting => "waiting",
            Phase::Responding => "responding",
        }
    }
}

/// A request of this agent that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outgoing<A, I> {
    pub id: I,
    pub to: A,
    /// It is in the mailbox.
    pub is_sent: bool,
}

/// A request that this agent has to answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Incoming<A, I> {
    pub id: I,
    pub from: A,
    /// It arrived while the agent waited, so its answer depends on nothing but its own turn.
    pub is_nested: bool,
}

/// The state of one agent. `A` names agents, `I` requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conduct<A, I> {
    me: A,
    outgoing: Option<Outgoing<A, I>>,
    /// What the running turn answers.
    answering: Option<Incoming<A, I>>,
    /// What will be answered after the outgoing request has ended.
    held: Option<Incoming<A, I>>,
}

/// What happens to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening<A, I> {
    /// Its turn makes a request.
    Ask { id: I, to: A },
    /// The request is in the mailbox.
    Sent { id: I },
    /// A request arrives.
    Request { id: I, from: A },
    /// The turn that answers has ended, well or not.
    TurnEnded,
    /// The outgoing request was answered, or it bounced, failed or timed out.
    Ended { id: I },
}

/// What the caller has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duty<A, I> {
    Nothing,
    /// Put the request into the mailbox, then report [`Happening::Sent`]; its deadline starts now.
    Send {
        id: I,
        to: A,
    },
    /// Start a turn with the request.
    Answer {
        id: I,
        from: A,
    },
    /// The last text of the turn is the reply.
    Reply {
        id: I,
        to: A,
    },
    /// Start a turn with how the request ended; it completes the answer to an earlier request.
    Complete {
        id: I,
        from: A,
    },
    /// The last text of the turn is the reply to this request; then start a turn with how the outgoing request ended.
    ReplyThenComplete {
        id: I,
        to: A,
        then: I,
    },
    /// Tell the agent how its request ended.
    Tell {
        id: I,
    },
}

/// Why nothing changed. The words are for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach<A> {
    /// One request at a time.
    StillWaiting {
        on: A,
    },
    AskedItself,
    /// The request stays in the mailbox until the agent can take it.
    NotNow,
    /// An answer to a request that has ended, or that was never made.
    NotAsked,
    /// A turn ended that answers nothing.
    NotAnswering,
}

impl<A: fmt::Display> fmt::Display for Breach<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breach::StillWaiting { on } => write!(
                f,
                "you are still waiting for an answer from {on}; you can ask again after it has arrived"
            ),
            Breach::AskedItself => f.write_str("you cannot send a request to yourself"),
            Breach::NotNow => f.write_str("the agent cannot take a request at the moment"),
            Breach::NotAsked => f.write_str("this answers no open request"),
            Breach::NotAnswering => f.write_str("no request is being answered"),
        }
    }
}

type Step<A, I> = Result<Duty<A, I>, Breach<A>>;

impl<A: Clone + Eq, I: Clone + Eq> Conduct<A, I> {
    pub fn new(me: A) -> Self {
        Conduct { me, outgoing: None, answering: None, held: None }
    }

    pub fn phase(&self) -> Phase {
        match (&self.answering, &self.outgoing) {
            (Some(_), _) => Phase::Responding,
            (None, Some(outgoing)) if !outgoing.is_sent => Phase::Requesting,
            (None, Some(_)) => Phase::Waiting,
            (None, None) => Phase::Idle,
        }
    }

    pub fn outgoing(&self) -> Option<&Outgoing<A, I>> {
        self.outgoing.as_ref()
    }

    /// What has to be answered or refused if this agent ends now.
    pub fn unanswered(&self) -> impl Iterator<Item = &Incoming<A, I>> {
        self.answering.iter().chain(&self.held)
    }

    /// # Errors
    /// If the protocol does not allow it; then nothing has changed.
    pub fn step(&mut self, happening: Happening<A, I>) -> Step<A, I> {
        match happening {
            Happening::Ask { id, to } => self.ask(id, to),
            Happening::Sent { id } => self.sent(&id),
            Happening::Request { id, from } => self.request(id, from),
            Happening::TurnEnded => self.turn_ended(),
            Happening::Ended { id } => self.ended(&id),
        }
    }

    fn ask(&mut self, id: I, to: A) -> Step<A, I> {
        if let Some(outgoing) = &self.outgoing {
            return Err(Breach::StillWaiting { on: outgoing.to.clone() });
        }
        if to == self.me {
            return Err(Breach::AskedItself);
        }
        self.outgoing = Some(Outgoing { id: id.clone(), to: to.clone(), is_sent: false });
        Ok(Duty::Send { id, to })
    }

    fn sent(&mut self, id: &I) -> Step<A, I> {
        match &mut self.outgoing {
            Some(outgoing) if outgoing.id == *id => {
                outgoing.is_sent = true;
                Ok(Duty::Nothing)
            }
            _ => Err(Breach::NotAsked),
        }
    }

    fn request(&mut self, id: I, from: A) -> Step<A, I> {
        let is_nested = match (&self.answering, &self.outgoing) {
            (Some(_), _) => return Err(Breach::NotNow),
            (None, Some(outgoing)) if !outgoing.is_sent => return Err(Breach::NotNow),
            (None, outgoing) => outgoing.is_some(),
        };
        self.answering = Some(Incoming { id: id.clone(), from: from.clone(), is_nested });
        Ok(Duty::Answer { id, from })
    }

    fn turn_ended(&mut self) -> Step<A, I> {
        let answered = self.answering.take().ok_or(Breach::NotAnswering)?;
        if self.outgoing.is_some() && !answered.is_nested {
            self.held = Some(answered);
            return Ok(Duty::Nothing);
        }
        let Incoming { id, from: to, .. } = answered;
        // The outgoing request ended while the agent was answering.
        match (&self.outgoing, self.held.take()) {
            (None, Some(held)) => {
                let then = held.id.clone();
                self.answering = Some(Incoming { is_nested: false, ..held });
                Ok(Duty::ReplyThenComplete { id, to, then })
            }
            (_, held) => {
                self.held = held;
                Ok(Duty::Reply { id, to })
            }
        }
    }

    fn ended(&mut self, id: &I) -> Step<A, I> {
        if self.outgoing.as_ref().is_none_or(|outgoing| outgoing.id != *id) {
            return Err(Breach::NotAsked);
        }
        self.outgoing = None;
        match (&self.answering, self.held.take()) {
            (None, Some(held)) => {
                let (id, from) = (held.id.clone(), held.from.clone());
                self.answering = Some(held);
                Ok(Duty::Complete { id, from })
            }
            (_, held) => {
                self.held = held;
                Ok(Duty::Tell { id: id.clone() })
            }
        }
    }
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
