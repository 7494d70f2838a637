//! Keeps the largest of many rows in bounded memory.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The rows with the highest counts; rows with equal counts are in their own order.
pub(super) struct Largest<T> {
    most: usize,
    rows: BTreeSet<(Reverse<u64>, T)>,
}

impl<T: Ord> Largest<T> {
    pub(super) fn new(most: usize) -> Largest<T> {
        Largest {
            most,
            rows: BTreeSet::new(),
        }
    }

    pub(super) fn push(&mut self, count: u64, row: T) {
        self.rows.insert((Reverse(count), row));
        if self.rows.len() > self.most {
            self.rows.pop_last();
        }
    }

    pub(super) fn into_rows(self) -> impl Iterator<Item = (u64, T)> {
        self.rows.into_iter().map(|(Reverse(count), row)| (count, row))
    }
}
