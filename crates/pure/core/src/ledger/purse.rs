//! The budget of one process, as a tree: what a child spends or reserves also counts for its parents.

use super::grant::{Ask, Grant, Sum, grant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One node of the tree. Clones are the same purse.
#[derive(Clone, Debug)]
pub struct Purse {
    tree: Arc<Mutex<Vec<PurseNode>>>,
    at: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct PurseNode {
    parent: Option<usize>,
    limit: Option<f64>,
    spent: f64,
    reserved: f64,
}

impl Default for Purse {
    fn default() -> Self {
        Purse::new(None)
    }
}

impl Purse {
    pub fn new(limit: Option<f64>) -> Self {
        Purse {
            tree: Arc::new(Mutex::new(vec![PurseNode { limit, ..PurseNode::default() }])),
            at: 0,
        }
    }

    /// A purse that draws on this one and may have a limit of its own.
    #[must_use]
    pub fn child(&self, limit: Option<f64>) -> Purse {
        let mut nodes = self.nodes();
        nodes.push(PurseNode { parent: Some(self.at), limit, ..PurseNode::default() });
        Purse { tree: self.tree.clone(), at: nodes.len() - 1 }
    }

    pub fn limit(&self) -> Option<f64> {
        self.nodes().get(self.at).and_then(|node| node.limit)
    }

    pub fn spent(&self) -> f64 {
        self.nodes().get(self.at).map_or(0.0, |node| node.spent)
    }

    pub fn reserved(&self) -> f64 {
        self.nodes().get(self.at).map_or(0.0, |node| node.reserved)
    }

    /// Whether this purse or one above it has a limit.
    pub fn is_limited(&self) -> bool {
        !sums(&self.nodes(), self.at).is_empty()
    }

    /// The sums that count for this purse, its own first.
    pub fn sums(&self) -> Vec<Sum> {
        sums(&self.nodes(), self.at)
    }

    /// Reserves what the request may cost, here and in every purse above.
    pub fn reserve(&self, ask: &Ask) -> (Grant, PurseHold) {
        let mut nodes = self.nodes();
        let answer = grant(&sums(&nodes, self.at), ask);
        let amount = match answer {
            Grant::Yes { amount, .. } => amount,
            Grant::Wait | Grant::No { .. } => 0.0,
        };
        up(&mut nodes, self.at, |node| node.reserved += amount);
        drop(nodes);
        (answer, PurseHold { purse: self.clone(), amount })
    }

    /// For a request that needs no reservation: what it costs is counted all the same.
    pub fn unreserved(&self) -> PurseHold {
        PurseHold { purse: self.clone(), amount: 0.0 }
    }

    fn spend(&self, cost: f64) {
        up(&mut self.nodes(), self.at, |node| node.spent += cost.max(0.0));
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<PurseNode>> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reservation. Dropped, it gives back what it holds.
#[derive(Debug)]
pub struct PurseHold {
    purse: Purse,
    amount: f64,
}

impl PurseHold {
    pub fn amount(&self) -> f64 {
        self.amount
    }

    /// Less is needed than was reserved.
    pub fn shrink(&mut self, amount: f64) {
        let amount = amount.max(0.0);
        if amount < self.amount {
            self.give_back(self.amount - amount);
            self.amount = amount;
        }
    }

    /// The request is paid for.
    pub fn settle(self, cost: f64) {
        self.purse.spend(cost);
    }

    fn give_back(&self, amount: f64) {
        let back = |node: &mut PurseNode| node.reserved = (node.reserved - amount).max(0.0);
        up(&mut self.purse.nodes(), self.purse.at, back);
    }
}

impl Drop for PurseHold {
    fn drop(&mut self) {
        self.give_back(self.amount);
    }
}

fn sums(nodes: &[PurseNode], at: usize) -> Vec<Sum> {
    let mut found = Vec::new();
    let mut next = Some(at);
    while let Some(node) = next.and_then(|at| nodes.get(at)) {
        let PurseNode { spent, reserved, .. } = *node;
        found.extend(node.limit.map(|limit| Sum { limit, spent, reserved }));
        next = node.parent;
    }
    found
}

fn up(nodes: &mut [PurseNode], at: usize, change: impl Fn(&mut PurseNode)) {
    let mut next = Some(at);
    while let Some(node) = next.and_then(|at| nodes.get_mut(at)) {
        change(node);
        next = node.parent;
    }
}

#[cfg(test)]
#[path = "purse_tests.rs"]
mod tests;
