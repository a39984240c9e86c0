//! Texts and the steps they become.

use super::hand::shown;
use super::steps;

#[test]
fn explore() {
    let rows = include_str!("../../../../fixtures/corpus/permissions.jsonl");
    for row in rows.lines() {
        let case: serde_json::Value = serde_json::from_str(row).unwrap();
        let Some(text) = case["input"]["command"].as_str() else { continue };
        if text.len() > 200 {
            continue;
        }
        let commands = steps(text);
        println!(
            "{} {} {:?}\n      {}   {}",
            case["id"].as_str().unwrap(),
            case["accept"],
            text,
            shown(&commands).join("\n      "),
            commands.doubts.join("; ")
        );
    }
}
