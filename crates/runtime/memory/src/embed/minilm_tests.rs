//! A tiny network with made-up weights, compared with the same sums written plainly.

use super::*;
use crate::embed::linear_layer::{Linear, round_row};
use crate::embed::model_file::{Norm, write};

const SHAPE: Shape = Shape { layers: 2, hidden: 16, heads: 4, inner: 32, words: 8, positions: 12 };

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 40) as f32 / (1u64 << 24) as f32) - 0.5
    }
    fn some(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.next()).collect()
    }
    fn norm(&mut self) -> Norm {
        let weight = self.some(SHAPE.hidden).iter().map(|x| 1.0 + x / 4.0).collect();
        Norm { weight, bias: self.some(SHAPE.hidden) }
    }
    fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let mut linear = Linear { inputs, bias: self.some(outputs), ..Linear::default() };
        for _ in 0..outputs {
            let (row, scale) = round_row(&self.some(inputs));
            linear.weights.extend(row);
            linear.scales.push(scale);
        }
        linear
    }
}

fn tiny() -> (Weights, Vec<f32>) {
    let mut numbers = Numbers(7);
    let vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nred\nhorse\nruns\nslow".to_owned();
    let layers = (0..SHAPE.layers)
        .map(|_| ModelLayer {
            attention: numbers.linear(16, 48),
            mix: numbers.linear(16, 16),
            mix_norm: numbers.norm(),
            up: numbers.linear(16, 32),
            down: numbers.linear(32, 16),
            norm: numbers.norm(),
        })
        .collect();
    let weights = Weights {
        shape: SHAPE,
        vocabulary,
        positions: numbers.some(SHAPE.positions * SHAPE.hidden),
        norm: numbers.norm(),
        layers,
    };
    (weights, numbers.some(SHAPE.words * SHAPE.hidden))
}

fn installed(folder: &tempfile::TempDir) -> PathBuf {
    let (weights, words) = tiny();
    let path = folder.path().join("model.bin");
    write(&mut std::fs::File::create(&path).unwrap(), &weights, &words).unwrap();
    path
}

/// The same network in plain floating point, token by token.
fn plainly(ids: &[usize]) -> Vec<f32> {
    let (weights, words) = tiny();
    let times = |linear: &Linear, x: &[f32]| -> Vec<f32> {
        let rows = linear.weights.chunks(linear.inputs).zip(&linear.scales).zip(&linear.bias);
        rows.map(|((row, scale), bias)| {
            bias + row.iter().zip(x).map(|(w, x)| f32::from(*w) * scale * x).sum::<f32>()
        })
        .collect()
    };
    let normed = |x: &[f32], norm: &Norm| -> Vec<f32> {
        let mean = x.iter().sum::<f32>() / 16.0;
        let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 16.0).sqrt();
        (0..16).map(|i| (x[i] - mean) / deviation * norm.weight[i] + norm.bias[i]).collect()
    };
    let plus = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f32>>();
    let mut x: Vec<Vec<f32>> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| {
            normed(
                &plus(&words[id * 16..id * 16 + 16], &weights.positions[at * 16..at * 16 + 16]),
                &weights.norm,
            )
        })
        .collect();
    for layer in &weights.layers {
        let three: Vec<Vec<f32>> = x.iter().map(|x| times(&layer.attention, x)).collect();
        let seen = |token: usize| {
            let mut row = vec![0.0; 16];
            for head in 0..4 {
                let dim = |i: usize| head * 4 + i;
                let score = |other: usize| {
                    (0..4).map(|i| three[token][dim(i)] * three[other][16 + dim(i)]).sum::<f32>()
                        / 2.0
                };
                let sum: f32 = (0..ids.len()).map(|other| score(other).exp()).sum();
                for (other, values) in three.iter().enumerate() {
                    let weight = score(other).exp() / sum;
                    (0..4).for_each(|i| row[dim(i)] += weight * values[32 + dim(i)]);
                }
            }
            row
        };
        let mixed: Vec<Vec<f32>> = (0..ids.len())
            .map(|token| {
                normed(&plus(&x[token], &times(&layer.mix, &seen(token))), &layer.mix_norm)
            })
            .collect();
        x = mixed
            .iter()
            .map(|x| {
                let mut inner = times(&layer.up, x);
                gelu(&mut inner);
                normed(&plus(x, &times(&layer.down, &inner)), &layer.norm)
            })
            .collect();
    }
    let mut mean = x.iter().fold(vec![0.0; 16], |sum, x| plus(&sum, x));
    normalise(&mut mean);
    mean
}

#[test]
fn the_network_computes_what_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let model = MiniLm::open(&installed(&folder)).unwrap();
    // Up to six tokens: groups of four, and what is left over.
    for (text, ids) in [
        ("red", vec![2, 4, 3]),
        ("red horse", vec![2, 4, 5, 3]),
        ("Red horse runs slow", vec![2, 4, 5, 6, 7, 3]),
        ("blue", vec![2, 1, 3]),
    ] {
        let got = model.embed(&[text]).unwrap().remove(0);
        let wanted = plainly(&ids);
        let cosine: f32 = got.iter().zip(&wanted).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{text}: {cosine}");
    }
}

#[test]
fn a_broken_file_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = installed(&folder);
    let whole = std::fs::read(&path).unwrap();
    for bytes in [
        &whole[..whole.len() - 1],
        &whole[..20],
        b"",
        b"OSTLMLM1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = MiniLm::open(&path).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("ostler memory setup"), "{error}");
    }
}
