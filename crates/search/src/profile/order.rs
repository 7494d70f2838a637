//! The best matches in the order of a profile.

use tantivy::Searcher;

use super::{Gains, Profile};
use crate::collect::{After, Found, key_of};
use crate::rank::Units;

/// A page of the best matches.
pub(crate) struct Reordered {
    pub(crate) best: Vec<Found>,
    /// Whether more of them come behind.
    pub(crate) more: bool,
}

/// The best matches, given in order of their scores: those behind `after` in the order of a profile, at most `limit`. Of equal
/// ones the first given comes first.
pub(crate) fn reorder(
    searcher: &Searcher,
    profile: &Profile,
    found: Vec<Found>,
    after: Option<&After>,
    limit: usize,
) -> tantivy::Result<Reordered> {
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
    // Stable: equal ones stay as they were.
    ranked.sort_by_key(|found| std::cmp::Reverse(found.score));
    let from = match after {
        Some(after) => place_behind(searcher, &ranked, after)?,
        None => 0,
    };
    let more = ranked.len() > from.saturating_add(limit);
    ranked.truncate(from.saturating_add(limit));
    Ok(Reordered {
        best: ranked.split_off(from.min(ranked.len())),
        more,
    })
}

/// What so many per cent of a score are.
fn gain(score: Units, percent: u32) -> Units {
    let gain = u64::from(score) * u64::from(percent) / 100;
    Units::try_from(gain).unwrap_or(Units::MAX)
}

/// Where the matches behind another begin; where that is gone meanwhile, behind what scores as it did.
fn place_behind(searcher: &Searcher, ranked: &[Found], after: &After) -> tantivy::Result<usize> {
    let from = ranked.partition_point(|found| found.score > after.score);
    let to = ranked.partition_point(|found| found.score >= after.score);
    for (place, found) in ranked.iter().enumerate().take(to).skip(from) {
        if key_of(searcher, found.address)?.as_deref() == Some(&*after.key) {
            return Ok(place + 1);
        }
    }
    Ok(to)
}
