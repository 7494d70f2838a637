//! Feeds the index of images: the words of current pages about the images that they show.
//!
//! It is a separate search index, because words of images must not change the statistics of pages.
//! Its documents are images on pages. Each has the key, time, collection, digest and type of its
//! page, so rules and takedowns of the page hold for it. It is stored as an open version of the key
//! ([`index::PastVersion`]), the only form in which a key has several documents; the start of the
//! version is the number of the image on its page. Two documents are alike if their images have the
//! same address.
//!
//! Invariant: after [`catch_up`] the index of images is a function of the snapshot.

use extract::Image;
use index::{Epoch, PageChange, PageRow, Snapshot, SnapshotError};
use search::{Change, Document, ExpectedDocuments, Likeness, PastToDelete, SearchIndex, Version};

use super::{Coverage, FeedError, apply, original, text_capture};

/// If the index of images is this many epochs behind, it is rebuilt. The index keeps the changes
/// of somewhat more epochs; beyond them it does not list pages that are gone.
const EPOCHS_BEHIND_MAX: u64 = 1000;

/// Feeds the changes since the epoch that the index of images covers, and makes them searchable.
pub(crate) fn catch_up(images: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
    let (covered, now) = (images.covered_epoch(), snapshot.epoch().0);
    if covered == now {
        return Ok(());
    }
    // An index that covers a later epoch belongs to another state of the archive.
    if covered > now || covered > 0 && now - covered >= EPOCHS_BEHIND_MAX {
        return rebuild(images, snapshot);
    }
    let changes = snapshot.pages_changed_since(Epoch(covered));
    let changes = changes.filter_map(|change| to_change(snapshot, change, covered == 0).transpose());
    apply(images, covered, now, Coverage::Whole, changes)?;
    images.flush()?;
    Ok(())
}

/// Rebuilds the index of images from all pages.
pub(crate) fn rebuild(images: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
    if images.covered_epoch() > snapshot.epoch().0 {
        images.clear()?;
    }
    let changes = snapshot.pages_changed_since(Epoch(0));
    let changes = changes.filter_map(|change| to_change(snapshot, change, true).transpose());
    images.replace_all(
        snapshot.epoch().0,
        changes.map(|change| change.map_err(FeedError::Snapshot)),
    )
}

/// Converts a change of a page; `None` if it changes no image. If the index `is_empty`, none is
/// deleted.
fn to_change(
    snapshot: &Snapshot,
    change: Result<PageChange, SnapshotError>,
    is_empty: bool,
) -> Result<Option<Change>, SnapshotError> {
    let url_key = match change? {
        PageChange::Upsert(url_key) | PageChange::Delete(url_key) | PageChange::Past(url_key) => url_key,
        PageChange::Bucket(..) | PageChange::Anchors(_) => return Ok(None),
    };
    let put = documents(snapshot, &url_key)?;
    if is_empty && put.is_empty() {
        return Ok(None);
    }
    Ok(Some(Change::Past {
        // There is never a current document, so nothing has to be deleted.
        current: Box::new(Change::Bucket(url_key.clone(), 0)),
        past_to_delete: PastToDelete::All,
        put,
        url_key,
    }))
}

/// Returns which documents the index of images must have for a key.
pub(crate) fn expected_documents(
    snapshot: &Snapshot,
    url_key: String,
) -> Result<ExpectedDocuments, SnapshotError> {
    let documents = documents(snapshot, &url_key)?;
    let numbers = documents.iter().map(|document| document.version.since_ms);
    Ok(ExpectedDocuments {
        current: false,
        past: numbers.collect(),
        url_key,
    })
}

/// Returns the images of the current version of a key, if that is a page.
fn documents(snapshot: &Snapshot, url_key: &str) -> Result<Vec<Document>, SnapshotError> {
    let images = snapshot.images(url_key)?;
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let Some(page) = snapshot.version(url_key)?.filter(|page| page.is_page) else {
        return Ok(Vec::new());
    };
    let numbered = (0..).zip(images);
    Ok(numbered
        .map(|(number, image)| document(&page, number, image))
        .collect())
}

fn document(page: &PageRow, number: u32, image: Image) -> Document {
    Document {
        text: words(&image),
        likeness: Likeness::Name(image.url.clone()),
        url: image.url,
        title: image.alt,
        url_key: page.url_key.clone(),
        host: urlkey::host_of_key(&page.url_key).to_string(),
        domain: urlkey::domain_of_key(&page.url_key).to_string(),
        collection: page.collection.clone(),
        digest: page.digest.clone(),
        text_capture: page.text_capture.clone().map(text_capture),
        original: page.original.clone().map(original),
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime.clone(),
        language: page.language.clone(),
        inlink_bucket: 0,
        anchors: Vec::new(),
        version: Version {
            since_ms: i64::from(number),
            until_ms: Some(i64::MAX),
            past_versions: 0,
            text: Some(name_of(number)),
        },
    }
}

/// Returns the words that describe an image on its page, without the alternative text.
pub(crate) fn words(image: &Image) -> String {
    let parts = [
        &image.caption,
        &image.title,
        &image.heading,
        &image.before,
        &image.after,
    ];
    let parts: Vec<&str> = parts
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}

/// Returns the name of the words of the image with this number on its page.
fn name_of(number: u32) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// Returns the number in a name of words.
pub(crate) fn number_of(name: [u8; 16]) -> usize {
    usize::try_from(u128::from_be_bytes(name)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
