//! The functions between the matrices. Loops that a compiler turns into vector instructions.

/// Brings each row to mean 0 and variance 1, then scales and shifts it.
#[inline(always)]
pub fn layer_norm(rows: &mut [f32], weight: &[f32], bias: &[f32]) {
    let width = weight.len().max(1);
    for row in rows.chunks_exact_mut(width) {
        let mean = sum_of(row, |x| x) / width as f32;
        let variance = sum_of(row, |x| (x - mean) * (x - mean)) / width as f32;
        let scale = 1.0 / (variance + 1e-12).sqrt();
        for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
            *x = (*x - mean) * scale * w + b;
        }
    }
}

#[inline(always)]
pub fn gelu(values: &mut [f32]) {
    for x in values {
        *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// A quotient of polynomials, exact to about seven digits, without a branch or a call.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let y = x * x;
    let mut p = -2.726_142_3e-10_f32;
    for c in [
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ] {
        p = p * y + c;
    }
    let mut q = -1.456_607_2e-5_f32;
    for c in [-2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2] {
        q = q * y + c;
    }
    x * p / q
}

/// Weights that sum to 1, in place.
#[inline(always)]
pub fn softmax(values: &mut [f32]) {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    values.iter_mut().for_each(|x| *x = exp(*x - most));
    let sum = sum_of(values, |x| x);
    if sum > 0.0 {
        values.iter_mut().for_each(|x| *x /= sum);
    }
}

/// Of a number that is not above 0, to about seven digits, without a branch or a call: a whole power of two, and a
/// polynomial for the rest.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Added to this number, the rounded value stands in the low bits.
    const SHIFT: f32 = 12_582_912.0;
    let x = x.max(-87.0) * std::f32::consts::LOG2_E;
    let shifted = x + SHIFT;
    let rest = (x - (shifted - SHIFT)) * std::f32::consts::LN_2;
    let mut sum = 1.0 / 720.0;
    for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * rest + c;
    }
    f32::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// In eight sums side by side, which a single one does not allow the compiler to make of it.
#[inline(always)]
fn sum_of(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = row.as_chunks::<8>();
    let mut sums = [0.0f32; 8];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += term(*x));
    }
    sums.iter().sum::<f32>() + rest.iter().map(|x| term(*x)).sum::<f32>()
}

/// The same for a product.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((chunks_a, rest_a), (chunks_b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0f32; 8];
    for (a, b) in chunks_a.iter().zip(chunks_b) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    sums.iter().sum::<f32>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f32>()
}

#[inline(always)]
pub fn add(to: &mut [f32], what: &[f32]) {
    to.iter_mut().zip(what).for_each(|(x, y)| *x += y);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_is_close() {
        // Values of the error function from tables.
        for (x, expected) in [
            (0.0, 0.0),
            (0.25, 0.276_326_4),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (3.5, 1.0),
        ] {
            assert!((erf(x) - expected).abs() < 2e-6, "{x}: {}", erf(x));
            assert!((erf(-x) + expected).abs() < 2e-6, "-{x}");
        }
    }

    #[test]
    fn softmax_sums_to_one() {
        let mut values = [1000.0, 999.0, -1000.0];
        softmax(&mut values);
        assert!((values.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(values[0] > values[1] && values[2] < 1e-30);
        for x in (0..8_700).map(|n| n as f32 / -100.0) {
            let (got, wanted) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((got / wanted - 1.0).abs() < 2e-5, "{x}: {got} {wanted}");
        }
    }

    #[test]
    fn a_row_is_normalised() {
        let mut row = [1.0, 2.0, 3.0, 4.0];
        layer_norm(&mut row, &[1.0; 4], &[0.0; 4]);
        assert!(row.iter().sum::<f32>().abs() < 1e-5);
        assert!((row.iter().map(|x| x * x).sum::<f32>() / 4.0 - 1.0).abs() < 1e-4);
    }
}
