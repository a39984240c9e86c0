//! Which templates make lines that are allowed. Those are drawn more often; none is ever given up.

use crate::random::Random;

/// How often a template of a list was drawn, and in how many allowed lines it was.
#[derive(Default)]
pub struct TemplateWeights {
    tried: Vec<u32>,
    allowed: Vec<u32>,
    /// Drawn for the present line.
    drawn: Vec<usize>,
}

impl TemplateWeights {
    /// The best of a few at random, or any.
    pub fn draw(&mut self, length: usize, random: &mut Random) -> usize {
        self.tried.resize(length, 0);
        self.allowed.resize(length, 0);
        let mut best = random.below(length);
        if random.below(100) >= 30 {
            for _ in 0..2 {
                let other = random.below(length);
                if self.share(other) > self.share(best) {
                    best = other;
                }
            }
        }
        self.drawn.push(best);
        best
    }

    fn share(&self, at: usize) -> u32 {
        let count = |list: &[u32]| list.get(at).copied().unwrap_or_default();
        (count(&self.allowed) + 1) * 1000 / (count(&self.tried) + 2)
    }

    pub fn learn(&mut self, was_allowed: bool) {
        for at in std::mem::take(&mut self.drawn) {
            if let (Some(tried), Some(allowed)) = (self.tried.get_mut(at), self.allowed.get_mut(at))
            {
                *tried += 1;
                *allowed += u32::from(was_allowed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_drawn_more_often_and_nothing_is_given_up() {
        let (mut weights, mut random) = (TemplateWeights::default(), Random::new(1));
        let mut drawn = [0; 10];
        for _ in 0..5000 {
            let at = weights.draw(10, &mut random);
            drawn[at] += 1;
            weights.learn(at == 3);
        }
        assert!(drawn.iter().all(|count| *count > 20), "{drawn:?}");
        assert!(drawn[3] > 1000, "{drawn:?}");
    }
}
