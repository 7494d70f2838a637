//! Everything known about one URL.

use super::basis::Basis;
use super::seen::Seen;
use super::{cdx, key, record};
use crate::AskError;
use crate::question::{CdxRow, Page, PageBody, PastVersionRow};

/// Most captures listed for a page, newest first.
const CAPTURES_MAX: usize = 1000;

/// Characters of text in the preview.
const PREVIEW_CHARS: usize = 2000;

pub(super) fn page(basis: &Basis<'_>, Page { url }: &Page) -> Result<PageBody, AskError> {
    let seen = basis.seen();
    let url_key = key::url_key(url)?;
    let captures = seen.known_newest(&url_key, CAPTURES_MAX)?;
    let uri = seen.uri(&url_key)?;
    if captures.is_empty() && uri.is_none() {
        return Err(key::unknown(url, &url_key));
    }
    let captures: Vec<CdxRow> = captures.into_iter().map(cdx::row).collect();
    let mut body = PageBody {
        host: urlkey::host_of_key(&url_key).to_string(),
        domain: urlkey::domain_of_key(&url_key).to_string(),
        url: captures
            .first()
            .map_or_else(|| key::with_scheme(url), |newest| newest.url.clone()),
        captured: !captures.is_empty(),
        captures,
        ..PageBody::default()
    };
    if let Some(uri) = uri {
        body.inlinks = uri.inlinks;
        body.inlinks_external = uri.inlinks_external;
    }
    if body.captured {
        add_history(&seen, &url_key, &mut body)?;
        add_version(&seen, &url_key, &mut body)?;
    } else {
        // It was never captured: use the URL as the first page that links to it writes it.
        let link = seen.inlinks(&url_key, None, 1)?.pop();
        body.url = link.map_or(body.url, |link| link.target_url);
    }
    body.url_key = url_key;
    Ok(body)
}

/// Adds what the page was.
fn add_history(seen: &Seen<'_>, url_key: &str, body: &mut PageBody) -> Result<(), AskError> {
    let (since_ms, past) = seen.history(url_key)?;
    body.since = Some(civil::iso(since_ms));
    let newest = past.into_iter().rev().take(CAPTURES_MAX);
    body.past_versions = newest
        .map(|past| PastVersionRow {
            since: civil::iso(past.since_ms),
            until: civil::iso(past.until_ms),
            fetch_time: civil::iso(past.fetch_time_ms),
            url: past.url,
            title: past.title,
            mime: past.mime,
            language: past.language,
            digest: past.digest,
            collection: past.collection,
        })
        .collect();
    Ok(())
}

/// Adds the current version, if there is one. A URL with captures of errors only has none.
fn add_version(seen: &Seen<'_>, url_key: &str, body: &mut PageBody) -> Result<(), AskError> {
    let Some(version) = seen.version(url_key)? else {
        body.since = None;
        return Ok(());
    };
    body.is_page = version.is_page;
    body.is_document = version.is_document;
    body.fetch_time = Some(civil::iso(version.fetch_time_ms));
    body.last_seen = Some(civil::iso(version.last_seen_ms));
    body.url = version.url;
    body.status = version.status;
    body.mime = version.mime;
    body.digest = version.digest;
    body.title = version.title;
    body.language = version.language;
    body.canonical = version.canonical;
    body.robots = version.robots;
    body.links = u64::from(version.links);
    body.links_dropped = u64::from(version.links_dropped);
    body.text_truncated = version.text_truncated.unwrap_or(false);
    let text = seen.text(url_key)?.unwrap_or_default();
    body.current = record::current(seen, url_key)?.map(cdx::row);
    body.text_preview = text.chars().take(PREVIEW_CHARS).collect();
    Ok(())
}
