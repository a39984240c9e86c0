//! A short notation for scripts.

use ostler_policy::script::*;

pub(super) fn show(script: &Script) -> String {
    let item = |item: &Item| {
        let mut text = pipeline(&item.first);
        for (join, next) in &item.rest {
            text += if *join == Join::And { " && " } else { " || " };
            text += &pipeline(next);
        }
        text + if item.background { " &" } else { "" }
    };
    script.items.iter().map(item).collect::<Vec<_>>().join("; ")
}

fn pipeline(pipeline: &Pipeline) -> String {
    let prefix = [(pipeline.timed, "time "), (pipeline.negated, "! ")];
    let prefix: String = prefix.iter().filter(|(on, _)| *on).map(|(_, text)| *text).collect();
    prefix + &pipeline.stages.iter().map(stage).collect::<Vec<_>>().join(" | ")
}

fn stage(stage: &PipelineStage) -> String {
    match stage {
        PipelineStage::Simple(command) => {
            let mut parts: Vec<String> = command.assignments.iter().map(assignment).collect();
            parts.extend(command.words.iter().map(word));
            parts.join(" ") + &redirects(&command.redirects)
        }
        PipelineStage::Compound { body, redirects: list } => compound(body) + &redirects(list),
    }
}

fn compound(body: &Compound) -> String {
    match body {
        Compound::Group(script) => format!("{{{}}}", show(script)),
        Compound::Subshell(script) => format!("({})", show(script)),
        Compound::If { branches, otherwise } => {
            let branch = |(a, b): &(Script, Script)| format!("{} ? {}", show(a), show(b));
            let otherwise = otherwise.iter().map(|b| format!(" : {}", show(b))).collect::<String>();
            format!(
                "if[{}{otherwise}]",
                branches.iter().map(branch).collect::<Vec<_>>().join(" : ")
            )
        }
        Compound::While { until, condition, body } => {
            format!(
                "{}[{} ? {}]",
                if *until { "until" } else { "while" },
                show(condition),
                show(body)
            )
        }
        Compound::For { variable, values, body } => {
            let values = values.as_ref().map_or("@".into(), |values| words(values));
            format!("for[{variable} in {values} : {}]", show(body))
        }
        Compound::ArithmeticFor { header: [a, b, c], body } => {
            format!(
                "for[{} , {} , {} : {}]",
                expression(a),
                expression(b),
                expression(c),
                show(body)
            )
        }
        Compound::Case { value, arms } => {
            let arm = |arm: &Arm| {
                format!(
                    "{} -> {}",
                    words(&arm.patterns),
                    arm.body.as_ref().map(show).unwrap_or_default()
                )
            };
            format!(
                "case[{} : {}]",
                word(value),
                arms.iter().map(arm).collect::<Vec<_>>().join(" , ")
            )
        }
        Compound::Function { name, body, redirects: list } => {
            format!("{name}()={}{}", compound(body), redirects(list))
        }
        Compound::Coprocess { name, body } => {
            format!("coproc[{} {}]", name.as_deref().unwrap_or("-"), stage(body))
        }
        Compound::Test(list) => format!("test[{}]", words(list)),
        Compound::Arithmetic(body) => format!("math[{}]", expression(body)),
    }
}

fn expression(expression: &Expression) -> String {
    let scripts: String =
        expression.scripts.iter().map(|script| format!(" <{}>", show(script))).collect();
    format!("{}{}{scripts}", expression.source, if expression.plain { " plain" } else { "" })
}

fn assignment(assignment: &Assignment) -> String {
    let index =
        assignment.index.as_ref().map(|i| format!("[{}]", expression(i))).unwrap_or_default();
    let sign = if assignment.append { "+=" } else { "=" };
    let value = match &assignment.value {
        Assigned::Scalar(value) => word(value),
        Assigned::Array(list) => {
            let element = |(key, value): &(Option<Word>, Word)| {
                key.as_ref().map(|key| format!("[{}]=", word(key))).unwrap_or_default()
                    + &word(value)
            };
            format!("({})", list.iter().map(element).collect::<Vec<_>>().join(" "))
        }
    };
    format!("{}{index}{sign}{value}", assignment.name)
}

fn redirects(list: &[Redirect]) -> String {
    let one = |r: &Redirect| {
        let fd = r.fd.map(|fd| fd.to_string()).unwrap_or_default();
        format!(" {fd}{:?} {}", r.kind, word(&r.target))
    };
    list.iter().map(one).collect()
}

fn words(words: &[Word]) -> String {
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// `text` is a literal, `*text` a pattern, `<…>` what is not known.
fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) => format!("{text:?}").trim_matches('"').replace(' ', "_"),
        Word::Glob(text) => format!("glob:{text}"),
        Word::Dynamic { why, parts, .. } => {
            format!("<{why:?} {}>", parts.iter().map(part).collect::<Vec<_>>().join(" "))
        }
    }
}

fn part(part: &WordPart) -> String {
    let quote = |quoted: bool| if quoted { "q" } else { "" };
    match part {
        WordPart::Literal(text) => format!("{text:?}"),
        WordPart::Glob(text) => format!("glob:{text}"),
        WordPart::Parameter { name, form, quoted, scripts } => {
            let scripts: String =
                scripts.iter().map(|script| format!(" <{}>", show(script))).collect();
            format!("{}${name}:{form:?}{scripts}", quote(*quoted))
        }
        WordPart::Command { script, quoted } => format!("{}$({})", quote(*quoted), show(script)),
        WordPart::Process(script) => format!("<({})", show(script)),
        WordPart::Arithmetic { expression: body, quoted } => {
            format!("{}$(({}))", quote(*quoted), expression(body))
        }
        WordPart::Tilde(name) => format!("~{name}"),
        WordPart::Other(list) => format!("other[{}]", words(list)),
    }
}
