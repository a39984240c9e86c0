//! `ostler demo`: the ordinary product against a scripted model, in a small broken repository. A short story, with
//! `--long` one that continues until the window was summarized and a later session remembers, with `--agents` one of
//! several agents at work, with `--team` one of a team, workers and a merge,
//! and with `--all` one of everything in a session that is killed three times.

mod agents;
mod all;
mod all_model;
mod books;
mod claims;
mod long;
mod place;
mod program_runs;
mod short;
mod stage;
mod team;
mod team_model;

use crate::args::DemoArgs;
use crate::exit::Code;
use anyhow::Result;
use ostler_profile::Environment;
use place::Place;
use stage::{Stage, Stopped};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Story {
    Short,
    Long,
    Agents,
    Team,
    All,
}

impl Story {
    fn of(args: &DemoArgs) -> Self {
        match args {
            DemoArgs { long: true, .. } => Story::Long,
            DemoArgs { agents: true, .. } => Story::Agents,
            DemoArgs { team: true, .. } => Story::Team,
            DemoArgs { all: true, .. } => Story::All,
            _ => Story::Short,
        }
    }

    /// The longer ones leave nothing to look at that they have not shown.
    fn is_removed(self) -> bool {
        matches!(self, Story::Team | Story::All)
    }
}

pub fn run(init: &ostler::Init, environment: &Environment, args: &DemoArgs) -> Result<Code> {
    ostler::block_on(async {
        // Signals are heard before there is anything that could be left behind.
        let mut stage = Stage::new(environment)?;
        let shown = show(init, environment, args, &mut stage).await;
        Ok(stage.signals.end(shown).await)
    })?
}

async fn show(
    init: &ostler::Init,
    environment: &Environment,
    args: &DemoArgs,
    stage: &mut Stage,
) -> Result<Code> {
    // What did not end well leaves no directory behind.
    let place = match tell(init, environment, args, stage).await {
        Ok(place) => place,
        Err(error) => match error.downcast_ref::<Stopped>() {
            Some(stopped) => return Ok(stopped.0),
            None => return Err(error),
        },
    };
    if args.clean || (Story::of(args).is_removed() && !args.keep) {
        place.remove()?;
        return Ok(Code::Done);
    }
    stage.tell(&format!("The repository and the sessions are in {}", place.keep().display()))?;
    stage.tell(
        "Delete that directory when you are done; `ostler demo --clean` leaves nothing behind.",
    )?;
    Ok(Code::Done)
}

async fn tell(
    init: &ostler::Init,
    environment: &Environment,
    args: &DemoArgs,
    stage: &mut Stage,
) -> Result<Place> {
    let story = Story::of(args);
    let place = Place::new(match story {
        Story::Short => short::FILES,
        Story::Long => long::FILES,
        Story::Agents => agents::FILES,
        Story::Team => team::FILES,
        Story::All => all::FILES,
    })?;
    if matches!(story, Story::Long | Story::All) {
        long::journals(&place)?;
    }
    place.commit(init, environment).await?;
    match story {
        Story::Short => short::story(init, environment, &place, stage).await?,
        Story::Long => long::story(init, environment, &place, stage).await?,
        Story::Agents => agents::story(init, environment, &place, stage).await?,
        Story::Team => team::story(init, environment, &place, stage).await?,
        Story::All => all::story(init, environment, &place, stage).await?,
    }
    Ok(place)
}
