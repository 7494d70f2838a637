//! Returns everything known about one URL.

use index::{PageRow, PastVersion};

use super::basis::LookUps;
use super::history::{PageHistory, PresentVersion};
use super::visible_snapshot::VisibleSnapshot;
use super::{attachments, capture_at, cdx, history, key};
use crate::AskError;
use crate::question::{CdxRow, Page, PageBody, PastVersionRow};

/// Limit of captures listed for a page, newest first.
const CAPTURES_MAX: usize = 1000;

/// Characters of text in the preview.
const PREVIEW_CHARS: usize = 2000;

pub(super) fn page(basis: &LookUps<'_>, Page { url }: &Page) -> Result<PageBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(url)?;
    let asked = key::UrlSpelling::of(url);
    let mut captures = visible.known_newest(&url_key, CAPTURES_MAX)?;
    // Captures of exactly this URL come first; within each group the newest first.
    captures.sort_by_key(|capture| !asked.is(&capture.url));
    let uri = visible.uri(&url_key)?;
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
        attachments: attachments::rows(&visible, &url_key, &asked, None)?,
        ..PageBody::default()
    };
    if let Some(uri) = uri {
        body.inlinks = uri.inlinks;
        body.inlinks_external = uri.inlinks_external;
    }
    if body.captured {
        add_versions(&visible, &url_key, &asked, &mut body)?;
    } else {
        // There is no capture of the URL: use it as the first page that links to it writes it.
        let link = visible.inlinks(&url_key, None, 1)?.pop();
        body.url = link.map_or(body.url, |link| link.target_url);
    }
    body.url_key = url_key;
    Ok(body)
}

/// Adds the past versions and the current version.
fn add_versions(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    asked: &key::UrlSpelling,
    body: &mut PageBody,
) -> Result<(), AskError> {
    let PageHistory { since_ms, past, now } = history::page_history(visible, url_key, asked)?;
    body.since = Some(format::date::iso(since_ms));
    let newest = past.into_iter().rev().take(CAPTURES_MAX);
    body.past_versions = newest
        .map(|past| PastVersionRow {
            since: format::date::iso(past.since_ms),
            until: format::date::iso(past.until_ms),
            fetch_time: format::date::iso(past.fetch_time_ms),
            url: past.url,
            title: past.title,
            mime: past.mime,
            language: past.language,
            digest: past.digest,
            collection: past.collection,
        })
        .collect();
    match now {
        PresentVersion::Current(Some(version)) => add_version(visible, url_key, *version, body),
        // A URL whose captures are all errors has no version.
        PresentVersion::Current(None) => {
            body.since = None;
            Ok(())
        }
        PresentVersion::Open(version) => add_open(visible, url_key, *version, body),
    }
}

/// Adds the last version of a page other than that of the key's current version. The views do not
/// contain its links.
fn add_open(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    version: PastVersion,
    body: &mut PageBody,
) -> Result<(), AskError> {
    let fetch_time = format::date::iso(version.fetch_time_ms);
    let is_of = |row: &&CdxRow| row.fetch_time == fetch_time && row.digest == version.digest;
    body.current = body.captures.iter().find(is_of).cloned();
    body.status = body.current.as_ref().map_or(0, |row| row.status);
    body.is_page = matches!(&*version.mime, "text/html" | "application/xhtml+xml" | "unk");
    body.is_document = !body.is_page;
    if let Some(name) = version.text {
        let text = visible.past_text(url_key, name)?.unwrap_or_default();
        body.text_preview = text.chars().take(PREVIEW_CHARS).collect();
    }
    body.last_seen = Some(fetch_time.clone());
    body.fetch_time = Some(fetch_time);
    body.url = version.url;
    body.mime = version.mime;
    body.digest = version.digest;
    body.title = version.title;
    body.language = version.language;
    Ok(())
}

/// Adds the current version.
fn add_version(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    version: PageRow,
    body: &mut PageBody,
) -> Result<(), AskError> {
    body.is_page = version.is_page;
    body.is_document = version.is_document;
    body.fetch_time = Some(format::date::iso(version.fetch_time_ms));
    body.last_seen = Some(format::date::iso(version.last_seen_ms));
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
    let text = visible.text(url_key)?.unwrap_or_default();
    body.current = capture_at::current(visible, url_key)?.map(cdx::row);
    body.text_preview = text.chars().take(PREVIEW_CHARS).collect();
    Ok(())
}
