//! Every order of events of small teams. An agent may make a request while idle or while answering; mail may take any time;
//! deadlines may pass at any moment, and agents may die.

use super::*;
use std::collections::{BTreeMap, HashSet};

type Name = u8;
/// Who asked, and the number of the request.
type Id = (Name, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Letter {
    Request { id: Id, to: Name },
    Answer { id: Id },
}

#[derive(Clone, Copy)]
struct Rules {
    agents: u8,
    /// Requests that each agent may make.
    requests: u8,
    /// Agents that may die.
    deaths: u8,
    has_deadlines: bool,
    /// The planted mistake is to leave this out.
    waiting_agents_answer: bool,
    /// Agents differ only by their names, so one order of the names stands for all: the first request is that of agent 0
    /// to agent 1, and agent 3 asks after agent 2.
    one_order_of_names: bool,
}

impl Rules {
    fn allows(self, team: &Team, me: Name, to: Name) -> bool {
        let is_first = team.asked.iter().all(|asked| *asked == 0);
        let is_in_order = !is_first || (me, to) == (0, 1);
        let follows = me != 3 || team.asked[2] > 0;
        team.asked[usize::from(me)] < self.requests
            && (!self.one_order_of_names || (is_in_order && follows))
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Team {
    agents: Vec<Conduct<Name, Id>>,
    alive: Vec<bool>,
    asked: Vec<u8>,
    /// Sorted: mail has no order here.
    mail: Vec<Letter>,
    /// How often each request ended for the agent that made it.
    ends: BTreeMap<Id, u8>,
}

impl Team {
    fn new(rules: Rules) -> Self {
        Team {
            agents: (0..rules.agents).map(Conduct::new).collect(),
            alive: vec![true; rules.agents.into()],
            asked: vec![0; rules.agents.into()],
            mail: Vec::new(),
            ends: BTreeMap::new(),
        }
    }

    fn post(&mut self, letter: Letter) {
        self.mail.push(letter);
        self.mail.sort_unstable();
    }

    fn take(&mut self, letter: Letter) {
        let at = self.mail.iter().position(|other| *other == letter).unwrap();
        self.mail.remove(at);
    }

    fn act(&mut self, me: Name, happening: Happening<Name, Id>) -> Result<(), Breach<Name>> {
        if let Happening::Ended { id } = &happening {
            let before = self.agents[usize::from(me)].clone();
            let done = self.agents[usize::from(me)].step(happening.clone());
            if done.is_err() {
                assert_eq!(before, self.agents[usize::from(me)], "a refused step changes nothing");
                return done.map(drop);
            }
            *self.ends.entry(*id).or_default() += 1;
            return Ok(());
        }
        match self.agents[usize::from(me)].step(happening)? {
            Duty::Send { id, to } => self.post(Letter::Request { id, to }),
            Duty::Reply { id, .. } | Duty::ReplyThenComplete { id, .. } => {
                self.post(Letter::Answer { id });
            }
            Duty::Nothing | Duty::Answer { .. } | Duty::Complete { .. } | Duty::Tell { .. } => {}
        }
        Ok(())
    }

    /// Mail to it bounces, and so does what it had to answer.
    fn die(&mut self, me: Name) {
        self.alive[usize::from(me)] = false;
        let unanswered: Vec<Id> =
            self.agents[usize::from(me)].unanswered().map(|incoming| incoming.id).collect();
        unanswered.into_iter().for_each(|id| self.post(Letter::Answer { id }));
        self.agents[usize::from(me)] = Conduct::new(me);
    }

    fn dead(&self) -> u8 {
        self.alive.iter().map(|alive| u8::from(!alive)).sum()
    }

    fn is_settled(&self) -> bool {
        self.mail.is_empty() && self.agents.iter().all(|agent| agent.phase() == Phase::Idle)
    }

    /// Every state that may come next.
    fn next(&self, rules: Rules) -> Vec<Team> {
        let mut next = Vec::new();
        let mut after = |change: &dyn Fn(&mut Team) -> bool| {
            let mut team = self.clone();
            if change(&mut team) {
                next.push(team);
            }
        };
        for me in 0..rules.agents {
            let at = usize::from(me);
            if !self.alive[at] {
                continue;
            }
            let agent = &self.agents[at];
            for to in 0..rules.agents {
                if rules.allows(self, me, to) {
                    let id = (me, self.asked[at]);
                    after(&|team| {
                        team.asked[at] += 1;
                        team.act(me, Happening::Ask { id, to }).is_ok()
                    });
                }
            }
            if let Some(outgoing) = agent.outgoing() {
                let id = outgoing.id;
                after(&|team| !outgoing.is_sent && team.act(me, Happening::Sent { id }).is_ok());
                after(&|team| rules.has_deadlines && team.act(me, Happening::Ended { id }).is_ok());
            }
            after(&|team| team.act(me, Happening::TurnEnded).is_ok());
            after(&|team| {
                let may_die = team.dead() < rules.deaths;
                if may_die {
                    team.die(me);
                }
                may_die
            });
        }
        for letter in self.mail.clone() {
            after(&|team| team.deliver(letter, rules));
        }
        next
    }

    fn deliver(&mut self, letter: Letter, rules: Rules) -> bool {
        match letter {
            Letter::Request { id, to } if !self.alive[usize::from(to)] => {
                self.take(letter);
                self.post(Letter::Answer { id });
                true
            }
            Letter::Request { id, to } => {
                let is_waiting = self.agents[usize::from(to)].outgoing().is_some();
                if is_waiting && !rules.waiting_agents_answer {
                    return false;
                }
                let is_taken = self.act(to, Happening::Request { id, from: id.0 }).is_ok();
                if is_taken {
                    self.take(letter);
                }
                is_taken
            }
            Letter::Answer { id } => {
                self.take(letter);
                if self.alive[usize::from(id.0)] {
                    // A late answer is refused and dropped.
                    let _ = self.act(id.0, Happening::Ended { id });
                }
                true
            }
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Walk {
    states: usize,
    /// Nothing can happen any more, and somebody still waits.
    stuck: usize,
    /// A request that ended twice, or not at all though its agent lives.
    miscounted: usize,
    phases: usize,
}

fn walk(rules: Rules) -> Walk {
    let mut seen = HashSet::new();
    let mut open = vec![Team::new(rules)];
    let mut phases = HashSet::new();
    let mut walk = Walk::default();
    while let Some(team) = open.pop() {
        if !seen.insert(team.clone()) {
            continue;
        }
        phases.extend(team.agents.iter().map(Conduct::phase));
        let next = team.next(rules);
        walk.miscounted += usize::from(team.ends.values().any(|ends| *ends > 1));
        if next.is_empty() {
            walk.stuck += usize::from(!team.is_settled());
            let all_ended = (0..rules.agents)
                .filter(|me| team.alive[usize::from(*me)])
                .flat_map(|me| (0..team.asked[usize::from(me)]).map(move |n| (me, n)))
                .all(|id| team.ends.contains_key(&id));
            walk.miscounted += usize::from(!all_ended);
        }
        open.extend(next);
    }
    walk.states = seen.len();
    walk.phases = phases.len();
    walk
}

const TWO: Rules = Rules {
    agents: 2,
    requests: 2,
    deaths: 0,
    has_deadlines: false,
    waiting_agents_answer: true,
    one_order_of_names: false,
};

/// Faults G10 and E07: agents that wait for each other, late and lost answers, in every order.
#[test]
fn no_team_is_ever_stuck_and_every_request_ends_once() {
    let teams = [
        ("two agents, three requests each", Rules { requests: 3, ..TWO }),
        ("two agents, deadlines, deaths", Rules { deaths: 2, has_deadlines: true, ..TWO }),
        ("three agents", Rules { agents: 3, requests: 1, ..TWO }),
        (
            "three agents, deadlines, one death",
            Rules { agents: 3, requests: 1, deaths: 1, has_deadlines: true, ..TWO },
        ),
        ("four agents", Rules { agents: 4, requests: 1, one_order_of_names: true, ..TWO }),
    ];
    for (name, rules) in teams {
        let Walk { states, stuck, miscounted, phases } = walk(rules);
        println!("{name}: {states} states, {stuck} stuck, {miscounted} miscounted");
        assert_eq!((stuck, miscounted, phases), (0, 0, 4), "{name}");
    }
}

#[test]
fn an_agent_that_answers_nothing_while_it_waits_makes_teams_stuck() {
    for agents in 2..=4 {
        let rules = Rules { agents, requests: 1, waiting_agents_answer: false, ..TWO };
        let rules = Rules { one_order_of_names: agents == 4, ..rules };
        let Walk { states, stuck, .. } = walk(rules);
        println!("{agents} agents without the second rule: {stuck} of {states} states stuck");
        assert!(stuck > 0, "{agents}");
    }
}

/// Fault G09. What comes in the wrong state is refused with the reason, and changes nothing.
#[test]
fn what_comes_in_the_wrong_state_changes_nothing() {
    type Agent = Conduct<&'static str, u8>;
    let ask = |id| Happening::Ask { id, to: "eve" };
    let request = |id| Happening::Request { id, from: "bob" };
    let idle: Agent = Conduct::new("ann");
    let after = |steps: &[Happening<&'static str, u8>]| {
        let mut agent = idle.clone();
        for step in steps {
            agent.step(step.clone()).unwrap();
        }
        agent
    };
    let waiting = after(&[ask(1), Happening::Sent { id: 1 }]);
    let answered = after(&[ask(1), Happening::Sent { id: 1 }, Happening::Ended { id: 1 }]);
    let cases = [
        ("an answer without a request", &idle, Happening::Ended { id: 1 }, Breach::NotAsked),
        ("an answer to another one", &waiting, Happening::Ended { id: 2 }, Breach::NotAsked),
        ("a second answer", &answered, Happening::Ended { id: 1 }, Breach::NotAsked),
        ("sent, but never asked", &idle, Happening::Sent { id: 1 }, Breach::NotAsked),
        ("a turn that answers nothing", &idle, Happening::TurnEnded, Breach::NotAnswering),
        ("a second request", &waiting, ask(2), Breach::StillWaiting { on: "eve" }),
        ("a request to itself", &idle, Happening::Ask { id: 1, to: "ann" }, Breach::AskedItself),
        ("a request while it makes one", &after(&[ask(1)]), request(2), Breach::NotNow),
        ("a request while it answers one", &after(&[request(1)]), request(2), Breach::NotNow),
    ];
    for (name, agent, happening, breach) in cases {
        let mut tried = agent.clone();
        assert_eq!(tried.step(happening), Err(breach), "{name}");
        assert_eq!(tried, *agent, "{name}");
    }
}

#[test]
fn a_held_answer_waits_for_the_request_that_it_needs() {
    let mut writer: Conduct<&str, u8> = Conduct::new("writer");
    let mut step = |happening| writer.step(happening);
    assert_eq!(
        step(Happening::Request { id: 1, from: "lead" }),
        Ok(Duty::Answer { id: 1, from: "lead" })
    );
    assert_eq!(
        step(Happening::Ask { id: 2, to: "explorer" }),
        Ok(Duty::Send { id: 2, to: "explorer" })
    );
    assert_eq!(step(Happening::Sent { id: 2 }), Ok(Duty::Nothing));
    assert_eq!(
        step(Happening::Ask { id: 3, to: "lead" }),
        Err(Breach::StillWaiting { on: "explorer" })
    );
    assert_eq!(step(Happening::TurnEnded), Ok(Duty::Nothing), "the answer is held back");
    assert_eq!(
        step(Happening::Request { id: 4, from: "explorer" }),
        Ok(Duty::Answer { id: 4, from: "explorer" })
    );
    assert_eq!(step(Happening::Request { id: 5, from: "lead" }), Err(Breach::NotNow));
    assert_eq!(step(Happening::Ended { id: 2 }), Ok(Duty::Tell { id: 2 }));
    assert_eq!(step(Happening::Ended { id: 2 }), Err(Breach::NotAsked), "a second answer");
    assert_eq!(
        step(Happening::TurnEnded),
        Ok(Duty::ReplyThenComplete { id: 4, to: "explorer", then: 1 })
    );
    assert_eq!(step(Happening::TurnEnded), Ok(Duty::Reply { id: 1, to: "lead" }));
    assert_eq!(step(Happening::TurnEnded), Err(Breach::NotAnswering));
    assert_eq!(writer.phase(), Phase::Idle);
}
