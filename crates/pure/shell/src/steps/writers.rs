//! Programs that change files, and only the files they name.

use super::destinations;
use super::judge::{StepVerdict, touch};
use crate::options::{self, Miss, Named, Parsed};
use crate::table::{BARE, Operands, Program, Takes, Value};
use Takes::{Always, Glued, Maybe};
use ostler_policy::script::{Word, WordPart};
use ostler_policy::{Act, Caution, Effect, Touch, TouchKind};

const ANY: Operands = Operands::Fit(Value::Any);

/// Their operands are files, whatever the entry says.
pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "mkdir",
        short: "pv",
        short_values: &[('m', Always, Value::Number)],
        long: &["parents", "verbose"],
        long_values: &[("mode", Glued, Value::Number)],
        operands: ANY,
        matches: &["mkdir -p a/b c/d", "mkdir x"],
        misses: &["mkdir", "mkdir -Z x", "mkdir --par x", "mkdir $x", "mkdir *"],
        ..BARE
    },
    Program {
        name: "touch",
        short: "acmf",
        short_values: &[('d', Always, Value::Any), ('t', Always, Value::Any)],
        long: &["no-create"],
        long_values: &[("date", Glued, Value::Any)],
        operands: ANY,
        matches: &["touch x", "touch -c a b"],
        misses: &["touch", "touch -r f x", "touch *", "touch $x"],
        ..BARE
    },
    Program {
        name: "rm",
        short: "rRfiIvd",
        long: &["recursive", "force", "verbose", "dir", "one-file-system", "preserve-root"],
        long_values: &[("interactive", Maybe, Value::Any)],
        operands: ANY,
        matches: &["rm x", "rm -rf build", "rm -rf .", "rm -- -x", "rm src/*.o"],
        misses: &["rm", "rm --recurs x", "rm --no-preserve-root x", "rm *", "rm $x"],
        ..BARE
    },
    Program {
        name: "rmdir",
        short: "pv",
        long: &["parents", "verbose", "ignore-fail-on-non-empty"],
        operands: ANY,
        matches: &["rmdir x"],
        misses: &["rmdir", "rmdir --x y"],
        ..BARE
    },
    Program {
        name: "mv",
        short: "finvuT",
        long: &["force", "interactive", "no-clobber", "verbose", "update", "no-target-directory"],
        operands: ANY,
        matches: &["mv a b", "mv -f a b c/", "mv src/*.rs old/"],
        misses: &["mv a", "mv -t d a", "mv --backup a b", "mv -S x a b", "mv $x y"],
        ..BARE
    },
    Program {
        name: "cp",
        short: "rRafinvpudPTx",
        long: &[
            "recursive",
            "archive",
            "force",
            "interactive",
            "no-clobber",
            "verbose",
            "update",
            "no-dereference",
        ],
        operands: ANY,
        matches: &["cp a b", "cp -r a b", "cp -a src/. dst/"],
        misses: &[
            "cp a",
            "cp -l a b",
            "cp -s a b",
            "cp -L a b",
            "cp -t d a",
            "cp --parents a b",
            "cp -b a b",
        ],
        ..BARE
    },
    Program {
        name: "ln",
        short: "sfnvrT",
        long: &["symbolic", "force", "no-dereference", "verbose", "relative"],
        operands: ANY,
        matches: &["ln -s a b"],
        misses: &["ln a", "ln -t d a", "ln -b a b"],
        ..BARE
    },
    Program {
        name: "tee",
        short: "aip",
        long: &["append", "ignore-interrupts"],
        operands: ANY,
        matches: &["tee out.txt", "tee -a a b", "tee", "tee /dev/null"],
        misses: &["tee --output-error=x y", "tee *", "tee $x"],
        ..BARE
    },
    Program {
        name: "truncate",
        short: "co",
        short_values: &[('s', Always, Value::Size)],
        long_values: &[("size", Always, Value::Size)],
        operands: ANY,
        matches: &["truncate -s 0 f"],
        misses: &["truncate", "truncate -r x f", "truncate -s 0 *"],
        ..BARE
    },
    Program {
        name: "chmod",
        short: "vfcR",
        long: &["recursive", "verbose", "changes"],
        operands: ANY,
        matches: &["chmod +x run.sh", "chmod -R 755 d", "chmod 644 a b"],
        misses: &[
            "chmod 644",
            "chmod 4755 x",
            "chmod u+s x",
            "chmod --reference=a b",
            "chmod -x f",
            "chmod $x f",
        ],
        ..BARE
    },
];

/// `words` are those behind the program.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<StepVerdict> {
    let program = PROGRAMS.iter().find(|program| program.name == name)?;
    let found = Parsed::read(program, words).and_then(|parsed| touches(name, &parsed));
    Some(match found {
        // Where copies and links land is said by `destinations`.
        Err(miss) if matches!(name, "cp" | "ln") => StepVerdict::miss(name, miss, 1),
        Err(miss) => StepVerdict { touches: guessed(words), ..StepVerdict::miss(name, miss, 1) },
        Ok(mut touches) => {
            let mut landing = destinations::of(name, words);
            touches.append(&mut landing.touches);
            let link = || Caution::new("a link makes one path lead to another", None);
            let mut cautions = if name == "ln" { vec![link()] } else { Vec::new() };
            cautions.append(&mut landing.cautions);
            let effect = if touches.is_empty() { Effect::Reads } else { Effect::Writes };
            StepVerdict { effect, touches, cautions, ..StepVerdict::default() }
        }
    })
}

/// Programs without an entry that change what their operands name.
const CHANGERS: &[&str] = &[
    "shred",
    "unlink",
    "chown",
    "chgrp",
    "setfacl",
    "setfattr",
    "chattr",
    "patch",
    "dd",
    "rename",
    "mkfifo",
    "mknod",
    "link",
    "symlink",
    "trash",
    "trash-put",
    "rmtrash",
    "sponge",
    "ex",
    "ed",
    "shfmt",
    "dos2unix",
    "unix2dos",
];

/// What a program that changes files may change, where not all of its words are known: each of them counts, so that a
/// protected name is seen whatever stands before it.
pub(super) fn guess(name: &str, words: &[Word]) -> Vec<Touch> {
    let edits = |word: &Word| {
        let text = word.literal().unwrap_or_default();
        text.starts_with('-') && !text.starts_with("--") && text.contains('i')
    };
    let in_place = matches!(name, "perl" | "ruby") && words.iter().any(edits);
    if CHANGERS.contains(&name) || in_place { guessed(words) } else { Vec::new() }
}

/// Every word that may be a file, as one that is written.
pub(super) fn guessed(words: &[Word]) -> Vec<Touch> {
    words.iter().filter_map(guessed_file).collect()
}

fn guessed_file(word: &Word) -> Option<Touch> {
    let write = |named: Named| touch(Act::Write)(named);
    match word {
        Word::Literal(text) if text.starts_with('-') => None,
        Word::Literal(text) => {
            let value = text.split_once('=').map_or(text.as_str(), |(_, value)| value);
            options::readable(value, TouchKind::File).ok().map(write)
        }
        // `*` matches no hidden name.
        Word::Glob(pattern) => {
            let hidden = pattern.split('/').any(|part| part.starts_with(['.', '[', '\\']));
            options::glob(pattern).ok().filter(|_| hidden).map(write)
        }
        // What is not known of it may be any name; the rest can still be a protected one.
        Word::Dynamic { parts, .. } => {
            let mut path = String::new();
            for part in parts {
                match part {
                    WordPart::Literal(text) => path.push_str(text),
                    _ => path.push('_'),
                }
            }
            let named = path.contains('/') && path.contains("/.");
            named.then(|| write(Named { path: format!("./{path}"), kind: TouchKind::File }))
        }
    }
}

fn touches(name: &str, parsed: &Parsed) -> Result<Vec<Touch>, Miss> {
    let recursive = parsed.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let operands = parsed.operands.as_slice();
    let (kind, least) = match name {
        "mv" | "cp" | "ln" => (TouchKind::Tree, 2),
        "rm" | "chmod" if recursive => (TouchKind::Tree, 1),
        "tee" => (TouchKind::File, 0),
        _ => (TouchKind::File, 1),
    };
    let operands = match (name, operands.split_first()) {
        ("chmod", Some(((at, mode), files))) => {
            if !is_plain_mode(options::literal(mode)?) {
                return Err(Miss::at(*at, "the mode is not known to be harmless"));
            }
            files
        }
        _ => operands,
    };
    if operands.len() < least {
        return Err("it lacks a file".into());
    }
    let last = operands.len() - operands.len().min(1);
    let mut touches = Vec::new();
    for (place, (at, word)) in operands.iter().enumerate() {
        if name == "tee" && word.literal() == Some("/dev/null") {
            continue;
        }
        let file = || named(word, kind).map_err(|why| Miss::at(*at, why));
        // Under its new name a file could be read.
        if matches!(name, "cp" | "ln" | "mv") && place < last {
            touches.push(touch(Act::Read)(file()?));
        }
        if !matches!(name, "cp" | "ln") || place >= last {
            touches.push(touch(Act::Write)(file()?));
        }
    }
    Ok(touches)
}

fn named(word: &Word, kind: TouchKind) -> Result<Named, String> {
    match word {
        Word::Literal(path) => options::readable(path, kind),
        Word::Glob(pattern) => options::glob(pattern),
        Word::Dynamic { source, why, .. } => Err(format!("{source} is {}", why.name())),
    }
}

/// No bits that make a program run as its owner.
fn is_plain_mode(mode: &str) -> bool {
    let digits = mode.len() <= 3 && mode.bytes().all(|b| (b'0'..=b'7').contains(&b));
    let letters =
        mode.chars().all(|c| "ugoarwxX+-=,".contains(c)) && mode.contains(['+', '-', '=']);
    !mode.is_empty() && (digits || letters)
}
