//! Which numbers of a log were not found, and why. Lines may stand in any order: a number counts as lost only when the
//! whole file has been read.

/// Complaints that are written out; the numbers of the rest are still listed.
pub(crate) const MAX_NOTICES: usize = 50;
/// Ranges of numbers in the last line.
const MAX_RANGES: usize = 200;
/// Gaps that a line further down may still fill. A log with more is not worth sorting.
const MAX_GAPS: usize = 100_000;

/// What stands where a record should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossPlace {
    /// These bytes are no record.
    Damaged { from: u64, to: u64 },
    /// Nothing: the next record follows at this byte.
    Missing { at: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    last: u64,
    place: LossPlace,
    /// How many complaints were made before it, to tell them in the order of the file.
    after: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// By number.
    gaps: Vec<Gap>,
    said: Vec<String>,
    more: u64,
    /// Numbers whose complaint was not written out.
    unsaid: Vec<(u64, u64)>,
}

impl Losses {
    /// A complaint that is known at once; `seq` is the entry that is lost by it, if one is.
    pub(crate) fn say(&mut self, line: String, seq: Option<u64>) {
        if self.said.len() < MAX_NOTICES {
            return self.said.push(line);
        }
        self.more += 1;
        if let Some(seq) = seq {
            self.unsaid.push((seq, seq));
        }
    }

    /// These numbers, higher than all before, have not come.
    pub(crate) fn gap(&mut self, first: u64, last: u64, place: LossPlace) {
        self.gaps.push(Gap { first, last, place, after: self.said.len() });
    }

    /// A record with a number that was passed over. False: it was there already.
    pub(crate) fn fill(&mut self, seq: u64) -> bool {
        if self.gaps.len() > MAX_GAPS {
            return false;
        }
        let at = self.gaps.partition_point(|gap| gap.last < seq);
        let Some(gap) = self.gaps.get(at).copied().filter(|gap| gap.first <= seq) else {
            return false;
        };
        let before = (gap.first < seq).then(|| Gap { last: seq - 1, ..gap });
        let after = (seq < gap.last).then(|| Gap { first: seq + 1, ..gap });
        self.gaps.splice(at..=at, before.into_iter().chain(after));
        true
    }

    pub(crate) fn into_notices(self) -> Vec<String> {
        let (mut notices, mut said) = (Vec::new(), self.said.into_iter().enumerate().peekable());
        let (mut more, mut unsaid) = (self.more, self.unsaid);
        for gap in &self.gaps {
            while let Some((_, line)) = said.next_if(|(at, _)| *at < gap.after) {
                notices.push(line);
            }
            if notices.len() < MAX_NOTICES {
                notices.push(gap.words());
            } else {
                more += 1;
                unsaid.push((gap.first, gap.last));
            }
        }
        notices.extend(said.map(|(_, line)| line));
        if more > 0 {
            notices.push(format!("and {more} more places like these{}", listed(unsaid)));
        }
        notices
    }
}

impl Gap {
    fn words(&self) -> String {
        let lost = range(self.first, self.last);
        match self.place {
            LossPlace::Damaged { from, to } => {
                format!("{lost} damaged (bytes {from}–{to}): skipped")
            }
            LossPlace::Missing { at } => format!("{lost} missing before byte {at}"),
        }
    }
}

fn listed(mut numbers: Vec<(u64, u64)>) -> String {
    if numbers.is_empty() {
        return String::new();
    }
    numbers.sort_unstable();
    let left = numbers.len().saturating_sub(MAX_RANGES);
    let words = numbers.iter().take(MAX_RANGES).map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    let lost: u64 = numbers.iter().map(|(first, last)| last - first + 1).sum();
    match left {
        0 => format!("; lost there: {words}"),
        _ => format!("; lost there: {words} and others, {lost} entries in all"),
    }
}

fn range(first: u64, last: u64) -> String {
    if first == last {
        format!("entry {first} is")
    } else {
        format!("entries {first}–{last} are")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_filled_from_either_end_and_in_the_middle() {
        let mut losses = Losses::default();
        losses.gap(3, 7, LossPlace::Missing { at: 10 });
        losses.gap(9, 9, LossPlace::Missing { at: 20 });
        assert!(losses.fill(3) && losses.fill(7) && losses.fill(5));
        assert!(!losses.fill(5) && !losses.fill(8) && !losses.fill(100) && !losses.fill(1));
        let expected = [
            "entry 4 is missing before byte 10",
            "entry 6 is missing before byte 10",
            "entry 9 is missing before byte 20",
        ];
        assert_eq!(losses.into_notices(), expected);
    }

    #[test]
    fn what_is_not_written_out_is_still_named() {
        let mut losses = Losses::default();
        for n in 0..60 {
            losses.gap(n * 10, n * 10 + 1, LossPlace::Missing { at: 0 });
        }
        let notices = losses.into_notices();
        assert_eq!(notices.len(), MAX_NOTICES + 1);
        assert!(
            notices[MAX_NOTICES]
                .starts_with("and 10 more places like these; lost there: 500–501, 510–511")
        );
    }
}
