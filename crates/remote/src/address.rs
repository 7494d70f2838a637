//! Parses the addresses of inputs.

use std::io::{self, ErrorKind};

use object_store::path::Path;
use url::Url;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// `s3://bucket/name`
    S3 { bucket: String, name: String },
    /// `store://bucket/name`
    Store { bucket: String, name: String },
    /// `https://...`, `http://...`
    Web(Url),
}

impl Address {
    /// Parses an address. Bucket and name are not percent-decoded, as in S3's own tools.
    pub(crate) fn parse(address: &str) -> io::Result<Address> {
        let wrong = |what: String| io::Error::new(ErrorKind::InvalidInput, what);
        let (scheme, rest) = address
            .split_once("://")
            .ok_or_else(|| wrong("no scheme".to_owned()))?;
        let scheme = scheme.to_ascii_lowercase();
        match scheme.as_str() {
            "http" | "https" => match Url::parse(address) {
                Ok(url) => Ok(Address::Web(url)),
                Err(error) => Err(wrong(error.to_string())),
            },
            "s3" | "store" => {
                let (bucket, name) = rest.split_once('/').unwrap_or((rest, ""));
                if bucket.is_empty() {
                    return Err(wrong(format!("no bucket: expected {scheme}://bucket/name")));
                }
                if bucket.contains('@') {
                    let what = "keys in an address are not used, since they would be shown with it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
                    return Err(wrong(what.to_owned()));
                }
                let (bucket, name) = (bucket.to_owned(), name.to_owned());
                Ok(match scheme.as_str() {
                    "s3" => Address::S3 { bucket, name },
                    _ => Address::Store { bucket, name },
                })
            }
            _ => Err(wrong("expected s3://, https://, http:// or store://".to_owned())),
        }
    }
}

/// Returns the path of a name within a store.
pub(crate) fn path(name: &str) -> io::Result<Path> {
    Path::parse(name).map_err(|error| {
        let what = format!("this name cannot be asked for: {error}");
        io::Error::new(ErrorKind::InvalidInput, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let s3 = |bucket: &str, name: &str| Address::S3 {
            bucket: bucket.into(),
            name: name.into(),
        };
        assert_eq!(
            Address::parse("s3://b/c/d%20e.gz").unwrap(),
            s3("b", "c/d%20e.gz")
        );
        assert_eq!(Address::parse("S3://b").unwrap(), s3("b", ""));
        assert!(matches!(
            Address::parse("store://b/c").unwrap(),
            Address::Store { .. }
        ));
        assert!(matches!(
            Address::parse("http://h:1/x?y#z").unwrap(),
            Address::Web(_)
        ));
        for wrong in ["s3://", "s3:///x", "ftp://h/x", "x", "https://"] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }
}
