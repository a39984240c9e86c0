//! What was expensive: sums by hand.

use crate::support::{PRICE, charged};
use ostler_core::ledger::{ChargeStatus, Purpose, Usage};
use ostler_ledger::{CostReport, LedgerRow, ReportKey};

fn row(id: &str, tool: Option<&str>, model: &str, usage: Usage) -> LedgerRow {
    let cost = (model != "strange").then(|| PRICE.cost(&usage));
    let mut charged = charged(id, 0, usage, cost);
    charged.model = model.into();
    charged.charge.tool = tool.map(str::to_owned);
    LedgerRow { day: "0000".into(), project: "/p".into(), session: "s".into(), charged }
}

fn usage(input: u64, cache_write: u64, cache_read: u64, output: u64) -> Usage {
    Usage { input, output, cache_write, cache_write_1h: 0, cache_read }
}

fn rows() -> Vec<LedgerRow> {
    let mut failed = row("4", None, "m", Usage::default());
    failed.charged.charge.status = ChargeStatus::Failed;
    failed.charged.charge.purpose = Purpose::Retry;
    vec![
        row("1", None, "m", usage(100, 900, 0, 10)),
        row("2", Some("Bash"), "m", usage(0, 1_000, 3_000, 1_000)),
        row("3", Some("Bash"), "m", usage(0, 0, 4_000, 10)),
        failed,
        row("5", Some("Read"), "strange", usage(500, 0, 0, 5)),
    ]
}

fn report(by: ReportKey) -> CostReport {
    let mut builder = CostReport::builder(by);
    rows().iter().for_each(|row| builder.add(row));
    builder.finish()
}

#[test]
fn by_tool_dearest_first() {
    let told = report(ReportKey::Tool);
    let keys: Vec<_> = told.lines.iter().map(|line| (line.key.as_str(), line.requests)).collect();
    assert_eq!(keys, [("Bash", 2), ("(prompt)", 2), ("Read", 1)]);
    let bash = &told.lines[0];
    assert_eq!(bash.usage, usage(0, 1_000, 7_000, 1_010));
    assert_eq!(bash.usage.hit_rate(), Some(0.875));
    let cost = (1_000.0 * 3.75 + 7_000.0 * 0.3 + 1_010.0 * 15.0) / 1e6;
    assert!((bash.cost - cost).abs() < 1e-12);
    let saved = (7_000.0 * 2.7 - 1_000.0 * 0.75) / 1e6;
    assert!((bash.saved - saved).abs() < 1e-12);
    assert_eq!((told.lines[1].failed, told.lines[1].unknown), (1, 0));
}

#[test]
fn unknown_is_said_and_never_zero() {
    let told = report(ReportKey::Model);
    let strange = told.lines.iter().find(|line| line.key == "strange").unwrap();
    assert_eq!((strange.known_cost(), strange.unknown), (None, 1));
    let known = told.lines.iter().find(|line| line.key == "m").unwrap();
    assert_eq!((known.known_cost(), known.unknown), (Some(known.cost), 0));
    assert_eq!(told.unpriced, ["strange"]);
    assert_eq!((told.total.requests, told.total.unknown), (5, 1));
    assert_eq!(told.total.known_cost(), Some(told.total.cost), "what is known of the sum");
}

#[test]
fn every_side_has_the_same_total() {
    let all = [
        ReportKey::Tool,
        ReportKey::Task,
        ReportKey::Agent,
        ReportKey::Model,
        ReportKey::Day,
        ReportKey::Session,
        ReportKey::Project,
        ReportKey::Purpose,
        ReportKey::Request,
    ];
    for by in all {
        let told = report(by);
        assert_eq!(told.total, report(ReportKey::Tool).total, "{by:?}");
        let requests: u64 = told.lines.iter().map(|line| line.requests).sum();
        assert_eq!(requests, 5, "{by:?}");
    }
    assert_eq!(report(ReportKey::Request).lines.len(), 5);
    assert_eq!(report(ReportKey::Purpose).lines.len(), 2);
}
