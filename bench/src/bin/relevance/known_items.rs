//! Pages of crawls, and queries of users who know one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use extract::{Capture, Documents, Extracted, LinkScope};
use search::{Anchor, Document};
use warc::{Entry, Reader, ReaderSettings};

/// Number of results that are searched for the page.
pub(crate) const DEPTH: usize = 100;

/// Number of parts that anchors are divided into.
pub(crate) const PARTS: u8 = 5;

/// All crawls together, as in one archive.
pub(crate) struct Crawls {
    /// The newest version of each page, by key, with all anchors of links to it.
    pages: Vec<Document>,
    /// Anchors of links to exactly one page, in lower case.
    pub(crate) items: Vec<Item>,
    pub(crate) files: Vec<PathBuf>,
}

/// A query, and the page that it means.
pub(crate) struct Item {
    pub(crate) query: String,
    /// Key of the page.
    pub(crate) wanted: String,
}

/// Returns the part that an anchor belongs to. Anchors that differ only in case are in the same
/// part.
pub(crate) fn part_of(anchor: &str) -> u8 {
    blake3::hash(anchor.to_lowercase().as_bytes()).as_bytes()[0] % PARTS
}

/// How well known items are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// Mean of 1 / rank.
    pub(crate) mrr: f64,
    /// Percentage that comes first.
    pub(crate) first: f64,
    /// Percentage among the first ten.
    pub(crate) among_ten: f64,
}

impl Crawls {
    /// Reads all WARC and ARC files of a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Crawls> {
        let mut current = BTreeMap::<String, Capture>::new();
        let mut files = Vec::new();
        let entries = std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
        let mut paths: Vec<_> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.to_string_lossy().into_owned();
            if name.ends_with(".warc.gz") || name.ends_with(".arc.gz") {
                read_file(&path, &mut current).with_context(|| format!("read {name}"))?;
                files.push(path);
            }
        }
        let items = items(&current);
        let mut said = said(&current);
        let pages = current.into_values().filter_map(|capture| {
            let anchors = said.remove(&capture.url_key).unwrap_or_default();
            page(capture, anchors)
        });
        let pages = pages.collect();
        Ok(Crawls { pages, items, files })
    }

    /// Returns the number of pages.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns the titles that exactly one page has.
    pub(crate) fn titles(&self) -> Vec<Item> {
        let mut pages = BTreeMap::<&str, Vec<&Document>>::new();
        for page in self.pages.iter().filter(|page| !page.title.is_empty()) {
            pages.entry(&page.title).or_default().push(page);
        }
        let item = |(title, pages): (&str, Vec<&Document>)| match pages[..] {
            [page] => Some(Item {
                query: title.to_owned(),
                wanted: page.url_key.clone(),
            }),
            _ => None,
        };
        pages.into_iter().filter_map(item).collect()
    }

    /// Returns the names of the hosts whose home page was captured.
    pub(crate) fn hosts(&self) -> Vec<Item> {
        let home_pages = self.pages.iter().filter(|page| page.url_key.ends_with(")/"));
        let item = |page: &Document| Item {
            query: page.host.clone(),
            wanted: page.url_key.clone(),
        };
        home_pages.map(item).collect()
    }

    /// Returns the pages, without the anchors of a part.
    pub(crate) fn pages_without(&self, part: Option<u8>) -> Vec<Document> {
        let mut pages = self.pages.clone();
        for page in &mut pages {
            page.anchors.retain(|anchor| Some(part_of(&anchor.text)) != part);
        }
        pages
    }
}

impl Found {
    /// Computes the figures from the ranks of the wanted pages, starting at 0.
    pub(crate) fn of(ranks: &[Option<usize>]) -> Found {
        let mean = |value: &dyn Fn(usize) -> f64| {
            let sum: f64 = ranks.iter().flatten().map(|rank| value(*rank)).sum();
            sum / ranks.len() as f64
        };
        Found {
            mrr: mean(&|rank| 1.0 / (rank + 1) as f64),
            first: mean(&|rank| if rank == 0 { 100.0 } else { 0.0 }),
            among_ten: mean(&|rank| if rank < 10 { 100.0 } else { 0.0 }),
        }
    }
}

fn read_file(path: &Path, current: &mut BTreeMap<String, Capture>) -> anyhow::Result<()> {
    let settings = extract::Settings {
        links: LinkScope::All,
        text: true,
        documents: Documents::NONE,
    };
    let mut reader = Reader::open(path, ReaderSettings::default())?;
    while let Some(entry) = reader.next_entry()? {
        let Entry::Record(record) = entry else {
            continue;
        };
        if let Extracted::Capture(capture) = extract::extract(&record, &settings)
            && capture.page.is_some()
        {
            let newest = current.get(&capture.url_key).map(|other| other.fetch_time_ms);
            if newest.is_none_or(|newest| newest < capture.fetch_time_ms) {
                current.insert(capture.url_key.clone(), *capture);
            }
        }
        reader.recycle(record);
    }
    Ok(())
}

/// Returns anchors that link to exactly one page of the crawls, each once. An anchor of several
/// pages (`next`) does not name any of them.
fn items(current: &BTreeMap<String, Capture>) -> Vec<Item> {
    let mut meant = BTreeMap::<String, Option<&str>>::new();
    for (source, capture) in current {
        let links = capture.page.iter().flat_map(|page| &page.links);
        for link in links.filter(|link| link.url_key != *source && current.contains_key(&link.url_key)) {
            let anchor = link.anchor.to_lowercase();
            let page = meant.entry(anchor).or_insert(Some(&link.url_key));
            *page = page.filter(|page| *page == link.url_key);
        }
    }
    let named = meant
        .into_iter()
        .filter(|(anchor, _)| anchor.contains(char::is_alphabetic));
    let item = |(query, page): (String, Option<&str>)| {
        let wanted = page?.to_owned();
        Some(Item { query, wanted })
    };
    named.filter_map(item).collect()
}

/// Returns the anchor texts of the links to each page, with weights as in an archive. Here a page
/// has all of them; in an archive, the sixteen with the greatest weight.
fn said(current: &BTreeMap<String, Capture>) -> BTreeMap<String, Vec<Anchor>> {
    let mut hosts = BTreeMap::<(&str, &str), BTreeSet<&str>>::new();
    for (source, capture) in current {
        let host = source.split(')').next().unwrap_or_default();
        for link in capture.page.iter().flat_map(|page| &page.links) {
            if link.url_key != *source && !link.anchor.is_empty() {
                hosts
                    .entry((&link.url_key, &link.anchor))
                    .or_default()
                    .insert(host);
            }
        }
    }
    let mut said = BTreeMap::<String, Vec<Anchor>>::new();
    for ((url_key, text), hosts) in hosts {
        said.entry(url_key.to_owned()).or_default().push(Anchor {
            text: text.to_owned(),
            weight: index::anchor_weight(hosts.len() as u64),
        });
    }
    said
}

fn page(capture: Capture, anchors: Vec<Anchor>) -> Option<Document> {
    let page = capture.page?;
    Some(Document {
        url: capture.url,
        title: page.title,
        text: page.text,
        host: urlkey::host_of_key(&capture.url_key).to_string(),
        domain: urlkey::domain_of_key(&capture.url_key).to_string(),
        fetch_time_ms: capture.fetch_time_ms,
        mime: capture.mime,
        language: page.language,
        url_key: capture.url_key,
        anchors,
        ..Document::default()
    })
}
