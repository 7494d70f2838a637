//! Reorders the best matches by a profile.

use tantivy::Searcher;

use super::{Gains, Profile};
use crate::collect::{RankedDoc, SearchAfter, key_of};
use crate::scoring::rank::Units;

/// A page of the reordered matches.
pub(crate) struct RerankedDocs {
    pub(crate) best: Vec<RankedDoc>,
    /// Whether more of them follow.
    pub(crate) more: bool,
}

/// Reorders `found`, which is sorted by score, by a profile. Returns at most `limit` matches after
/// `after`. Equal scores stay in their order.
pub(crate) fn rerank(
    searcher: &Searcher,
    profile: &Profile,
    found: Vec<RankedDoc>,
    after: Option<&SearchAfter>,
    limit: usize,
) -> tantivy::Result<RerankedDocs> {
    let mut gains: Vec<Option<Gains>> = Vec::new();
    gains.resize_with(searcher.segment_readers().len(), || None);
    let mut ranked = Vec::with_capacity(found.len());
    for mut found in found {
        let segment = found.address.segment_ord;
        let slot = &mut gains[segment as usize];
        if slot.is_none() {
            *slot = Some(Gains::open(profile, searcher.segment_reader(segment))?);
        }
        let percents = slot.iter().flat_map(|gains| gains.percents(found.address.doc_id));
        found.gain = gain(found.score, percents.sum());
        found.score = found.score.saturating_add(found.gain);
        ranked.push(found);
    }
    // The sort is stable, so matches with equal scores keep their order.
    ranked.sort_by_key(|found| std::cmp::Reverse(found.score));
    let from = match after {
        Some(after) => index_after(searcher, &ranked, after)?,
        None => 0,
    };
    let more = ranked.len() > from.saturating_add(limit);
    ranked.truncate(from.saturating_add(limit));
    Ok(RerankedDocs {
        best: ranked.split_off(from.min(ranked.len())),
        more,
    })
}

/// Returns `percent` per cent of a score.
fn gain(score: Units, percent: u32) -> Units {
    let gain = u64::from(score) * u64::from(percent) / 100;
    Units::try_from(gain).unwrap_or(Units::MAX)
}

/// Returns the index of the first match after `after`. If that match no longer exists, returns the
/// index after all matches with the same score or a higher one.
fn index_after(searcher: &Searcher, ranked: &[RankedDoc], after: &SearchAfter) -> tantivy::Result<usize> {
    let from = ranked.partition_point(|found| found.score > after.score);
    let to = ranked.partition_point(|found| found.score >= after.score);
    for (place, found) in ranked.iter().enumerate().take(to).skip(from) {
        if key_of(searcher, found.address)?.as_deref() == Some(&*after.key) {
            return Ok(place + 1);
        }
    }
    Ok(to)
}
