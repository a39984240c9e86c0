//! Which providers a run may ask, and with which credentials.

use crate::args::RunArgs;
use crate::environment::Environment;
use crate::exit::Wrong;
use ostler::config::LoadedSettings;
use ostler::{Credentials, Options, Provider};

/// The credential of the default provider, or the provider that lacks one although a chosen model needs it.
pub enum Access {
    Given(Credentials),
    Missing(Box<Provider>),
}

pub fn access(
    args: &RunArgs,
    environment: &Environment,
    loaded: &LoadedSettings,
) -> Result<Access, Wrong> {
    let (default, own) = (Provider::default(), own(loaded)?);
    // Without a choice the default model is asked, which is the default provider's.
    let first = model(args, environment, loaded).unwrap_or_default();
    let names = [Some(&first), args.fallback_model.as_ref()].into_iter().flatten();
    let asked: Vec<_> = names.map(|name| serving(&own, name).unwrap_or(&default)).collect();
    let lacking = |provider: &&&Provider| environment.credentials(provider).is_none();
    if let Some(provider) = asked.iter().find(lacking) {
        return Ok(Access::Missing(Box::new((**provider).clone())));
    }
    // Nothing is sent to a provider that no model names, but what is shown is the credential in use.
    Ok(Access::Given(environment.credentials(&default).unwrap_or_else(|| {
        let label = asked.first().and_then(|provider| environment.credentials(provider));
        let label = label.map_or_else(|| "none".to_owned(), |found| found.label);
        Credentials { label, ..Credentials::none() }
    })))
}

/// The model that was chosen by a flag, a variable or settings.
fn model(args: &RunArgs, environment: &Environment, loaded: &LoadedSettings) -> Option<String> {
    let variable = Provider::default().model_env;
    let chosen = args.model.clone().or_else(|| environment.text(&variable?));
    chosen.or_else(|| loaded.model.clone())
}

fn serving<'a>(own: &'a [Provider], model: &str) -> Option<&'a Provider> {
    let (name, _) = model.split_once('/')?;
    own.iter().find(|provider| provider.prefix == name)
}

fn own(loaded: &LoadedSettings) -> Result<Vec<Provider>, Wrong> {
    let read = |entry: &ostler::config::ProviderEntry| {
        Provider::from_settings(&entry.name, &entry.entry).map_err(|why| {
            let (file, line, name) = (entry.file.display(), entry.line, &entry.name);
            Wrong::Config(format!("cannot use {file}:{line}: the provider \"{name}\": {why}"))
        })
    };
    loaded.providers.iter().map(read).collect()
}

/// Puts models, addresses and providers into the options.
pub fn choose(
    options: &mut Options,
    args: &RunArgs,
    environment: &Environment,
    loaded: &LoadedSettings,
) -> Result<(), Wrong> {
    let address = Provider::default().base_url_env;
    options.base_url = address.and_then(|variable| environment.text(&variable));
    if let Some(model) = model(args, environment, loaded) {
        if model.trim().is_empty() {
            return Err(Wrong::Usage("--model wants a name".into()));
        }
        options.model = model;
    }
    if args.fallback_model.as_deref().is_some_and(|name| name.contains(',')) {
        return Err(Wrong::Usage("--fallback-model takes one model".into()));
    }
    options.fallback_model.clone_from(&args.fallback_model);
    for provider in own(loaded)? {
        let missing = || Credentials {
            label: format!("{} is not set", provider.credential_names().join(" or ")),
            ..Credentials::none()
        };
        let credentials = environment.credentials(&provider).unwrap_or_else(missing);
        options.providers.push((provider, credentials));
    }
    Ok(())
}
