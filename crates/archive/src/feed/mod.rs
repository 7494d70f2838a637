//! Feeds the search index from the views, during loads and when it is behind.
//!
//! Invariant: after a successful feed the search index covers the given epoch, or will after its
//! next commit, except for deferred anchors and epochs that wait ([`feed_state`]). A crash between
//! the epoch and the commit leaves it behind; [`pages_changed_since`] then lists the changes it
//! missed.
//!
//! [`pages_changed_since`]: index::Snapshot::pages_changed_since

mod changed_pages;
mod feed_state;
pub(crate) mod images;
mod progress;
#[cfg(test)]
mod tests;

pub(crate) use feed_state::FeedState;
pub(crate) use progress::SearchProgress;

use extract::ImageFacts;
use index::{
    AnchorRow, ChangedPage, ChangedPast, Epoch, EpochReport, PageChange, PastVersion, RenderedText, Snapshot,
    SnapshotError,
};
use search::{Anchor, Change, Document, Likeness, Original, PastToDelete, SearchIndex, TextCapture, Version};

use self::changed_pages::ChangedPages;
use self::feed_state::is_mostly_new;
use crate::{crash, rendered_text};

/// If the search index is this many epochs behind, it is rebuilt. The index keeps the changes of
/// somewhat more epochs; beyond them it does not list pages that are gone.
const EPOCHS_BEHIND_MAX: u64 = 1000;

/// Why the search index could not be fed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Search(#[from] search::ApplyError),
}

/// Feeds the changes of epochs in order, with their pages. Missing epochs are read from the index,
/// because registering inputs makes epochs too. If `may_wait`, the epochs of a large load wait, and
/// are fed together by [`feed_waiting`].
pub(crate) fn feed(
    search: &SearchIndex,
    fed: &mut FeedState,
    may_wait: bool,
    epochs: impl Iterator<Item = (EpochReport, Snapshot)>,
) -> Result<(), FeedError> {
    for (report, snapshot) in epochs {
        let epoch = report.epoch.0;
        if epoch <= fed.epoch {
            continue;
        }
        let waits = may_wait && fed.is_large_load();
        if waits && fed.hold_back(epoch, &report.page_changes, search.documents_on_disk()) {
            continue;
        }
        crash::point("feed.before_apply");
        if waits || fed.is_waiting() {
            feed_waiting(search, fed, &snapshot)?;
            continue;
        }
        let outcome = feed_one(search, fed, report, &snapshot);
        if outcome.is_err() {
            fed.fall_behind();
        }
        match outcome {
            Err(FeedError::Search(error)) => {
                tracing::warn!(%error, "cannot update the search index, trying again");
                feed_waiting(search, fed, &snapshot)?;
            }
            other => other?,
        }
    }
    Ok(())
}

/// Feeds everything that waits, is deferred or is missing up to the epoch of the snapshot. Makes it
/// searchable.
pub(crate) fn feed_waiting(
    search: &SearchIndex,
    fed: &mut FeedState,
    snapshot: &Snapshot,
) -> Result<(), FeedError> {
    if search.flush().is_err() {
        // `catch_up` then feeds again from the settled epoch of the search index.
        fed.fall_behind();
    }
    // If this fails, the same holds.
    let outcome = if fed.has_deferred() && settle(search, fed, snapshot).is_ok() {
        search.flush().map(drop).map_err(FeedError::from)
    } else {
        catch_up(search, snapshot, fed.progress())
    };
    match &outcome {
        Ok(()) => fed.settle_at(snapshot.epoch().0),
        Err(_) => fed.fall_behind(),
    }
    outcome
}

/// Feeds deferred changes, and missing epochs up to that of the snapshot.
fn settle(search: &SearchIndex, fed: &mut FeedState, snapshot: &Snapshot) -> Result<(), FeedError> {
    let now = snapshot.epoch().0;
    feed_from_index(search, fed, now, snapshot)?;
    fed.settle(search, snapshot)
}

/// Feeds the missing epochs up to `until` from the index.
fn feed_from_index(
    search: &SearchIndex,
    fed: &mut FeedState,
    until: u64,
    snapshot: &Snapshot,
) -> Result<(), FeedError> {
    if fed.epoch >= until {
        return Ok(());
    }
    let (since, last) = (Epoch(fed.epoch), Epoch(until));
    let changed = ChangedPages::read(snapshot, since, last)?;
    let changes = changed.into_changes(snapshot, since, last);
    let changes = changes.map(|change| to_change(snapshot, change?));
    // These changes include their anchors, but earlier deferred ones remain.
    let coverage = if fed.has_deferred() {
        Coverage::Part
    } else {
        Coverage::Whole
    };
    apply(search, fed.epoch, until, coverage, changes)?;
    match coverage {
        Coverage::Whole => fed.settle_at(until),
        Coverage::Part => fed.epoch = until,
    }
    Ok(())
}

fn feed_one(
    search: &SearchIndex,
    fed: &mut FeedState,
    report: EpochReport,
    snapshot: &Snapshot,
) -> Result<(), FeedError> {
    let epoch = report.epoch.0;
    // A report without changes may be from a batch that made no epoch. Its number is then that of
    // another step.
    let before = if report.page_changes.is_empty() {
        epoch
    } else {
        epoch - 1
    };
    feed_from_index(search, fed, before, snapshot)?;
    if before == epoch {
        return Ok(());
    }
    let owed_before = fed.has_deferred();
    let is_due = fed.note(epoch, &report.page_changes);
    let coverage = if is_due && !owed_before {
        Coverage::Whole
    } else {
        Coverage::Part
    };
    let (mut pages, mut past) = (report.pages.into_iter(), report.past.into_iter().peekable());
    let is_given =
        |change: &PageChange| coverage == Coverage::Whole || !matches!(change, PageChange::Anchors(_));
    let changes = report.page_changes.into_iter().filter(is_given).map(|change| {
        let past = past.next_if(|past| past.url_key == change.url_key());
        let current = match change {
            PageChange::Upsert(url_key) => match pages.next() {
                Some(page) if page.url_key == url_key => given(snapshot, page)?,
                // Unexpected: there should be one page per upsert, in the same order.
                _ => return to_change(snapshot, PageChange::Upsert(url_key)),
            },
            PageChange::Anchors(url_key) => anchors_change(snapshot, url_key)?,
            // A key with only past versions has no document to delete, and no in-links that count.
            PageChange::Delete(url_key) | PageChange::Past(url_key) => Change::Delete(url_key),
            PageChange::Bucket(url_key, bucket) => Change::Bucket(url_key, bucket),
        };
        with_past(snapshot, current, past)
    });
    apply(search, before, epoch, coverage, changes)?;
    match coverage {
        Coverage::Whole => fed.settle_at(epoch),
        Coverage::Part => fed.epoch = epoch,
    }
    if is_due && fed.has_deferred() {
        fed.settle(search, snapshot)
    } else {
        Ok(())
    }
}

/// Feeds the changes since the epoch that the search index covers, and makes them searchable at
/// once.
fn catch_up(search: &SearchIndex, snapshot: &Snapshot, progress: &SearchProgress) -> Result<(), FeedError> {
    let covered = search.covered_epoch();
    if covered > snapshot.epoch().0 {
        // The index is older than the search index, because it was restored or rebuilt. Nothing in
        // the search index can be relied on.
        search.clear()?;
    }
    // Only an empty search index is filled from the beginning: the first epoch defers nothing.
    let covered = search.covered_epoch();
    let since = Epoch(search.settled_epoch().max(1).min(covered));
    if since >= snapshot.epoch() {
        return Ok(());
    }
    tracing::info!(
        from = since.0,
        to = snapshot.epoch().0,
        "the search index is catching up"
    );
    let caught_up = if since.0 == 0 {
        fill(search, snapshot, progress)
    } else {
        catch_up_since(search, snapshot, since, progress)
    };
    progress.end();
    caught_up
}

/// Fills an empty search index. From the beginning, each page is listed once.
fn fill(search: &SearchIndex, snapshot: &Snapshot, progress: &SearchProgress) -> Result<(), FeedError> {
    // Listing the pages takes a small part of the time that feeding them takes.
    progress.begin(snapshot.pages_changed_since(Epoch(0)).count() as u64);
    let changes = snapshot.pages_changed_since(Epoch(0)).map(|change| {
        progress.count();
        Ok(inserted(to_change(snapshot, change?)?))
    });
    apply(search, 0, snapshot.epoch().0, Coverage::Whole, changes)?;
    search.flush()?;
    Ok(())
}

/// Feeds the changes after an epoch. If most pages have changed, the search index is rebuilt, which
/// deletes no documents one by one.
fn catch_up_since(
    search: &SearchIndex,
    snapshot: &Snapshot,
    since: Epoch,
    progress: &SearchProgress,
) -> Result<(), FeedError> {
    let now = snapshot.epoch();
    if now.0 - since.0 >= EPOCHS_BEHIND_MAX
        || is_mostly_new(pages_upserted(snapshot, since)?, search.documents_on_disk())
    {
        progress.begin(snapshot.version_keys().count() as u64);
        rebuild(search, snapshot, &mut |_| progress.count())?;
        return Ok(());
    }
    let changed = ChangedPages::read(snapshot, since, now)?;
    progress.begin(changed.len() as u64);
    let changes = changed.into_changes(snapshot, since, now).map(|change| {
        let change = change?;
        if !matches!(change, PageChange::Bucket(..)) {
            progress.count();
        }
        to_change(snapshot, change)
    });
    apply(search, since.0, now.0, Coverage::Whole, changes)?;
    search.flush()?;
    Ok(())
}

/// Returns how often pages were added or changed after an epoch.
fn pages_upserted(snapshot: &Snapshot, since: Epoch) -> Result<u64, SnapshotError> {
    let mut upserts = 0;
    for change in snapshot.pages_changed_since(since) {
        upserts += u64::from(matches!(change?, PageChange::Upsert(_)));
    }
    Ok(upserts)
}

/// Whether all changes up to an epoch are applied, or some remain deferred.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coverage {
    Whole,
    Part,
}

/// Applies the changes of the epochs after `since` up to `epoch`. If a row cannot be read, only
/// some of them are applied; the search index is then cleared, so that everything is fed again.
fn apply(
    search: &SearchIndex,
    since: u64,
    epoch: u64,
    coverage: Coverage,
    changes: impl Iterator<Item = Result<Change, SnapshotError>>,
) -> Result<(), FeedError> {
    let mut broken = None;
    let changes = changes.map_while(|change| change.map_err(|error| broken = Some(error)).ok());
    let applied = match coverage {
        Coverage::Whole => search.apply_after(since, epoch, changes),
        Coverage::Part => search.apply_part(since, epoch, changes),
    };
    match broken {
        Some(error) => {
            search.clear()?;
            Err(FeedError::Snapshot(error))
        }
        None => Ok(applied?),
    }
}

/// Converts a page handed over by an epoch. Reads from the index only what the epoch did not have.
fn given(snapshot: &Snapshot, page: ChangedPage) -> Result<Change, SnapshotError> {
    let text = match page.text {
        Some(text) => text,
        None => snapshot.text(&page.url_key)?.unwrap_or_default(),
    };
    let (inlink_bucket, anchors) = match (page.inlinks_bucket, page.anchors) {
        (Some(bucket), Some(anchors)) => (bucket, anchors),
        _ => linked(snapshot, &page.url_key)?,
    };
    let document = Document {
        likeness: likeness_of(&page.mime, &page.digest, &text),
        text,
        inlink_bucket,
        anchors: weighed(anchors),
        host: urlkey::host_of_key(&page.url_key).to_string(),
        domain: urlkey::domain_of_key(&page.url_key).to_string(),
        url: page.url,
        title: page.title,
        collection: page.collection,
        digest: page.digest,
        text_capture: page.text_capture.map(text_capture),
        original: page.original.map(original),
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime,
        language: page.language,
        version: Version {
            since_ms: page.since_ms,
            past_versions: page.past_versions,
            ..Version::default()
        },
        url_key: page.url_key,
    };
    let document = Box::new(as_rendered(snapshot, document)?);
    Ok(if page.is_new {
        Change::Insert(document)
    } else {
        Change::Upsert(document)
    })
}

/// Replaces the text of a page by the one that a browser rendered, if that has more words. The
/// document is then visible only to callers who can see that attachment, too.
fn as_rendered(snapshot: &Snapshot, mut document: Document) -> Result<Document, SnapshotError> {
    if document.original.is_some() {
        // The content of a revisit is that of another URL.
        return Ok(document);
    }
    let rendered = rendered_text::with_more_words(snapshot, &document.url_key, &document.text)?;
    if let Some(RenderedText { text, attachment }) = rendered {
        document.text = text;
        document.original = Some(Original {
            url_key: attachment.url_key,
            fetch_time_ms: attachment.fetch_time_ms,
            of: TextCapture {
                collection: attachment.collection,
                digest: attachment.digest,
                mime: attachment.mime,
            },
        });
    }
    Ok(document)
}

/// Returns which documents a document is alike. Images are alike if they look alike.
fn likeness_of(mime: &str, digest: &str, text: &str) -> Likeness {
    if !mime.starts_with("image/") {
        return Likeness::Text;
    }
    let hash = ImageFacts::parse(text).and_then(|facts| facts.hash);
    hash.map_or_else(|| Likeness::Name(digest.to_owned()), Likeness::Bits)
}

fn text_capture(text: index::TextCapture) -> TextCapture {
    TextCapture {
        collection: text.collection,
        digest: text.digest,
        mime: text.mime,
    }
}

fn original(original: index::OriginalCapture) -> Original {
    Original {
        url_key: original.url_key,
        fetch_time_ms: original.fetch_time_ms,
        of: TextCapture {
            collection: original.collection,
            digest: original.digest,
            mime: original.mime,
        },
    }
}

fn weighed(anchors: Vec<AnchorRow>) -> Vec<Anchor> {
    let weighed = |anchor: AnchorRow| Anchor {
        weight: anchor.weight(),
        text: anchor.text,
    };
    anchors.into_iter().map(weighed).collect()
}

/// Returns the bucket of a page's in-links, and their anchor texts.
fn linked(snapshot: &Snapshot, url_key: &str) -> Result<(u8, Vec<AnchorRow>), SnapshotError> {
    let (inlinks_external, anchors) = snapshot.anchors(url_key)?;
    Ok((index::inlinks_bucket(inlinks_external), anchors))
}

/// Rebuilds the search index from all pages. Calls `made` with the number of pages so far.
pub(crate) fn rebuild(
    search: &SearchIndex,
    snapshot: &Snapshot,
    made: &mut dyn FnMut(u64),
) -> Result<u64, FeedError> {
    if search.covered_epoch() > snapshot.epoch().0 {
        // As in `catch_up`: the search index belongs to another index.
        search.clear()?;
    }
    let mut count = 0;
    let pages = snapshot.version_keys().map(|key| {
        let change = key.and_then(|(url_key, has_content)| {
            count += u64::from(has_content);
            made(count);
            change_of(snapshot, url_key, has_content)
        });
        change.map(inserted).map_err(FeedError::Snapshot)
    });
    search.replace_all(snapshot.epoch().0, pages)?;
    Ok(count)
}

/// Converts a change, with the present rows of the page in the index.
fn to_change(snapshot: &Snapshot, change: PageChange) -> Result<Change, SnapshotError> {
    match change {
        PageChange::Bucket(url_key, bucket) => Ok(Change::Bucket(url_key, bucket)),
        // The key may have become a page again. The epoch in which it did inserts the document, so
        // there must be none before.
        PageChange::Delete(url_key) | PageChange::Past(url_key) => change_of(snapshot, url_key, false),
        PageChange::Upsert(url_key) => change_of(snapshot, url_key, true),
        PageChange::Anchors(url_key) => anchors_change(snapshot, url_key),
    }
}

/// Converts a page whose in-links, anchor texts or rendered text changed. Its past versions have
/// none, so they stay.
fn anchors_change(snapshot: &Snapshot, url_key: String) -> Result<Change, SnapshotError> {
    let (since_ms, past) = snapshot.history(&url_key)?;
    let version = current_version(since_ms, index::past_count(&past));
    let document = document(snapshot, &url_key, version)?;
    Ok(document.map_or(Change::Delete(url_key), |document| {
        Change::Upsert(Box::new(document))
    }))
}

/// Returns the current version of a page, with its start and the number of versions before it.
fn current_version(since_ms: i64, past_versions: u32) -> Version {
    Version {
        since_ms,
        past_versions,
        ..Version::default()
    }
}

/// Replaces everything that search has of a key by the present rows in the index. The current
/// version is included only if the key `has_content`.
fn change_of(snapshot: &Snapshot, url_key: String, has_content: bool) -> Result<Change, SnapshotError> {
    let (since_ms, past) = snapshot.history(&url_key)?;
    let version = current_version(since_ms, index::past_count(&past));
    let document = if has_content {
        document(snapshot, &url_key, version)?
    } else {
        None
    };
    let current = match document {
        Some(document) => Change::Upsert(Box::new(document)),
        None => Change::Delete(url_key.clone()),
    };
    let put = past
        .into_iter()
        .map(|past| past_document(snapshot, &url_key, past));
    Ok(Change::Past {
        current: Box::new(current),
        past_to_delete: PastToDelete::All,
        put: put.collect::<Result<_, _>>()?,
        url_key,
    })
}

/// Converts a change for a search index that contains no key yet.
fn inserted(change: Change) -> Change {
    match change {
        Change::Upsert(document) => Change::Insert(document),
        Change::Past {
            url_key,
            current,
            put,
            ..
        } => Change::Past {
            current: Box::new(inserted(*current)),
            past_to_delete: PastToDelete::Since(Vec::new()),
            url_key,
            put,
        },
        other => other,
    }
}

/// Adds to a change of a key the changes of its past versions in an epoch.
fn with_past(
    snapshot: &Snapshot,
    current: Change,
    past: Option<ChangedPast>,
) -> Result<Change, SnapshotError> {
    let Some(ChangedPast { url_key, gone, put }) = past else {
        return Ok(current);
    };
    let put = put
        .into_iter()
        .map(|past| past_document(snapshot, &url_key, past));
    Ok(Change::Past {
        current: Box::new(current),
        past_to_delete: PastToDelete::Since(gone),
        put: put.collect::<Result<_, _>>()?,
        url_key,
    })
}

/// Returns the document of a page or document in the index; `None` if the key is neither.
fn document(snapshot: &Snapshot, url_key: &str, version: Version) -> Result<Option<Document>, SnapshotError> {
    let Some(page) = snapshot
        .version(url_key)?
        .filter(|page| page.is_page || page.is_document)
    else {
        return Ok(None);
    };
    let (inlink_bucket, anchors) = linked(snapshot, url_key)?;
    let text = snapshot.text(url_key)?.unwrap_or_default();
    let document = Document {
        likeness: likeness_of(&page.mime, &page.digest, &text),
        text,
        host: urlkey::host_of_key(url_key).to_string(),
        domain: urlkey::domain_of_key(url_key).to_string(),
        url: page.url,
        title: page.title,
        collection: page.collection,
        digest: page.digest,
        text_capture: page.text_capture.map(text_capture),
        original: page.original.map(original),
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime,
        language: page.language,
        inlink_bucket,
        anchors: weighed(anchors),
        version,
        url_key: url_key.to_owned(),
    };
    as_rendered(snapshot, document).map(Some)
}

/// Returns the document of a past version. An open version is the present version of another page
/// with the same key.
fn past_document(snapshot: &Snapshot, url_key: &str, past: PastVersion) -> Result<Document, SnapshotError> {
    // This name distinguishes an open version from the current one of its key, so it has a name
    // even without a text.
    let name = past.text.or(past.is_open().then_some([0; 16]));
    let text = match past.text {
        Some(name) => snapshot.past_text(url_key, name)?.unwrap_or_default(),
        None => String::new(),
    };
    Ok(Document {
        likeness: likeness_of(&past.mime, &past.digest, &text),
        text,
        host: urlkey::host_of_key(url_key).to_string(),
        domain: urlkey::domain_of_key(url_key).to_string(),
        url: past.url,
        title: past.title,
        collection: past.collection,
        digest: past.digest,
        text_capture: past.text_capture.map(text_capture),
        original: past.original.map(original),
        fetch_time_ms: past.fetch_time_ms,
        mime: past.mime,
        language: past.language,
        // The in-links of its key belong to the current version.
        inlink_bucket: 0,
        // Present links point to the present page.
        anchors: Vec::new(),
        version: Version {
            since_ms: past.since_ms,
            until_ms: Some(past.until_ms),
            past_versions: 0,
            text: name,
        },
        url_key: url_key.to_owned(),
    })
}
