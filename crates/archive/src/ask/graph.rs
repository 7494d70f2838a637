//! Counts links between hosts or domains. A part reads pages in key order and counts their links.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::basis::Basis;
use super::cursor;
use super::window::Window;
use crate::AskError;
use crate::question::{GraphBy, GraphEdge, GraphPart, GraphPartBody};

/// Limit of pages in a part. Only visible pages count, because a part must not reveal how many are
/// hidden.
const PAGES_MAX: usize = 20_000;

/// A part ends after the page with which it reaches this number of links.
const LINKS_MAX: usize = 100_000;

/// Two nodes, by their numbers in [`Nodes`].
type Ends = (u32, u32);

pub(super) fn part(basis: &Basis<'_>, question: &GraphPart) -> Result<GraphPartBody, AskError> {
    let visible = basis.visible();
    let window = Window::of(question.from.as_deref(), question.to.as_deref())?;
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let mut walk = basis.snapshot.linking(after.as_deref());
    let mut counted = Counted::new(question.by);
    let (mut pages, mut links, mut last) = (0, 0, None);
    while pages < PAGES_MAX && links < LINKS_MAX {
        let Some(page) = visible.next_linking(&mut walk)? else {
            return Ok(counted.body(None));
        };
        pages += 1;
        let is_of_collection = question
            .collection
            .as_ref()
            .is_none_or(|collection| *collection == page.collection);
        if is_of_collection && window.contains(page.fetch_time_ms) {
            let targets = walk.links()?;
            links += targets.len();
            counted.add(
                &page.url_key,
                page.fetch_time_ms,
                targets.iter().map(|link| link.url_key.as_str()),
            );
        }
        last = Some(page.url_key);
    }
    Ok(counted.body(last))
}

/// Edges of a part.
struct Counted {
    nodes: Nodes,
    edges: FxHashMap<Ends, Edge>,
    pages: u64,
}

#[derive(Default)]
struct Edge {
    links: u64,
    pages: u64,
    first_ms: i64,
    last_ms: i64,
    /// The page counted last.
    page: u64,
}

impl Counted {
    fn new(by: GraphBy) -> Counted {
        Counted {
            nodes: Nodes {
                by,
                names: Vec::new(),
                numbers: FxHashMap::default(),
                of_hosts: FxHashMap::default(),
            },
            edges: FxHashMap::default(),
            pages: 0,
        }
    }

    fn add<'k>(&mut self, source_key: &str, time_ms: i64, target_keys: impl Iterator<Item = &'k str>) {
        self.pages += 1;
        let source = self.nodes.number(source_key);
        for target_key in target_keys {
            let target = self.nodes.number(target_key);
            let edge = self.edges.entry((source, target)).or_insert_with(|| Edge {
                first_ms: time_ms,
                last_ms: time_ms,
                ..Edge::default()
            });
            edge.links += 1;
            if edge.page != self.pages {
                edge.page = self.pages;
                edge.pages += 1;
                edge.first_ms = edge.first_ms.min(time_ms);
                edge.last_ms = edge.last_ms.max(time_ms);
            }
        }
    }

    fn body(self, last: Option<String>) -> GraphPartBody {
        let name = |number: u32| self.nodes.names[number as usize].to_string();
        let edges = self.edges.iter().map(|(&(source, target), edge)| GraphEdge {
            source: name(source),
            target: name(target),
            links: edge.links,
            pages: edge.pages,
            first_ms: edge.first_ms,
            last_ms: edge.last_ms,
        });
        GraphPartBody {
            pages: self.pages,
            edges: edges.collect(),
            next: last.map(|last| cursor::encode(&last)),
        }
    }
}

/// The nodes of a part, numbered in order of appearance. At most one per end of a link.
struct Nodes {
    by: GraphBy,
    names: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
    /// Numbers by the part of a key that identifies the host, so that its domain is looked up only
    /// once.
    of_hosts: FxHashMap<Box<str>, u32>,
}

impl Nodes {
    fn number(&mut self, url_key: &str) -> u32 {
        let host = url_key.split_once(')').map_or(url_key, |(host, _)| host);
        if let Some(&number) = self.of_hosts.get(host) {
            return number;
        }
        let name = match self.by {
            GraphBy::Domain => urlkey::domain_of_key(url_key),
            GraphBy::Host => urlkey::host_of_key(url_key),
        };
        let name: Arc<str> = name.into();
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(Arc::clone(&name)).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.of_hosts.insert(host.into(), number);
        number
    }
}
