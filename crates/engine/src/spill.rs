//! Large results: the model gets both ends and the place of the rest.

use ostler_core::message::ResultPart;
use ostler_core::ports::Blobs;
use ostler_core::tool::{ToolOutput, preview};

/// Cuts text parts above the cap; the whole text goes to a blob. If it cannot be stored, the preview says so.
pub(crate) fn bound(mut output: ToolOutput, cap: usize, blobs: &dyn Blobs) -> ToolOutput {
    for part in &mut output.content {
        if let ResultPart::Text { text } = part
            && text.len() > cap
        {
            let place = match blobs.put(text.as_bytes()) {
                Ok(blob) => blobs.path(&blob).map(|path| path.display().to_string()),
                Err(_) => None,
            };
            *text = preview(text, cap, place.as_deref());
        }
    }
    output
}
