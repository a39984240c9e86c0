//! The `budget` part of settings: sums in US dollars that are not exceeded.

use crate::ConfigError;
use crate::located_json::Located;

/// None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Of everything on one calendar day.
    pub day: Option<f64>,
    /// For one working directory, forever.
    pub project: Option<f64>,
    /// Of one agent in one session.
    pub agent: Option<f64>,
}

impl Budget {
    /// The later file wins.
    pub(crate) fn replace(&mut self, later: &Budget) {
        self.day = later.day.or(self.day);
        self.project = later.project.or(self.project);
        self.agent = later.agent.or(self.agent);
    }

    /// The smaller amount wins.
    pub(crate) fn lower(&mut self, other: &Budget) {
        let least = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.day = least(self.day, other.day);
        self.project = least(self.project, other.project);
        self.agent = least(self.agent, other.agent);
    }
}

pub(crate) fn parse(value: Located<'_>) -> Result<Budget, ConfigError> {
    let mut found = Budget::default();
    for (key, value) in value.object("budget")? {
        let place = match key.as_str() {
            "day" => &mut found.day,
            "project" => &mut found.project,
            "agent" => &mut found.agent,
            _ => {
                let known = "use day, project or agent";
                return Err(value.wrong(format!("unknown key \"{key}\" in budget; {known}")));
            }
        };
        *place = if value.is_null() { None } else { Some(amount(value, &key)?) };
    }
    Ok(found)
}

fn amount(value: Located<'_>, key: &str) -> Result<f64, ConfigError> {
    let quoted = value.text(key).is_ok();
    let number = value.scalar().filter(|_| !quoted).and_then(|text| text.parse::<f64>().ok());
    number.filter(|usd| usd.is_finite() && *usd > 0.0).ok_or_else(|| {
        let found = value.found();
        value.wrong(format!("{key} must be an amount in US dollars above 0, such as 5.00; {found}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located_json::Document;
    use std::path::Path;

    fn read(text: &str) -> Result<Budget, ConfigError> {
        parse(Document::root(text, Path::new("f.json"))?)
    }

    #[test]
    fn sums_are_read() {
        let found = read(r#"{"day": 5, "project": 0.25, "agent": null}"#).unwrap();
        assert_eq!(found, Budget { day: Some(5.0), project: Some(0.25), agent: None });
        assert_eq!(read("{}").unwrap(), Budget::default());
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, said) in [
            ("{\n\"dya\": 5}", "f.json:2: unknown key \"dya\" in budget"),
            ("{\"day\": 0}", "f.json:1: day must be an amount"),
            (
                "{\"day\": -1}",
                "f.json:1: day must be an amount in US dollars above 0, such as 5.00; found -1",
            ),
            ("{\"day\": 1e999}", "f.json:1: day must be an amount"),
            ("{\"day\": true}", "f.json:1: day must be an amount"),
            ("{\n\n\"day\": \"5\"}", "f.json:3: day must be an amount"),
            ("5", "f.json:1: budget must be an object"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }

    #[test]
    fn later_files_replace_and_projects_only_lower() {
        let of = |day, project| Budget { day, project, agent: None };
        let mut budget = of(Some(5.0), None);
        budget.lower(&of(Some(9.0), Some(1.0)));
        assert_eq!(budget, of(Some(5.0), Some(1.0)));
        budget.lower(&of(Some(2.0), None));
        assert_eq!(budget, of(Some(2.0), Some(1.0)));
        budget.replace(&of(Some(20.0), None));
        assert_eq!(budget, of(Some(20.0), Some(1.0)));
    }
}
