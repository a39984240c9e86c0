//! Every number that the environment may set, and its range. What lies outside of it is an error, never bent into it:
//! whoever wrote 500 where 100 is the most meant something else.

pub struct Number {
    pub name: &'static str,
    least: u64,
    most: u64,
    /// Zero is meant to switch something off, although the range begins higher.
    or_zero: bool,
    /// Digits behind a point are understood, too.
    fractions: bool,
}

const fn number(name: &'static str, least: u64, most: u64) -> Number {
    Number { name, least, most, or_zero: false, fractions: false }
}

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const TOKENS: u64 = 1_000_000_000;
/// The provider takes no smaller budget for thinking.
const LEAST_THINKING: u64 = 1024;

pub const MAX_RETRIES: Number = number("OSTLER_MAX_RETRIES", 0, 100);
pub const CLAUDE_MAX_RETRIES: Number = number("CLAUDE_CODE_MAX_RETRIES", 0, 100);
pub const RETRY_WAIT: Number = number("OSTLER_RETRY_WAIT_MS", 0, HOUR);
pub const STREAM_BACKOFF: Number = number("OSTLER_STREAM_BACKOFF_MS", 0, HOUR);
pub const CONNECT_TIMEOUT: Number = number("OSTLER_CONNECT_TIMEOUT_MS", 1, HOUR);
pub const FIRST_BYTE_TIMEOUT: Number = number("OSTLER_FIRST_BYTE_TIMEOUT_MS", 1, HOUR);
pub const IDLE_TIMEOUT: Number = number("OSTLER_IDLE_TIMEOUT_MS", 1, HOUR);
pub const MAX_OUTPUT: Number = number("OSTLER_MAX_OUTPUT_TOKENS", 1, TOKENS);
pub const CLAUDE_MAX_OUTPUT: Number = number("CLAUDE_CODE_MAX_OUTPUT_TOKENS", 1, TOKENS);
pub const MAX_THINKING: Number =
    Number { or_zero: true, ..number("OSTLER_MAX_THINKING_TOKENS", LEAST_THINKING, TOKENS) };
pub const CLAUDE_MAX_THINKING: Number =
    Number { or_zero: true, ..number("MAX_THINKING_TOKENS", LEAST_THINKING, TOKENS) };
pub const MAX_PARALLEL_CALLS: Number = number("OSTLER_MAX_PARALLEL_CALLS", 1, 256);
pub const MAX_AGENTS: Number = number("OSTLER_MAX_AGENTS", 1, 1000);
pub const MAX_AGENT_DEPTH: Number = number("OSTLER_MAX_AGENT_DEPTH", 0, 16);
pub const SLOW_CALL: Number = number("OSTLER_SLOW_CALL_MS", 0, DAY);
pub const CONTEXT_WINDOW: Number = number("OSTLER_CONTEXT_WINDOW", 1000, TOKENS);
pub const COMPACT_AT: Number = number("OSTLER_COMPACT_AT", 1, TOKENS);
pub const COMPACT_PERCENT: Number = number("OSTLER_COMPACT_PERCENT", 1, 100);
pub const TASK_BUDGET: Number = number("OSTLER_TASK_BUDGET", 1, TOKENS);
/// Zero changes nothing, as in Claude Code.
pub const CLAUDE_WINDOW: Number = number("CLAUDE_CODE_AUTO_COMPACT_WINDOW", 0, TOKENS);
pub const CLAUDE_PERCENT: Number =
    Number { fractions: true, ..number("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", 0, 100) };

pub const ALL: [&Number; 21] = [
    &MAX_RETRIES,
    &CLAUDE_MAX_RETRIES,
    &RETRY_WAIT,
    &STREAM_BACKOFF,
    &CONNECT_TIMEOUT,
    &FIRST_BYTE_TIMEOUT,
    &IDLE_TIMEOUT,
    &MAX_OUTPUT,
    &CLAUDE_MAX_OUTPUT,
    &MAX_THINKING,
    &CLAUDE_MAX_THINKING,
    &MAX_PARALLEL_CALLS,
    &MAX_AGENTS,
    &MAX_AGENT_DEPTH,
    &SLOW_CALL,
    &CONTEXT_WINDOW,
    &COMPACT_AT,
    &COMPACT_PERCENT,
    &TASK_BUDGET,
    &CLAUDE_WINDOW,
    &CLAUDE_PERCENT,
];

impl Number {
    /// # Errors
    /// In one line: the name, the value and what is allowed.
    pub fn parse<T: TryFrom<u64>>(&self, text: &str) -> Result<T, String> {
        let whole = text.trim_start_matches('+').parse::<u64>().ok();
        let fraction = || text.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = match (whole, fraction()) {
            (Some(whole), _) => whole,
            // Below one it would become nothing.
            (None, Some(number)) if self.fractions && number >= 0.0 => number.ceil() as u64,
            (None, Some(number)) if number.fract() == 0.0 => {
                return Err(self.wrong(text, "is out of range"));
            }
            (None, Some(_)) => return Err(self.wrong(text, "is not a whole number")),
            (None, None) => return Err(self.wrong(text, "is not a number")),
        };
        let fits = (self.least..=self.most).contains(&number) || (self.or_zero && number == 0);
        let number = T::try_from(number).ok().filter(|_| fits);
        number.ok_or_else(|| self.wrong(text, "is out of range"))
    }

    fn wrong(&self, text: &str, why: &str) -> String {
        format!("{}={text} {why}: set it to {}, or unset it", self.name, self.range())
    }

    fn range(&self) -> String {
        let zero = if self.or_zero { "0, or " } else { "" };
        format!("{zero}{} to {}", self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_takes_its_range_and_nothing_else() {
        for number in ALL {
            let Number { name, least, most, or_zero, fractions } = number;
            assert_eq!(number.parse(&least.to_string()), Ok(*least), "{name}");
            assert_eq!(number.parse(&most.to_string()), Ok(*most), "{name}");
            let mut wrong = vec!["-1".to_owned(), (most + 1).to_string(), "9".repeat(40)];
            wrong.extend(
                ["", "ten", "1e", "NaN", "inf", "0x10", "1 000", "1_000"].map(str::to_owned),
            );
            if !fractions {
                wrong.push("50.5".into());
            }
            if *least > 0 && !or_zero {
                wrong.push((least - 1).to_string());
            }
            for text in wrong {
                let said = number.parse::<u64>(&text).unwrap_err();
                assert!(said.starts_with(&format!("{name}={text} is ")), "{said}");
                assert!(said.contains(&format!("{least} to {most}")), "{said}");
            }
            assert_eq!(number.parse::<u64>("0").is_ok(), *or_zero || *least == 0, "{name}");
        }
        let mut names: Vec<&str> = ALL.iter().map(|number| number.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn the_documented_ranges_are_these() {
        let page = include_str!("../../../../docs/getting-started.md");
        let is_row = |line: &&str| line.starts_with("| `") && line.contains(" to ");
        let rows: Vec<&str> = page.lines().filter(is_row).collect();
        let expected = ALL.map(|number| format!("| `{}` | {} |", number.name, number.range()));
        assert_eq!(rows, expected);
    }

    #[test]
    fn the_message_says_what_is_wrong() {
        for (number, text, said) in [
            (
                &COMPACT_PERCENT,
                "500",
                "OSTLER_COMPACT_PERCENT=500 is out of range: set it to 1 to 100, or unset it",
            ),
            (
                &MAX_OUTPUT,
                "1.5",
                "OSTLER_MAX_OUTPUT_TOKENS=1.5 is not a whole number: set it to 1 to 1000000000, or unset it",
            ),
            (
                &MAX_RETRIES,
                "ten",
                "OSTLER_MAX_RETRIES=ten is not a number: set it to 0 to 100, or unset it",
            ),
            (
                &MAX_THINKING,
                "12",
                "OSTLER_MAX_THINKING_TOKENS=12 is out of range: set it to 0, or 1024 to 1000000000, or unset it",
            ),
        ] {
            assert_eq!(number.parse::<u64>(text).unwrap_err(), said);
        }
        assert_eq!(CLAUDE_PERCENT.parse("99.5"), Ok(100u64));
        assert_eq!(CLAUDE_PERCENT.parse("0.4"), Ok(1u64));
    }
}
