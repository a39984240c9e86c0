//! The conversation in the layout that the SDKs read: one JSON object a line, each naming the one before it.

use super::transcript_entries::EntryList;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The subtype of a compaction.
pub(super) const BOUNDARY: &str = "compact_boundary";

/// Characters of a directory's name before it is cut and marked by a hash.
const LONGEST_NAME: usize = 200;

/// Where a session's transcript is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptPlace {
    /// The directory of the project's transcripts.
    pub folder: PathBuf,
    pub session: String,
}

impl TranscriptPlace {
    pub fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.jsonl", self.session))
    }

    /// The transcript of an agent that the session started, and what describes it.
    pub fn of_agent(&self, agent: &str) -> (PathBuf, PathBuf) {
        let folder = self.folder.join(&self.session).join("subagents");
        (
            folder.join(format!("agent-{agent}.jsonl")),
            folder.join(format!("agent-{agent}.meta.json")),
        )
    }
}

/// The directory for the transcripts of a working directory, below `projects`.
pub fn project_folder(claude_home: &Path, cwd: &Path) -> PathBuf {
    let whole = cwd.to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = whole.chars().map(plain).collect();
    let name = match name.len() > LONGEST_NAME {
        true => {
            let start = name.get(..LONGEST_NAME).unwrap_or(&name);
            format!("{start}-{}", base36(hash(&whole)))
        }
        false => name,
    };
    claude_home.join("projects").join(name)
}

/// The hash that readers compute over the UTF-16 units of a name.
fn hash(text: &str) -> u32 {
    let step = |hash: i32, unit: u16| {
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(unit))
    };
    text.encode_utf16().fold(0, step).unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Makes the lines of a transcript from frames.
pub struct Transcript {
    session: String,
    cwd: String,
    version: String,
    branch: String,
    /// The agent whose conversation it is; none: the session's own.
    agent: Option<String>,
    /// The last entry of the conversation.
    parent: Option<String>,
    last_prompt: Option<String>,
    /// The message of each turn that is on record, first turn first.
    prompts: Vec<String>,
    entries: EntryList,
    /// The summary of a compaction comes next.
    is_compacted: bool,
}

impl Transcript {
    pub fn new(session: &str, cwd: &Path, version: &str, branch: &str) -> Self {
        Transcript {
            session: session.to_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
            version: version.to_owned(),
            branch: branch.to_owned(),
            agent: None,
            parent: None,
            last_prompt: None,
            prompts: Vec::new(),
            entries: EntryList::default(),
            is_compacted: false,
        }
    }

    /// The transcript of an agent that this session started.
    #[must_use]
    pub fn of_agent(&self, agent: &str) -> Transcript {
        let made =
            Transcript::new(&self.session, Path::new(&self.cwd), &self.version, &self.branch);
        Transcript { agent: Some(agent.to_owned()), ..made }
    }

    /// Continues after what is on record. Lines that are no entries are passed over.
    pub fn follow(&mut self, lines: &str) {
        for entry in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let is_main = (entry["isSidechain"] == true) == self.agent.is_some();
            let kind = entry["type"].as_str().unwrap_or_default();
            let counts = match kind {
                "user" | "assistant" => true,
                "system" => entry["subtype"] == BOUNDARY,
                _ => false,
            };
            if let (Some(uuid), true, true) = (entry["uuid"].as_str(), is_main, counts) {
                if is_prompt(&entry) {
                    self.prompts.push(uuid.to_owned());
                }
                self.entries.add(uuid, &entry, self.prompts.len());
                self.parent = Some(uuid.to_owned());
            }
        }
    }

    pub fn session(&self) -> &str {
        &self.session
    }

    /// The turn, counted from 1, that an entry belongs to.
    pub fn turn_of(&self, uuid: &str) -> Option<u32> {
        let turn = self.entries.turn_of(uuid)?;
        u32::try_from(turn).ok().filter(|turn| *turn > 0)
    }

    pub fn turns(&self) -> u32 {
        u32::try_from(self.prompts.len()).unwrap_or(u32::MAX)
    }

    /// The conversation continues from its state before this turn.
    pub fn rewind(&mut self, turn: u32) {
        let keep = usize::try_from(turn.saturating_sub(1)).unwrap_or(usize::MAX);
        self.prompts.truncate(keep);
        self.entries.rewind(keep);
        self.parent = self.entries.newest().map(str::to_owned);
    }

    /// What a person, or the program, said: it begins a turn.
    pub fn prompt(&mut self, content: &Value, uuid: &str, at: &str, begins_turn: bool) -> Value {
        if begins_turn {
            self.prompts.push(uuid.to_owned());
        }
        if let Some(text) = content.as_str() {
            self.last_prompt = Some(text.to_owned());
        } else if let Some(Value::Array(blocks)) = Some(content) {
            self.last_prompt =
                blocks.iter().find_map(|block| block["text"].as_str()).map(str::to_owned);
        }
        let message = json!({ "role": "user", "content": content });
        self.entry("user", uuid, at, [("message", message), ("promptId", uuid.into())])
    }

    /// The entry for a frame that is part of this conversation; none for others.
    pub fn frame(&mut self, frame: &Value, at: &str) -> Option<Value> {
        let kind = match frame["type"].as_str()? {
            "assistant" => "assistant",
            "user" if frame["isReplay"] != true => "user",
            "system" if frame["subtype"] == BOUNDARY => return self.boundary(frame, at),
            _ => return None,
        };
        let is_own = frame["parent_tool_use_id"].is_null() == self.agent.is_none();
        let uuid = frame["uuid"].as_str().filter(|_| is_own)?;
        let uuid = uuid.to_owned();
        let mut more = vec![("message", frame["message"].clone())];
        for (name, field) in [("toolUseResult", "tool_use_result"), ("requestId", "request_id")] {
            if !frame[field].is_null() {
                more.push((name, frame[field].clone()));
            }
        }
        match (frame["isSynthetic"] == true, std::mem::take(&mut self.is_compacted)) {
            // Readers show it in the place of what it summarizes.
            (true, true) => {
                more.push(("isCompactSummary", true.into()));
                more.push(("isVisibleInTranscriptOnly", true.into()));
            }
            // Readers do not show it as something that a person said.
            (true, false) => more.push(("isMeta", true.into())),
            (false, _) => {}
        }
        if !frame["error"].is_null() {
            more.push(("error", frame["error"].clone()));
            more.push(("isApiErrorMessage", true.into()));
        }
        Some(self.entry(kind, &uuid, at, more))
    }

    /// A compaction: nobody reads on beyond it. What it kept is named, and not written again.
    fn boundary(&mut self, frame: &Value, at: &str) -> Option<Value> {
        let uuid = frame["uuid"].as_str().filter(|_| self.agent.is_none())?.to_owned();
        let told = &frame["compact_metadata"];
        let kept = usize::try_from(told["kept_messages"].as_u64().unwrap_or(0)).unwrap_or(0);
        let kept = self.entries.kept(kept, self.prompts.last().map(String::as_str));
        let metadata = json!({
            "trigger": told["trigger"], "preTokens": told["pre_tokens"],
            "postTokens": told["post_tokens"], "durationMs": told["duration_ms"],
            "cumulativeDroppedTokens": told["cumulative_dropped_tokens"],
            "preservedMessages": { "anchorUuid": uuid, "uuids": kept, "allUuids": kept },
        });
        let before = self.parent.take();
        self.is_compacted = true;
        let more = [
            ("subtype", BOUNDARY.into()),
            ("content", "Conversation compacted".into()),
            ("logicalParentUuid", before.into()),
            ("compactMetadata", metadata),
        ];
        Some(self.entry("system", &uuid, at, more))
    }

    /// What readers list a session by.
    pub fn last_prompt(&self) -> Option<Value> {
        let prompt = self.last_prompt.as_ref()?;
        Some(json!({
            "type": "last-prompt", "lastPrompt": prompt, "leafUuid": self.parent,
            "sessionId": self.session,
        }))
    }

    fn entry<'a>(
        &mut self,
        kind: &str,
        uuid: &str,
        at: &str,
        more: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Value {
        let parent = self.parent.replace(uuid.to_owned());
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("parentUuid", parent.into());
        put("isSidechain", self.agent.is_some().into());
        if let Some(agent) = &self.agent {
            put("agentId", agent.as_str().into());
        }
        put("userType", "external".into());
        put("cwd", self.cwd.as_str().into());
        put("sessionId", self.session.as_str().into());
        put("version", self.version.as_str().into());
        put("gitBranch", self.branch.as_str().into());
        put("entrypoint", "ostler".into());
        put("type", kind.into());
        for (name, value) in more {
            put(name, value);
        }
        put("uuid", uuid.into());
        put("timestamp", at.into());
        let entry = Value::Object(fields);
        self.entries.add(uuid, &entry, self.prompts.len());
        entry
    }
}

fn is_prompt(entry: &Value) -> bool {
    entry["type"] == "user" && !entry["promptId"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Taken from what the readers of the layout compute.
    #[test]
    fn a_directory_has_one_name() {
        let home = Path::new("/h/.claude");
        let folder = project_folder(home, Path::new("/home/me/My_Project.x"));
        assert_eq!(folder, Path::new("/h/.claude/projects/-home-me-My-Project-x"));
        assert_eq!(hash("hello"), 99_162_322);
        assert_eq!(base36(99_162_322), "1n1e4y");
        let long = format!("/{}", "a".repeat(300));
        let name = project_folder(home, Path::new(&long));
        let name = name.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("-aaaa") && name.len() > 201 && name.len() < 210, "{name}");
    }

    fn rig() -> Transcript {
        Transcript::new("s", Path::new("/w"), "1", "main")
    }

    #[test]
    fn entries_name_the_one_before_them_and_resume_where_they_ended() {
        let mut transcript = rig();
        let prompt = transcript.prompt(&json!("hi"), "u1", "t", true);
        assert_eq!(prompt["parentUuid"], Value::Null);
        let frame = json!({"type": "assistant", "uuid": "a1", "message": {"id": "m"}, "parent_tool_use_id": null});
        let answer = transcript.frame(&frame, "t").unwrap();
        assert_eq!(answer["parentUuid"], "u1");
        let of_agent = json!({"type": "assistant", "uuid": "a2", "parent_tool_use_id": "c"});
        assert_eq!(transcript.frame(&of_agent, "t"), None);
        assert_eq!(transcript.frame(&json!({"type": "system", "uuid": "x"}), "t"), None);
        let lines = format!("{prompt}\nnot json\n{answer}\n");
        let mut again = rig();
        again.follow(&lines);
        assert_eq!(again.prompt(&json!("more"), "u2", "t", true)["parentUuid"], "a1");
        assert_eq!((again.turn_of("u1"), again.turn_of("a1")), (Some(1), Some(1)));
        assert_eq!((again.turn_of("u2"), again.turn_of("zz")), (Some(2), None));
        again.rewind(2);
        assert_eq!(again.prompt(&json!("other"), "u3", "t", true)["parentUuid"], "a1");
        assert_eq!(again.turn_of("u2"), None);
    }

    /// The chain that readers follow begins at the boundary, and what comes after the summary is linked to it.
    #[test]
    fn a_compaction_begins_a_new_chain() {
        let mut transcript = rig();
        let frame = |kind: &str, uuid: &str, content: Value| json!({"type": kind, "uuid": uuid, "message": {"id": uuid, "content": content}, "parent_tool_use_id": null});
        let mut lines = vec![transcript.prompt(&json!("one"), "u1", "t", true)];
        lines.extend(transcript.frame(&frame("assistant", "a1", json!([])), "t"));
        lines.push(transcript.prompt(&json!("two"), "u2", "t", true));
        lines.extend(transcript.frame(&frame("assistant", "a2", json!([])), "t"));
        let boundary = json!({
            "type": "system", "subtype": BOUNDARY, "uuid": "b",
            "compact_metadata": {"trigger": "manual", "pre_tokens": 9, "kept_messages": 1},
        });
        let made = transcript.frame(&boundary, "t").unwrap();
        assert_eq!((&made["parentUuid"], &made["logicalParentUuid"]), (&Value::Null, &json!("a2")));
        assert_eq!(made["compactMetadata"]["trigger"], "manual");
        // The prompt of the turn stays, too.
        assert_eq!(made["compactMetadata"]["preservedMessages"]["uuids"], json!(["u2", "a2"]));
        let mut summary = frame("user", "s", json!("<summary>"));
        summary["isSynthetic"] = true.into();
        let told = transcript.frame(&summary, "t").unwrap();
        assert_eq!((&told["parentUuid"], &told["isMeta"]), (&json!("b"), &Value::Null));
        assert_eq!(told["isCompactSummary"], true);
        summary["uuid"] = "n".into();
        assert_eq!(transcript.frame(&summary, "t").unwrap()["isMeta"], true);
        lines.extend([made, told]);
        let mut again = rig();
        again.follow(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        assert_eq!(again.prompt(&json!("three"), "u3", "t", true)["parentUuid"], "s");
    }

    #[test]
    fn an_agent_has_a_conversation_of_its_own() {
        let mut agent = rig().of_agent("a7");
        let frame = |uuid: &str, parent: Value| json!({"type": "user", "uuid": uuid, "message": {}, "parent_tool_use_id": parent});
        assert_eq!(agent.frame(&frame("x", Value::Null), "t"), None);
        let first = agent.frame(&frame("a1", json!("c")), "t").unwrap();
        assert_eq!((&first["agentId"], &first["isSidechain"]), (&json!("a7"), &json!(true)));
        assert_eq!((&first["sessionId"], &first["parentUuid"]), (&json!("s"), &Value::Null));
        let mut again = rig().of_agent("a7");
        again.follow(&first.to_string());
        assert_eq!(again.frame(&frame("a2", json!("c")), "t").unwrap()["parentUuid"], "a1");
        let place = TranscriptPlace { folder: "/p".into(), session: "s".into() };
        assert_eq!(place.of_agent("a7").0, Path::new("/p/s/subagents/agent-a7.jsonl"));
    }

    #[test]
    fn the_last_prompt_is_what_a_session_is_listed_by() {
        let mut transcript = rig();
        assert_eq!(transcript.last_prompt(), None);
        transcript.prompt(&json!([{"type": "text", "text": "in blocks"}]), "u", "t", true);
        let last = transcript.last_prompt().unwrap();
        assert_eq!((&last["lastPrompt"], &last["leafUuid"]), (&json!("in blocks"), &json!("u")));
    }
}
