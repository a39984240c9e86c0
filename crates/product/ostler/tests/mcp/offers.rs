//! Prompts and resources of servers, in what a person types.

use crate::ground::{listed, results, scripted, with_servers};
use crate::support::{World, finished, open};
use ostler::{Prompt, Session, Terminal};
use ostler_model_server::{Script, text};
use serde_json::json;

async fn typed(session: &Session, prompt: &str) {
    let end = finished(session.ask(Prompt::typed(prompt)).unwrap()).await;
    assert_eq!(end.terminal, Terminal::Completed, "{prompt}");
}

pub async fn a_prompt_of_a_server_is_a_slash_command() {
    let world = World::new(Script::new().answer(text("Hello.")).answer(text("Hello.")));
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    // The first prompt makes the server known.
    typed(&session, "hello").await;
    typed(&session, "/mcp__files__greet Ada very warmly").await;
    let told = world.told(1);
    assert!(told.contains("greet with"), "{told}");
    assert!(told.contains("Ada") && told.contains("very warmly"), "{told}");
    session.close("other").await;
}

pub async fn a_resource_is_named_in_a_prompt() {
    let world = World::new(Script::new().answer(text("Hello.")));
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    typed(&session, "look at @files:note://one and @other:note://two").await;
    let told = world.told(0);
    assert_eq!(told.matches("what the resource says").count(), 1, "{told}");
    assert!(told.contains("note://one"), "{told}");
    session.close("other").await;
}

pub async fn resources_are_listed_and_read_where_a_server_has_some() {
    let list = text("I list.").call("ListMcpResources", json!({}));
    let read = json!({"server": "files", "uri": "note://one"});
    let script = Script::new().answer(text("Hello.")).answer(list);
    let script = script.answer(text("I read.").call("ReadMcpResource", read)).answer(text("Done."));
    let world = World::new(script);
    let session = open(world.on_disk());
    typed(&session, "hello").await;
    session.close("other").await;
    let (config, _) = scripted("files", &[]);
    let session = open(with_servers(world.on_disk(), vec![config]));
    typed(&session, "list and read").await;
    let requests = world.server.requests();
    let has_them = |at: usize| listed(&requests[at]).contains(&"ReadMcpResource".to_owned());
    assert!(!has_them(0) && has_them(1), "only with a server that has resources");
    let told = world.told(2);
    assert!(told.contains("files: note://one (one) The first note."), "{told}");
    assert!(results(&world).contains("what the resource says"), "{}", results(&world));
    session.close("other").await;
}
