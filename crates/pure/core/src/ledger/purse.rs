//! The budget of one process, as a tree: what a child spends or reserves also counts for its parents.

use super::grant::{Ask, Grant, Sum, grant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One node of the tree. Clones are the same purse.
#[derive(Clone, Debug)]
pub struct Purse(Arc<PursePlace>);

/// Whoever holds it keeps the node, and those above it.
#[derive(Debug)]
struct PursePlace {
    tree: Arc<Mutex<PurseTree>>,
    at: usize,
    /// A node is not used again while a child draws on it.
    _parent: Option<Purse>,
}

#[derive(Debug, Default)]
struct PurseTree {
    nodes: Vec<PurseNode>,
    /// Places of nodes that nobody has any more: what they spent counts above them.
    free: Vec<usize>,
}

impl PurseTree {
    fn insert(&mut self, node: PurseNode) -> usize {
        match self.free.pop() {
            Some(at) => {
                self.nodes[at] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }
}

impl Drop for PursePlace {
    fn drop(&mut self) {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.at);
    }
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
        Purse::at(Arc::default(), PurseNode { limit, ..PurseNode::default() }, None)
    }

    /// A purse that draws on this one and may have a limit of its own.
    #[must_use]
    pub fn child(&self, limit: Option<f64>) -> Purse {
        let node = PurseNode { parent: Some(self.0.at), limit, ..PurseNode::default() };
        Purse::at(self.0.tree.clone(), node, Some(self.clone()))
    }

    fn at(tree: Arc<Mutex<PurseTree>>, node: PurseNode, parent: Option<Purse>) -> Purse {
        let at = tree.lock().unwrap_or_else(PoisonError::into_inner).insert(node);
        Purse(Arc::new(PursePlace { tree, at, _parent: parent }))
    }

    pub fn limit(&self) -> Option<f64> {
        self.tree().nodes.get(self.0.at).and_then(|node| node.limit)
    }

    pub fn spent(&self) -> f64 {
        self.tree().nodes.get(self.0.at).map_or(0.0, |node| node.spent)
    }

    pub fn reserved(&self) -> f64 {
        self.tree().nodes.get(self.0.at).map_or(0.0, |node| node.reserved)
    }

    /// Whether this purse or one above it has a limit.
    pub fn is_limited(&self) -> bool {
        !sums(&self.tree().nodes, self.0.at).is_empty()
    }

    /// The sums that count for this purse, its own first.
    pub fn sums(&self) -> Vec<Sum> {
        sums(&self.tree().nodes, self.0.at)
    }

    /// Reserves what the request may cost, here and in every purse above.
    pub fn reserve(&self, ask: &Ask) -> (Grant, PurseHold) {
        let mut tree = self.tree();
        let answer = grant(&sums(&tree.nodes, self.0.at), ask);
        let amount = match answer {
            Grant::Yes { amount, .. } => amount,
            Grant::Wait | Grant::No { .. } => 0.0,
        };
        up(&mut tree.nodes, self.0.at, |node| node.reserved += amount);
        drop(tree);
        (answer, PurseHold { purse: self.clone(), amount })
    }

    /// For a request that needs no reservation: what it costs is counted all the same.
    pub fn unreserved(&self) -> PurseHold {
        PurseHold { purse: self.clone(), amount: 0.0 }
    }

    fn spend(&self, cost: f64) {
        up(&mut self.tree().nodes, self.0.at, |node| node.spent += cost.max(0.0));
    }

    fn tree(&self) -> MutexGuard<'_, PurseTree> {
        self.0.tree.lock().unwrap_or_else(PoisonError::into_inner)
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
        up(&mut self.purse.tree().nodes, self.purse.0.at, back);
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
