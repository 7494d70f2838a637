//! Pages of crawls, and what other pages call them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use extract::{Capture, Extracted, LinkScope};
use search::Document;
use warc::{Entry, Reader, ReaderSettings};

/// Answers that are looked through for the page.
const DEPTH: usize = 100;

/// All crawls together, as one archive would have them.
pub(crate) struct Crawls {
    /// The newest version of each page, by key.
    pub(crate) pages: Vec<Document>,
    /// Anchors and the key of the page that is meant.
    pub(crate) items: Vec<(String, String)>,
    pub(crate) files: usize,
}

/// How well known items are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// Mean of 1 / rank.
    pub(crate) mrr: f64,
    /// Of a hundred, how many come first.
    pub(crate) first: f64,
    /// Of a hundred, how many are among the first ten.
    pub(crate) among_ten: f64,
}

impl Crawls {
    /// Reads all WARC and ARC files of a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Crawls> {
        let mut current = BTreeMap::<String, Capture>::new();
        let mut files = 0;
        let entries = std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
        let mut paths: Vec<_> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.to_string_lossy();
            if name.ends_with(".warc.gz") || name.ends_with(".arc.gz") {
                read_file(&path, &mut current).with_context(|| format!("read {name}"))?;
                files += 1;
            }
        }
        let items = items(&current);
        let pages = current.into_values().filter_map(page).collect();
        Ok(Crawls { pages, items, files })
    }

    /// Asks for every item; `search` gives the keys of the best answers.
    pub(crate) fn measure(
        &self,
        search: impl Fn(&str, usize) -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<Found> {
        let (mut mrr, mut first, mut among_ten) = (0.0, 0.0, 0.0);
        for (anchor, wanted) in &self.items {
            let keys = search(anchor, DEPTH)?;
            let rank = keys.iter().position(|key| key == wanted);
            mrr += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
            first += if rank == Some(0) { 100.0 } else { 0.0 };
            among_ten += if rank.is_some_and(|rank| rank < 10) {
                100.0
            } else {
                0.0
            };
        }
        let items = self.items.len() as f64;
        Ok(Found {
            mrr: mrr / items,
            first: first / items,
            among_ten: among_ten / items,
        })
    }
}

fn read_file(path: &Path, current: &mut BTreeMap<String, Capture>) -> anyhow::Result<()> {
    let settings = extract::Settings {
        links: LinkScope::All,
        text: true,
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

/// Anchors that mean one page of the crawls, each once: what means several pages (`next`) is no name of any.
fn items(current: &BTreeMap<String, Capture>) -> Vec<(String, String)> {
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
    named
        .filter_map(|(anchor, page)| Some((anchor, page?.to_owned())))
        .collect()
}

fn page(capture: Capture) -> Option<Document> {
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
        ..Document::default()
    })
}
