//! The other parser's tree, written down in the form our reader uses.

use crate::read::mark;
use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Part, IoFileRedirectTarget as Target};
use ostler_policy::script::Opaque;

type ShapeWalk = Result<(), Opaque>;

/// How deep the tree may be.
const MAX_DEPTH: usize = 120;

pub(super) fn of(program: &ast::Program, text: &str) -> Result<String, Opaque> {
    let mut walker = Walker { text, shape: String::new(), bodies: String::new(), depth: 0 };
    for list in &program.complete_commands {
        walker.list(list)?;
    }
    walker.shape.push_str(&walker.bodies);
    Ok(walker.shape)
}

struct Walker<'a> {
    text: &'a str,
    shape: String,
    bodies: String,
    depth: usize,
}

impl Walker<'_> {
    fn operator(&mut self, text: &str) {
        self.shape.push(mark::OPERATOR);
        self.shape.push_str(text);
    }

    fn word(&mut self, text: &str) {
        self.shape.push(mark::WORD);
        self.shape.push_str(text);
    }

    fn list(&mut self, list: &ast::CompoundList) -> ShapeWalk {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Opaque::TooDeep);
        }
        for ast::CompoundListItem(list, separator) in &list.0 {
            self.pipeline(&list.first)?;
            for next in &list.additional {
                match next {
                    ast::AndOr::And(pipeline) => {
                        self.operator("&&");
                        self.pipeline(pipeline)?;
                    }
                    ast::AndOr::Or(pipeline) => {
                        self.operator("||");
                        self.pipeline(pipeline)?;
                    }
                }
            }
            let background = matches!(separator, ast::SeparatorOperator::Async);
            self.operator(if background { "&" } else { ";" });
        }
        self.depth -= 1;
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> ShapeWalk {
        if pipeline.timed.is_some() {
            self.operator("time");
        }
        if pipeline.bang {
            self.operator("!");
        }
        for (index, command) in pipeline.seq.iter().enumerate() {
            if index > 0 {
                self.operator("|");
            }
            self.command(command)?;
        }
        Ok(())
    }

    fn command(&mut self, command: &ast::Command) -> ShapeWalk {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                self.redirects(redirects.as_ref());
            }
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                self.word(&function.fname.value);
                self.operator("()");
                self.compound(body)?;
                self.redirects(redirects.as_ref());
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.operator("[[");
                self.test(&test.expr);
                self.operator("]]");
                self.redirects(redirects.as_ref());
            }
        }
        Ok(())
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) -> ShapeWalk {
        use ast::CompoundCommand as C;
        match compound {
            C::Arithmetic(arithmetic) => {
                // `( ( x ) )` is taken for `((x))`; to bash it is a subshell in a subshell.
                let mut start = self.text.chars().skip(arithmetic.loc.start.index);
                if (start.next(), start.next()) != (Some('('), Some('(')) {
                    return Err(Opaque::Ambiguous("parentheses that are not arithmetic".into()));
                }
                self.expression("((", Some(&arithmetic.expr));
            }
            C::ArithmeticForClause(clause) => {
                self.operator("for");
                self.expression("((", clause.initializer.as_ref());
                self.expression(";", clause.condition.as_ref());
                self.expression(";", clause.updater.as_ref());
                self.wrapped("do", &clause.body.list, "done")?;
            }
            C::BraceGroup(group) => self.wrapped("{", &group.list, "}")?,
            C::Subshell(subshell) => self.wrapped("(", &subshell.list, ")")?,
            C::ForClause(clause) => {
                self.operator("for");
                self.word(&clause.variable_name);
                if let Some(values) = &clause.values {
                    self.operator("in");
                    values.iter().for_each(|value| self.word(&value.value));
                }
                self.wrapped("do", &clause.body.list, "done")?;
            }
            C::CaseClause(clause) => self.case(clause)?,
            C::IfClause(clause) => self.if_clause(clause)?,
            C::WhileClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                self.wrapped("while", condition, "do")?;
                self.list(&body.list)?;
                self.operator("done");
            }
            C::UntilClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                self.wrapped("until", condition, "do")?;
                self.list(&body.list)?;
                self.operator("done");
            }
            C::Coprocess(coprocess) => {
                self.operator("coproc");
                if let Some(name) = &coprocess.name {
                    self.operator(&name.value);
                }
                self.command(&coprocess.body)?;
            }
        }
        Ok(())
    }

    fn wrapped(&mut self, open: &str, list: &ast::CompoundList, close: &str) -> ShapeWalk {
        self.operator(open);
        self.list(list)?;
        self.operator(close);
        Ok(())
    }

    fn expression(&mut self, open: &str, expression: Option<&ast::UnexpandedArithmeticExpr>) {
        let mut text = expression.map(|e| e.value.clone()).unwrap_or_default();
        text.retain(|c| !c.is_ascii_whitespace());
        self.operator(open);
        self.shape.push_str(&text);
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand) -> ShapeWalk {
        self.operator("case");
        self.word(&clause.value.value);
        self.operator("in");
        for item in &clause.cases {
            self.operator("arm");
            item.patterns.iter().for_each(|pattern| self.word(&pattern.value));
            self.operator(")");
            if let Some(body) = &item.cmd {
                self.list(body)?;
            }
            self.operator(match item.post_action {
                ast::CaseItemPostAction::ExitCase => ";;",
                ast::CaseItemPostAction::UnconditionallyExecuteNextCaseItem => ";&",
                ast::CaseItemPostAction::ContinueEvaluatingCases => ";;&",
            });
        }
        self.operator("esac");
        Ok(())
    }

    fn if_clause(&mut self, clause: &ast::IfClauseCommand) -> ShapeWalk {
        self.wrapped("if", &clause.condition, "then")?;
        self.list(&clause.then)?;
        for part in clause.elses.iter().flatten() {
            match &part.condition {
                Some(condition) => self.wrapped("elif", condition, "then")?,
                None => self.operator("else"),
            }
            self.list(&part.body)?;
        }
        self.operator("fi");
        Ok(())
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) {
        use ast::ExtendedTestExpr as T;
        match test {
            T::And(a, b) | T::Or(a, b) => {
                self.test(a);
                self.operator(if matches!(test, T::And(..)) { "&&" } else { "||" });
                self.test(b);
            }
            T::Not(a) => {
                self.operator("!");
                self.test(a);
            }
            T::Parenthesized(a) => {
                self.operator("(");
                self.test(a);
                self.operator(")");
            }
            T::UnaryTest(predicate, a) => {
                self.operator(&predicate.to_string());
                self.word(&a.value);
            }
            T::BinaryTest(predicate, a, b) => {
                self.word(&a.value);
                self.operator(&predicate.to_string());
                self.word(&b.value);
            }
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        simple.prefix.iter().flat_map(|prefix| &prefix.0).for_each(|part| self.part(part));
        if let Some(name) = &simple.word_or_name {
            self.word(&name.value);
        }
        simple.suffix.iter().flat_map(|suffix| &suffix.0).for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::IoRedirect(redirect) => self.redirect(redirect),
            Part::Word(text) => self.word(&text.value),
            Part::AssignmentWord(assignment, text) => match &assignment.value {
                ast::AssignmentValue::Scalar(_) => self.word(&text.value),
                ast::AssignmentValue::Array(elements) => {
                    let append = if assignment.append { "+" } else { "" };
                    self.operator(&format!("{}{append}=(", assignment.name));
                    for (key, value) in elements {
                        match key {
                            Some(key) => self.word(&format!("[{}]={}", key.value, value.value)),
                            None => self.word(&value.value),
                        }
                    }
                    self.operator(")");
                }
            },
            Part::ProcessSubstitution(kind, _) => self.process(kind),
        }
    }

    /// The commands in it are masked, and compared by themselves.
    fn process(&mut self, kind: &ast::ProcessSubstitutionKind) {
        self.word(match kind {
            ast::ProcessSubstitutionKind::Read => "<(x)",
            ast::ProcessSubstitutionKind::Write => ">(x)",
        });
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>) {
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
    }

    fn redirect_sign(&mut self, fd: Option<i32>, sign: &str) {
        self.shape.push(mark::REDIRECT);
        self.shape.push_str(&fd.map(|fd| fd.to_string()).unwrap_or_default());
        self.shape.push_str(sign);
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) {
        match redirect {
            ast::IoRedirect::File(fd, kind, target) => {
                self.redirect_sign(*fd, &kind.to_string());
                match target {
                    Target::Filename(target) | Target::Duplicate(target) => {
                        self.word(&target.value);
                    }
                    Target::Fd(fd) => self.word(&fd.to_string()),
                    Target::ProcessSubstitution(kind, _) => self.process(kind),
                }
            }
            ast::IoRedirect::HereDocument(fd, document) => {
                self.redirect_sign(*fd, if document.remove_tabs { "<<-" } else { "<<" });
                self.word(&document.here_end.value);
                self.bodies.push(mark::DOCUMENT);
                self.bodies.push(if document.requires_expansion { 'x' } else { 'q' });
                self.bodies.push_str(&document.doc.value);
            }
            ast::IoRedirect::HereString(fd, text) => {
                self.redirect_sign(*fd, "<<<");
                self.word(&text.value);
            }
            ast::IoRedirect::OutputAndError(target, append) => {
                self.redirect_sign(None, if *append { "&>>" } else { "&>" });
                self.word(&target.value);
            }
        }
    }
}
