//! Links to and from a URL.

use index::{PageRow, SnapshotError, VersionLink, When};
use urlkey::{KeyRange, MatchType, domain_ranges, url_ranges};

use super::basis::LookUps;
use super::limit::{LINKS_LOOKED_AT_MAX, clamp, page_of};
use super::visible_snapshot::VisibleSnapshot;
use super::{cursor, key, time};
use crate::AskError;
use crate::question::{Inlinks, LinkFilter, LinkRow, LinkVersion, LinksBody, Outlinks};

/// Number of links read at a time in a selection.
const LINKS: usize = 1000;

pub(super) fn inlinks(basis: &LookUps<'_>, question: &Inlinks) -> Result<LinksBody, AskError> {
    let visible = basis.visible();
    let is_one_time = question.at.is_none() && !question.ever;
    if question.match_type != MatchType::Exact {
        return if is_one_time {
            inlinks_of_many(&visible, question)
        } else {
            Err(AskError::bad_request(
                "links of older versions (`at`, `ever`) can be listed for one URL only, not for a prefix, host or domain",
            ))
        };
    }
    match (&question.at, question.ever) {
        (None, false) => inlinks_now(&visible, question),
        (None, true) => inlinks_when(&visible, question, When::Ever),
        (Some(at), false) => {
            let (_, last) = format::date::range_of_digits(time::check_date(at)?);
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
    let conditions = Conditions::new(&question.filter)?;
    let accepts =
        |link: &VersionLink| conditions.accept(&link.link) && conditions.times.contain(link.fetch_time_ms);
    let limit = clamp(question.limit);
    let page = (after.as_deref(), limit);
    let (links, next) = visible.inlinks_when(&url_key, when, &accepts, page)?;
    let last = links.last().map(|link| &link.link.source_key);
    let is_cut = next.is_some() && (links.len() < limit || next.as_ref() != last);
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
        looked_at: is_cut.then_some(LINKS_LOOKED_AT_MAX as u64),
        next: next.map(|source| cursor::encode(&source)),
    })
}

fn has_past_inlinks(visible: &VisibleSnapshot<'_>, url_key: &str) -> Result<bool, SnapshotError> {
    let (links, _) = visible.inlinks_when(url_key, When::Ever, &|_| true, (None, 1))?;
    Ok(!links.is_empty())
}

/// Answers with links of current versions.
fn inlinks_now(visible: &VisibleSnapshot<'_>, question: &Inlinks) -> Result<LinksBody, AskError> {
    let url_key = key::url_key(&question.url)?;
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
    if question.filter != LinkFilter::default() {
        let only = KeyRange {
            start: url_key.clone(),
            end: format!("{url_key}\0"),
        };
        return selected(visible, question, url_key, &[only]);
    }
    let after: Option<String> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
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
        looked_at: None,
        next,
    })
}

/// Answers with links to the URLs of a prefix, host or domain.
fn inlinks_of_many(visible: &VisibleSnapshot<'_>, question: &Inlinks) -> Result<LinksBody, AskError> {
    let ranges = url_ranges(&key::with_scheme(&question.url), question.match_type)
        .map_err(|error| AskError::bad_request(format!("{:?}: {error}", question.url)))?;
    selected(visible, question, key::url_key(&question.url)?, &ranges)
}

/// Answers with the links of current versions to the keys of these ranges that meet the conditions.
/// A part of the list ends after [`LINKS_LOOKED_AT_MAX`] visible links, which bounds its time.
fn selected(
    visible: &VisibleSnapshot<'_>,
    question: &Inlinks,
    url_key: String,
    ranges: &[KeyRange],
) -> Result<LinksBody, AskError> {
    let conditions = Conditions::new(&question.filter)?;
    let limit = clamp(question.limit);
    let mut place: Option<(String, String)> = cursor::decode(question.after.as_deref())?;
    let mut body = LinksBody {
        url_key,
        ..LinksBody::default()
    };
    let mut looked_at = 0;
    for target in targets(visible, ranges, place.as_ref()) {
        let target = target?;
        let mut after = match &place {
            Some((passed, source)) if *passed == target => Some(source.clone()),
            _ => None,
        };
        loop {
            let links = visible.inlinks(&target, after.as_deref(), LINKS)?;
            let is_last = links.len() < LINKS;
            for link in links {
                if looked_at == LINKS_LOOKED_AT_MAX {
                    body.looked_at = Some(looked_at as u64);
                    body.next = place.as_ref().map(cursor::encode);
                    return Ok(body);
                }
                looked_at += 1;
                let here = (target.clone(), link.source_key.clone());
                if let Some(row) = conditions.row(visible, link)? {
                    // One more than the limit shows that the list continues.
                    if body.rows.len() == limit {
                        body.next = place.as_ref().map(cursor::encode);
                        return Ok(body);
                    }
                    body.rows.push(row);
                }
                place = Some(here);
            }
            if is_last {
                break;
            }
            after = place.as_ref().map(|(_, source)| source.clone());
        }
    }
    Ok(body)
}

/// Returns the keys of the ranges that pages link to, beginning with that of `place`.
fn targets<'s>(
    visible: &'s VisibleSnapshot<'_>,
    ranges: &[KeyRange],
    place: Option<&(String, String)>,
) -> impl Iterator<Item = Result<String, SnapshotError>> + use<'s> {
    let start = place.map(|(target, _)| target.clone()).unwrap_or_default();
    let left = ranges.iter().filter(|range| start < range.end);
    let left: Vec<KeyRange> = left
        .map(|range| KeyRange {
            start: start.clone().max(range.start.clone()),
            end: range.end.clone(),
        })
        .collect();
    left.into_iter().flat_map(|range| visible.linked_keys(&range))
}

/// The conditions of a [`LinkFilter`].
struct Conditions {
    external: bool,
    /// Keys of the pages; `None` for all.
    sources: Option<Vec<KeyRange>>,
    /// In lower case.
    anchor: Option<String>,
    /// Capture times of the pages.
    times: time::Bounds,
}

impl Conditions {
    fn new(filter: &LinkFilter) -> Result<Conditions, AskError> {
        let sources = filter.from_domain.as_deref().map(source_ranges);
        for text in [&filter.from, &filter.to].into_iter().flatten() {
            time::check_date(text)?;
        }
        Ok(Conditions {
            external: filter.external,
            sources: sources.transpose()?,
            anchor: filter.anchor.as_deref().map(str::to_lowercase),
            times: time::Bounds::new(filter.from.as_deref(), filter.to.as_deref())?,
        })
    }

    /// Returns whether a link meets the conditions, except those on the page's time.
    fn accept(&self, link: &index::LinkRow) -> bool {
        let is_from = |ranges: &Vec<KeyRange>| ranges.iter().any(|range| range.contains(&link.source_key));
        let is_named = |text: &String| link.anchor.to_lowercase().contains(text);
        (link.external || !self.external)
            && self.sources.as_ref().is_none_or(is_from)
            && self.anchor.as_ref().is_none_or(is_named)
    }

    /// Returns a link of a current version as a row, if it meets the conditions.
    fn row(
        &self,
        visible: &VisibleSnapshot<'_>,
        link: index::LinkRow,
    ) -> Result<Option<LinkRow>, SnapshotError> {
        if !self.accept(&link) {
            return Ok(None);
        }
        let source = visible.version(&link.source_key)?;
        let time_ms = source.as_ref().map_or(i64::MIN, |page| page.fetch_time_ms);
        let is_in_time = self.times.contain(time_ms);
        Ok(is_in_time.then(|| row(link, source.map(Source::of).unwrap_or_default())))
    }
}

/// Returns the keys of a domain and of the hosts below it. `*.example.org` is the same as
/// `example.org`. A path or a port is refused, because it would be ignored.
fn source_ranges(text: &str) -> Result<Vec<KeyRange>, AskError> {
    let no_domain = |why: &dyn std::fmt::Display| {
        AskError::bad_request(format!("{text:?} is not a domain such as example.org: {why}"))
    };
    let host = text
        .trim()
        .trim_start_matches("http://")
        .trim_start_matches("https://");
    let host = host.strip_suffix('/').unwrap_or(host);
    let host = host.strip_prefix("*.").unwrap_or(host);
    let is_ip_v6 = host.starts_with('[') && host.ends_with(']');
    if host.contains(['/', '?', '#', '*']) || (host.contains(':') && !is_ip_v6) {
        return Err(no_domain(&"it has a path, a port or another star"));
    }
    domain_ranges(host).map_err(|error| no_domain(&error))
}

pub(super) fn outlinks(basis: &LookUps<'_>, question: &Outlinks) -> Result<LinksBody, AskError> {
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
        looked_at: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_domain_may_have_a_star_before_it_and_nothing_after() {
        let plain = source_ranges("example.org").unwrap();
        for same in [
            "*.example.org",
            " http://example.org/",
            "https://example.org",
            "*.example.org/",
        ] {
            assert_eq!(source_ranges(same).unwrap(), plain, "{same}");
        }
        assert!(source_ranges("[2001:db8::1]").is_ok());
        for bad in [
            "example.org/a",
            "*.example.org/*",
            "example.org:8080",
            "*.*.org",
            "*",
            "",
        ] {
            let error = source_ranges(bad).unwrap_err().message;
            assert!(
                error.contains("is not a domain such as example.org"),
                "{bad}: {error}"
            );
        }
    }
}
