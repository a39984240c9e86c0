use super::*;
use ostler::{CostReport, Forecast};

fn line(key: &str, requests: u64, cost: f64, unknown: u64, usage: Usage) -> CostLine {
    CostLine { key: key.into(), requests, cost, unknown, usage, ..CostLine::default() }
}

fn costs() -> Costs {
    let usage = Usage { input: 100, output: 2_000, cache_read: 900, ..Usage::default() };
    let lines = vec![
        line("Bash", 3, 0.5, 0, usage),
        line("\u{1b}[31mred", 1, 0.0, 1, Usage { input: 5, ..Usage::default() }),
    ];
    let total = CostLine { saved: 0.00243, ..line("", 4, 0.5, 1, usage) };
    let report = CostReport { lines, total, unpriced: vec!["odd".into()] };
    let sum = ostler::Sum { limit: 5.0, spent: 3.0, reserved: 0.25 };
    let lasts = Some(Duration::from_secs(5_400));
    let forecast = Forecast { usd_per_hour: 1.0, lasts };
    let standings = vec![BudgetStatus { what: "day".into(), sum, forecast }];
    Costs { report, rows: Vec::new(), standings, notices: Vec::new() }
}

#[test]
fn the_table_says_what_was_expensive_and_what_is_unknown() {
    let shown = table(&costs(), Side::Tool, "7d", Paint::none());
    let expected = [
        "tool      requests  fresh  written  cached   hit  output    saved                 cost",
        "Bash             3    100        0     900  90 %   2 000  $0.0000              $0.5000",
        "total            4    100        0     900  90 %   2 000  $0.0024  $0.5000 + 1 unknown",
        "In the last 7d. 900 tokens came from the cache (90 %); it saved $0.0024.",
        "budget day: $3.0000 of $5.00 spent, $0.2500 reserved; $1.0000/h in the last hour, so it runs out in 90 min",
    ];
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for (nth, expected) in [0, 1, 3, 4, 6].into_iter().zip(expected) {
        assert_eq!(words(&shown[nth]), words(expected));
    }
    assert!(shown[2].ends_with("unknown") && !shown[2].contains('\u{1b}'), "{}", shown[2]);
    assert!(shown[5].contains("No price is known for odd"), "{}", shown[5]);
    let widths: Vec<_> = shown[..4].iter().map(|line| line.chars().count()).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
}

#[test]
fn only_what_happened_is_said() {
    let said = |change: fn(&mut CostLine)| {
        let mut costs = costs();
        costs.report.unpriced.clear();
        change(&mut costs.report.total);
        notes(&costs, "all").split_off(1)
    };
    assert_eq!(said(|_| {}), [] as [&str; 0]);
    assert_eq!(said(|total| total.failed = 1), ["1 request failed and cost nothing."]);
    let cancelled =
        "2 requests were cancelled before the answer began; the provider reported no cost.";
    assert_eq!(said(|total| total.cancelled = 2), [cancelled]);
    assert_eq!(said(|total| total.dropped = 2), ["2 requests broke off."]);
    let lost = "2 requests of processes that died are counted at the reserved amount, $0.1300.";
    assert_eq!(said(|total| (total.lost, total.lost_cost) = (2, 0.13)), [lost]);
    for (amount, shown) in [(-0.0, "$0.0000"), (-0.000_01, "$0.0000"), (-0.5, "-$0.5000")] {
        assert_eq!(dollars(amount), shown);
    }
}

#[test]
fn json_has_null_for_what_is_unknown() {
    let told = as_json(&costs(), Side::Tool, 7);
    assert_eq!(told["lines"][0]["cost_usd"], 0.5);
    assert_eq!(told["lines"][1]["cost_usd"], Value::Null);
    assert_eq!(told["lines"][1]["unknown_cost_requests"], 1);
    assert_eq!(told["budgets"][0]["lasts_seconds"], 5_400);
    assert_eq!(told["unpriced_models"][0], "odd");
}

#[test]
fn nothing_spent_says_so_and_still_shows_the_budgets() {
    let nothing = Costs { report: CostReport::default(), ..costs() };
    let shown = table(&nothing, Side::Tool, "7d", Paint::none());
    assert_eq!(shown[0], "Nothing was spent in this time.");
    assert!(shown[1].starts_with("budget day"));
}
