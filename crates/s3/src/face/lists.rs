//! Objects listed: versions 1 and 2 of S3's listing, and the listing of versions, of which there is one each.

use data_encoding::BASE64URL_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::*;
use s3s::{S3Request, S3Result};
use store::meta::Meta;
use store::store::List;

use super::{Face, etag, owner, signed};
use crate::attributes;
use crate::checksum::Algorithm;
use crate::error::{fault, from_store};

/// Most objects and prefixes in one page, as in S3.
const PAGE_MAX: usize = 1000;

/// What `encoding-type=url` leaves as it is.
const URL_KEEPS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// A question for a page.
#[derive(Default)]
struct Ask {
    bucket: String,
    prefix: Option<String>,
    delimiter: Option<String>,
    after: Option<String>,
    limit: Option<i32>,
}

/// A page; keys without their bucket.
struct Page {
    objects: Vec<Meta>,
    prefixes: Vec<String>,
    next: Option<String>,
    limit: usize,
}

/// Writes keys as the client asked for.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    url: bool,
}

impl Face {
    /// Version 1 of the listing.
    pub(super) async fn list_objects(
        &self,
        request: S3Request<ListObjectsInput>,
    ) -> S3Result<ListObjectsOutput> {
        let input = request.input;
        let spelling = Spelling::of(input.encoding_type.as_ref())?;
        let owner = owner(&self.bucket(&input.bucket).await?);
        let ask = Ask {
            bucket: input.bucket.clone(),
            prefix: input.prefix.clone(),
            delimiter: input.delimiter.clone(),
            after: input.marker.clone(),
            limit: input.max_keys,
        };
        let page = self.page(&ask).await?;
        let delimited = ask.delimiter.is_some_and(|delimiter| !delimiter.is_empty());
        Ok(ListObjectsOutput {
            name: Some(input.bucket),
            prefix: spelling.write(input.prefix.or_else(|| Some(String::new()))),
            marker: spelling.write(input.marker.or_else(|| Some(String::new()))),
            max_keys: i32::try_from(page.limit).ok(),
            is_truncated: Some(page.next.is_some()),
            contents: Some(
                page.objects
                    .iter()
                    .map(|meta| object(meta, spelling, Some(owner.clone())))
                    .collect(),
            ),
            common_prefixes: prefixes(&page, spelling),
            delimiter: spelling.write(input.delimiter.filter(|delimiter| !delimiter.is_empty())),
            // As in S3, only with a delimiter: otherwise the last key is the marker.
            next_marker: spelling.write(page.next.filter(|_| delimited)),
            encoding_type: input.encoding_type,
            request_charged: None,
        })
    }

    /// Version 2 of the listing.
    pub(super) async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<ListObjectsV2Output> {
        let input = request.input;
        let spelling = Spelling::of(input.encoding_type.as_ref())?;
        let owner = owner(&self.bucket(&input.bucket).await?);
        let owner = input.fetch_owner.unwrap_or(false).then_some(owner);
        let continued = input.continuation_token.as_deref().map(read_token).transpose()?;
        let ask = Ask {
            bucket: input.bucket.clone(),
            prefix: input.prefix.clone(),
            delimiter: input.delimiter.clone(),
            after: continued.or_else(|| input.start_after.clone()),
            limit: input.max_keys,
        };
        let page = self.page(&ask).await?;
        Ok(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: spelling.write(input.prefix.or_else(|| Some(String::new()))),
            max_keys: i32::try_from(page.limit).ok(),
            key_count: i32::try_from(page.objects.len() + page.prefixes.len()).ok(),
            continuation_token: input.continuation_token,
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next.as_deref().map(write_token),
            contents: Some(
                page.objects
                    .iter()
                    .map(|meta| object(meta, spelling, owner.clone()))
                    .collect(),
            ),
            common_prefixes: prefixes(&page, spelling),
            delimiter: spelling.write(input.delimiter.filter(|delimiter| !delimiter.is_empty())),
            encoding_type: input.encoding_type,
            start_after: spelling.write(input.start_after),
            request_charged: None,
        })
    }

    /// Every object as its only version, `null`.
    pub(super) async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<ListObjectVersionsOutput> {
        let input = request.input;
        let spelling = Spelling::of(input.encoding_type.as_ref())?;
        let owner = owner(&self.bucket(&input.bucket).await?);
        let ask = Ask {
            bucket: input.bucket.clone(),
            prefix: input.prefix.clone(),
            delimiter: input.delimiter.clone(),
            after: input.key_marker.clone(),
            limit: input.max_keys,
        };
        let page = self.page(&ask).await?;
        let versions = page.objects.iter().map(|meta| ObjectVersion {
            e_tag: etag(meta),
            is_latest: Some(true),
            key: spelling.write(Some(meta.key.name().to_owned())),
            last_modified: Some(attributes::modified(meta)),
            owner: Some(owner.clone()),
            size: Some(signed(meta.size)),
            storage_class: Some(ObjectVersionStorageClass::from_static(
                ObjectVersionStorageClass::STANDARD,
            )),
            version_id: Some("null".to_owned()),
            ..ObjectVersion::default()
        });
        Ok(ListObjectVersionsOutput {
            versions: Some(versions.collect()),
            common_prefixes: prefixes(&page, spelling),
            delimiter: spelling.write(input.delimiter.filter(|delimiter| !delimiter.is_empty())),
            encoding_type: input.encoding_type,
            is_truncated: Some(page.next.is_some()),
            key_marker: spelling.write(input.key_marker.or_else(|| Some(String::new()))),
            max_keys: i32::try_from(page.limit).ok(),
            name: Some(input.bucket),
            next_key_marker: spelling.write(page.next.clone()),
            next_version_id_marker: page.next.map(|_| "null".to_owned()),
            prefix: spelling.write(input.prefix.or_else(|| Some(String::new()))),
            version_id_marker: input.version_id_marker,
            ..ListObjectVersionsOutput::default()
        })
    }

    async fn page(&self, ask: &Ask) -> S3Result<Page> {
        let limit = limit(ask.limit)?;
        if limit == 0 {
            return Ok(Page {
                objects: Vec::new(),
                prefixes: Vec::new(),
                next: None,
                limit,
            });
        }
        let whole = |name: &str| format!("{}/{name}", ask.bucket);
        let list = List {
            prefix: whole(ask.prefix.as_deref().unwrap_or_default()),
            delimiter: ask.delimiter.clone().filter(|delimiter| !delimiter.is_empty()),
            after: ask.after.as_deref().filter(|after| !after.is_empty()).map(whole),
            limit,
        };
        let listing = self.store.list(&list).await.map_err(from_store)?;
        let skip = ask.bucket.len() + 1;
        let name = |key: String| key.get(skip..).unwrap_or_default().to_owned();
        Ok(Page {
            objects: listing.objects,
            prefixes: listing.prefixes.into_iter().map(name).collect(),
            next: listing.next.map(name),
            limit,
        })
    }
}

impl Spelling {
    /// As the client asked for.
    pub(super) fn of(encoding: Option<&EncodingType>) -> S3Result<Self> {
        match encoding.map(EncodingType::as_str) {
            None | Some("") => Ok(Self { url: false }),
            Some(EncodingType::URL) => Ok(Self { url: true }),
            Some(other) => Err(fault(
                "InvalidArgument",
                format!("there is no encoding-type {other:?}"),
            )),
        }
    }

    /// A key, or a piece of one.
    pub(super) fn write(self, text: Option<String>) -> Option<String> {
        match self.url {
            true => text.map(|text| utf8_percent_encode(&text, &URL_KEEPS).to_string()),
            false => text,
        }
    }
}

fn object(meta: &Meta, spelling: Spelling, owner: Option<Owner>) -> Object {
    let algorithm = Algorithm::of(&meta.attributes).map(|kept| kept.0);
    Object {
        checksum_algorithm: algorithm.map(|algorithm| vec![ChecksumAlgorithm::from_static(algorithm.name())]),
        checksum_type: crate::checksum::kept(&meta.attributes).checksum_type,
        e_tag: etag(meta),
        key: spelling.write(Some(meta.key.name().to_owned())),
        last_modified: Some(attributes::modified(meta)),
        owner,
        restore_status: None,
        size: Some(signed(meta.size)),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
    }
}

fn prefixes(page: &Page, spelling: Spelling) -> Option<Vec<CommonPrefix>> {
    let prefixes = page.prefixes.iter().map(|prefix| CommonPrefix {
        prefix: spelling.write(Some(prefix.clone())),
    });
    Some(prefixes.collect())
}

/// How many entries a page may have.
pub(super) fn limit(asked: Option<i32>) -> S3Result<usize> {
    let limit = usize::try_from(asked.unwrap_or(PAGE_MAX as i32));
    limit
        .map(|limit| limit.min(PAGE_MAX))
        .map_err(|_| fault("InvalidArgument", "the number of entries asked for is below 0"))
}

fn write_token(next: &str) -> String {
    BASE64URL_NOPAD.encode(next.as_bytes())
}

fn read_token(token: &str) -> S3Result<String> {
    let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| fault("InvalidArgument", "the continuation token is not one of ours"))
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
