//! The script file: strict, and every complaint with its line.

use ostler_model_server::{Script, ScriptError};

fn complaint(source: &str) -> ScriptError {
    match Script::from_yaml(source) {
        Ok(script) => panic!("should be refused: {source}\n{script:?}"),
        Err(error) => error,
    }
}

#[test]
fn mistakes_name_their_line() {
    let table: &[(&str, u64, &str)] = &[
        ("steps:\n  - say: hi\n    stauts: 5\n", 3, "stauts"),
        ("stepps: []\n", 1, "stepps"),
        ("model: x\n", 1, "steps"),
        ("steps:\n  - say: hi\n  - say: ho\n    cut: {after: ping, how: explode}\n", 4, "explode"),
        ("steps:\n  - blocks:\n      - {text: a}\n      - {txt: b}\n", 4, "txt"),
        ("steps:\n  - say: hi\n    times: many\n", 3, "invalid u32"),
        ("steps:\n  - say: hi\n    think: {txt: b}\n", 3, "txt"),
        ("steps:\n  - say: hi\n    when: {modell: x}\n", 3, "modell"),
        ("usage: {per_byte: 1}\nsteps: []\n", 1, "per_byte"),
        ("steps:\n  - say: hi\n    say: ho\n", 3, "duplicate mapping key: say"),
        ("steps:\n  - say: [\n", 2, ""),
    ];
    for (source, line, word) in table {
        let error = complaint(source);
        assert_eq!(error.line, Some(*line), "{source}{error}");
        assert!(error.to_string().contains(word), "{source}{error}");
        assert!(error.to_string().starts_with(&format!("script line {line}: ")), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "one line: {error}");
        assert!(!error.message.contains(" at line "), "the place is said once: {error}");
    }
}

#[test]
fn contradictions_name_the_line_of_their_step() {
    let table: &[(&str, u64, &str)] = &[
        ("- times: 2", 2, "the step is empty"),
        ("- say: a\n- say: b\n  status: 500", 3, "the step mixes kinds"),
        ("- say: a\n  times: 2\n  forever: true", 2, "`times` and `forever` exclude each other"),
        ("- say: a\n  times: 0", 2, "`times` must be at least 1"),
        ("- calls: [{tool: A, times: 100001}]", 2, "100001 repeats are more than 100000"),
        ("- say: a\n  blocks: []", 2, "exclude each other"),
        ("- status: 200", 2, "status 200 needs `body` or `json`"),
        ("- status: 700", 2, "status 700 cannot end a request"),
        ("- status: 500\n  body: x\n  json: {}", 2, "`body` and `json` exclude each other"),
        ("- status: 500\n  body: x\n  error: {message: y}", 2, "`error` describes the usual body"),
        (
            "- say: hi\n- say: hi\n  cut: {after: content_block_delta, nth: 2, how: reset}",
            3,
            "step 2: the reply has 1 events `content_block_delta`, so there is no number 2",
        ),
        ("- say: hi\n  cut: {after: ping, nth: 0, how: reset}", 3, "`nth` must be at least 1"),
        (
            "- say: hi\n  cut: {after: ping, how: stall, every_ms: 5}",
            3,
            "`every_ms` belongs to `how: ping`",
        ),
        (
            "- say: hi\n  cut: {after: ping, how: end}\n  error_event: {type: x}",
            2,
            "`error_event` ends the stream",
        ),
        ("- say: hi\n  insert:\n    - {comment: x}", 4, "an inserted part needs `after`"),
        (
            "- blocks:\n    - {text: a}\n    - {text: a, after: ping}",
            4,
            "`after` and `nth` belong to `insert`",
        ),
        ("- blocks:\n    - {text: a}\n    - {text: a, tool: b}", 4, "a part is exactly one of"),
        ("- blocks:\n    - {text: a, input: {}}", 3, "`input` belongs to `tool`"),
        (
            "- blocks:\n    - {tool: a, input: {}, input_raw: x}",
            3,
            "`input` and `input_raw` exclude each other",
        ),
        ("- blocks:\n    - {block: 5}", 2, "`block` must be a map"),
        ("- raw_hex: abc", 2, "`raw_hex` holds pairs of hexadecimal digits"),
        ("- say: hi\n  headers: {x: \"a\\nb\"}", 2, "header `x` cannot be sent"),
    ];
    for (steps, line, what) in table {
        let indented: String = steps.lines().map(|text| format!("  {text}\n")).collect();
        let error = complaint(&format!("steps:\n{indented}"));
        assert!(error.message.contains(what), "{steps}\n{error}");
        assert_eq!(error.line, Some(*line), "{steps}\n{error}");
    }
}

#[test]
fn the_end_is_spelled_in_four_ways() {
    for end in ["error", "repeat_last", "text", "{text: bye}"] {
        Script::from_yaml(&format!("steps: []\non_end: {end}\n")).unwrap();
    }
    assert_eq!(complaint("steps: []\non_end: loop\n").line, Some(2));
    assert_eq!(complaint("steps: []\non_end: {txt: bye}\n").line, Some(2));
}

#[test]
fn json_is_a_subset() {
    let script =
        Script::from_yaml(r#"{"steps": [{"say": "hi", "stop": null}], "on_end": "error"}"#);
    assert_eq!(script.unwrap().steps.len(), 1);
}

#[test]
fn hostile_files_end_in_an_error() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nsteps: [*c,*c]\n";
    complaint(&bomb);
    complaint(&format!("steps: {}", "[".repeat(100_000)));
    complaint("");
    complaint("\u{0}");
}

#[test]
fn the_examples_of_the_manual_load() {
    let manual = include_str!("../../../../../docs/model-server.md");
    let examples: Vec<&str> = manual
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .filter(|example| example.contains("steps:"))
        .collect();
    assert!(examples.len() >= 5, "{}", examples.len());
    for example in examples {
        Script::from_yaml(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}
