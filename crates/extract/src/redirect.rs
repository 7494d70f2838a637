//! The target of a capture with status 3xx.
//!
//! A `Location` may have any length, up to that of its record. One that is too long for an index is
//! kept here; the index counts it.

use crate::resolve::Resolver;
use crate::{Link, LinkKind, LinkScope, Shortfall};

/// The meaning of a `Location`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Redirect {
    /// The link, if it is within the scope.
    pub(crate) link: Option<Link>,
    /// Whether it leads to the capture's own URL key.
    pub(crate) to_itself: bool,
    /// Whether it leads to an http or https address of another key, within the scope or not.
    pub(crate) leads_elsewhere: bool,
}

/// Resolves the `Location` of a capture with `status`. The result is empty unless the status is
/// 3xx.
pub(crate) fn of(
    status: u16,
    location: Option<&str>,
    url: &str,
    url_key: &str,
    scope: LinkScope,
) -> Redirect {
    let is_redirect = matches!(status, 300..=399);
    let Some(location) = location.filter(|_| is_redirect) else {
        return Redirect::default();
    };
    target(location, url, url_key, scope).unwrap_or_default()
}

/// Returns `None` if the location is no http or https URL.
fn target(location: &str, url: &str, url_key: &str, scope: LinkScope) -> Option<Redirect> {
    let target = Resolver::new(url, None)?.resolve(location)?;
    let target_key = urlkey::url_key(&target).ok()?;
    // Decided before the scope: whether a capture can be current must not depend on which links are
    // kept.
    if target_key == url_key {
        return Some(Redirect {
            link: None,
            to_itself: true,
            leads_elsewhere: false,
        });
    }
    if scope == LinkScope::External && urlkey::same_domain(&target_key, url_key) {
        return Some(Redirect {
            leads_elsewhere: true,
            ..Redirect::default()
        });
    }
    let link = Link {
        url_key: target_key,
        url: target,
        anchor: String::new(),
        nofollow: false,
        kind: LinkKind::Location,
    };
    Some(Redirect {
        link: Some(link),
        to_itself: false,
        leads_elsewhere: true,
    })
}

impl Redirect {
    /// Returns what a capture with this status lacks if this is its redirect.
    pub(crate) fn shortfall(&self, status: u16) -> Shortfall {
        match status {
            300..=399 if !self.to_itself && !self.leads_elsewhere => Shortfall::NoTarget,
            _ => Shortfall::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, location: &str, scope: LinkScope, target: Option<&str>, to_itself: bool) {
        let url_key = urlkey::url_key(url).unwrap();
        let found = of(301, Some(location), url, &url_key, scope);
        assert_eq!(found.link.map(|link| link.url).as_deref(), target, "{location}");
        assert_eq!(found.to_itself, to_itself, "{location}");
        assert_eq!(of(200, Some(location), url, &url_key, scope), Redirect::default());
    }

    #[test]
    fn a_redirect_to_the_own_key_is_known_in_every_scope() {
        for scope in [LinkScope::All, LinkScope::External] {
            check("http://a.org/", "https://www.a.org/", scope, None, true);
            check("http://a.org/x", "/X#y", scope, None, true);
            check("http://a.org/x/", "http://a.org:80/x", scope, None, true);
            check("http://a.org/", "//b.org/", scope, Some("http://b.org/"), false);
            check("http://a.org/", "mailto:a@a.org", scope, None, false);
            let leads = |location| of(301, location, "http://a.org/", "org,a)/", scope).leads_elsewhere;
            assert!(leads(Some("/y")) && leads(Some("//b.org/")));
            assert!(!leads(Some("https://www.a.org/")) && !leads(Some("mailto:a@a.org")) && !leads(None));
        }
        check(
            "http://a.org/",
            "/y",
            LinkScope::All,
            Some("http://a.org/y"),
            false,
        );
        check("http://a.org/", "/y", LinkScope::External, None, false);
    }

    #[test]
    fn a_long_location_is_kept() {
        let location = format!("http://b.org/{}", "x".repeat(200_000));
        check("http://a.org/", &location, LinkScope::All, Some(&location), false);
        let own = format!("http://a.org/{}", "x".repeat(200_000));
        let upgraded = own.replace("http:", "https:");
        check(&own, &upgraded, LinkScope::All, None, true);
    }
}
