//! How deep blocks lie inside each other within a function.

use crate::Report;
use crate::code_text::code_only;
use crate::files::Source;

/// Blocks inside a function's own, around any line of it.
const DEEPEST: usize = 5;

/// Functions that are deeper, by file and name. The list may only become shorter.
const ALLOWED: &[(&str, &str)] = &[];

pub fn check(sources: &[Source], report: &mut Report) {
    check_with(sources, ALLOWED, report);
}

fn check_with(sources: &[Source], allowed: &[(&str, &str)], report: &mut Report) {
    let mut used = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        for function in too_deep(source) {
            let entry = (source.path.as_str(), function.name.as_str());
            if allowed.contains(&entry) {
                used.push((source.path.clone(), function.name));
                continue;
            }
            report.errors.push(format!(
                "{}:{}: {} nests {} blocks, at most {DEEPEST}: extract a function",
                source.path, function.line, function.name, function.depth
            ));
        }
    }
    for (path, name) in allowed {
        if !used.iter().any(|(file, function)| file == path && function == name) {
            report.errors.push(format!(
                "{path}: {name} no longer nests too deep: remove it from ALLOWED in xtask/src/nesting.rs"
            ));
        }
    }
}

struct Function {
    name: String,
    line: usize,
    depth: usize,
}

/// A pair of braces that is still open: where it began, and the function whose body it is.
struct Block {
    line: usize,
    function: Option<Function>,
}

fn too_deep(source: &Source) -> Vec<Function> {
    let own: String = source.own().flat_map(|(_, line)| [line, "\n"]).collect();
    let mut open: Vec<Block> = Vec::new();
    let mut found = Vec::new();
    let mut announced = None;
    for (at, line) in code_only(&own).lines().enumerate() {
        let number = at + 1;
        for word in words(line) {
            match word {
                Word::Function(name) => {
                    announced = Some(Function { name: name.to_owned(), line: number, depth: 0 });
                }
                Word::End => announced = None,
                Word::Open => open.push(Block { line: number, function: announced.take() }),
                Word::Close => found.extend(close(&mut open, number)),
            }
        }
    }
    found.retain(|function: &Function| function.depth > DEEPEST);
    found
}

/// Closes the innermost block. If that is a function's body, the function is complete.
/// A block that begins and ends on one line is as easy to read as an expression and does not count.
fn close(open: &mut Vec<Block>, number: usize) -> Option<Function> {
    let block = open.pop()?;
    if block.function.is_some() {
        return block.function;
    }
    if block.line == number {
        return None;
    }
    let body = open.iter().rposition(|block| block.function.is_some())?;
    let depth = open.len() - body;
    let function = open.get_mut(body).and_then(|block| block.function.as_mut())?;
    function.depth = function.depth.max(depth);
    None
}

enum Word<'a> {
    Function(&'a str),
    /// Of a declaration without a body.
    End,
    Open,
    Close,
}

fn words(line: &str) -> Vec<Word<'_>> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = Vec::new();
    let mut rest = line;
    let mut before = ' ';
    // The semicolon of `[u8; 2]` ends nothing.
    let mut brackets = 0_usize;
    while let Some(first) = rest.chars().next() {
        let name = rest.strip_prefix("fn ").filter(|_| !is_name(before));
        match (first, name) {
            (_, Some(behind)) => {
                words.push(Word::Function(
                    behind.split(|letter| !is_name(letter)).next().unwrap_or_default(),
                ));
            }
            ('{', _) => words.push(Word::Open),
            ('}', _) => words.push(Word::Close),
            ('[', _) => brackets += 1,
            (']', _) => brackets = brackets.saturating_sub(1),
            (';', _) if brackets == 0 => words.push(Word::End),
            _ => {}
        }
        before = first;
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function with so many blocks inside each other.
    fn nested(depth: usize) -> Source {
        let inner =
            (0..depth).fold("work();\n".to_owned(), |inner, _| format!("if so {{\n{inner}}}\n"));
        let text = format!(
            "impl A {{\nfn deep(&self) -> [u8; 2] {{\n// {{\nlet a = \"{{\";\n{inner}}}\n}}\n"
        );
        Source { path: "crates/pure/core/src/a.rs".into(), text }
    }

    fn errors(source: Source, allowed: &[(&str, &str)]) -> Vec<String> {
        let mut report = Report::default();
        check_with(&[source], allowed, &mut report);
        report.errors
    }

    #[test]
    fn blocks_that_nest_too_deep_are_found() {
        assert!(errors(nested(DEEPEST), &[]).is_empty());
        let found = errors(nested(DEEPEST + 1), &[]);
        assert!(
            matches!(found.as_slice(), [one] if one.contains("a.rs:2: deep nests 6")),
            "{found:?}"
        );
        let one_line = nested(DEEPEST).text.replace("work();", "let a = if so { b } else { c };");
        assert!(errors(Source { text: one_line, ..nested(0) }, &[]).is_empty());
    }

    #[test]
    fn the_list_of_exceptions_can_only_shrink() {
        let entry = [("crates/pure/core/src/a.rs", "deep")];
        assert!(errors(nested(DEEPEST + 1), &entry).is_empty());
        let found = errors(nested(DEEPEST), &entry);
        assert!(matches!(found.as_slice(), [one] if one.contains("remove it")), "{found:?}");
    }
}
