//! The same state, found in another way: this listener keeps every envelope, and looks for each field on its own. It is
//! slow and has no memory of its own that could go wrong.

use super::*;
use crate::message::ResultPart;

pub(super) fn scan(all: &[Envelope]) -> SessionState {
    let is_teammate = |one: &&Envelope| matches!(one.event, Event::TeammateChanged(_));
    let others: Vec<Envelope> = all.iter().filter(|one| !is_teammate(one)).cloned().collect();
    let mut state = without_teammates(&others);
    state.seq = all.last().map_or(0, |one| one.seq);
    for path in all.iter().filter(is_teammate).map(|one| &one.agent) {
        let own: Vec<&Envelope> = all.iter().filter(|one| one.agent == *path).collect();
        let newest = find(&own, |event| match event {
            Event::TeammateChanged(status) => Some(status.clone()),
            _ => None,
        });
        state.teammates.extend(newest.map(|status| (path.to_string(), status)));
    }
    state
}

fn without_teammates(all: &[Envelope]) -> SessionState {
    let root = AgentPath::default();
    let mut state = agent(all, &root);
    // The end of the session takes all agents with it.
    let end = all
        .iter()
        .rposition(|one| one.agent.is_root() && matches!(one.event, Event::Closed { .. }));
    for one in all.iter().filter(|one| !one.agent.is_root()) {
        let name = one.agent.to_string();
        let removed = all.iter().rposition(|other| {
            let other_name = other.agent.to_string();
            let above = name == other_name || name.starts_with(&format!("{other_name}/"));
            !other.agent.is_root() && above && matches!(other.event, Event::Closed { .. })
        });
        let from = removed.max(end).map_or(0, |at| at + 1);
        if all[from..].iter().any(|other| other.agent == one.agent) {
            state.agents.insert(name, agent(&all[from..], &one.agent));
        }
    }
    state
}

fn agent(all: &[Envelope], path: &AgentPath) -> SessionState {
    let own: Vec<&Envelope> = all.iter().filter(|one| one.agent == *path).collect();
    let (spent, spent_in_turn) = spending(&own);
    SessionState {
        seq: own.last().map_or(0, |one| one.seq),
        parent: own.last().and_then(|one| one.parent.clone()),
        turn: turn(&own, spent_in_turn),
        answer: answer(&own),
        calls: calls(&own),
        backoff: backoff(&own),
        queue: queue(&own),
        questions: questions(all, path),
        plan: find(&own, |event| match event {
            Event::Plan(plan) => Some(plan.clone()),
            _ => None,
        }),
        context: ContextFill {
            tokens: find(&own, |event| match event {
                Event::AnswerSealed { usage: u, .. } => {
                    Some(u.input + u.cache_read + u.cache_write + u.output)
                }
                Event::Compacted { receipt } => Some(receipt.after),
                _ => None,
            })
            .unwrap_or(0),
            window: find(&own, |event| match event {
                Event::IterationStarted { window, .. } => Some(*window),
                _ => None,
            })
            .flatten(),
        },
        spent,
        control: find(&own, |event| match event {
            Event::ControlChanged(control) => Some(control.clone()),
            _ => None,
        }),
        finished: find(&own, |event| match event {
            Event::Finished(finished) => Some(finished.clone()),
            _ => None,
        }),
        notices: notices(&own),
        closed: find(&own, |event| match event {
            Event::Closed { reason } => Some(reason.clone()),
            _ => None,
        }),
        agents: BTreeMap::new(),
        teammates: BTreeMap::new(),
    }
}

fn last(own: &[&Envelope], is: impl Fn(&Event) -> bool) -> Option<usize> {
    own.iter().rposition(|one| is(&one.event))
}

/// The newest of something.
fn find<T>(own: &[&Envelope], what: impl Fn(&Event) -> Option<T>) -> Option<T> {
    own.iter().rev().find_map(|one| what(&one.event))
}

/// The events since the last one after which no answer and no call is left.
fn iteration<'a, 'b>(own: &'b [&'a Envelope]) -> &'b [&'a Envelope] {
    let begins = |event: &Event| {
        matches!(
            event,
            Event::TurnStarted { .. }
                | Event::IterationStarted { .. }
                | Event::AnswerStarted { .. }
                | Event::AnswerDropped
                | Event::Finished(_)
                | Event::TurnAbandoned
                | Event::Closed { .. }
        )
    };
    &own[last(own, begins).unwrap_or(0)..]
}

fn turn(own: &[&Envelope], spent: Spending) -> Option<LiveTurn> {
    let started = last(own, |event| matches!(event, Event::TurnStarted { .. }));
    let of_turn = &own[started.unwrap_or(0)..];
    let iteration = find(of_turn, |event| match event {
        Event::IterationStarted { n, model, why, .. } => Some((*n, model.clone(), *why)),
        _ => None,
    });
    if started.is_none() && iteration.is_none() {
        return None;
    }
    let number = find(own, |event| match event {
        Event::TurnStarted { turn } => Some(*turn),
        _ => None,
    });
    Some(LiveTurn {
        number: number.unwrap_or(0),
        since: started.map_or(Timestamp(0), |at| own[at].at),
        phase: phase(own),
        iteration: iteration.as_ref().map_or(0, |(n, ..)| *n),
        model: iteration.as_ref().map(|(_, model, _)| model.clone()),
        why: iteration.and_then(|(.., why)| why),
        spent,
    })
}

fn phase(own: &[&Envelope]) -> TurnPhase {
    let phase_at = |n: usize| {
        Some(match &own[n].event {
            Event::IterationStarted { .. } => TurnPhase::Waiting,
            Event::AnswerStarted { .. }
            | Event::TextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::BlockFinished { .. } => TurnPhase::Answering,
            Event::Compacting { .. } => TurnPhase::Compacting,
            Event::Finished(_) | Event::TurnAbandoned | Event::Closed { .. } => TurnPhase::Finished,
            Event::TurnStarted { .. }
            | Event::AnswerDropped
            | Event::Went(_)
            | Event::Compacted { .. } => TurnPhase::Preparing,
            Event::AnswerSealed { .. }
            | Event::CallAsked { .. }
            | Event::CallStarted { .. }
            | Event::CallProgress { .. }
            | Event::CallFinished { .. } => {
                let until = &own[..=n];
                if !answer(until).sealed {
                    return None;
                }
                let open = calls(until)
                    .iter()
                    .any(|call| !matches!(call.stage, CallStage::Finished { .. }));
                if open { TurnPhase::RunningCalls } else { TurnPhase::Preparing }
            }
            _ => return None,
        })
    };
    (0..own.len()).rev().find_map(phase_at).unwrap_or_default()
}

fn answer(own: &[&Envelope]) -> LiveAnswer {
    let own = iteration(own);
    let block = |one: &&Envelope| match &one.event {
        Event::BlockFinished { block } => Some(block.clone()),
        _ => None,
    };
    let after = |is: fn(&Block) -> bool| {
        last(own, |event| matches!(event, Event::BlockFinished { block } if is(block)))
            .map_or(own, |at| &own[at + 1..])
    };
    let text = after(|block| matches!(block, Block::Text { .. }));
    let thinking = after(|block| matches!(block, Block::Thinking { .. } | Block::Redacted { .. }));
    LiveAnswer {
        message_id: find(own, |event| match event {
            Event::AnswerStarted { message_id, .. } => Some(message_id.clone()),
            _ => None,
        })
        .unwrap_or_default(),
        blocks: own.iter().filter_map(block).collect(),
        thinking: thinking.iter().fold(String::new(), |so_far, one| match &one.event {
            Event::ThinkingDelta { text } => so_far + text,
            _ => so_far,
        }),
        text: text.iter().fold(String::new(), |so_far, one| match &one.event {
            Event::TextDelta { text } => so_far + text,
            _ => so_far,
        }),
        sealed: last(own, |event| matches!(event, Event::AnswerSealed { .. })).is_some(),
    }
}

fn mentions(event: &Event) -> Option<(&CallId, &str)> {
    match event {
        Event::BlockFinished { block: Block::ToolUse { id, name, .. } }
        | Event::CallAsked { id, name, .. }
        | Event::CallStarted { id, name, .. }
        | Event::CallFinished { id, name, .. } => Some((id, name)),
        _ => None,
    }
}

fn calls(own: &[&Envelope]) -> Vec<LiveCall> {
    let own = iteration(own);
    let mut found: Vec<LiveCall> = Vec::new();
    for (id, name) in own.iter().filter_map(|one| mentions(&one.event)) {
        if found.iter().all(|call| call.id != *id) {
            let (input, stage) = (input(own, id), stage(own, id));
            found.push(LiveCall { id: id.clone(), name: name.to_owned(), input, stage });
        }
    }
    found
}

/// The events without questions of this call while it runs: those are about something else.
fn without_asides<'a>(own: &[&'a Envelope], call: &CallId) -> Vec<&'a Envelope> {
    let mut is_running = false;
    let counts = |one: &&&Envelope| {
        match &one.event {
            Event::CallStarted { id, .. } if id == call => is_running = true,
            Event::CallFinished { id, .. } if id == call => is_running = false,
            Event::CallAsked { id, .. } if id == call => return !is_running,
            _ => {}
        }
        true
    };
    own.iter().filter(counts).copied().collect()
}

fn input(own: &[&Envelope], call: &CallId) -> Value {
    find(&without_asides(own, call), |event| match event {
        Event::BlockFinished { block: Block::ToolUse { id, input, .. } }
        | Event::CallStarted { id, input, .. }
            if id == call =>
        {
            Some(input.clone())
        }
        Event::CallAsked { id, question: Some(question), .. } if id == call => {
            Some(question.input.clone())
        }
        Event::CallFinished { id, input: Some(input), .. } if id == call => {
            Some(Value::clone(input))
        }
        _ => None,
    })
    .unwrap_or(Value::Null)
}

fn stage(own: &[&Envelope], call: &CallId) -> CallStage {
    let own = &without_asides(own, call)[..];
    let staged = |event: &Event| {
        !matches!(event, Event::BlockFinished { .. })
            && mentions(event).is_some_and(|(id, _)| id == call)
    };
    let Some(at) = last(own, staged) else { return CallStage::Announced };
    match &own[at].event {
        Event::CallStarted { .. } => CallStage::Running {
            since: own[at].at,
            tail: find(&own[at..], |event| match event {
                Event::CallProgress { id, tail } if id == call => Some(tail.clone()),
                _ => None,
            })
            .unwrap_or_default(),
        },
        Event::CallFinished { outcome, result, shown, took_ms, .. } => {
            let text = match result {
                _ if shown.is_some() => {
                    shown.as_ref().map(|text| text.chars().take(EXCERPT).collect())
                }
                Block::ToolResult { content, .. } => content.iter().find_map(|part| match part {
                    ResultPart::Text { text } => Some(text.chars().take(EXCERPT).collect()),
                    ResultPart::Image(_) => None,
                }),
                _ => None,
            };
            let (outcome, took_ms) = (*outcome, *took_ms);
            CallStage::Finished { outcome, excerpt: text.unwrap_or_default(), took_ms }
        }
        _ => CallStage::Asked,
    }
}

fn backoff(own: &[&Envelope]) -> Option<Backoff> {
    // What may happen beside a request that waits.
    let beside = |event: &Event| {
        mentions(event).is_some() && !matches!(event, Event::BlockFinished { .. })
            || matches!(
                event,
                Event::CallProgress { .. }
                    | Event::PromptRefused { .. }
                    | Event::Queued(_)
                    | Event::Delivered { .. }
                    | Event::Dequeued { .. }
                    | Event::QuestionClosed { .. }
                    | Event::ControlChanged(_)
                    | Event::Plan(_)
                    | Event::MemoryChanged(_)
                    | Event::Notice { .. }
                    | Event::Raw(_)
                    | Event::Unknown(_)
            )
    };
    let at = last(own, |event| !beside(event))?;
    let Event::Retrying(retry) = &own[at].event else { return None };
    let wait = Duration::from_millis(u64::try_from(retry.wait.as_millis()).unwrap());
    Some(Backoff { since: own[at].at, retry: Retry { wait, ..retry.clone() } })
}

fn queue(own: &[&Envelope]) -> Vec<QueuedItem> {
    let mut items: Vec<QueuedItem> = Vec::new();
    for (n, one) in own.iter().enumerate() {
        let Event::Queued(item) = &one.event else { continue };
        let gone = own[n..].iter().any(|later| match &later.event {
            Event::Delivered { ids } | Event::Dequeued { ids } => ids.contains(&item.id),
            _ => false,
        });
        if !gone && items.iter().all(|had| had.id != item.id) {
            let newest = find(own, |event| match event {
                Event::Queued(other) if other.id == item.id => Some(other.clone()),
                _ => None,
            });
            items.extend(newest);
        }
    }
    items
}

fn questions(all: &[Envelope], path: &AgentPath) -> Vec<Question> {
    let mut open = Vec::new();
    for (n, one) in all.iter().enumerate().filter(|(_, one)| one.agent == *path) {
        let Event::CallAsked { question: Some(question), .. } = &one.event else { continue };
        let over = all[n + 1..].iter().any(|later| match &later.event {
            Event::QuestionClosed { id, .. } if later.agent.is_root() => *id == question.id,
            _ if later.agent != *path => false,
            Event::QuestionClosed { id, .. } => *id == question.id,
            // A question that is asked again moves to the end.
            Event::CallAsked { question: Some(other), .. } => other.id == question.id,
            Event::CallStarted { id, .. } | Event::CallFinished { id, .. } => *id == question.call,
            Event::TurnStarted { .. }
            | Event::IterationStarted { .. }
            | Event::AnswerStarted { .. }
            | Event::AnswerDropped
            | Event::Finished(_)
            | Event::TurnAbandoned
            | Event::Closed { .. } => true,
            _ => false,
        });
        if !over {
            open.push(Question::clone(question));
        }
    }
    open
}

/// Of finished or abandoned turns, and of the one that runs.
fn spending(own: &[&Envelope]) -> (Spending, Spending) {
    let (mut before, mut running) = (Spending::default(), Spending::default());
    for (n, one) in own.iter().enumerate() {
        let in_turn = own[..n].iter().any(|earlier| {
            matches!(earlier.event, Event::TurnStarted { .. } | Event::IterationStarted { .. })
        });
        let next = own[n + 1..]
            .iter()
            .find(|later| matches!(later.event, Event::TurnStarted { .. } | Event::Finished(_)));
        match (&one.event, next.map(|next| &next.event)) {
            (Event::Finished(finished), _) => before.add(finished.usage, finished.cost),
            (Event::AnswerSealed { usage, cost, .. }, None) if in_turn => {
                running.add(*usage, *cost)
            }
            (Event::AnswerSealed { usage, cost, .. }, Some(Event::TurnStarted { .. }))
                if in_turn =>
            {
                before.add(*usage, *cost);
            }
            _ => {}
        }
    }
    (before, running)
}

fn notices(own: &[&Envelope]) -> VecDeque<RecentNotice> {
    let all: Vec<RecentNotice> = own
        .iter()
        .filter_map(|one| match &one.event {
            Event::Notice { level, notice } => {
                Some(RecentNotice { at: one.at, level: *level, notice: notice.clone() })
            }
            _ => None,
        })
        .collect();
    all[all.len().saturating_sub(NOTICES)..].iter().cloned().collect()
}
