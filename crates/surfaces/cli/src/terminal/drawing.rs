//! What stands on the screen behind a prompt. Pure: it says what to write.

use super::line::Line;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// A place on the screen, counted from where the prompt begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    row: usize,
    column: usize,
}

impl Place {
    fn after(mut self, text: &str, columns: usize) -> Place {
        for c in text.chars() {
            let width = c.width().unwrap_or(0);
            if self.column + width > columns {
                self = Place { row: self.row + 1, column: 0 };
            }
            self.column += width;
            if self.column >= columns {
                self = Place { row: self.row + 1, column: 0 };
            }
        }
        self
    }
}

/// What stands on the screen behind the prompt.
pub struct Drawing {
    /// The last line of the prompt.
    prompt: String,
    /// The terminal moves its cursor when told.
    obeys: bool,
    text: String,
    /// None: where the prompt ends.
    cursor: Option<Place>,
}

impl Drawing {
    pub fn new(prompt: &str, obeys: bool) -> Self {
        let prompt = prompt.rsplit('\n').next().unwrap_or_default().to_owned();
        Drawing { prompt, obeys, text: String::new(), cursor: None }
    }

    /// What to write so that the screen shows this line.
    pub fn update(&mut self, line: &Line, columns: usize) -> String {
        let start = self.start(columns);
        let (front, back) = line.shown();
        let at = start.after(&front, columns);
        let end = at.after(&back, columns);
        let text = front + &back;
        let cursor = self.cursor.unwrap_or(start);
        let is_behind = back.is_empty() && cursor == start.after(&self.text, columns);
        let mut out = String::new();
        match text.strip_prefix(self.text.as_str()) {
            Some(more) if is_behind => out.push_str(more),
            Some("") if !self.obeys => return out,
            _ if !self.obeys => {
                let _ = write!(out, "\n{}{text}", self.prompt);
            }
            Some("") => {
                self.cursor = Some(at);
                return moved(cursor, at);
            }
            _ => {
                let _ = write!(out, "{}\u{1b}[J{text}", moved(cursor, start));
            }
        }
        // A line that just fills the screen leaves the cursor beside it: it is sent to where we count it.
        if end.column == 0 && !out.is_empty() && end != start {
            out.push('\n');
        }
        if self.obeys {
            out.push_str(&moved(end, at));
        }
        self.text = text;
        self.cursor = Some(if self.obeys { at } else { end });
        out
    }

    /// The prompt and the line once more, where nothing of them stands.
    pub fn again(&mut self, line: &Line, columns: usize) -> String {
        self.text.clear();
        self.cursor = None;
        self.prompt.clone() + &self.update(line, columns)
    }

    /// From the cursor to behind everything that was drawn.
    pub fn leave(&mut self, columns: usize) -> String {
        let start = self.start(columns);
        let (cursor, end) = (self.cursor.unwrap_or(start), start.after(&self.text, columns));
        self.cursor = Some(end);
        if self.obeys { moved(cursor, end) } else { String::new() }
    }

    fn start(&self, columns: usize) -> Place {
        Place::default().after(&self.prompt, columns)
    }
}

fn moved(from: Place, to: Place) -> String {
    let mut out = String::new();
    if from == to {
        return out;
    }
    let _ = match from.row.cmp(&to.row) {
        std::cmp::Ordering::Greater => write!(out, "\u{1b}[{}A", from.row - to.row),
        std::cmp::Ordering::Less => write!(out, "\u{1b}[{}B", to.row - from.row),
        std::cmp::Ordering::Equal => Ok(()),
    };
    out.push('\r');
    if to.column > 0 {
        let _ = write!(out, "\u{1b}[{}C", to.column);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::keys::Key;
    use super::*;

    /// A terminal that is as simple as can be: rows of cells and a cursor.
    struct Grid {
        rows: Vec<Vec<char>>,
        row: usize,
        column: usize,
        columns: usize,
    }

    impl Grid {
        fn new(columns: usize) -> Self {
            Grid { rows: vec![Vec::new()], row: 0, column: 0, columns }
        }

        fn put(&mut self, c: char) {
            let width = c.width().unwrap_or(0);
            // It wraps when something more is written, not before.
            if self.column + width > self.columns {
                (self.row, self.column) = (self.row + 1, 0);
            }
            while self.rows.len() <= self.row {
                self.rows.push(Vec::new());
            }
            let cells = &mut self.rows[self.row];
            cells.resize(cells.len().max(self.column + width), ' ');
            cells[self.column] = c;
            cells[self.column + 1..self.column + width].fill('\0');
            self.column += width;
        }

        fn write(&mut self, text: &str) {
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\n' => {
                        // With the carriage return that the terminal adds.
                        (self.row, self.column) = (self.row + 1, 0);
                        while self.rows.len() <= self.row {
                            self.rows.push(Vec::new());
                        }
                    }
                    '\r' => self.column = 0,
                    '\u{1b}' => {
                        assert_eq!(chars.next(), Some('['));
                        let rest: String = chars.by_ref().take_while_inclusive_letter().collect();
                        let (number, letter) = rest.split_at(rest.len() - 1);
                        let number: usize = number.parse().unwrap_or(1);
                        match letter {
                            "A" => self.row -= number,
                            "B" => self.row += number,
                            "C" => self.column += number,
                            "J" => {
                                self.rows.truncate(self.row + 1);
                                self.rows[self.row].truncate(self.column);
                            }
                            other => panic!("{other}"),
                        }
                    }
                    c => self.put(c),
                }
            }
        }

        fn text(&self) -> Vec<String> {
            let row = |cells: &Vec<char>| -> String {
                cells.iter().filter(|c| **c != '\0').collect::<String>().trim_end().to_owned()
            };
            let mut rows: Vec<String> = self.rows.iter().map(row).collect();
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
            rows
        }
    }

    trait UpToLetter: Iterator<Item = char> {
        fn take_while_inclusive_letter(&mut self) -> std::vec::IntoIter<char> {
            let mut taken = Vec::new();
            for c in self {
                taken.push(c);
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
            taken.into_iter()
        }
    }

    impl<I: Iterator<Item = char>> UpToLetter for I {}

    /// After every key the screen shows the line as if it had just been written, with the cursor where the next
    /// character would go.
    #[test]
    fn the_screen_shows_the_line_after_every_key() {
        let mut seed = 7u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let keys = [
            Key::Char('a'),
            Key::Char('b'),
            Key::Char('中'),
            Key::Char(' '),
            Key::Char('e'),
            Key::Paste("x\ny".into()),
            Key::Paste("word".into()),
            Key::Backspace,
            Key::Delete,
            Key::Left,
            Key::Left,
            Key::Right,
            Key::Home,
            Key::End,
            Key::WordLeft,
            Key::EraseWord,
            Key::EraseToEnd,
        ];
        for columns in [5, 8, 13, 80] {
            let (mut grid, mut line) = (Grid::new(columns), Line::default());
            let mut drawing = Drawing::new("first\n> ", true);
            grid.write("> ");
            for _ in 0..400 {
                let key = &keys[random(keys.len())];
                line.key(key);
                grid.write(&drawing.update(&line, columns));
                let mut fresh = Grid::new(columns);
                let (front, back) = line.shown();
                fresh.write(&format!("> {front}{back}"));
                assert_eq!(grid.text(), fresh.text(), "{columns} {key:?} {:?}", line.text());
                let at = Place::default().after("> ", columns).after(&front, columns);
                let seen = Place { row: grid.row, column: grid.column };
                assert_eq!(seen, at, "{columns} {key:?} {:?}", line.text());
            }
        }
    }

    #[test]
    fn a_terminal_that_cannot_move_its_cursor_gets_no_commands() {
        let mut drawing = Drawing::new("> ", false);
        let mut line = Line::of("abc");
        assert_eq!(drawing.update(&line, 80), "abc");
        line.key(&Key::Left);
        assert_eq!(drawing.update(&line, 80), "");
        line.key(&Key::Backspace);
        assert_eq!(drawing.update(&line, 80), "\n> ac");
        line.key(&Key::End);
        line.key(&Key::Char('d'));
        assert_eq!(drawing.update(&line, 80), "d");
    }
}
