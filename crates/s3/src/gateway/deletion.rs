//! The list of a `DeleteObjects` request: parsed, renamed and written again. Only elements that
//! were parsed here are passed on, because the upstream deletes with the gateway's permissions.

use data_encoding::BASE64;
use http::{HeaderMap, HeaderValue};
use s3s::S3Result;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::Delete;
use s3s::xml::{Deserialize as _, Deserializer, Serialize as _, Serializer};

use super::places::{Places, Route};
use crate::error::fault;

/// A list of objects to delete in one bucket of the upstream.
pub(crate) struct Deletion {
    /// The route of the objects, which all share one.
    pub(crate) route: Route,
    /// Their keys in the upstream.
    pub(crate) keys: Vec<String>,
    /// The document for the upstream.
    pub(crate) document: Vec<u8>,
}

impl Deletion {
    /// Parses a client's list.
    ///
    /// # Errors
    /// If it cannot be parsed, or its keys have different routes.
    pub(crate) fn read(document: &[u8], bucket: &str, places: &Places) -> S3Result<Self> {
        let malformed = || fault("MalformedXML", "the body is not a list of objects to delete");
        let mut reader = Deserializer::new(document);
        let mut list = Delete::deserialize(&mut reader).map_err(|_| malformed())?;
        reader.expect_eof().map_err(|_| malformed())?;
        let mut route: Option<Route> = None;
        for object in &mut list.objects {
            let found = places.route(bucket, &object.key);
            let found = found.ok_or_else(|| fault("AccessDenied", "access denied"))?;
            if route.as_ref().is_some_and(|route| *route != found) {
                let detail = "the keys are at different places of the upstream: delete them separately";
                return Err(fault("InvalidRequest", detail));
            }
            object.key = found.to_upstream(&object.key);
            if object.key.is_empty() {
                return Err(fault("InvalidRequest", "a mapped folder is not an object"));
            }
            route = Some(found);
        }
        let mut written = Vec::with_capacity(document.len());
        let serialized = list.serialize(&mut Serializer::new(&mut written));
        serialized.map_err(|error| fault("MalformedXML", error.to_string()))?;
        Ok(Self {
            route: route.ok_or_else(malformed)?,
            keys: list.objects.into_iter().map(|object| object.key).collect(),
            document: written,
        })
    }

    /// Replaces the digests of the client's document by that of the new one.
    pub(crate) fn set_digest(&self, headers: &mut HeaderMap) -> S3Result<()> {
        let sums: Vec<_> = headers
            .keys()
            .filter(|name| is_sum(name.as_str()))
            .cloned()
            .collect();
        for name in sums {
            headers.remove(name);
        }
        let mut md5 = Md5::new();
        md5.update(&self.document);
        let text = BASE64.encode(&md5.finalize());
        let value = HeaderValue::try_from(text).map_err(|error| fault("InternalError", error.to_string()))?;
        headers.insert("content-md5", value);
        Ok(())
    }
}

fn is_sum(name: &str) -> bool {
    name.starts_with("x-amz-checksum-") || name == "x-amz-sdk-checksum-algorithm"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Scope;

    fn places() -> Places {
        let map = "lake/s=s3://far/x".parse().unwrap();
        Places::new(Scope::Everything, vec![map]).unwrap()
    }

    #[test]
    fn keys_are_renamed_and_the_digest_fits() {
        let document = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>\
            <Object><Key>s/ a&amp;b </Key></Object><Object><Key>s/c</Key><VersionId>7</VersionId></Object></Delete>";
        let deletion = Deletion::read(document.as_bytes(), "lake", &places()).unwrap();
        assert_eq!(deletion.keys, ["x/ a&b ", "x/c"]);
        let text = String::from_utf8(deletion.document.clone()).unwrap();
        for part in [
            "<Key>x/ a&amp;b </Key>",
            "<Key>x/c</Key>",
            "<VersionId>7</VersionId>",
            "<Quiet>true</Quiet>",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-amz-checksum-crc32", "AAAAAA==".parse().unwrap());
        headers.insert("x-amz-sdk-checksum-algorithm", "CRC32".parse().unwrap());
        deletion.set_digest(&mut headers).unwrap();
        let mut md5 = Md5::new();
        md5.update(&deletion.document);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["content-md5"], BASE64.encode(&md5.finalize()));
    }

    #[test]
    fn what_is_no_list_of_one_place_is_refused() {
        let list = |keys: &[&str]| {
            let objects: String = keys
                .iter()
                .map(|key| format!("<Object><Key>{key}</Key></Object>"))
                .collect();
            format!("<Delete>{objects}</Delete>")
        };
        for (document, code) in [
            (list(&["s/a", "b"]), "InvalidRequest"),
            (list(&[]), "MalformedXML"),
            ("<Delete><Object><Key>a</Key>".to_owned(), "MalformedXML"),
            (format!("{}<Delete/>", list(&["a"])), "MalformedXML"),
            ("nothing".to_owned(), "MalformedXML"),
        ] {
            let refused = Deletion::read(document.as_bytes(), "lake", &places());
            let found = refused.err().map(|error| error.code().as_str().to_owned());
            assert_eq!(found.as_deref(), Some(code), "{document}");
        }
    }
}
