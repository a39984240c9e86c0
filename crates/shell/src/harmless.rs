//! The proof: every command of a script is in the table, with words the table knows.

use crate::options::{self, Named};
use crate::parse::{self, MAX_PLAIN_CHARS};
use crate::proof::{Proof, ReadKind, ReadPath};
use crate::table;
use ostler_core::permission::TouchKind;
use ostler_core::permission::script::*;

/// Tries to prove that running `text` in bash changes nothing.
///
/// Unknown is never harmless. A proof is about effects, not about secrets: `cat /etc/passwd` is harmless, and says
/// in `reads` what it would read.
pub fn prove(text: &str) -> Proof {
    let reading = match parse::read(text) {
        Ok(reading) => reading,
        Err(opaque) => return Proof::Unproved { why: opaque.to_string(), script: None },
    };
    let mut found = Found::default();
    let why = match found.script(&reading.script) {
        Err(why) => why,
        Ok(()) if text.chars().count() > MAX_PLAIN_CHARS => {
            format!("it is longer than {MAX_PLAIN_CHARS} characters")
        }
        Ok(()) if !reading.plain => {
            "it is written in a way that is not plain enough to be sure".into()
        }
        Ok(()) => return Proof::Harmless { reads: found.reads, git: found.git },
    };
    Proof::Unproved { why, script: Some(reading.script) }
}

type Checked = Result<(), String>;

#[derive(Default)]
struct Found {
    reads: Vec<ReadPath>,
    git: bool,
}

impl Found {
    fn script(&mut self, script: &Script) -> Checked {
        if script.items.is_empty() {
            return Err("there is no command in it".into());
        }
        for item in &script.items {
            if item.background {
                return Err("it leaves a command in the background".into());
            }
            self.pipeline(&item.first)?;
            for (_, pipeline) in &item.rest {
                self.pipeline(pipeline)?;
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Checked {
        if pipeline.timed {
            return Err("it measures time".into());
        }
        if pipeline.stages.is_empty() {
            return Err("there is no command in it".into());
        }
        pipeline.stages.iter().try_for_each(|stage| self.stage(stage))
    }

    fn stage(&mut self, stage: &Stage) -> Checked {
        match stage {
            Stage::Simple(command) => self.command(command),
            Stage::Compound {
                body: Compound::Group(script) | Compound::Subshell(script),
                redirects,
            } => {
                self.script(script)?;
                self.redirects(redirects)
            }
            Stage::Compound { body, .. } => {
                Err(format!("{} is not judged yet", compound_name(body)))
            }
        }
    }

    fn command(&mut self, command: &Command) -> Checked {
        if let Some(assignment) = command.assignments.first() {
            return Err(format!("it sets the variable {}", assignment.name));
        }
        self.redirects(&command.redirects)?;
        let Some((first, words)) = command.words.split_first() else {
            return Err("it has a redirection without a program".into());
        };
        let name = options::literal(first)?;
        let (program, words) = match words.split_first() {
            Some((sub, words)) if name == "git" => {
                let sub = options::literal(sub)?;
                (
                    table::git(sub)
                        .ok_or_else(|| format!("git {sub} is not known to only read"))?,
                    words,
                )
            }
            _ => (
                table::program(name).ok_or_else(|| format!("{name} is not known to only read"))?,
                words,
            ),
        };
        self.git |= name == "git";
        for word in words {
            if let Word::Dynamic { .. } = word {
                options::literal(word)?;
            }
        }
        let named =
            options::check(program, words).map_err(|miss| format!("{name}: {}", miss.why))?;
        self.reads.extend(named.into_iter().map(read_path));
        Ok(())
    }

    fn redirects(&mut self, redirects: &[Redirect]) -> Checked {
        redirects.iter().try_for_each(|redirect| self.redirect(redirect))
    }

    fn redirect(&mut self, redirect: &Redirect) -> Checked {
        let target = options::literal(&redirect.target)?;
        // Higher descriptors may belong to whoever started the shell.
        let fine = match redirect.kind {
            RedirectKind::Read | RedirectKind::HereDocument | RedirectKind::HereString => {
                matches!(redirect.fd, None | Some(0))
            }
            RedirectKind::Write | RedirectKind::Append | RedirectKind::Clobber => {
                matches!(redirect.fd, None | Some(1 | 2)) && target == "/dev/null"
            }
            RedirectKind::Both | RedirectKind::BothAppend => target == "/dev/null",
            RedirectKind::DuplicateOutput => match redirect.fd {
                None | Some(1) => matches!(target, "1" | "2"),
                Some(2) => matches!(target, "1" | "2" | "-"),
                Some(_) => false,
            },
            RedirectKind::ReadWrite | RedirectKind::DuplicateInput => false,
        };
        if !fine {
            return Err(format!("it redirects to {target}"));
        }
        if redirect.kind == RedirectKind::Read {
            self.reads.push(read_path(options::readable(target, TouchKind::File)?));
        }
        Ok(())
    }
}

fn read_path(named: Named) -> ReadPath {
    let kind = match named.kind {
        TouchKind::File => ReadKind::File,
        TouchKind::Glob => ReadKind::Glob,
        _ => ReadKind::Tree,
    };
    ReadPath { path: named.path, kind }
}

fn compound_name(compound: &Compound) -> &'static str {
    match compound {
        Compound::Group(_) | Compound::Subshell(_) => "a group",
        Compound::If { .. } => "if",
        Compound::While { until: false, .. } => "while",
        Compound::While { until: true, .. } => "until",
        Compound::For { .. } | Compound::ArithmeticFor { .. } => "for",
        Compound::Case { .. } => "case",
        Compound::Function { .. } => "a function",
        Compound::Coprocess { .. } => "coproc",
        Compound::Test(_) => "[[ ]]",
        Compound::Arithmetic(_) => "(( ))",
    }
}
