//! Ranks the best matches of a query with `at:` by the in-links that they had at that time.
//!
//! Scores are computed with the in-links of today, which are in memory. In-links of another time
//! have to be read for each match, so only the first [`COUNTED`] matches get them. Later matches
//! keep the in-links of today.

use std::cmp::Reverse;

use tantivy::Searcher;

use crate::answer::results::InlinksAt;
use crate::collect::{self, RankedDoc};
use crate::documents::schema;
use crate::error::SearchError;
use crate::query::{Leaf, ParsedQuery};
use crate::scoring::rank;

/// Number of matches whose in-links are counted. Counting reads up to 16 linking pages of each.
const COUNTED: usize = 100;

/// Returns the last 14-digit date of the time that a query names with `at:`; the earliest one if it
/// names several.
pub(crate) fn time(parsed: &ParsedQuery) -> Option<u64> {
    let demanded = parsed.clauses.iter().filter(|clause| !clause.negated);
    let times = demanded.filter_map(|clause| match clause.any.as_slice() {
        [Leaf::At { last, .. }] => Some(*last),
        _ => None,
    });
    times.min()
}

/// Replaces the prior of the first matches by that of their in-links at a time, and sorts all
/// matches by score. Matches with equal scores keep their order. A match whose in-links are not
/// known keeps its prior.
pub(crate) fn rerank(
    searcher: &Searcher,
    found: &mut [RankedDoc],
    last: u64,
    inlinks_at: &InlinksAt<'_>,
) -> Result<(), SearchError> {
    for found in found.iter_mut().take(COUNTED) {
        let Some(identity) = collect::key_of(searcher, found.address)? else {
            continue;
        };
        let of_past = schema::key_of_past(identity.as_bytes());
        let url_key = of_past.and_then(|key| std::str::from_utf8(key).ok());
        let Some(bucket) = inlinks_at(url_key.unwrap_or(&identity), last) else {
            continue;
        };
        let without = found.score.saturating_sub(rank::prior(found.bucket));
        found.score = without.saturating_add(rank::prior(bucket));
        found.bucket = bucket;
    }
    found.sort_by_key(|found| Reverse(found.score));
    Ok(())
}

#[cfg(test)]
mod tests {
    use access::AccessFilter;

    use super::*;
    use crate::answer::test_query::{explained, keys};
    use crate::{Change, Document, Results, SearchIndex, Settings, Version};

    #[test]
    fn only_at_names_the_time() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(time(&crate::query::parse(text)), expected, "{text}");
        };
        check("flood at:2012", Some(20_129_999_999_999));
        check("flood at:2012 at:2011-05", Some(20_110_599_999_999));
        check("flood -at:2012", None);
        check("at:2012 OR flood", None);
        check("flood from:2010 to:2012", None);
    }

    /// Makes an index of three pages with one text. Page `a` has the most in-links now; `c` has a
    /// past version.
    fn index(dir: &std::path::Path) -> SearchIndex {
        let settings = Settings {
            writer_memory_bytes: 15_000_000,
            ..Settings::default()
        };
        let index = SearchIndex::open(dir, settings).unwrap();
        let page = |name: &str, inlink_bucket: u8| Document {
            url_key: name.to_owned(),
            text: "flood".to_owned(),
            inlink_bucket,
            ..Document::default()
        };
        let past = Document {
            version: Version {
                until_ms: Some(1_500_000_000_000),
                ..Version::default()
            },
            ..page("c", 0)
        };
        let changed = Document {
            text: "storm".to_owned(),
            version: Version {
                since_ms: 1_500_000_000_000,
                ..Version::default()
            },
            ..page("c", 0)
        };
        let upsert = |page: Document| Change::Upsert(Box::new(page));
        let changes = [
            upsert(page("a", 6)),
            upsert(page("b", 0)),
            Change::Past {
                url_key: "c".to_owned(),
                current: Box::new(upsert(changed)),
                past_to_delete: crate::PastToDelete::All,
                put: vec![past],
            },
        ];
        index.apply(1, changes).unwrap();
        index.flush().unwrap();
        index
    }

    fn search(index: &SearchIndex, text: &str, limit: usize, after: Option<String>) -> Results {
        let query = explained(text, limit, after);
        let everything = AccessFilter::everything();
        let inlinks_at = |url_key: &str, last: u64| {
            assert_eq!(last, 20_129_999_999_999);
            (url_key != "b").then_some(if url_key == "c" { 20 } else { 0 })
        };
        index
            .search_as_of(&query, &everything, &|_| None, &inlinks_at)
            .unwrap()
    }

    #[test]
    fn in_links_of_the_time_decide_only_with_at() {
        let dir = tempfile::tempdir().unwrap();
        let index = index(dir.path());
        assert_eq!(keys(&search(&index, "flood", 10, None)), ["a", "b"]);

        let results = search(&index, "flood at:2012", 10, None);
        assert_eq!(keys(&results), ["c", "a", "b"]);
        let buckets = [20, 0, 0];
        for (hit, bucket) in results.hits.iter().zip(buckets) {
            let parts = hit.explanation.as_ref().unwrap();
            assert_eq!(parts["prior"]["inlink_bucket"], bucket, "{}", hit.url_key);
            assert_eq!(parts["final"].as_f64(), Some(hit.score), "{}", hit.url_key);
        }

        let first = search(&index, "flood at:2012", 2, None);
        let second = search(&index, "flood at:2012", 2, first.next.clone());
        assert_eq!((keys(&first), keys(&second)), (vec!["c", "a"], vec!["b"]));
        assert_eq!((first.total, second.next), (3, None));
    }
}
