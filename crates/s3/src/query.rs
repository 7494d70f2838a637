//! The query of a request: parsed as s3s parses it, and encoded as signatures require.

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that signatures leave unescaped (RFC 3986, section 2.3).
const KEPT: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The same, for a path.
const KEPT_IN_PATH: AsciiSet = KEPT.remove(b'/');

/// Parameters of a signature, in lower case. They are removed, because the upstream gets a new
/// signature.
const OF_SIGNATURES: [&str; 11] = [
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-signedheaders",
    "x-amz-signature",
    "x-amz-security-token",
    "x-amz-content-sha256",
    "awsaccesskeyid",
    "signature",
    "expires",
];

/// Decoded names and values in their order, without those of a signature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, Option<String>)>);

impl Query {
    /// Parses the query of a request.
    pub(crate) fn of(uri: &Uri) -> Self {
        let pairs = uri.query().unwrap_or_default().split('&');
        let pairs = pairs
            .filter(|pair| !pair.is_empty())
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) => (decode(name), Some(decode(value))),
                None => (decode(pair), None),
            });
        let ours = |(name, _): &(String, _)| !OF_SIGNATURES.contains(&name.to_ascii_lowercase().as_str());
        Self(pairs.filter(ours).collect())
    }

    /// Returns all names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Reports whether a name is present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().any(|found| found == name)
    }

    /// Returns the first value of a name; an empty string if the name has no value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_deref().unwrap_or_default())
    }

    /// Changes every value of a name.
    pub(crate) fn change(&mut self, name: &str, change: impl Fn(&str) -> String) {
        for (found, value) in &mut self.0 {
            if found == name {
                *value = Some(change(value.as_deref().unwrap_or_default()));
            }
        }
    }

    /// Encodes the query for sending, without the question mark.
    pub(crate) fn encoded(&self) -> String {
        let pairs = self.0.iter().map(|(name, value)| match value {
            Some(value) => format!("{}={}", encode(name), encode(value)),
            None => encode(name),
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Encodes the query for signing: sorted, with `=` after each name.
    pub(crate) fn canonical(&self) -> String {
        let pairs = self.0.iter();
        let mut pairs: Vec<_> = pairs
            .map(|(name, value)| (encode(name), encode(value.as_deref().unwrap_or_default())))
            .collect();
        pairs.sort_unstable();
        let pairs: Vec<_> = pairs
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("&")
    }
}

/// Encodes a path and keeps its slashes.
pub(crate) fn encode_path(path: &str) -> String {
    utf8_percent_encode(path, &KEPT_IN_PATH).to_string()
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, &KEPT).to_string()
}

fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " "))
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_left_out_and_names_without_value_stay_so() {
        let uri: Uri =
            "/b/k?uploads&prefix=a%2Fb+c%2Bd&X-Amz-Signature=1&X-Amz-Date=2&x-id=GetObject&Signature=3"
                .parse()
                .unwrap();
        let mut query = Query::of(&uri);
        assert_eq!(query.encoded(), "uploads&prefix=a%2Fb%20c%2Bd&x-id=GetObject");
        assert_eq!(query.canonical(), "prefix=a%2Fb%20c%2Bd&uploads=&x-id=GetObject");
        assert_eq!(
            (query.get("prefix"), query.get("uploads"), query.get("x")),
            (Some("a/b c+d"), Some(""), None)
        );
        query.change("prefix", |prefix| format!("x/{prefix}"));
        assert_eq!(query.get("prefix"), Some("x/a/b c+d"));
        assert_eq!(encode_path("/b/ä +~//."), "/b/%C3%A4%20%2B~//.");
    }
}
