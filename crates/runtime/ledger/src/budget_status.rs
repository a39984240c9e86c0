//! How budgets stand: spent, reserved, and when they end at the present pace.

use crate::db::Db;
use crate::error::Error;
use crate::reserve::{Owner, SharedLimits, expire, scopes, sum};
use crate::row::signed;
use ostler_core::ledger::{Forecast, Sum, forecast};
use ostler_core::time::Timestamp;
use rusqlite::params;

const HOUR_MS: u64 = 3_600_000;

#[derive(Clone, Debug, PartialEq)]
pub struct BudgetStatus {
    /// `day`, `project` or `agent`.
    pub what: String,
    pub sum: Sum,
    pub forecast: Forecast,
}

impl Db {
    /// How the sums of this owner stand. `today` is the day of `now`.
    ///
    /// # Errors
    /// If the file cannot be read and written.
    pub fn standings(
        &mut self,
        limits: &SharedLimits,
        owner: &Owner,
        agent: &str,
        today: &str,
        now: Timestamp,
    ) -> Result<Vec<BudgetStatus>, Error> {
        let scopes = scopes(limits, owner, agent, today);
        self.change(|tx| {
            expire(tx, now)?;
            let mut found = Vec::new();
            for scope in &scopes {
                let sum = sum(tx, scope)?;
                let what = scope.name.split(':').next().unwrap_or_default().to_owned();
                let (project, session) = match what.as_str() {
                    "project" => (Some(&owner.project), None),
                    "agent" => (None, Some(&owner.session)),
                    _ => (None, None),
                };
                let sql = "SELECT at, cost FROM requests WHERE at >= ?1 AND cost IS NOT NULL
                    AND (?2 IS NULL OR project = ?2) AND (?3 IS NULL OR session = ?3 AND agent = ?4)";
                let since = signed(now.0.saturating_sub(HOUR_MS));
                let spends: Vec<(Timestamp, f64)> = tx
                    .prepare_cached(sql)?
                    .query_map(params![since, project, session, agent], |row| {
                        let at = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0);
                        Ok((Timestamp(at), row.get(1)?))
                    })?
                    .collect::<rusqlite::Result<_>>()?;
                let left = sum.limit - sum.spent - sum.reserved;
                found.push(BudgetStatus { what, sum, forecast: forecast(&spends, now, left) });
            }
            Ok(found)
        })
    }
}
