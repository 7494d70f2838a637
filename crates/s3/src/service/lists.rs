//! Listings of objects, versions 1 and 2, and of object versions.

use data_encoding::BASE64URL_NOPAD;
use s3s::dto::{
    ChecksumAlgorithm, ListObjectVersionsInput, ListObjectVersionsOutput, ListObjectsInput,
    ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, Object, ObjectStorageClass,
};
use s3s::{S3Request, S3Result};
use store::{List, ListVersions, Meta};

use super::key_encoding::KeyEncoding;
use super::versions::{marker, requested_version, version};
use super::{StoreService, etag, owner_named, signed};
use crate::attributes;
use crate::checksum::Algorithm;
use crate::error::{fault, from_store};
use crate::settings::BucketSettings;

/// Most objects and prefixes in one page, as in S3.
const PAGE_MAX: usize = 1000;

/// Parameters common to the three listings.
struct ListRequest {
    bucket: String,
    prefix: String,
    /// Never empty.
    delimiter: Option<String>,
    /// Never empty.
    after: Option<String>,
    limit: usize,
    encoding: KeyEncoding,
}

/// Reads the parameters of a listing, except the start, which differs between the listings.
macro_rules! ask {
    ($input:expr, $after:expr) => {
        ListRequest {
            bucket: $input.bucket.clone(),
            prefix: $input.prefix.clone().unwrap_or_default(),
            delimiter: $input.delimiter.clone().filter(|text| !text.is_empty()),
            after: $after.filter(|text| !text.is_empty()),
            limit: limit($input.max_keys)?,
            encoding: KeyEncoding::of($input.encoding_type.as_ref())?,
        }
    };
}

/// Sets the fields that the three outputs share: the parameters, and everything in the page except
/// its objects.
macro_rules! set_page {
    ($output:expr, $ask:expr, $page:expr) => {{
        let (ask, page): (&ListRequest, &Page) = (&$ask, &$page);
        $output.name = Some(ask.bucket.clone());
        $output.prefix = ask.encoding.write(Some(ask.prefix.clone()));
        $output.delimiter = ask.encoding.write(ask.delimiter.clone());
        $output.max_keys = i32::try_from(ask.limit).ok();
        $output.encoding_type = ask.encoding.encoding();
        $output.is_truncated = Some(page.next.is_some());
        $output.common_prefixes = Some(ask.encoding.prefixes(&page.prefixes));
    }};
}

/// A page of a listing. Keys are without their bucket.
#[derive(Default)]
struct Page {
    objects: Vec<Meta>,
    prefixes: Vec<String>,
    next: Option<String>,
}

impl StoreService {
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
            marker: ask.encoding.write(Some(input.marker.unwrap_or_default())),
            contents: Some(page.contents(&ask, Some(&settings))),
            ..ListObjectsOutput::default()
        };
        set_page!(output, ask, page);
        // As in S3, it is returned only with a delimiter. Without one, clients use the last key as
        // the marker.
        let next = page.next.filter(|_| ask.delimiter.is_some());
        output.next_marker = ask.encoding.write(next);
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
            start_after: ask.encoding.write(input.start_after),
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
        let id = requested_version(input.version_id_marker.as_deref())?;
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
        let requested = [Some(&ask.prefix), ask.delimiter.as_ref(), ask.after.as_ref()];
        let texts = requested.into_iter().flatten().chain(&listing.prefixes);
        let encoding = names
            .chain(texts.map(String::as_str))
            .fold(ask.encoding, KeyEncoding::carrying);
        ask.encoding = encoding;
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
            .map(|found| version(found, encoding, &settings));
        let markers = markers
            .into_iter()
            .map(|found| marker(found, encoding, &settings));
        let mut output = ListObjectVersionsOutput {
            versions: Some(versions.collect()),
            delete_markers: Some(markers.collect()),
            key_marker: ask.encoding.write(Some(input.key_marker.unwrap_or_default())),
            version_id_marker: input.version_id_marker,
            ..ListObjectVersionsOutput::default()
        };
        set_page!(output, ask, page);
        output.next_key_marker = ask.encoding.write(page.next.clone());
        output.next_version_id_marker = next_id.flatten().map(|id| id.to_string());
        Ok(output)
    }

    /// Reads a page. Its texts may force an encoding.
    async fn page(&self, ask: &mut ListRequest) -> S3Result<Page> {
        for text in [Some(&ask.prefix), ask.delimiter.as_ref(), ask.after.as_ref()]
            .into_iter()
            .flatten()
        {
            ask.encoding = ask.encoding.carrying(text);
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
            ask.encoding = ask.encoding.carrying(text);
        }
        Ok(page)
    }
}

impl Page {
    /// Returns the objects in the form of listing versions 1 and 2.
    fn contents(&self, ask: &ListRequest, settings: Option<&BucketSettings>) -> Vec<Object> {
        let objects = self.objects.iter();
        objects.map(|meta| object(meta, ask.encoding, settings)).collect()
    }
}

fn object(meta: &Meta, encoding: KeyEncoding, settings: Option<&BucketSettings>) -> Object {
    let algorithm = Algorithm::of(&meta.attributes).map(|kept| kept.0);
    Object {
        checksum_algorithm: algorithm.map(|algorithm| vec![ChecksumAlgorithm::from_static(algorithm.name())]),
        checksum_type: crate::checksum::stored(&meta.attributes).checksum_type,
        e_tag: etag(meta),
        key: encoding.write(Some(meta.key.name().to_owned())),
        last_modified: Some(attributes::modified(meta)),
        owner: settings.map(|settings| owner_named(settings.owner_of(&meta.attributes))),
        restore_status: None,
        size: Some(signed(meta.size)),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
    }
}

/// Returns the number of entries allowed in a page.
pub(super) fn limit(requested: Option<i32>) -> S3Result<usize> {
    let limit = usize::try_from(requested.unwrap_or(PAGE_MAX as i32));
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
    use s3s::dto::EncodingType;

    use super::*;

    #[test]
    fn tokens_and_spellings() {
        for text in ["", "a/b", "ä\u{0}+ "] {
            assert_eq!(read_token(&write_token(text)).unwrap(), text);
        }
        assert!(read_token("?").is_err() && read_token("_w").is_err());
        let url = KeyEncoding { url: true };
        assert_eq!(
            url.write(Some("a b+c/ä~".to_owned())).unwrap(),
            "a%20b%2Bc/%C3%A4~"
        );
        let plain = KeyEncoding { url: false };
        assert!(!plain.carrying("a\r\n\tä").url && plain.carrying("a\u{1}").url && url.carrying("a").url);
        assert!(KeyEncoding::of(Some(&EncodingType::from("xml".to_owned()))).is_err());
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
