//! Feeds the search index from the views, during loads and when it is behind.
//!
//! Invariant: after a successful feed the search index covers the given epoch, or will after its next commit.
//! A crash between the epoch and the commit leaves it behind; [`pages_changed_since`] then lists what it
//! missed.
//!
//! [`pages_changed_since`]: weave::Snapshot::pages_changed_since

use search::{Change, Document, SearchIndex};
use weave::{ChangedPage, Epoch, EpochReport, PageChange, Snapshot, SnapshotError};

use crate::crash;

/// Why the search index could not be fed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Search(#[from] search::ApplyError),
}

/// Feeds the changes of epochs in order, with the pages that they brought along. `fed` is the last epoch fed before.
/// Epochs between it and one given here are read from the index, because registering inputs makes epochs too.
pub(crate) fn feed(
    search: &SearchIndex,
    fed: &mut u64,
    epochs: impl Iterator<Item = (EpochReport, Snapshot)>,
) -> Result<(), FeedError> {
    for (report, snapshot) in epochs {
        let epoch = report.epoch.0;
        if epoch <= *fed {
            continue;
        }
        crash::point("feed.before_apply");
        let outcome = feed_one(search, *fed, report, &snapshot);
        *fed = epoch;
        match outcome {
            Err(FeedError::Search(error)) => {
                tracing::warn!(%error, "feeding the search index again");
                catch_up(search, &snapshot)?;
            }
            other => other?,
        }
    }
    Ok(())
}

fn feed_one(
    search: &SearchIndex,
    fed: u64,
    report: EpochReport,
    snapshot: &Snapshot,
) -> Result<(), FeedError> {
    let epoch = report.epoch.0;
    // A report without changes may be that of a batch that made no epoch: its number is then that of another step.
    let before = if report.page_changes.is_empty() {
        epoch
    } else {
        epoch - 1
    };
    if before > fed {
        let changes = snapshot.pages_changed_between(Epoch(fed), Epoch(before));
        apply(
            search,
            fed,
            before,
            changes.map(|change| to_change(snapshot, change?)),
        )?;
    }
    if before == epoch {
        return Ok(());
    }
    let mut pages = report.pages.into_iter();
    let changes = report.page_changes.into_iter().map(|change| match change {
        PageChange::Upsert(url_key) => match pages.next() {
            Some(page) if page.url_key == url_key => given(snapshot, page),
            // Not to be expected: a page for each upsert, in their order.
            _ => to_change(snapshot, PageChange::Upsert(url_key)),
        },
        other => to_change(snapshot, other),
    });
    apply(search, before, epoch, changes)
}

/// Feeds what changed since the epoch that the search index covers, and makes it searchable at once.
pub(crate) fn catch_up(search: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
    let covered = search.covered_epoch();
    if covered > snapshot.epoch().0 {
        // The index is older than the search index, because it was restored or rebuilt. Nothing in the search
        // index can be relied on.
        search.clear()?;
    }
    let since = Epoch(search.covered_epoch());
    if since < snapshot.epoch() {
        tracing::info!(from = since.0, to = snapshot.epoch().0, "search catches up");
        let changes = snapshot.pages_changed_since(since).map(|change| {
            let change = to_change(snapshot, change?)?;
            Ok(match change {
                // Search had nothing, and from the beginning each page is named once.
                Change::Upsert(document) if since.0 == 0 => Change::Insert(document),
                other => other,
            })
        });
        apply(search, since.0, snapshot.epoch().0, changes)?;
        search.flush()?;
    }
    Ok(())
}

/// Applies the changes of the epochs after `since` up to `epoch`. If a row cannot be read, only part of them is
/// applied; the search index is then cleared, so that everything is fed again.
fn apply(
    search: &SearchIndex,
    since: u64,
    epoch: u64,
    changes: impl Iterator<Item = Result<Change, SnapshotError>>,
) -> Result<(), FeedError> {
    let mut broken = None;
    let changes = changes.map_while(|change| change.map_err(|error| broken = Some(error)).ok());
    let applied = search.apply_after(since, epoch, changes);
    match broken {
        Some(error) => {
            search.clear()?;
            Err(FeedError::Snapshot(error))
        }
        None => Ok(applied?),
    }
}

/// A page as the epoch hands it over; read from the index is only what the epoch did not look at.
fn given(snapshot: &Snapshot, page: ChangedPage) -> Result<Change, SnapshotError> {
    let text = match page.text {
        Some(text) => text,
        None => snapshot.text(&page.url_key)?.unwrap_or_default(),
    };
    let inlink_bucket = match page.inlinks_bucket {
        Some(bucket) => bucket,
        None => bucket(snapshot, &page.url_key)?,
    };
    let document = Box::new(Document {
        text,
        inlink_bucket,
        host: urlkey::host_of_key(&page.url_key).to_string(),
        domain: urlkey::domain_of_key(&page.url_key).to_string(),
        url: page.url,
        title: page.title,
        collection: page.collection,
        digest: page.digest,
        text_capture: page.text_capture.map(|text| (text.collection, text.digest)),
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime,
        language: page.language,
        url_key: page.url_key,
    });
    Ok(match page.is_new {
        true => Change::Insert(document),
        false => Change::Upsert(document),
    })
}

fn bucket(snapshot: &Snapshot, url_key: &str) -> Result<u8, SnapshotError> {
    let inlinks = snapshot.uri(url_key)?.map_or(0, |uri| uri.inlinks_external);
    Ok(weave::inlinks_bucket(inlinks))
}

/// Makes the search index anew of all pages; `made` is told how many there are so far.
pub(crate) fn rebuild(
    search: &SearchIndex,
    snapshot: &Snapshot,
    made: &mut dyn FnMut(u64),
) -> Result<u64, FeedError> {
    if search.covered_epoch() > snapshot.epoch().0 {
        // As in `catch_up`: it is of another index.
        search.clear()?;
    }
    let mut count = 0;
    let documents = snapshot.page_keys().filter_map(|url_key| {
        let document = url_key.and_then(|url_key| document(snapshot, url_key));
        if let Ok(Some(_)) = &document {
            count += 1;
            made(count);
        }
        document.map_err(FeedError::Snapshot).transpose()
    });
    search.replace_all(snapshot.epoch().0, documents)?;
    Ok(count)
}

/// A change with what the index has of the page now.
fn to_change(snapshot: &Snapshot, change: PageChange) -> Result<Change, SnapshotError> {
    let url_key = match change {
        PageChange::Delete(url_key) => return Ok(Change::Delete(url_key)),
        PageChange::Bucket(url_key, bucket) => return Ok(Change::Bucket(url_key, bucket)),
        PageChange::Upsert(url_key) => url_key,
    };
    Ok(match document(snapshot, url_key.clone())? {
        Some(document) => Change::Upsert(Box::new(document)),
        None => Change::Delete(url_key),
    })
}

/// What the index has of a page; `None` of what is no page.
fn document(snapshot: &Snapshot, url_key: String) -> Result<Option<Document>, SnapshotError> {
    let Some(page) = snapshot.version(&url_key)?.filter(|page| page.is_page) else {
        return Ok(None);
    };
    Ok(Some(Document {
        text: snapshot.text(&url_key)?.unwrap_or_default(),
        host: urlkey::host_of_key(&url_key).to_string(),
        domain: urlkey::domain_of_key(&url_key).to_string(),
        url: page.url,
        title: page.title,
        collection: page.collection,
        digest: page.digest,
        text_capture: page.text_capture.map(|text| (text.collection, text.digest)),
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime,
        language: page.language,
        inlink_bucket: bucket(snapshot, &url_key)?,
        url_key,
    }))
}
