//! `ostler demo`: the ordinary product against a scripted model, in a small broken repository. A short story, and with
//! `--long` one that goes on until the window was summed up and a later session remembers.

mod books;
mod claims;
mod long;
mod place;
mod short;
mod stage;

use crate::args::DemoArgs;
use crate::environment::Environment;
use crate::exit::Code;
use crate::output::paint::Paint;
use crate::output::screen::Screen;
use anyhow::Result;
use place::Place;
use stage::{Stage, Stopped};

pub fn run(init: &ostler::Init, environment: &Environment, args: &DemoArgs) -> Result<Code> {
    let told = ostler::block_on(tell(init, environment, args))?;
    // What did not end well leaves no folder behind.
    let place = match told {
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
    let line = format!("The repository and the sessions are in {}", place.keep().display());
    Screen::new().line(&Paint::for_terminal().dim(&line))?;
    Ok(Code::Done)
}

/// Signals are heard before there is anything that could be left behind.
async fn tell(init: &ostler::Init, environment: &Environment, args: &DemoArgs) -> Result<Place> {
    let mut stage = Stage::new(environment)?;
    let place = Place::new(if args.long { long::FILES } else { short::FILES })?;
    if args.long {
        long::journals(&place)?;
    }
    place.commit(init, environment).await?;
    match args.long {
        true => long::story(init, environment, &place, &mut stage).await?,
        false => short::story(init, environment, &place, &mut stage).await?,
    }
    Ok(place)
}
