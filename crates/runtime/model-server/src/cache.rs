//! The prompt cache, simulated: which prefixes were written, which a request can read again.
//!
//! A request is a row of blocks: tools, then system, then messages, with cache markers taken out.
//! A marker writes an entry for the prefix that ends at its block. When reading, each marker looks
//! for an entry at its own block and at the 19 before it; the longest prefix found wins.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::reply::ReplyUsage;
use crate::script::UsageRule;

const LOOK_BACK: usize = 20;
const MOST_ENTRIES: usize = 100_000;
const MOST_IDEAL: usize = 1_000_000;
/// What one picture weighs, whatever its bytes.
const PICTURE_BYTES: u64 = 6400;

/// The blocks of one request, each with the hash and the weight of all up to it.
#[derive(Debug, Default)]
pub(crate) struct CacheRow {
    blocks: Vec<CachedPrefix>,
    /// Tokens below which this model's provider caches nothing.
    minimum: u64,
}

#[derive(Debug, Clone, Copy)]
struct CachedPrefix {
    hash: u64,
    bytes: u64,
    marker: Option<Ttl>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ttl {
    FiveMinutes,
    OneHour,
}

impl Ttl {
    fn time(self) -> Duration {
        match self {
            Self::FiveMinutes => Duration::from_secs(300),
            Self::OneHour => Duration::from_secs(3600),
        }
    }
}

impl CacheRow {
    pub fn of(request: &Value) -> Self {
        let mut row = Weigher::default();
        row.hasher.write(text(request, "model").as_bytes());
        for tool in list(request, "tools") {
            row.block("tool", tool);
        }
        match request.get("system") {
            Some(Value::Array(blocks)) => {
                blocks.iter().for_each(|block| row.block("system", block))
            }
            Some(whole @ Value::String(_)) => row.string("system", whole),
            _ => {}
        }
        // A change of these reaches every message, but neither tools nor system; they weigh nothing.
        let weight = row.bytes;
        for setting in ["thinking", "tool_choice"] {
            if let Some(value) = request.get(setting) {
                row.value(value, 0);
            }
        }
        row.bytes = weight;
        for message in list(request, "messages") {
            let role = text(message, "role");
            match message.get("content") {
                Some(Value::Array(blocks)) => {
                    blocks.iter().for_each(|block| row.block(role, block))
                }
                Some(whole @ Value::String(_)) => row.string(role, whole),
                _ => {}
            }
        }
        // One marker for the whole request stands on its last block.
        if let Some(control) = request.get("cache_control").filter(|control| control.is_object())
            && let Some(last) = row.blocks.last_mut()
        {
            last.marker = last.marker.or(Some(ttl(control)));
        }
        Self { blocks: row.blocks, minimum: minimum(text(request, "model")) }
    }

    fn is_long_enough(&self, prefix: &CachedPrefix, rule: &UsageRule) -> bool {
        tokens(prefix.bytes, rule) >= rule.cache_minimum.unwrap_or(self.minimum)
    }

    pub fn tokens(&self, rule: &UsageRule) -> u64 {
        tokens(self.blocks.last().map(|last| last.bytes).unwrap_or_default(), rule)
    }
}

/// The smallest prefix that is cached, by the family of the model.
fn minimum(model: &str) -> u64 {
    const LARGE: [&str; 9] = [
        "opus-4-5",
        "opus-4-6",
        "opus-4-7",
        "opus-4-8",
        "opus-5",
        "fable",
        "haiku-4-5",
        "haiku-4-6",
        "haiku-5",
    ];
    const MIDDLE: [&str; 4] = ["3-haiku", "3-5-haiku", "sonnet-4-6", "sonnet-5"];
    let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
    match model {
        _ if is(&LARGE) => 4096,
        _ if is(&MIDDLE) => 2048,
        _ => 1024,
    }
}

fn tokens(bytes: u64, rule: &UsageRule) -> u64 {
    (bytes as f64 * rule.input_per_byte) as u64
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn ttl(control: &Value) -> Ttl {
    if text(control, "ttl") == "1h" { Ttl::OneHour } else { Ttl::FiveMinutes }
}

#[derive(Default)]
struct Weigher {
    hasher: DefaultHasher,
    bytes: u64,
    marker: Option<Ttl>,
    blocks: Vec<CachedPrefix>,
}

impl Weigher {
    fn block(&mut self, role: &str, block: &Value) {
        self.hasher.write(role.as_bytes());
        self.value(block, 2);
        self.end();
    }

    /// A string is the short form of one text block and must weigh and hash like it.
    fn string(&mut self, role: &str, whole: &Value) {
        self.hasher.write(role.as_bytes());
        self.hasher.write_u8(b'{');
        for (key, value) in [("type", &Value::from("text")), ("text", whole)] {
            self.field(key, value, 0);
        }
        self.hasher.write_u8(b'}');
        self.end();
    }

    fn end(&mut self) {
        let prefix = CachedPrefix {
            hash: self.hasher.finish(),
            bytes: self.bytes,
            marker: self.marker.take(),
        };
        self.blocks.push(prefix);
    }

    /// Hashes and weighs a value; markers are noticed and left out in that many levels of blocks.
    fn value(&mut self, value: &Value, levels: u8) {
        match value {
            Value::Object(fields) => {
                if text(value, "type") == "base64" && fields.contains_key("media_type") {
                    return self.picture(value);
                }
                self.hasher.write_u8(b'{');
                for (key, held) in fields {
                    if levels > 0 && key == "cache_control" {
                        if held.is_object() {
                            self.marker = Some(ttl(held));
                        }
                        continue;
                    }
                    // Inputs and schemas are data: a key of that name in them is no marker.
                    let below = if key == "content" { levels.saturating_sub(1) } else { 0 };
                    self.field(key, held, below);
                }
                self.hasher.write_u8(b'}');
            }
            Value::Array(items) => {
                self.hasher.write_u8(b'[');
                items.iter().for_each(|item| self.value(item, levels));
                self.hasher.write_u8(b']');
            }
            Value::String(text) => self.bytes_of(b'"', text.as_bytes()),
            other => self.bytes_of(b'0', other.to_string().as_bytes()),
        }
    }

    fn field(&mut self, key: &str, value: &Value, levels: u8) {
        self.bytes_of(b':', key.as_bytes());
        self.value(value, levels);
    }

    fn picture(&mut self, source: &Value) {
        self.hasher.write(text(source, "data").as_bytes());
        self.hasher.write(text(source, "media_type").as_bytes());
        self.bytes += PICTURE_BYTES;
    }

    fn bytes_of(&mut self, kind: u8, bytes: &[u8]) {
        // The length keeps ("ab", "c") apart from ("a", "bc").
        self.hasher.write_u8(kind);
        self.hasher.write_usize(bytes.len());
        self.hasher.write(bytes);
        self.bytes += bytes.len() as u64;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: HashMap<u64, CacheEntry>,
    /// What a client would find that had marked every block of every request, and how long.
    ideal: HashMap<u64, Instant>,
}

#[derive(Debug, Clone, Copy)]
struct CacheEntry {
    ttl: Ttl,
    until: Instant,
}

impl Cache {
    /// The usage of a request that is going to be answered; writes what it writes.
    pub fn charge(&mut self, row: &CacheRow, rule: &UsageRule, now: Instant) -> ReplyUsage {
        let total = row.tokens(rule);
        if !rule.cache {
            return ReplyUsage { input: total, ..ReplyUsage::default() };
        }
        self.entries.retain(|_, entry| entry.until > now);
        let cacheable =
            |prefix: &CachedPrefix| prefix.marker.is_some() && row.is_long_enough(prefix, rule);
        let markers: Vec<usize> =
            (0..row.blocks.len()).filter(|at| row.blocks.get(*at).is_some_and(cacheable)).collect();
        let hit = markers.iter().filter_map(|marker| self.look_back(row, *marker)).max();
        let read = self.read(row, hit, rule, now);
        let mut usage = ReplyUsage { cache_read: read, ..ReplyUsage::default() };
        let mut reached = read;
        for prefix in markers.iter().filter_map(|at| row.blocks.get(*at)) {
            let Some(ttl) = prefix.marker else { continue };
            let here = tokens(prefix.bytes, rule).max(reached);
            match ttl {
                Ttl::FiveMinutes => usage.cache_write_5m += here - reached,
                Ttl::OneHour => usage.cache_write_1h += here - reached,
            }
            reached = here;
            // What is there keeps the lifetime it was paid for: a mark that writes nothing changes none.
            let entry = self.entries.entry(prefix.hash).or_insert(CacheEntry { ttl, until: now });
            entry.until = now + entry.ttl.time();
        }
        if self.entries.len() > MOST_ENTRIES {
            self.entries.clear();
        }
        usage.input = total.saturating_sub(reached);
        usage
    }

    /// The tokens an ideal client would read: the longest prefix that this request shares with any before it, however
    /// many marks that takes and however far they are apart. Minimum sizes and lifetimes hold for it, too.
    pub fn ideal(&mut self, row: &CacheRow, rule: &UsageRule, now: Instant) -> u64 {
        if !rule.cache {
            return 0;
        }
        self.ideal.retain(|_, until| *until > now);
        let long_enough = |prefix: &&CachedPrefix| row.is_long_enough(prefix, rule);
        let known = |prefix: &&CachedPrefix| self.ideal.contains_key(&prefix.hash);
        let read = row.blocks.iter().rev().filter(long_enough).find(known);
        let read = read.map_or(0, |prefix| tokens(prefix.bytes, rule));
        let long = row.blocks.iter().any(|prefix| prefix.marker == Some(Ttl::OneHour));
        let life = if long { Ttl::OneHour } else { Ttl::FiveMinutes }.time();
        if self.ideal.len() > MOST_IDEAL {
            self.ideal.clear();
        }
        for prefix in row.blocks.iter().filter(long_enough) {
            let until = self.ideal.entry(prefix.hash).or_insert(now);
            *until = (*until).max(now + life);
        }
        read
    }

    fn look_back(&self, row: &CacheRow, marker: usize) -> Option<usize> {
        let first = (marker + 1).saturating_sub(LOOK_BACK);
        (first..=marker)
            .rev()
            .find(|at| row.blocks.get(*at).is_some_and(|p| self.entries.contains_key(&p.hash)))
    }

    /// The tokens of the prefix found; reading keeps its entry alive.
    fn read(&mut self, row: &CacheRow, hit: Option<usize>, rule: &UsageRule, now: Instant) -> u64 {
        let Some(prefix) = hit.and_then(|at| row.blocks.get(at)) else { return 0 };
        if let Some(entry) = self.entries.get_mut(&prefix.hash) {
            entry.until = now + entry.ttl.time();
        }
        tokens(prefix.bytes, rule)
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
