//! Finds the capture that an address refers to.

use archive::question::{CaptureKind, CdxQuestion, CdxRow, Record, RecordBody};
use axum::http::StatusCode;
use cdx::{MatchType, Order};

use super::content::{self, OpenContent};
use crate::archive_client::ArchiveClient;
use crate::failure::Failure;
use crate::record;
use crate::state::State;

/// Maximum number of captures near the time that are searched for one that can be shown.
const NEAR_MAX: usize = 50;

/// Maximum number of these whose records are located. A revisit may have no original.
const LOCATED_MAX: usize = 5;

/// Returns whether a capture has original content to show. Text and metadata derived from other
/// captures do not count.
pub(crate) fn can_replay(kind: CaptureKind) -> bool {
    !matches!(
        kind,
        CaptureKind::Wat | CaptureKind::Wet | CaptureKind::Conversion
    )
}

/// Returns whether rules let the replay origin show a capture that the client may see. The origin
/// ignores tokens, so it may hide more than the archive's pages.
///
/// # Errors
/// If the rules or the index cannot be read.
pub(crate) async fn is_shown(state: &State, capture: &CdxRow) -> Result<bool, Failure> {
    let Some(archive) = state.seen_in_replay() else {
        return Ok(true);
    };
    match record::locate(&archive, capture.url.clone(), None, Some(capture.name())).await {
        Ok(_) => Ok(true),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Returns the capture of `url` nearest to `time`, or the newest one.
pub(crate) async fn nearest(archive: &ArchiveClient, url: &str, time: &str) -> Result<RecordBody, Failure> {
    nearest_of(archive, url, time, false).await
}

/// Like [`nearest`], but also accepts a capture of a similar URL ([`urlkey::FUZZY_RULES`]).
pub(super) async fn nearest_like(
    archive: &ArchiveClient,
    url: &str,
    time: &str,
) -> Result<RecordBody, Failure> {
    nearest_of(archive, url, time, true).await
}

/// Like [`nearest_like`]. Also opens the content if the first capture found `is_wanted` and can be
/// shown.
pub(super) async fn nearest_opened(
    archive: &ArchiveClient,
    url: &str,
    time: &str,
    is_wanted: impl FnOnce(&CdxRow) -> bool + Send + 'static,
) -> Result<(RecordBody, Option<OpenContent>), Failure> {
    let is_wanted = |row: &CdxRow| can_replay(row.kind) && is_wanted(row);
    let (found, opened) = content::find_and_open(archive, question(url, time, true), is_wanted).await?;
    Ok((shown(archive, found).await?, opened))
}

async fn nearest_of(
    archive: &ArchiveClient,
    url: &str,
    time: &str,
    fuzzy: bool,
) -> Result<RecordBody, Failure> {
    let found = archive.ask(question(url, time, fuzzy)).await?.body;
    shown(archive, found).await
}

fn question(url: &str, time: &str, fuzzy: bool) -> Record {
    Record {
        url: url.to_owned(),
        at: (!time.is_empty()).then(|| time.to_owned()),
        capture: None,
        fuzzy,
        with_content: true,
    }
}

/// Returns `found`, or the nearest capture that has content to show.
async fn shown(archive: &ArchiveClient, found: RecordBody) -> Result<RecordBody, Failure> {
    if can_replay(found.capture.kind) {
        return Ok(found);
    }
    let RecordBody { capture, fuzzy, .. } = found;
    let (url, time) = (&capture.url, &capture.timestamp);
    let of_get = near(archive, url, time, |row| can_replay(row.kind) && is_of_get(row)).await;
    let found = match of_get {
        Err(failure) if failure.status == StatusCode::NOT_FOUND => {
            near(archive, url, time, |row| can_replay(row.kind)).await?
        }
        found => found?,
    };
    Ok(RecordBody { fuzzy, ..found })
}

/// Returns the nearest capture that is not a redirect, for a redirect that leads to its own key
/// (such as from http to https).
pub(super) async fn beyond_redirect(
    archive: &ArchiveClient,
    url: &str,
    time: &str,
) -> Result<RecordBody, Failure> {
    near(archive, url, time, |row| {
        can_replay(row.kind) && is_of_get(row) && !(300..400).contains(&row.status)
    })
    .await
}

fn is_of_get(row: &CdxRow) -> bool {
    matches!(row.method.as_str(), "" | "GET")
}

/// Returns the nearest capture that `is_wanted` and has content.
async fn near(
    archive: &ArchiveClient,
    url: &str,
    time: &str,
    is_wanted: impl Fn(&CdxRow) -> bool,
) -> Result<RecordBody, Failure> {
    let question = CdxQuestion {
        url: url.to_owned(),
        match_type: MatchType::Exact,
        order: Order::Closest(time.to_owned()),
        limit: NEAR_MAX,
        records_only: true,
        ..CdxQuestion::default()
    };
    let rows = archive.ask(question).await?.body.rows;
    let wanted = rows.iter().filter(|row| is_wanted(row)).take(LOCATED_MAX);
    let names: Vec<String> = wanted.map(CdxRow::name).collect();
    for name in names {
        let (_, found) = record::locate(archive, url.to_owned(), None, Some(name)).await?;
        if found.capture.kind != CaptureKind::Revisit || found.original.is_some() {
            return Ok(found);
        }
    }
    Err(Failure::not_found(format!("no capture of {url} can be shown")))
}
