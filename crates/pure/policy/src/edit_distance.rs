//! How far apart two names are, to find what a misspelt one meant.

/// How many letters must be added, removed, replaced or swapped with their neighbour.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let at = |row: usize, column: usize| {
            rows.get(row)
                .and_then(|row: &Vec<usize>| row.get(column))
                .copied()
                .unwrap_or(usize::MAX)
        };
        let letter = |i: usize| i.checked_sub(1).and_then(|i| a.get(i));
        let other = |j: usize| j.checked_sub(1).and_then(|j| b.get(j));
        let mut row: Vec<usize> = vec![i];
        for j in 1..=b.len() {
            let left = row.last().copied().unwrap_or(usize::MAX);
            let replaced = at(i - 1, j - 1) + usize::from(letter(i) != other(j));
            let mut least = replaced.min(at(i - 1, j) + 1).min(left + 1);
            if i > 1 && j > 1 && letter(i) == other(j - 1) && letter(i - 1) == other(j) {
                least = least.min(at(i - 2, j - 2) + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances() {
        for (a, b, edits) in [
            ("", "", 0),
            ("a", "", 1),
            ("ab", "ba", 1),
            ("bash", "bsah", 1),
            ("read", "road", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (edits, edits), "{a} {b}");
        }
    }
}
