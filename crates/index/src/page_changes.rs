//! Collects the changes of an epoch for search: which pages changed, and their new state.

use std::collections::BTreeSet;

use crate::bucket::inlinks_bucket;
use crate::epoch::{ChangedPage, ChangedPast, PageChange};
use crate::ids::InputId;
use crate::ledger::{LedgerRow, Names};
use crate::rows::{AnchorRow, OriginalCapture, TextCapture};
use crate::views::history::PastChange;
use crate::views::texts;
use crate::views::uris::{Counts, UriChange};
use crate::views::version_change::{NewContent, VersionChange};

/// Returns pages and documents that changed, or whose bucket of in-links changed, sorted by key.
/// Includes the new state of those that changed themselves. `versions` and `uris` must be sorted by
/// key, `inputs` by number.
pub(crate) fn page_changes(
    versions: Vec<VersionChange>,
    uris: Vec<UriChange>,
    inputs: &[LedgerRow],
) -> PageChanges {
    debug_assert!(
        uris.is_sorted_by(|a, b| a.url_key < b.url_key),
        "URIs are folded in order, once each"
    );
    let (mut changes, mut pages, mut past) = (Vec::new(), Vec::new(), Vec::new());
    let names = Names::new(inputs);
    let mut uris = uris.into_iter().peekable();
    let is_told = |version: &VersionChange| version.content_changed || version.past.is_change();
    for mut version in versions.into_iter().filter(is_told) {
        while let Some(uri) = uris.next_if(|uri| uri.url_key < version.url_key) {
            changes.extend(page_change_of(uri));
        }
        let uri = uris.next_if(|uri| uri.url_key == version.url_key);
        if version.past.is_change() {
            past.push(changed_past(&version.url_key, &mut version.past, names));
        }
        let inlinks = uri.map(|uri| (bucket(uri.after), uri.anchors));
        if let Some(content) = version.content.take() {
            changes.push(PageChange::Upsert(version.url_key.clone()));
            pages.push(changed_page(version, *content, inlinks, names));
        } else {
            changes.push(if version.had_content {
                PageChange::Delete(version.url_key)
            } else {
                PageChange::Past(version.url_key)
            });
        }
    }
    changes.extend(uris.filter_map(page_change_of));
    PageChanges { changes, pages, past }
}

/// Adds keys whose documents may change although their versions and in-links do not. Keeps the
/// order by key.
pub(crate) fn add_documents(changes: &mut Vec<PageChange>, mut url_keys: BTreeSet<String>) {
    if url_keys.is_empty() {
        return;
    }
    for change in changes.iter_mut() {
        // Any change but that of a bucket makes the document again, or deletes it.
        if url_keys.remove(change.url_key())
            && let PageChange::Bucket(url_key, _) = change
        {
            *change = PageChange::Anchors(std::mem::take(url_key));
        }
    }
    changes.extend(url_keys.into_iter().map(PageChange::Anchors));
    changes.sort_unstable_by(|a, b| a.url_key().cmp(b.url_key()));
}

/// Result of [`page_changes`]: see [`crate::EpochReport`].
pub(crate) struct PageChanges {
    pub(crate) changes: Vec<PageChange>,
    pub(crate) pages: Vec<ChangedPage>,
    pub(crate) past: Vec<ChangedPast>,
}

fn changed_past(url_key: &str, past: &mut PastChange, names: Names<'_>) -> ChangedPast {
    let put = std::mem::take(&mut past.put).into_iter();
    ChangedPast {
        url_key: url_key.to_owned(),
        gone: std::mem::take(&mut past.gone),
        put: put.map(|past| past.shown(&names)).collect(),
    }
}

fn bucket(counts: Option<Counts>) -> u8 {
    inlinks_bucket(counts.map_or(0, |counts| counts.inlinks_external))
}

/// Returns the change of an otherwise unchanged page or document, if its bucket or its anchor texts
/// changed.
fn page_change_of(uri: UriChange) -> Option<PageChange> {
    let now = bucket(uri.after);
    match uri.anchors {
        Some(_) => Some(PageChange::Anchors(uri.url_key)),
        None => {
            (uri.has_content && bucket(uri.before) != now).then_some(PageChange::Bucket(uri.url_key, now))
        }
    }
}

fn changed_page(
    version: VersionChange,
    content: NewContent,
    inlinks: Option<(u8, Option<Vec<AnchorRow>>)>,
    names: Names<'_>,
) -> ChangedPage {
    let (inlinks_bucket, anchors) = inlinks.map_or((None, None), |(bucket, anchors)| (Some(bucket), anchors));
    let NewContent {
        row,
        text,
        text_mime,
        original,
    } = content;
    let collection = |input: InputId| names.collection(input).to_owned();
    ChangedPage {
        text_capture: row.text_of_another().map(|text| TextCapture {
            digest: text.digest.clone(),
            collection: collection(text.input),
            mime: text_mime,
        }),
        original: original
            .map(|original| OriginalCapture::of(&original, collection(InputId(original.input)))),
        url_key: version.url_key,
        is_new: !version.had_content,
        since_ms: version.past.since_ms,
        past_versions: version.past.count,
        language: row.page_language().to_owned(),
        url: row.url,
        title: row.title,
        mime: row.mime,
        collection: collection(row.input),
        digest: row.digest,
        fetch_time_ms: row.fetch_time_ms,
        inlinks_bucket,
        anchors,
        text: text.map(texts::visible),
    }
}
