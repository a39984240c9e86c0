//! `ostler doctor`: what this machine has, what is wrong with the set-up, and each layer of the sandbox tried for real.

use crate::args::DoctorArgs;
use crate::exit::{CHOOSE_HOME, Code};
use crate::output::paint::Paint;
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::Provider;
use ostler_profile::{Environment, Flags, Profile};
use ostler_sdk::escaped;
use std::io::Write;
use std::path::{Path, PathBuf};

struct Finding {
    name: String,
    state: State,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    /// Works, and somebody should know.
    Note,
    Missing,
    Broken,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Note => "note",
            State::Missing => "missing",
            State::Broken => "broken",
        }
    }

    fn is_fine(self) -> bool {
        matches!(self, State::Ok | State::Note)
    }
}

fn finding(name: &str, state: State, detail: impl Into<String>) -> Finding {
    Finding { name: name.to_owned(), state, detail: detail.into() }
}

pub fn run(init: &ostler::Init, environment: &Environment, args: &DoctorArgs) -> Result<Code> {
    let mut findings = programs(environment);
    findings.push(home(environment));
    findings.extend(settings(environment));
    findings.push(credential(environment));
    for tested in ostler::block_on(ostler::test_sandbox(init, &std::env::temp_dir()))? {
        findings.push(match tested.outcome {
            Ok(said) => finding(&tested.name, State::Ok, said),
            Err(why) => finding(&tested.name, State::Missing, why),
        });
    }
    let mut out = std::io::stdout().lock();
    let paint = Paint::for_terminal();
    for Finding { name, state, detail } in &findings {
        if args.json {
            let (ok, state) = (state.is_fine(), state.word());
            let row = serde_json::json!({"name": name, "ok": ok, "state": state, "detail": detail});
            writeln!(out, "{}", escaped(&row.to_string()))?;
        } else {
            let word = format!("{:7}", state.word());
            let word = if state.is_fine() { paint.dim(&word) } else { paint.bold(&word) };
            writeln!(out, "{word}  {name}: {}", visible(detail))?;
        }
    }
    let all = findings.iter().all(|finding| finding.state.is_fine());
    Ok(if all { Code::Done } else { Code::Failed })
}

/// Programs without which parts do not work.
fn programs(environment: &Environment) -> Vec<Finding> {
    let path = environment.text("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // The shell of commands is never looked for elsewhere.
    let fixed = ["/bin", "/usr/bin"].map(PathBuf::from).to_vec();
    let row = |(name, places, without): (&str, &[PathBuf], &str)| {
        let found = places.iter().map(|place| place.join(name)).find(|path| is_program(path));
        match found {
            Some(path) => finding(name, State::Ok, path.display().to_string()),
            None => {
                let what = format!("not found; install it (without it, {without})");
                finding(name, State::Missing, what)
            }
        }
    };
    let wanted: [(&str, &[PathBuf], &str); 2] = [
        ("bash", &fixed, "no command can run"),
        ("git", &on_path, "commands cannot use repositories"),
    ];
    wanted.map(row).into()
}

fn is_program(path: &Path) -> bool {
    let executable = rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    path.is_file() && executable
}

/// Where sessions are kept.
fn home(environment: &Environment) -> Finding {
    let home = match environment.state_directory() {
        Ok(home) => home,
        Err(wrong) => return finding("home", State::Broken, wrong.to_string()),
    };
    if let Err(error) = ostler::check_home(&home) {
        let what = error.to_string();
        let what = format!("{}. {CHOOSE_HOME}", what.trim_end_matches('.'));
        return finding("home", State::Broken, what);
    }
    match environment.home() {
        Ok(home) => finding("home", State::Ok, home.display().to_string()),
        Err(wrong) => finding("home", State::Broken, wrong.to_string()),
    }
}

/// Everything that would keep a session from starting, and what it would say at its start.
fn settings(environment: &Environment) -> Vec<Finding> {
    let broken = |what: String| finding("settings", State::Broken, what);
    // A file that cannot be read hides what is wrong with those after it, so each kind is read on its own.
    let mut wrong: Vec<String> = Vec::new();
    for kind in ["user,project,local", "user", "project", "local"] {
        let only = Flags { setting_sources: Some(kind.into()), ..Flags::default() };
        let said = Profile::load(environment, only).err().map(|wrong| wrong.to_string());
        wrong.extend(said.filter(|said| !wrong.contains(said)));
    }
    let mut found: Vec<Finding> = wrong.into_iter().map(broken).collect();
    let Ok(profile) = Profile::load(environment, Flags::default()) else {
        found.extend(numbers(environment));
        return found;
    };
    found.extend(numbers(&profile.environment));
    let nobody = ostler::api_key("none", "none");
    if found.is_empty()
        && let Err(wrong) = profile.options(nobody)
    {
        found.push(broken(wrong.to_string()));
    }
    let notices = profile.notices();
    if found.is_empty() && notices.is_empty() {
        found.push(finding("settings", State::Ok, "understood"));
    }
    found.extend(notices.into_iter().map(|notice| finding("settings", State::Note, notice)));
    found
}

fn numbers(environment: &Environment) -> Vec<Finding> {
    let wrong = environment.wrong_numbers().into_iter();
    wrong.map(|what| finding("environment", State::Broken, what)).collect()
}

/// Whether there is one, never what it is.
fn credential(environment: &Environment) -> Finding {
    let provider = Provider::default();
    match environment.credentials(&provider) {
        Some(found) => finding("credential", State::Ok, format!("{} is set", found.label)),
        None => {
            let variable = provider.credential_names().first().copied().unwrap_or_default();
            let what = format!("set {variable} (`ostler demo` works without it)");
            finding("credential", State::Missing, what)
        }
    }
}
