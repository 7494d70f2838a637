//! Picks: the volumes of one partition at given prices.

use crate::capacity::{REPLICAS_MAX, Tree};
use crate::draw::Draw;

/// Score plus price, and the member's index.
type Item = (i64, u32);

/// The candidates with the lowest sums so far, in order. Among equal ones the first offered wins.
struct Least {
    items: [Item; REPLICAS_MAX + 1],
    len: usize,
    room: usize,
}

impl Least {
    const fn new() -> Self {
        Self {
            items: [(0, 0); REPLICAS_MAX + 1],
            len: 0,
            room: 0,
        }
    }

    /// Clears the list, with room for `free` candidates and, if `more`, one in addition.
    fn clear(&mut self, (free, more): (usize, bool)) {
        self.len = 0;
        self.room = free + usize::from(more);
    }

    fn offer(&mut self, item: Item) {
        if self.len < self.room {
            self.len += 1;
        } else if self.room == 0 || item.0 >= self.items[self.len - 1].0 {
            return;
        }
        let mut at = self.len - 1;
        while at > 0 && item.0 < self.items[at - 1].0 {
            self.items[at] = self.items[at - 1];
            at -= 1;
        }
        self.items[at] = item;
    }

    /// Picks the `free` lowest and offers the next one to the group above.
    fn pass(&self, free: usize, picks: &mut Vec<u32>, above: &mut Self) {
        let free = free.min(self.len);
        picks.extend(self.items[..free].iter().map(|item| item.1));
        if let Some(item) = self.items[..self.len].get(free) {
            above.offer(*item);
        }
    }
}

/// Picks volumes partition by partition, and holds the data that stays the same between them.
pub(super) struct Picker<'a> {
    tree: &'a Tree,
    /// By group: the number of copies that its children compete for, and whether it may have one
    /// more.
    free: Vec<(usize, bool)>,
    of_all: Least,
    of_zone: Least,
    of_node: Least,
}

impl<'a> Picker<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        let free = |group: usize| (tree.free(group), tree.groups[group].hi > tree.groups[group].lo);
        Self {
            tree,
            free: (0..tree.first_leaf).map(free).collect(),
            of_all: Least::new(),
            of_zone: Least::new(),
            of_node: Least::new(),
        }
    }

    /// Picks the volumes of one partition. Within a node the first `free` are picked, the next one
    /// competes within its zone, and the next of a zone competes among all. The result equals
    /// taking all volumes in order of score within the bounds.
    pub(super) fn pick(&mut self, draws: &[Draw], prices: &[i64], picks: &mut Vec<u32>) {
        let Tree {
            groups, first_leaf, ..
        } = self.tree;
        let begin = picks.len();
        self.of_all.clear(self.free[0]);
        for zone in groups[0].children.clone() {
            self.of_zone.clear(self.free[zone]);
            for node in groups[zone].children.clone() {
                let leaves = groups[node].children.clone();
                // The only volume of a node is offered to the zone directly, which is faster and
                // gives the same result.
                let single = leaves.len() == 1;
                let rivals = if single {
                    &mut self.of_zone
                } else {
                    &mut self.of_node
                };
                if !single {
                    rivals.clear(self.free[node]);
                }
                for leaf in leaves {
                    let i = leaf - first_leaf;
                    if groups[leaf].lo == 1 {
                        picks.push(i as u32);
                    } else if groups[leaf].hi == 1 {
                        rivals.offer((i64::from(draws[i].score) + prices[i], i as u32));
                    }
                }
                if !single {
                    self.of_node.pass(self.free[node].0, picks, &mut self.of_zone);
                }
            }
            self.of_zone.pass(self.free[zone].0, picks, &mut self.of_all);
        }
        picks.extend(self.of_all.items[..self.of_all.len].iter().map(|item| item.1));
        picks[begin..].sort_unstable();
    }
}
