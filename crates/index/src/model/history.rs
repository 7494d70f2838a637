//! What was seen of a key over time: past versions, their texts and their links.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind, Link};

use super::spellings::{different_pages, spelling};
use super::{Model, content, is_page, links_of, may_be_current};
use crate::ids::InputId;
use crate::rows::{LinkRow, OriginalCapture, PastVersion, TextCapture, VersionLink};
use crate::views::capture_row::text_hash;
use crate::views::link_set::name_of;

impl Model {
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

    /// Returns the different texts of a key, except that of its current version.
    pub fn past_texts(&self, url_key: &str) -> BTreeSet<String> {
        let of_key = self.eligible().filter(|(_, c)| c.url_key == url_key);
        let texts = of_key.filter_map(|(_, c)| content(c).map(|page| page.text.clone()));
        let current = self.text_kept(url_key);
        texts
            .filter(|text| !text.is_empty() && Some(text) != current.as_ref())
            .collect()
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
