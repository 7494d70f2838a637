//! The documents that the index stores, and the row that a result is made from.

/// A page or a past version to index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// URL key. A key has at most one current document. The key and the start of a past version
    /// identify a document.
    pub url_key: String,
    /// The archived URL.
    pub url: String,
    /// Title; may be empty.
    pub title: String,
    /// Visible text; may be empty (WAT).
    pub text: String,
    /// Host name, without port.
    pub host: String,
    /// Registered domain of `host`.
    pub domain: String,
    /// Label given at load; may be empty.
    pub collection: String,
    /// Payload digest of the capture.
    pub digest: String,
    /// The capture that the text comes from, if it is another one. A document is visible only to
    /// callers who can see both captures.
    pub text_capture: Option<TextCapture>,
    /// The capture of another URL that holds the content, if this one is a revisit of it; or the
    /// attachment that holds the text, if a browser rendered it. A document is visible only to
    /// callers who can see both.
    pub original: Option<Original>,
    /// Fetch time, in milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// Content type without parameters, lower case.
    pub mime: String,
    /// BCP 47 language; empty if unknown.
    pub language: String,
    /// Logarithmic bucket of the number of in-links: 0 for none. It is stored outside the document
    /// and can change without it ([`Change::Bucket`]).
    pub inlink_bucket: u8,
    /// Anchor texts of links to the page, for callers who may know of all links. Empty for past
    /// versions.
    pub anchors: Vec<Anchor>,
    /// When the URL returned this page.
    pub version: Version,
    /// Which documents are near-duplicates of it.
    pub likeness: Likeness,
}

/// Decides which documents are near-duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Likeness {
    /// Documents with nearly the same text.
    #[default]
    Text,
    /// Documents with nearly the same 64 bits, which do not describe the text.
    Bits(u64),
    /// Documents with the same name.
    Name(String),
}

/// The attributes that access rules test of the capture that a text comes from. Its key and time
/// are the document's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextCapture {
    /// Label given at load; may be empty.
    pub collection: String,
    /// Payload digest.
    pub digest: String,
    /// Content type without parameters, lower case.
    pub mime: String,
}

/// The attributes that access rules test of the record in [`Document::original`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Original {
    /// Its URL key.
    pub url_key: String,
    /// Fetch time, in milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// The other attributes.
    pub of: TextCapture,
}

/// An anchor text of links to a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The text.
    pub text: String,
    /// How often each word of it counts, relative to one occurrence in the page.
    pub weight: u8,
}

/// The time of a version, and what results report about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version {
    /// Fetch time of its first capture, in milliseconds since 1970.
    pub since_ms: i64,
    /// Fetch time of the first capture of the next version; `None` for the current version.
    /// `i64::MAX` for the last version of another page under the same key (URLs that differ only in
    /// case): no version follows it, so it is found like a current one.
    pub until_ms: Option<i64>,
    /// Number of past versions; for the current version only.
    pub past_versions: u32,
    /// Name of the text of a past version. A version without an end has a name even if it has no
    /// text.
    pub text: Option<[u8; 16]>,
}

impl Version {
    /// Returns when the next version began, if there is one.
    pub fn ended_ms(&self) -> Option<i64> {
        self.until_ms.filter(|until_ms| *until_ms < i64::MAX)
    }
}

/// Past versions to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastToDelete {
    /// All past versions of the key.
    All,
    /// The versions that began at these times, in milliseconds since 1970.
    Since(Vec<i64>),
}

/// One change of an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a page whose key has no document yet. Cheaper than an upsert, because no old document
    /// is searched for. See [`SearchIndex::apply_after`](crate::SearchIndex::apply_after).
    Insert(Box<Document>),
    /// Adds a page, or replaces the document under its key.
    Upsert(Box<Document>),
    /// Deletes the page with this URL key.
    Delete(String),
    /// Changes the in-link bucket of a page, and nothing else of it.
    Bucket(String, u8),
    /// Changes the past versions of a key.
    Past {
        /// The URL key.
        url_key: String,
        /// The change of the current document: any change but this one, and a deletion if there is
        /// no current document. It sets the bucket of the key, which also applies to its past
        /// versions.
        current: Box<Change>,
        /// Past versions to delete.
        past_to_delete: PastToDelete,
        /// Past versions to add, or to put in place of those that began at the same time.
        put: Vec<Document>,
    },
}

impl Change {
    /// Returns the URL key that the change is about.
    pub fn url_key(&self) -> &str {
        match self {
            Change::Insert(document) | Change::Upsert(document) => &document.url_key,
            Change::Delete(url_key) | Change::Bucket(url_key, _) | Change::Past { url_key, .. } => url_key,
        }
    }
}

/// The stored part of a document.
///
/// | bytes | what |
/// |---|---|
/// | 8, 8, 8 | `fetch_time_ms`, `since_ms`, `until_ms` (`i64::MAX` if current), little endian |
/// | 4 | `past_versions`, little endian |
/// | 1, and 16 if it is 1 | whether the text has a name, and the name |
/// | 6 times 4 + n | length, little endian, and bytes of a text |
///
/// The texts are key, URL, title, MIME type, language and collection.
/// The index's format number covers this layout too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) url_key: String,
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) mime: String,
    pub(crate) language: String,
    pub(crate) collection: String,
    pub(crate) fetch_time_ms: i64,
    pub(crate) version: Version,
}

impl Row {
    pub(crate) fn encode(document: &Document) -> Vec<u8> {
        let texts = [
            &document.url_key,
            &document.url,
            &document.title,
            &document.mime,
            &document.language,
            &document.collection,
        ];
        let length = 45 + texts.iter().map(|text| 4 + text.len()).sum::<usize>();
        let mut bytes = Vec::with_capacity(length);
        let version = &document.version;
        let until_ms = version.until_ms.unwrap_or(i64::MAX);
        for time_ms in [document.fetch_time_ms, version.since_ms, until_ms] {
            bytes.extend_from_slice(&time_ms.to_le_bytes());
        }
        bytes.extend_from_slice(&version.past_versions.to_le_bytes());
        bytes.push(u8::from(version.text.is_some()));
        bytes.extend_from_slice(version.text.as_ref().map_or(&[][..], |name| &name[..]));
        for text in texts {
            // No text has 4 GiB: titles and URLs come from records cut at some MiB.
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    /// Decodes a row; `None` if the bytes are not a row.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Row> {
        let mut time_ms = || Some(i64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?));
        let (fetch_time_ms, since_ms, until_ms) = (time_ms()?, time_ms()?, time_ms()?);
        let past_versions = u32::from_le_bytes(take(&mut bytes, 4)?.try_into().ok()?);
        let text = match take(&mut bytes, 1)? {
            [0] => None,
            _ => Some(take(&mut bytes, 16)?.try_into().ok()?),
        };
        let version = Version {
            since_ms,
            // The text of the current version has no name. The text of another page under the same
            // key has one.
            until_ms: Some(until_ms).filter(|until_ms| *until_ms < i64::MAX || text.is_some()),
            past_versions,
            text,
        };
        let mut text = || {
            let length = u32::from_le_bytes(take(&mut bytes, 4)?.try_into().ok()?);
            let text = take(&mut bytes, length as usize)?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        Some(Row {
            url_key: text()?,
            url: text()?,
            title: text()?,
            mime: text()?,
            language: text()?,
            collection: text()?,
            fetch_time_ms,
            version,
        })
    }
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (head, tail) = bytes.split_at_checked(count)?;
    *bytes = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_and_a_cut_one_does_not() {
        let document = Document {
            url_key: "org,example)/".into(),
            url: "http://example.org/".into(),
            title: "Bücher — 本".into(),
            mime: "text/html".into(),
            fetch_time_ms: -5,
            version: Version {
                since_ms: -7,
                until_ms: Some(9),
                past_versions: 3,
                text: Some([7; 16]),
            },
            ..Document::default()
        };
        let bytes = Row::encode(&document);
        let row = Row::decode(&bytes).unwrap();
        assert_eq!(row.title, document.title);
        assert_eq!((row.fetch_time_ms, row.version), (-5, document.version));
        for length in 0..bytes.len() {
            assert_eq!(Row::decode(&bytes[..length]), None);
        }
    }
}
