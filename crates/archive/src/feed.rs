//! Feeds the search index from the views, during loads and when it is behind.
//!
//! Invariant: after a successful feed the search index covers the given epoch, or will after its next commit.
//! A crash between the epoch and the commit leaves it behind; [`pages_changed_since`] then lists what it
//! missed.
//!
//! [`pages_changed_since`]: weave::Snapshot::pages_changed_since

use std::collections::BTreeMap;

use search::{Change, Document, SearchIndex};
use weave::{EpochReport, PageChange, Snapshot, SnapshotError};

use crate::crash;

/// Why the search index could not be fed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Search(#[from] search::ApplyError),
}

/// Feeds the changes of epochs in order. A page that changed several times is fed once, as the last epoch has
/// it. `fed` is the last epoch fed before. Epochs between it and the first one here are fed as well, because
/// registering inputs makes epochs too.
pub(crate) fn feed(
    search: &SearchIndex,
    fed: &mut u64,
    epochs: impl Iterator<Item = (EpochReport, Snapshot)>,
) -> Result<(), FeedError> {
    let mut changes = BTreeMap::new();
    let mut newest = None;
    for (report, snapshot) in epochs {
        if report.epoch.0 > *fed + 1 {
            let since = weave::Epoch(*fed);
            for change in snapshot.pages_changed_since(since) {
                let change = change?;
                changes.insert(key_of(&change).to_owned(), change);
            }
        }
        *fed = report.epoch.0.max(*fed);
        for change in report.page_changes {
            changes.insert(key_of(&change).to_owned(), change);
        }
        newest = Some(snapshot);
    }
    let Some(snapshot) = newest else { return Ok(()) };
    crash::point("feed.before_apply");
    let fed = apply(search, &snapshot, changes.into_values().map(Ok));
    match fed {
        Err(FeedError::Search(error)) => {
            tracing::warn!(%error, "feeding the search index again");
            catch_up(search, &snapshot)
        }
        other => other,
    }
}

/// Feeds what changed since the epoch that the search index covers, and makes it searchable at once.
pub(crate) fn catch_up(search: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
    let covered = search.covered_epoch();
    if covered > snapshot.epoch().0 {
        // The index is older than the search index, because it was restored or rebuilt. Nothing in the search
        // index can be relied on.
        search.clear()?;
    }
    let since = weave::Epoch(search.covered_epoch());
    if since < snapshot.epoch() {
        tracing::info!(from = since.0, to = snapshot.epoch().0, "search catches up");
        apply(search, snapshot, snapshot.pages_changed_since(since))?;
        search.flush()?;
    }
    Ok(())
}

fn key_of(change: &PageChange) -> &str {
    match change {
        PageChange::Upsert(key) | PageChange::Delete(key) => key,
    }
}

/// Applies changes. If a row cannot be read, only part of the epoch is applied; the search index is then
/// cleared, so that everything is fed again.
fn apply(
    search: &SearchIndex,
    snapshot: &Snapshot,
    changes: impl Iterator<Item = Result<PageChange, SnapshotError>>,
) -> Result<(), FeedError> {
    let mut broken = None;
    let documents = changes.map_while(|change| {
        let document = change.and_then(|change| to_change(snapshot, change));
        document.map_err(|error| broken = Some(error)).ok()
    });
    let applied = search.apply(snapshot.epoch().0, documents);
    match broken {
        Some(error) => {
            search.clear()?;
            Err(FeedError::Snapshot(error))
        }
        None => Ok(applied?),
    }
}

fn to_change(snapshot: &Snapshot, change: PageChange) -> Result<Change, SnapshotError> {
    let url_key = match change {
        PageChange::Delete(url_key) => return Ok(Change::Delete(url_key)),
        PageChange::Upsert(url_key) => url_key,
    };
    let Some(page) = snapshot.version(&url_key)?.filter(|page| page.is_page) else {
        return Ok(Change::Delete(url_key));
    };
    let inlinks = snapshot.uri(&url_key)?.map_or(0, |uri| uri.inlinks_external);
    Ok(Change::Upsert(Box::new(Document {
        text: snapshot.text(&url_key)?.unwrap_or_default(),
        host: urlkey::host_of_key(&url_key).to_string(),
        domain: urlkey::domain_of_key(&url_key).to_string(),
        url: page.url,
        title: page.title,
        collection: page.collection,
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime,
        language: page.language,
        inlink_bucket: weave::inlinks_bucket(inlinks),
        url_key,
    })))
}
