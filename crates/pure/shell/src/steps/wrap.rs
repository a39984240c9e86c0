//! Commands that start another command: the other one becomes a step inside.

use super::folders::Move;
use super::names::only_shows;
use super::walk::{MAX_WRAPS, StepWalk, WalkPosition};
use super::words::resolve;
use super::wrap_table::{TIME, WATCH, WrapperProgram, XARGS, wrapper};
use ostler_policy::script::{Dynamic, Redirect, Word, WordPart};
use ostler_policy::{Caution, Effect, Position};

/// What stands for words that are not in the text.
pub(super) fn from_outside(source: &str) -> Word {
    let parts = vec![WordPart::Other(Vec::new())];
    Word::Dynamic { why: Dynamic::Given, source: source.into(), parts }
}

impl StepWalk {
    /// True if it was one of them.
    pub(super) fn wrapping(
        &mut self,
        index: usize,
        name: &str,
        words: &[Word],
        redirects: &[Redirect],
    ) -> bool {
        match name {
            "env" => self.env(index, words, redirects),
            "xargs" => self.xargs(index, words, redirects),
            "watch" => {
                if let Some(start) = self.start(index, &WATCH, words) {
                    self.past += 1;
                    self.joined(index, words.get(start..).unwrap_or_default());
                    self.past -= 1;
                }
            }
            "command" if looks_up(words) => {
                let literal = words.iter().all(|word| word.literal().is_some());
                match literal {
                    true => self.change(index, |step| step.effect = Effect::Reads),
                    false => self.unknown(index, "it is not known what it looks for", None),
                }
            }
            "exec" => self.exec(index, words, redirects),
            "time" if words.len() < 2 => {}
            _ => match wrapper(name) {
                Some(found) => {
                    let found = match inner_start(found, words) {
                        Err(_) if name == "time" => &TIME,
                        _ => found,
                    };
                    if let Some(start) = self.start(index, found, words) {
                        self.enter(index, words.get(start..).unwrap_or_default(), redirects);
                    }
                }
                None => return false,
            },
        }
        true
    }

    /// `sudo -e` by another name.
    pub(super) fn sudoedit(&mut self, index: usize, words: &[Word]) {
        let mut normal: Vec<Word> = ["sudo", "-e"].map(|word| Word::Literal(word.into())).into();
        normal.extend(words.iter().skip(1).cloned());
        self.unknown(index, "it edits files as another user", None);
        self.change(index, |step| step.normal = normal);
    }

    /// `hash -p /bin/x y` and `alias y=x`: y is x by another name.
    pub(super) fn renamed(&mut self, index: usize, name: &str, words: &[Word]) {
        for (at, word) in words.iter().enumerate().skip(1) {
            let text = word.literal().unwrap_or_default();
            if name == "alias" {
                if let Some((_, value)) = text.split_once('=') {
                    self.may_run(index, &[value.to_owned()]);
                }
                continue;
            }
            let value = match text.split_once('p') {
                Some((before, "")) if before.starts_with('-') => words.get(at + 1).cloned(),
                Some((before, path)) if before.starts_with('-') => Some(Word::Literal(path.into())),
                _ => None,
            };
            if let Some(program) = value {
                self.enter(index, &[program], &[]);
            }
        }
    }

    /// The words of a step are a command that it starts.
    pub(super) fn enter(&mut self, index: usize, words: &[Word], redirects: &[Redirect]) {
        if words.is_empty() {
            return self.unknown(index, "it starts no command that is in the text", None);
        }
        if self.wraps >= MAX_WRAPS {
            self.doubt("commands are nested too deep");
            return self.unknown(index, "what it starts was not looked at", None);
        }
        self.wraps += 1;
        self.past += 1;
        let at = WalkPosition { inside: Some(index), position: Position::Wrapped };
        let inner = self.push(words.to_vec(), at);
        self.run(inner, words, redirects);
        self.past -= 1;
        self.wraps -= 1;
    }

    /// Where the inner command begins. Says of the step itself what there is to say.
    fn start(&mut self, index: usize, wrapper: &WrapperProgram, words: &[Word]) -> Option<usize> {
        match inner_start(wrapper, words) {
            Ok(start) => {
                self.change(index, |step| match wrapper.own {
                    Some(why) => {
                        step.effect = Effect::Unknown(why.into());
                        step.cautions.extend(careful_options(wrapper, words, start));
                    }
                    None => step.transparent = true,
                });
                Some(start)
            }
            Err(at) => {
                let what = words.get(at).and_then(Word::literal).unwrap_or("one of its words");
                let why = format!("{}: {what} is not known", wrapper.name);
                self.doubt(why.clone());
                self.unknown(index, why, None);
                self.may_start_unknown(index, words);
                None
            }
        }
    }

    /// A word that only the shell knows may be the program.
    fn may_start_unknown(&mut self, index: usize, words: &[Word]) {
        let dynamic = |word: &Word| word.literal().is_none();
        if let Some(at) = words.iter().position(dynamic) {
            self.enter(index, words.get(at..).unwrap_or_default(), &[]);
        }
    }

    fn exec(&mut self, index: usize, words: &[Word], redirects: &[Redirect]) {
        let mut start = 1;
        while let Some(option) = words.get(start).and_then(Word::literal) {
            match option {
                "--" => {
                    start += 1;
                    break;
                }
                // The name may be glued to its letter.
                _ if option.starts_with('-') => {
                    let named = option.split_once('a').is_some_and(|(_, name)| name.is_empty());
                    start += if named { 2 } else { 1 };
                }
                _ => break,
            }
        }
        if start >= words.len() {
            return self.unknown(index, "it changes the descriptors of the shell", None);
        }
        match start {
            1 => self.change(index, |step| step.transparent = true),
            _ => self.unknown(index, "exec with an option changes what it starts", None),
        }
        self.enter(index, words.get(start..).unwrap_or_default(), redirects);
    }

    fn env(&mut self, index: usize, words: &[Word], redirects: &[Redirect]) {
        let Some(found) = Env::read(words) else {
            self.doubt("env: what it starts is not known");
            self.may_start_unknown(index, words);
            return self.unknown(index, "env: a word of it is not known", None);
        };
        let changes = !found.variables.is_empty() || found.clears;
        self.change(index, |step| {
            step.transparent = !changes;
            step.variables.extend(found.variables);
            if changes {
                step.effect = Effect::Unknown("it changes the variables of what it starts".into());
            }
        });
        if found.command.is_empty() {
            return self.unknown(index, "it shows every variable", None);
        }
        self.apart(|walk| {
            if let Some(folder) = found.folder {
                walk.moved(&Move::To(folder));
            }
            walk.enter(index, &found.command, redirects);
        });
    }

    fn xargs(&mut self, index: usize, words: &[Word], redirects: &[Redirect]) {
        let Some(start) = self.start(index, &XARGS, words) else { return };
        let literal = |at: usize| words.get(at).and_then(Word::literal);
        let mark = (1..start).find_map(|at| match literal(at)? {
            "-I" => literal(at + 1).map(str::to_owned),
            "-i" | "--replace" => Some("{}".to_owned()),
            text => text
                .strip_prefix("--replace=")
                .or_else(|| text.strip_prefix("-I"))
                .or_else(|| text.strip_prefix("-i"))
                .map(str::to_owned),
        });
        let mut inner = words.get(start..).unwrap_or_default().to_vec();
        if inner.is_empty() {
            inner.push(Word::Literal("echo".into()));
        }
        if prints(&inner) && !words.iter().take(start).any(asks_or_reads) {
            // Whatever the words are, they are only printed.
            self.change(index, |step| {
                step.effect = Effect::Nothing;
                step.transparent = true;
            });
            return self.enter(index, &inner, redirects);
        }
        let options = words.get(1..start).unwrap_or_default();
        if self.reads_listed(index, options, &inner, redirects) {
            return;
        }
        match mark {
            Some(mark) => replace(&mut inner, &mark, "<each word that xargs reads>"),
            None => inner.push(from_outside("<what xargs reads>")),
        }
        self.enter(index, &inner, redirects);
    }
}

/// The options of a wrapper that do more than start its command.
fn careful_options(wrapper: &WrapperProgram, words: &[Word], start: usize) -> Vec<Caution> {
    let is_careful = |text: &str| match text.strip_prefix("--") {
        Some(long) => {
            !wrapper.careful.is_empty()
                && "output".starts_with(long.split('=').next().unwrap_or(long))
        }
        None => text.starts_with('-') && text.contains(|c| wrapper.careful.contains(c)),
    };
    let texts = words.iter().enumerate().take(start).skip(1);
    let known = texts.filter_map(|(at, word)| Some((at, word.literal()?)));
    let found = known.filter(|(_, text)| is_careful(text));
    found
        .map(|(at, text)| {
            let why = format!("{text} makes {} do more than start a command", wrapper.name);
            Caution::new(why, Some(at))
        })
        .collect()
}

/// A program that prints its words and has no option that does more.
fn prints(command: &[Word]) -> bool {
    let name = command.first().and_then(Word::literal);
    matches!(name, Some("echo" | "basename" | "dirname"))
        && command.iter().all(|word| word.literal().is_some())
}

/// Options of xargs that name a file or talk to a terminal.
fn asks_or_reads(word: &Word) -> bool {
    word.literal().is_none_or(|text| match text.strip_prefix("--") {
        Some(long) => !matches!(long, "null" | "no-run-if-empty" | "verbose"),
        None => text.starts_with('-') && text.contains(['a', 'p', 'o']),
    })
}

/// Words that hold the mark are not known.
pub(super) fn replace(words: &mut [Word], mark: &str, what: &str) {
    for word in words {
        if matches!(word, Word::Literal(text) | Word::Glob(text) if text.contains(mark)) {
            *word = from_outside(what);
        }
    }
}

fn looks_up(words: &[Word]) -> bool {
    let options = words.iter().skip(1).map_while(Word::literal).take_while(|w| w.starts_with('-'));
    let known = |w: &str| w.len() > 1 && w.chars().skip(1).all(|c| matches!(c, 'v' | 'V' | 'p'));
    let mut options = options.peekable();
    options.peek().is_some_and(|first| known(first) && first.contains(['v', 'V']))
}

/// The place of the inner command, or of the word that is not known.
fn inner_start(wrapper: &WrapperProgram, words: &[Word]) -> Result<usize, usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.literal().ok_or(at)?;
        if text == "--" {
            at += 1;
            break;
        }
        if text == "-" || !text.starts_with('-') {
            break;
        }
        at += option_length(wrapper, text).ok_or(at)?;
    }
    while wrapper.assigns && words.get(at).and_then(Word::literal).is_some_and(is_assignment) {
        at += 1;
    }
    for _ in 0..wrapper.skip {
        words.get(at).and_then(Word::literal).ok_or(at)?;
        at += 1;
    }
    Ok(at)
}

fn is_assignment(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    text.contains('=') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// How many words the option takes, itself included.
fn option_length(wrapper: &WrapperProgram, text: &str) -> Option<usize> {
    let number = text.trim_start_matches('-');
    if wrapper.count && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
        return Some(1);
    }
    if let Some(long) = text.strip_prefix("--") {
        let (name, glued) = match long.split_once('=') {
            Some((name, _)) => (name, true),
            None => (long, false),
        };
        let name = completed(wrapper, name)?;
        let is_in = |list: &[&str]| list.contains(&name);
        return match (is_in(wrapper.long), is_in(wrapper.long_values), glued) {
            (_, true, true) | (true, _, false) => Some(1),
            (_, true, false) => Some(2),
            _ => is_in(wrapper.long_maybe).then_some(1),
        };
    }
    let letters = text.get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        if wrapper.values.contains(letter) {
            let last = at + letter.len_utf8() == letters.len();
            return Some(if last { 2 } else { 1 });
        }
        if wrapper.glued.contains(letter) {
            return Some(1);
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(1)
}

/// A long option by its beginning, where only one begins so.
fn completed(wrapper: &WrapperProgram, name: &str) -> Option<&'static str> {
    let mut all = wrapper.long.iter().chain(wrapper.long_values).chain(wrapper.long_maybe);
    if let Some(exact) = all.clone().find(|long| **long == name) {
        return Some(exact);
    }
    let found = all.find(|long| long.starts_with(name) && !name.is_empty())?;
    all.all(|long| !long.starts_with(name)).then_some(found)
}

/// How far an option of env goes.
enum Took {
    Itself,
    Next,
    /// Its value is the command.
    Split,
}

#[derive(Default)]
struct Env {
    variables: Vec<String>,
    /// Variables are taken away.
    clears: bool,
    folder: Option<String>,
    command: Vec<Word>,
}

impl Env {
    fn read(words: &[Word]) -> Option<Self> {
        let mut found = Env::default();
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Word::Literal(text) = resolve(word, &[]) else { return None };
            let next = words.get(at + 1).and_then(Word::literal);
            match text.as_str() {
                "--" => {
                    at += 1;
                    break;
                }
                "-" => found.clears = true,
                _ if text.starts_with("--") => match found.long(&text, next)? {
                    Took::Split => {
                        at += if text.contains('=') { 1 } else { 2 };
                        break;
                    }
                    Took::Next => at += 1,
                    Took::Itself => {}
                },
                _ if text.starts_with('-') => match found.letters(text.get(1..)?, next)? {
                    Took::Split => {
                        at += if text.ends_with('S') { 2 } else { 1 };
                        break;
                    }
                    Took::Next => at += 1,
                    Took::Itself => {}
                },
                _ => break,
            }
            at += 1;
        }
        found.assignments(words.get(at..)?);
        Some(found)
    }

    /// A cluster of letters behind one dash.
    fn letters(&mut self, letters: &str, next: Option<&str>) -> Option<Took> {
        for (at, letter) in letters.char_indices() {
            let glued = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let (value, took) = match glued {
                "" => (next, Took::Next),
                glued => (Some(glued), Took::Itself),
            };
            self.clears |= letter != 'C';
            match letter {
                'i' | '0' | 'v' => {}
                'u' | 'a' => {
                    self.variables.push(value?.to_owned());
                    return Some(took);
                }
                'C' => {
                    self.folder = Some(value?.to_owned());
                    return Some(took);
                }
                'S' => {
                    self.split(value?)?;
                    return Some(Took::Split);
                }
                _ => return None,
            }
        }
        Some(Took::Itself)
    }

    fn long(&mut self, text: &str, next: Option<&str>) -> Option<Took> {
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let all = [
            "--ignore-environment",
            "--null",
            "--debug",
            "--unset",
            "--chdir",
            "--split-string",
            "--argv0",
            "--block-signal",
            "--default-signal",
            "--ignore-signal",
            "--list-signal-handling",
        ];
        let mut fit = all.iter().filter(|long| long.starts_with(name) && name.len() > 2);
        let (long, None) = (fit.next()?, fit.next()) else { return None };
        let (value, took) = match glued {
            Some(value) => (Some(value), Took::Itself),
            None => (next, Took::Next),
        };
        self.clears |= *long != "--chdir";
        match *long {
            "--unset" | "--argv0" => self.variables.push(value?.to_owned()),
            "--chdir" => self.folder = Some(value?.to_owned()),
            "--split-string" => {
                self.split(value?)?;
                return Some(Took::Split);
            }
            _ => return Some(Took::Itself),
        }
        Some(took)
    }

    fn assignments(&mut self, words: &[Word]) {
        let mut words = words;
        while let Some((Word::Literal(text), rest)) = words.split_first()
            && self.command.is_empty()
            && let Some((name, value)) = text.split_once('=')
        {
            if !only_shows(name, value) {
                self.variables.push(name.to_owned());
            }
            words = rest;
        }
        self.command.extend_from_slice(words);
    }

    /// `-S 'a b'`, if it says no more than words.
    fn split(&mut self, text: &str) -> Option<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || " -_./,:".contains(c);
        if !text.chars().all(plain) || text.trim_start().starts_with('-') {
            return None;
        }
        self.clears = true;
        self.command.extend(text.split_whitespace().map(|word| Word::Literal(word.into())));
        Some(())
    }
}
