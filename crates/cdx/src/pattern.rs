//! Determines the URLs of a look-up from a match type or a star. `example.com/*` means all URLs
//! with this prefix, `*.example.com` a whole domain.

use urlkey::MatchType;

/// Returns the URL without its star, and the match type. A match type given by name takes
/// precedence over the star.
///
/// As in the other servers, `*.` is checked first: in `*.example.com/*` the second star adds
/// nothing.
pub fn url_and_match(text: &str, named: Option<MatchType>) -> (&str, MatchType) {
    let text = text.trim();
    let (bare, starred) = match text.strip_prefix("*.") {
        Some(domain) => (domain.trim_end_matches(['*', '/']), MatchType::Domain),
        None => match text.strip_suffix('*') {
            Some(prefix) => (prefix, MatchType::Prefix),
            None => (text, MatchType::Exact),
        },
    };
    match named {
        // With an exact match the star is part of the URL.
        Some(MatchType::Exact) => (text, MatchType::Exact),
        Some(named) => (bare, named),
        None => (bare, starred),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, named: Option<MatchType>, expected: (&str, MatchType)) {
        assert_eq!(url_and_match(text, named), expected, "{text}");
    }

    #[test]
    fn stars_ask_for_prefix_or_domain() {
        check("http://a.org/x", None, ("http://a.org/x", MatchType::Exact));
        check("a.org/*", None, ("a.org/", MatchType::Prefix));
        check("http://a.org/x*", None, ("http://a.org/x", MatchType::Prefix));
        for domain in ["*.a.org", "*.a.org/", "*.a.org/*", " *.a.org"] {
            check(domain, None, ("a.org", MatchType::Domain));
        }
    }

    #[test]
    fn a_match_type_by_name_wins() {
        check("a.org/*", Some(MatchType::Host), ("a.org/", MatchType::Host));
        check("*.a.org", Some(MatchType::Host), ("a.org", MatchType::Host));
        check("a.org/*", Some(MatchType::Exact), ("a.org/*", MatchType::Exact));
        check("a.org", Some(MatchType::Domain), ("a.org", MatchType::Domain));
    }
}
