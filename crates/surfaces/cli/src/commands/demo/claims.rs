//! Compares the claims of the long demo with what happened: in the bytes of the requests, in the results, on disk. A claim
//! that is not true ends the demo.

use super::place::Place;
use super::stage::Turn;
use crate::output::usage::percent;
use anyhow::{Context, Result, bail};
use ostler::{Memory, Receipt, Status, Trigger};
use ostler_model_server::{ModelServer, Recorded};
use std::sync::Arc;

/// What is asked of the summarizer begins so.
const SUMMARISE: &str = "is about to be replaced by a summary that you write now";
/// Measured early, and not in the summary.
const DETAIL: &str = "order 1042 differs: should be 4384, is 4383";
const DECISION: &str = "The discount is rounded once, on the sum of an order, never on a line.";
const WISH: &str = "Always run `bash test.sh` before you say that something works.";
/// A line of AGENTS.md, one of lib/invoice.sh and one of the skill.
const RULE: &str = "Nobody edits them";
const FILE: &str = "sum=$((sum + $(after_discount";
const SKILL: &str = "A fix for an unproven cause is a guess";

fn so(holds: bool, what: &str) -> Result<()> {
    if !holds {
        bail!("the demo failed because this did not happen: {what}");
    }
    Ok(())
}

/// Nothing fails that is not meant to.
fn failures(turn: &Turn, expected: usize) -> Result<()> {
    let failed: Vec<&str> =
        turn.calls.iter().filter(|call| call.failed).map(|call| call.name.as_str()).collect();
    so(failed.len() == expected, &format!("{expected} calls fail, not these: {failed:?}"))
}

pub fn cause_was_found(turn: &Turn, open: usize) -> Result<()> {
    failures(turn, 1)?;
    let failed = turn.result("Bash", "3 of 12 sums are wrong");
    so(failed.is_some_and(|call| call.failed), "the test fails at first")?;
    so(turn.result("Skill", SKILL).is_some(), "the skill's text was loaded")?;
    so(turn.result("Bash", DETAIL).is_some(), "the wrong orders were named")?;
    so(open == 2, "two tasks of the plan are open")
}

/// One summary, and the share of its request that came from the cache, in percent.
pub fn was_summed_up<'a>(
    turn: &'a Turn,
    server: &ModelServer,
    goal: &str,
) -> Result<(&'a Receipt, u64)> {
    failures(turn, 0)?;
    let [receipt] = turn.receipts.as_slice() else {
        bail!("the conversation was summarized {} times, not once", turn.receipts.len());
    };
    so(receipt.trigger == Trigger::Auto, "nobody asked for the summary")?;
    so(receipt.after < receipt.before, "the window is emptier after the summary")?;
    let requests = server.requests();
    let at = requests.iter().position(|one| holds(one, SUMMARISE));
    let at = at.context("no request asked for a summary")?;
    let before = at.checked_sub(1).and_then(|at| requests.get(at));
    so(before.is_some_and(|one| holds(one, DETAIL)), "the detail was in the window before")?;
    let after = requests.get(at + 1).context("nothing was asked after the summary")?;
    for (what, text) in [
        ("goal", goal),
        ("decision", DECISION),
        ("plan", "Name the wrong orders in CHANGES.md"),
        ("rules of AGENTS.md", RULE),
        ("file that is to be fixed", FILE),
    ] {
        so(holds(after, text), &format!("the {what} outlived the summary"))?;
    }
    so(!holds(after, DETAIL), "the detail is left out of the window")?;
    let number = requests.get(at).map(|one| one.number);
    let bill = server.bill();
    let row = bill.rows().find(|row| Some(row.number) == number);
    let billed = row.context("the summary is not on the bill")?.billed;
    so(billed.cache_read > 0, "the summary's request began with what the cache holds")?;
    Ok((receipt, percent(billed.cache_read, billed.prompt())))
}

pub fn was_fixed(turn: &Turn, plan: &ostler::Plan, place: &Place) -> Result<()> {
    failures(turn, 0)?;
    so(turn.receipts.is_empty(), "the window needed one summary")?;
    so(turn.result("Bash", "ok: 12 sums are right").is_some(), "the test passes")?;
    so(turn.result("Recall", DETAIL).is_some(), "Recall found what was left out")?;
    let done = plan.tasks.iter().all(|task| task.status == Status::Completed);
    so(done && plan.tasks.len() == 4, "the plan is done")?;
    let changes = place.read("CHANGES.md")?;
    so(changes.contains("1017, 1042 and 1058"), "CHANGES.md names the orders")?;
    so(place.read("lib/invoice.sh")?.contains("after_discount \"$sum\""), "the file was fixed")
}

pub fn was_kept(kept: &[Memory]) -> Result<()> {
    let has = |text: &str| kept.iter().any(|memory| memory.text == text);
    so(has(WISH), "the preference was saved in memory (is OSTLER_MEMORY off?)")?;
    so(has(DECISION), "the decision was saved in memory")
}

/// The notes that came along with the first prompt of a session, as the model got them.
pub fn notes(requests: &[Arc<Recorded>]) -> Result<Vec<String>> {
    let first = requests.first().context("the second session asked nothing")?;
    let blocks = first.messages().first().and_then(|message| message.get("content")?.as_array());
    let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    let memory = texts.into_iter().find(|text| text.starts_with("<memory>"));
    let memory = memory.context("no memory came along with the second session's prompt")?;
    for (what, text) in [("wish", WISH), ("decision", DECISION)] {
        so(memory.contains(text), &format!("the {what} came back"))?;
    }
    let lines = memory.lines().filter(|line| line.starts_with("- [")).map(str::to_owned);
    Ok(lines.collect())
}

pub fn was_remembered(turn: &Turn) -> Result<()> {
    failures(turn, 0)?;
    so(turn.result("Bash", "ok: 12 sums are right").is_some(), "the test ran without asking")?;
    so(turn.said.contains("rounded once, on the sum"), "the answer uses the decision")
}

fn holds(request: &Recorded, text: &str) -> bool {
    std::str::from_utf8(&request.body).is_ok_and(|body| body.contains(text))
}
