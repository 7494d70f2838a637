//! The origin of an archived site, and its label in a host name.
//!
//! | part of the origin | in the label |
//! |---|---|
//! | `https://` | `https--` |
//! | `.` | `-` |
//! | `-` | `--` |
//! | `:8080` | `--8080` |
//!
//! Some hosts cannot be read back from this form, or are too long: `a-.b` and `a.-b` are both
//! `a---b`. They get a digest, which the server that made it resolves.

use std::fmt;

use digests::Sha256;
use url::Url;

use crate::scope::is_web;

/// Maximum number of bytes of a label (RFC 1035, section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// Prefix of a digest. No scheme is spelled like this.
const DIGEST_PREFIX: &str = "d--";

/// Number of bytes of a digest. Nobody finds two origins with the same 160 bits of SHA-256.
const DIGEST_BYTES: usize = 20;

/// Label of the host that answers for all sites but one. It is no scheme, so no site has it.
const OTHERS: &str = "web";

/// The origin of an archived site: its scheme, host and port, such as `https://www.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Site(String);

/// Meaning of the first label of a host name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Label {
    /// This site.
    Site(Site),
    /// The site with this label, which is a digest.
    Digest(String),
    /// Resources of all sites, for documents of another one.
    Others,
}

impl Site {
    /// Returns the site of a URL, or `None` if it is not an http or https URL.
    ///
    /// ```
    /// use replay::origin::Site;
    ///
    /// let url = url::Url::parse("https://www.my-shop.example:8443/a?b").unwrap();
    /// let site = Site::of(&url).unwrap();
    /// assert_eq!(site.as_str(), "https://www.my-shop.example:8443");
    /// assert_eq!(site.label(), "https--www-my--shop-example--8443");
    /// ```
    pub fn of(url: &Url) -> Option<Site> {
        is_web(url).then(|| Site(url.origin().ascii_serialization()))
    }

    /// Returns it as browsers write an origin.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its label.
    pub fn label(&self) -> String {
        self.spelled().unwrap_or_else(|| self.digest())
    }

    /// Returns the label from which the site can be read, if there is one.
    pub fn spelled(&self) -> Option<String> {
        let (scheme, authority) = self.0.split_once("://")?;
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        let is_ambiguous = host.starts_with('.')
            || host.ends_with('.')
            || ["..", "-.", ".-"].iter().any(|pair| host.contains(pair));
        if is_ambiguous || !host.bytes().all(is_plain) {
            return None;
        }
        let mut label = format!("{scheme}--{}", host.replace('-', "--").replace('.', "-"));
        if let Some(port) = port {
            label.push_str("--");
            label.push_str(port);
        }
        // A host without a port may end like one.
        let is_read_back = origin_of(&label).as_deref() == Some(self.as_str());
        (label.len() <= LABEL_BYTES_MAX && is_read_back).then_some(label)
    }

    fn digest(&self) -> String {
        let mut label = DIGEST_PREFIX.to_owned();
        for byte in &Sha256::of(self.0.as_bytes())[..DIGEST_BYTES] {
            label.push_str(&format!("{byte:02x}"));
        }
        label
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Label {
    /// Parses the first label of a host name, in lower case.
    pub fn parse(label: &str) -> Option<Label> {
        if label == OTHERS {
            return Some(Label::Others);
        }
        if let Some(digits) = label.strip_prefix(DIGEST_PREFIX) {
            let is_digest = digits.len() == 2 * DIGEST_BYTES
                && digits
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
            return is_digest.then(|| Label::Digest(label.to_owned()));
        }
        let url = Url::parse(&origin_of(label)?).ok()?;
        let site = Site::of(&url)?;
        // A site has one label only.
        (site.spelled().as_deref() == Some(label)).then_some(Label::Site(site))
    }

    /// Returns the label.
    pub fn text(&self) -> String {
        match self {
            Label::Site(site) => site.label(),
            Label::Digest(label) => label.clone(),
            Label::Others => OTHERS.to_owned(),
        }
    }
}

/// Reads the origin that a label spells. It can be invalid.
fn origin_of(label: &str) -> Option<String> {
    let (scheme, rest) = label.split_once("--")?;
    if !matches!(scheme, "http" | "https") {
        return None;
    }
    let is_port =
        |text: &str| (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match rest.rsplit_once("--") {
        Some((host, port)) if is_port(port) => (host, Some(port)),
        _ => (rest, None),
    };
    // A space is in no host.
    let host = host.replace("--", " ").replace('-', ".").replace(' ', "-");
    Some(match port {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn site(origin: &str) -> Site {
        Site::of(&Url::parse(origin).expect("a URL")).expect("a site")
    }

    #[track_caller]
    fn check(origin: &str, label: &str) {
        assert_eq!(site(origin).label(), label, "{origin}");
        assert_eq!(Label::parse(label), Some(Label::Site(site(origin))), "{label}");
    }

    #[test]
    fn sites_are_read_back_from_their_labels() {
        for (origin, label) in [
            ("http://example.com", "http--example-com"),
            ("https://www.my-shop.example", "https--www-my--shop-example"),
            ("http://a.example:8080", "http--a-example--8080"),
            ("http://127.0.0.1:1", "http--127-0-0-1--1"),
            ("http://localhost", "http--localhost"),
            ("http://-a.example", "http----a-example"),
            ("https://b\u{fc}cher.example", "https--xn----bcher--kva-example"),
            ("http://a-80.example", "http--a--80-example"),
            ("https://a.example:443", "https--a-example"),
        ] {
            check(origin, label);
        }
    }

    #[test]
    fn other_sites_have_a_digest() {
        let long = format!("http://{}.example", "a".repeat(50));
        for origin in [
            "http://[::1]:8080",
            "http://a-.b.example",
            "http://a.-b.example",
            "http://a.example.",
            "http://a_b.example",
            "http://a-80",
            &long,
        ] {
            let label = site(origin).label();
            assert_eq!(
                label.len(),
                DIGEST_PREFIX.len() + 2 * DIGEST_BYTES,
                "{origin}: {label}"
            );
            assert_eq!(Label::parse(&label), Some(Label::Digest(label.clone())));
        }
        assert_eq!(
            site("http://[::1]").label(),
            site("http://[0:0::1]/a?b#c").label(),
            "one site has one digest"
        );
    }

    #[test]
    fn what_is_no_label_of_a_site_is_refused() {
        for label in [
            "",
            "www",
            "http",
            "http--",
            "ftp--a-example",
            "http--a---b",
            "https--a-example--443",
            "http--a-example--080",
            "http--a-example--99999",
            "http--1-2-3",
            "http--a_b",
            "http--A-example",
            "d--0123",
            "replay",
        ] {
            assert_eq!(Label::parse(label), None, "{label}");
        }
        assert_eq!(Label::parse("web"), Some(Label::Others));
    }

    /// Hosts that are easily confused, and all kinds of hosts that a URL can have.
    const ORIGINS: &str = "https?://([a-c0-9.-]{1,8}|[a-z_\\PC.-]{1,12}|([a-z0-9]{1,30}[.-]){1,4}[a-z]{2,9}|\\[[0-9a-f]{1,4}::[0-9a-f]{1,4}\\]|([0-9]{1,3}[.]){3}[0-9]{1,3})(:[0-9]{1,5})?";

    proptest! {
        // A failure prints the values and keeps the seed (`proptest-regressions`).
        #[test]
        fn no_two_sites_have_one_label(first in ORIGINS, second in ORIGINS) {
            let sites: Vec<Site> = [first, second]
                .iter()
                .filter_map(|text| Site::of(&Url::parse(text).ok()?))
                .collect();
            for site in &sites {
                let label = site.label();
                prop_assert!(label.len() <= LABEL_BYTES_MAX);
                match Label::parse(&label) {
                    Some(Label::Site(read)) => prop_assert_eq!(&read, site),
                    Some(Label::Digest(_)) => prop_assert_eq!(site.spelled(), None),
                    other => prop_assert!(false, "{:?} of {}", other, site),
                }
            }
            if let [first, second] = sites.as_slice() {
                prop_assert_eq!(first.label() == second.label(), first == second);
            }
        }

        #[test]
        fn a_label_is_read_as_one_site_or_refused(label in "(http|https)(-|--)[a-c0-9-]{0,20}") {
            if let Some(parsed) = Label::parse(&label) {
                prop_assert_eq!(parsed.text(), label);
            }
        }
    }
}
