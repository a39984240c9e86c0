//! Flags, environment and settings of made-up people, and the options that come of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ostler::{ForkPoint, ForkSource, Mode, SessionChoice};
use ostler_profile::{Access, Environment, Flags, Profile, ProfileError};
use std::path::PathBuf;
use std::time::Duration;

struct Person {
    world: tempfile::TempDir,
}

impl Person {
    fn new() -> Self {
        let person = Person { world: tempfile::tempdir().unwrap() };
        for folder in [".ostler", "project/.claude", "project/.git"] {
            std::fs::create_dir_all(person.path(folder)).unwrap();
        }
        person
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn load(&self, variables: &[(&str, &str)], flags: Flags) -> Result<Profile, ProfileError> {
        let home = self.path("").into_os_string();
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment: Environment = variables.chain([("HOME".into(), home)]).collect();
        Profile::load(&environment, Flags { cwd: Some(self.path("project")), ..flags })
    }

    fn options(
        &self,
        variables: &[(&str, &str)],
        flags: Flags,
    ) -> Result<ostler::Options, ProfileError> {
        self.load(variables, flags)?.options(ostler::api_key("key", "test"))
    }
}

fn fork(session: Option<&str>, at: ForkPoint) -> SessionChoice {
    SessionChoice::Fork(ForkSource { session: session.map(str::to_owned), at, name: None })
}

#[test]
fn flags_go_before_variables_and_these_before_settings() {
    let person = Person::new();
    person.write(
        ".ostler/settings.json",
        r#"{"model": "of-settings", "permissions": {"defaultMode": "plan"}, "budget": {"day": 3}}"#,
    );
    let variable = [("ANTHROPIC_MODEL", "of-variable")];
    let flag = || Flags { model: Some("of-flag".into()), ..Flags::default() };
    for (variables, flags, model) in [
        (&[][..], Flags::default(), "of-settings"),
        (&variable, Flags::default(), "of-variable"),
        (&variable, flag(), "of-flag"),
    ] {
        assert_eq!(person.options(variables, flags).unwrap().session.model, model);
    }
    let options = person.options(&[], Flags::default()).unwrap();
    assert_eq!(options.session.mode, Mode::Plan);
    assert_eq!(options.session.cwd, person.path("project"));
    assert_eq!(options.host.home, Some(person.path(".ostler")));
    assert_eq!(options.session.slow_call, Some(Duration::from_secs(5)));
    let flags = Flags {
        mode: Some(Mode::AcceptEdits),
        max_day_budget_usd: Some(5.0),
        no_undo: true,
        no_sandbox: true,
        resume: Some("0196".into()),
        fork: true,
        ..Flags::default()
    };
    let options = person.options(&[("OSTLER_SLOW_CALL_MS", "0")], flags).unwrap();
    assert_eq!(options.session.mode, Mode::AcceptEdits);
    assert_eq!(options.host.budgets.day, Some(3.0));
    assert!(!options.session.undo && !options.session.sandbox.enabled);
    assert_eq!(options.session.log, fork(Some("0196"), ForkPoint::End));
    assert_eq!(options.session.slow_call, None);
    let fork_at = |resume: Option<&str>, at: &str| {
        let (resume, fork_at) = (resume.map(str::to_owned), Some(at.to_owned()));
        let continue_newest = resume.is_none();
        let flags = Flags { resume, continue_newest, fork: true, fork_at, ..Flags::default() };
        person.options(&[], flags).map(|options| options.session.log)
    };
    let (turn, entry) = (ForkPoint::BeforeTurn(2), ForkPoint::AfterEntry(5));
    for (id, text, at) in [(Some("0196"), "2", turn), (None, "entry:5", entry)] {
        assert_eq!(fork_at(id, text).unwrap(), fork(id, at));
    }
}

#[test]
fn settings_limit_agents_where_the_environment_does_not() {
    let person = Person::new();
    person.write(".ostler/settings.json", r#"{"maxAgents": 4, "maxAgentDepth": 0}"#);
    let limits = |variables: &[(&str, &str)]| {
        let session = person.options(variables, Flags::default()).unwrap().session;
        (session.max_agents, session.max_agent_depth)
    };
    assert_eq!(limits(&[]), (4, 0));
    assert_eq!(limits(&[("OSTLER_MAX_AGENTS", "2")]), (2, 0));
    person.write(".ostler/settings.json", r#"{"maxAgentDepth": 17}"#);
    let wrong = person.options(&[], Flags::default()).err().unwrap().to_string();
    assert!(wrong.contains("maxAgentDepth must be a number of levels from 0 to 16"), "{wrong}");
}

#[test]
fn variables_of_settings_count_where_the_environment_says_nothing() {
    let person = Person::new();
    person.write(
        ".ostler/settings.json",
        r#"{"env": {"OSTLER_MAX_RETRIES": "7", "OSTLER_HOME": "/nowhere", "X": "1"}}"#,
    );
    let options = person.options(&[], Flags::default()).unwrap();
    assert_eq!(options.session.settings.retries, 7);
    assert_eq!(options.host.home, Some(person.path(".ostler")));
    let options = person.options(&[("OSTLER_MAX_RETRIES", "2")], Flags::default()).unwrap();
    assert_eq!(options.session.settings.retries, 2);
    let seen = |name: &str| options.session.environment.iter().any(|(known, _)| known == name);
    assert!(seen("X"), "commands see what settings set for them");
}

#[test]
fn fast_mode_is_a_variant_of_the_model() {
    let person = Person::new();
    let model = |name: &str, fast: bool| {
        let flags = Flags { model: Some(name.into()), fast, ..Flags::default() };
        person.options(&[], flags).map(|options| options.session.model)
    };
    assert_eq!(model("opus", true).unwrap(), "claude-opus-4-8-fast");
    assert_eq!(model("claude-opus-5-fast", true).unwrap(), "claude-opus-5-fast");
    assert!(matches!(model("haiku", true), Err(ProfileError::Usage(_))));
    assert_eq!(model("opus", false).unwrap(), "opus");
    person.write(".ostler/settings.json", r#"{"fastMode": true}"#);
    assert_eq!(model("opus", false).unwrap(), "claude-opus-4-8-fast");
    assert_eq!(model("haiku", false).unwrap(), "haiku", "a setting is for all models");
    let notices = |name: &str| {
        let flags = Flags { model: Some(name.into()), ..Flags::default() };
        person.load(&[], flags).unwrap().notices()
    };
    assert_eq!(notices("opus"), [] as [&str; 0]);
    let said = notices("haiku");
    assert!(matches!(&said[..], [one] if one.starts_with("fastMode is ignored: the model haiku")));
}

#[test]
fn what_must_be_decided_comes_back_as_data() {
    let person = Person::new();
    let settings = r#"{"permissions": {"defaultMode": "acceptEdits"}}"#;
    person.write("project/.claude/settings.json", settings);
    let profile = person.load(&[], Flags::default()).unwrap();
    let untrusted = profile.untrusted().expect("the project wants a mode");
    assert_eq!(untrusted.files.len(), 1);
    assert!(profile.news().iter().any(|line| line.contains("ostler permissions trust")));
    let key = || ostler::api_key("key", "test");
    assert_eq!(profile.options(key()).unwrap().session.mode, Mode::Default);
    let profile = profile.trust().unwrap();
    assert!(profile.untrusted().is_none());
    assert_eq!(profile.options(key()).unwrap().session.mode, Mode::AcceptEdits);

    match profile.access().unwrap() {
        Access::Missing(provider) => assert!(!provider.credential_names().is_empty()),
        Access::Given(_) => panic!("there is no credential"),
    }
    let variable = ostler::Provider::default().credential_names()[0].to_owned();
    let profile = person.load(&[(variable.as_str(), "k")], Flags::default()).unwrap();
    assert!(matches!(profile.access().unwrap(), Access::Given(_)));
}

#[test]
fn every_mistake_has_its_kind() {
    let person = Person::new();
    let flags = |change: fn(&mut Flags)| {
        let mut flags = Flags::default();
        change(&mut flags);
        flags
    };
    for flags in [
        flags(|flags| flags.fork = true),
        flags(|flags| flags.fork_at = Some("1".into())),
        flags(|flags| {
            (flags.continue_newest, flags.fork) = (true, true);
            flags.fork_at = Some("last".into());
        }),
        flags(|flags| flags.session_id = Some("x".into())),
        flags(|flags| flags.model = Some(" ".into())),
        flags(|flags| flags.fallback_model = Some("a,b".into())),
        flags(|flags| flags.setting_sources = Some("all".into())),
    ] {
        let wrong = person.options(&[], flags.clone()).err();
        assert!(matches!(wrong, Some(ProfileError::Usage(_))), "{flags:?}: {wrong:?}");
    }
    for variable in [("OSTLER_HOME", "relative"), ("OSTLER_COMPACT_PERCENT", "500")] {
        let wrong = person.options(&[variable], Flags::default()).err();
        assert!(matches!(wrong, Some(ProfileError::Config(_))), "{variable:?}: {wrong:?}");
    }
    person.write(".ostler/prices.toml", "not prices");
    let wrong = person.options(&[], Flags::default()).err();
    assert!(matches!(&wrong, Some(ProfileError::Config(what)) if what.contains("prices.toml:")));
}
