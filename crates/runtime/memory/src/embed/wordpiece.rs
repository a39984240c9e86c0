//! Text → numbers of word pieces, as BERT's uncased vocabulary wants it.

use std::collections::HashMap;

/// Longer words are unknown, as in the model's training.
const LONGEST_WORD: usize = 100;

pub struct WordPieces {
    ids: HashMap<Box<str>, u32>,
    unknown: u32,
    first: u32,
    last: u32,
}

impl WordPieces {
    /// One piece a line, its number is the line's.
    pub fn new(vocabulary: &str) -> Option<Self> {
        let mut ids = HashMap::with_capacity(1 << 15);
        for (line, id) in vocabulary.lines().zip(0u32..) {
            ids.insert(Box::from(line), id);
        }
        let id = |name: &str| ids.get(name).copied();
        let (unknown, first, last) = (id("[UNK]")?, id("[CLS]")?, id("[SEP]")?);
        Some(WordPieces { ids, unknown, first, last })
    }

    /// At most `most` pieces, the two marks included.
    pub fn read(&self, text: &str, most: usize) -> Vec<u32> {
        let mut out = vec![self.first];
        for word in words(text) {
            if out.len() + 1 >= most {
                break;
            }
            self.word(&word, &mut out);
        }
        out.truncate(most.saturating_sub(1));
        out.push(self.last);
        out
    }

    /// The longest piece first, again and again; a word with a part that is no piece is unknown as a whole.
    fn word(&self, word: &str, out: &mut Vec<u32>) {
        let begin = out.len();
        let mut rest = word;
        let mut piece = String::new();
        if word.chars().count() > LONGEST_WORD {
            return out.push(self.unknown);
        }
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let found = ends.into_iter().find_map(|end| {
                let head = rest.get(..end)?;
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str("##");
                }
                piece.push_str(head);
                Some((*self.ids.get(piece.as_str())?, end))
            });
            let Some((id, end)) = found else {
                out.truncate(begin);
                return out.push(self.unknown);
            };
            out.push(id);
            rest = rest.get(end..).unwrap_or_default();
        }
    }
}

/// Lower case, without accents; every sign that is no letter or digit is a word of its own, and so is a Han character.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_whitespace() || c.is_control() {
            flush(&mut word, &mut words);
        } else if is_han(c) || !c.is_alphanumeric() {
            // A mark that combines with the letter before it is an accent.
            if !matches!(c, '\u{300}'..='\u{36f}') {
                flush(&mut word, &mut words);
                words.push(c.to_string());
            }
        } else {
            word.push(plain(c));
        }
    }
    flush(&mut word, &mut words);
    words
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}')
}

/// Letters of European languages without their accents.
fn plain(c: char) -> char {
    const TABLE: [(&str, char); 20] = [
        ("àáâãäåāăą", 'a'),
        ("çćĉċč", 'c'),
        ("ďđ", 'd'),
        ("èéêëēĕėęě", 'e'),
        ("ĝğġģ", 'g'),
        ("ĥ", 'h'),
        ("ìíîïĩīĭį", 'i'),
        ("ĵ", 'j'),
        ("ķ", 'k'),
        ("ĺļľ", 'l'),
        ("ñńņň", 'n'),
        ("òóôõöōŏő", 'o'),
        ("ŕŗř", 'r'),
        ("śŝşšș", 's'),
        ("ţťț", 't'),
        ("ùúûüũūŭůűų", 'u'),
        ("ŵ", 'w'),
        ("ýÿŷ", 'y'),
        ("źżž", 'z'),
        ("й", 'и'),
    ];
    if c.is_ascii() {
        return c;
    }
    TABLE.iter().find(|(letters, _)| letters.contains(c)).map_or(c, |(_, plain)| *plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces() -> WordPieces {
        let words = [
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "the", "cafe", "_", ".",
            "中", "a", "##b",
        ];
        WordPieces::new(&words.join("\n")).unwrap()
    }

    #[test]
    fn table() {
        for (text, expected) in [
            ("", vec![2, 3]),
            ("unaffable", vec![2, 4, 5, 6, 3]),
            ("The Café.", vec![2, 7, 8, 10, 3]),
            ("cafe\u{301}", vec![2, 8, 3]),
            ("the_the", vec![2, 7, 9, 7, 3]),
            ("中中", vec![2, 11, 11, 3]),
            ("unq the", vec![2, 1, 7, 3]),
            ("ab abb", vec![2, 12, 13, 12, 13, 13, 3]),
        ] {
            assert_eq!(pieces().read(text, 128), expected, "{text}");
        }
        assert_eq!(pieces().read("the the the the", 4), [2, 7, 7, 3]);
    }

    proptest! {
        #[test]
        fn bounded_and_marked(text in "\\PC{0,200}", most in 2usize..20) {
            let read = pieces().read(&text, most);
            prop_assert!(read.len() <= most);
            prop_assert_eq!(read.first(), Some(&2));
            prop_assert_eq!(read.last(), Some(&3));
        }
    }
}
