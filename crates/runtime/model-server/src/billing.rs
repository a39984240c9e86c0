//! The bill: what each answer cost, counted as a provider counts. It is made from what the server put on the wire, so
//! that a client which adds up the usage it was told must come to the same sum, to the token.

use std::collections::VecDeque;
use std::ops::AddAssign;
use std::time::Instant;

use crate::reply::{ReplyEnding, ReplyItem, Resolved, Response};

/// Rows that are kept; the sums continue.
const MOST_ROWS: usize = 65_536;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    /// Kept for five minutes.
    pub cache_write: f64,
    pub cache_write_1h: f64,
    pub cache_read: f64,
}

impl Prices {
    /// With the usual rates of the cache: a quarter more for writing, twice as much for an hour, a tenth for reading.
    pub fn new(input: f64, output: f64) -> Self {
        let (cache_write, cache_write_1h) = (input * 1.25, input * 2.0);
        Self { input, output, cache_write, cache_write_1h, cache_read: input * 0.1 }
    }

    pub(crate) fn all(&self) -> [f64; 5] {
        [self.input, self.output, self.cache_write, self.cache_write_1h, self.cache_read]
    }

    pub fn cost(&self, billed: &Billed) -> f64 {
        let each = [
            billed.input,
            billed.output,
            billed.cache_write_5m,
            billed.cache_write_1h,
            billed.cache_read,
        ];
        each.iter().zip(self.all()).map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }
}

/// Tokens, by what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Billed {
    pub input: u64,
    pub output: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub cache_read: u64,
}

impl Billed {
    /// All that was sent to the model.
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read
    }
}

impl AddAssign for Billed {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_write_5m += other.cache_write_5m;
        self.cache_write_1h += other.cache_write_1h;
        self.cache_read += other.cache_read;
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct BillRow {
    /// Of the request, as in `Recorded`.
    pub number: usize,
    /// The one that was asked.
    pub model: String,
    /// As the cache's clock had it.
    pub at: Instant,
    pub billed: Billed,
    /// None: the script has prices, but none for this model.
    pub cost: Option<f64>,
    /// Whether the answer was sent to its end.
    pub complete: bool,
    /// What an ideal client would have read from the cache.
    pub ideal_read: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Bill {
    rows: VecDeque<BillRow>,
    total: Billed,
    cost: f64,
    unpriced: u64,
    ideal_read: u64,
}

impl Bill {
    /// In the order in which the answers were made.
    pub fn rows(&self) -> impl Iterator<Item = &BillRow> {
        self.rows.iter()
    }

    /// Of one request; none if nothing is charged for it.
    pub fn row(&self, number: usize) -> Option<&BillRow> {
        self.rows.iter().rev().find(|row| row.number == number)
    }

    pub fn total(&self) -> Billed {
        self.total
    }

    /// The tokens of one model.
    pub fn of_model(&self, model: &str) -> Billed {
        let mut sum = Billed::default();
        self.rows().filter(|row| row.model == model).for_each(|row| sum += row.billed);
        sum
    }

    /// None if some model has no price.
    pub fn cost(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.cost)
    }

    /// The tokens an ideal client would have read from the cache in the same requests.
    pub fn ideal_read(&self) -> u64 {
        self.ideal_read
    }

    /// What was read from the cache as a share of what an ideal client would have read; 1 if that is nothing.
    pub fn reuse(&self) -> f64 {
        match self.ideal_read {
            0 => 1.0,
            ideal => self.total.cache_read as f64 / ideal as f64,
        }
    }

    pub(crate) fn add(
        &mut self,
        number: usize,
        model: &str,
        at: Instant,
        told: BillLine,
        ideal_read: u64,
        prices: &[(String, Prices)],
    ) {
        let BillLine { billed, complete } = told;
        let cost = prices_of(model, prices).map(|prices| prices.cost(&billed));
        self.total += billed;
        self.ideal_read += ideal_read;
        self.cost += cost.unwrap_or(0.0);
        self.unpriced += u64::from(cost.is_none());
        if self.rows.len() == MOST_ROWS {
            self.rows.pop_front();
        }
        let model = model.to_owned();
        self.rows.push_back(BillRow { number, model, at, billed, cost, complete, ideal_read });
    }
}

/// The longest beginning that fits wins; without any prices every model has the usual ones.
fn prices_of(model: &str, prices: &[(String, Prices)]) -> Option<Prices> {
    if prices.is_empty() {
        return Some(Prices::new(3.0, 15.0));
    }
    let fits = prices.iter().filter(|(prefix, _)| model.starts_with(prefix));
    fits.max_by_key(|(prefix, _)| prefix.len()).map(|(_, prices)| *prices)
}

/// What the client was told about the usage, by the events that reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BillLine {
    billed: Billed,
    complete: bool,
}

impl BillLine {
    /// None if the answer never began: that is not billed.
    pub(crate) fn by(response: &Response, resolved: &Resolved, stream: bool) -> Option<Self> {
        let has = |wanted: &str| {
            let named =
                |item: &ReplyItem| matches!(item, ReplyItem::Event { name, .. } if name == wanted);
            response.items.iter().any(named)
        };
        let (began, counted, complete) = match (stream, response.ending) {
            (_, ReplyEnding::Unanswered(_)) => return None,
            (true, _) => (has("message_start"), has("message_delta"), has("message_stop")),
            (false, ReplyEnding::Inside(_)) => return None,
            (false, _) => (true, true, true),
        };
        let usage = resolved.usage;
        let billed = Billed {
            input: usage.input,
            output: if counted { resolved.output_tokens } else { 1 },
            cache_write_5m: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            cache_read: usage.cache_read,
        };
        began.then_some(BillLine { billed, complete })
    }
}
