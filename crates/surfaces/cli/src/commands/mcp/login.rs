//! `ostler mcp login` and `ostler mcp logout`.

use crate::args::mcp_login::{LoginArgs, ServerArgs};
use crate::commands::memory::network;
use crate::exit::{Code, Wrong, warn};
use crate::output::visible_text::visible;
use anyhow::Result;
use ostler::oauth::{ClientSettings, OAuth, OAuthError, PATIENCE, PendingLogin, Scopes};
use ostler_profile::{Browser, Environment, Profile};
use std::io::Write;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

/// Bytes of a line that somebody pastes.
const LONGEST_LINE: u64 = 16 << 10;

struct Target {
    oauth: OAuth,
    url: ostler::oauth::Url,
    settings: ClientSettings,
}

impl Target {
    fn find(environment: &Environment, args: &ServerArgs) -> Result<Target> {
        let profile = Profile::load(environment, args.flags())?;
        profile.notices().iter().for_each(|notice| warn(notice));
        let found = profile.mcp_servers()?;
        found.faults.iter().for_each(|fault| warn(fault));
        let server = found.servers.iter().find(|server| server.name == args.name);
        let Some(server) = server else {
            let names: Vec<&str> =
                found.servers.iter().map(|server| server.name.as_str()).collect();
            let known =
                if names.is_empty() { "none is configured".to_owned() } else { names.join(", ") };
            let name = &args.name;
            return Err(Wrong::Usage(format!(
                "there is no MCP server \"{name}\" (servers: {known})"
            ))
            .into());
        };
        let Some(http) = server.http_server() else {
            let name = &args.name;
            let why = format!(
                "\"{name}\" is a program on this machine; only servers on the network have logins"
            );
            return Err(Wrong::Usage(why).into());
        };
        let url = ostler::oauth::Url::parse(&http.url)
            .map_err(|_| Wrong::Config(format!("the address of \"{}\" is not a URL", args.name)))?;
        let settings = ClientSettings::from(&http.login);
        let oauth = ostler::logins(&environment.home()?, network(environment)?);
        Ok(Target { oauth, url, settings })
    }
}

pub fn login(environment: &Environment, args: &LoginArgs) -> Result<Code> {
    let mut target = Target::find(environment, &args.server)?;
    if let Some(text) = &args.scopes {
        let scopes = Scopes::parse(text);
        target.settings.scopes =
            Some(scopes.ok_or_else(|| Wrong::Usage("--scopes names no scopes".to_owned()))?);
    }
    let browser = environment.browser().filter(|_| !args.no_browser);
    let name = visible(&args.server.name);
    ostler::block_on(async {
        let pending = target.oauth.begin_login(&target.url, &target.settings, None).await?;
        show(&pending, browser.as_ref())?;
        let record = pending.finish(pasted(browser.is_none())).await?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "Logged in to {name} ({}).", visible(&record.issuer))?;
        if let Some(scopes) = record.tokens.and_then(|tokens| tokens.granted).or(record.requested) {
            writeln!(out, "Scopes: {}", visible(&scopes.to_string()))?;
        }
        Ok(Code::Done)
    })?
}

/// Opens the page, or says where it is.
fn show(pending: &PendingLogin, browser: Option<&Browser>) -> Result<()> {
    let url = pending.url().to_string();
    let minutes = PATIENCE.as_secs() / 60;
    let opened = browser.is_some_and(|browser| {
        ostler::start_detached(&browser.program, &[&url], &browser.environment).is_ok()
    });
    let mut out = std::io::stdout().lock();
    match opened {
        true => writeln!(
            out,
            "Opening your browser. If nothing happens, open this address within {minutes} minutes:"
        )?,
        false => writeln!(out, "Open this address in a browser within {minutes} minutes:")?,
    }
    writeln!(out, "\n  {url}\n")?;
    if browser.is_none() {
        writeln!(
            out,
            "If that browser runs on another machine, it ends up at an address that begins with"
        )?;
        writeln!(out, "http://127.0.0.1 and shows an error: copy that address and paste it here.")?;
    }
    Ok(out.flush()?)
}

/// The next line of standard input; without one, nothing ever.
async fn pasted(is_wanted: bool) -> String {
    if is_wanted {
        let mut line = String::new();
        let mut input = BufReader::new(tokio::io::stdin().take(LONGEST_LINE));
        let read = input.read_line(&mut line).await;
        if read.is_ok() && !line.trim().is_empty() {
            return line;
        }
    }
    std::future::pending().await
}

pub fn logout(environment: &Environment, args: &ServerArgs) -> Result<Code> {
    let target = Target::find(environment, args)?;
    let had_any: Result<bool, OAuthError> = ostler::block_on(target.oauth.log_out(&target.url))?;
    let name = visible(&args.name);
    let mut out = std::io::stdout().lock();
    match had_any? {
        true => writeln!(out, "Logged out of {name}: its tokens are deleted here.")?,
        false => writeln!(out, "There was no login to {name}.")?,
    }
    Ok(Code::Done)
}
