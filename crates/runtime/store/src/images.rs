//! Images leave an entry before it is written and come back when it is read.

use ostler_core::context::Boundary;
use ostler_core::ids::BlobRef;
use ostler_core::message::{Block, Image, ResultPart};
use ostler_core::ports::{Blobs, StoreError};
use ostler_core::session::Entry;
use std::borrow::Cow;
use std::sync::Arc;

/// Data up to this length stays in the line.
const INLINE: usize = 1024;

const LOST: &str = include_str!("../../../../prompts/results/image-lost.md").trim_ascii();

/// The entry as it is stored: large images stand in blobs.
pub(crate) fn strip(
    entry: &Entry,
    mut put: impl FnMut(&[u8]) -> Result<BlobRef, StoreError>,
) -> Result<Cow<'_, Entry>, StoreError> {
    let mut entry = Cow::Borrowed(entry);
    if blocks(&entry).into_iter().flatten().any(holds_large) {
        for image in blocks_mut(entry.to_mut()).into_iter().flatten().flat_map(images_mut) {
            if is_large(image) {
                image.blob = Some(put(image.data.as_bytes())?);
                image.data = Arc::from("");
            }
        }
    }
    Ok(entry)
}

/// The entry as it was before `strip`, and the images that could not be brought back.
pub(crate) fn fill(entry: &mut Entry, blobs: &dyn Blobs) -> Vec<BlobRef> {
    let mut lost = Vec::new();
    for block in blocks_mut(entry).into_iter().flatten() {
        let kept = match block {
            Block::Image(image) => restore(image, blobs, &mut lost),
            Block::ToolResult { content, .. } => {
                fill_parts(content, blobs, &mut lost);
                true
            }
            _ => true,
        };
        if !kept {
            *block = Block::Text { text: LOST.into(), meta: true };
        }
    }
    lost
}

fn fill_parts(parts: &mut [ResultPart], blobs: &dyn Blobs, lost: &mut Vec<BlobRef>) {
    for part in parts {
        if let ResultPart::Image(image) = part
            && !restore(image, blobs, lost)
        {
            *part = ResultPart::text(LOST);
        }
    }
}

/// False if its data is nowhere to be found.
fn restore(image: &mut Image, blobs: &dyn Blobs, lost: &mut Vec<BlobRef>) -> bool {
    if !image.data.is_empty() {
        return true;
    }
    let Some(blob) = image.blob.take() else { return true };
    let data = blobs.get(&blob).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match data {
        Some(data) => image.data = data.into(),
        None => {
            lost.push(blob);
            return false;
        }
    }
    true
}

fn is_large(image: &Image) -> bool {
    image.data.len() > INLINE
}

fn holds_large(block: &Block) -> bool {
    match block {
        Block::Image(image) => is_large(image),
        Block::ToolResult { content, .. } => {
            content.iter().any(|part| matches!(part, ResultPart::Image(image) if is_large(image)))
        }
        _ => false,
    }
}

fn images_mut(block: &mut Block) -> Vec<&mut Image> {
    match block {
        Block::Image(image) => vec![image],
        Block::ToolResult { content, .. } => content
            .iter_mut()
            .filter_map(|part| match part {
                ResultPart::Image(image) => Some(image),
                ResultPart::Text { .. } => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn blocks(entry: &Entry) -> Vec<&[Block]> {
    match entry {
        Entry::Prompt { message, .. }
        | Entry::Answer { message, .. }
        | Entry::Note { message, .. } => {
            vec![message.blocks()]
        }
        Entry::CallFinished { result, .. } => vec![std::slice::from_ref(result)],
        Entry::Inbound(item) => vec![item.body.blocks()],
        Entry::Boundary(boundary) => {
            let pending = boundary.inbox.iter().map(|item| &item.body);
            let messages = boundary.head.iter().chain(&boundary.kept).chain(pending);
            messages.map(|message| message.blocks()).collect()
        }
        _ => Vec::new(),
    }
}

fn blocks_mut(entry: &mut Entry) -> Vec<&mut [Block]> {
    match entry {
        Entry::Prompt { message, .. }
        | Entry::Answer { message, .. }
        | Entry::Note { message, .. } => {
            vec![message.blocks_mut().as_mut_slice()]
        }
        Entry::CallFinished { result, .. } => vec![std::slice::from_mut(result)],
        Entry::Inbound(item) => vec![item.body.blocks_mut().as_mut_slice()],
        Entry::Boundary(boundary) => {
            let Boundary { head, kept, inbox, .. } = &mut **boundary;
            let pending = inbox.iter_mut().map(|item| &mut item.body);
            let messages = head.iter_mut().chain(kept).chain(pending);
            messages.map(|message| message.blocks_mut().as_mut_slice()).collect()
        }
        _ => Vec::new(),
    }
}
