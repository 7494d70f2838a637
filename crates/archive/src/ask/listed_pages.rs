//! The pages that packages list, read from the packages, each with its capture.
//!
//! Invariants:
//! - a client that does not see everything gets a page only if it may see the capture of the page,
//!   and a capture of the listed time would be visible too;
//! - a page that a takedown keeps out is not shown, whether it was captured or not;
//! - an answer reads a bounded part of the lists and of the captures of their URLs.

use std::collections::{BTreeMap, BTreeSet};

use ::access::CaptureAttributes;
use format::file_name::{base_name, name_text};
use index::{CaptureRow, InputState, KeyRange, LedgerRow, TakedownRules};
use inputs::{ListedPage, MAIN_LIST, PageLine};

use super::basis::Basis;
use super::ledger::is_named;
use super::limit::clamp;
use super::visible_snapshot::VisibleSnapshot;
use super::{cdx, cursor};
use crate::AskError;
use crate::question::{ListedPageRow, ListedPages, ListedPagesBody, ListedPagesProblem};

/// An answer ends after reading this many bytes of lists.
const BYTES_MAX: u64 = 4 << 20;

/// An answer ends after reading this many captures.
const CAPTURES_MAX: u64 = 1 << 20;

/// An answer ends after opening this many packages.
const PACKAGES_MAX: usize = 64;

/// Longest time between the listed time of a page and its capture. Crawlers list when they began
/// with a page, or when they finished it.
const APART_MS_MAX: u64 = 60 * 60 * 1000;

/// A package with captures.
struct Package {
    /// Path or address of the package.
    location: String,
    /// The common prefix of the locations of its members.
    members: String,
    labels: BTreeSet<String>,
    /// Whether a whole member is taken down, so that it is unknown which pages without captures
    /// belonged to it.
    is_taken_down_in_part: bool,
}

/// The line at which an answer begins: a hash of the package, list, offset, and number of lines
/// before it. Any client may read a cursor, so it must not contain the location of a package.
type Position = (String, String, u64, u64);

pub(super) fn pages(basis: &Basis<'_>, question: &ListedPages) -> Result<ListedPagesBody, AskError> {
    let after: Option<Position> = cursor::decode(question.after.as_deref())?;
    let visible = basis.visible();
    let mut reading = Reading {
        rules: basis.open.index.takedown_rules()?,
        visible: &visible,
        whole: question.whole,
        limit: clamp(question.limit),
        bytes: 0,
        captures: 0,
        body: ListedPagesBody::default(),
    };
    let packages = packages(basis, question)?;
    let begins_at = match &after {
        None => 0,
        Some((package, ..)) => packages
            .keys()
            .position(|place| cursor::stand_in(place) == *package)
            .ok_or_else(|| AskError::bad_request(cursor::NO_CURSOR))?,
    };
    for (opened, (place, package)) in packages.into_iter().skip(begins_at).enumerate() {
        if opened == PACKAGES_MAX {
            reading.body.next = Some(cursor::encode(&(cursor::stand_in(&place), "", 0, 0)));
            break;
        }
        let begins = after.as_ref().filter(|_| opened == 0);
        let begins = begins.map(|(_, list, offset, lines)| (list.as_str(), *offset, *lines));
        if let Some((list, offset, lines)) = reading.package(basis, &place.0, &package, begins)? {
            reading.body.next = Some(cursor::encode(&(cursor::stand_in(&place), list, offset, lines)));
            break;
        }
    }
    if !visible.sees_everything() {
        reading.body.problems.clear();
    }
    Ok(reading.body)
}

/// Returns the packages asked for, by name and location.
fn packages(
    basis: &Basis<'_>,
    question: &ListedPages,
) -> Result<BTreeMap<(String, String), Package>, AskError> {
    let mut packages = BTreeMap::new();
    let mut wanted = BTreeSet::new();
    for (_, entry) in basis.snapshot.ledger()? {
        let is_taken_down = entry.state == InputState::TakenDown;
        let is_of_label = question
            .collection
            .as_ref()
            .is_none_or(|label| entry.collection == *label);
        if !is_of_label || entry.captures == 0 && !is_taken_down {
            continue;
        }
        let Some((location, member)) = inputs::package_of(&entry.location) else {
            continue;
        };
        let name = name_of_package(&entry, &location, &member);
        let place = (name, location.clone());
        if question
            .input
            .as_deref()
            .is_none_or(|input| is_asked_for(&entry, &place, input))
        {
            wanted.insert(place.clone());
        }
        let package: &mut Package = packages.entry(place).or_insert_with(|| Package {
            members: entry
                .location
                .rsplit_once('#')
                .map_or("", |(package, _)| package)
                .to_owned()
                + "#",
            location,
            labels: BTreeSet::new(),
            is_taken_down_in_part: false,
        });
        package.labels.insert(entry.collection);
        package.is_taken_down_in_part |= is_taken_down;
    }
    packages.retain(|place, _| wanted.contains(place));
    Ok(packages)
}

/// Returns the name of the package that an input is a member of. An input that was loaded before
/// under another name keeps that name, so the package is named by the last part of its location.
fn name_of_package(entry: &LedgerRow, location: &str, member: &str) -> String {
    let end = format!("#{}", name_text(member.as_bytes()));
    let name = entry.input.strip_suffix(&end);
    name.unwrap_or_else(|| base_name(location)).to_owned()
}

fn is_asked_for(entry: &LedgerRow, (name, location): &(String, String), input: &str) -> bool {
    let is_package = [name.as_str(), base_name(name), location.as_str()].contains(&input);
    is_package || is_named(entry, input)
}

/// An answer that is being built.
struct Reading<'a> {
    rules: TakedownRules,
    visible: &'a VisibleSnapshot<'a>,
    whole: bool,
    limit: usize,
    /// Bytes of lists read so far.
    bytes: u64,
    /// Number of captures read so far.
    captures: u64,
    body: ListedPagesBody,
}

impl Reading<'_> {
    /// Reads the lists of a package, from a place in one of them if `begins` is given. Returns the
    /// place at which the answer ends, if it ends here.
    fn package(
        &mut self,
        basis: &Basis<'_>,
        name: &str,
        package: &Package,
        begins: Option<(&str, u64, u64)>,
    ) -> Result<Option<(String, u64, u64)>, AskError> {
        let packages = basis.open.sources.packages();
        let mut lists = match packages.page_lists(&package.location) {
            Ok(lists) => lists,
            Err(error) => {
                self.problem(name, "", (0, 0), format!("cannot be read: {error}"));
                return Ok(None);
            }
        };
        let order = |list: &str| (list != MAIN_LIST, list.to_owned());
        lists.sort_by_key(|list| order(list));
        let begins = begins.filter(|(list, ..)| !list.is_empty());
        for list in lists {
            let (offset, number) = match begins {
                Some((first, ..)) if order(&list) < order(first) => continue,
                Some((first, offset, number)) if list == first => (offset, number),
                _ => (0, 0),
            };
            let opened = packages.page_lines(&package.location, &list, offset, number);
            let mut lines = match opened {
                Ok(lines) => lines,
                Err(error) => {
                    self.problem(name, &list, (0, 0), format!("cannot be read: {error}"));
                    continue;
                }
            };
            loop {
                let (offset, number) = lines.position();
                let line = match lines.next_line() {
                    Ok(Some(line)) => line,
                    Ok(None) => break,
                    Err(error) => {
                        self.problem(name, &list, (0, offset), format!("cannot be read on: {error}"));
                        break;
                    }
                };
                if self.is_full() {
                    return Ok(Some((list, offset, number)));
                }
                self.bytes += lines.position().0 - offset;
                self.line(name, package, &list, line)?;
            }
        }
        Ok(None)
    }

    fn is_full(&self) -> bool {
        self.body.rows.len() >= self.limit || self.bytes >= BYTES_MAX || self.captures >= CAPTURES_MAX
    }

    fn problem(&mut self, package: &str, list: &str, (line, offset): (u64, u64), what: String) {
        self.body.problems.push(ListedPagesProblem {
            package: package.to_owned(),
            list: list.to_owned(),
            line,
            offset,
            what,
        });
    }

    fn line(&mut self, name: &str, package: &Package, list: &str, line: PageLine) -> Result<(), AskError> {
        let page = match line.page {
            Ok(None) => return Ok(()),
            Ok(Some(page)) => page,
            Err(error) => {
                self.problem(name, list, (line.number, line.offset), error.to_string());
                return Ok(());
            }
        };
        let nearest = self.nearest(package, &page)?;
        if !self.shows(package, &page, nearest.as_ref()) {
            return Ok(());
        }
        let apart_ms = |capture: &CaptureRow| capture.fetch_time_ms.abs_diff(page.fetch_time_ms);
        let (capture, nearest) = match nearest {
            Some(capture) if apart_ms(&capture) <= APART_MS_MAX => (Some(cdx::row(capture)), None),
            nearest => (
                None,
                nearest.map(|capture| format::date::iso(capture.fetch_time_ms)),
            ),
        };
        let replay = capture.as_ref();
        let replay = replay.map(|capture| format!("/replay/{}/{}", capture.timestamp, capture.url));
        let flag = |field: &str| page.object.get(field).and_then(serde_json::Value::as_bool);
        self.body.rows.push(ListedPageRow {
            package: name.to_owned(),
            list: list.to_owned(),
            line: line.number,
            fetch_time: format::date::iso(page.fetch_time_ms),
            title: page.text("title").unwrap_or_default().to_owned(),
            id: page.text("id").unwrap_or_default().to_owned(),
            seed: flag("seed").or_else(|| flag("isSeed")).unwrap_or(false),
            has_text: page.text("text").is_some_and(|text| !text.is_empty()),
            capture,
            nearest,
            replay,
            url: page.url,
            listed: self.whole.then_some(page.object),
        });
        Ok(())
    }

    /// Returns the capture of a page in its package that is nearest in time, visible or hidden. If
    /// two are equally near, one with status 2xx is preferred.
    fn nearest(&mut self, package: &Package, page: &ListedPage) -> Result<Option<CaptureRow>, AskError> {
        let mut best: Option<((u64, bool), CaptureRow)> = None;
        let range = KeyRange::Exact(page.url_key.clone());
        let captures = self.visible.snapshot().captures(range, None);
        for capture in captures.take(super::limit::CAPTURES_OF_KEY_MAX) {
            let capture = capture?;
            self.captures += 1;
            if !capture.location.starts_with(&package.members)
                || !package.labels.contains(&capture.collection)
            {
                continue;
            }
            let apart = capture.fetch_time_ms.abs_diff(page.fetch_time_ms);
            let place = (apart, !(200..300).contains(&capture.status));
            if best.as_ref().is_none_or(|(least, _)| place < *least) {
                best = Some((place, capture));
            }
        }
        Ok(best.map(|(_, capture)| capture))
    }

    /// Returns whether the client may see a page.
    fn shows(&self, package: &Package, page: &ListedPage, nearest: Option<&CaptureRow>) -> bool {
        let is_kept_out = |label: &String| {
            let key = page.url_key.as_bytes();
            self.rules.takes_down(key, page.fetch_time_ms, label).is_some()
        };
        if package.labels.iter().any(is_kept_out) {
            return false;
        }
        match nearest {
            None => self.visible.sees_everything() && !package.is_taken_down_in_part,
            Some(_) if self.visible.sees_everything() => true,
            Some(capture) => {
                let then = CaptureAttributes {
                    url_key: &capture.url_key,
                    collection: &capture.collection,
                    mime: &capture.mime,
                    digest: &capture.digest,
                    fetch_time_ms: page.fetch_time_ms,
                };
                self.visible.sees(capture) && self.visible.filter().is_visible(&then)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: such a package was listed as `etig.warc.gz`, which has no list of pages.
    #[test]
    fn a_package_whose_content_has_another_name_is_named_by_its_file() {
        for (input, expected) in [
            ("crawls/etig.wacz#archive/etig.warc.gz", "crawls/etig.wacz"),
            ("crawls/etig.warc.gz", "etig.wacz"),
        ] {
            let entry = LedgerRow {
                input: input.into(),
                ..LedgerRow::default()
            };
            let name = name_of_package(&entry, "/data/etig.wacz", "archive/etig.warc.gz");
            assert_eq!(name, expected);
        }
    }
}
