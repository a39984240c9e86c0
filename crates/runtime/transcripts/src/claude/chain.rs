//! Which lines of a transcript are the conversation: those from its newest end back to its beginning.

use super::line_index::{IndexedLine, LineKind};
use std::collections::{HashMap, HashSet};

pub(crate) struct Chain<'a> {
    lines: &'a [IndexedLine],
    by_uuid: HashMap<&'a str, usize>,
}

impl<'a> Chain<'a> {
    pub fn new(lines: &'a [IndexedLine]) -> Self {
        let by_uuid = lines.iter().enumerate().map(|(at, line)| (line.uuid.as_str(), at)).collect();
        Chain { lines, by_uuid }
    }

    pub fn line(&self, uuid: &str) -> Option<usize> {
        self.by_uuid.get(uuid).copied()
    }

    /// The numbers of the lines, oldest first.
    pub fn newest(&self) -> Vec<usize> {
        let Some(leaf) = self.leaf() else { return Vec::new() };
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        let mut at = Some(leaf);
        while let Some(number) = at.filter(|number| seen.insert(*number)) {
            chain.push(number);
            at = self.parent(number);
        }
        chain.reverse();
        self.with_boundaries(chain)
    }

    fn parent(&self, number: usize) -> Option<usize> {
        self.line(self.lines.get(number)?.parent.as_deref()?)
    }

    /// The newest prompt, answer or result that nothing follows, except lines that say nothing.
    fn leaf(&self) -> Option<usize> {
        let parents: HashSet<&str> =
            self.lines.iter().filter_map(|line| line.parent.as_deref()).collect();
        let ends = (0..self.lines.len())
            .filter(|at| self.lines.get(*at).is_some_and(|it| !parents.contains(it.uuid.as_str())));
        let mut visited = HashSet::new();
        let (mut best, mut second_best) = (None, None);
        for end in ends {
            let mut at = Some(end);
            while let Some(number) = at.filter(|number| visited.insert(*number)) {
                let Some(line) = self.lines.get(number) else { break };
                if matches!(line.kind, LineKind::User | LineKind::Assistant) {
                    let choice = if line.meta { &mut second_best } else { &mut best };
                    *choice = (*choice).max(Some(number).filter(|_| !line.aside));
                    break;
                }
                at = self.parent(number);
            }
        }
        best.or(second_best)
    }

    /// What a compaction kept is not written again, so what follows may name a kept message as its parent. The boundary
    /// and the summary belong in between.
    fn with_boundaries(&self, chain: Vec<usize>) -> Vec<usize> {
        let on_chain: HashSet<usize> = chain.iter().copied().collect();
        let is_missing = |at: &usize| {
            let is_boundary = |line: &IndexedLine| {
                line.kind == LineKind::Boundary && !line.aside && !line.kept.is_empty()
            };
            self.lines.get(*at).is_some_and(is_boundary) && !on_chain.contains(at)
        };
        let missing: Vec<usize> = (0..self.lines.len()).filter(is_missing).collect();
        if missing.is_empty() {
            return chain;
        }
        let mut whole = Vec::with_capacity(chain.len());
        for (place, number) in chain.iter().enumerate() {
            whole.push(*number);
            let next = chain.get(place + 1).copied().unwrap_or(usize::MAX);
            for boundary in missing.iter().filter(|at| (*number..next).contains(at)) {
                whole.extend(self.boundary_after(*number, *boundary).into_iter().flatten());
            }
        }
        whole
    }

    fn boundary_after(&self, number: usize, boundary: usize) -> Option<[usize; 2]> {
        let (line, boundary_line) = (self.lines.get(number)?, self.lines.get(boundary)?);
        let is_kept = boundary_line.kept.contains(&line.uuid);
        let is_its = |line: &IndexedLine| {
            line.is_summary && line.parent.as_deref() == Some(boundary_line.uuid.as_str())
        };
        let rest = self.lines.get(boundary..)?;
        let summary = rest.iter().position(is_its).filter(|_| is_kept)?;
        Some([boundary, boundary + summary])
    }
}
