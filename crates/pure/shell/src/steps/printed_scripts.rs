//! Texts that a shell is given by what another command prints: `cat <<E | bash`, `bash <(echo …)`, `eval "$(echo …)"`.
//! Such a shell stays a doubt. What the text shows of its commands is looked at all the same, so that rules against them
//! hold.

use super::walk::StepWalk;
use ostler_policy::script::*;

/// What the stage prints, as far as that is known, in every way it could be meant.
pub(super) fn by_stage(stage: &PipelineStage) -> Vec<String> {
    let PipelineStage::Simple(Command { words, redirects, .. }) = stage else { return Vec::new() };
    let Some(name) = words.first().and_then(Word::literal) else { return Vec::new() };
    let literal: Vec<&str> = words.iter().skip(1).map_while(Word::literal).collect();
    match name.rsplit('/').next().unwrap_or(name) {
        "cat" | "tee" | "head" | "tail" => redirects.iter().filter_map(document).collect(),
        "echo" => {
            let is_option = |word: &&str| matches!(*word, "-n" | "-e" | "-E" | "-ne" | "-en");
            let text: Vec<&str> = literal.into_iter().skip_while(is_option).collect();
            vec![unescaped(&text.join(" "))]
        }
        "printf" => match literal.split_first() {
            Some((format, values)) => vec![
                unescaped(format),
                unescaped(&values.join("\n")),
                unescaped(&format.replace("%s", &values.join(" "))),
            ],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What a stage hands on of what it is given.
pub(super) fn handed_on(stage: &PipelineStage, given: Vec<String>) -> Vec<String> {
    let printed = by_stage(stage);
    let name = match stage {
        PipelineStage::Simple(command) => command.words.first().and_then(Word::literal),
        PipelineStage::Compound { .. } => None,
    };
    match name {
        Some("cat" | "tee" | "head" | "tail" | "sort") if printed.is_empty() => given,
        _ => printed,
    }
}

fn by_script(script: &Script) -> Vec<String> {
    let pipelines = script.items.iter().map(|item| &item.first);
    pipelines.filter_map(|pipeline| pipeline.stages.first()).flat_map(by_stage).collect()
}

/// What the substitutions in a word print.
pub(super) fn by_word(word: &Word) -> Vec<String> {
    let Word::Dynamic { parts, .. } = word else { return Vec::new() };
    let script = |part: &WordPart| match part {
        WordPart::Command { script, .. } | WordPart::Process(script) => by_script(script),
        _ => Vec::new(),
    };
    parts.iter().flat_map(script).collect()
}

fn document(redirect: &Redirect) -> Option<String> {
    let given = matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString);
    redirect.target.literal().filter(|_| given).map(str::to_owned)
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

impl StepWalk {
    /// The step may run these texts.
    pub(super) fn may_run(&mut self, index: usize, texts: &[String]) {
        for text in texts.iter().filter(|text| !text.trim().is_empty()) {
            self.apart(|walk| {
                walk.past += 1;
                walk.text(index, text);
                walk.past -= 1;
            });
        }
    }

    /// `$(echo rm) f`: what the program may be called, with the words behind it.
    pub(super) fn may_start(&mut self, index: usize, words: &[Word]) {
        let Some((first, rest)) = words.split_first() else { return };
        let rest: Vec<&str> = rest.iter().map_while(Word::literal).collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || " -_./=:,@%+".contains(c);
        let rest = if rest.iter().all(|word| word.chars().all(plain)) { rest } else { Vec::new() };
        let texts: Vec<String> = by_word(first)
            .iter()
            .map(|name| format!("{} {}", name.trim(), rest.join(" ")))
            .collect();
        self.may_run(index, &texts);
    }
}
