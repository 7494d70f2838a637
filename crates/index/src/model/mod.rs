//! All views, recomputed naively from the list of captures. The incremental index must agree with
//! this model.
//!
//! It is written from the definitions alone, with maps and full recomputation. It shares only the
//! printer and the check of usable keys with the index. For tests only: it holds everything in
//! memory.

mod dump;
mod history;
mod originals;
mod spellings;

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind, Link, Shortfall};

use crate::epoch::Batch;
use crate::ids::InputId;
use crate::ledger::{LedgerRow, QuarantineEntry};
use crate::rows::{AnchorRow, TopRow};
use crate::takedown::Selector;
use crate::views::capture_key::{KEY_BYTES_MAX, is_usable_key};
use crate::views::capture_row::text_hash;
use crate::views::link_set::name_of;
use crate::writer::RollBack;

/// Everything that was ever applied.
#[derive(Debug, Default, Clone)]
pub struct Model {
    /// Entry of input `i + 1`.
    ledger: Vec<LedgerRow>,
    /// Captures by input and offset.
    captures: BTreeMap<(InputId, u64), Capture>,
    /// Revisits of other URLs that have an original, with the content of the original.
    revisits: BTreeMap<(InputId, u64), Capture>,
    quarantine: BTreeSet<(InputId, QuarantineEntry)>,
    /// Takedown `i + 1`, as plain text, and whether it is in force.
    takedowns: Vec<(Selector, bool)>,
    /// Captures that are kept out, by input and offset, with the number of the takedown.
    kept_out: BTreeMap<(InputId, u64), (Capture, usize)>,
}

/// In-links of a URI.
#[derive(Debug, Default, Clone)]
struct Uri {
    captured: bool,
    sources: BTreeSet<String>,
    external: u64,
}

impl Model {
    /// As [`crate::Index::register_input`].
    pub fn register_input(&mut self, entry: LedgerRow, continues: Option<InputId>) -> InputId {
        let known = self
            .ledger
            .iter()
            .position(|e| e.is_digested() && e.digest == entry.digest);
        match (known, continues) {
            (Some(index), _) => {
                let old = &mut self.ledger[index];
                old.input = entry.input.min(std::mem::take(&mut old.input));
                InputId(index as u32 + 1)
            }
            (None, Some(id)) => {
                let old = &mut self.ledger[id.0 as usize - 1];
                old.input = entry.input;
                old.digest = entry.digest;
                old.size = entry.size;
                id
            }
            (None, None) => {
                self.ledger.push(entry);
                InputId(self.ledger.len() as u32)
            }
        }
    }

    /// As [`crate::Index::apply`].
    pub fn apply(&mut self, batch: Batch) {
        let mut quarantined = Vec::new();
        for (input, capture) in batch.captures {
            if !is_usable_key(&capture.url_key) {
                let detail = format!(
                    "URL key of {} bytes, must be 1 to {KEY_BYTES_MAX}",
                    capture.url_key.len()
                );
                let (offset, length) = (capture.offset, capture.length);
                let reason = "url-key-length".into();
                quarantined.push((
                    input,
                    QuarantineEntry {
                        offset,
                        length,
                        reason,
                        detail,
                    },
                ));
            } else {
                self.arrive(input, capture);
            }
        }
        for step in batch.progress {
            let entry = &mut self.ledger[step.input.0 as usize - 1];
            entry.records += step.records;
            entry.bytes_done = step.bytes_done;
            entry.state = step.state;
            if let Some(digested) = step.digested {
                entry.digest = digested.digest;
            }
            quarantined.extend(step.quarantined.into_iter().map(|q| (step.input, q)));
        }
        self.find_originals();
        for (input, entry) in quarantined {
            self.ledger[input.0 as usize - 1].quarantined += 1;
            self.quarantine.insert((input, entry));
        }
    }

    fn arrive(&mut self, input: InputId, capture: Capture) {
        let at = (input, capture.offset);
        let mut in_force = self
            .takedowns
            .iter()
            .zip(1..)
            .filter(|((_, in_force), _)| *in_force);
        let taken_down = in_force.find(|((selector, _), _)| self.selects(selector, input, &capture));
        let entry = &mut self.ledger[input.0 as usize - 1];
        if let Some((_, number)) = taken_down {
            entry.taken_down += u64::from(self.kept_out.insert(at, (capture, number)).is_none());
            return;
        }
        entry.taken_down -= u64::from(self.kept_out.remove(&at).is_some());
        entry.captures += u64::from(self.captures.insert(at, capture).is_none());
    }

    fn selects(&self, selector: &Selector, input: InputId, capture: &Capture) -> bool {
        match selector {
            Selector::Url(url_key) => capture.url_key == *url_key,
            Selector::Prefix(prefix) => capture.url_key.starts_with(prefix),
            Selector::Inputs(ids) => ids.contains(&input),
            Selector::Collection(label) => self.ledger[input.0 as usize - 1].collection == *label,
            Selector::Before(before_ms) => capture.fetch_time_ms < *before_ms,
        }
    }

    /// As [`crate::Index::take_down`] for a selector other than a whole input. Returns the number
    /// of removed captures.
    pub fn take_down(&mut self, selector: &Selector) -> u64 {
        if self
            .takedowns
            .iter()
            .any(|(known, in_force)| *in_force && known == selector)
        {
            return 0;
        }
        let all = std::mem::take(&mut self.captures);
        let number = self.takedowns.len() + 1;
        let mut leave = 0;
        for (at, capture) in all {
            if !self.selects(selector, at.0, &capture) {
                self.captures.insert(at, capture);
                continue;
            }
            leave += 1;
            let entry = &mut self.ledger[at.0.0 as usize - 1];
            (entry.captures, entry.taken_down) = (entry.captures - 1, entry.taken_down + 1);
            self.kept_out.insert(at, (capture, number));
        }
        self.takedowns.push((selector.clone(), true));
        self.find_originals();
        leave
    }

    /// As [`crate::Index::undo_takedown`]. Returns the captures that come back when their inputs
    /// are read again.
    pub fn undo_takedown(&mut self, number: usize) -> Vec<(InputId, Capture)> {
        self.takedowns[number - 1].1 = false;
        let back = self.kept_out.iter().filter(|(_, (_, by))| *by == number);
        back.map(|((input, _), (capture, _))| (*input, capture.clone()))
            .collect()
    }

    /// As [`crate::Index::take_back`].
    pub fn take_back(&mut self, id: InputId, to: &RollBack) {
        let stays = |input: InputId, offset: u64| input != id || offset < to.bytes_done;
        self.captures.retain(|(input, offset), _| stays(*input, *offset));
        self.find_originals();
        self.quarantine
            .retain(|(input, entry)| stays(*input, entry.offset));
        self.kept_out.retain(|(input, offset), _| stays(*input, *offset));
        let entry = &mut self.ledger[id.0 as usize - 1];
        entry.taken_down = self.kept_out.keys().filter(|(input, _)| *input == id).count() as u64;
        entry.captures = self.captures.keys().filter(|(input, _)| *input == id).count() as u64;
        entry.quarantined = self.quarantine.iter().filter(|(input, _)| *input == id).count() as u64;
        (entry.bytes_done, entry.records) = (to.bytes_done, to.records);
        entry.state = to.state.clone();
    }

    /// Returns a capture that was applied and not taken back.
    pub fn capture(&self, id: InputId, offset: u64) -> Option<&Capture> {
        self.captures.get(&(id, offset))
    }

    /// Returns all captures, with the entries of their inputs.
    pub fn captures(&self) -> impl Iterator<Item = (&LedgerRow, &Capture)> {
        let captures = self.captures.iter();
        captures.map(|((input, _), capture)| (&self.ledger[input.0 as usize - 1], capture))
    }

    /// Returns the keys of all URIs, which include all sources.
    pub fn url_keys(&self) -> BTreeSet<String> {
        self.uris().into_keys().collect()
    }

    /// Returns whether a key is a page or a document.
    pub fn has_content(&self, url_key: &str) -> bool {
        self.version(url_key).is_some_and(|c| content(c).is_some())
    }

    /// Returns the text of a page or document.
    pub fn text(&self, url_key: &str) -> Option<String> {
        self.version(url_key).filter(|c| content(c).is_some())?;
        self.text_kept(url_key)
    }

    /// Returns the text stored with the version of a key, whatever kind of version it is.
    pub fn text_kept(&self, url_key: &str) -> Option<String> {
        let version = self.version(url_key)?;
        let same_time = self.eligible().filter(|(_, c)| {
            c.url_key == url_key && c.fetch_time_ms == version.fetch_time_ms && content(c).is_some()
        });
        let text = |c: &Capture| content(c).map_or("", |p| &p.text).to_owned();
        let with_text = same_time.filter(|(_, c)| !text(c).is_empty());
        with_text
            .max_by_key(|(input, c)| self.order(*input, c))
            .map(|(_, c)| text(c))
    }

    /// Returns the order of captures of one moment, which does not depend on the names of inputs.
    fn content_order(&self, input: InputId, c: &Capture) -> impl Ord + use<> {
        let page = content(c).map(|page| {
            let text = (!page.text.is_empty()).then(|| text_hash(&page.text));
            (page.title.clone(), page.language.clone(), text, !is_page(c))
        });
        let collection = self.ledger[input.0 as usize - 1].collection.clone();
        let (_, rank, digest, ..) = self.order(input, c);
        (
            rank,
            digest.to_owned(),
            collection,
            c.url.clone(),
            c.shown_mime().to_owned(),
            page,
            name_of(c),
        )
    }

    /// Returns URL key and title of every page.
    pub fn pages(&self) -> Vec<(String, String)> {
        let pages = self.versions().into_iter().filter(|(_, c)| is_page(c));
        let title = |c: &Capture| c.page.as_ref().map_or(String::new(), |page| page.title.clone());
        pages.map(|(key, c)| (key.to_owned(), title(c))).collect()
    }

    /// Returns the sources of every URI, sorted, with the anchors of their links.
    pub fn inlinks(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut inlinks: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for ((source, target), link) in self.links() {
            inlinks.entry(target).or_default().push((source, link.anchor));
        }
        inlinks
    }

    /// Returns the anchor texts of every URI with in-links: the weightiest, each with its number of
    /// hosts.
    pub fn anchors(&self) -> BTreeMap<String, Vec<AnchorRow>> {
        let inlinks = self.inlinks().into_iter();
        inlinks.map(|(key, links)| (key, anchors_of(links))).collect()
    }

    /// Returns the keys of all URIs.
    pub fn uri_keys(&self) -> Vec<String> {
        self.uris().into_keys().collect()
    }

    /// Returns all URIs in rank order.
    pub fn top(&self) -> Vec<TopRow> {
        let mut rows: Vec<TopRow> = self
            .uris()
            .into_iter()
            .map(|(url_key, uri)| TopRow {
                url_key,
                inlinks: uri.sources.len() as u64,
                inlinks_external: uri.external,
            })
            .collect();
        rows.sort_by(|a, b| {
            (b.inlinks_external, b.inlinks, &a.url_key).cmp(&(a.inlinks_external, a.inlinks, &b.url_key))
        });
        rows
    }

    fn name(&self, input: InputId) -> &str {
        &self.ledger[input.0 as usize - 1].input
    }

    fn order<'a>(&'a self, input: InputId, c: &'a Capture) -> (i64, u8, &'a str, &'a str, u64) {
        let rank = match (c.kind, c.is_damaged()) {
            (CaptureKind::Wet, true) => 0,
            (CaptureKind::Wet, false) => 1,
            (CaptureKind::Wat, true) => 2,
            (CaptureKind::Wat, false) => 3,
            (_, true) => 4,
            (_, false) => 5,
        };
        (c.fetch_time_ms, rank, &c.digest, self.name(input), c.offset)
    }

    fn eligible(&self) -> impl Iterator<Item = (InputId, &Capture)> {
        let own = self.captures.iter().chain(&self.revisits);
        own.map(|((input, _), c)| (*input, c))
            .filter(|(_, c)| may_be_current(c))
    }

    /// Returns the current version of a key.
    fn version(&self, url_key: &str) -> Option<&Capture> {
        let of_key = self.eligible().filter(|(_, c)| c.url_key == url_key);
        of_key
            .max_by_key(|(input, c)| self.order(*input, c))
            .map(|(_, c)| c)
    }

    /// Returns the current version of every key.
    fn versions(&self) -> BTreeMap<&str, &Capture> {
        let mut versions: BTreeMap<&str, (InputId, &Capture)> = BTreeMap::new();
        for (input, c) in self.eligible() {
            let current = versions.entry(&c.url_key).or_insert((input, c));
            if self.order(input, c) > self.order(current.0, current.1) {
                *current = (input, c);
            }
        }
        versions.into_iter().map(|(key, (_, c))| (key, c)).collect()
    }

    /// Returns all links by source and target.
    fn links(&self) -> BTreeMap<(String, String), Link> {
        let mut links = BTreeMap::new();
        for (source, c) in self.versions() {
            for link in links_of(c) {
                links
                    .entry((source.to_owned(), link.url_key.clone()))
                    .or_insert(link);
            }
        }
        links
    }

    fn uris(&self) -> BTreeMap<String, Uri> {
        let mut uris: BTreeMap<String, Uri> = BTreeMap::new();
        for c in self.captures.values() {
            uris.entry(c.url_key.clone()).or_default().captured = true;
        }
        for (source, target) in self.links().into_keys() {
            let uri = uris.entry(target.clone()).or_default();
            uri.external += u64::from(urlkey::domain_of_key(&source) != urlkey::domain_of_key(&target));
            uri.sources.insert(source);
        }
        uris
    }
}

/// Implements section "Current version" of docs/views.md.
fn may_be_current(c: &Capture) -> bool {
    let is_of_get = c.method.is_empty() || c.method == "GET";
    let is_whole = c.shortfall == Shortfall::None;
    let is_content = match c.kind {
        CaptureKind::Revisit => c.original.is_some(),
        CaptureKind::Conversion => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        _ => match c.status {
            204 | 205 | 304 => false,
            status => (200..=399).contains(&status) && !c.redirects_to_itself,
        },
    };
    is_of_get && is_whole && is_content
}

fn is_page(c: &Capture) -> bool {
    c.page.is_some() && is_served(c)
}

fn content(c: &Capture) -> Option<&extract::Page> {
    let content = c.page.as_ref().or(c.document.as_deref());
    content.filter(|_| is_served(c))
}

fn is_served(c: &Capture) -> bool {
    (200..=299).contains(&c.shown_status())
        || matches!(c.content_kind(), CaptureKind::Resource | CaptureKind::Wet)
}

/// Returns the anchor texts of a URI with these in-links.
fn anchors_of(inlinks: Vec<(String, String)>) -> Vec<AnchorRow> {
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (source, anchor) in inlinks {
        let mut text = String::new();
        for character in anchor.chars() {
            if text.len() + character.len_utf8() > 120 {
                break;
            }
            text.push(character);
        }
        let host = source.split(')').next().unwrap_or_default().to_owned();
        said.entry(text.trim_end().to_owned()).or_default().insert(host);
    }
    said.remove("");
    let mut said: Vec<AnchorRow> = said
        .into_iter()
        .map(|(text, hosts)| AnchorRow {
            text,
            hosts: hosts.len() as u64,
        })
        .collect();
    // Texts are in order already, and the sort is stable.
    said.sort_by_key(|anchor| std::cmp::Reverse(anchor.weight()));
    said.truncate(16);
    said
}

fn links_of(c: &Capture) -> Vec<Link> {
    let mut found: Vec<Link> = match &c.page {
        Some(page) if is_page(c) => page.links.clone(),
        _ if (300..=399).contains(&c.shown_status()) => c.redirect.iter().cloned().collect(),
        _ => Vec::new(),
    };
    let mut seen = BTreeSet::from([c.url_key.clone()]);
    found.retain(|link| is_usable_key(&link.url_key) && seen.insert(link.url_key.clone()));
    found
}
