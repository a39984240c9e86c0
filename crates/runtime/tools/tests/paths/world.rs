//! One case: its directories on the disk, what happens meanwhile, and the call.

use crate::policy;
use crate::support::{Desk, text};
use ostler_core::permission::Workspace;
use ostler_exec::{Executor, SupervisorProgram};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    pub tool: String,
    pub setup: Vec<String>,
    pub input: Value,
    pub expect: String,
    pub accept: Vec<String>,
    pub during: Option<String>,
    pub result: Option<String>,
}

pub struct World {
    pub ws: PathBuf,
    pub out: PathBuf,
    pub desk: Desk,
    pub workspace: Workspace,
}

impl World {
    pub fn new(case: &Case) -> World {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let base = dir.path().canonicalize().unwrap();
        let (ws, out, home) = (base.join("ws"), base.join("out"), base.join("home"));
        for folder in [&ws, &out, &home] {
            fs::create_dir(folder).unwrap();
        }
        let mut opened = ws.clone();
        let mut later = Vec::new();
        for line in &case.setup {
            match line.as_str() {
                "(root opened as $WSLINK -> $WS)" => {
                    symlink(&ws, base.join("wslink")).unwrap();
                    opened = base.join("wslink");
                }
                "(started in /)" => opened = "/".into(),
                "(agent root = $WS/wt)" => {
                    opened = ws.join("wt");
                    fs::create_dir(&opened).unwrap();
                    fs::create_dir(ws.join("main")).unwrap();
                }
                line => match line.strip_suffix(" (after start)") {
                    Some(line) => later.push(line),
                    None => shell(&fill(line, &ws, &out, &home), &home),
                },
            }
        }
        // As the program does before anything else.
        let cwd = opened.canonicalize().unwrap();
        let workspace = Workspace {
            roots: vec![cwd.clone()],
            cwd,
            home: home.clone(),
            tools: ostler_tools::known_tools(),
            ..Workspace::default()
        };
        let desk = Desk::at(
            dir,
            Arc::default(),
            workspace.clone(),
            policy::base(&workspace),
            Executor::new(SupervisorProgram::this_binary([crate::SUPERVISE])),
            environment(&home),
        );
        for line in later {
            shell(&fill(line, &ws, &out, &home), &home);
        }
        World { ws, out, desk, workspace }
    }

    /// What comes of the call, and what the model reads.
    pub async fn play(&self, case: &Case) -> (&'static str, String) {
        let (tool, input) = self.call(case);
        if tool == "Edit" || tool == "Write" {
            self.read_first(&input).await;
        }
        if case.id == "path-race-003" {
            fs::write(self.ws.join("f"), "newer\n").unwrap();
        }
        let access = match self.desk.access(tool, input.clone()) {
            Ok(access) => access,
            Err(output) => return ("error", text(&output)),
        };
        match policy::verdict(tool, &access, &self.workspace) {
            "allow" => {}
            other => return (other, String::new()),
        }
        self.meanwhile(case);
        let output = self.desk.run(tool, input, access).await;
        // How a command ends is its own affair.
        let failed = output.is_error && tool != "Bash";
        (if failed { "error" } else { "allow" }, text(&output))
    }

    pub fn call(&self, case: &Case) -> (&'static str, Value) {
        let text = |key: &str| {
            let value = case.input.get(key).and_then(Value::as_str);
            value.map(|value| value.replace("$WS", self.ws.to_str().unwrap()))
        };
        match case.tool.as_str() {
            "read" => ("Read", json!({"file_path": text("path")})),
            "write" => ("Write", json!({"file_path": text("path"), "content": text("content")})),
            "edit" => (
                "Edit",
                json!({"file_path": text("path"), "old_string": text("old"), "new_string": text("new")}),
            ),
            "revert" => ("Revert", json!({"file_path": text("path")})),
            "grep" => (
                "Grep",
                json!({"pattern": text("pattern"), "path": text("path"), "output_mode": "content"}),
            ),
            "glob" => ("Glob", json!({"pattern": text("pattern")})),
            "bash" => ("Bash", json!({"command": text("command")})),
            other => panic!("no tool {other}"),
        }
    }

    /// A model changes what it has read.
    async fn read_first(&self, input: &Value) {
        let read = json!({"file_path": input["file_path"]});
        let Ok(access) = self.desk.access("Read", read.clone()) else { return };
        if policy::verdict("Read", &access, &self.workspace) == "allow" {
            self.desk.run("Read", read, access).await;
        }
    }

    /// Between the judgement and the act.
    fn meanwhile(&self, case: &Case) {
        match case.id.as_str() {
            "path-race-001" => {
                let away = self.ws.join("away");
                symlink(&self.out, &away).unwrap();
                renameat_with(CWD, &away, CWD, self.ws.join("d"), RenameFlags::EXCHANGE).unwrap();
            }
            "path-race-003" => {}
            "path-race-005" => {
                fs::write(self.out.join("s"), "theirs\n").unwrap();
                fs::remove_file(self.ws.join("f")).unwrap();
                symlink(self.out.join("s"), self.ws.join("f")).unwrap();
            }
            "path-race-007" => fs::remove_dir(self.ws.join("d")).unwrap(),
            id => assert!(case.during.is_none(), "{id} needs something to happen"),
        }
    }
}

fn fill(line: &str, ws: &Path, out: &Path, home: &Path) -> String {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    line.replace("$WS", &text(ws)).replace("$OUT", &text(out)).replace("$HOME", &text(home))
}

fn shell(line: &str, home: &Path) {
    let mut command = Command::new("bash");
    command.args(["-c", line]).env_clear().envs(environment(home)).current_dir(home);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), home.into()),
        ("LANG".into(), "C.UTF-8".into()),
    ]
}
