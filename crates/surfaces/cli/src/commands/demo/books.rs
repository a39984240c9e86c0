//! The end of the long story: who fills the window, what was spent, and whether the server's bill says the same.

use super::super::local;
use super::place::Place;
use super::stage::Stage;
use crate::args::cost::Side;
use crate::output::cost::{dollars, table};
use crate::output::usage::thousands;
use anyhow::{Result, bail};
use ostler::{Budgets, CostQuery, Costs, Options, SessionId, costs};
use ostler_model_server::Bill;

pub fn window(
    init: &ostler::Init,
    stage: &mut Stage,
    options: &Options,
    session: &SessionId,
) -> Result<()> {
    let host = ostler::Host::open(init, options.host.clone())?;
    let options = options.session.clone();
    let report = ostler::context_report(&host, options, Some(session.as_str()))?;
    local::table(&report).iter().try_for_each(|line| stage.screen.line(line))
}

pub fn spent(stage: &mut Stage, place: &Place, bill: &Bill) -> Result<()> {
    let by = |side: Side| {
        costs(&CostQuery {
            home: place.home(),
            cwd: place.project.clone(),
            by: side.into(),
            since_ms: 0,
            session: None,
            budgets: Budgets::default(),
        })
    };
    let purposes = by(Side::Purpose)?;
    let lines = table(&purposes, Side::Purpose, "all", stage.paint);
    // The head, the lines, the total; the notes come with the next table.
    let most = purposes.report.lines.len() + 2;
    lines.iter().take(most).try_for_each(|line| stage.screen.line(line))?;
    stage.screen.line("")?;
    let tools = by(Side::Tool)?;
    let lines = table(&tools, Side::Tool, "all", stage.paint);
    lines.iter().try_for_each(|line| stage.screen.line(line))?;
    stage.tell(&balance(&tools, bill)?)
}

/// Our sum beside the server's, to the token.
fn balance(costs: &Costs, bill: &Bill) -> Result<String> {
    let (ours, theirs) = (&costs.report.total, bill.total());
    let written = theirs.cache_write_5m + theirs.cache_write_1h;
    let requests = bill.rows().count() as u64;
    let usage = &ours.usage;
    let left = [ours.requests, usage.input, usage.cache_write, usage.cache_read, usage.output];
    let right = [requests, theirs.input, written, theirs.cache_read, theirs.output];
    let (Some(cost), Some(billed)) = (ours.known_cost(), bill.cost()) else {
        bail!("a request has no price");
    };
    if left != right || (cost - billed).abs() > 1e-9 {
        bail!(
            "the ledger and the server's bill differ: requests, fresh, written, cached, output are {left:?} here and {right:?} there, {} and {}",
            dollars(cost),
            dollars(billed)
        );
    }
    if ours.saved <= 0.0 {
        bail!("the cache saved nothing");
    }
    Ok(format!(
        "The server's own bill: {requests} requests, {} tokens in, {} out, {}. The ledger says the same, to the token. \
         Without the cache: {}.",
        thousands(theirs.prompt()),
        thousands(theirs.output),
        dollars(billed),
        dollars(cost + ours.saved),
    ))
}
