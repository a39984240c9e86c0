//! Which providers a run may ask, and with which credentials.

use crate::{Profile, ProfileError};
use ostler::config::ProviderEntry;
use ostler::config::values::{FAST_MODE, MODEL};
use ostler::{Credentials, HostOptions, Provider, SessionOptions};

/// The credential of the default provider, or the provider that lacks one although a chosen model needs it.
pub enum Access {
    Given(Credentials),
    Missing(Box<Provider>),
}

impl Profile {
    /// # Errors
    /// If settings describe a provider that cannot be used.
    pub fn access(&self) -> Result<Access, ProfileError> {
        let (default, own) = (Provider::default(), self.own_providers()?);
        // Without a choice the default model is asked, which is the default provider's.
        let first = self.model().unwrap_or_default();
        let names = [Some(&first), self.flags.fallback_model.as_ref()].into_iter().flatten();
        let asked: Vec<_> = names.map(|name| serving(&own, name).unwrap_or(&default)).collect();
        let lacking = |provider: &&&Provider| self.environment.credentials(provider).is_none();
        if let Some(provider) = asked.iter().find(lacking) {
            return Ok(Access::Missing(Box::new((**provider).clone())));
        }
        // Nothing is sent to a provider that no model names, but what is shown is the credential in use.
        Ok(Access::Given(self.environment.credentials(&default).unwrap_or_else(|| {
            let label = asked.first().and_then(|provider| self.environment.credentials(provider));
            let label = label.map_or_else(|| "none".to_owned(), |found| found.label);
            Credentials { label, ..Credentials::none() }
        })))
    }

    /// The model that was chosen by a flag, a variable or settings.
    fn model(&self) -> Option<String> {
        let variable = Provider::default().model_env;
        let chosen = self.flags.model.clone();
        let chosen = chosen.or_else(|| self.environment.text(&variable?));
        chosen.or_else(|| self.loaded.values.text(&MODEL).map(str::to_owned))
    }

    fn fast_mode(&self, model: &str) -> Result<Fast, ProfileError> {
        if !self.flags.fast && self.loaded.values.switch(&FAST_MODE) != Some(true) {
            return Ok(Fast::NotWanted);
        }
        let (default, own) = (Provider::default(), self.own_providers()?);
        let model = ostler::model(model);
        let provider = serving(&own, model.as_str()).unwrap_or(&default);
        let fast = provider.fast_mode(&model);
        Ok(fast.map_or(Fast::Lacks, |model| Fast::Is(model.to_string())))
    }

    /// Settings ask for the fast mode of a model that has none.
    pub(crate) fn fast_notice(&self) -> Option<String> {
        let usual = || SessionOptions::new(self.places.cwd.clone()).model;
        let model = self.model().unwrap_or_else(usual);
        let lacks = matches!(self.fast_mode(&model), Ok(Fast::Lacks)) && !self.flags.fast;
        lacks.then(|| format!("fastMode is ignored: {}", no_fast_mode(&model)))
    }

    fn own_providers(&self) -> Result<Vec<Provider>, ProfileError> {
        let read = |entry: &ProviderEntry| {
            Provider::from_settings(&entry.name, &entry.entry).map_err(|why| {
                let (file, line, name) = (entry.file.display(), entry.line, &entry.name);
                let what = format!("cannot use {file}:{line}: the provider \"{name}\": {why}");
                ProfileError::Config(what)
            })
        };
        self.loaded.providers.iter().map(read).collect()
    }
}

/// What becomes of the wish for a model's fast mode.
enum Fast {
    NotWanted,
    Is(String),
    Lacks,
}

fn no_fast_mode(model: &str) -> String {
    format!("the model {model} has no fast mode. Choose another with --model, e.g. opus")
}

fn serving<'a>(own: &'a [Provider], model: &str) -> Option<&'a Provider> {
    let (name, _) = model.split_once('/')?;
    own.iter().find(|provider| provider.prefix == name)
}

/// Puts models, addresses and providers into the options.
pub fn choose(
    host: &mut HostOptions,
    session: &mut SessionOptions,
    profile: &Profile,
) -> Result<(), ProfileError> {
    let Profile { flags, environment, .. } = profile;
    let address = Provider::default().base_url_env;
    host.base_url = address.and_then(|variable| environment.text(&variable));
    if let Some(model) = profile.model() {
        if model.trim().is_empty() {
            return Err(ProfileError::Usage("--model needs a name".into()));
        }
        session.model = model;
    }
    if flags.fallback_model.as_deref().is_some_and(|name| name.contains(',')) {
        return Err(ProfileError::Usage("--fallback-model takes one model".into()));
    }
    session.fallback_model.clone_from(&flags.fallback_model);
    match profile.fast_mode(&session.model)? {
        Fast::Is(model) => session.model = model,
        Fast::Lacks if flags.fast => return Err(ProfileError::Usage(no_fast_mode(&session.model))),
        Fast::Lacks | Fast::NotWanted => {}
    }
    for provider in profile.own_providers()? {
        let missing = || Credentials {
            label: format!("{} is not set", provider.credential_names().join(" or ")),
            ..Credentials::none()
        };
        let credentials = environment.credentials(&provider).unwrap_or_else(missing);
        host.providers.push((provider, credentials));
    }
    Ok(())
}
