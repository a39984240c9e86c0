//! The installed model: one file, made from the package by `setup`, read in one go except for the table of words,
//! of which only the rows a text needs are read.

use super::linear_layer::{Linear, WIDEST, round_row};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: &[u8; 8] = b"OSTLMLM1";
const HEADER: usize = 8 + 7 * 4;

/// Sizes of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub layers: usize,
    pub hidden: usize,
    pub heads: usize,
    pub inner: usize,
    pub words: usize,
    pub positions: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelLayer {
    /// Queries, keys and values in one matrix.
    pub attention: Linear,
    pub mix: Linear,
    pub mix_norm: Norm,
    pub up: Linear,
    pub down: Linear,
    pub norm: Norm,
}

/// Everything but the table of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    pub shape: Shape,
    pub vocabulary: String,
    /// Of positions, with the one segment added.
    pub positions: Vec<f32>,
    pub norm: Norm,
    pub layers: Vec<ModelLayer>,
}

/// The rows of words, on disk.
pub struct WordTable {
    file: File,
    start: u64,
    hidden: usize,
    words: usize,
}

impl WordTable {
    pub fn row(&self, word: u32, out: &mut [f32]) -> io::Result<()> {
        let size = self.hidden + 4;
        let word = (word as usize).min(self.words.saturating_sub(1));
        let mut bytes = vec![0u8; size];
        self.file.read_exact_at(&mut bytes, self.start + (word * size) as u64)?;
        let (scale, weights) = bytes.split_at(4);
        let scale = f32::from_le_bytes(scale.try_into().unwrap_or_default());
        for (place, weight) in out.iter_mut().zip(weights) {
            *place = f32::from(weight.cast_signed()) * scale;
        }
        Ok(())
    }
}

pub fn read(path: &Path) -> io::Result<(Weights, WordTable)> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut header = [0u8; HEADER];
    file.read_exact(&mut header)?;
    let (shape, text) =
        shape_of(&header).ok_or_else(|| broken("it was not made for this version"))?;
    let table = (shape.words as u64) * (shape.hidden as u64 + 4);
    let start = HEADER as u64 + text as u64 + body_size(shape);
    if start + table != size {
        return Err(broken("its size does not match its content"));
    }
    let mut bytes = vec![0u8; (start - HEADER as u64) as usize];
    file.read_exact(&mut bytes)?;
    let weights = parse(shape, text, &bytes).ok_or_else(|| broken("it ends too early"))?;
    Ok((weights, WordTable { file, start, hidden: shape.hidden, words: shape.words }))
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Sizes beyond these are no model we know.
fn shape_of(header: &[u8]) -> Option<(Shape, usize)> {
    let (magic, numbers) = header.split_at_checked(MAGIC.len())?;
    let mut numbers =
        numbers.chunks_exact(4).filter_map(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let mut next =
        |most: usize| numbers.next().map(|n| n as usize).filter(|n| (1..=most).contains(n));
    let shape = Shape {
        layers: next(48)?,
        hidden: next(WIDEST)?,
        heads: next(64)?,
        inner: next(WIDEST)?,
        words: next(1 << 20)?,
        positions: next(1 << 12)?,
    };
    let text = next(64 << 20)?;
    let even = shape.hidden.is_multiple_of(2) && shape.inner.is_multiple_of(2);
    (magic == MAGIC && even && shape.hidden.is_multiple_of(shape.heads)).then_some((shape, text))
}

/// Bytes between the vocabulary and the table of words.
fn body_size(shape: Shape) -> u64 {
    let (h, i) = (shape.hidden as u64, shape.inner as u64);
    let linear = |inputs: u64, outputs: u64| outputs * (inputs + 8);
    let layer = linear(h, 3 * h) + linear(h, h) + linear(h, i) + linear(i, h) + 16 * h;
    shape.positions as u64 * h * 4 + 8 * h + shape.layers as u64 * layer
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn bytes(&mut self, n: usize) -> Option<&[u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn floats(&mut self, n: usize) -> Option<Vec<f32>> {
        let bytes = self.bytes(n.checked_mul(4)?)?;
        Some(
            bytes
                .chunks_exact(4)
                .map(|four| f32::from_le_bytes(four.try_into().unwrap_or_default()))
                .collect(),
        )
    }

    fn norm(&mut self, n: usize) -> Option<Norm> {
        Some(Norm { weight: self.floats(n)?, bias: self.floats(n)? })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Option<Linear> {
        let (scales, bias) = (self.floats(outputs)?, self.floats(outputs)?);
        let weights = self
            .bytes(inputs.checked_mul(outputs)?)?
            .iter()
            .map(|byte| byte.cast_signed())
            .collect();
        Some(Linear { inputs, weights, scales, bias })
    }
}

fn parse(shape: Shape, text: usize, bytes: &[u8]) -> Option<Weights> {
    let mut cursor = Cursor(bytes);
    let vocabulary = String::from_utf8(cursor.bytes(text)?.to_vec()).ok()?;
    let (h, i) = (shape.hidden, shape.inner);
    let positions = cursor.floats(shape.positions * h)?;
    let norm = cursor.norm(h)?;
    let mut layers = Vec::new();
    for _ in 0..shape.layers {
        layers.push(ModelLayer {
            attention: cursor.linear(h, 3 * h)?,
            mix: cursor.linear(h, h)?,
            mix_norm: cursor.norm(h)?,
            up: cursor.linear(h, i)?,
            down: cursor.linear(i, h)?,
            norm: cursor.norm(h)?,
        });
    }
    Some(Weights { shape, vocabulary, positions, norm, layers })
}

pub fn write(out: &mut impl Write, weights: &Weights, words: &[f32]) -> io::Result<()> {
    let Shape { layers, hidden, heads, inner, words: count, positions } = weights.shape;
    out.write_all(MAGIC)?;
    for number in [layers, hidden, heads, inner, count, positions, weights.vocabulary.len()] {
        out.write_all(&u32::try_from(number).map_err(io::Error::other)?.to_le_bytes())?;
    }
    out.write_all(weights.vocabulary.as_bytes())?;
    floats(out, &weights.positions)?;
    norm(out, &weights.norm)?;
    for layer in &weights.layers {
        linear(out, &layer.attention)?;
        linear(out, &layer.mix)?;
        norm(out, &layer.mix_norm)?;
        linear(out, &layer.up)?;
        linear(out, &layer.down)?;
        norm(out, &layer.norm)?;
    }
    for row in words.chunks_exact(hidden) {
        let (row, scale) = round_row(row);
        out.write_all(&scale.to_le_bytes())?;
        signed(out, &row)?;
    }
    Ok(())
}

fn floats(out: &mut impl Write, values: &[f32]) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    out.write_all(&bytes)
}

fn signed(out: &mut impl Write, values: &[i8]) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().map(|x| x.cast_unsigned()).collect();
    out.write_all(&bytes)
}

fn norm(out: &mut impl Write, norm: &Norm) -> io::Result<()> {
    floats(out, &norm.weight)?;
    floats(out, &norm.bias)
}

fn linear(out: &mut impl Write, linear: &Linear) -> io::Result<()> {
    floats(out, &linear.scales)?;
    floats(out, &linear.bias)?;
    signed(out, &linear.weights)
}
