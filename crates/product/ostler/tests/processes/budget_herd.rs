//! Sessions that share a purse with money for ten requests, and all want to send at once.

use crate::case_process::{CaseProcess, Part, case, finished};
use futures_util::future::join_all;
use ostler::{Host, Init, PriceBook, Purse, Terminal, Thinking};
use ostler_model_server::{ModelServer, Script, UsageNumbers, text};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

const REQUESTS: u32 = 10;
/// A hang is a failure, not a wait.
const PATIENCE: Duration = Duration::from_secs(300);
const GATE: &str = "all are on their way";

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Herd {
    /// Only the answer costs, and it is as long as it may be: what is reserved is what is paid, a dollar.
    Even,
    /// As a provider bills, with most of what is reserved given back.
    Uneven,
}

impl Herd {
    fn prices(self) -> PriceBook {
        let rates = match self {
            Herd::Even => "input = 0\noutput = 1000",
            Herd::Uneven => "input = 3\noutput = 15",
        };
        PriceBook::parse(&format!("[scripted]\n{rates}\n")).unwrap()
    }
}

/// Ten requests are open at the same time, and no other is ever sent.
pub fn all_may_send_at_once(sessions: usize) {
    let usage = UsageNumbers { output_tokens: Some(1000), ..UsageNumbers::default() };
    let mut script = Script::new().answer(text("spent").usage(usage).due_at(GATE)).forever();
    script.limits.connections = 2 * sessions;
    let server = ModelServer::start(script).unwrap();
    let (_folder, inside) = case(&server, Part::BudgetHerd(Herd::Even), sessions);
    let mut herd = inside.command().spawn().unwrap();
    let came = ostler::block_on(server.wait_for_requests(REQUESTS as usize, PATIENCE)).unwrap();
    server.gate(GATE).open();
    let status = herd.wait().unwrap();
    came.unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(server.requests().len(), REQUESTS as usize);
}

/// Whoever waits takes what others give back, until nothing is left that would pay for a request.
pub fn prices_as_they_are(sessions: usize) {
    let mut script = Script::new().answer(text("spent ".repeat(100))).forever();
    script.limits.connections = 2 * sessions;
    let server = ModelServer::start(script).unwrap();
    let (_folder, inside) = case(&server, Part::BudgetHerd(Herd::Uneven), sessions);
    crate::case_process::succeeds(inside.command());
}

pub fn inside(init: &Init, told: &CaseProcess, herd: Herd) {
    ostler::raise_open_file_limit().unwrap();
    let mut options = told.options();
    options.host.prices = herd.prices();
    options.session.settings.output_limit = Some(1000);
    options.session.settings.thinking = Thinking::Disabled;
    let began = Instant::now();
    ostler::block_on(async {
        let host = Host::open(init, options.host).unwrap();
        let one = match herd {
            Herd::Even => 1.0,
            // What a request costs is known when one was paid for.
            Herd::Uneven => {
                let session = host.session(options.session.clone()).unwrap();
                finished(session.ask("go").unwrap()).await.cost.unwrap()
            }
        };
        let purse = Purse::new(Some(one * f64::from(REQUESTS)));
        options.session.purse = Some(purse.clone());
        let open = |_| host.session(options.session.clone()).unwrap();
        let sessions: Vec<_> = (0..told.sessions).map(open).collect();
        let turns = sessions.iter().map(|session| finished(session.ask("go").unwrap()));
        let ends = join_all(turns).await;
        let of = |terminal: Terminal| ends.iter().filter(|end| end.terminal == terminal).count();
        let (paid, refused) = (of(Terminal::Completed), of(Terminal::MaxBudget));
        let (spent, limit) = (purse.spent(), purse.limit().unwrap());
        let most = ends.iter().filter_map(|end| end.cost).fold(0.0, f64::max);
        println!(
            "budget herd, {herd:?}: {} sessions with money for {REQUESTS}: {paid} requests paid, {refused} refused, \
             ${spent:.4} spent of ${limit:.4}, overspent ${:.4} (one request: ${most:.4}), {:.1?}",
            told.sessions,
            (spent - limit).max(0.0),
            began.elapsed()
        );
        assert_eq!(paid + refused, told.sessions);
        assert!(spent <= limit + most, "more than one request too much");
        let sum: f64 = ends.iter().filter_map(|end| end.cost).sum();
        assert!((sum - spent).abs() < 1e-6, "the purse says {spent}, the sessions {sum}");
        assert!(purse.reserved().abs() < 1e-6, "something is still held: {}", purse.reserved());
        match herd {
            Herd::Even => assert_eq!(paid, REQUESTS as usize),
            Herd::Uneven => assert!(paid >= REQUESTS as usize / 2, "money was left: {paid}"),
        }
    })
    .unwrap();
}
