//! Redirects that lead back to themselves.
//!
//! A site redirects from http to https, or sets a cookie and redirects back. In an archive, such
//! redirects may lead to one another forever, because addresses with the same key have the same
//! captures, and a capture has no cookies.

use archive::question::{CaptureKind, CdxRow, RecordBody};
use url::Url;

use super::headers::{redirect, status_of};
use super::{content, find};
use crate::record::content_of;
use crate::state::State;

/// Maximum number of redirects that are followed. Browsers follow 20 (Fetch, section 4.4).
const REDIRECTS_MAX: usize = 20;

/// The end of a redirect.
pub(super) enum RedirectEnd {
    /// Another address. It may have no capture.
    Elsewhere,
    /// It leads back to itself. The nearest capture of the same URL that is not a redirect replaces
    /// it.
    Itself(Box<RecordBody>),
    /// There is no end. The captures on the way.
    Endless(Vec<CdxRow>),
}

/// Follows the redirect of `capture` to `location`.
pub(super) async fn follow(state: &State, capture: &CdxRow, location: &str) -> RedirectEnd {
    if leads_to_itself(capture, location)
        && let Some(beyond) = beyond(state, capture).await
    {
        return RedirectEnd::Itself(Box::new(beyond));
    }
    let Some((way, back_to)) = endless(state, capture, location).await else {
        return RedirectEnd::Elsewhere;
    };
    match beyond(state, capture).await {
        Some(beyond) if back_to == 0 => RedirectEnd::Itself(Box::new(beyond)),
        _ => RedirectEnd::Endless(way),
    }
}

async fn beyond(state: &State, capture: &CdxRow) -> Option<RecordBody> {
    let found = find::beyond_redirect(&state.archive, &capture.url, &capture.timestamp);
    found.await.ok()
}

/// Returns the captures of a chain of redirects without an end, and the position of the one to
/// which the last leads. If there are too many, that is the last one itself.
async fn endless(state: &State, first: &CdxRow, location: &str) -> Option<(Vec<CdxRow>, usize)> {
    let mut way = vec![first.clone()];
    let mut next = target(first, location)?;
    while let Some(last) = way.last()
        && way.len() <= REDIRECTS_MAX
    {
        let found = find::nearest_like(&state.archive, next.as_str(), &last.timestamp);
        let found = found.await.ok()?;
        if let Some(back_to) = way.iter().position(|known| is_same(known, &found.capture)) {
            return Some((way, back_to));
        }
        let location = location_of(state, &found).await?;
        if leads_to_itself(&found.capture, &location) && beyond(state, &found.capture).await.is_some() {
            return None;
        }
        next = target(&found.capture, &location)?;
        way.push(found.capture);
    }
    let last = way.len().saturating_sub(1);
    Some((way, last))
}

fn is_same(a: &CdxRow, b: &CdxRow) -> bool {
    (a.offset, &a.filename, &a.url) == (b.offset, &b.filename, &b.url)
}

/// Returns the target of a capture that is a redirect.
async fn location_of(state: &State, found: &RecordBody) -> Option<String> {
    if !(300..400).contains(&found.capture.status) {
        return None;
    }
    if let Some(own) = own_location(state, found).await {
        return Some(own);
    }
    let content = content_of(found.clone()).ok()?;
    let opened = content::open(state, &content).await.ok()?;
    let status = status_of(&found.capture, opened.payload.status());
    redirect(status, opened.payload.fields()).map(str::to_owned)
}

/// Returns the target of a revisit's redirect, if it is one. It takes precedence over the target of
/// the original.
pub(super) async fn own_location(state: &State, found: &RecordBody) -> Option<String> {
    let CdxRow { kind, status, .. } = &found.capture;
    if *kind != CaptureKind::Revisit || !(300..400).contains(status) {
        return None;
    }
    let own = content::open(state, found).await.ok()?;
    redirect(
        status_of(&found.capture, own.payload.status()),
        own.payload.fields(),
    )
    .map(str::to_owned)
}

/// Returns whether a redirect leads to the key that it was captured under.
fn leads_to_itself(capture: &CdxRow, location: &str) -> bool {
    let target = target(capture, location);
    target.is_some_and(|target| {
        urlkey::url_key(target.as_str()).is_ok_and(|key| key.as_str() == capture.url_key)
    })
}

fn target(capture: &CdxRow, location: &str) -> Option<Url> {
    Url::parse(&capture.url).and_then(|url| url.join(location)).ok()
}
