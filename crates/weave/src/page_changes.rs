//! What an epoch's chain has to say to search: which pages changed, and what they are now.

use crate::bucket::inlinks_bucket;
use crate::epoch::{ChangedPage, PageChange};
use crate::ids::InputId;
use crate::ledger::LedgerEntry;
use crate::rows::TextCapture;
use crate::views::uris::{Counts, UriChange};
use crate::views::version_change::{PageNow, VersionChange};

/// Pages that look different now, or whose bucket of in-links changed, sorted by key; and what each of the first is
/// now. `versions` and `uris` are sorted by key, `inputs` by number.
pub(crate) fn page_changes(
    versions: Vec<VersionChange>,
    uris: &[UriChange],
    inputs: &[LedgerEntry],
) -> (Vec<PageChange>, Vec<ChangedPage>) {
    debug_assert!(
        uris.is_sorted_by(|a, b| a.url_key < b.url_key),
        "URIs are folded in order, once each"
    );
    let (mut changes, mut pages) = (Vec::new(), Vec::new());
    let mut uris = uris.iter().peekable();
    for version in versions.into_iter().filter(|version| version.page_changed) {
        while let Some(uri) = uris.next_if(|uri| uri.url_key < version.url_key) {
            changes.extend(moved(uri));
        }
        let uri = uris.next_if(|uri| uri.url_key == version.url_key);
        let is_new = !version.was_page;
        match version.page {
            Some(page) => {
                changes.push(PageChange::Upsert(version.url_key.clone()));
                let bucket = uri.map(|uri| bucket(uri.after));
                pages.push(changed_page(version.url_key, *page, is_new, bucket, inputs));
            }
            None => changes.push(PageChange::Delete(version.url_key)),
        }
    }
    changes.extend(uris.filter_map(moved));
    (changes, pages)
}

fn bucket(counts: Option<Counts>) -> u8 {
    inlinks_bucket(counts.map_or(0, |counts| counts.inlinks_external))
}

/// The change of a page that stays as it is, if its bucket moves.
fn moved(uri: &UriChange) -> Option<PageChange> {
    let now = bucket(uri.after);
    (uri.is_page && bucket(uri.before) != now).then(|| PageChange::Bucket(uri.url_key.clone(), now))
}

fn changed_page(
    url_key: String,
    page: PageNow,
    is_new: bool,
    inlinks_bucket: Option<u8>,
    inputs: &[LedgerEntry],
) -> ChangedPage {
    let PageNow { row, text } = page;
    let collection = |InputId(number): InputId| {
        let input = inputs.get((number as usize).wrapping_sub(1));
        input.map(|input| input.collection.clone()).unwrap_or_default()
    };
    let other = row
        .text
        .as_ref()
        .filter(|text| (text.input, text.offset) != (row.input, row.offset));
    ChangedPage {
        text_capture: other.map(|text| TextCapture {
            digest: text.digest.clone(),
            collection: collection(text.input),
        }),
        url_key,
        is_new,
        language: row.page_language().to_owned(),
        url: row.url,
        title: row.title,
        mime: row.mime,
        collection: collection(row.input),
        digest: row.digest,
        fetch_time_ms: row.fetch_time_ms,
        inlinks_bucket,
        text,
    }
}
