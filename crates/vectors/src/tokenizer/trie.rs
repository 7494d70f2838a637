//! The tokens of a vocabulary by their bytes.
//!
//! Nodes are numbered level by level, so the children of a node follow those of the node before it.
//! A node takes 9 bytes.

/// Marks a node at which no token ends.
const NO_TOKEN: u32 = u32::MAX;

/// Nodes with more children are searched by halves.
const SCAN_MAX: usize = 12;

/// A prefix tree.
pub(super) struct Trie {
    /// The byte that leads to each node. That of the root is unused.
    labels: Vec<u8>,
    /// The first child of each node, and the number of nodes at the end. The children of a node end
    /// where those of the next begin.
    children: Vec<u32>,
    /// The token that ends at each node, or [`NO_TOKEN`].
    tokens: Vec<u32>,
}

/// A node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(u32);

/// The node of no bytes.
pub(super) const ROOT: Node = Node(0);

impl Trie {
    /// Makes a tree of tokens. Of equal tokens the last counts, and an empty one is left out.
    pub(super) fn new(mut tokens: Vec<(&[u8], u32)>) -> Trie {
        tokens.retain(|(bytes, _)| !bytes.is_empty());
        tokens.sort_by_key(|(bytes, _)| *bytes);
        let mut trie = Trie {
            labels: vec![0],
            children: Vec::new(),
            tokens: Vec::new(),
        };
        // The range of tokens below each node, and the number of bytes up to it.
        let mut ranges = vec![(0, tokens.len(), 0)];
        let mut next = 0;
        while let Some(&(mut from, to, depth)) = ranges.get(next) {
            let mut token = NO_TOKEN;
            while from < to && tokens[from].0.len() == depth {
                token = tokens[from].1;
                from += 1;
            }
            trie.tokens.push(token);
            trie.children.push(trie.labels.len() as u32);
            while from < to {
                let label = tokens[from].0[depth];
                let count = tokens[from..to].partition_point(|(bytes, _)| bytes[depth] == label);
                trie.labels.push(label);
                ranges.push((from, from + count, depth + 1));
                from += count;
            }
            next += 1;
        }
        trie.children.push(trie.labels.len() as u32);
        trie
    }

    /// Returns the child that a byte leads to.
    pub(super) fn child(&self, node: Node, byte: u8) -> Option<Node> {
        let from = *self.children.get(node.0 as usize)?;
        let to = *self.children.get(node.0 as usize + 1)?;
        let labels = &self.labels[from as usize..to as usize];
        let index = if labels.len() <= SCAN_MAX {
            labels.iter().position(|label| *label == byte)?
        } else {
            labels.binary_search(&byte).ok()?
        };
        Some(Node(from + index as u32))
    }

    /// Returns the node that bytes lead to.
    pub(super) fn node(&self, bytes: &[u8]) -> Option<Node> {
        bytes.iter().try_fold(ROOT, |node, byte| self.child(node, *byte))
    }

    /// Returns the token that ends at a node.
    pub(super) fn token(&self, node: Node) -> Option<u32> {
        let token = self.tokens.get(node.0 as usize).copied();
        token.filter(|token| *token != NO_TOKEN)
    }

    /// Returns the token with these bytes.
    pub(super) fn get(&self, bytes: &[u8]) -> Option<u32> {
        self.token(self.node(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tree_has_the_tokens_it_was_made_of(
            tokens in prop::collection::vec("[a-cé]{0,4}", 0..40),
            others in prop::collection::vec("[a-dé]{0,5}", 0..40),
        ) {
            let numbered = tokens.iter().map(|token| token.as_bytes()).zip(0..);
            let trie = Trie::new(numbered.clone().collect());
            let map: BTreeMap<&[u8], u32> = numbered.filter(|(token, _)| !token.is_empty()).collect();
            for text in tokens.iter().chain(&others) {
                prop_assert_eq!(trie.get(text.as_bytes()), map.get(text.as_bytes()).copied());
            }
        }
    }

    #[test]
    fn a_node_of_many_children_is_searched() {
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let trie = Trie::new(bytes.iter().map(|byte| &byte[..]).zip(0..).collect());
        assert!((0..=255).all(|byte| trie.get(&[byte]) == Some(u32::from(byte))));
    }
}
