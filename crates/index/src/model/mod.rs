//! All views, recomputed naively from the list of captures. The incremental index must agree with
//! this model.
//!
//! It is written from the definitions alone, with maps and full recomputation. It shares only the
//! printer and the check of usable keys with the index. For tests only: it holds everything in
//! memory.

mod spellings;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use extract::{Capture, CaptureKind, Link, Original, Shortfall};

use self::spellings::{different_pages, spelling};
use crate::cell::Cell;
use crate::dump::{DumpFormat, Printer, View, dump_ledger, dump_quarantine, print_captures};
use crate::epoch::Batch;
use crate::error::DumpError;
use crate::ids::InputId;
use crate::ledger::{LedgerRow, QuarantineEntry};
use crate::rows::{AnchorRow, LinkRow, OriginalCapture, PastVersion, TextCapture, TopRow, VersionLink};
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
        let is_same = |e: &LedgerRow| e.is_digested() && e.digest == entry.digest;
        let known = self.ledger.iter().position(is_same);
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

    /// Gives every revisit of another URL the content of its original.
    fn find_originals(&mut self) {
        let all = self.captures.iter();
        let revisits = all.filter(|(_, c)| c.kind == CaptureKind::Revisit);
        let found = revisits.filter_map(|(at, revisit)| {
            let (input, original) = self.original(revisit)?;
            Some((*at, with_content(revisit, input, original)?))
        });
        self.revisits = found.collect();
    }

    /// Implements section "Revisits" of docs/views.md.
    fn original(&self, revisit: &Capture) -> Option<(InputId, &Capture)> {
        let digest = Some(revisit.digest.as_str()).filter(|digest| !["", "-"].contains(digest));
        let all = || self.captures.iter().map(|((input, _), c)| (*input, c));
        let suits = |c: &Capture| {
            let is_success = is_served(c);
            c.kind != CaptureKind::Revisit
                && may_be_current(c)
                && match revisit.status {
                    0 | 304 => true,
                    200..=299 => is_success,
                    300..=399 => !is_success,
                    _ => false,
                }
        };
        let named = revisit.refers_to.as_deref();
        if named.is_some_and(|named| named.url_key == revisit.url_key) || revisit.redirects_to_itself {
            return None;
        }
        if let Some(named) = named
            && let Some(time_ms) = named.time_ms
        {
            let second = |ms: i64| ms.div_euclid(1000);
            let there = all().filter(|(_, c)| {
                c.url_key == named.url_key && second(c.fetch_time_ms) == second(time_ms) && suits(c)
            });
            let order = |(input, c): &(InputId, &Capture)| {
                let is_it = (c.digest == revisit.digest, c.fetch_time_ms == time_ms);
                (
                    is_it,
                    self.content_order(*input, c),
                    c.status,
                    c.kind,
                    c.fetch_time_ms,
                )
            };
            if let Some(found) = there.max_by_key(order) {
                return Some(found);
            }
        }
        let of_own = |c: &Capture| c.url_key == revisit.url_key;
        let digest = digest?;
        let is_known_there =
            |(_, c): (InputId, &Capture)| of_own(c) && c.kind != CaptureKind::Revisit && c.digest == digest;
        if named.is_none() && all().any(is_known_there) {
            return None;
        }
        let same =
            all().filter(|(_, c)| c.digest == digest && !of_own(c) && suits(c) && content(c).is_some());
        let same: Vec<_> = same.collect();
        let first = same.iter().map(|(_, c)| (c.fetch_time_ms, &c.url_key)).min()?;
        let same = same
            .iter()
            .filter(|(_, c)| (c.fetch_time_ms, &c.url_key) == first);
        same.max_by_key(|(input, c)| (self.content_order(*input, c), c.status, c.kind))
            .copied()
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

    /// Returns when the current version of a key began, and its past versions.
    pub fn history(&self, url_key: &str) -> (i64, Vec<PastVersion>) {
        let Some(current) = self.version(url_key) else {
            return (0, Vec::new());
        };
        let of_key = self.eligible().filter(|(_, c)| c.url_key == url_key);
        let readable: Vec<_> = of_key
            .filter(|(_, c)| c.fetch_time_ms <= current.fetch_time_ms)
            .collect();
        // The names of inputs do not count here either.
        let newest = readable
            .iter()
            .filter(|(_, c)| c.fetch_time_ms == current.fetch_time_ms)
            .max_by_key(|(i, c)| self.content_order(*i, c));
        let current = newest.map_or(current, |(_, c)| c);
        let (mut since_ms, mut past) = (0, Vec::new());
        let pages = different_pages(&readable);
        for page in &pages {
            let mut versions = self.versions_of(&page.captures);
            let is_of = |url: &str| page.spellings.contains(&spelling(url));
            let last = versions.pop();
            if is_of(&current.url) {
                since_ms = last.map_or(0, |(_, _, since_ms)| since_ms);
            } else {
                versions.extend(last);
            }
            let kept = versions.into_iter().filter_map(|(version, ..)| version);
            past.extend(kept.map(|version| PastVersion {
                page: (!is_of(&current.url)).then(|| page.spellings.first().cloned().unwrap_or_default()),
                ..version
            }));
        }
        past.sort_by_key(|version| (version.since_ms, version.url.clone()));
        let mut before = i64::MIN;
        for version in &mut past {
            version.since_ms = version.since_ms.max(before.saturating_add(1));
            before = version.since_ms;
        }
        (since_ms, past)
    }

    /// Returns the versions over time. Each has its page or document if it is one, whether it is a
    /// page, its digest, and when it began.
    fn versions_of(
        &self,
        captures: &[(InputId, &Capture)],
    ) -> Vec<(Option<PastVersion>, (bool, String), i64)> {
        let mut moments: BTreeMap<i64, Vec<(InputId, &Capture)>> = BTreeMap::new();
        for (input, c) in captures {
            moments.entry(c.fetch_time_ms).or_default().push((*input, c));
        }
        let mut runs: Vec<(Option<PastVersion>, (bool, String), i64)> = Vec::new();
        for (time, captures) in moments {
            let Some(&(input, c)) = captures.iter().max_by_key(|(i, c)| self.content_order(*i, c)) else {
                continue;
            };
            let version = content(c).map(|_| self.past_version(input, c, &captures));
            let what = (is_page(c), c.digest.clone());
            match runs.last_mut() {
                Some((last, same, _)) if *same == what && last.is_some() == version.is_some() => {
                    let since_ms = last.as_ref().map_or(time, |last| last.since_ms);
                    *last = version.map(|version| PastVersion { since_ms, ..version });
                }
                _ => {
                    if let Some((Some(last), ..)) = runs.last_mut() {
                        last.until_ms = time;
                    }
                    runs.push((version, what, time));
                }
            }
        }
        runs
    }

    fn past_version(&self, input: InputId, c: &Capture, moment: &[(InputId, &Capture)]) -> PastVersion {
        let label = |input: InputId| self.ledger[input.0 as usize - 1].collection.clone();
        let text = |c: &Capture| content(c).map_or("", |p| &p.text).to_owned();
        let with_text = moment.iter().filter(|(_, c)| !text(c).is_empty());
        let source = with_text.max_by_key(|(i, c)| self.content_order(*i, c));
        let page = content(c).cloned().unwrap_or_default();
        let other_language = source
            .and_then(|(_, s)| content(s))
            .map(|page| page.language.clone());
        PastVersion {
            since_ms: c.fetch_time_ms,
            until_ms: i64::MAX,
            fetch_time_ms: c.fetch_time_ms,
            url: c.url.clone(),
            title: page.title,
            mime: c.shown_mime().to_owned(),
            language: match page.language.as_str() {
                "" => other_language.unwrap_or_default(),
                own => own.to_owned(),
            },
            digest: c.digest.clone(),
            collection: label(input),
            text: source.map(|(_, s)| text_hash(&text(s))),
            original: c
                .original
                .as_ref()
                .map(|original| OriginalCapture::of(original, label(InputId(original.input)))),
            text_capture: source
                .filter(|(i, s)| (*i, &s.digest, s.shown_mime()) != (input, &c.digest, c.shown_mime()))
                .map(|(i, s)| TextCapture {
                    digest: s.digest.clone(),
                    collection: label(*i),
                    mime: s.shown_mime().to_owned(),
                }),
            page: None,
        }
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

    /// Returns the different texts of a key, except that of its current version.
    pub fn past_texts(&self, url_key: &str) -> BTreeSet<String> {
        let of_key = self.eligible().filter(|(_, c)| c.url_key == url_key);
        let texts = of_key.filter_map(|(_, c)| content(c).map(|page| page.text.clone()));
        let current = self.text_kept(url_key);
        texts
            .filter(|text| !text.is_empty() && Some(text) != current.as_ref())
            .collect()
    }

    /// Returns URL key and title of every page.
    pub fn pages(&self) -> Vec<(String, String)> {
        let pages = self.versions().into_iter().filter(|(_, c)| is_page(c));
        let title = |c: &Capture| c.page.as_ref().map_or(String::new(), |page| page.title.clone());
        pages.map(|(key, c)| (key.to_owned(), title(c))).collect()
    }

    /// Returns the greatest fetch time of the version and of the later captures that confirm it
    /// without being versions.
    pub fn last_seen_ms(&self, url_key: &str) -> Option<i64> {
        let version = self.version(url_key)?;
        let revisits = self
            .captures
            .values()
            .filter(|c| c.url_key == url_key)
            .filter(|c| confirms(c));
        revisits
            .map(|c| c.fetch_time_ms)
            .chain([version.fetch_time_ms])
            .max()
    }

    /// Returns the sources of every URI, sorted, with the anchors of their links.
    pub fn inlinks(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut inlinks: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for ((source, target), link) in self.links() {
            inlinks.entry(target).or_default().push((source, link.anchor));
        }
        inlinks
    }

    /// Returns the link to a key in versions of a page: of the newest whose fetch time is at most
    /// `at_ms`, or of any.
    pub fn link_when(&self, source: &str, target: &str, at_ms: Option<i64>) -> Option<VersionLink> {
        let current = self.version(source)?;
        let mut moments: BTreeMap<i64, Vec<(InputId, &Capture)>> = BTreeMap::new();
        for (input, c) in self.eligible().filter(|(_, c)| c.url_key == source) {
            moments.entry(c.fetch_time_ms).or_default().push((input, c));
        }
        let mut was: BTreeMap<i64, &Capture> = BTreeMap::new();
        for (time, captures) in moments {
            let greatest = captures
                .into_iter()
                .max_by_key(|(i, c)| self.content_order(*i, c));
            was.extend(greatest.map(|(_, c)| (time, c)));
        }
        was.insert(current.fetch_time_ms, current);
        let link_of = |c: &Capture| links_of(c).into_iter().find(|link| link.url_key == target);
        let with_link: Vec<(&Capture, Link)> = match at_ms {
            Some(at_ms) => {
                let (_, then) = was.range(..=at_ms).next_back()?;
                vec![(*then, link_of(then)?)]
            }
            None => was.values().filter_map(|c| Some((*c, link_of(c)?))).collect(),
        };
        let (last, link) = with_link.last()?;
        let first = was.values().find(|c| link_of(c).is_some())?;
        Some(VersionLink {
            link: LinkRow {
                source_key: source.to_owned(),
                target_key: target.to_owned(),
                target_url: link.url.clone(),
                anchor: link.anchor.clone(),
                nofollow: link.nofollow,
                external: urlkey::domain_of_key(source) != urlkey::domain_of_key(target),
            },
            source_url: last.url.clone(),
            source_title: content(last).map_or_else(String::new, |page| page.title.clone()),
            fetch_time_ms: last.fetch_time_ms,
            first_ms: first.fetch_time_ms,
            is_current: link_of(current).is_some(),
        })
    }

    /// Returns the targets of all captures that may be current, with the keys that link to each.
    pub fn linked_ever(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut linked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (_, c) in self.eligible() {
            for link in links_of(c) {
                linked.entry(link.url_key).or_default().insert(c.url_key.clone());
            }
        }
        linked
    }

    /// Returns the different link sets of keys by name, except those of current versions.
    pub fn past_links(&self) -> BTreeSet<(String, [u8; 16])> {
        let named = |c: &Capture| Some((c.url_key.clone(), name_of(c)?));
        let mut names: BTreeSet<_> = self.eligible().filter_map(|(_, c)| named(c)).collect();
        for current in self.versions().into_values().filter_map(named) {
            names.remove(&current);
        }
        names
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

    /// As [`crate::Snapshot::dump`].
    ///
    /// # Errors
    /// [`DumpError::Output`].
    pub fn dump(&self, view: View, format: DumpFormat, out: &mut dyn Write) -> Result<u64, DumpError> {
        let mut printer = Printer::new(format, out);
        let p = &mut printer;
        match view {
            View::Captures => self.dump_captures(p)?,
            View::Pages => self.dump_pages(p)?,
            View::Links => {
                for ((source, target), link) in self.links() {
                    let nofollow = Cell::Number(u64::from(link.nofollow));
                    let (url, anchor) = (Cell::Text(&link.url), Cell::Text(&link.anchor));
                    p.row(&[
                        ("source_key", Cell::Text(&source)),
                        ("target_key", Cell::Text(&target)),
                        ("target_url", url),
                        ("anchor", anchor),
                        ("nofollow", nofollow),
                    ])?;
                }
            }
            View::Inlinks => {
                let links = self.links();
                let turned: BTreeMap<_, _> = links.iter().map(|((s, t), link)| ((t, s), link)).collect();
                for ((target, source), link) in turned {
                    let nofollow = Cell::Number(u64::from(link.nofollow));
                    p.row(&[
                        ("target_key", Cell::Text(target)),
                        ("source_key", Cell::Text(source)),
                        ("anchor", Cell::Text(&link.anchor)),
                        ("nofollow", nofollow),
                    ])?;
                }
            }
            View::Uris => {
                for (key, uri) in self.uris() {
                    let inlinks = Cell::Number(uri.sources.len() as u64);
                    let captured = Cell::Number(u64::from(uri.captured));
                    p.row(&[
                        ("url_key", Cell::Text(&key)),
                        ("captured", captured),
                        ("inlinks", inlinks),
                        ("inlinks_external", Cell::Number(uri.external)),
                    ])?;
                }
            }
            View::Domains => self.dump_domains(p)?,
            View::Top => {
                for row in self.top() {
                    let counts = [Cell::Number(row.inlinks_external), Cell::Number(row.inlinks)];
                    p.row(&[
                        ("inlinks_external", counts[0]),
                        ("inlinks", counts[1]),
                        ("url_key", Cell::Text(&row.url_key)),
                    ])?;
                }
            }
            View::Ledger => dump_ledger(p, self.ledger.clone())?,
            View::Quarantine => {
                let rows = self.quarantine.iter();
                dump_quarantine(
                    p,
                    rows.map(|(i, q)| (self.name(*i).to_owned(), q.clone())).collect(),
                )?;
            }
        }
        printer.finish()
    }

    fn dump_captures(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let mut groups: BTreeMap<(&str, i64), Vec<(String, Capture)>> = BTreeMap::new();
        for ((input, _), c) in &self.captures {
            let row = (self.name(*input).to_owned(), c.clone());
            groups.entry((&c.url_key, c.fetch_time_ms)).or_default().push(row);
        }
        groups
            .into_values()
            .try_for_each(|mut group| print_captures(p, &mut group))
    }

    fn dump_pages(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let uris = self.uris();
        for (key, c) in self.versions().into_iter().filter(|(_, c)| is_page(c)) {
            let uri = &uris[key];
            p.row(&[
                ("url_key", Cell::Text(key)),
                ("url", Cell::Text(&c.url)),
                ("fetch_time", Cell::Time(c.fetch_time_ms)),
                ("status", Cell::Number(u64::from(c.shown_status()))),
                ("mime", Cell::Text(c.shown_mime())),
                ("digest", Cell::Text(&c.digest)),
                (
                    "title",
                    Cell::Text(c.page.as_ref().map_or("", |page| &page.title)),
                ),
                ("links", Cell::Number(links_of(c).len() as u64)),
                ("inlinks", Cell::Number(uri.sources.len() as u64)),
                ("inlinks_external", Cell::Number(uri.external)),
            ])?;
        }
        Ok(())
    }

    fn dump_domains(&self, p: &mut Printer<'_>) -> Result<(), DumpError> {
        let versions = self.versions();
        let mut domains: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for (key, uri) in self.uris() {
            let sums = domains.entry(urlkey::domain_of_key(&key)).or_default();
            sums.0 += 1;
            sums.1 += u64::from(versions.get(key.as_str()).is_some_and(|c| is_page(c)));
            sums.2 += uri.external;
        }
        for (domain, (uris, pages, external)) in domains {
            p.row(&[
                ("domain", Cell::Text(&domain)),
                ("uris", Cell::Number(uris)),
                ("pages", Cell::Number(pages)),
                ("inlinks_external", Cell::Number(external)),
            ])?;
        }
        Ok(())
    }

    fn name(&self, input: InputId) -> &str {
        &self.ledger[input.0 as usize - 1].input
    }

    fn order<'a>(&'a self, input: InputId, c: &'a Capture) -> (i64, u8, &'a str, &'a str, u64) {
        let rank = match c.kind {
            CaptureKind::Wet => 0,
            CaptureKind::Wat => 1,
            _ => 2,
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

/// Returns a revisit with the content of its original; `None` if the original leads to the
/// revisit's own key.
fn with_content(revisit: &Capture, input: InputId, original: &Capture) -> Option<Capture> {
    let mut links = links_of(original);
    links.retain(|link| link.url_key != revisit.url_key);
    let mut now = Capture {
        original: Some(Box::new(Original::from_capture(original, input.0))),
        ..revisit.clone()
    };
    if is_served(original) {
        now.page = original.page.clone().map(|page| extract::Page { links, ..page });
        now.document.clone_from(&original.document);
    } else {
        let redirect = revisit.redirect.clone().or(original.redirect.clone());
        if redirect
            .as_ref()
            .is_some_and(|link| link.url_key == revisit.url_key)
        {
            return None;
        }
        now.redirect = redirect.filter(|link| link.url_key != original.url_key || revisit.redirect.is_some());
    }
    Some(now)
}

/// Returns whether a capture was answered with success without being a version.
fn confirms(c: &Capture) -> bool {
    let is_success = match c.kind {
        CaptureKind::Conversion => false,
        CaptureKind::Revisit | CaptureKind::Resource | CaptureKind::Wet => true,
        _ => (200..=399).contains(&c.status),
    };
    is_success && !may_be_current(c)
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
