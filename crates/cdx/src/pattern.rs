//! Determines the URLs of a look-up from a match type or a star. `example.com/*` means all URLs
//! with this prefix, `*.example.com` a whole domain.

use urlkey::MatchType;

/// Why a pattern selects no URLs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum PatternError {
    #[error(
        "{pattern:?}: a domain with subdomains takes no path and no port, found {rest:?}; \
         write \"*.{domain}\" for the domain, or \"{domain}{rest}*\" for the URLs of one host"
    )]
    DomainWithRest {
        pattern: String,
        domain: String,
        rest: String,
    },
    #[error(
        "{0:?}: a star is understood as `*.` at the beginning and at the end only, \
         as in \"*.example.org\" and \"example.org/a*\""
    )]
    StarInHost(String),
    #[error(
        "{0:?} has no host; write a domain, as in \"*.example.org\", or a prefix, as in \"example.org/*\""
    )]
    NoHost(String),
}

/// Returns the URL without its star, and the match type, as [`url_and_match`]. Refuses patterns of
/// which that function ignores a part.
///
/// # Errors
/// [`PatternError`] if a domain has a path or a port, or if another star is in the host.
pub fn url_pattern(text: &str, named: Option<MatchType>) -> Result<(&str, MatchType), PatternError> {
    if named.is_none() {
        check_stars(text.trim())?;
    }
    Ok(url_and_match(text, named))
}

fn check_stars(text: &str) -> Result<(), PatternError> {
    if let Some(pattern) = text.strip_prefix("*.") {
        let (domain, rest) = pattern.split_at(end_of_host(pattern));
        let rest = rest.trim_end_matches(['*', '/']);
        return match (rest, domain.contains('*')) {
            ("", false) => Ok(()),
            ("", true) => Err(PatternError::StarInHost(text.to_owned())),
            _ => Err(PatternError::DomainWithRest {
                pattern: text.to_owned(),
                domain: domain.to_owned(),
                rest: rest.to_owned(),
            }),
        };
    }
    match text.strip_suffix('*').map(host_of) {
        Some("") => Err(PatternError::NoHost(text.to_owned())),
        Some(host) if host.contains('*') => Err(PatternError::StarInHost(text.to_owned())),
        _ => Ok(()),
    }
}

/// Returns the host of a URL with or without a scheme, with what precedes it.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    &rest[..end_of_host(rest)]
}

fn end_of_host(text: &str) -> usize {
    text.find(['/', ':', '?', '#']).unwrap_or(text.len())
}

/// Returns the URL without its star, and the match type. A match type given by name takes
/// precedence over the star.
///
/// As in pywb, `*.` is checked first, and a path or port after the domain is ignored. Only the
/// interfaces of other servers use this function directly.
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
    fn patterns_of_which_a_part_would_be_ignored_are_refused() {
        let good = [
            ("*.a.org", ("a.org", MatchType::Domain)),
            ("*.a.org/*", ("a.org", MatchType::Domain)),
            ("a.org/*/b*", ("a.org/*/b", MatchType::Prefix)),
            ("a.org:8080/*", ("a.org:8080/", MatchType::Prefix)),
            ("a.org*", ("a.org", MatchType::Prefix)),
            ("http://*.a.org/", ("http://*.a.org/", MatchType::Exact)),
            ("org,a)/x*", ("org,a)/x", MatchType::Prefix)),
        ];
        for (text, expected) in good {
            assert_eq!(url_pattern(text, None), Ok(expected), "{text}");
        }
        let bad = [
            ("*.a.org/x", "write \"*.a.org\""),
            ("*.a.org/x/*", "\"a.org/x*\" for the URLs"),
            (" *.b\u{fc}cher.de:8080", "found \":8080\""),
            ("*.a.org?q=1", "found \"?q=1\""),
            ("*.a.*", "a star is understood"),
            ("*.*.org/", "a star is understood"),
            ("http://*.a.org/*", "a star is understood"),
            ("*", "has no host"),
            ("http://*", "has no host"),
        ];
        for (text, part) in bad {
            let error = url_pattern(text, None).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(url_pattern(text, Some(MatchType::Exact)).is_ok(), "{text}");
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
