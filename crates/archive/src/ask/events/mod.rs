//! Finds which pages match a query in each month of a period.
//!
//! Each month is searched twice: once for its matches, and once for those of them that are older.
//! The number of months is bounded, and so is the number of pages whose in-links are counted.

mod period;

use rustc_hash::FxHashSet;
use search::{Hit, NoteKind, Query, Results};

use self::period::{Part, Period};
use super::basis::Basis;
use super::search::found_without_texts;
use super::trends::trends;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;
use crate::question::{EventPage, EventRow, Events, EventsBody, TrendRow, Trends};

/// Number of the best matches of a month among which the first pages are chosen.
const BEST: usize = 100;

/// Number of the best matches of a month whose in-links are counted.
const COUNTED: usize = 20;

/// Maximum number of pages in a list.
const LISTED: usize = 5;

pub(super) fn events(basis: &Basis<'_>, question: &Events) -> Result<EventsBody, AskError> {
    let (text, period) = Period::of(question)?;
    // The years of all matches are the bounds of a period that is open.
    let mut all = trends(basis, &Trends { queries: vec![text] })?;
    let trend = all.rows.pop().unwrap_or_default();
    let mut body = EventsBody {
        query: question.query.clone(),
        search_epoch: all.search_epoch,
        notes: trend.notes.clone(),
        understood: trend.understood.clone(),
        ..EventsBody::default()
    };
    let Some((first, last)) = years(&trend) else {
        return Ok(body);
    };
    let parts = period.parts(first, last)?;
    body.by_year = parts.first().is_some_and(Part::is_year);
    let visible = basis.visible();
    let mut search = PartSearch {
        basis,
        visible: &visible,
        query: &trend.understood,
        has_past: basis.filter.depends_on_keys_only(),
        listed: FxHashSet::default(),
        epoch: all.search_epoch,
    };
    for part in &parts {
        body.rows.push(search.row(part)?);
    }
    body.search_epoch = search.epoch;
    Ok(body)
}

/// Returns the first and the last year with matches.
fn years(trend: &TrendRow) -> Option<(u64, u64)> {
    let with_matches = || trend.years.iter().filter(|year| year.count > 0 && year.year > 0);
    let first = with_matches().map(|year| year.year).min()?;
    Some((first, with_matches().map(|year| year.year).max()?))
}

/// Searches the parts of a period, in chronological order.
struct PartSearch<'a> {
    basis: &'a Basis<'a>,
    visible: &'a VisibleSnapshot<'a>,
    /// Without a period.
    query: &'a str,
    /// Whether past versions are searched.
    has_past: bool,
    /// Keys of the pages that were among the best matches of an earlier part.
    listed: FxHashSet<String>,
    /// The lowest epoch of the answers.
    epoch: u64,
}

impl PartSearch<'_> {
    fn row(&mut self, part: &Part) -> Result<EventRow, AskError> {
        let matches = self.found(part.filter(), BEST)?;
        let new_versions = if self.has_past {
            let older = self.found(part.filter_older(), 0)?;
            Some(matches.total.saturating_sub(older.total))
        } else {
            None
        };
        let linked = self.linked(&matches.hits, part)?;
        let first = self.first(matches.hits, part)?;
        Ok(EventRow {
            period: part.name().to_owned(),
            versions: matches.total,
            new_versions,
            first,
            linked,
        })
    }

    /// Searches with a filter of time.
    fn found(&mut self, filter: &str, limit: usize) -> Result<Results, AskError> {
        let query = Query {
            // The filter comes first: of a query with too many parts, the last are left out.
            text: format!("{filter} {}", self.query),
            limit,
            ..Query::default()
        };
        let results = found_without_texts(self.basis, self.visible, &query)?;
        self.epoch = self.epoch.min(results.epoch);
        // As in trends, pages with too few of the words do not count.
        if results
            .notes
            .iter()
            .any(|note| note.kind == NoteKind::FewOfTheWords)
        {
            return Ok(Results {
                epoch: results.epoch,
                ..Results::default()
            });
        }
        Ok(results)
    }

    /// Returns the first pages of a part, without those that matched in an earlier part.
    fn first(&mut self, hits: Vec<Hit>, part: &Part) -> Result<Vec<EventPage>, AskError> {
        let mut pages = hits
            .iter()
            .map(|hit| self.page(hit))
            .collect::<Result<Vec<_>, _>>()?;
        pages.sort_by(|a, b| (&a.since, &a.url_key).cmp(&(&b.since, &b.url_key)));
        // A page that changed within the part is listed with its first version.
        pages.retain(|page| self.listed.insert(page.url_key.clone()));
        pages.retain(|page| part.contains(&page.since));
        pages.truncate(LISTED);
        Ok(pages)
    }

    /// Returns the pages with the most in-links at the end of a part.
    fn linked(&self, hits: &[Hit], part: &Part) -> Result<Vec<EventPage>, AskError> {
        let mut pages: Vec<EventPage> = Vec::new();
        for hit in hits.iter().take(COUNTED) {
            if pages.iter().any(|page| page.url_key == hit.url_key) {
                continue;
            }
            let inlinks = self.visible.external_inlinks_at(&hit.url_key, part.last())?;
            if let Some(inlinks) = inlinks.filter(|inlinks| *inlinks > 0) {
                pages.push(EventPage {
                    inlinks_external: Some(inlinks),
                    ..self.page(hit)?
                });
            }
        }
        // The sort is stable: of pages with equally many links, the better match comes first.
        pages.sort_by_key(|page| std::cmp::Reverse(page.inlinks_external));
        pages.truncate(LISTED);
        Ok(pages)
    }

    fn page(&self, hit: &Hit) -> Result<EventPage, AskError> {
        let version = self.visible.version_shown(&hit.url_key, hit.version)?;
        Ok(EventPage {
            url_key: hit.url_key.clone(),
            url: hit.url.clone(),
            title: hit.title.clone(),
            since: format::date::iso(version.since_ms),
            until: version.ended_ms().map(format::date::iso),
            inlinks_external: None,
        })
    }
}
