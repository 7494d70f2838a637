//! Rewrites names in the upstream's documents to those that clients know: listings, upload
//! responses, errors.

use quick_xml::events::{BytesText, Event};
use quick_xml::{Reader, Writer};

use super::places::Route;
use crate::query::encode_path;
use crate::xml::escape;

/// Documents that contain keys or bucket names.
const DOCUMENTS: [&str; 8] = [
    "ListBucketResult",
    "ListVersionsResult",
    "ListMultipartUploadsResult",
    "ListPartsResult",
    "InitiateMultipartUploadResult",
    "CompleteMultipartUploadResult",
    "DeleteResult",
    "Error",
];

/// A document that is not valid XML.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    /// Malformed elements.
    #[error("a response is not XML: {0}")]
    Xml(#[from] quick_xml::Error),
    /// A malformed character reference in a text.
    #[error("a response is not XML: {0}")]
    Escape(#[from] quick_xml::escape::EscapeError),
    /// The new document could not be written.
    #[error("a response cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

/// Returns a document with the client's names; unchanged if it contains no names.
pub(crate) fn rename(document: &[u8], route: &Route) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::from_reader(document);
    let mut writer = Writer::new(Vec::with_capacity(document.len()));
    // Listings declare whether keys are encoded; some do so only after the first keys.
    let said = b"<EncodingType>url</EncodingType>";
    let renaming = Renaming {
        route,
        is_encoded: document.windows(said.len()).any(|window| window == said),
    };
    let mut depth = 0;
    loop {
        let event = reader.read_event()?;
        match &event {
            Event::Eof => return Ok(writer.into_inner()),
            Event::Start(start) => {
                let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
                if depth == 0 && !DOCUMENTS.contains(&name.as_str()) {
                    return Ok(document.to_vec());
                }
                if let Some(named) = named_by(&name, depth) {
                    let end = start.to_end().into_owned();
                    let raw = reader.read_text(end.name())?;
                    let text = renaming.renamed(named, &quick_xml::escape::unescape(&raw)?);
                    writer.write_event(event)?;
                    writer.write_event(Event::Text(BytesText::from_escaped(escape(&text))))?;
                    writer.write_event(Event::End(end))?;
                    continue;
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Empty(empty) if depth == 1 && empty.name().as_ref() == b"Prefix" => {
                // An empty prefix in the upstream may be a folder for the client.
                writer.write_event(Event::Start(empty.clone()))?;
                let prefix = renaming.key("");
                writer.write_event(Event::Text(BytesText::from_escaped(escape(&prefix))))?;
                writer.write_event(Event::End(empty.to_end().into_owned()))?;
                continue;
            }
            _ => {}
        }
        writer.write_event(event)?;
    }
}

/// The kind of name in an element's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Bucket,
    /// A key or a prefix of one.
    Key,
    /// A key, or empty.
    Marker,
    /// `/BUCKET/KEY`.
    Resource,
}

/// Returns the kind of name in an element at this depth below the root; `None` if it contains no
/// name.
fn named_by(element: &str, depth: usize) -> Option<Named> {
    match element {
        "Key" | "Prefix" => Some(Named::Key),
        "Marker" | "NextMarker" | "StartAfter" | "KeyMarker" | "NextKeyMarker" => Some(Named::Marker),
        "Name" | "Bucket" | "BucketName" if depth == 1 => Some(Named::Bucket),
        "Resource" => Some(Named::Resource),
        _ => None,
    }
}

struct Renaming<'a> {
    route: &'a Route,
    is_encoded: bool,
}

impl Renaming<'_> {
    fn renamed(&self, named: Named, text: &str) -> String {
        match named {
            Named::Bucket => self.bucket(text),
            Named::Marker if text.is_empty() => String::new(),
            Named::Key | Named::Marker => self.key(text),
            Named::Resource => self.resource(text),
        }
    }

    fn bucket(&self, text: &str) -> String {
        if text == self.route.upstream.bucket {
            self.route.client.bucket.clone()
        } else {
            text.to_owned()
        }
    }

    fn key(&self, text: &str) -> String {
        let (from, to) = (&self.route.upstream.prefix, &self.route.client.prefix);
        let rest = if self.is_encoded {
            after_encoded(text, from)
        } else {
            text.strip_prefix(from.as_str())
        };
        match rest {
            None => text.to_owned(),
            Some(rest) if self.is_encoded => format!("{}{rest}", encode_path(to)),
            Some(rest) => format!("{to}{rest}"),
        }
    }

    fn resource(&self, text: &str) -> String {
        let upstream = format!("/{}/{}", self.route.upstream.bucket, self.route.upstream.prefix);
        let client = format!("/{}/{}", self.route.client.bucket, self.route.client.prefix);
        match text.strip_prefix(&upstream) {
            Some(rest) => format!("{client}{rest}"),
            None => text.to_owned(),
        }
    }
}

/// Returns the rest of a percent-encoded text after `prefix`. Any character may be encoded, and a
/// plus sign is a space.
fn after_encoded<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    for wanted in prefix.bytes() {
        let (found, length) = match bytes.get(at)? {
            b'%' => {
                let digits = text.get(at + 1..at + 3)?;
                (u8::from_str_radix(digits, 16).ok()?, 3)
            }
            b'+' => (b' ', 1),
            byte => (*byte, 1),
        };
        if found != wanted {
            return None;
        }
        at += length;
    }
    text.get(at..)
}

/// Returns the listing of all buckets, reduced to those that `shows` selects.
pub(crate) fn filter_buckets(document: &[u8], shows: impl Fn(&str) -> bool) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::from_reader(document);
    let mut writer = Writer::new(Vec::with_capacity(document.len()));
    loop {
        let event = reader.read_event()?;
        match &event {
            Event::Eof => return Ok(writer.into_inner()),
            Event::Start(start) if start.name().as_ref() == b"Bucket" => {
                let end = start.to_end().into_owned();
                let inner = reader.read_text(end.name())?;
                if name_in(&inner)?.is_some_and(|name| shows(&name)) {
                    writer.write_event(event)?;
                    writer.write_event(Event::Text(BytesText::from_escaped(inner)))?;
                    writer.write_event(Event::End(end))?;
                }
            }
            _ => writer.write_event(event)?,
        }
    }
}

/// Returns the text of the element `Name`.
fn name_in(xml: &str) -> Result<Option<String>, Malformed> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event()? {
            Event::Eof => return Ok(None),
            Event::Start(start) if start.name().as_ref() == b"Name" => {
                let text = reader.read_text(start.to_end().name())?;
                return Ok(Some(quick_xml::escape::unescape(&text)?.into_owned()));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{Map, Places, Scope};

    fn renamed(map: &str, key: &str, document: &str) -> String {
        let map: Map = map.parse().unwrap();
        let places = Places::new(Scope::Everything, vec![map]).unwrap();
        let route = places.route("lake", key).unwrap();
        String::from_utf8(rename(document.as_bytes(), &route).unwrap()).unwrap()
    }

    #[test]
    fn listings_have_the_names_of_clients() {
        let document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <Name>far</Name><Prefix>x/t &amp; u/a</Prefix><Marker></Marker><NextMarker>x/t &amp; u/b</NextMarker>\
            <Contents><Key>x/t &amp; u/a&lt;1</Key><ETag>&quot;far&quot;</ETag><Owner><ID>x/t</ID></Owner></Contents>\
            <CommonPrefixes><Prefix>x/t &amp; u/d/</Prefix></CommonPrefixes></ListBucketResult>";
        let expected = document
            .replace("<Name>far", "<Name>lake")
            .replace("x/t &amp; u/", "s&lt;s/");
        assert_eq!(renamed("lake/s<s=s3://far/x/t & u", "s<s/", document), expected);
    }

    #[test]
    fn escaped_keys_keep_their_form() {
        let document = "<ListBucketResult><Prefix>a%20b%2Fc</Prefix><EncodingType>url</EncodingType>\
            <Contents><Key>a+b/c%2Bd</Key></Contents><Contents><Key>a%20b/%C3%A4</Key></Contents></ListBucketResult>";
        let expected = "<ListBucketResult><Prefix>%C3%BC/c</Prefix><EncodingType>url</EncodingType>\
            <Contents><Key>%C3%BC/c%2Bd</Key></Contents><Contents><Key>%C3%BC/%C3%A4</Key></Contents></ListBucketResult>";
        assert_eq!(renamed("lake/ü=s3://far/a b", "ü/", document), expected);
    }

    proptest::proptest! {
        /// However a listing encodes a key, the rest after the prefix keeps its form, and other
        /// keys are unchanged.
        #[test]
        fn the_beginning_is_found_in_any_form(prefix in "\\PC{0,8}", rest in "\\PC{0,8}", plus in proptest::bool::ANY) {
            let encoded = |text: &str| {
                let text = encode_path(text);
                if plus { text.replace("%20", "+") } else { text }
            };
            let (whole, after) = (encoded(&format!("{prefix}{rest}")), encoded(&rest));
            proptest::prop_assert_eq!(after_encoded(&whole, &prefix), Some(after.as_str()));
            let other = encoded(&format!("{rest}{prefix}"));
            let is_same = format!("{rest}{prefix}").starts_with(&prefix);
            proptest::prop_assert_eq!(after_encoded(&other, &prefix).is_some(), is_same);
        }
    }

    #[test]
    fn a_bucket_may_be_a_folder() {
        let document = "<ListBucketResult><Name>far</Name><Prefix/><KeyMarker/><Contents><Key>k</Key></Contents></ListBucketResult>";
        let expected = "<ListBucketResult><Name>lake</Name><Prefix>s/</Prefix><KeyMarker/><Contents><Key>s/k</Key></Contents></ListBucketResult>";
        assert_eq!(renamed("lake/s=s3://far", "s/", document), expected);
    }

    #[test]
    fn errors_name_what_the_client_asked_for() {
        let document = "<Error><Code>NoSuchKey</Code><Key>x/k</Key><BucketName>far</BucketName><Resource>/far/x/k</Resource></Error>";
        let expected = "<Error><Code>NoSuchKey</Code><Key>s/k</Key><BucketName>lake</BucketName><Resource>/lake/s/k</Resource></Error>";
        assert_eq!(renamed("lake/s=s3://far/x", "s/k", document), expected);
        let other = "<Tagging><TagSet><Tag><Key>x/k</Key></Tag></TagSet></Tagging>";
        assert_eq!(renamed("lake/s=s3://far/x", "s/k", other), other);
        let map: Map = "lake/s=s3://far/x".parse().unwrap();
        let places = Places::new(Scope::Everything, vec![map]).unwrap();
        let route = places.route("lake", "s/").unwrap();
        assert!(rename(b"<Error><Key>x</Error>", &route).is_err());
    }

    #[test]
    fn buckets_that_somebody_may_not_see_are_left_out() {
        let document = "<ListAllMyBucketsResult><Owner><ID>a</ID></Owner><Buckets><Bucket><Name>one</Name><CreationDate>x</CreationDate></Bucket>\
            <Bucket><Name>two</Name></Bucket></Buckets></ListAllMyBucketsResult>";
        let filtered = filter_buckets(document.as_bytes(), |name| name == "one").unwrap();
        let expected = document.replace("<Bucket><Name>two</Name></Bucket>", "");
        assert_eq!(String::from_utf8(filtered).unwrap(), expected);
    }
}
