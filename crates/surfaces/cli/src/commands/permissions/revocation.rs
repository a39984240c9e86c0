//! `ostler permissions revoke`: an approval of this project is taken back.

use super::print;
use crate::exit::{Code, Wrong, warn};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::config::approvals;
use ostler_profile::{Environment, Flags, find_places};

pub fn revoke(environment: &Environment, rule: &str) -> Result<Code> {
    let places = find_places(environment, &Flags::default())?;
    let wrong = |error: ostler::config::ConfigError| Wrong::Config(error.to_string());
    let shown = visible(rule);
    if approvals::revoke(&places, rule).map_err(wrong)? {
        print(&format!("{shown} was revoked; Ostler asks again in this project.\n"))?;
        return Ok(Code::Done);
    }
    warn(&format!(
        "no approval {shown} in this project; `ostler permissions list` shows all approvals"
    ));
    Ok(Code::Failed)
}
