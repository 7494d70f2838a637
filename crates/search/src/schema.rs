//! Fields of the index.
//!
//! One field, `body`, holds all words that are searched: the title's, three times over, then the
//! URL's, then the text's. So a word is looked up once and not once a field; its count in a document
//! is a weighted count over the parts (BM25F in its simple form), saturated once; and "all words"
//! means all words anywhere in the page. The parts are separate values, so that no phrase spans two.
//! `stems` holds the stems of the same words, as often: apart from `body`, so that a page is as long as its words are
//! many, and without positions, which phrases of words do not need.
//! `anchors` holds the words of the links that lead to the page, each text as often as it weighs, as a part of the page for who
//! sees all pages. They are found as they are or with other diacritics, and have no stems.
//! `title` and `url` hold the words of these parts once more, for `title:` and `url:`, and their stems; they never score.

use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, TantivyDocument, Term};

use crate::dates;
use crate::document::{Document, Row, Version};
use crate::forms::Place;
use crate::keys;
use crate::likeness;
use crate::words::{self, Rules, StemTokenizer, WordTokenizer};

/// Changes when anything of the layout changes, words included: an index of another format is built anew.
/// 3: keys are no terms but have a hash, and in-link buckets lie beside the documents.
/// 4: words keep their written form and have stems; collections and hashes of digests are columns, for rights.
/// 5: past versions are documents, too; each says since and until when it held.
/// 6: anchor texts of links to a page.
/// 7: public suffixes are a field, and likenesses of texts a column; documents that are no pages.
/// 8: media types of all captures of a document are a column, for rights.
/// 9: key and time of the original of a revisit are columns, for rights.
pub(crate) const FORMAT: u32 = 9;

/// Names of the tokenizers behind `body`, `stems`, and the fields with both.
const WORDS: &str = "words";
const STEMS: &str = "stems";
const WORDS_AND_STEMS: &str = "words_and_stems";

/// How often a word in the title counts.
pub(crate) const TITLE_COPIES: usize = 3;

/// Bytes of a URL whose words are searched.
const URL_BYTES_MAX: usize = 1000;

/// Longest key held whole: dictionaries are made for short names.
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

/// In column [`UNTIL`]: there is nothing after it.
pub(crate) const CURRENT: u64 = u64::MAX;

/// Stands in identities of past versions between key and time. No key has it: URLs have no such characters.
const PAST: &str = "\u{1}v";

/// Bytes of it and of the time behind it.
const PAST_BYTES: usize = 18;

/// The fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// Identity, and order among equal scores.
    key: Field,
    /// Hash of the key, to find it by.
    hash: Field,
    /// Words of title, URL and text.
    pub(crate) body: Field,
    /// Stems of the words of `body`.
    pub(crate) stems: Field,
    /// Words of links to the page: apart from `body`, because not everybody may know of these links.
    pub(crate) anchors: Field,
    /// Words of the title, and their stems.
    pub(crate) title: Field,
    /// Words of the URL, and their stems.
    pub(crate) url: Field,
    /// The host and each domain above it.
    pub(crate) site: Field,
    /// MIME type, its first and its second part.
    pub(crate) kind: Field,
    /// Language, and its primary subtag.
    pub(crate) lang: Field,
    /// Collection.
    pub(crate) collection: Field,
    /// Registered domain, for counting.
    domain: Field,
    /// What is above it by the Public Suffix List.
    pub(crate) suffix: Field,
    /// MIME type, for counting.
    mime: Field,
    /// Primary subtag of the language, for counting.
    language: Field,
    /// Collection of the capture, and of the one that the text is of where that is another: for rights.
    collection_of: Field,
    /// Hash of the digest of the same captures, in the same order.
    digest: Field,
    /// MIME type of the same captures, in the same order. Apart from `mime`: a page counts once, with its own.
    mime_of: Field,
    /// Key of the original of a revisit, the last of the same captures; none of others, which have the key of the document.
    original_key: Field,
    /// Its time, likewise: 14 digits.
    original_date: Field,
    /// How the text is, to find what is like it.
    likeness: Field,
    /// 14 digits.
    pub(crate) date: Field,
    /// 14 digits: from when on it was what the URL gave.
    pub(crate) since: Field,
    /// 14 digits: from when on it was not any more, or [`CURRENT`].
    pub(crate) until: Field,
    /// [`Row`].
    pub(crate) row: Field,
}

/// The schema and its fields.
pub(crate) fn schema() -> (Schema, Fields) {
    let exact = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    let exact = TextOptions::default().set_indexing_options(exact);
    let words = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    // Many links say no more of a page than few: no length is held against it.
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

/// The index with the tokenizers of its fields.
pub(crate) fn with_tokenizer(index: Index) -> Index {
    let tokenizers = index.tokenizers();
    tokenizers.register(WORDS, TextAnalyzer::from(WordTokenizer::default()));
    tokenizers.register(STEMS, TextAnalyzer::from(StemTokenizer::new(false)));
    tokenizers.register(WORDS_AND_STEMS, TextAnalyzer::from(StemTokenizer::new(true)));
    index
}

impl Fields {
    /// Where a word is looked for that may stand anywhere.
    pub(crate) fn anywhere(&self) -> Place {
        Place {
            words: self.body,
            stems: self.stems,
            anchors: Some(self.anchors),
        }
    }

    /// A term that no document has.
    pub(crate) fn nobody(&self) -> Term {
        // No host has a NUL.
        Term::from_field_text(self.site, "\u{0}nobody")
    }

    /// The document as tantivy takes it.
    pub(crate) fn encode(&self, document: &Document) -> TantivyDocument {
        let language = document.language.to_lowercase();
        let primary = primary_language(&language);
        let rules = Rules::of(primary);
        let mut encoded = TantivyDocument::new();
        encoded.add_text(self.key, identity(&document.url_key, &document.version));
        encoded.add_u64(self.hash, keys::hash(&document.url_key));
        for _ in 0..TITLE_COPIES {
            // Three values, not one of three times the length: no phrase may run from one copy into the next.
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
        encoded.add_u64(self.digest, keys::hash(&document.digest));
        encoded.add_text(self.mime_of, &document.mime);
        if let Some(text) = &document.text_capture {
            encoded.add_text(self.collection_of, &text.collection);
            encoded.add_u64(self.digest, keys::hash(&text.digest));
            encoded.add_text(self.mime_of, &text.mime);
        }
        if let Some(original) = &document.original {
            encoded.add_text(self.collection_of, &original.of.collection);
            encoded.add_u64(self.digest, keys::hash(&original.of.digest));
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

/// The likeness of a document's text. One without words is like those with its digest, or like no other.
fn likeness_of(document: &Document) -> u64 {
    let of_text = likeness::of_text(&document.text);
    of_text.unwrap_or_else(|| match document.digest.as_str() {
        "" => keys::hash(&identity(&document.url_key, &document.version)),
        digest => keys::hash(digest),
    })
}

/// What a document is held under: the key, and of a past version when it began. Those of a key follow it in order, before every
/// longer key.
pub(crate) fn identity(url_key: &str, version: &Version) -> String {
    match version.until_ms {
        None => key_text(url_key).into_owned(),
        Some(_) => past_identity(url_key, version.since_ms),
    }
}

/// The same of a past version that began at a time.
pub(crate) fn past_identity(url_key: &str, since_ms: i64) -> String {
    // The sign bit turned, so that times before 1970 stand first.
    let since = (since_ms as u64) ^ (1 << 63);
    format!("{}{PAST}{since:016x}", key_text(url_key))
}

/// The key in the identity of a past version; `None` of the current one.
pub(crate) fn key_of_past(identity: &[u8]) -> Option<&[u8]> {
    let (key, past) = identity.split_at_checked(identity.len().checked_sub(PAST_BYTES)?)?;
    past.starts_with(PAST.as_bytes()).then_some(key)
}

/// A bound between keys as one between identities: what is behind a key alone is behind its past versions, too.
pub(crate) fn bound(key: &str) -> std::borrow::Cow<'_, str> {
    match key.strip_suffix('\0') {
        Some(key) => format!("{key}\u{2}").into(),
        None => key.into(),
    }
}

/// The key as it is held: itself, or where it is beyond all measure its beginning and a hash of the whole.
pub(crate) fn key_text(url_key: &str) -> std::borrow::Cow<'_, str> {
    if url_key.len() <= KEY_BYTES_MAX {
        return url_key.into();
    }
    let mut end = KEY_BYTES_MAX;
    while !url_key.is_char_boundary(end) {
        end -= 1;
    }
    // FNV-1a of 128 bits: two such keys with one beginning must not become one document.
    let hash = url_key.bytes().fold(0xcbf2_9ce4_8422_2325_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    });
    format!("{}\u{1}{hash:032x}", &url_key[..end]).into()
}

/// The part of a URL that is searched: without scheme, `%xx` decoded, cut.
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

/// The host and each domain above it, at most ten; an IP address has none above it.
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

/// `text/html` gives `text/html`, `text` and `html`; a type that nobody types, its word as well.
pub(crate) fn kinds(mime: &str) -> Vec<&str> {
    let parts = match mime.split_once('/') {
        Some((first, second)) => vec![mime, first, second],
        None => vec![mime],
    };
    parts.into_iter().chain(word_of(mime)).collect()
}

/// The usual ending of files of a type, where the type does not have it as a part.
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

/// `en` of `en-us`.
pub(crate) fn primary_language(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or(language)
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
