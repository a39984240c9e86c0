//! Redirections: which files and hosts the shell itself opens for a step.

use super::destruction;
use super::walk::StepWalk;
use crate::options::{self, HOME};
use ostler_policy::script::{Redirect, RedirectKind, Word, WordPart};
use ostler_policy::{Act, Effect, Touch, TouchKind};

impl StepWalk {
    pub(super) fn redirects(&mut self, index: usize, redirects: &[Redirect]) {
        for redirect in redirects {
            self.descend(std::slice::from_ref(&redirect.target), index);
            for variant in self.bindings.variants(std::slice::from_ref(&redirect.target)) {
                let Some(target) = variant.first() else { continue };
                match (&redirect.target, target) {
                    // A pipe from what is a step of its own.
                    (Word::Dynamic { parts, .. }, _) if is_pipe(redirect, parts) => {}
                    // A loop over a pattern: one file at a time.
                    (Word::Dynamic { .. }, Word::Glob(pattern)) => {
                        self.each(index, redirect, pattern)
                    }
                    _ => self.redirect(index, redirect, target),
                }
            }
        }
    }

    /// Reads a file that a pattern has matched.
    fn each(&mut self, index: usize, redirect: &Redirect, pattern: &str) {
        let own = redirect.kind == RedirectKind::Read && matches!(redirect.fd, None | Some(0));
        match options::glob(pattern).ok().filter(|_| own) {
            Some(named) => self.change(index, |step| {
                step.touches.push(super::judge::touch(Act::Read)(named));
                if step.effect == Effect::Nothing {
                    step.effect = Effect::Reads;
                }
            }),
            None => self.unknown(index, format!("it redirects to {pattern}"), None),
        }
    }

    fn redirect(&mut self, index: usize, redirect: &Redirect, target: &Word) {
        use RedirectKind as Kind;
        let own = |low: &[u32]| redirect.fd.is_none_or(|fd| low.contains(&fd));
        match redirect.kind {
            Kind::HereDocument | Kind::HereString => {}
            Kind::DuplicateInput | Kind::DuplicateOutput => match target.literal() {
                Some("0" | "1" | "2" | "-") if own(&[0, 1, 2]) => {}
                Some(text) if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                    self.unknown(index, format!("it uses the descriptor {text}"), None);
                }
                _ if redirect.kind == Kind::DuplicateOutput => self.file(index, target, true),
                _ => self.unknown(index, "it redirects to what is not known", None),
            },
            Kind::Read => self.file(index, target, false),
            Kind::Write
            | Kind::Append
            | Kind::Clobber
            | Kind::ReadWrite
            | Kind::Both
            | Kind::BothAppend => self.file(index, target, true),
        }
    }

    fn file(&mut self, index: usize, target: &Word, writes: bool) {
        let (path, kind) = match target {
            Word::Literal(path) => (path.as_str(), TouchKind::File),
            Word::Glob(pattern) => (pattern.as_str(), TouchKind::Glob),
            Word::Dynamic { source, .. } => {
                let source = super::words::shown(source);
                return self.unknown(index, format!("it redirects to {source}"), None);
            }
        };
        let standard =
            ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"];
        if standard.contains(&path) {
            return;
        }
        let network = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"));
        if let Some(host) = network.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()) {
            self.unknown(index, format!("it connects to {host}"), None);
            return self.change(index, |step| step.hosts.push(host));
        }
        if writes && destruction::is_disk(path) {
            let why = format!("it writes to the disk {path} itself");
            return self.change(index, |step| {
                step.transparent = false;
                step.effect = Effect::Ruin(why);
            });
        }
        if kind == TouchKind::Glob || options::is_special(path) && !path.starts_with(HOME) {
            self.unknown(index, format!("it redirects to {path}"), None);
        }
        let act = if writes { Act::Redirect } else { Act::Read };
        self.change(index, |step| {
            let touch = Touch::new(act, options::written(path), kind);
            step.touches.push(Touch { redirected: true, ..touch });
            let becomes = if writes { Effect::Writes } else { Effect::Reads };
            match step.effect {
                Effect::Reads if writes => step.effect = becomes,
                Effect::Nothing => {
                    step.transparent &= !writes;
                    step.effect = becomes;
                }
                _ => {}
            }
        });
    }
}

/// `< <(…)`
fn is_pipe(redirect: &Redirect, parts: &[WordPart]) -> bool {
    redirect.kind == RedirectKind::Read
        && matches!(redirect.fd, None | Some(0))
        && matches!(parts, [WordPart::Process(_)])
}
