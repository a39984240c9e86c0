//! The short story: a failing test is looked into, fixed and run again.

use super::place::Place;
use super::stage::Stage;
use anyhow::{Context, Result, bail};
use ostler::Host;
use ostler_model_server::ModelServer;
use ostler_profile::Environment;

const SCRIPT: &str = include_str!("../../../demo/short/script.yaml");
const PROMPT: &str = "The test fails. Find out why and fix it.";
pub const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../demo/short/project/README.md")),
    ("prices.txt", include_str!("../../../demo/short/project/prices.txt")),
    ("test.sh", include_str!("../../../demo/short/project/test.sh")),
    ("lib/total.sh", include_str!("../../../demo/short/project/lib/total.sh")),
];

pub async fn story(
    init: &ostler::Init,
    environment: &Environment,
    place: &Place,
    stage: &mut Stage,
) -> Result<()> {
    let server = ModelServer::start(stage.script(SCRIPT).context("the demo's script")?)?;
    let options = place.options(environment, server.url());
    let host = Host::open(init, options.host)?;
    let session = host.session(options.session)?;
    stage.open(&server.url(), &session)?;
    let turn = stage.turn(&session, PROMPT).await;
    session.close("other").await;
    host.close().await;
    turn?;
    let rejected = server.rejected();
    server.shutdown().await;
    // The demo is over when the work is done, not when the script has ended.
    if let Some(reason) = rejected.first() {
        bail!("the model server refused a request: {reason}");
    }
    if !place.read("lib/total.sh")?.contains("sum + price") {
        bail!("the file was not fixed");
    }
    Ok(())
}
