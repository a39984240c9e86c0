//! Commands of the shell itself. Many of them evaluate their words, or change what others mean.

use super::folders::Move;
use super::judge::StepVerdict;
use super::test_command;
use crate::options;
use ostler_policy::script::Word;

pub(super) fn judge(name: &str, words: &[Word]) -> Option<StepVerdict> {
    let first = words.first().and_then(Word::literal);
    Some(match name {
        "cd" => change_folder(words),
        "pushd" | "popd" => stacked(name, words),
        "dirs" if words.is_empty() => StepVerdict::reads(Vec::new()),
        "test" => tested(name, test_command::single(words)),
        "[" => match words.split_last() {
            Some((Word::Literal(end), inner)) if end == "]" => {
                tested(name, test_command::single(inner))
            }
            _ => StepVerdict::careful("[ without its ]", None),
        },
        ":" | "break" | "continue" | "exit" | "return" | "shift" | "times" => plain(name, words),
        "set" => set(words),
        "export" | "declare" | "typeset" | "readonly" | "local" | "unset" => declare(name, words),
        "read" => read(words, "rs", "dntpN"),
        "mapfile" | "readarray" => read(words, "t", "dnsO"),
        "printf" if first.is_some_and(|first| first.starts_with("-v")) => {
            let glued = first.and_then(|first| first.get(2..)).filter(|name| !name.is_empty());
            let name = glued.or_else(|| words.get(1).and_then(Word::literal)).unwrap_or("BASH");
            StepVerdict {
                sets: vec![name.to_owned()],
                ..StepVerdict::careful("printf -v sets a variable", None)
            }
        }
        "wait" => match words.iter().all(|word| word.literal().is_some_and(is_job)) {
            true => StepVerdict::reads(Vec::new()),
            false => StepVerdict::careful("wait: its words are not known", None),
        },
        "help" | "type" => match words.iter().all(|word| word.literal().is_some_and(is_name)) {
            true => StepVerdict::reads(Vec::new()),
            false => StepVerdict::careful(format!("{name}: its words are not known"), None),
        },
        // Without a value they print it.
        "umask" if matches!(words, []) || first == Some("-S") && words.len() == 1 => {
            StepVerdict::reads(Vec::new())
        }
        "ulimit" if words.len() == 1 && first == Some("-a") => StepVerdict::reads(Vec::new()),
        "alias" | "unalias" | "hash" | "enable" | "shopt" | "bind" => StepVerdict {
            shadows: Some(format!("{name} is used")),
            ..StepVerdict::careful(format!("{name} changes what other names mean"), None)
        },
        "let" | "getopts" | "complete" | "compgen" | "compopt" | "fc" | "history" | "coproc" => {
            StepVerdict::careful(format!("{name} evaluates its words"), None)
        }
        _ => return None,
    })
}

fn tested(name: &str, found: Result<Vec<ostler_policy::Touch>, options::Miss>) -> StepVerdict {
    match found {
        Ok(touches) => StepVerdict::reads(touches),
        Err(miss) => StepVerdict::miss(name, miss, 1),
    }
}

fn change_folder(words: &[Word]) -> StepVerdict {
    let to = match words {
        [] => Some("~".to_owned()),
        [Word::Literal(dashes), to] if dashes == "--" => target(to),
        [to] => target(to),
        _ => None,
    };
    moving(to.map(Move::To))
}

/// `pushd DIR` and `popd`; all their options turn the stack or leave the directory alone.
fn stacked(name: &str, words: &[Word]) -> StepVerdict {
    moving(match (name, words) {
        ("popd", []) => Some(Move::Pop),
        ("pushd", [to]) => target(to).filter(|to| !to.starts_with('+')).map(Move::Push),
        _ => None,
    })
}

/// Not `-`, which is the directory before.
fn target(word: &Word) -> Option<String> {
    let to = word.literal()?;
    (!to.is_empty() && !to.starts_with('-')).then(|| options::written(to))
}

fn moving(to: Option<Move>) -> StepVerdict {
    match to {
        Some(to) => StepVerdict { moves: Some(to), ..StepVerdict::reads(Vec::new()) },
        None => StepVerdict {
            moves: Some(Move::Unknown),
            ..StepVerdict::careful("it is not known which directory it changes to", None)
        },
    }
}

/// Numbers at most. They are not evaluated, so what only the shell knows can do no harm either.
fn plain(name: &str, words: &[Word]) -> StepVerdict {
    let fine = |word: &Word| match word {
        Word::Literal(_) => true,
        Word::Glob(_) => false,
        Word::Dynamic { .. } => true,
    };
    match words.iter().all(fine) && (name == ":" || words.len() <= 1) {
        true => StepVerdict::reads(Vec::new()),
        false => StepVerdict::careful(format!("{name}: its words are not known"), None),
    }
}

fn set(words: &[Word]) -> StepVerdict {
    if words.is_empty() {
        return StepVerdict::careful("set shows the environment", None);
    }
    let mut words = words.iter();
    let mut fine = true;
    while let Some(word) = words.next() {
        match word.literal() {
            Some(text) if text.len() > 1 && text.starts_with(['-', '+']) => {
                let letters = text.trim_start_matches(['-', '+']);
                fine &= !letters.is_empty() && letters.chars().all(|c| "eEuo".contains(c));
                for _ in letters.matches('o') {
                    let option = words.next().and_then(Word::literal);
                    fine &= matches!(option, Some("pipefail" | "errexit" | "nounset" | "errtrace"));
                }
            }
            _ => fine = false,
        }
    }
    if fine {
        return StepVerdict::reads(Vec::new());
    }
    StepVerdict {
        shadows: Some("options or words of the shell are set".into()),
        ..StepVerdict::careful("set changes how the shell reads what follows", None)
    }
}

/// Sets variables; with some flags, evaluates them.
fn declare(name: &str, words: &[Word]) -> StepVerdict {
    let mut sets = Vec::new();
    let (mut clear, mut flags) = (true, String::new());
    for word in words {
        let Some(text) = word.literal() else {
            clear = false;
            let known = match word {
                Word::Dynamic { parts, .. } => parts.first(),
                _ => None,
            };
            match known {
                Some(ostler_policy::script::WordPart::Literal(first)) => {
                    sets.push(first.split('=').next().unwrap_or_default().to_owned());
                }
                _ => sets.push("BASH".to_owned()),
            }
            continue;
        };
        match text.strip_prefix(['-', '+']) {
            Some(letters) => flags.push_str(letters),
            None => {
                let variable = text.split('=').next().unwrap_or_default();
                let variable = variable.strip_suffix('+').unwrap_or(variable);
                clear &= is_variable(variable);
                sets.push(variable.to_owned());
            }
        }
    }
    let evaluates = flags.contains(['i', 'n', 'f', 'a', 'A', 'F']);
    let shows = |word: &Word| {
        let given = word.literal().and_then(|text| text.split_once('='));
        given.is_some_and(|(name, value)| super::names::only_shows(name, value))
    };
    if name == "export" && clear && words.iter().all(shows) && !sets.is_empty() {
        return StepVerdict::reads(Vec::new());
    }
    let why = format!("{name} changes variables");
    match clear && !evaluates {
        true => StepVerdict { sets, ..StepVerdict::unknown(why) },
        false => StepVerdict { sets, ..StepVerdict::careful(why, None) },
    }
}

/// Plain names and known options only: an array's subscript would be evaluated.
fn read(words: &[Word], flags: &str, values: &str) -> StepVerdict {
    let refused = || StepVerdict::careful("it evaluates the names it is given", None);
    let mut sets = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return refused() };
        match text.strip_prefix('-') {
            None if is_variable(text) => sets.push(text.to_owned()),
            Some(letters) if letters.chars().all(|c| flags.contains(c)) => {}
            Some(letter) if letter.len() == 1 && values.contains(letter) => {
                if words.next().and_then(Word::literal).is_none() {
                    return refused();
                }
            }
            _ => return refused(),
        }
    }
    StepVerdict { sets, ..StepVerdict::reads(Vec::new()) }
}

fn is_variable(text: &str) -> bool {
    let start = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    start && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Of a program.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c))
}

fn is_job(text: &str) -> bool {
    text == "-n" || text.trim_start_matches('%').bytes().all(|b| b.is_ascii_digit())
}
