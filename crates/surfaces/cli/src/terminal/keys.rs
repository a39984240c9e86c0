//! Bytes of a terminal become keys. Pure: what is not understood is passed over, never typed.

/// Bytes of one paste, and of one line.
pub const MOST: usize = 10 * 1024 * 1024;

const ESCAPE: u8 = 0x1b;
/// What ends a paste that the terminal brackets.
const PASTE_END: &[u8] = b"\x1b[201~";
/// Bytes of the parameters of an escape sequence that are kept.
const MOST_PARAMETERS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// A pasted text, whatever lines it has.
    Paste(String),
    /// A paste beyond the limit; nothing of it is kept.
    TooLong,
    Enter,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    EraseWord,
    EraseToStart,
    EraseToEnd,
    /// Ctrl+D.
    EndOfInput,
    /// Ctrl+Z.
    Suspend,
}

#[derive(Default)]
enum State {
    #[default]
    Plain,
    Escape,
    /// After `ESC [`, with its parameters so far.
    Control(Vec<u8>),
    /// After `ESC O`: one byte follows.
    Single,
    /// After `ESC [ [`, by which the Linux console begins its function keys: one byte is passed over.
    Skip,
    /// Inside a bracketed paste; so many bytes of its end have been seen.
    Paste(Vec<u8>, usize),
}

#[derive(Default)]
pub struct Keys {
    state: State,
    /// The beginning of a character of several bytes.
    partial: Vec<u8>,
}

impl Keys {
    pub fn push(&mut self, byte: u8) -> Vec<Key> {
        let mut keys = Vec::new();
        self.state = match std::mem::take(&mut self.state) {
            State::Plain => self.plain(byte, &mut keys),
            State::Escape => self.escape(byte, &mut keys),
            State::Control(parameters) => self.control(parameters, byte, &mut keys),
            State::Single => {
                keys.extend(movement(byte, false));
                State::Plain
            }
            State::Skip => State::Plain,
            State::Paste(text, matched) => paste(text, matched, byte, &mut keys),
        };
        keys
    }

    fn plain(&mut self, byte: u8, keys: &mut Vec<Key>) -> State {
        let continues = matches!(byte, 0x80..=0xbf);
        if !self.partial.is_empty() && !continues {
            self.partial.clear();
            keys.push(Key::Char(char::REPLACEMENT_CHARACTER));
        }
        let key = match byte {
            ESCAPE => return State::Escape,
            b'\r' | b'\n' => Key::Enter,
            0x7f | 0x08 => Key::Backspace,
            0x01 => Key::Home,
            0x02 => Key::Left,
            0x04 => Key::EndOfInput,
            0x05 => Key::End,
            0x06 => Key::Right,
            0x0b => Key::EraseToEnd,
            0x0e => Key::Down,
            0x10 => Key::Up,
            0x15 => Key::EraseToStart,
            0x17 => Key::EraseWord,
            0x1a => Key::Suspend,
            b'\t' => Key::Char('\t'),
            0x00..=0x1f => return State::Plain,
            _ => {
                keys.extend(self.character(byte));
                return State::Plain;
            }
        };
        keys.push(key);
        State::Plain
    }

    fn character(&mut self, byte: u8) -> Option<Key> {
        self.partial.push(byte);
        let c = match std::str::from_utf8(&self.partial) {
            Ok(text) => text.chars().next()?,
            // The rest of it is still to come.
            Err(error) if error.error_len().is_none() => return None,
            Err(_) => char::REPLACEMENT_CHARACTER,
        };
        self.partial.clear();
        (!c.is_control()).then_some(Key::Char(c))
    }

    fn escape(&mut self, byte: u8, keys: &mut Vec<Key>) -> State {
        match byte {
            b'[' => return State::Control(Vec::new()),
            b'O' => return State::Single,
            ESCAPE => return State::Escape,
            b'\r' | b'\n' => keys.push(Key::Enter),
            b'b' => keys.push(Key::WordLeft),
            b'f' => keys.push(Key::WordRight),
            0x7f | 0x08 => keys.push(Key::EraseWord),
            // With Alt, which means nothing here.
            _ => {}
        }
        State::Plain
    }

    fn control(&mut self, mut parameters: Vec<u8>, byte: u8, keys: &mut Vec<Key>) -> State {
        match byte {
            b'[' if parameters.is_empty() => State::Skip,
            0x20..=0x3f => {
                if parameters.len() < MOST_PARAMETERS {
                    parameters.push(byte);
                }
                State::Control(parameters)
            }
            0x40..=0x7e => match (parameters.as_slice(), byte) {
                (b"200", b'~') => State::Paste(Vec::new(), 0),
                (number, b'~') => {
                    keys.extend(match number {
                        b"1" | b"7" => Some(Key::Home),
                        b"4" | b"8" => Some(Key::End),
                        b"3" => Some(Key::Delete),
                        _ => None,
                    });
                    State::Plain
                }
                (modifiers, letter) => {
                    keys.extend(movement(letter, !modifiers.is_empty()));
                    State::Plain
                }
            },
            // The sequence was cut off: what follows is typed.
            _ => self.plain(byte, keys),
        }
    }
}

fn movement(letter: u8, with_modifier: bool) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if with_modifier => Key::WordRight,
        b'D' if with_modifier => Key::WordLeft,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        _ => return None,
    })
}

fn paste(mut text: Vec<u8>, matched: usize, byte: u8, keys: &mut Vec<Key>) -> State {
    if PASTE_END.get(matched) == Some(&byte) {
        if matched + 1 < PASTE_END.len() {
            return State::Paste(text, matched + 1);
        }
        keys.push(if text.len() > MOST { Key::TooLong } else { Key::Paste(clean(&text)) });
        return State::Plain;
    }
    // One byte more than the limit shows that it was exceeded.
    let room = (MOST + 1).saturating_sub(text.len());
    text.extend(PASTE_END.iter().take(matched.min(room)));
    if byte == ESCAPE {
        return State::Paste(text, 1);
    }
    if text.len() <= MOST {
        text.push(byte);
    }
    State::Paste(text, 0)
}

/// Line ends as everybody writes them, and nothing that a terminal would obey.
fn clean(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        bytes.iter().flat_map(|byte| keys.push(*byte)).collect()
    }

    fn typed(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn text_is_typed_whatever_its_bytes() {
        assert_eq!(keys("grüße 中 🦀".as_bytes()), typed("grüße 中 🦀"));
        assert_eq!(keys(b"caf\xe9 x"), typed("caf\u{fffd} x"));
        assert_eq!(keys(b"a\xffb"), typed("a\u{fffd}b"));
        assert_eq!(keys(b"\xf0\x9f\r"), [Key::Char('\u{fffd}'), Key::Enter]);
        assert_eq!(keys("\u{9b}".as_bytes()), [], "a control character is not typed");
    }

    #[test]
    fn every_key_of_a_keyboard_is_a_key_or_nothing() {
        for (bytes, expected) in [
            ("\r", vec![Key::Enter]),
            ("\n", vec![Key::Enter]),
            ("\x7f", vec![Key::Backspace]),
            ("\x1b[A\x1b[B\x1b[C\x1b[D", vec![Key::Up, Key::Down, Key::Right, Key::Left]),
            ("\x1bOA\x1bOD\x1bOH\x1bOF", vec![Key::Up, Key::Left, Key::Home, Key::End]),
            ("\x1b[H\x1b[F\x1b[1~\x1b[4~", vec![Key::Home, Key::End, Key::Home, Key::End]),
            ("\x1b[3~\x1b[3;5~", vec![Key::Delete]),
            ("\x1b[1;5C\x1b[1;5D\x1bb\x1bf", {
                vec![Key::WordRight, Key::WordLeft, Key::WordLeft, Key::WordRight]
            }),
            // F1 to F5, page keys, a mouse report, focus, the answer to a query, Alt+x, shift+tab.
            ("\x1bOP\x1b[[A\x1b[15~\x1b[5~\x1b[6~", vec![]),
            ("\x1b[<0;10;10M\x1b[I\x1b[O\x1b[?62;c\x1bx\x1b[Z", vec![]),
            ("\x1b[12", vec![]),
            ("\x1b[12\r", vec![Key::Enter]),
            ("\x1b\x1b[A", vec![Key::Up]),
            ("\x01\x05\x0b\x15\x17", {
                vec![Key::Home, Key::End, Key::EraseToEnd, Key::EraseToStart, Key::EraseWord]
            }),
            ("\x00\x07\x0c\x1c", vec![]),
        ] {
            assert_eq!(keys(bytes.as_bytes()), expected, "{bytes:?}");
        }
        let long = format!("\x1b[{}~a", "1".repeat(1000));
        assert_eq!(keys(long.as_bytes()), typed("a"));
    }

    #[test]
    fn a_paste_is_one_key() {
        let pasted = |text: &str| vec![Key::Paste(text.to_owned())];
        assert_eq!(keys(b"\x1b[200~one\rtwo\r\nthree\n\x1b[201~"), pasted("one\ntwo\nthree\n"));
        // Escape sequences in it are neither obeyed nor kept, and an end that is none ends nothing.
        assert_eq!(keys(b"\x1b[200~a\x1b[Ab\x1b[20\x1b[201~"), pasted("a[Ab[20"));
        assert_eq!(keys(b"\x1b[200~\x1b\x1b[201~\r"), [pasted(""), vec![Key::Enter]].concat());
        assert_eq!(keys(b"\x1b[201~x"), typed("x"), "an end without a beginning");
    }

    #[test]
    fn a_paste_is_bounded() {
        let paste =
            |bytes: usize| [b"\x1b[200~".to_vec(), vec![b'x'; bytes], PASTE_END.to_vec()].concat();
        assert!(matches!(keys(&paste(MOST)).as_slice(), [Key::Paste(text)] if text.len() == MOST));
        assert_eq!(keys(&paste(MOST + 1)), [Key::TooLong]);
    }
}
