//! `ostler doctor`: what this machine has, each layer of the sandbox tried for real.

use crate::args::{ConfigArgs, DoctorArgs};
use crate::environment::Environment;
use crate::exit::Code;
use crate::output::json_text::escaped;
use crate::output::paint::Paint;
use crate::setup::Setup;
use anyhow::Result;
use ostler::Tested;
use std::io::Write;

pub fn run(init: &ostler::Init, environment: &Environment, args: &DoctorArgs) -> Result<Code> {
    let mut tested = programs();
    tested.push(settings(environment));
    tested.push(credential(environment));
    tested.extend(ostler::block_on(ostler::test_sandbox(init, &std::env::temp_dir()))?);
    let mut out = std::io::stdout().lock();
    let paint = Paint::for_terminal();
    for Tested { name, outcome } in &tested {
        let (found, said) = match outcome {
            Ok(said) => (true, said),
            Err(said) => (false, said),
        };
        if args.json {
            let row = serde_json::json!({"name": name, "ok": found, "detail": said});
            writeln!(out, "{}", escaped(&row.to_string()))?;
        } else {
            let mark = if found { "ok     " } else { "missing" };
            let mark = if found { paint.dim(mark) } else { paint.bold(mark) };
            writeln!(out, "{mark}  {name}: {said}")?;
        }
    }
    let all = tested.iter().all(|tested| tested.outcome.is_ok());
    Ok(if all { Code::Done } else { Code::Failed })
}

/// Programs without which parts do not work.
fn programs() -> Vec<Tested> {
    let find = |name: &str| {
        let places = ["/usr/local/bin", "/usr/bin", "/bin"];
        places.iter().map(|place| std::path::Path::new(place).join(name)).find(|path| path.exists())
    };
    let row = |(name, without): (&str, &str)| Tested {
        name: name.to_owned(),
        outcome: match find(name) {
            Some(path) => Ok(path.display().to_string()),
            None => Err(format!("not found; without it {without}")),
        },
    };
    [("bash", "no command can run"), ("git", "repositories cannot be worked with")].map(row).into()
}

fn settings(environment: &Environment) -> Tested {
    let outcome = match Setup::load(environment, &ConfigArgs::default()) {
        Ok(setup) => match setup.notices().len() {
            0 => Ok("understood".into()),
            count => Ok(format!(
                "understood, with {count} notices; `ostler permissions list` shows them"
            )),
        },
        Err(wrong) => Err(wrong.to_string()),
    };
    Tested { name: "settings".into(), outcome }
}

/// Whether there is one, never what it is.
fn credential(environment: &Environment) -> Tested {
    let outcome = match environment.credentials() {
        Some(found) => Ok(format!("{} is set", found.label)),
        None => Err("set ANTHROPIC_API_KEY; `ostler demo` works without".into()),
    };
    Tested { name: "credential".into(), outcome }
}
