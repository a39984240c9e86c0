//! The allow rules that people write most often, each with plausible calls: what they allow where the sandbox holds and undo
//! keeps, as a table in `docs/permissions.md`.

use crate::{backed, named, workspace};
use ostler::{Mode, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

#[derive(Deserialize)]
struct Common {
    rule: String,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    input: Value,
}

impl Call {
    /// The command, or what the tool is given first.
    fn shown(&self) -> String {
        let text = |name: &str| self.input.get(name).and_then(Value::as_str);
        let fields = ["command", "file_path", "path", "url", "query", "pattern"];
        let text = fields.iter().find_map(|name| text(name)).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let more = if first.len() < text.trim_end().len() { " …" } else { "" };
        match self.tool.as_str() {
            "Bash" => format!("`{}{more}`", first.replace('|', "\\|")),
            tool => format!("{tool} `{first}`"),
        }
    }
}

#[test]
fn common_rules_and_what_they_allow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let fixture = std::fs::read_to_string(root.join("fixtures/corpus/common-rules.jsonl")).unwrap();
    let mut table = "| rule | call | answer | why |\n|---|---|---|---|\n".to_owned();
    let (mut rules, mut calls, mut allowed) = (0, 0, 0);
    for line in fixture.lines() {
        let common: Common = serde_json::from_str(line).unwrap();
        rules += 1;
        for call in &common.calls {
            let set = json!({ "allow": [common.rule] });
            let policy = ostler::rule_set(&set, &workspace()).unwrap();
            let decision = backed(&call.tool, &call.input, &policy, Mode::Default);
            calls += 1;
            allowed += usize::from(decision.verdict == Verdict::Allow);
            let (rule, shown) = (common.rule.replace('|', "\\|"), call.shown());
            let answer = match decision.verdict {
                Verdict::Allow => "allowed",
                Verdict::Ask => "asks",
                Verdict::Deny => "denied",
            };
            assert!(["allow", "ask", "deny"].contains(&named(decision.verdict)));
            let why = decision.why().replace('|', "\\|").replace('\n', " ");
            let _ = writeln!(table, "| `{rule}` | {shown} | {answer} | {why} |");
        }
    }
    let asks = calls - allowed;
    let _ = writeln!(table, "\n{rules} rules, {calls} calls: {allowed} allowed, {asks} ask.");
    println!("{table}");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("common-rules.md");
    std::fs::write(&made, &table).unwrap();
    let docs = std::fs::read_to_string(root.join("docs/permissions.md")).unwrap();
    let made = made.display();
    assert!(docs.contains(&table), "docs/permissions.md should hold the table in {made}");
}
