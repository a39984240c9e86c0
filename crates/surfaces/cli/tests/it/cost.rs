//! The ledger as the program keeps it: `ostler cost`, budgets across runs, prices of one's own.

use crate::support::{World, signal, until, wait};
use ostler_model_server::{Script, after, calls, text};
use serde_json::{Value, json};

fn cost(world: &World, args: &[&str]) -> Value {
    let mut all = vec!["cost", "--json"];
    all.extend(args);
    let ran = world.run(&all);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn sum(line: &Value) -> [u64; 4] {
    ["input", "cache_write", "cache_read", "output"].map(|name| line[name].as_u64().unwrap())
}

#[test]
fn the_program_says_what_the_server_billed() {
    let script = Script::new()
        .status(529)
        .answer(calls([("Bash", json!({"command": "cat big.txt"}))]))
        .answer(text("half").cut(after("content_block_delta").close()))
        .answer(text("done"))
        .answer(text("again"));
    let world = World::new(script);
    world.file("big.txt", &"many words\n".repeat(2_000));
    let run = |prompt: &str| world.run(&["-p", prompt, "--allowedTools", "Bash(cat:*)"]);
    assert_eq!(run("first").code, Some(0));
    assert_eq!(run("second").code, Some(0));
    let bill = world.server.bill();
    let expected = {
        let total = bill.total();
        [total.input, total.cache_write_5m + total.cache_write_1h, total.cache_read, total.output]
    };
    for side in ["tool", "task", "agent", "model", "day", "session", "project", "purpose"] {
        let told = cost(&world, &["--by", side]);
        assert_eq!(sum(&told["total"]), expected, "{side}");
        let lines = told["lines"].as_array().unwrap();
        let requests: u64 = lines.iter().map(|line| line["requests"].as_u64().unwrap()).sum();
        assert_eq!(requests, 5, "{side}");
        let usd = told["total"]["cost_usd"].as_f64().unwrap();
        assert!((usd - bill.cost().unwrap()).abs() < 1e-12, "{side}");
    }
    let tools = cost(&world, &["--by", "tool"]);
    let of = |name: &str| {
        let lines = tools["lines"].as_array().unwrap();
        lines.iter().find(|line| line["key"] == name).unwrap()["requests"].clone()
    };
    assert_eq!((of("Bash"), of("(prompt)")), (json!(2), json!(3)));
    let tasks = cost(&world, &["--by", "task"]);
    let keys: Vec<_> =
        tasks["lines"].as_array().unwrap().iter().map(|l| l["key"].clone()).collect();
    assert_eq!(keys, [json!("first"), json!("second")], "dearest first");
    let shown = world.run(&["cost", "--by", "tool"]).stdout;
    assert!(
        shown.starts_with("tool") && shown.contains("Bash") && shown.contains("total"),
        "{shown}"
    );
    rebuilt(&world, expected);
}

/// The ledger is an index: without it everything is still in the logs.
fn rebuilt(world: &World, expected: [u64; 4]) {
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(world.home().join(name));
    }
    let before = cost(world, &[]);
    assert_eq!(sum(&before["total"]), expected, "a new one is built from the logs");
    let after = cost(world, &["--rebuild", "--by", "request"]);
    assert_eq!(sum(&after["total"]), expected);
    assert_eq!(after["lines"].as_array().unwrap().len(), 5);
    let again = cost(world, &["--rebuild"]);
    assert_eq!(again["total"]["requests"], 5, "nothing is counted twice");
}

#[test]
fn a_budget_of_the_day_holds_over_runs_and_is_shown() {
    let world = World::new(Script::new().answer(text("a".repeat(2_000))).forever());
    // An answer of 500 tokens is 0.0075 dollars, and the smallest request needs more than half of that.
    let settings = r#"{"budget": {"day": 0.03}}"#;
    let run = || world.run(&["-p", "go", "--settings", settings, "--tools", ""]);
    let mut ran = Vec::new();
    for _ in 0..10 {
        let one = run();
        ran.push(one.code);
        if one.code != Some(0) {
            assert!(one.stderr.contains("the budget of the day, $0.03"), "{}", one.stderr);
            break;
        }
    }
    assert!((2..=5).contains(&ran.len()), "{ran:?}");
    assert_eq!(ran.last(), Some(&Some(5)));
    assert!(world.server.bill().cost().unwrap() <= 0.03);
    let told = cost(&world, &["--settings", settings]);
    let day = &told["budgets"][0];
    assert_eq!((&day["budget"], &day["limit_usd"]), (&json!("day"), &json!(0.03)));
    assert!(
        (day["spent_usd"].as_f64().unwrap() - world.server.bill().cost().unwrap()).abs() < 1e-9
    );
    assert_eq!(day["reserved_usd"], 0.0, "nothing is left behind");
    assert!(day["lasts_seconds"].is_u64(), "{day}");
}

#[test]
fn an_unknown_model_is_said_and_a_price_of_ones_own_counts() {
    let world = World::new(Script::new().answer(text("ok")).forever());
    let run = |more: &[&str]| {
        let mut args = vec!["-p", "go", "--model", "my-own"];
        args.extend(more);
        world.run(&args)
    };
    assert_eq!(run(&[]).code, Some(0));
    let told = cost(&world, &["--by", "model"]);
    assert_eq!(
        (&told["total"]["cost_usd"], &told["unpriced_models"]),
        (&Value::Null, &json!(["my-own"]))
    );
    assert!(world.run(&["cost"]).stdout.contains("No price is known for my-own"));
    let refused = run(&["--settings", r#"{"budget": {"day": 1}}"#]);
    assert!(
        refused.code != Some(0) && refused.stderr.contains("prices.toml"),
        "{}",
        refused.stderr
    );
    std::fs::write(world.home().join("prices.toml"), "[my-own]\ninput = 3\noutput = 15\n").unwrap();
    assert_eq!(run(&["--settings", r#"{"budget": {"day": 1}}"#]).code, Some(0));
    let told = cost(&world, &["--by", "model"]);
    assert_eq!(told["total"]["unknown_cost_requests"], 1);
    assert!(told["total"]["cost_usd"].as_f64().unwrap() > 0.0);
    std::fs::write(world.home().join("prices.toml"), "[my-own]\ninput = 3\nprize = 15\n").unwrap();
    let wrong = run(&[]);
    assert!(wrong.code == Some(3) && wrong.stderr.contains("prices.toml:"), "{}", wrong.stderr);
}

/// The log had the request, the ledger had not, when the process died: the next look finds it.
#[test]
fn what_a_dead_process_did_not_write_is_found_in_its_log() {
    let world = World::new(Script::new().answer(text("ok").due_at("hold")));
    // The third write is the one of what was spent.
    let mut command = world.command(&["-p", "go"]);
    let mut child = command.env("OSTLER_CRASH_AT_WRITE", "3").spawn().unwrap();
    wait(world.server.gate("hold").reached()).unwrap();
    let path = world.home().join("ledger.db");
    until("the session is marked", || {
        let marked = ostler_ledger::Db::open(&path).and_then(|db| db.unsettled());
        marked.is_ok_and(|sessions| sessions.len() == 1)
    });
    world.server.gate("hold").release();
    assert!(!child.wait().unwrap().success());
    let bill = world.server.bill().total();
    let told = cost(&world, &[]);
    assert_eq!(told["total"]["requests"], 1);
    assert_eq!(told["total"]["input"], bill.input);
    assert_eq!(told["total"]["output"], bill.output);
}

/// Whatever happens to the file, money that was spent stays spent.
#[test]
fn a_ledger_that_is_gone_or_damaged_forgets_nothing() {
    let world = World::new(Script::new().answer(text("a".repeat(2_000))).forever());
    let run = |more: &[&str]| world.run(&[&["-p", "go", "--tools", ""], more].concat());
    assert_eq!(run(&[]).code, Some(0));
    let spent = world.server.bill().cost().unwrap();
    let budget = format!("{:.4}", spent + 0.001);
    let path = world.home().join("ledger.db");
    let remove = || {
        for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
            let _ = std::fs::remove_file(world.home().join(name));
        }
    };
    for garbage in [false, true] {
        remove();
        if garbage {
            std::fs::write(&path, "garbage\n").unwrap();
        }
        let refused = run(&["--max-day-budget-usd", &budget]);
        assert_eq!(refused.code, Some(5), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("${spent:.4} is spent")), "{}", refused.stderr);
        assert_eq!(refused.stderr.contains("ledger.db.broken-1"), garbage, "{}", refused.stderr);
    }
    remove();
    std::fs::write(&path, "garbage\n").unwrap();
    let told = world.run(&["cost"]);
    assert!(told.stderr.contains("ledger.db.broken-2"), "{}", told.stderr);
    assert!(told.stdout.contains(&format!("${spent:.4}")), "{}", told.stdout);
    remove();
    std::fs::create_dir(&path).unwrap();
    let free = run(&[]);
    assert_eq!(free.code, Some(0), "{}", free.stderr);
    assert!(free.stderr.contains("This request is not in the ledger yet:"), "{}", free.stderr);
    let refused = run(&["--max-day-budget-usd", "5"]);
    assert!(refused.stderr.contains("the budget cannot be checked"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("Raise the budget"), "{}", refused.stderr);
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(cost(&world, &[])["total"]["requests"], 2);
    let unknown = world.run(&["cost", "--session", "zzzz"]);
    assert!(unknown.code != Some(0) && unknown.stderr.contains("zzzz"), "{}", unknown.stderr);
}

/// Killed with a request on its way: what it might cost stays reserved, for a while.
#[test]
fn a_killed_run_leaves_its_reservation() {
    let world = World::new(Script::new().answer(text("ok").due_at("hold")));
    let settings = r#"{"budget": {"day": 1.0, "project": 2.0}}"#;
    let mut child = world.command(&["-p", "go", "--settings", settings]).spawn().unwrap();
    wait(world.server.gate("hold").reached()).unwrap();
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let told = cost(&world, &["--settings", settings]);
    let reserved = |n: usize| told["budgets"][n]["reserved_usd"].as_f64().unwrap();
    assert!(reserved(0) > 0.12 && reserved(0) == reserved(1), "{told}");
    assert_eq!(told["budgets"][0]["spent_usd"], 0.0);
}

/// After a turn each budget says how far it continues; of two sums for the day the smaller counts.
#[test]
fn a_turn_says_how_its_budgets_stand() {
    let world = World::new(Script::new().answer(text("a".repeat(400))).forever());
    let run = |more: &[&str]| {
        let mut args = vec!["-p", "go", "--tools", ""];
        args.extend(more);
        world.run(&args)
    };
    let both = ["--max-budget-usd", "1", "--max-day-budget-usd", "0.5"];
    let json = run(&[&both[..], &["--output-format", "json"]].concat());
    let result: Value = serde_json::from_str(&json.stdout).unwrap();
    let cost = world.server.bill().cost().unwrap();
    for (n, (what, limit)) in [("run", 1.0), ("day", 0.5)].into_iter().enumerate() {
        let told = &result["budgets"][n];
        assert_eq!((&told["budget"], &told["limit_usd"]), (&json!(what), &json!(limit)));
        assert!((told["spent_usd"].as_f64().unwrap() - cost).abs() < 1e-9, "{told}");
        assert_eq!(told["reserved_usd"], 0.0, "the request is settled: {told}");
        let more = ((limit - cost) / cost + 1e-6).floor() as u64;
        assert!(more > 1 && told["requests_left"] == json!(more), "{told}: {more}");
    }
    let shown = run(&both).stderr;
    assert!(shown.contains("budget of the run: $0.0"), "{shown}");
    let day =
        format!("budget of the day: ${:.4} of $0.50 · about ", world.server.bill().cost().unwrap());
    assert!(shown.contains(&day) && shown.contains("more requests like the last ones"), "{shown}");
    assert!(!run(&[]).stderr.contains("budget"), "without one nothing is said");
    let settings = r#"{"budget": {"day": 0.4}}"#;
    for (flag, limit) in [("0.5", "$0.40"), ("0.3", "$0.30")] {
        let shown = run(&["--settings", settings, "--max-day-budget-usd", flag]).stderr;
        assert!(shown.contains(&format!("of {limit} ·")), "{flag}: {shown}");
    }
    assert_eq!(run(&["--max-day-budget-usd", "0"]).code, Some(2));
}

/// What a run changes of the prompt that the run before left in the cache is named, also after a summary; what continues it
/// raises nothing.
#[test]
fn the_cache_alarm_works_from_run_to_run() {
    let world = World::new(Script::new().answer(text("an answer of some words")).forever());
    let long = "many words ".repeat(2_000);
    let alarms = |args: &[&str]| {
        let mut all = vec!["-p", &long, "--output-format", "stream-json"];
        all.extend(args);
        let ran = world.run(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let lines: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let texts = lines.iter().filter_map(|line| line["content"].as_str().map(str::to_owned));
        texts.filter(|text| text.starts_with("the prompt cache returned")).collect::<Vec<_>>()
    };
    assert_eq!(alarms(&[]), [] as [&str; 0]);
    assert_eq!(alarms(&["--continue"]), [] as [&str; 0]);
    let other = ["--continue", "--append-system-prompt", "Be brief."];
    let told = alarms(&other);
    assert!(told.len() == 1 && told[0].contains("of the system prompt changed"), "{told:?}");
    assert_eq!(alarms(&other), [] as [&str; 0], "the same again is no change");
    let ran = world.run(&["-p", "/compact", "--continue"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(alarms(&other), [] as [&str; 0], "made room on purpose");
    let told = alarms(&["--continue", "--append-system-prompt", "Be brief.", "--tools", "Read"]);
    assert!(told.len() == 1 && told[0].contains("the tools changed"), "{told:?}");
    world.assert_never_rejected();
}
