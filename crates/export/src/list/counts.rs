//! Adds the counts of links of consecutive answers.

use std::collections::HashMap;

use archive::question::{LinkCountRow, LinkCountsBody};

/// The sum of several answers with counts of links.
#[derive(Debug, Default)]
pub struct LinkCountSum {
    groups: HashMap<String, LinkCountRow>,
    links: u64,
}

impl LinkCountSum {
    /// Adds the counts of an answer.
    pub fn add(&mut self, part: &LinkCountsBody) {
        self.links += part.links;
        for row in &part.rows {
            let group = self.groups.entry(row.value.clone());
            let group = group.or_insert_with(|| LinkCountRow {
                value: row.value.clone(),
                ..LinkCountRow::default()
            });
            group.add(row);
        }
    }

    /// Returns the number of links counted so far.
    pub fn links(&self) -> u64 {
        self.links
    }

    /// Returns the number of groups so far.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the groups, those with the most links first.
    pub fn into_rows(self) -> Vec<LinkCountRow> {
        let mut rows: Vec<LinkCountRow> = self.groups.into_values().collect();
        LinkCountRow::sort(&mut rows);
        rows
    }
}
