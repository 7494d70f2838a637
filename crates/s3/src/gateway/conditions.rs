//! Conditions and ranges of a read, evaluated against a version's metadata (RFC 9110, sections 13
//! and 14).

use http::HeaderMap;
use http::header::{
    ETAG, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED, RANGE,
};
use object_store::GetRange;

use crate::preconditions::{continues, http_seconds};

/// Headers that make the response depend on the version.
const CONDITIONS: [HeaderName; 5] = [
    IF_MATCH,
    IF_NONE_MATCH,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
    IF_RANGE,
];

/// The result of a request's conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The response is the version: the requested range, or all of it if `is_whole`.
    Answer {
        /// Whether the range is ignored, because the client has part of a different version.
        is_whole: bool,
    },
    /// Status 304.
    NotModified,
    /// Status 412.
    Failed,
}

/// Reports whether a request has any condition.
pub(crate) fn has_conditions(headers: &HeaderMap) -> bool {
    CONDITIONS.iter().any(|name| headers.contains_key(name))
}

/// Evaluates the conditions in `request` for a version with the headers `version`, in the order of
/// RFC 9110, section 13.2.2.
pub(crate) fn evaluate(request: &HeaderMap, version: &HeaderMap) -> Verdict {
    let tag = version
        .get(ETAG)
        .and_then(|tag| tag.to_str().ok())
        .unwrap_or_default();
    let modified = date(version, LAST_MODIFIED);
    let as_it_was = match tags(request, IF_MATCH) {
        Some(tags) => names(&tags, tag, true),
        None => match (date(request, IF_UNMODIFIED_SINCE), modified) {
            (Some(since), Some(modified)) => modified <= since,
            _ => true,
        },
    };
    if !as_it_was {
        return Verdict::Failed;
    }
    let changed = match tags(request, IF_NONE_MATCH) {
        Some(tags) => !names(&tags, tag, false),
        None => match (date(request, IF_MODIFIED_SINCE), modified) {
            (Some(since), Some(modified)) => modified > since,
            _ => true,
        },
    };
    if changed {
        Verdict::Answer {
            is_whole: !continues(request, tag, modified),
        }
    } else {
        Verdict::NotModified
    }
}

/// Returns the entity tags of a header, joined to one list.
fn tags(request: &HeaderMap, name: HeaderName) -> Option<String> {
    let values: Vec<_> = request
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// Reports whether a list contains a tag. S3 clients may omit the quotes.
fn names(list: &str, tag: &str, strongly: bool) -> bool {
    if list.trim() == "*" {
        return true;
    }
    let opaque = |tag: &str| {
        let tag = tag.trim();
        tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"').to_owned()
    };
    let is_weak = |tag: &str| tag.trim().starts_with("W/");
    !(strongly && is_weak(tag))
        && list
            .split(',')
            .any(|listed| opaque(listed) == opaque(tag) && !(strongly && is_weak(listed)))
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<i64> {
    http_seconds(headers.get(name)?.to_str().ok()?)
}

/// The requested part of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// The whole object.
    All,
    /// One range.
    Range(GetRange),
    /// Several ranges, or a range that cannot be parsed: the upstream answers these.
    Other,
}

/// Returns the range that a request asks for.
pub(crate) fn requested_range(headers: &HeaderMap) -> RequestedRange {
    let mut values = headers.get_all(RANGE).iter();
    let Some(value) = values.next() else {
        return RequestedRange::All;
    };
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    match text.and_then(range) {
        Some(range) => RequestedRange::Range(range),
        None => RequestedRange::Other,
    }
}

fn range(text: &str) -> Option<GetRange> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |digits: &str| {
        let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| digits.parse::<u64>().ok()).flatten()
    };
    match (first, last) {
        ("", last) => Some(GetRange::Suffix(number(last)?)),
        (first, "") => Some(GetRange::Offset(number(first)?)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| GetRange::Bounded(first..last.saturating_add(1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    fn check(request: &[(HeaderName, &str)], expected: Verdict) {
        let version = headers(&[(ETAG, "\"abc\""), (LAST_MODIFIED, THEN)]);
        assert_eq!(evaluate(&headers(request), &version), expected, "{request:?}");
    }

    #[test]
    fn conditions_are_weighed_in_order() {
        let answer = Verdict::Answer { is_whole: false };
        check(&[], answer);
        for matching in ["\"abc\"", "abc", "*", "\"x\", \"abc\""] {
            check(&[(IF_MATCH, matching)], answer);
            check(&[(IF_NONE_MATCH, matching)], Verdict::NotModified);
        }
        check(&[(IF_MATCH, "\"x\"")], Verdict::Failed);
        check(&[(IF_MATCH, "W/\"abc\"")], Verdict::Failed);
        check(&[(IF_NONE_MATCH, "W/\"abc\"")], Verdict::NotModified);
        check(&[(IF_NONE_MATCH, "\"x\"")], answer);
        check(&[(IF_UNMODIFIED_SINCE, THEN)], answer);
        check(&[(IF_UNMODIFIED_SINCE, OLD)], Verdict::Failed);
        check(&[(IF_MODIFIED_SINCE, OLD)], answer);
        check(&[(IF_MODIFIED_SINCE, THEN)], Verdict::NotModified);
        check(&[(IF_MODIFIED_SINCE, NEW)], Verdict::NotModified);
        // A tag overrides the date of its kind.
        check(&[(IF_MATCH, "\"abc\""), (IF_UNMODIFIED_SINCE, OLD)], answer);
        check(&[(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, THEN)], answer);
        check(
            &[(IF_MATCH, "\"x\""), (IF_NONE_MATCH, "\"abc\"")],
            Verdict::Failed,
        );
        // A value that is not a date is not a condition.
        check(&[(IF_UNMODIFIED_SINCE, "yesterday")], answer);
    }

    #[test]
    fn a_part_of_another_version_is_not_continued() {
        for (value, is_whole) in [
            ("\"abc\"", false),
            ("\"x\"", true),
            ("W/\"abc\"", true),
            (THEN, false),
            (OLD, true),
        ] {
            check(&[(IF_RANGE, value)], Verdict::Answer { is_whole });
        }
    }

    #[test]
    fn one_range_is_read_and_the_rest_left_to_the_upstream() {
        let read = |text: &str| requested_range(&headers(&[(RANGE, text)]));
        assert_eq!(requested_range(&HeaderMap::new()), RequestedRange::All);
        assert_eq!(read("bytes=2-5"), RequestedRange::Range(GetRange::Bounded(2..6)));
        assert_eq!(read("bytes=2-"), RequestedRange::Range(GetRange::Offset(2)));
        assert_eq!(read("bytes=-5"), RequestedRange::Range(GetRange::Suffix(5)));
        for other in [
            "bytes=0-1,3-4",
            "bytes=5-2",
            "bytes=-",
            "bytes=+1-2",
            "lines=1-2",
            "bytes=1-99999999999999999999",
        ] {
            assert_eq!(read(other), RequestedRange::Other, "{other}");
        }
    }
}
