//! Edges and nodes as rows that sort by name: names, each followed by a NUL, then numbers of 8
//! bytes, big-endian.

use std::io;

use archive::question::GraphEdge;

/// Writes an edge as a row.
pub(super) fn put_edge(edge: &GraphEdge, row: &mut Vec<u8>) {
    row.clear();
    put_name(&edge.source, row);
    put_name(&edge.target, row);
    put_numbers(
        [edge.links, edge.pages, edge.first_ms as u64, edge.last_ms as u64],
        row,
    );
}

/// Reads the row of an edge.
pub(super) fn edge_of(row: &[u8]) -> GraphEdge {
    let (names, [links, pages, first, last]) = split(row);
    let mut names = names.split(|&byte| byte == 0).map(name);
    GraphEdge {
        source: names.next().unwrap_or_default(),
        target: names.next().unwrap_or_default(),
        links,
        pages,
        first_ms: first as i64,
        last_ms: last as i64,
    }
}

/// Adds another part of the same edge.
pub(super) fn add_edge(edge: &mut GraphEdge, other: &GraphEdge) {
    edge.links += other.links;
    edge.pages += other.pages;
    edge.first_ms = edge.first_ms.min(other.first_ms);
    edge.last_ms = edge.last_ms.max(other.last_ms);
}

/// Returns whether two edges are parts of one.
pub(super) fn is_same_edge(edge: &GraphEdge, other: &GraphEdge) -> bool {
    (&edge.source, &edge.target) == (&other.source, &other.target)
}

/// A domain or host with its links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the domain or host.
    pub name: String,
    /// Number of links from it to others.
    pub links_out: u64,
    /// Number of links from others to it.
    pub links_in: u64,
    /// Number of links from it to itself.
    pub links_within: u64,
}

impl Node {
    /// Returns the number of links from and to others, which is the size of the node.
    pub fn links(&self) -> u64 {
        self.links_out + self.links_in
    }

    pub(super) fn put(&self, row: &mut Vec<u8>) {
        row.clear();
        put_name(&self.name, row);
        put_numbers([self.links_out, self.links_in, self.links_within], row);
    }

    pub(super) fn decode(row: &[u8]) -> Node {
        let (names, [links_out, links_in, links_within]) = split(row);
        Node {
            name: names
                .split(|&byte| byte == 0)
                .next()
                .map(name)
                .unwrap_or_default(),
            links_out,
            links_in,
            links_within,
        }
    }

    pub(super) fn add(&mut self, other: &Node) {
        self.links_out += other.links_out;
        self.links_in += other.links_in;
        self.links_within += other.links_within;
    }
}

/// A NUL ends a name. Names come from strangers, so a NUL inside one is replaced.
fn put_name(name: &str, row: &mut Vec<u8>) {
    if name.contains('\0') {
        row.extend_from_slice(name.replace('\0', "\u{fffd}").as_bytes())
    } else {
        row.extend_from_slice(name.as_bytes())
    }
    row.push(0);
}

fn put_numbers<const N: usize>(numbers: [u64; N], row: &mut Vec<u8>) {
    for number in numbers {
        row.extend_from_slice(&number.to_be_bytes());
    }
}

/// Splits a row written by this module into names and numbers.
fn split<const N: usize>(row: &[u8]) -> (&[u8], [u64; N]) {
    let (names, numbers) = row.split_at(row.len().saturating_sub(N * 8));
    let mut numbers = numbers
        .as_chunks::<8>()
        .0
        .iter()
        .map(|bytes| u64::from_be_bytes(*bytes));
    (names, std::array::from_fn(|_| numbers.next().unwrap_or(0)))
}

fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Merges adjacent rows of the same edge or node.
pub(super) fn merged<R>(
    rows: impl Iterator<Item = io::Result<Vec<u8>>>,
    decode: fn(&[u8]) -> R,
    is_like: fn(&R, &R) -> bool,
    add: fn(&mut R, &R),
) -> impl Iterator<Item = io::Result<R>> {
    let mut rows = rows.map(move |row| row.map(|row| decode(&row)));
    let mut held = None;
    std::iter::from_fn(move || {
        loop {
            match (rows.next(), held.take()) {
                (None, held) => return held.map(Ok),
                (Some(Err(error)), _) => return Some(Err(error)),
                (Some(Ok(row)), None) => held = Some(row),
                (Some(Ok(row)), Some(mut before)) if is_like(&before, &row) => {
                    add(&mut before, &row);
                    held = Some(before);
                }
                (Some(Ok(row)), Some(before)) => {
                    held = Some(row);
                    return Some(Ok(before));
                }
            }
        }
    })
}
