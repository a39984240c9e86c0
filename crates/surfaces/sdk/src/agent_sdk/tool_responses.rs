//! Results of calls as data, with the fields that programs for Claude Code look for. What our own tools tell stays beside
//! them.

use ostler::ToolKind;
use serde_json::{Map, Value, json};

/// A call that has succeeded.
pub(super) struct ToolResponse<'a> {
    pub kind: ToolKind,
    pub input: &'a Value,
    /// Text, or blocks.
    pub content: &'a Value,
    pub detail: Option<&'a Value>,
}

impl ToolResponse<'_> {
    pub fn value(&self) -> Value {
        let text = plain_text(self.content);
        let fields = match self.kind {
            ToolKind::Runs => Some(self.printed(&text)),
            ToolKind::Reads => self.file_read(&text).or_else(|| self.search(&text)),
            ToolKind::Edits => self.file_changed(),
            ToolKind::Delegates => Some(self.agent()),
            ToolKind::Undeclared => return self.blocks(),
            _ => None,
        };
        match (fields, self.detail) {
            (Some(Value::Object(mut fields)), Some(Value::Object(own))) => {
                for (name, value) in own {
                    fields.entry(name.as_str()).or_insert_with(|| value.clone());
                }
                Value::Object(fields)
            }
            (Some(fields), _) => fields,
            (None, Some(detail)) => detail.clone(),
            (None, None) => text.into(),
        }
    }

    fn printed(&self, text: &str) -> Value {
        // A note that there is no output is not output.
        let text = if self.told("bytes") == 0 { "" } else { text };
        let mut fields = json!({
            "stdout": text, "stderr": "", "interrupted": false, "isImage": false,
        });
        if let job @ Value::String(_) = self.told("job") {
            fields["backgroundTaskId"] = job.clone();
        }
        fields
    }

    fn told(&self, name: &str) -> &Value {
        self.detail.map_or(&Value::Null, |detail| &detail[name])
    }

    fn file_read(&self, text: &str) -> Option<Value> {
        let path = self.told("path").as_str()?;
        let first = self.told("first").as_u64()?;
        let lines: Vec<&str> = text.lines().filter_map(|line| Some(numbered(line)?.1)).collect();
        Some(json!({
            "type": "text",
            "file": {
                "filePath": path, "content": lines.join("\n"), "numLines": self.told("lines"),
                "startLine": first, "totalLines": self.told("total"),
            },
        }))
    }

    fn search(&self, text: &str) -> Option<Value> {
        let files = self.told("files").as_u64()?;
        let is_name = |line: &&str| files > 0 && !line.is_empty() && !line.starts_with('[');
        let names: Vec<&str> = text.lines().filter(is_name).collect();
        Some(json!({
            "numFiles": files, "filenames": names, "content": text,
            "truncated": self.told("more").as_bool().unwrap_or_default(),
        }))
    }

    fn file_changed(&self) -> Option<Value> {
        let path = self.told("path").as_str()?;
        let input = |name: &str| self.input.get(name).and_then(Value::as_str);
        let patch = self.told("diff").as_str().map(hunks).unwrap_or_default();
        if let (Some(old), Some(new)) = (input("old_string"), input("new_string")) {
            let all = self.input.get("replace_all").and_then(Value::as_bool).unwrap_or_default();
            return Some(json!({
                "filePath": path, "oldString": old, "newString": new, "originalFile": null,
                "structuredPatch": patch, "userModified": false, "replaceAll": all,
            }));
        }
        let content = input("content")?;
        let kind = match self.told("created").as_bool() {
            Some(true) => "create",
            _ => "update",
        };
        Some(json!({
            "type": kind, "filePath": path, "content": content, "structuredPatch": patch,
            "originalFile": null,
        }))
    }

    fn agent(&self) -> Value {
        let is_job = self.told("job").is_string();
        let status = if is_job { "async_launched" } else { "completed" };
        json!({
            "status": status, "agentId": self.told("session"),
            "agentType": self.input.get("subagent_type"), "prompt": self.input.get("prompt"),
            "content": self.blocks(),
        })
    }

    fn blocks(&self) -> Value {
        match (self.content, self.detail) {
            (Value::String(text), _) => json!([{ "type": "text", "text": text }]),
            (blocks, _) => blocks.clone(),
        }
    }
}

pub(super) fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A line that begins with its number and a tab.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once('\t')?;
    Some((number.trim().parse().ok()?, text))
}

/// The hunks of a difference whose lines have a sign, a number and a tab.
fn hunks(diff: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut open: Vec<(char, u64, &str)> = Vec::new();
    for line in diff.lines() {
        let sign = line.chars().next().filter(|sign| " +-".contains(*sign));
        let parsed = sign.and_then(|sign| {
            let (number, text) = numbered(line.get(1..)?)?;
            Some((sign, number, text))
        });
        match parsed {
            Some(line) => open.push(line),
            None => all.extend(hunk(&std::mem::take(&mut open))),
        }
    }
    all.extend(hunk(&open));
    all
}

fn hunk(lines: &[(char, u64, &str)]) -> Option<Value> {
    let (_, first, _) = lines.first()?;
    let count = |other: char| lines.iter().filter(|(sign, ..)| *sign != other).count();
    let texts: Vec<String> = lines.iter().map(|(sign, _, text)| format!("{sign}{text}")).collect();
    let mut fields = Map::new();
    fields.insert("oldStart".into(), (*first).into());
    fields.insert("oldLines".into(), count('+').into());
    fields.insert("newStart".into(), (*first).into());
    fields.insert("newLines".into(), count('-').into());
    fields.insert("lines".into(), texts.into());
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: ToolKind, input: Value, content: Value, detail: Option<Value>) -> Value {
        ToolResponse { kind, input: &input, content: &content, detail: detail.as_ref() }.value()
    }

    #[test]
    fn commands_have_streams_beside_what_we_tell() {
        let told = value(ToolKind::Runs, json!({}), json!("out"), Some(json!({"exit_code": 0})));
        assert_eq!((&told["stdout"], &told["stderr"]), (&json!("out"), &json!("")));
        assert_eq!((&told["interrupted"], &told["exit_code"]), (&json!(false), &json!(0)));
        let silent =
            value(ToolKind::Runs, json!({}), json!("(no output)"), Some(json!({"bytes": 0})));
        assert_eq!(silent["stdout"], "");
    }

    #[test]
    fn a_file_that_was_read_has_its_content_without_numbers() {
        let detail = json!({"path": "/w/a", "first": 2, "lines": 2, "total": 9});
        let shown = json!("2\tone\n3\ttwo\n[Lines 2–3 of 9 are shown.]");
        let told = value(ToolKind::Reads, json!({}), shown, Some(detail));
        let file = json!({
            "filePath": "/w/a", "content": "one\ntwo", "numLines": 2, "startLine": 2, "totalLines": 9,
        });
        assert_eq!((&told["type"], &told["file"]), (&json!("text"), &file));
    }

    #[test]
    fn a_search_lists_what_it_found_and_no_notes() {
        let found = |text: &str, files: u64| {
            let detail = json!({"files": files, "more": false});
            value(ToolKind::Reads, json!({}), json!(text), Some(detail))["filenames"].clone()
        };
        assert_eq!(found("a.txt\nb.txt\n[2 files left out]", 2), json!(["a.txt", "b.txt"]));
        assert_eq!(found("No file matches *.", 0), json!([]));
    }

    #[test]
    fn changes_say_what_was_there_and_what_is_there() {
        let input = json!({"file_path": "a", "old_string": "one", "new_string": "uno"});
        let diff = "- 1\tone\n+ 1\tuno\n  2\ttwo";
        let detail = json!({"path": "/w/a", "replacements": 1, "diff": diff});
        let told = value(ToolKind::Edits, input, json!("Updated"), Some(detail));
        assert_eq!((&told["filePath"], &told["newString"]), (&json!("/w/a"), &json!("uno")));
        let patch = json!([{
            "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
            "lines": ["-one", "+uno", " two"],
        }]);
        assert_eq!(told["structuredPatch"], patch);
        let input = json!({"file_path": "b", "content": "x"});
        let detail = json!({"path": "/w/b", "created": true});
        let told = value(ToolKind::Edits, input, json!("Created"), Some(detail));
        assert_eq!((&told["type"], &told["content"]), (&json!("create"), &json!("x")));
    }

    #[test]
    fn agents_and_tools_of_servers_give_blocks() {
        let blocks = json!([{"type": "text", "text": "found"}]);
        let input = json!({"subagent_type": "Explore", "prompt": "p"});
        let detail = json!({"agent": "a-1", "session": "s"});
        let told = value(ToolKind::Delegates, input, blocks.clone(), Some(detail));
        assert_eq!((&told["status"], &told["agentId"]), (&json!("completed"), &json!("s")));
        assert_eq!((&told["content"], &told["agentType"]), (&blocks, &json!("Explore")));
        let told = value(ToolKind::Undeclared, json!({}), json!("found"), None);
        assert_eq!(told, blocks);
        assert_eq!(value(ToolKind::Plans, json!({}), json!("noted"), None), json!("noted"));
    }
}
