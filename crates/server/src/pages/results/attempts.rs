//! Other searches to try when there is no result.

use maud::{Markup, html};

use super::super::parts;
use super::{List, SearchRequest};

/// Maximum number of words that are searched for one by one.
const WORDS_MAX: usize = 8;

/// Shows links to wider searches on the first page of results.
pub(super) fn list(asked: &SearchRequest) -> Markup {
    let attempts = match asked.after {
        Some(_) => Vec::new(),
        None => attempts(asked),
    };
    html! {
        @if !attempts.is_empty() {
            ul.problems {
                @for attempt in attempts {
                    li { a href=(attempt.first_of(attempt.list)) rel="nofollow" { (words(asked, &attempt)) } ": " code { (parts::text(&attempt.query)) } }
                }
            }
        }
    }
}

fn words(asked: &SearchRequest, attempt: &SearchRequest) -> &'static str {
    if attempt.list != asked.list {
        "Search past versions too"
    } else if asked.query.contains('"') {
        "Search without the phrase"
    } else if attempt.query.contains(" OR ") {
        "Search for any of the words"
    } else {
        "Search without filters"
    }
}

/// Returns wider searches: of all versions, without phrases, without filters, for any of the words.
fn attempts(asked: &SearchRequest) -> Vec<SearchRequest> {
    let queries = [without_phrases, without_filters, any_word]
        .into_iter()
        .find_map(|widen| widen(&asked.query));
    let all_versions = List {
        all_versions: true,
        ..asked.list
    };
    let versions = (!asked.list.all_versions).then(|| with(asked, &asked.query, all_versions));
    let queries = queries.map(|query| with(asked, &query, asked.list));
    queries.into_iter().chain(versions).collect()
}

fn with(asked: &SearchRequest, query: &str, list: List) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        after: None,
        explain: false,
        list,
        prefer: asked.prefer.clone(),
        before: 0,
        show: asked.show,
    }
}

fn without_phrases(query: &str) -> Option<String> {
    query
        .contains('"')
        .then(|| query.replace('"', " "))
        .and_then(joined)
}

fn without_filters(query: &str) -> Option<String> {
    let is_filter = |word: &&str| word.contains(':') || word.starts_with('-');
    let has_filter = query.split_whitespace().any(|word| is_filter(&word));
    let rest: Vec<&str> = query.split_whitespace().filter(|word| !is_filter(word)).collect();
    has_filter.then(|| rest.join(" ")).and_then(joined)
}

fn any_word(query: &str) -> Option<String> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let is_plain = words
        .iter()
        .all(|word| *word != "OR" && !word.contains(['(', ')']));
    let is_some = (2..=WORDS_MAX).contains(&words.len());
    (is_some && is_plain).then(|| words.join(" OR "))
}

/// Returns the words with single spaces between them, or `None` without words.
fn joined(text: String) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_way_to_widen_a_query_is_offered() {
        let widened = |query: &str| {
            [without_phrases, without_filters, any_word]
                .into_iter()
                .find_map(|widen| widen(query))
        };
        for (query, expected) in [
            ("\"web archive\" museum", Some("web archive museum")),
            ("web site:example.org -museum", Some("web")),
            ("web archive", Some("web OR archive")),
            ("web OR archive", None),
            ("web", None),
            ("site:example.org", None),
            ("\"", None),
        ] {
            assert_eq!(widened(query).as_deref(), expected, "{query}");
        }
    }
}
