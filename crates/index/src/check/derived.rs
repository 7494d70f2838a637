//! Compares derived tables with their sources and returns the first difference.

use extract::Link;
use rustc_hash::FxHashMap;

use super::damage::Damage;
use super::groups::each_key;
use crate::codec::{self, Corrupt};
use crate::cut::{Cut, Rows};
use crate::domain_of::DomainOf;
use crate::error::{DumpError, SnapshotError};
use crate::snapshot::Snapshot;
use crate::sort::{Sorted, Sorter};
use crate::tables::Table;
use crate::views::anchors::{self, Host};
use crate::views::capture_row::{StoredCapture, text_hash};
use crate::views::rankings::{RankingState, Recomputed, Scope};
use crate::views::sources::SourceKeys;
use crate::views::uris::{self, Counts};
use crate::views::{domains, inlinks, links, past, texts, totals, versions};

/// Compares the in-links of every URI, and their counts, with the links.
pub(super) fn inlinks(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let mut expected = Expected::of(snapshot, links_by_target(snapshot)?)?;
    let mut keys = SourceKeys::of(cut);
    let (mut domain_of_target, mut domain_of_source) = (DomainOf::default(), DomainOf::default());
    for row in uris::scan(cut) {
        let (key, value) = row?;
        let url_key = cut.decode(Table::Uris, &key, codec::to_text(&key))?;
        let uri = cut.decode(Table::Uris, &key, uris::decode(&value))?;
        let domain = domain_of_target.get(&url_key);
        let mut counts = Counts::default();
        for source in inlinks::sorted(&mut keys, &uri.sources, None)? {
            let source = source?;
            if !expected.take(&pair(&url_key, &source))? {
                return Ok(difference(
                    Table::Inlinks,
                    format!("in-links of {url_key}: {source} is listed as a source but has no link to it"),
                ));
            }
            counts.inlinks += 1;
            counts.inlinks_external += u64::from(domain_of_source.get(&source) != domain);
        }
        if expected.begins_with(&pair(&url_key, "")) {
            return Ok(difference(
                Table::Inlinks,
                format!(
                    "in-links of {url_key}: {} has a link to it but is not listed as a source",
                    expected.source()
                ),
            ));
        }
        if counts != uri.counts {
            return Ok(difference(
                Table::Uris,
                format!(
                    "{url_key} has {} in-links, {} of them external, but the stored counts are {} and {}",
                    counts.inlinks, counts.inlinks_external, uri.counts.inlinks, uri.counts.inlinks_external
                ),
            ));
        }
    }
    Ok(expected.next.as_ref().and_then(|_| {
        let detail = format!("a link of {} leads to a URI that is missing", expected.source());
        difference(Table::Uris, detail)
    }))
}

/// Compares the anchor texts of every URI with the links.
pub(super) fn anchors(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let mut expected = Expected::of(snapshot, anchor_keys(snapshot)?)?;
    for row in uris::scan(cut) {
        let (key, value) = row?;
        let url_key = cut.decode(Table::Uris, &key, codec::to_text(&key))?;
        let uri = cut.decode(Table::Uris, &key, uris::decode(&value))?;
        let (anchor_counts, _) = anchors::read(cut, uri.anchors, uri.sources.number())?;
        let anchor_keys = anchor_counts.into_iter().flat_map(|((text, host), pages)| {
            let anchor_key = anchor_key(&url_key, host, &text);
            std::iter::repeat_n(anchor_key, usize::try_from(pages).unwrap_or(usize::MAX))
        });
        let mut anchor_keys: Vec<Vec<u8>> = anchor_keys.collect();
        anchor_keys.sort_unstable();
        for anchor_key in anchor_keys {
            if !expected.take(&anchor_key)? {
                return Ok(said_otherwise(&url_key));
            }
        }
        if expected.begins_with(&pair(&url_key, "")) {
            return Ok(said_otherwise(&url_key));
        }
    }
    Ok(None)
}

fn said_otherwise(url_key: &str) -> Option<Damage> {
    let detail = format!("the anchor texts of {url_key} do not match its in-links");
    difference(Table::Anchors, detail)
}

/// Returns every link with an anchor text as target, host of the source and text, sorted.
fn anchor_keys(snapshot: &Snapshot) -> Result<Sorter, DumpError> {
    sorted_links(snapshot, |source_key, link| {
        let text = anchors::cut(&link.anchor);
        (!text.is_empty()).then(|| anchor_key(&link.url_key, anchors::host_of(source_key), text))
    })
}

/// NUL separates the parts, because no URL key contains it.
fn anchor_key(target_key: &str, host: Host, text: &str) -> Vec<u8> {
    [target_key.as_bytes(), &[0], &host.to_be_bytes(), text.as_bytes()].concat()
}

/// Returns every link as target and source, sorted.
fn links_by_target(snapshot: &Snapshot) -> Result<Sorter, DumpError> {
    sorted_links(snapshot, |source_key, link| Some(pair(&link.url_key, source_key)))
}

/// Returns a sorted row for every link for which `row_of` makes one from the source and the link.
fn sorted_links(
    snapshot: &Snapshot,
    row_of: impl Fn(&str, &Link) -> Option<Vec<u8>>,
) -> Result<Sorter, DumpError> {
    let cut = snapshot.cut();
    let mut sorter = Sorter::new(snapshot.dir());
    for row in cut.iter(Table::Links) {
        let (key, value) = row?;
        let source_key = cut.decode(Table::Links, &key, codec::to_text(&key))?;
        for link in links::read_row(cut, &key, &value, |_| true)? {
            if let Some(row) = row_of(&source_key, &link) {
                sorter.push(&row).map_err(|source| scratch(snapshot, source))?;
            }
        }
    }
    Ok(sorter)
}

/// NUL separates the parts, because no URL key contains it.
fn pair(target_key: &str, source_key: &str) -> Vec<u8> {
    [target_key.as_bytes(), source_key.as_bytes()].join(&0)
}

/// Compares the page and document marks of `uris` with `versions`.
pub(super) fn page_marks(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let mut contents = snapshot.content_keys();
    let mut next = contents.next().transpose()?;
    for row in uris::scan(cut) {
        let (key, value) = row?;
        let uri = cut.decode(Table::Uris, &key, uris::decode_counts(&value))?;
        let content = next.as_ref().filter(|(content, _)| content.as_bytes() == &*key);
        let expected = word(content.is_some(), content.is_some_and(|(_, is_page)| *is_page));
        let found = word(uri.is_page || uri.is_document, uri.is_page);
        if expected != found {
            let url_key = cut.decode(Table::Uris, &key, codec::to_text(&key))?;
            return Ok(difference(
                Table::Uris,
                format!("{url_key} is marked as {found}, expected {expected}"),
            ));
        }
        if content.is_some() {
            next = contents.next().transpose()?;
        }
    }
    Ok(next.and_then(|(url_key, is_page)| {
        let found = format!("{url_key}, {}, is missing", word(true, is_page));
        difference(Table::Uris, found)
    }))
}

/// Compares `past_texts` with captures and versions; each text must be stored under its own name.
pub(super) fn past_texts(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let mut kept = cut.iter(Table::PastTexts);
    let damage = each_key(cut, &mut |group| past_texts_of(cut, group, &mut kept))?;
    if damage.is_some() {
        return Ok(damage);
    }
    let stray = kept.next().transpose()?;
    Ok(stray.and_then(|(key, _)| {
        let key = key.escape_ascii();
        difference(Table::PastTexts, format!("{key} has no capture"))
    }))
}

/// Compares the past texts of the captures of one key, which are read from `kept`.
fn past_texts_of(cut: &Cut, group: &[StoredCapture], kept: &mut Rows) -> Result<Option<Damage>, DumpError> {
    // With only one capture, the text of the page is the current one.
    let [first, _, ..] = group else { return Ok(None) };
    let url_key = &first.capture.url_key;
    let version = versions::read(cut, url_key)?;
    for hash in past::texts_of(&group.iter().collect::<Vec<_>>(), version.as_ref()) {
        let expected = past::text_key(url_key, hash);
        let found = kept.next().transpose()?;
        let is_there = found.as_ref().is_some_and(|(key, _)| **key == *expected);
        let text = match found.filter(|_| is_there) {
            Some((key, value)) => Some(cut.decode(Table::PastTexts, &key, texts::decode(&value))?),
            None => None,
        };
        if text.is_none_or(|text| text_hash(&text) != hash) {
            let found = format!("a text of {url_key} is missing or differs");
            return Ok(difference(Table::PastTexts, found));
        }
    }
    Ok(None)
}

/// Compares the keys of `rendered_texts` with `index_lines`.
pub(super) fn rendered_texts(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    for row in cut.iter(Table::RenderedTexts) {
        let (key, value) = row?;
        cut.decode(Table::RenderedTexts, &key, texts::decode(&value))?;
        if !cut.contains(Table::IndexLines, &key)? {
            let found = format!("{} has no attachment", key.escape_ascii());
            return Ok(difference(Table::RenderedTexts, found));
        }
    }
    Ok(None)
}

fn word(has_content: bool, is_page: bool) -> &'static str {
    match (has_content, is_page) {
        (true, true) => "a page",
        (true, false) => "a document",
        (false, _) => "neither page nor document",
    }
}

/// Compares the stored rankings with the URIs.
pub(super) fn rankings(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let totals = totals::read(cut)?;
    let domains = large_domains(snapshot)?;
    let mut all = Recomputed::of(&totals.ranking);
    let mut of_domains: FxHashMap<&str, Recomputed<'_>> = domains
        .iter()
        .filter_map(|(domain, state)| Some((domain.as_str(), Recomputed::of(state)?)))
        .collect();
    let mut sorter = Sorter::new(snapshot.dir());
    let mut domain_of = DomainOf::default();
    for row in uris::scan(cut) {
        let (key, value) = row?;
        let url_key = cut.decode(Table::Uris, &key, codec::to_text(&key))?;
        let counts = cut.decode(Table::Uris, &key, uris::decode_counts(&value))?.counts;
        let domain = domain_of.get(&url_key);
        let row = all.as_mut().and_then(|all| all.uri(Scope::All, &url_key, counts));
        let of_domain = of_domains
            .get_mut(&*domain)
            .and_then(|ranking| ranking.uri(Scope::Domain(&domain), &url_key, counts));
        for row in row.into_iter().chain(of_domain) {
            sorter.push(&row).map_err(|source| scratch(snapshot, source))?;
        }
    }
    if all.is_some_and(|all| !all.agrees()) {
        return Ok(difference(
            Table::Meta,
            "the counts of the global ranking do not match the URIs".into(),
        ));
    }
    if let Some((domain, _)) = of_domains.iter().find(|(_, ranking)| !ranking.agrees()) {
        return Ok(difference(
            Table::Domains,
            format!("the counts of the ranking of {domain} do not match the URIs"),
        ));
    }
    let mut expected = Expected::of(snapshot, sorter)?;
    for row in cut.iter(Table::Rankings) {
        let (key, _) = row?;
        if !expected.take(&key)? {
            let detail = format!("{} is ranked but should not be", key.escape_ascii());
            return Ok(difference(Table::Rankings, detail));
        }
    }
    Ok(expected.next.and_then(|key| {
        let detail = format!("{} is not ranked but should be", key.escape_ascii());
        difference(Table::Rankings, detail)
    }))
}

/// Returns the domains with a stored ranking. Each has thousands of URIs, so they are few.
fn large_domains(snapshot: &Snapshot) -> Result<Vec<(String, RankingState)>, SnapshotError> {
    let cut = snapshot.cut();
    let mut large = Vec::new();
    for row in domains::scan(cut, None) {
        let (key, value) = row?;
        let decoded = domains::domain_of_row(&key)
            .and_then(|domain| Ok::<_, Corrupt>((domain, domains::decode(&value)?.ranking)));
        let (domain, ranking) = cut.decode(Table::Domains, &key, decoded)?;
        if Recomputed::of(&ranking).is_some() {
            large.push((domain, ranking));
        }
    }
    Ok(large)
}

/// The expected rows, sorted.
pub(super) struct Expected<'s> {
    snapshot: &'s Snapshot,
    rows: Sorted,
    pub(super) next: Option<Vec<u8>>,
}

impl<'s> Expected<'s> {
    pub(super) fn of(snapshot: &'s Snapshot, sorter: Sorter) -> Result<Expected<'s>, DumpError> {
        let rows = sorter.finish().map_err(|source| scratch(snapshot, source))?;
        let mut expected = Expected {
            snapshot,
            rows,
            next: None,
        };
        expected.go_on()?;
        Ok(expected)
    }

    fn go_on(&mut self) -> Result<(), DumpError> {
        let next = self.rows.next().transpose();
        self.next = next.map_err(|source| scratch(self.snapshot, source))?;
        Ok(())
    }

    /// Returns whether `row` is the next expected row, and advances if it is.
    pub(super) fn take(&mut self, row: &[u8]) -> Result<bool, DumpError> {
        let is_next = self.next.as_deref() == Some(row);
        if is_next {
            self.go_on()?;
        }
        Ok(is_next)
    }

    fn begins_with(&self, prefix: &[u8]) -> bool {
        self.next.as_ref().is_some_and(|next| next.starts_with(prefix))
    }

    /// The source of the next row, if the row is a pair.
    fn source(&self) -> String {
        let source = self
            .next
            .as_deref()
            .and_then(|next| next.rsplit(|&byte| byte == 0).next());
        String::from_utf8_lossy(source.unwrap_or_default()).into_owned()
    }
}

pub(super) fn difference(table: Table, detail: String) -> Option<Damage> {
    Some(Damage::of(table, detail))
}

pub(super) fn scratch(snapshot: &Snapshot, source: std::io::Error) -> DumpError {
    DumpError::Scratch {
        dir: snapshot.dir().display().to_string(),
        source,
    }
}
