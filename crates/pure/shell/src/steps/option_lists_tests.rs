use super::{cautions, lists};
use ostler_policy::script::Word;
use std::collections::HashSet;

fn places(line: &str) -> Vec<Option<usize>> {
    let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.into())).collect();
    let name = line.split(' ').next().unwrap_or_default();
    cautions(name, &words).unwrap().into_iter().map(|caution| caution.word).collect()
}

#[test]
fn words_are_read_as_the_program_reads_them() {
    for (line, expected) in [
        ("curl -sSL https://h", &[][..]),
        ("curl -sSLo x https://h", &[Some(1)]),
        ("curl -so /dev/null https://h", &[]),
        ("curl -o/dev/null https://h", &[]),
        ("curl --output=/dev/null https://h", &[]),
        ("curl --output x https://h", &[Some(1)]),
        ("curl --silen https://h", &[Some(1)]),
        ("curl -H -x https://h", &[Some(2)]),
        ("curl -- -x", &[]),
        ("wget -qO- https://h", &[]),
        ("wget -qOx https://h", &[Some(1)]),
        ("tar xzf x.tgz", &[]),
        ("tar xfP x.tgz", &[Some(1)]),
        ("tar -xzf x.tgz -C d", &[]),
        ("docker run --rm -it img ls --privileged", &[]),
        ("docker run --rm --privileged img", &[Some(3)]),
        ("ssh h ls -F", &[]),
        ("ssh h -F x", &[Some(2)]),
        ("gcc -O2 -Wall -o x x.c", &[]),
        ("gcc -Wl,-z x.c", &[Some(1)]),
        ("x86_64-linux-gnu-gcc-13 @x", &[Some(1)]),
        ("psql -tAc 1", &[]),
        ("psql -tA", &[None]),
        ("sqlite3 x.db", &[None]),
        ("make -j8 V=1 SHELL=x", &[Some(3)]),
        ("git commit -am x", &[]),
        ("git commit -S", &[Some(2)]),
        ("git bundle create x", &[]),
        ("git bundle create --output x", &[Some(3)]),
    ] {
        assert_eq!(places(line), expected, "{line}");
    }
}

#[test]
fn no_command_is_listed_twice() {
    let mut seen = HashSet::new();
    for command in lists().flat_map(|list| list.commands) {
        assert!(seen.insert(*command), "{command}");
    }
    assert!(seen.len() > 200, "{}", seen.len());
}

/// An entry that no word can match is a mistake in the list.
#[test]
fn entries_are_well_formed() {
    for list in lists() {
        for entry in list.plain.split_ascii_whitespace() {
            let option = entry.strip_prefix('!').unwrap_or(entry);
            assert!(option.starts_with('-') && option.len() > 1, "{entry} of {:?}", list.commands);
        }
    }
}
