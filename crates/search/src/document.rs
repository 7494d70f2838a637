//! What is put into the index, and the row that a result shows of it.

/// A page as it is to be found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// With when a past version began, the document's identity: a key has one current document at most.
    pub url_key: String,
    /// The URL as archived.
    pub url: String,
    /// Title; may be empty.
    pub title: String,
    /// Visible text; empty where there is none (WAT).
    pub text: String,
    /// Host name, without port.
    pub host: String,
    /// Registered domain of `host`.
    pub domain: String,
    /// Label given at load; may be empty.
    pub collection: String,
    /// Payload digest of the capture.
    pub digest: String,
    /// The capture that the text is of, where that is another one: who may not see both, does not see the page.
    pub text_capture: Option<TextCapture>,
    /// The capture of another URL whose content it has: who may not see that one, does not see the page.
    pub original: Option<Original>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// Content type without parameters, lower case.
    pub mime: String,
    /// BCP 47 language; empty if unknown.
    pub language: String,
    /// Logarithmic bucket of the number of in-links: 0 for none. It is kept beside the document, so that it can
    /// change without it ([`Change::Bucket`]).
    pub inlink_bucket: u8,
    /// What links to the page say, for who may know of all of them; none of past versions.
    pub anchors: Vec<Anchor>,
    /// When it was the page that this URL gave.
    pub version: Version,
}

/// What rules ask of the capture that a text is of; its key and time are the document's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextCapture {
    /// Label given at load; may be empty.
    pub collection: String,
    /// Payload digest.
    pub digest: String,
    /// Content type without parameters, lower case.
    pub mime: String,
}

/// What rules ask of the capture whose content a revisit of another URL has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Original {
    /// Its URL key.
    pub url_key: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fetch_time_ms: i64,
    /// The rest.
    pub of: TextCapture,
}

/// An anchor text of links to a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The text.
    pub text: String,
    /// How often its words count, where one of the page counts once.
    pub weight: u8,
}

/// The time of a version, and what is told of it in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version {
    /// Fetch time of its first capture, in milliseconds since 1970.
    pub since_ms: i64,
    /// Fetch time of the first capture of what came after it; `None` of the current version. The greatest number of the last version
    /// of another page under the same key (addresses whose letters differ in case): nothing came after it, so it is found like a
    /// current one.
    pub until_ms: Option<i64>,
    /// Of the current version: how many are past.
    pub past_versions: u32,
    /// Of a past version: the name of its text. One without an end has a name even if it has no text.
    pub text: Option<[u8; 16]>,
}

impl Version {
    /// When something came after it.
    pub fn ended_ms(&self) -> Option<i64> {
        self.until_ms.filter(|until_ms| *until_ms < i64::MAX)
    }
}

/// Past versions that go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    /// All that there are of the key.
    All,
    /// Those that began at these times, in milliseconds since 1970.
    Since(Vec<i64>),
}

/// One step of an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The page is new: there was none under its key. Cheaper than an upsert, because nothing is looked for. See
    /// [`SearchIndex::apply_after`](crate::SearchIndex::apply_after).
    Insert(Box<Document>),
    /// The page is new or has changed: whatever stood under its key is replaced.
    Upsert(Box<Document>),
    /// The URL key is no page any more.
    Delete(String),
    /// The page of this key stays as it is, but its in-link bucket is this one now.
    Bucket(String, u8),
    /// Past versions of a key are others.
    Past {
        /// The key.
        url_key: String,
        /// What happens to the current document: anything but this, and a deletion where there is none. It says which bucket the
        /// key has, which is that of its past versions, too.
        current: Box<Change>,
        /// Past versions that are none any more.
        gone: Gone,
        /// Past versions that are new, or replace the one that began at the same time.
        put: Vec<Document>,
    },
}

impl Change {
    /// The key that it is about.
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
/// | 8, 8, 8, 4 | `fetch_time_ms`, `since_ms`, `until_ms` (the greatest of the current version), `past_versions`, little endian |
/// | 1, and 16 if it is 1 | whether the text has a name, and that |
/// | 6 times 4 + n | length, little endian, and bytes of key, URL, title, MIME type, language, collection |
///
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
            // A text of 4 GiB cannot be: titles and URLs come from records cut at some MiB.
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    /// `None` where the bytes are not a row.
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
            // The text of the current version has no name; that of another page under its key has one.
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
