//! The long story: a plan, a skill, a window that is summarized, a detail that is looked up again, and a second session
//! that remembers the first.

use super::place::Place;
use super::stage::Stage;
use super::{books, claims};
use crate::commands::memory;
use crate::output::usage::thousands;
use anyhow::{Context, Result, anyhow, bail};
use ostler::{Host, Network, Options, PriceBook, Receipt, Session, SessionId, Status};
use ostler_model_server::ModelServer;
use ostler_profile::Environment;

const SCRIPT: &str = include_str!("../../../demo/long/script.yaml");
const PRICES: &str = include_str!("../../../demo/long/prices.toml");
pub const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", include_str!("../../../demo/long/project/AGENTS.md")),
    ("README.md", include_str!("../../../demo/long/project/README.md")),
    ("CHANGES.md", include_str!("../../../demo/long/project/CHANGES.md")),
    ("test.sh", include_str!("../../../demo/long/project/test.sh")),
    ("compare.sh", include_str!("../../../demo/long/project/compare.sh")),
    ("lib/discount.sh", include_str!("../../../demo/long/project/lib/discount.sh")),
    ("lib/invoice.sh", include_str!("../../../demo/long/project/lib/invoice.sh")),
    ("data/orders.txt", include_str!("../../../demo/long/project/data/orders.txt")),
    ("data/contract.txt", include_str!("../../../demo/long/project/data/contract.txt")),
];

/// Tokens; so few that it fills up while somebody watches.
const WINDOW: u64 = 15_000;

const WHY: &str = "Some invoices are a cent short. Plan the work and find out why. \
    Always run `bash test.sh` before you say that something works.";
const SINCE: &str = "Since when? Look through the journals in data/.";
const MEND: &str = "Fix it, and list the orders that were wrong in CHANGES.md.";
const AGAIN: &str = "May I round the discount on every line of an invoice again?";

pub async fn story(
    init: &ostler::Init,
    environment: &Environment,
    place: &Place,
    stage: &mut Stage,
) -> Result<()> {
    let server = ModelServer::start(stage.script(SCRIPT).context("the demo's script")?)?;
    let options = options(place, environment, &server)?;
    let first = first_session(init, &options, place, &server, stage).await?;
    what_is_kept(place, stage).await?;
    second_session(init, &options, &server, stage).await?;
    stage
        .part(
            "6 · What fills the window",
            "The window at the end of the first session, as `ostler context` shows it; token counts are estimates.",
        )
        .await?;
    books::window(init, stage, &options, &first)?;
    stage
        .part("7 · What it cost", "As `ostler cost --by purpose` and `--by tool` show it, at $3 a million tokens in and $15 out.")
        .await?;
    books::spent(stage, place, &server.bill())?;
    if let Some(reason) = server.rejected().first() {
        bail!("the model server refused a request: {reason}");
    }
    server.shutdown().await;
    Ok(())
}

fn options(place: &Place, environment: &Environment, server: &ModelServer) -> Result<Options> {
    let mut options = place.options(environment, server.url());
    options.session.settings.context.window = Some(WINDOW);
    options.host.prices = PriceBook::parse(PRICES)
        .map_err(|(line, why)| anyhow!("the demo's prices.toml:{line}: {why}"))?;
    Ok(options)
}

async fn first_session(
    init: &ostler::Init,
    options: &Options,
    place: &Place,
    server: &ModelServer,
    stage: &mut Stage,
) -> Result<SessionId> {
    let host = Host::open(init, options.host.clone())?;
    let session = host.session(options.session.clone())?;
    stage.open(&server.url(), &session)?;
    stage.tell(&format!(
        "The model's window is set to {} tokens, so that it fills up while you watch.",
        thousands(WINDOW)
    ))?;
    let told = the_work(&session, place, server, stage).await;
    // What is worth knowing later is kept now.
    session.close("other").await;
    host.close().await;
    told.map(|()| session.id().clone())
}

async fn the_work(
    session: &Session,
    place: &Place,
    server: &ModelServer,
    stage: &mut Stage,
) -> Result<()> {
    stage
        .part(
            "1 · A plan, a skill, the cause",
            "The project has a failing test, and an AGENTS.md with rules for the model.",
        )
        .await?;
    let turn = stage.turn(session, WHY).await?;
    let plan = session.plan();
    let open = plan.tasks.iter().filter(|task| task.status != Status::Completed).count();
    claims::cause_was_found(&turn, open)?;
    stage
        .part(
            "2 · The window fills up",
            "The model reads three long files. Before a request gets too long, Ostler summarizes the conversation.",
        )
        .await?;
    let turn = stage.turn(session, SINCE).await?;
    let (receipt, cached) = claims::was_summed_up(&turn, server, WHY)?;
    stage.tell(&said_again(receipt, place))?;
    stage.tell(&format!(
        "Verified: the next request contains the goal, the decision, the plan, the rules and the files, but not the wrong orders. {cached} % of the summary request came from the cache."
    ))?;
    stage
        .part(
            "3 · Nothing is lost",
            "The model continues as decided. The detail it now lacks is in the session's log, and Recall finds it.",
        )
        .await?;
    let turn = stage.turn(session, MEND).await?;
    claims::was_fixed(&turn, &session.plan(), place)
}

fn said_again(receipt: &Receipt, place: &Place) -> String {
    let names: Vec<&str> = receipt.attached.iter().map(|name| place.name(name)).collect();
    format!("Sent again after the summary: {}.", names.join(", "))
}

async fn what_is_kept(place: &Place, stage: &mut Stage) -> Result<()> {
    let network = Network { proxies: ostler::ProxySettings::default(), ca_file: None };
    let memories = ostler::memories(&place.home(), &place.project, None, network);
    let kept = memories.list(None, 10)?;
    claims::was_kept(&kept)?;
    stage
        .part(
            "4 · The session ends",
            "Fixed rules saved what is worth knowing later, without a model. `ostler memory list` shows it:",
        )
        .await?;
    kept.iter().try_for_each(|one| stage.screen.line(&memory::line(one, stage.paint)))
}

async fn second_session(
    init: &ostler::Init,
    options: &Options,
    server: &ModelServer,
    stage: &mut Stage,
) -> Result<()> {
    stage
        .part(
            "5 · Another session in the same project",
            "It has seen nothing of the first session. Matching notes are added to the prompt.",
        )
        .await?;
    let before = server.requests().len();
    let host = Host::open(init, options.host.clone())?;
    let session = host.session(options.session.clone())?;
    let turn = stage.turn(&session, AGAIN).await;
    session.close("other").await;
    host.close().await;
    let turn = turn?;
    let requests = server.requests();
    let notes = claims::notes(requests.get(before..).unwrap_or_default())?;
    claims::was_remembered(&turn)?;
    stage.tell("The request began with these notes:")?;
    notes.iter().try_for_each(|line| stage.tell(&format!("  {line}")))
}

/// Long files, of which nobody needs a copy.
pub fn journals(place: &Place) -> Result<()> {
    (1..=3).try_for_each(|n| place.write(&format!("data/journal-q{n}.txt"), &journal(n)))
}

/// What the till wrote in a quarter of the year.
fn journal(quarter: usize) -> String {
    const THINGS: [(&str, usize); 6] =
        [("oats", 147), ("hay", 236), ("straw", 118), ("salt", 89), ("bran", 163), ("carrots", 54)];
    let mut lines = vec![match quarter {
        2 => "2031-04-01 new till: the discount is rounded on every line".to_owned(),
        _ => format!("2031-{:02}-01 begin of the quarter", quarter * 3 - 2),
    }];
    for (n, (thing, price)) in THINGS.iter().cycle().take(210).enumerate() {
        let (month, day) = (quarter * 3 - 2 + n / 70, 1 + n % 70 * 28 / 70);
        let (sale, count) = (20_000 + quarter * 1_000 + n * 3, 1 + n * 7 % 11);
        lines.push(format!("2031-{month:02}-{day:02} sale {sale} {thing} {count} at {price}"));
    }
    lines.join("\n") + "\n"
}
