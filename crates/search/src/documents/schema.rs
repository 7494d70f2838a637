//! Fields of the index.
//!
//! `body` holds all searched words: the title three times, then the URL, then the text. A word is
//! therefore looked up once instead of once per field. Its count is a weighted sum over the parts
//! (a simple form of BM25F), saturated once, and "all words" means anywhere in the page. The parts
//! are separate values, so that no phrase spans two of them. `stems` holds the stems of the same
//! words, as often. It is separate from `body`, so that they do not add to the page's length, and
//! has no positions, because phrases do not use stems. `anchors` holds the words of links to the
//! page, each text as often as its weight, without stems. They match only for callers who see all
//! pages. `title` and `url` hold the words and stems of these parts again, for `title:` and `url:`,
//! and never score.

use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, TantivyDocument, Term};

use crate::dates;
use crate::documents::document::{Document, Likeness, Row, Version};
use crate::documents::hash::hash;
use crate::words::likeness;
use crate::words::{self, Rules, StemTokenizer, WordTokenizer};

/// Increased with any change of the layout or of how words are formed. An index of another format
/// is rebuilt.
/// 3: keys have a hash and are not terms; in-link buckets are stored outside the documents.
/// 4: words keep their written form and have stems; collections and hashes of digests are columns,
/// for access rules.
/// 5: past versions are documents too; each has the times of its start and end.
/// 6: anchor texts of links to a page.
/// 7: public suffixes are a field, and likenesses of texts a column; documents that are not pages.
/// 8: media types of all captures of a document are a column, for access rules.
/// 9: key and time of the original of a revisit are columns, for access rules.
pub(crate) const FORMAT: u32 = 9;

/// Names of the tokenizers of `body`, of `stems`, and of the fields with both.
const WORDS: &str = "words";
const STEMS: &str = "stems";
const WORDS_AND_STEMS: &str = "words_and_stems";

/// How often a word in the title counts.
pub(crate) const TITLE_COPIES: usize = 3;

/// Number of bytes of a URL whose words are searched.
const URL_BYTES_MAX: usize = 1000;

/// Maximum length of a key that is stored whole: dictionaries are made for short names.
const KEY_BYTES_MAX: usize = 60_000;

/// Names of fast fields.
pub(crate) const KEY: &str = "key";
pub(crate) const DOMAIN: &str = "domain";
pub(crate) const SUFFIX: &str = "suffix";
pub(crate) const MIME: &str = "mime";
pub(crate) const LANGUAGE: &str = "language";
pub(crate) const DATE: &str = "date";
pub(crate) const HASH: &str = "hash";
pub(crate) const COLLECTION_OF: &str = "collection_of";
pub(crate) const MIME_OF: &str = "mime_of";
pub(crate) const DIGEST: &str = "digest";
pub(crate) const ORIGINAL_KEY: &str = "original_key";
pub(crate) const ORIGINAL_DATE: &str = "original_date";
pub(crate) const LIKENESS: &str = "likeness";
pub(crate) const UNTIL: &str = "until";

/// In column [`UNTIL`]: no version follows this one.
pub(crate) const CURRENT: u64 = u64::MAX;

/// Separates key and time in the identity of a past version. URLs, and so keys, do not contain
/// these characters.
const PAST: &str = "\u{1}v";

/// Length of the separator and the time after it.
const PAST_BYTES: usize = 18;

/// The fields of the schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// Identity of the document; orders documents with equal scores.
    key: Field,
    /// Hash of the key, to find documents by.
    hash: Field,
    /// Words of title, URL and text.
    pub(crate) body: Field,
    /// Stems of the words of `body`.
    pub(crate) stems: Field,
    /// Words of links to the page. Separate from `body`, because some callers must not know of
    /// these links.
    pub(crate) anchors: Field,
    /// Words and stems of the title.
    pub(crate) title: Field,
    /// Words and stems of the URL.
    pub(crate) url: Field,
    /// The host and each domain above it.
    pub(crate) site: Field,
    /// MIME type, and both of its parts.
    pub(crate) kind: Field,
    /// Language, and its primary subtag.
    pub(crate) lang: Field,
    /// Collection.
    pub(crate) collection: Field,
    /// Registered domain, for facets.
    domain: Field,
    /// Public suffix of the host, by the Public Suffix List.
    pub(crate) suffix: Field,
    /// MIME type, for facets.
    mime: Field,
    /// Primary subtag of the language, for facets.
    language: Field,
    /// Collection of each capture that the document depends on, for access rules: its own capture,
    /// then that of its text and the original of a revisit, if they are others.
    collection_of: Field,
    /// Hash of the digest of the same captures, in the same order.
    digest: Field,
    /// MIME type of the same captures, in the same order. Separate from `mime`, where a page counts
    /// once, with its own type.
    mime_of: Field,
    /// Key of the original of a revisit, which is the last of the same captures. Absent otherwise:
    /// the other captures have the key of the document.
    original_key: Field,
    /// Time of the same original: 14 digits.
    original_date: Field,
    /// Likeness of the text, to find near-duplicates.
    likeness: Field,
    /// Fetch time: 14 digits.
    pub(crate) date: Field,
    /// Start of the version: 14 digits.
    pub(crate) since: Field,
    /// End of the version: 14 digits, or [`CURRENT`].
    pub(crate) until: Field,
    /// The encoded [`Row`].
    pub(crate) row: Field,
}

/// Returns the schema and its fields.
pub(crate) fn schema() -> (Schema, Fields) {
    let exact = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    let exact = TextOptions::default().set_indexing_options(exact);
    let words = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    // Many links to a page do not make it less relevant, so its score is not normalised by their
    // length.
    let anchors = words.clone().set_fieldnorms(false);
    let stems = TextFieldIndexing::default()
        .set_tokenizer(STEMS)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let unscored = words.clone().set_tokenizer(WORDS_AND_STEMS).set_fieldnorms(false);
    let unscored = TextOptions::default().set_indexing_options(unscored);
    let counted = TextOptions::default().set_fast("raw");
    let number = NumericOptions::default().set_fast();

    let mut builder = Schema::builder();
    let fields = Fields {
        key: builder.add_text_field(KEY, counted.clone()),
        hash: builder.add_u64_field(HASH, number.clone()),
        body: builder.add_text_field("body", TextOptions::default().set_indexing_options(words)),
        stems: builder.add_text_field("stems", TextOptions::default().set_indexing_options(stems)),
        anchors: builder.add_text_field("anchors", TextOptions::default().set_indexing_options(anchors)),
        title: builder.add_text_field("title", unscored.clone()),
        url: builder.add_text_field("url", unscored),
        site: builder.add_text_field("site", exact.clone()),
        kind: builder.add_text_field("kind", exact.clone()),
        lang: builder.add_text_field("lang", exact.clone()),
        collection: builder.add_text_field("collection", exact.clone()),
        domain: builder.add_text_field(DOMAIN, counted.clone()),
        suffix: builder.add_text_field(SUFFIX, exact.set_fast("raw")),
        mime: builder.add_text_field(MIME, counted.clone()),
        language: builder.add_text_field(LANGUAGE, counted.clone()),
        collection_of: builder.add_text_field(COLLECTION_OF, counted.clone()),
        mime_of: builder.add_text_field(MIME_OF, counted.clone()),
        original_key: builder.add_text_field(ORIGINAL_KEY, counted),
        original_date: builder.add_u64_field(ORIGINAL_DATE, number.clone()),
        digest: builder.add_u64_field(DIGEST, number.clone()),
        likeness: builder.add_u64_field(LIKENESS, number.clone()),
        date: builder.add_u64_field(DATE, number.clone()),
        since: builder.add_u64_field("since", number.clone()),
        until: builder.add_u64_field(UNTIL, number),
        row: builder.add_bytes_field("row", STORED),
    };
    (builder.build(), fields)
}

/// Registers the tokenizers of the index's fields.
pub(crate) fn with_tokenizer(index: Index) -> Index {
    let tokenizers = index.tokenizers();
    tokenizers.register(WORDS, TextAnalyzer::from(WordTokenizer::default()));
    tokenizers.register(STEMS, TextAnalyzer::from(StemTokenizer::new(false)));
    tokenizers.register(WORDS_AND_STEMS, TextAnalyzer::from(StemTokenizer::new(true)));
    index
}

/// The fields in which words and their stems are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TextFields {
    pub(crate) words: Field,
    pub(crate) stems: Field,
    /// A further field, searched for words only.
    pub(crate) anchors: Option<Field>,
}

impl Fields {
    /// Returns the fields in which a word without a field name is searched.
    pub(crate) fn anywhere(&self) -> TextFields {
        TextFields {
            words: self.body,
            stems: self.stems,
            anchors: Some(self.anchors),
        }
    }

    /// Returns a term that no document has.
    pub(crate) fn absent_term(&self) -> Term {
        // No host contains a NUL.
        Term::from_field_text(self.site, "\u{0}nobody")
    }

    /// Converts a document to tantivy's form.
    pub(crate) fn encode(&self, document: &Document) -> TantivyDocument {
        let language = document.language.to_lowercase();
        let primary = words::primary_language(&language);
        let rules = Rules::of(primary);
        let mut encoded = TantivyDocument::new();
        encoded.add_text(self.key, identity(&document.url_key, &document.version));
        encoded.add_u64(self.hash, hash(&document.url_key));
        for _ in 0..TITLE_COPIES {
            // Three values instead of one: no phrase may span two copies.
            encoded.add_text(self.body, &document.title);
        }
        let url = url_words(&document.url);
        encoded.add_text(self.title, words::in_language(rules, &[&document.title]));
        encoded.add_text(self.url, words::in_language(rules, &[&url]));
        if rules.is_some() {
            let mut parts = vec![document.title.as_str(); TITLE_COPIES];
            parts.extend([url.as_str(), &document.text]);
            encoded.add_text(self.stems, words::in_language(rules, &parts));
        }
        encoded.add_text(self.body, url);
        encoded.add_text(self.body, &document.text);
        for anchor in &document.anchors {
            for _ in 0..anchor.weight {
                encoded.add_text(self.anchors, &anchor.text);
            }
        }
        for site in sites(&document.host) {
            encoded.add_text(self.site, site);
        }
        for kind in kinds(&document.mime) {
            encoded.add_text(self.kind, kind);
        }
        encoded.add_text(self.lang, primary);
        if language != primary {
            encoded.add_text(self.lang, &language);
        }
        encoded.add_text(self.collection, &document.collection);
        encoded.add_text(self.domain, &document.domain);
        encoded.add_text(
            self.suffix,
            urlkey::suffix_of_host(&document.host).unwrap_or_default(),
        );
        encoded.add_text(self.mime, &document.mime);
        encoded.add_text(self.language, primary);
        encoded.add_text(self.collection_of, &document.collection);
        encoded.add_u64(self.digest, hash(&document.digest));
        encoded.add_text(self.mime_of, &document.mime);
        if let Some(text) = &document.text_capture {
            encoded.add_text(self.collection_of, &text.collection);
            encoded.add_u64(self.digest, hash(&text.digest));
            encoded.add_text(self.mime_of, &text.mime);
        }
        if let Some(original) = &document.original {
            encoded.add_text(self.collection_of, &original.of.collection);
            encoded.add_u64(self.digest, hash(&original.of.digest));
            encoded.add_text(self.mime_of, &original.of.mime);
            encoded.add_text(self.original_key, key_text(&original.url_key));
            encoded.add_u64(self.original_date, dates::digits_of_ms(original.fetch_time_ms));
        }
        encoded.add_u64(self.likeness, likeness_of(document));
        encoded.add_u64(self.date, dates::digits_of_ms(document.fetch_time_ms));
        let version = &document.version;
        encoded.add_u64(self.since, dates::digits_of_ms(version.since_ms));
        encoded.add_u64(
            self.until,
            version.ended_ms().map_or(CURRENT, dates::digits_of_ms),
        );
        encoded.add_bytes(self.row, &Row::encode(document));
        encoded
    }
}

/// Returns the likeness of a document: that of its text, unless the document says otherwise.
/// Without words, it is the hash of the digest or, without a digest, of the document's identity.
fn likeness_of(document: &Document) -> u64 {
    let of_text = match &document.likeness {
        Likeness::Text => likeness::of_text(&document.text),
        Likeness::Bits(bits) => Some(*bits),
        Likeness::Name(name) => Some(likeness::of_name(name)),
    };
    of_text.unwrap_or_else(|| match document.digest.as_str() {
        "" => hash(&identity(&document.url_key, &document.version)),
        digest => hash(digest),
    })
}

/// Returns the identity that a document is stored under: its key, with the start time for a past
/// version. Past versions are ordered after their key and before every longer key.
pub(crate) fn identity(url_key: &str, version: &Version) -> String {
    match version.until_ms {
        None => key_text(url_key).into_owned(),
        Some(_) => past_identity(url_key, version.since_ms),
    }
}

/// Returns the identity of a past version that began at a time.
pub(crate) fn past_identity(url_key: &str, since_ms: i64) -> String {
    // Flip the sign bit, so that times before 1970 come first.
    let since = (since_ms as u64) ^ (1 << 63);
    format!("{}{PAST}{since:016x}", key_text(url_key))
}

/// Returns the key in the identity of a past version; `None` if the version is current.
pub(crate) fn key_of_past(identity: &[u8]) -> Option<&[u8]> {
    let (key, past) = identity.split_at_checked(identity.len().checked_sub(PAST_BYTES)?)?;
    past.starts_with(PAST.as_bytes()).then_some(key)
}

/// Converts a bound between keys to one between identities. A bound directly after a key is moved
/// after its past versions.
pub(crate) fn bound(key: &str) -> std::borrow::Cow<'_, str> {
    match key.strip_suffix('\0') {
        Some(key) => format!("{key}\u{2}").into(),
        None => key.into(),
    }
}

/// Returns the stored form of a key: the key itself or, if it is too long, its beginning and a hash
/// of the whole.
pub(crate) fn key_text(url_key: &str) -> std::borrow::Cow<'_, str> {
    if url_key.len() <= KEY_BYTES_MAX {
        return url_key.into();
    }
    let mut end = KEY_BYTES_MAX;
    while !url_key.is_char_boundary(end) {
        end -= 1;
    }
    // FNV-1a of 128 bits: two long keys with the same beginning must not become one document.
    let hash = url_key.bytes().fold(0xcbf2_9ce4_8422_2325_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    });
    format!("{}\u{1}{hash:032x}", &url_key[..end]).into()
}

/// Returns the searched part of a URL: without scheme, `%xx` decoded, truncated.
pub(crate) fn url_words(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let mut end = rest.len().min(URL_BYTES_MAX);
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    String::from_utf8_lossy(&percent_decoded(&rest.as_bytes()[..end])).into_owned()
}

fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    let digit = |index: usize| bytes.get(index).and_then(|&b| (b as char).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        match (bytes[index], digit(index + 1), digit(index + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                index += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                index += 1;
            }
        }
    }
    decoded
}

/// Returns the host and each domain above it, at most ten. An IP address has no domains above it.
fn sites(host: &str) -> Vec<String> {
    let host = host.trim_matches(['[', ']', '.']).to_lowercase();
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let mut sites = vec![host];
    while !is_address && sites.len() < 10 {
        let last = &sites[sites.len() - 1];
        let Some((_, above)) = last.split_once('.') else {
            break;
        };
        sites.push(above.to_owned());
    }
    sites.retain(|site| !site.is_empty());
    sites
}

/// Returns the terms of a MIME type. `text/html` has `text/html`, `text` and `html`. Types with
/// unwieldy names also have their usual file extension.
pub(crate) fn kinds(mime: &str) -> Vec<&str> {
    let parts = match mime.split_once('/') {
        Some((first, second)) => vec![mime, first, second],
        None => vec![mime],
    };
    parts.into_iter().chain(word_of(mime)).collect()
}

/// Returns the usual file extension of a type, if it is not a part of the type.
fn word_of(mime: &str) -> Option<&'static str> {
    const OPEN_XML: &str = "application/vnd.openxmlformats-officedocument.";
    const OPEN_DOCUMENT: &str = "application/vnd.oasis.opendocument.";
    if let Some(kind) = mime.strip_prefix(OPEN_XML) {
        return match kind {
            "wordprocessingml.document" => Some("docx"),
            "presentationml.presentation" => Some("pptx"),
            "spreadsheetml.sheet" => Some("xlsx"),
            _ => None,
        };
    }
    if let Some(kind) = mime.strip_prefix(OPEN_DOCUMENT) {
        return match kind {
            "text" => Some("odt"),
            "presentation" => Some("odp"),
            "spreadsheet" => Some("ods"),
            _ => None,
        };
    }
    match mime {
        "application/x-pdf" => Some("pdf"),
        "application/epub+zip" => Some("epub"),
        "application/rss+xml" | "application/x-rss+xml" | "text/rss+xml" => Some("rss"),
        "application/atom+xml" => Some("atom"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_scheme_and_escapes() {
        assert_eq!(url_words("http://a.org/b%C3%A9?x=%zz"), "a.org/bé?x=%zz");
        assert_eq!(url_words(&format!("http://{}", "é".repeat(900))).len(), 1000);
    }

    #[test]
    fn hosts_have_the_domains_above_them() {
        assert_eq!(
            sites("www.Example.co.uk"),
            ["www.example.co.uk", "example.co.uk", "co.uk", "uk"]
        );
        assert_eq!(sites("192.168.1.1"), ["192.168.1.1"]);
        assert_eq!(sites("[::1]"), ["::1"]);
        assert_eq!(sites("").len(), 0);
        assert!(sites(&"a.".repeat(100)).len() <= 10);
    }

    #[test]
    fn past_versions_stand_behind_their_key_and_before_longer_ones() {
        let since = |since_ms| past_identity("org,a)/", since_ms);
        let ordered = [
            "org,a)/".to_owned(),
            since(i64::MIN),
            since(-1),
            since(0),
            since(7),
            "org,a)/ ".to_owned(),
        ];
        assert!(ordered.is_sorted(), "{ordered:?}");
        for identity in &ordered[1..5] {
            assert_eq!(key_of_past(identity.as_bytes()), Some(&b"org,a)/"[..]));
            let bound = bound("org,a)/\0");
            assert!(identity.as_str() < &*bound && &*bound < ordered[5].as_str());
        }
        assert_eq!(key_of_past(b"org,a)/"), None);
        let long = "k".repeat(70_000);
        assert_eq!(key_of_past(key_text(&long).as_bytes()), None);
        assert_eq!(
            key_of_past(past_identity(&long, 5).as_bytes()),
            Some(key_text(&long).as_bytes())
        );
    }

    #[test]
    fn keys_beyond_measure_stay_apart() {
        let (a, b) = ("k".repeat(70_000), "k".repeat(70_001));
        assert_ne!(key_text(&a), key_text(&b));
        assert!(key_text(&a).len() < 65_000);
        assert_eq!(key_text("org,a)/"), "org,a)/");
    }
}
