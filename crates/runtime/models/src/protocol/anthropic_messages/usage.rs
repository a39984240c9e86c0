//! Token counts as providers and their gateways report them. A count that cannot be right is left out, never a reason to
//! lose the answer: whoever pays for it charges an estimate instead.

use ostler_core::ledger::Usage;
use serde_json::Value;

/// No window holds more tokens than this, so a larger count is a mistake.
const MOST: u64 = 100_000_000;
/// Counts that are quoted in one complaint.
const QUOTED: usize = 4;

#[derive(Debug, Default)]
pub struct Counter {
    usage: Usage,
    /// The end of the answer said how long it was. The count at its beginning is only a placeholder.
    has_output: bool,
    odd: Vec<String>,
}

impl Counter {
    /// Counts are cumulative; a later event may repeat or correct an earlier one.
    pub fn add(&mut self, reported: Option<&Value>, is_last: bool) {
        let fields = match reported {
            None | Some(Value::Null) => return,
            Some(Value::Object(fields)) => fields,
            Some(other) => return self.complain("usage", other),
        };
        let hour = fields.get("cache_creation").and_then(|of| of.get("ephemeral_1h_input_tokens"));
        let output = self.count("output_tokens", fields.get("output_tokens"));
        self.has_output |= is_last && output.is_some();
        let input = self.count("input_tokens", fields.get("input_tokens"));
        let written = "cache_creation_input_tokens";
        let written = self.count(written, fields.get(written));
        let read = "cache_read_input_tokens";
        let read = self.count(read, fields.get(read));
        let hour = self.count("ephemeral_1h_input_tokens", hour);
        let set = |field: &mut u64, value: Option<u64>| *field = value.unwrap_or(*field);
        set(&mut self.usage.input, input);
        set(&mut self.usage.output, output);
        set(&mut self.usage.cache_write, written);
        set(&mut self.usage.cache_read, read);
        set(&mut self.usage.cache_write_1h, hour);
    }

    pub fn so_far(&self) -> Usage {
        self.usage
    }

    /// Of the whole answer. What was never reported is 0.
    pub fn at_end(&self) -> Usage {
        let output = if self.has_output { self.usage.output } else { 0 };
        Usage { output, ..self.usage }
    }

    /// What was wrong with the counts.
    pub fn complaint(&self) -> Option<String> {
        let odd = self.odd.join(", ");
        (!odd.is_empty()).then(|| {
            format!("the provider reported token counts that cannot be right: {odd}; they are rounded up or replaced by an estimate")
        })
    }

    fn count(&mut self, name: &str, value: Option<&Value>) -> Option<u64> {
        let value = value.filter(|value| !value.is_null())?;
        if let Some(count) = value.as_u64().filter(|count| *count <= MOST) {
            return Some(count);
        }
        self.complain(name, value);
        let fraction = value.as_f64().filter(|count| *count > 0.0 && *count <= MOST as f64);
        fraction.map(|count| count.ceil() as u64)
    }

    fn complain(&mut self, name: &str, value: &Value) {
        let value: String = value.to_string().chars().take(40).collect();
        let odd = format!("{name} is {value}");
        if self.odd.len() < QUOTED && !self.odd.contains(&odd) {
            self.odd.push(odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counted(start: Value, end: Value) -> (Usage, Option<String>) {
        let mut counter = Counter::default();
        counter.add(Some(&start), false);
        counter.add(Some(&end), true);
        (counter.at_end(), counter.complaint())
    }

    #[test]
    fn plain_counts_are_taken_as_they_are() {
        let start = json!({"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": null,
            "cache_creation_input_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 3}});
        let (usage, complaint) = counted(start, json!({"output_tokens": 9}));
        let expected =
            Usage { input: 5, output: 9, cache_write: 7, cache_write_1h: 3, cache_read: 0 };
        assert_eq!((usage, complaint), (expected, None));
    }

    #[test]
    fn impossible_counts_are_left_out_and_named() {
        for odd in [json!(-5), json!(1e300), json!(u64::MAX), json!("12"), json!([1]), json!(true)]
        {
            let (usage, complaint) =
                counted(json!({"input_tokens": 5}), json!({"output_tokens": odd}));
            assert_eq!((usage.input, usage.output), (5, 0), "{odd}");
            let complaint = complaint.unwrap();
            assert!(complaint.contains("output_tokens is "), "{complaint}");
        }
        let (usage, complaint) =
            counted(json!({"input_tokens": 4.5}), json!({"output_tokens": 9.01}));
        assert_eq!((usage.input, usage.output), (5, 10));
        assert!(complaint.unwrap().contains("input_tokens is 4.5"));
        let (usage, complaint) = counted(json!("none"), json!(7));
        assert_eq!(usage, Usage::default());
        assert!(complaint.unwrap().contains("usage is \"none\""));
    }

    /// The beginning of an answer says 1, whatever its length will be.
    #[test]
    fn a_length_that_the_end_did_not_report_is_unknown() {
        let start = json!({"input_tokens": 5, "output_tokens": 1});
        assert_eq!(counted(start, json!({})).0.output, 0);
    }
}
