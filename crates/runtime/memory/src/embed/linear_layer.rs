//! A matrix of whole numbers: weights in 8 bits with a scale a row, activations in 12 bits with a scale a token.
//!
//! 2047 × 127 × 1536 fits into 32 bits, so the sums are exact and may be taken in any order, which is what lets the
//! compiler use the instructions that multiply and add eight pairs at once.

/// The largest activation.
const LARGEST: f32 = 2047.0;
/// Rows of weights that stay in the nearest cache while the tokens pass by.
pub const ROWS: usize = 8;
/// Tokens that pass at once: each number that is loaded is used several times.
pub const TOKENS: usize = 4;
/// More than this and a sum could overflow.
pub const WIDEST: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linear {
    pub inputs: usize,
    /// One row of `inputs` weights for each output.
    pub weights: Vec<i8>,
    pub scales: Vec<f32>,
    pub bias: Vec<f32>,
}

/// Rows of activations, rounded.
pub struct Rounded {
    width: usize,
    values: Vec<i16>,
    scales: Vec<f32>,
}

impl Rounded {
    #[inline(always)]
    pub fn of(rows: &[f32], width: usize) -> Self {
        let mut values = vec![0i16; rows.len()];
        let mut scales = Vec::new();
        for (row, out) in rows.chunks_exact(width).zip(values.chunks_exact_mut(width)) {
            let most = row.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let scale = if most > 0.0 { most / LARGEST } else { 1.0 };
            let by = 1.0 / scale;
            for (x, y) in row.iter().zip(out) {
                // Added to this number, the rounded value stands in the low bits: no conversion, no branch.
                const SHIFT: f32 = 12_582_912.0;
                *y = (x * by + SHIFT).to_bits() as i16;
            }
            scales.push(scale);
        }
        Rounded { width, values, scales }
    }
}

/// A row of weights in 8 bits and what to multiply them by.
pub fn round_row(row: &[f32]) -> (Vec<i8>, f32) {
    let most = row.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
    (row.iter().map(|x| (x / scale).round() as i8).collect(), scale)
}

impl Linear {
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// One row of outputs for each row of `x`.
    #[inline(always)]
    pub fn apply(&self, x: &Rounded, dots: impl Dots) -> Vec<f32> {
        let (outputs, width) = (self.outputs(), self.inputs);
        let mut out = vec![0.0f32; x.scales.len() * outputs];
        if x.width != width || width == 0 || outputs == 0 {
            return out;
        }
        let mut wide = vec![0i16; width * ROWS];
        let scales = self.scales.chunks(ROWS).zip(self.bias.chunks(ROWS));
        let panels = self.weights.chunks(width * ROWS).zip(scales);
        for (column, (weights, (scales, bias))) in (0..).step_by(ROWS).zip(panels) {
            widen(weights, &mut wide);
            let tokens = x.values.chunks(width * TOKENS).zip(x.scales.chunks(TOKENS));
            for ((tokens, by), rows) in tokens.zip(out.chunks_mut(outputs * TOKENS)) {
                let sums = dots.panel(&wide, tokens, width);
                for ((row, by), sums) in rows.chunks_exact_mut(outputs).zip(by).zip(&sums) {
                    let places = row.get_mut(column..).unwrap_or_default().iter_mut();
                    for (((place, sum), scale), bias) in places.zip(sums).zip(scales).zip(bias) {
                        *place = *sum as f32 * scale * by + bias;
                    }
                }
            }
        }
        out
    }
}

#[inline(always)]
pub fn widen(narrow: &[i8], wide: &mut [i16]) {
    wide.iter_mut().zip(narrow).for_each(|(wide, narrow)| *wide = i16::from(*narrow));
}

/// For each token the products with each row of weights.
pub type Sums = [[i32; ROWS]; TOKENS];

/// How products are summed. The sums are exact, so every way gives the same.
pub trait Dots: Copy {
    /// `weights` holds `ROWS` rows of `width`, `tokens` at most `TOKENS`; sums of tokens that are missing mean nothing.
    fn panel(self, weights: &[i16], tokens: &[i16], width: usize) -> Sums;
}

/// For any processor.
#[derive(Clone, Copy)]
pub struct PlainLevel;

impl Dots for PlainLevel {
    fn panel(self, weights: &[i16], tokens: &[i16], width: usize) -> Sums {
        let mut all = Sums::default();
        for (sums, token) in all.iter_mut().zip(tokens.chunks_exact(width)) {
            for (sum, weights) in sums.iter_mut().zip(weights.chunks_exact(width)) {
                *sum = dot(weights, token);
            }
        }
        all
    }
}

/// Sums of whole chunks first: in this form the compiler uses the instruction that multiplies and adds in pairs.
/// What is left over is rare and short.
pub fn dot(a: &[i16], b: &[i16]) -> i32 {
    const CHUNK: usize = 32;
    let ((chunks_a, rest_a), (chunks_b, rest_b)) = (a.as_chunks::<CHUNK>(), b.as_chunks::<CHUNK>());
    let mut sum = 0i32;
    for (a, b) in chunks_a.iter().zip(chunks_b) {
        sum = sum.wrapping_add(products(a, b));
    }
    sum.wrapping_add(products(rest_a, rest_b))
}

#[inline(always)]
fn products(a: &[i16], b: &[i16]) -> i32 {
    let mut sum = 0i32;
    for (a, b) in a.iter().zip(b) {
        sum = sum.wrapping_add(i32::from(*a).wrapping_mul(i32::from(*b)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Rounding costs little, whatever the number of tokens.
        #[test]
        fn close_to_the_exact_product(
            tokens in 1usize..10, seed in proptest::collection::vec(-1.0f32..1.0, 64 * 12),
        ) {
            let (inputs, outputs) = (32, 7);
            let mut numbers = seed.iter().copied().cycle();
            let mut take = |n: usize| numbers.by_ref().take(n).collect::<Vec<f32>>();
            let (exact, x, bias) = (take(inputs * outputs), take(tokens * inputs), take(outputs));
            let mut linear = Linear { inputs, bias: bias.clone(), ..Linear::default() };
            for row in exact.chunks_exact(inputs) {
                let (weights, scale) = round_row(row);
                linear.weights.extend(weights);
                linear.scales.push(scale);
            }
            let got = linear.apply(&Rounded::of(&x, inputs), PlainLevel);
            for (t, x) in x.chunks_exact(inputs).enumerate() {
                for (o, row) in exact.chunks_exact(inputs).enumerate() {
                    let wanted: f32 = x.iter().zip(row).map(|(a, b)| a * b).sum::<f32>() + bias[o];
                    prop_assert!((got[t * outputs + o] - wanted).abs() < 0.12, "{} {wanted}", got[t * outputs + o]);
                }
            }
        }
    }

    /// The sums are exact: the wider instructions give the very same, also for odd sizes.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn every_way_gives_the_same() {
        let Some(wide) = super::super::avx2::Wide::new() else {
            return println!("SKIPPED: sums with AVX2 (this processor has none)");
        };
        for (inputs, outputs, tokens) in
            [(384, 16, 9), (48, 7, 4), (33, 9, 5), (1536, 8, 3), (5, 1, 1)]
        {
            let numbers = |n: usize| (0..n).map(|at| (at * 7_919 % 255) as f32 - 127.0);
            let linear = Linear {
                inputs,
                weights: numbers(inputs * outputs).map(|x| x as i8).collect(),
                scales: numbers(outputs).map(|x| x / 100.0).collect(),
                bias: numbers(outputs).collect(),
            };
            let x: Vec<f32> = numbers(tokens * inputs).map(|x| x * x / 9.0 - 700.0).collect();
            let x = Rounded::of(&x, inputs);
            let (plain, wide) = (linear.apply(&x, PlainLevel), wide.run(|| linear.apply(&x, wide)));
            assert!(plain.iter().any(|x| *x != 0.0));
            assert_eq!(plain, wide, "{inputs} → {outputs}, {tokens} tokens");
        }
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let width = 1536;
        assert!(width <= WIDEST);
        let linear =
            Linear { inputs: width, weights: vec![127; width], scales: vec![1.0], bias: vec![0.0] };
        let got = linear.apply(&Rounded::of(&vec![2047.0; width * 5], width), PlainLevel);
        assert_eq!(got, vec![2047.0 * 127.0 * 1536.0; 5]);
    }
}
