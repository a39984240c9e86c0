//! Vectors in memory, rounded to 8 bits, compared with all of them. A hundred thousand take a few milliseconds, and
//! nothing has to be built, tuned or kept consistent.

use crate::embed::linear_layer::{dot, widen};

/// A vector in 8 bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    pub values: Vec<i8>,
    pub scale: f32,
}

impl Quantised {
    pub fn of(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let scale = if most.is_finite() && most > 0.0 { most / 127.0 } else { 1.0 };
        Quantised { values: vector.iter().map(|x| (x / scale).round() as i8).collect(), scale }
    }
}

#[derive(Default)]
pub struct VectorIndex {
    model: String,
    /// Number of removals when it was read.
    taken: i64,
    dimensions: usize,
    rows: Vec<i64>,
    scales: Vec<f32>,
    values: Vec<i8>,
}

impl VectorIndex {
    pub fn new(model: &str, taken: i64) -> Self {
        VectorIndex { model: model.to_owned(), taken, ..VectorIndex::default() }
    }

    pub fn is_of(&self, model: &str, taken: i64) -> bool {
        self.model == model && self.taken == taken
    }

    /// The highest row there is.
    pub fn last(&self) -> i64 {
        self.rows.last().copied().unwrap_or(0)
    }

    /// A vector of another size is not comparable and left out.
    pub fn push(&mut self, row: i64, scale: f32, values: &[u8]) {
        if self.rows.is_empty() {
            self.dimensions = values.len();
        }
        if values.len() == self.dimensions && !values.is_empty() {
            self.rows.push(row);
            self.scales.push(scale);
            self.values.extend(values.iter().map(|byte| byte.cast_signed()));
        }
    }

    /// The nearest rows with their likeness, best first; among equals the newer one.
    pub fn nearest(&self, vector: &[f32], limit: usize) -> Vec<(i64, f32)> {
        if vector.len() != self.dimensions || limit == 0 || vector.is_empty() {
            return Vec::new();
        }
        let query = Quantised::of(vector);
        let wide: Vec<i16> = query.values.iter().map(|value| i16::from(*value)).collect();
        let mut row_wide = vec![0i16; self.dimensions];
        let mut best: Vec<(f32, usize)> = Vec::with_capacity(2 * limit + 1);
        let mut least = f32::NEG_INFINITY;
        let rows = self.values.chunks_exact(self.dimensions).zip(&self.scales);
        for (at, (values, scale)) in rows.enumerate() {
            // 127 × 127 × 8192 fits into 32 bits.
            widen(values, &mut row_wide);
            let likeness = dot(&row_wide, &wide) as f32 * scale;
            if likeness >= least {
                best.push((likeness, at));
                if best.len() > 2 * limit {
                    order(&mut best);
                    best.truncate(limit);
                    least = best.last().map_or(least, |(likeness, _)| *likeness);
                }
            }
        }
        order(&mut best);
        best.truncate(limit);
        let row = |at: usize| self.rows.get(at).copied().unwrap_or(0);
        best.into_iter().map(|(likeness, at)| (row(at), likeness * query.scale)).collect()
    }
}

fn order(best: &mut [(f32, usize)]) {
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vectors() -> impl Strategy<Value = Vec<Vec<f32>>> {
        proptest::collection::vec(proptest::collection::vec(-1.0f32..1.0, 16), 1..60)
    }

    fn index_of(vectors: &[Vec<f32>]) -> VectorIndex {
        let mut index = VectorIndex::new("m", 0);
        for (row, vector) in (1..).zip(vectors) {
            let quantised = Quantised::of(vector);
            let bytes: Vec<u8> = quantised.values.iter().map(|v| v.cast_unsigned()).collect();
            index.push(row, quantised.scale, &bytes);
        }
        index
    }

    proptest! {
        /// Nothing that is clearly nearer is missed, and what is given is in order.
        #[test]
        fn the_nearest_are_found(all in vectors(), query in proptest::collection::vec(-1.0f32..1.0, 16), limit in 1usize..12) {
            let found = index_of(&all).nearest(&query, limit);
            prop_assert_eq!(found.len(), limit.min(all.len()));
            let exact = |row: i64| -> f32 { all[row as usize - 1].iter().zip(&query).map(|(a, b)| a * b).sum() };
            let worst = found.iter().map(|(row, _)| exact(*row)).fold(f32::INFINITY, f32::min);
            for row in 1..=all.len() as i64 {
                if found.iter().all(|(found, _)| *found != row) {
                    prop_assert!(exact(row) <= worst + 0.25, "row {row}: {} above {worst}", exact(row));
                }
            }
            for pair in found.windows(2) {
                prop_assert!(pair[0].1 >= pair[1].1);
            }
            for (row, likeness) in &found {
                prop_assert!((likeness - exact(*row)).abs() < 0.15);
            }
        }
    }

    #[test]
    fn odd_vectors_are_left_out() {
        let mut index = VectorIndex::new("m", 0);
        index.push(1, 1.0, &[1, 0]);
        index.push(2, 1.0, &[1]);
        index.push(3, 1.0, &[]);
        assert_eq!(index.nearest(&[1.0, 0.0], 5).len(), 1);
        assert!(index.nearest(&[1.0], 5).is_empty());
        assert!(index.nearest(&[1.0, 0.0], 0).is_empty());
        assert!(VectorIndex::default().nearest(&[], 3).is_empty());
        assert!(Quantised::of(&[f32::NAN, 0.0]).values.len() == 2);
    }

    #[test]
    fn among_equals_the_newer_comes_first() {
        let same = vec![vec![1.0; 16]; 5];
        let rows: Vec<i64> =
            index_of(&same).nearest(&[1.0; 16], 3).iter().map(|(row, _)| *row).collect();
        assert_eq!(rows, [5, 4, 3]);
    }
}
