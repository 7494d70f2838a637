//! Answers about one domain, and rankings of URIs.

use std::collections::HashMap;

use super::basis::LookUps;
use super::limit::{clamp, page_of};
use super::visible_snapshot::VisibleSnapshot;
use super::{cursor, key};
use crate::AskError;
use crate::question::{Domain, DomainBody, LinkingDomain, Top, TopBody, TopRow};

/// Number of URIs shown with a domain.
const TOP_OF_DOMAIN: usize = 20;

/// Limit of in-links read for each of these URIs to find linking domains.
const INLINKS_OF_EACH: usize = 500;

/// Limit of linking domains in an answer.
const LINKING_MAX: usize = 50;

/// A place in a ranking: rank, external in-links, in-links, key.
type Position = (u64, u64, u64, String);

pub(super) fn domain(basis: &LookUps<'_>, question: &Domain) -> Result<DomainBody, AskError> {
    let visible = &basis.visible();
    let name = registered(&question.name)?;
    let row = visible.domain(&name)?;
    let row = row.ok_or_else(|| AskError::not_found(format!("no URI of domain {name}")))?;
    let ranked = visible.top(Some(&name), None, TOP_OF_DOMAIN)?;
    let (linking_domains, links_read) = linking_domains(visible, &name, &ranked)?;
    let top = top_rows(visible, ranked, 0)?;
    Ok(DomainBody {
        linking_domains_complete: links_read == row.inlinks_external && linking_domains.len() <= LINKING_MAX,
        linking_domains: linking_domains.into_iter().take(LINKING_MAX).collect(),
        domain: row.domain,
        uris: row.uris,
        pages: row.pages,
        inlinks_external: row.inlinks_external,
        top,
    })
}

/// Returns the registered domain of a domain, a host or a URL.
fn registered(name: &str) -> Result<String, AskError> {
    let url_key = key::url_key(name)?;
    let domain = urlkey::domain_of_key(&url_key).to_string();
    if domain.is_empty() {
        Err(AskError::bad_request(format!("{name:?} contains no domain")))
    } else {
        Ok(domain)
    }
}

/// Returns the domains by their number of links to the given URIs, and the number of links read.
fn linking_domains(
    visible: &VisibleSnapshot<'_>,
    name: &str,
    ranked: &[index::TopRow],
) -> Result<(Vec<LinkingDomain>, u64), AskError> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for row in ranked {
        // The links themselves are not read: the keys of their pages are enough.
        for source in visible.sources(&row.url_key, INLINKS_OF_EACH)? {
            let domain = urlkey::domain_of_key(&source).to_string();
            if domain != name {
                *counts.entry(domain).or_default() += 1;
            }
        }
    }
    let links_read = counts.values().sum();
    let mut domains: Vec<LinkingDomain> = counts
        .into_iter()
        .map(|(domain, links)| LinkingDomain { domain, links })
        .collect();
    domains.sort_by(|a, b| b.links.cmp(&a.links).then_with(|| a.domain.cmp(&b.domain)));
    Ok((domains, links_read))
}

pub(super) fn top(basis: &LookUps<'_>, question: &Top) -> Result<TopBody, AskError> {
    let visible = &basis.visible();
    let after: Option<Position> = cursor::decode(question.after.as_deref())?;
    let limit = clamp(question.limit);
    let domain = question.domain.as_deref().map(registered).transpose()?;
    let rank = after.as_ref().map_or(0, |(rank, ..)| *rank);
    let after = after.map(|(_, inlinks_external, inlinks, url_key)| index::TopRow {
        url_key,
        inlinks,
        inlinks_external,
    });
    // One row more than the limit shows whether the list continues.
    let mut ranked = visible.top(domain.as_deref(), after.as_ref(), limit + 1)?;
    let last = rank + limit as u64;
    let next = page_of(&mut ranked, limit, |row| {
        cursor::encode(&(last, row.inlinks_external, row.inlinks, &row.url_key))
    });
    if ranked.is_empty()
        && rank == 0
        && let Some(domain) = &domain
        && visible.domain(domain)?.is_none()
    {
        return Err(AskError::not_found(format!("no URI of domain {domain}")));
    }
    Ok(TopBody {
        rows: top_rows(visible, ranked, rank)?,
        next,
    })
}

fn top_rows(
    visible: &VisibleSnapshot<'_>,
    ranked: Vec<index::TopRow>,
    rank: u64,
) -> Result<Vec<TopRow>, AskError> {
    let rows = ranked
        .into_iter()
        .zip(rank + 1..)
        .map(|(row, rank)| top_row(visible, row, rank));
    rows.collect()
}

fn top_row(visible: &VisibleSnapshot<'_>, row: index::TopRow, rank: u64) -> Result<TopRow, AskError> {
    let captured = visible.uri(&row.url_key)?.is_some_and(|uri| uri.captured);
    let version = visible.version(&row.url_key)?;
    let (mut url, title) = version
        .map(|version| (version.url, version.title))
        .unwrap_or_default();
    if url.is_empty() {
        let link = visible.inlinks(&row.url_key, None, 1)?.pop();
        url = link.map(|link| link.target_url).unwrap_or_default();
    }
    if url.is_empty() {
        let capture = visible.captures_newest(&row.url_key, 1)?.pop();
        url = capture.map(|capture| capture.url).unwrap_or_default();
    }
    Ok(TopRow {
        rank,
        url_key: row.url_key,
        url,
        title,
        captured,
        inlinks: row.inlinks,
        inlinks_external: row.inlinks_external,
    })
}
