//! Makes lines: benign commands whose meaning hangs on a variable, ways to give that variable another value, options
//! that write, and old lines with hostile pieces in them.

mod folders;
pub mod names;
mod options;
mod options_git;
mod options_shell;
mod quote;
mod readers;
mod sinks;
mod sources;
mod splice;
mod weights;

use crate::random::Random;
use names::{ARITHMETIC, NEUTRAL, PLAIN, SECRETS, SPECIAL, VALUES};
use sinks::{SINKS, SinkKind};
use weights::TemplateWeights;

/// Allowed lines that are kept to start from.
const MOST_KEPT: usize = 3000;
const LONGEST: usize = 1500;

pub struct LineMaker {
    random: Random,
    seeds: Vec<String>,
    kept: Vec<String>,
    has_locale: bool,
    sources: TemplateWeights,
    sinks: TemplateWeights,
    tools: TemplateWeights,
    shapes: TemplateWeights,
    moves: TemplateWeights,
    readers: TemplateWeights,
}

const DIRECTORIES: &[&str] = &[
    "/home/dev/.ssh",
    "./bin",
    "/ws/bin",
    "/home/dev",
    "/etc",
    "~",
    "far",
    ".",
    "/",
    "..",
    "dash",
];
const NAMES: &[&str] =
    &["P", "/ws/P", "./P", "/home/dev/P", "/dev/tcp/127.0.0.1/7777", "src/P", "f"];
const PROGRAMS: &[&str] =
    &["touch", "./evil", "touch P", "evil", "sudo", "curl", "bin/ls", "rm -f", "tee", "bash P.sh"];
const PROMPTS: &[&str] = &["$(touch P)", "`touch P`", "\\$(touch P)", "${x:=$(touch P)}"];
const FORMATS: &[&str] = &["%n", "-vPATH", "%s%n", "%(%s)T", "-v RANDOM"];
/// What shows that a special variable changed something.
const SHOWS: &[&str] = &[
    "ls",
    "cat f",
    "cd src && cat f",
    "cd src; pwd",
    "evil",
    "set -x; ls",
    "cat ~/notes.txt",
    "echo *",
    "cat *",
    "git log",
    "git diff",
    "read x < f",
    "cd -; cat f",
    "echo $((1))",
    "cd; cat notes.txt",
    "cat <<< x",
    "cat <<E\n$x\nE",
    "echo $x",
    "time ls",
    "bash -c ls",
    "sed p f",
    ":",
    "true",
    "echo",
    "sort f",
    "date",
    "which ls",
    "type ls",
    "command ls",
    "ls | cat",
    "echo \"$(ls)\"",
    "pwd",
    "git status",
    "tar tf x",
    "rg one",
    "man ls",
    "less f",
    "diff f g",
    "find . -name f",
    "wait",
];
/// With a double-byte locale the backslash is the second half of a character, and the quote ends.
const DOUBLE_BYTE: &[&str] = &[
    "echo \"中\\\"; touch P #\"",
    "ls; echo \"中\\\"; touch P #\"",
    "echo \"x中\\\"; : > P #\"",
    "printf %s \"中\\\"; touch P #\"",
    "grep \"中\\\"; touch P #\" f",
];
const JOINS: &[&str] = &["; ", "; ", "; ", "\n", "\n", " && ", " ; "];

impl LineMaker {
    pub fn new(seed: u64, seeds: Vec<String>, has_locale: bool) -> Self {
        LineMaker {
            random: Random::new(seed),
            seeds,
            kept: Vec::new(),
            has_locale,
            sources: TemplateWeights::default(),
            sinks: TemplateWeights::default(),
            tools: TemplateWeights::default(),
            shapes: TemplateWeights::default(),
            moves: TemplateWeights::default(),
            readers: TemplateWeights::default(),
        }
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.random.below(100) < chance
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        self.random.pick(list).unwrap_or_default()
    }

    /// Whether the last line was allowed.
    pub fn learn(&mut self, was_allowed: bool) {
        let weights = [
            &mut self.sources,
            &mut self.sinks,
            &mut self.tools,
            &mut self.shapes,
            &mut self.moves,
            &mut self.readers,
        ];
        weights.into_iter().for_each(|weights| weights.learn(was_allowed));
    }

    /// An allowed line without effect: what is close to it is worth trying.
    pub fn keep(&mut self, line: String) {
        if self.kept.len() < MOST_KEPT {
            self.kept.push(line);
        } else if let Some(slot) = {
            let at = self.random.below(MOST_KEPT);
            self.kept.get_mut(at)
        } {
            *slot = line;
        }
    }

    pub fn line(&mut self) -> String {
        let mut line = match self.random.below(100) {
            0..40 => self.flow(),
            40..54 => self.special(),
            54..64 => self.options(),
            64..70 => self.moved(),
            70..74 => self.read(),
            74..76 if self.has_locale => self.locale(),
            74..88 => self.spliced(),
            _ => self.mutated(),
        };
        if self.percent(18) {
            line = self.wrapped(&line);
        }
        if line.len() > LONGEST { String::new() } else { line }
    }

    /// A variable is set to something harmless, then perhaps to something else, then used.
    fn flow(&mut self) -> String {
        let name = if self.percent(8) { self.pick(SPECIAL) } else { self.pick(PLAIN) };
        let at = self.sinks.draw(SINKS.len(), &mut self.random);
        let Some(sink) = SINKS.get(at) else { return String::new() };
        let payload = self.payload(sink.kind);
        let mut parts = Vec::new();
        match self.random.below(100) {
            0..50 => {
                let word = self.quoted(sink.harmless);
                parts.push(format!("{name}={word}"));
            }
            50..75 => parts.push(format!("{name}=")),
            _ => {}
        }
        if self.percent(15) {
            parts.push(self.pick(NEUTRAL).to_owned());
        }
        let value = if self.percent(85) { payload } else { sink.harmless };
        let source = self.source(name, value);
        let mut used = fill(sink.text, name, "", "");
        if self.percent(10) {
            used = self.wrapped(&used);
        }
        match self.random.below(100) {
            0..80 => parts.extend([source, used]),
            80..86 => {
                let loops =
                    ["for i in 1 2; do USE; SET; done", "while read i; do USE; SET; done < f"];
                let text = self.pick(&loops);
                parts.push(text.replace("USE", &used).replace("SET", &source));
            }
            86..92 => {
                parts.push(format!("g() {{ {used}; }}"));
                parts.extend([source, "g".to_owned()]);
            }
            92..96 => {
                parts.push(source);
                parts.push(format!("t=${name}"));
                parts.push(fill(sink.text, "t", "", ""));
            }
            _ => {
                let again = self.source(name, sink.harmless);
                parts.extend([source, again, used]);
            }
        }
        self.joined(&parts)
    }

    /// A variable that bash or a program acts on gets a value of any kind.
    fn special(&mut self) -> String {
        let name = self.pick(SPECIAL);
        let value = match self.random.below(3) {
            0 => self.pick(VALUES),
            _ => self.pick(ARITHMETIC),
        };
        let mut parts = Vec::new();
        if self.percent(10) {
            parts.push(self.pick(NEUTRAL).to_owned());
        }
        parts.push(self.source(name, value));
        if self.percent(60) {
            let show = self.pick(SHOWS);
            parts.push(fill(show, name, "", ""));
        }
        self.joined(&parts)
    }

    /// The working directory changes, or does not, and something is read there.
    fn moved(&mut self) -> String {
        let mut parts = Vec::new();
        for _ in 0..=self.random.below(3) {
            let at = self.moves.draw(folders::MOVES.len(), &mut self.random);
            let moved = folders::MOVES.get(at).copied().unwrap_or_default();
            parts.push(if self.percent(10) { self.wrapped(moved) } else { moved.to_owned() });
        }
        parts.push(self.pick(folders::READS).to_owned());
        self.joined(&parts)
    }

    /// A file that must not be read unasked, or an ordinary one, is read somehow.
    fn read(&mut self) -> String {
        let at = self.readers.draw(readers::READERS.len(), &mut self.random);
        let reader = readers::READERS.get(at).copied().unwrap_or_default();
        let file = if self.percent(85) { self.pick(SECRETS) } else { "f" };
        let word = if self.percent(60) { file.to_owned() } else { self.quoted(file) };
        reader.replace('S', &word)
    }

    fn locale(&mut self) -> String {
        let name = self.pick(&["LC_ALL", "LC_CTYPE", "LANG"]);
        let source = self.source(name, super::sandbox::DOUBLE_BYTE_LOCALE);
        let shown = self.pick(DOUBLE_BYTE);
        format!("{source}\n{shown}")
    }

    fn options(&mut self) -> String {
        let length = options::TOOLS.iter().map(|tools| tools.len()).sum();
        let at = self.tools.draw(length, &mut self.random);
        let tool = options::TOOLS.iter().flat_map(|tools| tools.iter()).nth(at);
        let Some(tool) = tool else { return String::new() };
        let mut line = tool.before.to_owned();
        for _ in 0..=self.random.below(2) {
            line.push(' ');
            line.push_str(self.pick(tool.words));
        }
        if !tool.after.is_empty() && self.percent(85) {
            line.push(' ');
            line.push_str(tool.after);
        }
        match self.random.below(10) {
            0 => line.push_str(" | head -1"),
            1 => line.push_str(" 2>/dev/null"),
            2 => line = format!("{}; {line}", self.pick(NEUTRAL)),
            3 => line = format!("cd src && {line}"),
            _ => {}
        }
        line
    }

    fn payload(&mut self, kind: SinkKind) -> &'static str {
        match kind {
            SinkKind::Sed => self.pick(sinks::SED),
            SinkKind::Awk => self.pick(sinks::AWK),
            SinkKind::File => self.pick(SECRETS),
            SinkKind::Directory => self.pick(DIRECTORIES),
            SinkKind::Number => self.pick(ARITHMETIC),
            SinkKind::Name => self.pick(NAMES),
            SinkKind::Words(words) => self.pick(words),
            SinkKind::Program => self.pick(PROGRAMS),
            SinkKind::Prompt => self.pick(PROMPTS),
            SinkKind::Format => self.pick(FORMATS),
        }
    }

    fn source(&mut self, name: &str, value: &str) -> String {
        let at = self.sources.draw(sources::SOURCES.len(), &mut self.random);
        let text = sources::SOURCES.get(at).copied().unwrap_or_default();
        let (word, bare) = (self.quoted(value), quote::bare(value));
        fill(text, name, &word, &bare)
    }

    fn quoted(&mut self, value: &str) -> String {
        quote::quoted(value, self.random.below(10))
    }

    fn joined(&mut self, parts: &[String]) -> String {
        let mut line = String::new();
        for part in parts {
            if !line.is_empty() && !line.ends_with('\n') {
                // Nothing follows `&` but the next command.
                line.push_str(if line.ends_with('&') { " " } else { self.pick(JOINS) });
            }
            line.push_str(part);
        }
        line
    }

    fn wrapped(&mut self, line: &str) -> String {
        let shapes = [
            "{ L\n}",
            "( L\n)",
            "if true; then L\nfi",
            "for i in 1 2; do L\ndone",
            "h() { L\n}; h",
            "bash -c Q",
            "eval Q",
            "while true; do L\nbreak; done",
            "L | cat",
            "echo \"$(L\n)\"",
            "timeout 5 bash -c Q",
            "case x in x) L\n;; esac",
            "true && { L\n}",
            "L &",
            "! L",
            "time L",
            "cat <(L\n)",
            "if L\nthen :; fi",
            "until L\ndo break; done",
            "x=$(L\n)",
            "echo `L`",
            "[[ x ]] && L",
            "L\nL",
            "for i in 1 2; do L\ndone; L",
            "cat <<E\n$(L\n)\nE",
            "echo $(L\n)",
            "L > /dev/null",
            "{ L\n} < f",
            "ls | while read -r i; do L\ndone",
            "coproc { L\n}",
            "echo ${n:-$(L\n)}",
            "sh -c Q",
            "L || true",
            "select i in a; do L\nbreak; done <<< 1",
        ];
        let at = self.shapes.draw(shapes.len(), &mut self.random);
        let shape = shapes.get(at).copied().unwrap_or_default();
        let word = quote::quoted(line, 0);
        shape.replace('L', "\u{1}").replace('Q', &word).replace('\u{1}', line)
    }
}

/// Puts name and value into a template. A placeholder stands alone among capital letters.
fn fill(text: &str, name: &str, word: &str, bare: &str) -> String {
    let mut made = String::new();
    let letters: Vec<char> = text.chars().collect();
    let is_part = |c: Option<&char>| c.is_some_and(|c| c.is_ascii_uppercase() || *c == '_');
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let alone = !is_part(before) && !is_part(letters.get(at + 1));
        match letter {
            'V' if alone => made.push_str(name),
            'Q' if alone => made.push_str(word),
            'B' if alone => made.push_str(bare),
            other => made.push(*other),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled() {
        assert_eq!(fill(": ${n:-${V:=Q}} $HOME", "s", "'x y'", ""), ": ${n:-${s:='x y'}} $HOME");
        assert_eq!(fill("cat <<E\n${V:=B}\nE\n", "s", "", "x y"), "cat <<E\n${s:=x y}\nE\n");
    }

    /// A seed is a promise: what was found once is found again.
    #[test]
    fn the_same_seed_makes_the_same_lines() {
        let lines = |seed| {
            let mut maker = LineMaker::new(seed, vec!["ls -la".into()], true);
            (0..200).map(|_| maker.line()).collect::<Vec<_>>()
        };
        assert_eq!(lines(7), lines(7));
        assert_ne!(lines(7), lines(8));
    }
}
