//! Lists, and-or chains, pipelines.

use super::{ReadText, ScriptReader};
use ostler_policy::script::*;

impl ScriptReader<'_> {
    /// Commands up to what cannot start one. The caller says whether that is where it should end.
    pub(super) fn list(&mut self) -> ReadText<Script> {
        let mut items = Vec::new();
        loop {
            self.lines()?;
            if self.at_list_end()? {
                break;
            }
            let (first, rest) = self.chain()?;
            self.blanks();
            let mut background = false;
            let mut more = true;
            match (self.byte(0), self.byte(1)) {
                (Some(b';'), Some(b';' | b'&')) => more = false,
                (Some(b';'), _) => self.take_operator(1)?,
                (Some(b'&'), next) if next != Some(b'&') => {
                    self.take_operator(1)?;
                    background = true;
                }
                (Some(b'\n'), _) => self.line_end()?,
                _ => more = false,
            }
            self.operator(if background { "&" } else { ";" });
            items.push(Item { first, rest, background });
            if !more {
                break;
            }
        }
        Ok(Script { items })
    }

    /// A list that must hold a command.
    pub(super) fn some_list(&mut self) -> ReadText<Script> {
        let script = self.list()?;
        if script.items.is_empty() { Err(self.unexpected()) } else { Ok(script) }
    }

    fn chain(&mut self) -> ReadText<(Pipeline, Vec<(Join, Pipeline)>)> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let join = match (self.byte(0), self.byte(1)) {
                (Some(b'&'), Some(b'&')) => Join::And,
                (Some(b'|'), Some(b'|')) => Join::Or,
                _ => return Ok((first, rest)),
            };
            self.take_operator(2)?;
            self.operator(if join == Join::And { "&&" } else { "||" });
            self.lines()?;
            rest.push((join, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> ReadText<Pipeline> {
        let mut pipeline = Pipeline { negated: false, timed: false, stages: Vec::new() };
        loop {
            self.blanks();
            match self.reserved()? {
                Some("!") => {
                    pipeline.negated = !pipeline.negated;
                    self.at += 1;
                    self.operator("!");
                }
                Some("time") => {
                    pipeline.timed = true;
                    self.at += 4;
                    self.operator("time");
                    self.time_options();
                }
                _ => break,
            }
        }
        let prefixed = pipeline.negated || pipeline.timed;
        if prefixed && matches!(self.byte(0), None | Some(b';' | b'\n')) {
            return Ok(pipeline);
        }
        loop {
            let mut stage = self.stage()?;
            self.blanks();
            let both = match (self.byte(0), self.byte(1)) {
                (Some(b'|'), Some(b'|')) => false,
                (Some(b'|'), Some(b'&')) => true,
                (Some(b'|'), _) => {
                    pipeline.stages.push(stage);
                    self.take_operator(1)?;
                    self.operator("|");
                    self.lines()?;
                    continue;
                }
                _ => false,
            };
            if !both {
                pipeline.stages.push(stage);
                return Ok(pipeline);
            }
            self.take_operator(2)?;
            self.note_redirect(Some(2), ">&", "1");
            self.operator("|");
            let joined = Redirect {
                fd: Some(2),
                kind: RedirectKind::DuplicateOutput,
                target: Word::Literal("1".into()),
            };
            match &mut stage {
                PipelineStage::Simple(command) => command.redirects.push(joined),
                PipelineStage::Compound { redirects, .. } => redirects.push(joined),
            }
            pipeline.stages.push(stage);
            self.lines()?;
        }
    }

    fn time_options(&mut self) {
        for option in ["-p", "--"] {
            self.blanks();
            if self.bare_word() == option {
                self.at += 2;
            }
        }
        self.blanks();
    }
}
