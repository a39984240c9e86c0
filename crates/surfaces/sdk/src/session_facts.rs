//! What the frames say about the session itself.

use ostler::{ModelId, ModelInfo, Session, SessionId};
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct SessionFacts {
    pub session: SessionId,
    pub cwd: PathBuf,
    pub tools: Vec<String>,
    /// The primary model and, if there is one, the fallback.
    pub models: Vec<(ModelId, ModelInfo)>,
    pub mode: String,
    /// Skills that a person may use, and those that the model may.
    pub user_skills: Vec<String>,
    pub model_skills: Vec<String>,
    /// Where the credential came from.
    pub key_source: String,
    pub version: String,
    /// The name of the output style in use.
    pub output_style: String,
}

impl SessionFacts {
    pub fn of(session: &Session, key_source: &str, version: &str) -> Self {
        let skills = session.skills();
        let named = |may: fn(&ostler::Skill) -> bool| {
            let skills = skills.iter().filter(|skill| may(skill));
            skills.map(|skill| skill.name.clone()).collect::<Vec<_>>()
        };
        let models = session.models().into_iter();
        SessionFacts {
            session: session.id().clone(),
            cwd: session.workspace().cwd.clone(),
            tools: session.tool_names(),
            models: models.map(|model| (model.clone(), session.model_info(&model))).collect(),
            mode: session.mode().name().to_owned(),
            user_skills: named(|skill| skill.for_user),
            model_skills: named(|skill| skill.for_model),
            key_source: key_source.to_owned(),
            version: version.to_owned(),
            output_style: "default".to_owned(),
        }
    }
}
