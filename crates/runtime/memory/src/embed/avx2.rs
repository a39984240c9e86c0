//! The same sums with the wider instructions of newer x86 processors (AVX2). The proof that a processor has them is a
//! token that only the check at run time gives out. We write no unsafe code; the macro `kernel!` puts one unsafe call here,
//! with the token as its proof (docs/decisions/0014).

use super::linear_layer::{Dots, ROWS, Sums, TOKENS, dot};
use fearless_simd::x86::Avx2;
use fearless_simd::{Level, Simd, SimdBase, i16x16, i32x8, kernel, prelude::*};
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_hadd_epi32, _mm256_madd_epi16, _mm256_setzero_si256,
};

/// Products that one instruction makes.
const STEP: usize = 16;

#[derive(Clone, Copy)]
pub struct Wide(Avx2);

impl Wide {
    /// None: this processor does not have them.
    pub fn new() -> Option<Self> {
        Level::new().as_avx2().map(Wide)
    }

    /// Everything that is inlined into `work` is compiled for them.
    #[inline(always)]
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        self.0.vectorize(work)
    }
}

impl Dots for Wide {
    #[inline(always)]
    fn panel(self, weights: &[i16], tokens: &[i16], width: usize) -> Sums {
        // A token that is missing is replaced by the first.
        let mut rows = [tokens.get(..width).unwrap_or_default(); TOKENS];
        rows.iter_mut().zip(tokens.chunks_exact(width)).for_each(|(row, token)| *row = token);
        panel(self.0, weights, rows, width)
    }
}

kernel!(
    fn panel(avx2: Avx2, weights: &[i16], tokens: [&[i16]; TOKENS], width: usize) -> Sums {
        let load = |chunk: &[i16; STEP]| -> __m256i { i16x16::from_slice(avx2, chunk).into() };
        let [(t0, rest_t0), (t1, rest_t1), (t2, rest_t2), (t3, rest_t3)] =
            tokens.map(|row| row.as_chunks::<STEP>());
        let rests = [rest_t0, rest_t1, rest_t2, rest_t3];
        let mut all = Sums::default();
        // Two rows at a time: that many sums, and what they are made of, fit into the registers.
        for (row, pair) in (0..ROWS).step_by(2).zip(weights.chunks_exact(2 * width)) {
            let (first, second) = pair.split_at(width);
            let ((w0, rest_w0), (w1, rest_w1)) = (first.as_chunks(), second.as_chunks());
            let mut sums = [[_mm256_setzero_si256(); 2]; TOKENS];
            for (((((w0, w1), t0), t1), t2), t3) in
                w0.iter().zip(w1).zip(t0).zip(t1).zip(t2).zip(t3)
            {
                let (w0, w1) = (load(w0), load(w1));
                for (sum, token) in sums.iter_mut().zip([t0, t1, t2, t3]) {
                    let token = load(token);
                    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(w0, token));
                    sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(w1, token));
                }
            }
            // Neighbours are added twice, then the two halves: what was in eight places is in one.
            for (at, rest_w) in [rest_w0, rest_w1].into_iter().enumerate() {
                let [a, b, c, d] = sums.map(|sums| sums[at]);
                let four = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
                let halves: i32x8<Avx2> = four.simd_into(avx2);
                let halves: [i32; 8] = halves.into();
                let (low, high) = halves.split_at(TOKENS);
                for (((all, low), high), rest) in all.iter_mut().zip(low).zip(high).zip(rests) {
                    let rest = if rest_w.is_empty() { 0 } else { dot(rest_w, rest) };
                    all[row + at] = low.wrapping_add(*high).wrapping_add(rest);
                }
            }
        }
        all
    }
);
