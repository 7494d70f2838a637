//! The compiled condition of a rule, for millions of tests.

use std::collections::BTreeSet;

use crate::key_ranges::KeyRanges;

/// The properties of a capture that rules test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureAttributes<'s> {
    /// URL key of the capture.
    pub url_key: &'s str,
    /// Label of its input; empty if it has none.
    pub collection: &'s str,
    /// Media type as in the view `captures`.
    pub mime: &'s str,
    /// Digest as in the view `captures`.
    pub digest: &'s str,
    /// Time of capture, in milliseconds since 1970.
    pub fetch_time_ms: i64,
}

/// Matches captures that meet all of its conditions. Rules that differ only in their keys, or only
/// in their digests, share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    /// Required label of the input.
    pub collection: Option<String>,
    /// Required media type, or kind of media type.
    pub mime: Option<MimePattern>,
    /// Allowed digests.
    pub digests: Option<BTreeSet<String>>,
    /// First and last allowed time of capture, both inclusive.
    pub fetch_time_ms: (i64, i64),
    /// Allowed URL keys.
    pub keys: Option<KeyRanges>,
}

impl Matcher {
    /// Returns whether the URL key meets its condition.
    pub fn has_key(&self, url_key: &str) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.contains(url_key))
    }

    /// Returns whether only the URL key matters.
    pub fn depends_on_key_only(&self) -> bool {
        self.collection.is_none()
            && self.mime.is_none()
            && self.digests.is_none()
            && self.fetch_time_ms == (i64::MIN, i64::MAX)
    }

    /// Returns whether a time of capture meets its condition.
    pub fn has_time(&self, fetch_time_ms: i64) -> bool {
        let (first, last) = self.fetch_time_ms;
        first <= fetch_time_ms && fetch_time_ms <= last
    }

    /// Returns whether a collection meets its condition.
    pub fn has_collection(&self, collection: &str) -> bool {
        self.collection.as_ref().is_none_or(|wanted| wanted == collection)
    }

    /// Returns whether a media type meets its condition.
    pub fn has_mime(&self, mime: &str) -> bool {
        self.mime.as_ref().is_none_or(|pattern| pattern.matches(mime))
    }

    /// Returns whether a digest meets its condition.
    pub fn has_digest(&self, digest: &str) -> bool {
        self.digests
            .as_ref()
            .is_none_or(|digests| digests.contains(digest))
    }

    /// Returns whether the clause matches a capture.
    pub fn matches(&self, subject: &CaptureAttributes<'_>) -> bool {
        // The cheapest tests first; keys last.
        self.has_time(subject.fetch_time_ms)
            && self.has_collection(subject.collection)
            && self.has_mime(subject.mime)
            && self.has_digest(subject.digest)
            && self.has_key(subject.url_key)
    }

    /// Joins clauses into fewer ones that match the same captures. There may be thousands of rules
    /// with one URL key or digest each. Joined, they cost one binary search.
    pub(crate) fn joined(clauses: Vec<Matcher>) -> Vec<Matcher> {
        let mut joined: Vec<(Matcher, Vec<KeyRanges>)> = Vec::new();
        for mut clause in clauses {
            let keys = clause.keys.take();
            let is_alike = |(other, of_other): &&mut (Matcher, Vec<KeyRanges>)| {
                let differ_in_digests = keys.is_none() && clause.digests.is_some() && other.digests.is_some();
                other.collection == clause.collection
                    && other.mime == clause.mime
                    && other.fetch_time_ms == clause.fetch_time_ms
                    && of_other.is_empty() == keys.is_none()
                    && (differ_in_digests || keys.is_some() && other.digests == clause.digests)
            };
            match joined.iter_mut().find(is_alike) {
                Some((_, of_other)) if keys.is_some() => of_other.extend(keys),
                Some((other, _)) => other
                    .digests
                    .get_or_insert_default()
                    .extend(clause.digests.unwrap_or_default()),
                None => joined.push((clause, keys.into_iter().collect())),
            }
        }
        let whole = |(clause, keys): (Matcher, Vec<KeyRanges>)| Matcher {
            keys: (!keys.is_empty()).then(|| KeyRanges::union(keys)),
            ..clause
        };
        joined.into_iter().map(whole).collect()
    }
}

/// A media type, or all types of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MimePattern {
    /// Lower case, without the star.
    text: String,
    is_kind: bool,
}

impl MimePattern {
    /// Parses `application/pdf` or `image/*`; `None` if the text is empty.
    pub fn new(text: &str) -> Option<MimePattern> {
        let text = text.trim().to_ascii_lowercase();
        let kind = text.strip_suffix('*').map(str::to_owned);
        (!text.is_empty()).then(|| MimePattern {
            is_kind: kind.is_some(),
            text: kind.unwrap_or(text),
        })
    }

    /// Returns whether a media type (lower case, without parameters) matches.
    pub fn matches(&self, mime: &str) -> bool {
        if self.is_kind {
            mime.starts_with(&self.text)
        } else {
            mime == self.text
        }
    }
}
