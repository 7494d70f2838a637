//! Listings of objects, versions 1 and 2, and of object versions.

use data_encoding::BASE64URL_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::{
    ChecksumAlgorithm, CommonPrefix, EncodingType, ListObjectVersionsInput, ListObjectVersionsOutput,
    ListObjectsInput, ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, Object, ObjectStorageClass,
};
use s3s::{S3Request, S3Result};
use store::{List, ListVersions, Meta};

use super::versions::{asked_version, marker, version};
use super::{Face, etag, owner_named, signed};
use crate::attributes;
use crate::checksum::Algorithm;
use crate::error::{fault, from_store};
use crate::settings::BucketSettings;
use crate::xml;

/// Most objects and prefixes in one page, as in S3.
const PAGE_MAX: usize = 1000;

/// Characters that `encoding-type=url` leaves unencoded.
const URL_KEEPS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// Parameters common to the three listings.
struct Ask {
    bucket: String,
    prefix: String,
    /// Never empty.
    delimiter: Option<String>,
    /// Never empty.
    after: Option<String>,
    limit: usize,
    spelling: Spelling,
}

/// Reads the parameters of a listing, except the start, which differs between the listings.
macro_rules! ask {
    ($input:expr, $after:expr) => {
        Ask {
            bucket: $input.bucket.clone(),
            prefix: $input.prefix.clone().unwrap_or_default(),
            delimiter: $input.delimiter.clone().filter(|text| !text.is_empty()),
            after: $after.filter(|text| !text.is_empty()),
            limit: limit($input.max_keys)?,
            spelling: Spelling::of($input.encoding_type.as_ref())?,
        }
    };
}

/// Sets the fields that the three outputs share: the parameters, and everything in the page except
/// its objects.
macro_rules! set_page {
    ($output:expr, $ask:expr, $page:expr) => {{
        let (ask, page): (&Ask, &Page) = (&$ask, &$page);
        $output.name = Some(ask.bucket.clone());
        $output.prefix = ask.spelling.write(Some(ask.prefix.clone()));
        $output.delimiter = ask.spelling.write(ask.delimiter.clone());
        $output.max_keys = i32::try_from(ask.limit).ok();
        $output.encoding_type = ask.spelling.encoding();
        $output.is_truncated = Some(page.next.is_some());
        $output.common_prefixes = Some(ask.spelling.prefixes(&page.prefixes));
    }};
}

/// A page of a listing. Keys are without their bucket.
#[derive(Default)]
struct Page {
    objects: Vec<Meta>,
    prefixes: Vec<String>,
    next: Option<String>,
}

/// How keys are encoded in a response.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    url: bool,
}

impl Face {
    /// Lists objects, in version 1 of the listing.
    pub(super) async fn list_objects(
        &self,
        request: S3Request<ListObjectsInput>,
    ) -> S3Result<ListObjectsOutput> {
        let input = request.input;
        let mut ask = ask!(input, input.marker.clone());
        let settings = self.settings(&input.bucket).await?;
        let page = self.page(&mut ask).await?;
        let mut output = ListObjectsOutput {
            marker: ask.spelling.write(Some(input.marker.unwrap_or_default())),
            contents: Some(page.contents(&ask, Some(&settings))),
            ..ListObjectsOutput::default()
        };
        set_page!(output, ask, page);
        // As in S3, it is returned only with a delimiter. Without one, clients use the last key as
        // the marker.
        let next = page.next.filter(|_| ask.delimiter.is_some());
        output.next_marker = ask.spelling.write(next);
        Ok(output)
    }

    /// Lists objects, in version 2 of the listing.
    pub(super) async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<ListObjectsV2Output> {
        let input = request.input;
        let continued = input.continuation_token.as_deref().map(read_token).transpose()?;
        // As in S3, the token overrides start-after, which clients repeat with every page.
        let mut ask = ask!(input, continued.or_else(|| input.start_after.clone()));
        let settings = self.settings(&input.bucket).await?;
        let page = self.page(&mut ask).await?;
        let shown = input.fetch_owner.unwrap_or(false).then_some(&settings);
        let mut output = ListObjectsV2Output {
            key_count: i32::try_from(page.objects.len() + page.prefixes.len()).ok(),
            continuation_token: input.continuation_token,
            start_after: ask.spelling.write(input.start_after),
            contents: Some(page.contents(&ask, shown)),
            ..ListObjectsV2Output::default()
        };
        set_page!(output, ask, page);
        output.next_continuation_token = page.next.as_deref().map(write_token);
        Ok(output)
    }

    /// Lists versions and delete markers.
    pub(super) async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<ListObjectVersionsOutput> {
        let input = request.input;
        let mut ask = ask!(input, input.key_marker.clone());
        let settings = self.settings(&input.bucket).await?;
        let id = asked_version(input.version_id_marker.as_deref())?;
        if id.is_some() && ask.after.is_none() {
            let detail = "version-id-marker requires key-marker";
            return Err(fault("InvalidArgument", detail));
        }
        let list = ListVersions {
            bucket: ask.bucket.clone(),
            prefix: ask.prefix.clone(),
            delimiter: ask.delimiter.clone(),
            after: ask.after.clone().map(|name| (name, id)),
            limit: ask.limit,
        };
        let listing = self.store.list_versions(&list).await.map_err(from_store)?;
        let names = listing.versions.iter().map(|version| version.meta.key.name());
        let asked = [Some(&ask.prefix), ask.delimiter.as_ref(), ask.after.as_ref()];
        let texts = asked.into_iter().flatten().chain(&listing.prefixes);
        let spelling = names
            .chain(texts.map(String::as_str))
            .fold(ask.spelling, Spelling::carrying);
        ask.spelling = spelling;
        let (markers, versions): (Vec<_>, Vec<_>) = listing
            .versions
            .iter()
            .partition(|version| version.is_delete_marker());
        let (next_name, next_id) = listing.next.unzip();
        let page = Page {
            objects: Vec::new(),
            prefixes: listing.prefixes,
            next: next_name,
        };
        let versions = versions
            .into_iter()
            .map(|found| version(found, spelling, &settings));
        let markers = markers
            .into_iter()
            .map(|found| marker(found, spelling, &settings));
        let mut output = ListObjectVersionsOutput {
            versions: Some(versions.collect()),
            delete_markers: Some(markers.collect()),
            key_marker: ask.spelling.write(Some(input.key_marker.unwrap_or_default())),
            version_id_marker: input.version_id_marker,
            ..ListObjectVersionsOutput::default()
        };
        set_page!(output, ask, page);
        output.next_key_marker = ask.spelling.write(page.next.clone());
        output.next_version_id_marker = next_id.flatten().map(|id| id.to_string());
        Ok(output)
    }

    /// Reads a page. Its texts may force an encoding.
    async fn page(&self, ask: &mut Ask) -> S3Result<Page> {
        for text in [Some(&ask.prefix), ask.delimiter.as_ref(), ask.after.as_ref()]
            .into_iter()
            .flatten()
        {
            ask.spelling = ask.spelling.carrying(text);
        }
        // As in S3, a page with a limit of zero is empty and not truncated.
        if ask.limit == 0 {
            return Ok(Page::default());
        }
        let whole = |name: &str| format!("{}/{name}", ask.bucket);
        let list = List {
            prefix: whole(&ask.prefix),
            delimiter: ask.delimiter.clone(),
            after: ask.after.as_deref().map(whole),
            limit: ask.limit,
        };
        let listing = self.store.list(&list).await.map_err(from_store)?;
        let skip = ask.bucket.len() + 1;
        let name = |key: String| key.get(skip..).unwrap_or_default().to_owned();
        let page = Page {
            objects: listing.objects,
            prefixes: listing.prefixes.into_iter().map(name).collect(),
            next: listing.next.map(name),
        };
        // A response has one encoding for all its texts, so a single key can force it for all.
        let keys = page.objects.iter().map(|meta| meta.key.name());
        for text in keys.chain(page.prefixes.iter().map(String::as_str)) {
            ask.spelling = ask.spelling.carrying(text);
        }
        Ok(page)
    }
}

impl Page {
    /// Returns the objects in the form of listing versions 1 and 2.
    fn contents(&self, ask: &Ask, settings: Option<&BucketSettings>) -> Vec<Object> {
        let objects = self.objects.iter();
        objects.map(|meta| object(meta, ask.spelling, settings)).collect()
    }
}

impl Spelling {
    /// Returns the encoding that the client requested.
    pub(super) fn of(encoding: Option<&EncodingType>) -> S3Result<Self> {
        match encoding.map(EncodingType::as_str) {
            None | Some("") => Ok(Self { url: false }),
            Some(EncodingType::URL) => Ok(Self { url: true }),
            Some(other) => Err(fault(
                "InvalidArgument",
                format!("unknown encoding-type {other:?}"),
            )),
        }
    }

    /// Keeps the encoding if XML can express the text, otherwise switches to percent-encoding. A
    /// client can decode that, but cannot parse XML with control characters.
    pub(super) fn carrying(self, text: &str) -> Self {
        Self {
            url: self.url || !text.chars().all(xml::can_carry),
        }
    }

    /// Returns the value of the response's `EncodingType`.
    pub(super) fn encoding(self) -> Option<EncodingType> {
        self.url.then(|| EncodingType::from_static(EncodingType::URL))
    }

    /// Encodes rolled-up prefixes.
    pub(super) fn prefixes(self, prefixes: &[String]) -> Vec<CommonPrefix> {
        let prefixes = prefixes.iter().map(|prefix| CommonPrefix {
            prefix: self.write(Some(prefix.clone())),
        });
        prefixes.collect()
    }

    /// Encodes a key, or part of one.
    pub(super) fn write(self, text: Option<String>) -> Option<String> {
        if self.url {
            text.map(|text| utf8_percent_encode(&text, &URL_KEEPS).to_string())
        } else {
            text
        }
    }
}

fn object(meta: &Meta, spelling: Spelling, settings: Option<&BucketSettings>) -> Object {
    let algorithm = Algorithm::of(&meta.attributes).map(|kept| kept.0);
    Object {
        checksum_algorithm: algorithm.map(|algorithm| vec![ChecksumAlgorithm::from_static(algorithm.name())]),
        checksum_type: crate::checksum::kept(&meta.attributes).checksum_type,
        e_tag: etag(meta),
        key: spelling.write(Some(meta.key.name().to_owned())),
        last_modified: Some(attributes::modified(meta)),
        owner: settings.map(|settings| owner_named(settings.owner_of(&meta.attributes))),
        restore_status: None,
        size: Some(signed(meta.size)),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
    }
}

/// Returns the number of entries allowed in a page.
pub(super) fn limit(asked: Option<i32>) -> S3Result<usize> {
    let limit = usize::try_from(asked.unwrap_or(PAGE_MAX as i32));
    limit
        .map(|limit| limit.min(PAGE_MAX))
        .map_err(|_| fault("InvalidArgument", "the number of entries must not be negative"))
}

fn write_token(next: &str) -> String {
    BASE64URL_NOPAD.encode(next.as_bytes())
}

fn read_token(token: &str) -> S3Result<String> {
    let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| fault("InvalidArgument", "the continuation token is invalid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_spellings() {
        for text in ["", "a/b", "ä\u{0}+ "] {
            assert_eq!(read_token(&write_token(text)).unwrap(), text);
        }
        assert!(read_token("?").is_err() && read_token("_w").is_err());
        let url = Spelling { url: true };
        assert_eq!(
            url.write(Some("a b+c/ä~".to_owned())).unwrap(),
            "a%20b%2Bc/%C3%A4~"
        );
        let plain = Spelling { url: false };
        assert!(!plain.carrying("a\r\n\tä").url && plain.carrying("a\u{1}").url && url.carrying("a").url);
        assert!(Spelling::of(Some(&EncodingType::from("xml".to_owned()))).is_err());
        assert_eq!(
            (
                limit(None).unwrap(),
                limit(Some(0)).unwrap(),
                limit(Some(9999)).unwrap()
            ),
            (1000, 0, 1000)
        );
        assert!(limit(Some(-1)).is_err());
    }
}
