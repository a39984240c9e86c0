//! `ostler cost`: what was spent, on what, and the state of the budgets.

use crate::args::cost::{CostArgs, Side, Since};
use crate::exit::{Code, warn};
use crate::output::cost::{as_json, requests, table};
use crate::output::paint::Paint;
use anyhow::Result;
use ostler::{Budgets, CostQuery, SessionId, cost_of_session, costs, rebuild_ledger};
use ostler_profile::{Environment, Profile};
use ostler_sdk::escaped;
use std::io::Write;
use std::path::{Path, PathBuf};

pub fn run(environment: &Environment, args: &CostArgs) -> Result<Code> {
    let profile = Profile::load(environment, args.config.flags())?;
    let home = profile.places.ostler_home.clone();
    if args.rebuild {
        let (new, notices) = rebuild_ledger(&home)?;
        notices.iter().for_each(|notice| warn(notice));
        if !args.json {
            let missing =
                requests(new, "was missing and has been added", "were missing and have been added");
            writeln!(std::io::stdout(), "{missing}.")?;
        }
    }
    let Since { words, millis } = &args.since;
    let query = CostQuery {
        home,
        cwd: profile.places.cwd.clone(),
        by: args.by.into(),
        since_ms: millis.map_or(0, |millis| ostler::now_ms().saturating_sub(millis)),
        session: args.session.clone(),
        budgets: profile.budgets(),
    };
    let found = costs(&query)?;
    found.notices.iter().for_each(|notice| warn(notice));
    if let Some(session) = &query.session {
        cost_of_session(&found, &query.home, session)?;
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", escaped(&as_json(&found, args.by, query.since_ms).to_string()))?;
    } else {
        for line in table(&found, args.by, words, Paint::for_output()) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(Code::Done)
}

/// The same for the session that is open.
pub fn of_session(
    home: PathBuf,
    cwd: &Path,
    session: &SessionId,
    budgets: Budgets,
) -> Result<Vec<String>> {
    let query = CostQuery {
        home,
        cwd: cwd.to_owned(),
        by: Side::Tool.into(),
        since_ms: 0,
        session: Some(session.to_string()),
        budgets,
    };
    let found = costs(&query)?;
    let mut lines = found.notices.clone();
    lines.extend(table(&found, Side::Tool, "all", Paint::for_output()));
    Ok(lines)
}
