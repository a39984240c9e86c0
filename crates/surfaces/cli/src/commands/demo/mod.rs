//! `ostler demo`: the ordinary product against a scripted model, in a small broken repository. A short story, with
//! `--long` one that continues until the window was summarized and a later session remembers, and with `--agents` one of
//! several agents at work.

mod agents;
mod books;
mod claims;
mod long;
mod place;
mod short;
mod stage;

use crate::args::DemoArgs;
use crate::exit::Code;
use anyhow::Result;
use ostler_profile::Environment;
use place::Place;
use stage::{Stage, Stopped};

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
    if args.clean {
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
    let place = Place::new(match (args.long, args.agents) {
        (true, _) => long::FILES,
        (_, true) => agents::FILES,
        _ => short::FILES,
    })?;
    if args.long {
        long::journals(&place)?;
    }
    place.commit(init, environment).await?;
    match (args.long, args.agents) {
        (true, _) => long::story(init, environment, &place, stage).await?,
        (_, true) => agents::story(init, environment, &place, stage).await?,
        _ => short::story(init, environment, &place, stage).await?,
    }
    Ok(place)
}
