//! `ostler permissions check --batch`: calls as JSON lines in, verdicts as JSON lines out. Nothing runs.

use crate::args::permissions::CheckArgs;
use crate::commands::question::with_source;
use crate::exit::{Code, Wrong, warn};
use anyhow::Result;
use ostler::{Case, Decision};
use ostler_sdk::escaped;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

/// A longer line is no case.
const MOST: u64 = 4 * 1024 * 1024;

pub fn run(args: &CheckArgs) -> Result<Code> {
    let out = std::io::BufWriter::new(std::io::stdout().lock());
    match &args.file {
        None => answer(std::io::stdin().lock(), out),
        Some(path) => {
            let wrong = |error| Wrong::Usage(format!("{} cannot be read: {error}", path.display()));
            answer(BufReader::new(File::open(path).map_err(wrong)?), out)
        }
    }
}

/// An invalid line is reported by its number; the others are still answered.
fn answer(mut input: impl BufRead, mut out: impl Write) -> Result<Code> {
    let (mut number, mut code) = (0usize, Code::Done);
    loop {
        let mut line = Vec::new();
        number += 1;
        if input.by_ref().take(MOST).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let whole = line.ends_with(b"\n") || u64::try_from(line.len()).is_ok_and(|n| n < MOST);
        let case = match whole {
            true => serde_json::from_slice::<Case>(&line).map_err(|error| error.to_string()),
            false => {
                input.skip_until(b'\n')?;
                Err(format!("longer than {MOST} bytes"))
            }
        };
        match case {
            Ok(case) => {
                writeln!(out, "{}", escaped(&verdict(&case.id, &ostler::check(&case)).to_string()))?
            }
            Err(why) => {
                warn(&format!("line {number} is not a valid case: {why}"));
                code = Code::Usage;
            }
        }
    }
    out.flush()?;
    Ok(code)
}

fn verdict(id: &Value, decision: &Decision) -> Value {
    let reasons: Vec<String> = decision.reasons.iter().map(with_source).collect();
    json!({ "id": id, "decision": decision.verdict, "reasons": reasons })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_answered_or_told() {
        let read = |path: &str| json!({"id": path, "tool": "read", "input": {"path": path}, "rules": "seed"});
        let long = "x".repeat(usize::try_from(MOST).unwrap() + 10);
        let input =
            format!("{}\n\n{{\"tool\": 3}}\n{long}\nnot json\n{}", read("a"), read("/etc/passwd"));
        let mut out = Vec::new();
        let code = answer(input.as_bytes(), &mut out).unwrap();
        assert_eq!(code, Code::Usage);
        let lines: Vec<Value> = String::from_utf8(out)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0]["id"], "a");
        assert_eq!(lines[0]["decision"], "allow");
        assert_eq!(lines[1]["decision"], "ask");
        assert!(lines[1]["reasons"][0].as_str().unwrap().contains("outside"), "{lines:?}");
        assert_eq!(answer(&b""[..], Vec::new()).unwrap(), Code::Done);
    }
}
