//! The weights as they were published → the model file, rounded.

use super::tensors::Tensors;
use crate::embed::linear_layer::{Linear, round_row};
use crate::embed::model_file::{ModelLayer, Norm, Shape, Weights, write};

const SHAPE: Shape =
    Shape { layers: 6, hidden: 384, heads: 12, inner: 1536, words: 30_522, positions: 128 };
/// Positions the network was trained with; we keep the first.
const TRAINED: usize = 512;

pub fn convert(weights: &[u8], vocabulary: String) -> Result<Vec<u8>, String> {
    let tensors = Tensors::new(weights).ok_or("the weights have no readable table")?;
    if vocabulary.lines().count() != SHAPE.words {
        return Err("the vocabulary has an unexpected size".into());
    }
    let h = SHAPE.hidden;
    let of = |name: &str| format!("embeddings.{name}");
    let words = tensors.floats(&of("word_embeddings.weight"), &[SHAPE.words, h])?;
    let mut positions = tensors.floats(&of("position_embeddings.weight"), &[TRAINED, h])?;
    positions.truncate(SHAPE.positions * h);
    let segments = tensors.floats(&of("token_type_embeddings.weight"), &[2, h])?;
    for row in positions.chunks_exact_mut(h) {
        row.iter_mut().zip(&segments).for_each(|(x, segment)| *x += segment);
    }
    let norm = norm(&tensors, &of("LayerNorm"))?;
    let layers = (0..SHAPE.layers).map(|n| layer(&tensors, n)).collect::<Result<_, _>>()?;
    let weights = Weights { shape: SHAPE, vocabulary, positions, norm, layers };
    let mut out = Vec::with_capacity(24 << 20);
    write(&mut out, &weights, &words).map_err(|error| error.to_string())?;
    Ok(out)
}

fn layer(tensors: &Tensors<'_>, n: usize) -> Result<ModelLayer, String> {
    let (h, i) = (SHAPE.hidden, SHAPE.inner);
    let of = |name: &str| format!("encoder.layer.{n}.{name}");
    let mut attention = Linear { inputs: h, ..Linear::default() };
    for part in ["query", "key", "value"] {
        let one = linear(tensors, &of(&format!("attention.self.{part}")), h, h)?;
        attention.weights.extend(one.weights);
        attention.scales.extend(one.scales);
        attention.bias.extend(one.bias);
    }
    Ok(ModelLayer {
        attention,
        mix: linear(tensors, &of("attention.output.dense"), h, h)?,
        mix_norm: norm(tensors, &of("attention.output.LayerNorm"))?,
        up: linear(tensors, &of("intermediate.dense"), h, i)?,
        down: linear(tensors, &of("output.dense"), i, h)?,
        norm: norm(tensors, &of("output.LayerNorm"))?,
    })
}

fn norm(tensors: &Tensors<'_>, name: &str) -> Result<Norm, String> {
    let part = |part: &str| tensors.floats(&format!("{name}.{part}"), &[SHAPE.hidden]);
    Ok(Norm { weight: part("weight")?, bias: part("bias")? })
}

fn linear(
    tensors: &Tensors<'_>,
    name: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Linear, String> {
    let exact = tensors.floats(&format!("{name}.weight"), &[outputs, inputs])?;
    let bias = tensors.floats(&format!("{name}.bias"), &[outputs])?;
    let mut linear = Linear { inputs, bias, ..Linear::default() };
    for row in exact.chunks_exact(inputs) {
        let (weights, scale) = round_row(row);
        linear.weights.extend(weights);
        linear.scales.push(scale);
    }
    Ok(linear)
}
