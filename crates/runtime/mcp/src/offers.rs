//! What a server offers besides tools: prompts and resources.

use crate::connection::{paginated, protocol_fault};
use crate::content;
use crate::error::ServerError;
use crate::metadata;
use crate::server::Server;
use ostler_core::tool::ToolOutput;
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse,
    ReadResourceRequestParams, ReadResourceResponse,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Resources of one server that are listed, and pages that are asked for.
const MOST_RESOURCES: usize = 1_000;
const MOST_PAGES: usize = 20;
/// A server that wants to know more before it gives something is asked for nothing else.
const MORE: &str = "it asks for more input, which it can do for tools only";

impl Server {
    /// The text of a prompt, as the server calls it.
    ///
    /// # Errors
    /// If the server cannot be asked or refuses.
    pub async fn prompt(
        self: &Arc<Self>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ServerError> {
        let connection = self.connect().await?;
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = Some(arguments);
        let asking = connection.peer().get_prompt_once(params);
        let answer = match self.in_time(asking).await? {
            GetPromptResponse::Complete(answer) => answer,
            _ => return Err(ServerError::Protocol(MORE.into())),
        };
        let blocks = answer.messages.into_iter().map(|message| message.content);
        Ok(content::output(CallToolResult::success(blocks.collect())))
    }

    /// Its resources, a line each: address, name and what it is.
    ///
    /// # Errors
    /// If the server cannot be asked or refuses.
    pub async fn resources(self: &Arc<Self>) -> Result<Vec<String>, ServerError> {
        let connection = self.connect().await?;
        let (mut lines, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = self.in_time(connection.peer().list_resources(paginated(cursor))).await?;
            lines.extend(page.resources.into_iter().map(|it| {
                let about = it.description.or(it.title).unwrap_or_default();
                let [uri, name, about] = [(it.uri, 1_000), (it.name, 200), (about, 500)]
                    .map(|(text, most)| metadata::text(&text, most).replace('\n', " "));
                format!("{uri} ({name}) {about}").trim_end().to_owned()
            }));
            cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
            if cursor.is_none() || lines.len() > MOST_RESOURCES {
                break;
            }
        }
        let more = cursor.is_some() || lines.len() > MOST_RESOURCES;
        lines.truncate(MOST_RESOURCES);
        if more {
            lines.push("there are more, which are not listed".to_owned());
        }
        Ok(lines)
    }

    /// What is at an address of the server.
    ///
    /// # Errors
    /// If the server cannot be asked or refuses.
    pub async fn resource(self: &Arc<Self>, uri: &str) -> Result<ToolOutput, ServerError> {
        let connection = self.connect().await?;
        let asking = connection.peer().read_resource_once(ReadResourceRequestParams::new(uri));
        let answer = match self.in_time(asking).await? {
            ReadResourceResponse::Complete(answer) => answer,
            _ => return Err(ServerError::Protocol(MORE.into())),
        };
        let blocks = answer.contents.into_iter().map(ContentBlock::resource);
        Ok(content::output(CallToolResult::success(blocks.collect())))
    }

    async fn in_time<T>(
        &self,
        asking: impl Future<Output = Result<T, rmcp::ServiceError>>,
    ) -> Result<T, ServerError> {
        let limit = self.config().call_limit;
        match tokio::time::timeout(limit, asking).await {
            Ok(answer) => answer.map_err(|error| protocol_fault(&error)),
            Err(_) => Err(ServerError::CallSilent(limit.as_secs())),
        }
    }
}
