//! Links to and from a URL.

use weave::SnapshotError;

use super::basis::Basis;
use super::limit::{clamp, page_of};
use super::seen::Seen;
use super::{cursor, key};
use crate::AskError;
use crate::question::{Inlinks, LinkRow, LinksBody, Outlinks};

pub(super) fn inlinks(basis: &Basis<'_>, question: &Inlinks) -> Result<LinksBody, AskError> {
    let seen = basis.seen();
    let url_key = key::url_key(&question.url)?;
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
    let uri = seen
        .uri(&url_key)?
        .ok_or_else(|| key::unknown(&question.url, &url_key))?;
    // One row more than the limit shows whether the list continues.
    let mut links = seen.inlinks(&url_key, after.as_deref(), limit + 1)?;
    let next = page_of(&mut links, limit, |link| cursor::encode(&link.source_key));
    let rows = links.into_iter().map(|link| {
        let (source_url, source_title) = title(&seen, &link.source_key)?;
        Ok(row(link, source_url, source_title))
    });
    let rows = rows.collect::<Result<_, AskError>>()?;
    Ok(LinksBody {
        url_key,
        rows,
        total: uri.inlinks,
        next,
    })
}

pub(super) fn outlinks(basis: &Basis<'_>, question: &Outlinks) -> Result<LinksBody, AskError> {
    let seen = basis.seen();
    let url_key = key::url_key(&question.url)?;
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
    let version = seen.version(&url_key)?;
    if version.is_none() && seen.uri(&url_key)?.is_none() {
        return Err(key::unknown(&question.url, &url_key));
    }
    let mut links = seen.outlinks(&url_key, after.as_deref(), limit + 1)?;
    let next = page_of(&mut links, limit, |link| cursor::encode(&link.target_key));
    let total = version.as_ref().map_or(0, |version| u64::from(version.links));
    let (url, title) = version
        .map(|version| (version.url, version.title))
        .unwrap_or_default();
    let rows = links
        .into_iter()
        .map(|link| row(link, url.clone(), title.clone()))
        .collect();
    Ok(LinksBody {
        url_key,
        rows,
        total,
        next,
    })
}

fn row(link: weave::LinkRow, source_url: String, source_title: String) -> LinkRow {
    LinkRow {
        source_key: link.source_key,
        source_url,
        source_title,
        target_key: link.target_key,
        target_url: link.target_url,
        anchor: link.anchor,
        nofollow: link.nofollow,
        external: link.external,
    }
}

/// URL and title of a key's current version, empty if it has none.
fn title(seen: &Seen<'_>, url_key: &str) -> Result<(String, String), SnapshotError> {
    let version = seen.version(url_key)?;
    Ok(version
        .map(|version| (version.url, version.title))
        .unwrap_or_default())
}
