//! Queries of tests, and what they find.

use crate::{Query, Results};

/// Returns a query whose results explain their scores.
pub(super) fn explained(text: &str, limit: usize, after: Option<String>) -> Query {
    Query {
        text: text.to_owned(),
        limit,
        after,
        explain: true,
        ..Query::default()
    }
}

/// Returns the keys of the results, in their order.
pub(super) fn keys(results: &Results) -> Vec<&str> {
    results.hits.iter().map(|hit| hit.url_key.as_str()).collect()
}
