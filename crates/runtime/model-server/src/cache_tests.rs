use serde_json::json;

use super::*;

fn row(ttl: &str) -> CacheRow {
    let control = json!({"type": "ephemeral", "ttl": ttl});
    let block = json!({"type": "text", "text": "x".repeat(8000), "cache_control": control});
    CacheRow::of(&json!({"model": "m", "messages": [{"role": "user", "content": [block]}]}))
}

#[test]
fn entries_live_from_their_last_use() {
    let rule = UsageRule::default();
    let second = Duration::from_secs(1);
    for (ttl, life) in [("5m", 300), ("1h", 3600)] {
        let (mut cache, start) = (Cache::default(), Instant::now());
        let mut read = |at: u32| cache.charge(&row(ttl), &rule, start + second * at).cache_read;
        assert_eq!(read(0), 0, "{ttl}");
        assert_eq!(read(life - 1), 2003, "{ttl}: still alive");
        assert_eq!(read(2 * life - 2), 2003, "{ttl}: the use before kept it alive");
        assert_eq!(read(3 * life), 0, "{ttl}: nobody used it for too long");
    }
}

#[test]
fn data_named_like_a_marker_is_data() {
    let of = |control: Value| {
        let input = json!({"cache_control": control});
        let call = json!({"type": "tool_use", "id": "a", "name": "b", "input": input});
        CacheRow::of(&json!({"messages": [{"role": "assistant", "content": [call]}]}))
    };
    let (one, two) = (of(json!({"type": "ephemeral"})), of(json!({"type": "other"})));
    let (one, two) = (one.blocks.last().unwrap(), two.blocks.last().unwrap());
    assert!(one.marker.is_none());
    assert_ne!(one.hash, two.hash, "a change of data changes the prefix");
}

#[test]
fn neighbours_do_not_run_into_each_other() {
    let of = |one: &str, two: &str| {
        CacheRow::of(&json!({"messages": [{"role": "user", "content": [
            {"type": "text", "text": one}, {"type": "text", "text": two}]}]}))
    };
    let last = |row: CacheRow| row.blocks.last().unwrap().hash;
    assert_ne!(last(of("ab", "c")), last(of("a", "bc")));
}

/// Nothing is cached below the family's minimum, unless the script says another.
#[test]
fn the_minimum_is_the_familys() {
    let table = [
        ("m", 1024),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-1", 1024),
        ("claude-3-5-haiku-latest", 2048),
        ("claude-sonnet-4-6", 2048),
        ("claude-opus-4-5-20251101", 4096),
        ("claude-haiku-4-5", 4096),
    ];
    for (model, minimum) in table {
        // 8 bytes of field names besides the text; a quarter token each.
        let request = |tokens: usize| {
            let text = "x".repeat(tokens * 4 - 12);
            let block =
                json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
            let content = json!([{"role": "user", "content": [block]}]);
            CacheRow::of(&json!({"model": model, "messages": content}))
        };
        let rule = UsageRule::default();
        let write = |tokens: usize, rule: &UsageRule| {
            Cache::default().charge(&request(tokens), rule, Instant::now()).cache_write_5m
        };
        assert_eq!(write(minimum, &rule), minimum as u64, "{model}");
        assert_eq!(write(minimum - 1, &rule), 0, "{model}");
        let none = UsageRule { cache_minimum: Some(0), ..rule };
        assert_eq!(write(100, &none), 100, "{model}");
    }
}

fn conversation(blocks: usize, marks: &[usize]) -> CacheRow {
    let block = |n: usize| match marks.contains(&n) {
        true => {
            json!({"type": "text", "text": n.to_string().repeat(999), "cache_control": {"type": "ephemeral"}})
        }
        false => json!({"type": "text", "text": n.to_string().repeat(999)}),
    };
    let content: Vec<Value> = (0..blocks).map(block).collect();
    CacheRow::of(&json!({"model": "m", "messages": [{"role": "user", "content": content}]}))
}

/// Where the look-back does not reach, the real client reads nothing, the ideal one everything.
#[test]
fn an_ideal_client_needs_no_look_back() {
    let (rule, now) = (UsageRule::default(), Instant::now());
    let mut cache = Cache::default();
    let mut ask = |row: &CacheRow| {
        let ideal = cache.ideal(row, &rule, now);
        (cache.charge(row, &rule, now).cache_read, ideal)
    };
    let first = conversation(10, &[9]);
    assert_eq!(ask(&first), (0, 0));
    let size = first.tokens(&rule);
    assert_eq!(ask(&first), (size, size));
    // 19 blocks further on: the look-back just reaches. 20: it does not.
    assert_eq!(ask(&conversation(29, &[28])), (size, size));
    let far = ask(&conversation(80, &[79]));
    assert_eq!(far, (0, conversation(29, &[]).tokens(&rule)));
}

#[test]
fn an_ideal_client_has_no_more_time_than_others() {
    let (rule, start) = (UsageRule::default(), Instant::now());
    let mut cache = Cache::default();
    let row = conversation(10, &[]);
    let mut at = |seconds| cache.ideal(&row, &rule, start + Duration::from_secs(seconds));
    assert_eq!(at(0), 0);
    assert_eq!(at(299), row.tokens(&rule));
    assert_eq!(at(598), row.tokens(&rule), "each use keeps it alive");
    assert_eq!(at(900), 0);
    let short =
        CacheRow::of(&json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
    assert_eq!((cache.ideal(&short, &rule, start), cache.ideal(&short, &rule, start)), (0, 0));
}
