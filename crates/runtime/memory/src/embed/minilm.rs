//! all-MiniLM-L6-v2 on one core: six layers of attention, the mean over the tokens, length 1.

#[cfg(target_arch = "x86_64")]
use super::avx2::Wide;
use super::linear_layer::{Dots, PlainLevel, Rounded};
use super::math::{add, dot, gelu, layer_norm, softmax};
use super::model_file::{self, ModelLayer, Shape, Weights, WordTable};
use super::wordpiece::WordPieces;
use super::{EmbedError, Embedder, normalise};
use std::path::{Path, PathBuf};

/// Vectors of this model, rounded in this way.
const NAME: &str = "all-minilm-l6-v2/8-bit";
/// Tokens of a text that are used; an entry is a sentence or two.
const MOST_PIECES: usize = 128;

pub struct MiniLm {
    path: PathBuf,
    weights: Weights,
    pieces: WordPieces,
    words: WordTable,
}

impl MiniLm {
    /// The file that `setup` installed.
    pub fn open(path: &Path) -> Result<Self, EmbedError> {
        let wrong = |why: String| EmbedError::Model { path: path.display().to_string(), why };
        let (weights, words) = model_file::read(path).map_err(|error| wrong(error.to_string()))?;
        let pieces = WordPieces::new(&weights.vocabulary)
            .ok_or_else(|| wrong("its vocabulary lacks special tokens".into()))?;
        Ok(MiniLm { path: path.to_owned(), weights, pieces, words })
    }

    /// Tokens of a text that are used, including the two special ones.
    pub fn pieces(&self, text: &str) -> usize {
        self.pieces.read(text, MOST_PIECES.min(self.weights.shape.positions)).len()
    }

    fn one(&self, text: &str) -> std::io::Result<Vec<f32>> {
        let Weights { shape, positions, norm, layers, .. } = &self.weights;
        let hidden = shape.hidden;
        let pieces = self.pieces.read(text, MOST_PIECES.min(shape.positions));
        let mut x = vec![0.0f32; pieces.len() * hidden];
        for (row, piece) in x.chunks_exact_mut(hidden).zip(&pieces) {
            self.words.row(*piece, row)?;
        }
        add(&mut x, positions);
        layer_norm(&mut x, &norm.weight, &norm.bias);
        through(&mut x, layers, *shape);
        let mut mean = vec![0.0f32; hidden];
        for row in x.chunks_exact(hidden) {
            add(&mut mean, row);
        }
        normalise(&mut mean);
        Ok(mean)
    }
}

impl Embedder for MiniLm {
    fn name(&self) -> &str {
        NAME
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let all: std::io::Result<Vec<_>> = texts.iter().map(|text| self.one(text)).collect();
        all.map_err(|error| EmbedError::Model {
            path: self.path.display().to_string(),
            why: error.to_string(),
        })
    }
}

/// With the widest instructions this processor has.
fn through(x: &mut [f32], layers: &[ModelLayer], shape: Shape) {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = Wide::new() {
        return wide.run(
            #[inline(always)]
            || layers.iter().for_each(|layer| pass(x, layer, shape, wide)),
        );
    }
    layers.iter().for_each(|layer| pass(x, layer, shape, PlainLevel));
}

#[inline(always)]
fn pass(x: &mut [f32], layer: &ModelLayer, shape: Shape, dots: impl Dots) {
    let hidden = shape.hidden;
    let three = layer.attention.apply(&Rounded::of(x, hidden), dots);
    let seen = attend(&three, shape);
    add(x, &layer.mix.apply(&Rounded::of(&seen, hidden), dots));
    layer_norm(x, &layer.mix_norm.weight, &layer.mix_norm.bias);
    let mut inner = layer.up.apply(&Rounded::of(x, hidden), dots);
    gelu(&mut inner);
    add(x, &layer.down.apply(&Rounded::of(&inner, shape.inner), dots));
    layer_norm(x, &layer.norm.weight, &layer.norm.bias);
}

/// Each token looks at all of them, each head in its own part of the row.
#[inline(always)]
fn attend(three: &[f32], shape: Shape) -> Vec<f32> {
    let (hidden, width) = (shape.hidden, shape.hidden / shape.heads);
    let tokens = three.len() / (3 * hidden);
    let scale = 1.0 / (width as f32).sqrt();
    let part = |token: usize, which: usize, head: usize| {
        let start = token * 3 * hidden + which * hidden + head * width;
        three.get(start..start + width).unwrap_or_default()
    };
    let mut out = vec![0.0f32; tokens * hidden];
    let mut weights = vec![0.0f32; tokens];
    for head in 0..shape.heads {
        for token in 0..tokens {
            let query = part(token, 0, head);
            for (other, weight) in weights.iter_mut().enumerate() {
                *weight = dot(query, part(other, 1, head)) * scale;
            }
            softmax(&mut weights);
            let start = token * hidden + head * width;
            let Some(place) = out.get_mut(start..start + width) else { continue };
            for (other, weight) in weights.iter().enumerate() {
                for (x, value) in place.iter_mut().zip(part(other, 2, head)) {
                    *x += weight * value;
                }
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "minilm_tests.rs"]
mod tests;
