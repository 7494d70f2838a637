//! Links to and from a URL.

use index::{PageRow, SnapshotError, VersionLink, When};

use super::basis::Basis;
use super::limit::{clamp, page_of};
use super::visible_snapshot::VisibleSnapshot;
use super::{cursor, key, time};
use crate::AskError;
use crate::question::{Inlinks, LinkRow, LinkVersion, LinksBody, Outlinks};

pub(super) fn inlinks(basis: &Basis<'_>, question: &Inlinks) -> Result<LinksBody, AskError> {
    let visible = basis.visible();
    match (&question.at, question.ever) {
        (None, false) => inlinks_now(&visible, question),
        (None, true) => inlinks_when(&visible, question, When::Ever),
        (Some(at), false) => {
            let (_, last) = format::date::range_of_digits(time::check(at)?);
            let is_by_then = |time_ms: i64| format::date::digits(time_ms) <= last;
            inlinks_when(&visible, question, When::At(&is_by_then))
        }
        (Some(_), true) => Err(AskError::bad_request(
            "`at` and `ever` exclude each other: ask for links at one time or of all versions",
        )),
    }
}

/// Answers with links of versions that need not be current.
fn inlinks_when(
    visible: &VisibleSnapshot<'_>,
    question: &Inlinks,
    when: When<'_>,
) -> Result<LinksBody, AskError> {
    let url_key = key::url_key(&question.url)?;
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let (links, next) = visible.inlinks_when(&url_key, when, after.as_deref(), clamp(question.limit))?;
    if links.is_empty() && next.is_none() && visible.uri(&url_key)?.is_none() {
        let known = match when {
            When::At(_) => has_past_inlinks(visible, &url_key)?,
            When::Ever => false,
        };
        if !known {
            return Err(key::unknown(&question.url, &url_key));
        }
    }
    let version_row = |link: VersionLink| LinkRow {
        version: Some(LinkVersion {
            first_seen: format::date::iso(link.first_ms),
            fetch_time: format::date::iso(link.fetch_time_ms),
            is_current: link.is_current,
        }),
        ..row(
            link.link,
            Source {
                url: link.source_url,
                title: link.source_title,
                fetch_time: None,
            },
        )
    };
    Ok(LinksBody {
        url_key,
        rows: links.into_iter().map(version_row).collect(),
        total: None,
        next: next.map(|source| cursor::encode(&source)),
    })
}

fn has_past_inlinks(visible: &VisibleSnapshot<'_>, url_key: &str) -> Result<bool, SnapshotError> {
    let (links, _) = visible.inlinks_when(url_key, When::Ever, None, 1)?;
    Ok(!links.is_empty())
}

/// Answers with links of current versions.
fn inlinks_now(visible: &VisibleSnapshot<'_>, question: &Inlinks) -> Result<LinksBody, AskError> {
    let url_key = key::url_key(&question.url)?;
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
    let Some(uri) = visible.uri(&url_key)? else {
        return Err(if has_past_inlinks(visible, &url_key)? {
            AskError::not_found(format!(
                "no capture of {}, and no current version of a page links to it, only older versions, which `ever` \
                 includes (key {url_key})",
                question.url
            ))
        } else {
            key::unknown(&question.url, &url_key)
        });
    };
    // One row more than the limit shows whether the list continues.
    let mut links = visible.inlinks(&url_key, after.as_deref(), limit + 1)?;
    let next = page_of(&mut links, limit, |link| cursor::encode(&link.source_key));
    let rows = links.into_iter().map(|link| {
        let source = visible.version(&link.source_key)?.map(Source::of);
        Ok(row(link, source.unwrap_or_default()))
    });
    let rows = rows.collect::<Result<_, SnapshotError>>()?;
    Ok(LinksBody {
        url_key,
        rows,
        total: Some(uri.inlinks),
        next,
    })
}

pub(super) fn outlinks(basis: &Basis<'_>, question: &Outlinks) -> Result<LinksBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(&question.url)?;
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
    let version = visible.version(&url_key)?;
    if version.is_none() && visible.uri(&url_key)?.is_none() {
        return Err(key::unknown(&question.url, &url_key));
    }
    let mut links = visible.outlinks(&url_key, after.as_deref(), limit + 1)?;
    let next = page_of(&mut links, limit, |link| cursor::encode(&link.target_key));
    let total = version.as_ref().map_or(0, |version| u64::from(version.links));
    let source = version.map(Source::of).unwrap_or_default();
    let rows = links.into_iter().map(|link| row(link, source.clone())).collect();
    Ok(LinksBody {
        url_key,
        rows,
        total: Some(total),
        next,
    })
}

/// The page that contains a link.
#[derive(Clone, Default)]
struct Source {
    url: String,
    title: String,
    fetch_time: Option<String>,
}

impl Source {
    fn of(version: PageRow) -> Source {
        Source {
            url: version.url,
            title: version.title,
            fetch_time: Some(format::date::iso(version.fetch_time_ms)),
        }
    }
}

fn row(link: index::LinkRow, source: Source) -> LinkRow {
    LinkRow {
        source_key: link.source_key,
        source_url: source.url,
        source_title: source.title,
        source_fetch_time: source.fetch_time,
        target_key: link.target_key,
        target_url: link.target_url,
        anchor: link.anchor,
        nofollow: link.nofollow,
        external: link.external,
        version: None,
    }
}
