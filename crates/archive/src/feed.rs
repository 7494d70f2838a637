//! Feeds the search index from the views, during loads and when it is behind.
//!
//! Invariant: after a successful feed the search index covers the given epoch, or will after its next commit, but for
//! anchors that it is owed ([`fed`]). A crash between the epoch and the commit leaves it behind;
//! [`pages_changed_since`] then lists what it missed.
//!
//! [`pages_changed_since`]: weave::Snapshot::pages_changed_since

mod fed;
mod progress;
#[cfg(test)]
mod tests;

pub(crate) use fed::Fed;
pub(crate) use progress::SearchProgress;

use search::{Anchor, Change, Document, Gone, Original, SearchIndex, TextCapture, Version};
use weave::{
    AnchorRow, ChangedPage, ChangedPast, Epoch, EpochReport, PageChange, PastVersion, Snapshot, SnapshotError,
};

use crate::crash;

/// Why the search index could not be fed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Search(#[from] search::ApplyError),
}

/// Feeds the changes of epochs in order, with the pages that they brought along.
/// Epochs between the last one fed and one given here are read from the index, because registering inputs makes epochs too.
pub(crate) fn feed(
    search: &SearchIndex,
    fed: &mut Fed,
    epochs: impl Iterator<Item = (EpochReport, Snapshot)>,
) -> Result<(), FeedError> {
    for (report, snapshot) in epochs {
        let epoch = report.epoch.0;
        if epoch <= fed.epoch {
            continue;
        }
        crash::point("feed.before_apply");
        let outcome = feed_one(search, fed, report, &snapshot);
        if outcome.is_err() {
            // What is owed is found by the search index's own account.
            fed.settle_at(epoch);
        }
        match outcome {
            Err(FeedError::Search(error)) => {
                tracing::warn!(%error, "feeding the search index again");
                catch_up(search, &snapshot, fed.progress())?;
            }
            other => other?,
        }
    }
    Ok(())
}

/// Gives what is owed, and whatever was not fed, up to the epoch of the snapshot.
pub(crate) fn settle(search: &SearchIndex, fed: &mut Fed, snapshot: &Snapshot) -> Result<(), FeedError> {
    let now = snapshot.epoch().0;
    feed_from_index(search, fed, now, snapshot)?;
    fed.settle(search, snapshot)
}

/// Feeds the epochs up to `until` that nobody handed over.
fn feed_from_index(
    search: &SearchIndex,
    fed: &mut Fed,
    until: u64,
    snapshot: &Snapshot,
) -> Result<(), FeedError> {
    if fed.epoch >= until {
        return Ok(());
    }
    let changes = snapshot.pages_changed_between(Epoch(fed.epoch), Epoch(until));
    let changes = changes.map(|change| to_change(snapshot, change?));
    // With their anchors, but what was owed before is owed still.
    let coverage = if fed.owes() {
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
    fed: &mut Fed,
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
    feed_from_index(search, fed, before, snapshot)?;
    if before == epoch {
        return Ok(());
    }
    let owed_before = fed.owes();
    let is_due = fed.note(epoch, &report.page_changes);
    let coverage = match is_due && !owed_before {
        true => Coverage::Whole,
        false => Coverage::Part,
    };
    let (mut pages, mut past) = (report.pages.into_iter(), report.past.into_iter().peekable());
    let is_given =
        |change: &PageChange| coverage == Coverage::Whole || !matches!(change, PageChange::Anchors(_));
    let changes = report.page_changes.into_iter().filter(is_given).map(|change| {
        let past = past.next_if(|past| past.url_key == change.url_key());
        let current = match change {
            PageChange::Upsert(url_key) => match pages.next() {
                Some(page) if page.url_key == url_key => given(snapshot, page)?,
                // Not to be expected: a page for each upsert, in their order.
                _ => return to_change(snapshot, PageChange::Upsert(url_key)),
            },
            PageChange::Anchors(url_key) => said_otherwise(snapshot, url_key)?,
            // What has past versions alone has no document to delete, but no in-links that count either.
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
    match is_due && fed.owes() {
        true => fed.settle(search, snapshot),
        false => Ok(()),
    }
}

/// Feeds what changed since the epoch that the search index covers, and makes it searchable at once.
pub(crate) fn catch_up(
    search: &SearchIndex,
    snapshot: &Snapshot,
    progress: &SearchProgress,
) -> Result<(), FeedError> {
    let covered = search.covered_epoch();
    if covered > snapshot.epoch().0 {
        // The index is older than the search index, because it was restored or rebuilt. Nothing in the search
        // index can be relied on.
        search.clear()?;
    }
    // Only what is empty is filled from the beginning: the first epoch owes nothing.
    let covered = search.covered_epoch();
    let since = Epoch(search.settled_epoch().max(1).min(covered));
    if since < snapshot.epoch() {
        tracing::info!(from = since.0, to = snapshot.epoch().0, "search catches up");
        // Naming the pages takes a small part of the time that giving them takes.
        progress.begin(snapshot.pages_changed_since(since).count() as u64);
        let changes = snapshot.pages_changed_since(since).map(|change| {
            progress.count();
            let change = to_change(snapshot, change?)?;
            // Search had nothing, and from the beginning each page is named once.
            Ok(if since.0 == 0 { inserted(change) } else { change })
        });
        let applied = apply(search, since.0, snapshot.epoch().0, Coverage::Whole, changes);
        let flushed = applied.and_then(|()| Ok(search.flush().map(drop)?));
        progress.end();
        flushed?;
    }
    Ok(())
}

/// Whether anything is owed of what is applied, or was before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coverage {
    Whole,
    Part,
}

/// Applies the changes of the epochs after `since` up to `epoch`. If a row cannot be read, only part of them is
/// applied; the search index is then cleared, so that everything is fed again.
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

/// A page as the epoch hands it over; read from the index is only what the epoch did not look at.
fn given(snapshot: &Snapshot, page: ChangedPage) -> Result<Change, SnapshotError> {
    let text = match page.text {
        Some(text) => text,
        None => snapshot.text(&page.url_key)?.unwrap_or_default(),
    };
    let (inlink_bucket, anchors) = match (page.inlinks_bucket, page.anchors) {
        (Some(bucket), Some(anchors)) => (bucket, anchors),
        _ => linked(snapshot, &page.url_key)?,
    };
    let document = Box::new(Document {
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
    });
    Ok(match page.is_new {
        true => Change::Insert(document),
        false => Change::Upsert(document),
    })
}

fn text_capture(text: weave::TextCapture) -> TextCapture {
    TextCapture {
        collection: text.collection,
        digest: text.digest,
        mime: text.mime,
    }
}

fn original(original: weave::OriginalCapture) -> Original {
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

/// The bucket of a page's in-links, and what they say.
fn linked(snapshot: &Snapshot, url_key: &str) -> Result<(u8, Vec<AnchorRow>), SnapshotError> {
    let (inlinks_external, anchors) = snapshot.anchors(url_key)?;
    Ok((weave::inlinks_bucket(inlinks_external), anchors))
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

/// A change with what the index has of the page now.
fn to_change(snapshot: &Snapshot, change: PageChange) -> Result<Change, SnapshotError> {
    match change {
        PageChange::Bucket(url_key, bucket) => Ok(Change::Bucket(url_key, bucket)),
        // It may be a page again by now: the epoch that made it one inserts it, and must find none.
        PageChange::Delete(url_key) | PageChange::Past(url_key) => change_of(snapshot, url_key, false),
        PageChange::Upsert(url_key) => change_of(snapshot, url_key, true),
        PageChange::Anchors(url_key) => said_otherwise(snapshot, url_key),
    }
}

/// A page whose in-links, or their anchor texts, are others. Its past versions have none, so they stay.
fn said_otherwise(snapshot: &Snapshot, url_key: String) -> Result<Change, SnapshotError> {
    let (since_ms, past) = snapshot.history(&url_key)?;
    let version = version_now(since_ms, weave::past_count(&past));
    let document = document(snapshot, &url_key, version)?;
    Ok(document.map_or(Change::Delete(url_key), |document| {
        Change::Upsert(Box::new(document))
    }))
}

/// The current version, which began then, after so many others.
fn version_now(since_ms: i64, past_versions: u32) -> Version {
    Version {
        since_ms,
        past_versions,
        ..Version::default()
    }
}

/// All that the index has of a key now, in place of whatever search has of it; without the current version unless it
/// `has_content`.
fn change_of(snapshot: &Snapshot, url_key: String, has_content: bool) -> Result<Change, SnapshotError> {
    let (since_ms, past) = snapshot.history(&url_key)?;
    let version = version_now(since_ms, weave::past_count(&past));
    let document = match has_content {
        true => document(snapshot, &url_key, version)?,
        false => None,
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
        gone: Gone::All,
        put: put.collect::<Result<_, _>>()?,
        url_key,
    })
}

/// The same where search has nothing of any key.
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
            gone: Gone::Since(Vec::new()),
            url_key,
            put,
        },
        other => other,
    }
}

/// A change of a key with what an epoch did to its past versions.
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
        gone: Gone::Since(gone),
        put: put.collect::<Result<_, _>>()?,
        url_key,
    })
}

/// What the index has of a page or document; `None` of what is neither.
fn document(snapshot: &Snapshot, url_key: &str, version: Version) -> Result<Option<Document>, SnapshotError> {
    let Some(page) = snapshot
        .version(url_key)?
        .filter(|page| page.is_page || page.is_document)
    else {
        return Ok(None);
    };
    let (inlink_bucket, anchors) = linked(snapshot, url_key)?;
    Ok(Some(Document {
        text: snapshot.text(url_key)?.unwrap_or_default(),
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
    }))
}

/// The same of a past version. One that is open is what another page of the key is now.
fn past_document(snapshot: &Snapshot, url_key: &str, past: PastVersion) -> Result<Document, SnapshotError> {
    // By this name an open version is told from the current one of its key, so it has one even without a text.
    let text = past.text.or(past.is_open().then_some([0; 16]));
    Ok(Document {
        text: match past.text {
            Some(name) => snapshot.past_text(url_key, name)?.unwrap_or_default(),
            None => String::new(),
        },
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
        // That of its key is told with the current version.
        inlink_bucket: 0,
        // The links of today are to the page of today.
        anchors: Vec::new(),
        version: Version {
            since_ms: past.since_ms,
            until_ms: Some(past.until_ms),
            past_versions: 0,
            text,
        },
        url_key: url_key.to_owned(),
    })
}
