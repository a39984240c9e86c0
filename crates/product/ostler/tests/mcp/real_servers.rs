//! Servers that others wrote. `OSTLER_TEST_MCP` names the directory in which `scripts/test` installed them.

use crate::ground::{results, turn, with_servers};
use crate::support::{PATIENCE, World, becomes, open};
use ostler::mcp_servers::{ServerConfig, ServerScope, ServerTransport};
use ostler_model_server::{Script, text};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A file of the installation, if it is there.
fn installed(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("OSTLER_TEST_MCP").map(PathBuf::from);
    let found = folder.map(|folder| folder.join(file)).filter(|path| path.exists());
    if found.is_none() {
        println!("SKIPPED: a real MCP server ({file} is not installed; run scripts/test)");
    }
    found
}

fn stdio(
    name: &str,
    command: &str,
    args: &[&str],
    env: &[(&str, &str)],
    reads: &Path,
) -> ServerConfig {
    let transport = ServerTransport::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: None,
    };
    let mut config = ServerConfig::new(name, transport, ServerScope::User);
    config.reach.read = vec![reads.to_owned()];
    config
}

/// Calls one tool in a session and gives its result.
async fn called(world: &World, config: ServerConfig, tool: &str) -> String {
    let mut options = with_servers(world.on_disk(), vec![config]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    options.session.environment = vec![("PATH".into(), path)];
    let session = open(options);
    turn(&session, "call it").await;
    let status = session.mcp_status().remove(0);
    assert_eq!(status.error, None, "{status:?}");
    assert!(status.tools.iter().any(|it| tool.ends_with(&it.name)), "{status:?}");
    session.close("other").await;
    results(world)
}

fn world(tool: &str, input: Value) -> World {
    World::new(Script::new().answer(text("I call.").call(tool, input)).answer(text("Done.")))
}

const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

pub async fn everything_over_stdio() {
    let Some(program) = installed(EVERYTHING) else { return };
    let world = world("mcp__all__echo", json!({"message": "over stdio"}));
    let folder = program.ancestors().nth(4).unwrap();
    let config = stdio("all", "node", &[program.to_str().unwrap()], &[], folder);
    let result = called(&world, config, "mcp__all__echo").await;
    assert!(result.contains("over stdio"), "{result}");
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub async fn everything_over_streamable_http() {
    let Some(program) = installed(EVERYTHING) else { return };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("node");
    command.arg(program).arg("streamableHttp").env("PORT", port.to_string());
    let _server = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    becomes("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    let world = world("mcp__all__echo", json!({"message": "over http"}));
    let (url, headers) = (format!("http://127.0.0.1:{port}/mcp"), Vec::new());
    let transport = ServerTransport::Http { url, headers };
    let mut config = ServerConfig::new("all", transport, ServerScope::User);
    config.start_limit = PATIENCE;
    let result = called(&world, config, "mcp__all__echo").await;
    assert!(result.contains("over http"), "{result}");
}

pub async fn the_file_system_reads_the_project() {
    let program = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    let Some(program) = installed(program) else { return };
    let world = world("mcp__files__read_text_file", json!({"path": "note.txt"}));
    std::fs::write(world.project().join("note.txt"), "written by a person").unwrap();
    let folder = program.ancestors().nth(4).unwrap();
    let config = stdio("files", "node", &[program.to_str().unwrap(), "."], &[], folder);
    let result = called(&world, config, "mcp__files__read_text_file").await;
    assert!(result.contains("written by a person"), "{result}");
}

pub async fn git_shows_a_status() {
    let Some(package) = installed("pip/mcp_server_git") else { return };
    let path = package.parent().unwrap().to_str().unwrap().to_owned();
    let world = world("mcp__git__git_status", json!({"repo_path": "."}));
    let made = Command::new("git").args(["init", "-q"]).current_dir(world.project()).status();
    assert!(made.unwrap().success());
    let args = ["-m", "mcp_server_git", "--repository", "."];
    let env = [("PYTHONPATH", path.as_str()), ("GIT_PYTHON_REFRESH", "quiet")];
    let config = stdio("git", &interpreter(), &args, &env, Path::new(&path));
    let result = called(&world, config, "mcp__git__git_status").await;
    assert!(result.contains("No commits yet"), "{result}");
}

/// The interpreter itself: a program in between may lie in a home, which servers do not see.
fn interpreter() -> String {
    let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    String::from_utf8(said.unwrap().stdout).unwrap().trim().to_owned()
}
