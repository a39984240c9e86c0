//! The arguments of `ostler cost`.

use super::ConfigArgs;
use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub struct CostArgs {
    /// Group requests by this field
    #[arg(long, value_enum, default_value_t = Side::Task, value_name = "FIELD")]
    pub by: Side,
    /// Look back this far: minutes, hours, days or weeks, such as 90m, 12h, 7d, 4w, or "all"
    #[arg(long, default_value = "30d", value_name = "TIME", value_parser = since)]
    pub since: Since,
    /// Show only the session with this id
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// First read all session logs again and add what is missing
    #[arg(long)]
    pub rebuild: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// The tools whose results a request carried to the model
    Tool,
    /// The prompt that the request served
    Task,
    Agent,
    Model,
    Day,
    Session,
    Project,
    /// What a request was for: an answer, a retry, a compaction, …
    Purpose,
    /// Each request on its own
    Request,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::Tool => "tool",
            Side::Task => "task",
            Side::Agent => "agent",
            Side::Model => "model",
            Side::Day => "day",
            Side::Session => "session",
            Side::Project => "project",
            Side::Purpose => "purpose",
            Side::Request => "request",
        }
    }
}

impl From<Side> for ostler::CostBy {
    fn from(side: Side) -> Self {
        match side {
            Side::Tool => ostler::CostBy::Tool,
            Side::Task => ostler::CostBy::Task,
            Side::Agent => ostler::CostBy::Agent,
            Side::Model => ostler::CostBy::Model,
            Side::Day => ostler::CostBy::Day,
            Side::Session => ostler::CostBy::Session,
            Side::Project => ostler::CostBy::Project,
            Side::Purpose => ostler::CostBy::Purpose,
            Side::Request => ostler::CostBy::Request,
        }
    }
}

/// Milliseconds back from now; `None` means everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    pub words: String,
    pub millis: Option<u64>,
}

fn since(text: &str) -> Result<Since, String> {
    let words = text.to_owned();
    if text == "all" {
        return Ok(Since { words, millis: None });
    }
    let unit = match text.chars().last() {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        Some('d') => 86_400_000,
        Some('w') => 7 * 86_400_000,
        _ => 0,
    };
    let number = text.get(..text.len().saturating_sub(1)).and_then(|n| n.parse::<u64>().ok());
    let millis = number.and_then(|n| n.checked_mul(unit)).filter(|millis| *millis > 0);
    let wrong = || "give a time such as 90m, 12h, 7d or 4w, or \"all\"".to_owned();
    Ok(Since { words, millis: Some(millis.ok_or_else(wrong)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_back() {
        let millis = |text: &str| since(text).map(|since| since.millis).map_err(|_| ());
        assert_eq!(millis("7d"), Ok(Some(604_800_000)));
        assert_eq!(millis("90m"), Ok(Some(5_400_000)));
        assert_eq!(millis("2w"), Ok(Some(1_209_600_000)));
        assert_eq!(millis("all"), Ok(None));
        for wrong in ["", "7", "d", "0d", "-1d", "7x", "1.5h", "99999999999999999999d", "é"] {
            assert_eq!(millis(wrong), Err(()), "{wrong}");
        }
    }
}
