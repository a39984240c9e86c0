//! The line at the end: what it took.

use super::cost;
pub use ostler::thousands;
use ostler::{Finished, Left, Usage, dollars};

pub fn line(finished: &Finished) -> String {
    let usage = &finished.usage;
    let mut parts = vec![
        format!("{} in, {} out", thousands(usage.prompt()), thousands(usage.output)),
        cache(usage),
        match finished.cost {
            Some(cost) => cost::dollars(cost),
            None => "cost unknown".to_owned(),
        },
        format!("{:.1} s model time", finished.api_time_ms as f64 / 1000.0),
    ];
    parts.retain(|part| !part.is_empty());
    format!("tokens: {}", parts.join(" · "))
}

/// How each budget stands, and how far it continues.
pub fn budgets(finished: &Finished) -> impl Iterator<Item = String> + '_ {
    finished.budgets.iter().map(|Left { what, sum, requests }| {
        let (spent, limit) = (cost::dollars(sum.spent), dollars(sum.limit));
        let so_far = format!("budget of the {what}: {spent} of {limit}");
        match requests {
            None => so_far,
            Some(0) => format!("{so_far} · not enough for another request like the last ones"),
            Some(1) => format!("{so_far} · about 1 more request like the last ones"),
            Some(more) => {
                format!("{so_far} · about {} more requests like the last ones", thousands(*more))
            }
        }
    })
}

/// How much of what was sent came from the provider's cache.
fn cache(usage: &Usage) -> String {
    match usage.prompt() {
        0 => String::new(),
        all => format!("{} % from cache", percent(usage.cache_read, all)),
    }
}

/// To the nearest whole one, as in the table of costs.
pub fn percent(part: u64, all: u64) -> u64 {
    (part as f64 * 100.0 / all.max(1) as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_are_grouped() {
        let shown: Vec<_> =
            [0, 7, 999, 1000, 12_345, 1_234_567].into_iter().map(thousands).collect();
        assert_eq!(shown, ["0", "7", "999", "1 000", "12 345", "1 234 567"]);
    }
}
