//! Reads of objects: whole, a range, a part, or the headers alone.

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue};
use s3s::dto::{self, *};
use s3s::{S3Error, S3Request, S3Response, S3Result};
use store::{Key, Meta, Object as Opened, Store, StoreError, VersionId};

use super::locks::set_lock;
use super::versions::{refuse_marker, requested_version, version_id_of};
use super::{StoreService, etag, signed};
use crate::access::confirm;
use crate::attributes::{self, Headers};
use crate::body;
use crate::checksum::{self, set_sums};
use crate::error::{fault, not_implemented};
use crate::preconditions::{Reading, continues};
use crate::{names, part_sizes, preconditions};

/// How often a read restarts because the object was replaced between reading its size and opening
/// it. With fewer attempts, reads of a frequently written object would fail; after this many, the
/// writer is faster than this reader every time.
const ATTEMPTS: usize = 5;

/// Header with the number of an object's tags; s3s has no field for it in the output of HEAD.
const TAG_COUNT: HeaderName = HeaderName::from_static("x-amz-tagging-count");

/// Header by which a client accepts the newest reachable version if the current one is unknown.
const READ: HeaderName = HeaderName::from_static("x-weft-read");

/// The requested part of an object.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Whole,
    Bytes(dto::Range),
    Part(i32),
}

impl Piece {
    /// Returns the whole object instead of a range if the client's `If-Range` names a different
    /// version.
    fn unless_replaced(self, headers: &HeaderMap, meta: &Meta) -> Self {
        let modified = preconditions::seconds(&attributes::modified(meta));
        match self {
            Self::Bytes(_) if !continues(headers, &meta.etag, Some(modified)) => Self::Whole,
            piece => piece,
        }
    }
}

/// The resolved part of an object.
struct ResolvedRange {
    range: Range<u64>,
    parts: Option<usize>,
    /// Whether the response is 206.
    partial: bool,
}

impl StoreService {
    /// Reads an object.
    pub(super) async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<GetObjectOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        refuse_encryption(input.sse_customer_algorithm.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let reading = Reading {
            if_match: input.if_match.as_ref(),
            if_none_match: input.if_none_match.as_ref(),
            if_modified_since: input.if_modified_since.as_ref(),
            if_unmodified_since: input.if_unmodified_since.as_ref(),
        };
        let piece = piece(input.range, input.part_number)?;
        let store = self.store.with_read_mode(requested_reading(&request.headers)?);
        let (opened, found) = self
            .open(
                &store,
                (&input.bucket, &key, id),
                piece,
                &reading,
                &request.headers,
            )
            .await?;
        let meta = opened.meta;
        confirm(&request.extensions, &meta)?;
        let length = opened.range.end - opened.range.start;
        let headers = Headers::from_attributes(&meta.attributes);
        let mut output = GetObjectOutput {
            body: Some(body::from_store(opened.body, length)),
            content_length: Some(signed(length)),
            accept_ranges: Some("bytes".to_owned()),
            content_range: content_range(&found, &meta),
            parts_count: found.parts.and_then(|count| i32::try_from(count).ok()),
            e_tag: etag(&meta),
            last_modified: Some(attributes::modified(&meta)),
            content_type: headers.content_type,
            cache_control: headers.cache_control,
            content_disposition: headers.content_disposition,
            content_encoding: headers.content_encoding,
            content_language: headers.content_language,
            expires: headers.expires,
            website_redirect_location: headers.website_redirect_location,
            tag_count: super::tags::count(headers.tagging.as_deref()),
            metadata: headers.metadata,
            version_id: version_id_of(&meta, id),
            ..GetObjectOutput::default()
        };
        set_lock!(output, meta);
        if wants_checksum(input.checksum_mode.as_ref())
            && let Some(sums) = sums(piece, &found, &meta)
        {
            output.checksum_type.clone_from(&sums.checksum_type);
            set_sums!(output, sums);
        }
        Ok(output)
    }

    /// Returns an object's headers.
    pub(super) async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        refuse_encryption(input.sse_customer_algorithm.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let store = self.store.with_read_mode(requested_reading(&request.headers)?);
        let meta = self.head_of(&store, &input.bucket, &key, id).await?;
        confirm(&request.extensions, &meta)?;
        let reading = Reading {
            if_match: input.if_match.as_ref(),
            if_none_match: input.if_none_match.as_ref(),
            if_modified_since: input.if_modified_since.as_ref(),
            if_unmodified_since: input.if_unmodified_since.as_ref(),
        };
        reading.check(&meta)?;
        let piece = piece(input.range, input.part_number)?.unless_replaced(&request.headers, &meta);
        let found = find(piece, &meta)?;
        let headers = Headers::from_attributes(&meta.attributes);
        let mut output = HeadObjectOutput {
            content_length: Some(signed(found.range.end - found.range.start)),
            accept_ranges: Some("bytes".to_owned()),
            content_range: content_range(&found, &meta),
            parts_count: found.parts.and_then(|count| i32::try_from(count).ok()),
            e_tag: etag(&meta),
            last_modified: Some(attributes::modified(&meta)),
            // s3s applies these parameters to responses to GET but not to HEAD.
            content_type: input.response_content_type.or(headers.content_type),
            cache_control: input.response_cache_control.or(headers.cache_control),
            content_disposition: input.response_content_disposition.or(headers.content_disposition),
            content_encoding: input.response_content_encoding.or(headers.content_encoding),
            content_language: input.response_content_language.or(headers.content_language),
            expires: input.response_expires.or(headers.expires),
            website_redirect_location: headers.website_redirect_location,
            metadata: headers.metadata,
            version_id: version_id_of(&meta, id),
            ..HeadObjectOutput::default()
        };
        set_lock!(output, meta);
        if wants_checksum(input.checksum_mode.as_ref())
            && let Some(sums) = sums(piece, &found, &meta)
        {
            output.checksum_type.clone_from(&sums.checksum_type);
            set_sums!(output, sums);
        }
        let mut response = S3Response::new(output);
        if let Some(count) = super::tags::count(headers.tagging.as_deref()) {
            response.headers.insert(TAG_COUNT, HeaderValue::from(count));
        }
        Ok(response)
    }

    /// Returns selected properties of an object.
    pub(super) async fn get_object_attributes(
        &self,
        request: S3Request<GetObjectAttributesInput>,
    ) -> S3Result<GetObjectAttributesOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        refuse_encryption(input.sse_customer_algorithm.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let meta = self.head_of(&self.store, &input.bucket, &key, id).await?;
        confirm(&request.extensions, &meta)?;
        // Clients send one header with commas, or several headers.
        let wanted = |name| {
            let mut all = input
                .object_attributes
                .iter()
                .flat_map(|wanted| wanted.as_str().split(','));
            all.any(|wanted| wanted.trim() == name)
        };
        let sums = checksum::stored(&meta.attributes);
        let parts = match meta.attributes.get(attributes::PARTS) {
            Some(text) if wanted(ObjectAttributes::OBJECT_PARTS) => {
                let page = (input.part_number_marker, input.max_parts);
                Some(list_parts(text, &meta, page)?)
            }
            _ => None,
        };
        let has_sum = checksum::Algorithm::of(&meta.attributes).is_some();
        Ok(GetObjectAttributesOutput {
            checksum: (has_sum && wanted(ObjectAttributes::CHECKSUM)).then_some(sums),
            e_tag: etag(&meta).filter(|_| wanted(ObjectAttributes::ETAG)),
            last_modified: Some(attributes::modified(&meta)),
            object_parts: parts,
            object_size: wanted(ObjectAttributes::OBJECT_SIZE).then(|| signed(meta.size)),
            storage_class: wanted(ObjectAttributes::STORAGE_CLASS)
                .then(|| StorageClass::from_static(StorageClass::STANDARD)),
            version_id: version_id_of(&meta, id),
            ..GetObjectAttributesOutput::default()
        })
    }

    /// Opens a piece of an object. If the piece depends on the object's size or parts, these are
    /// read first. The read restarts if the object is replaced in between.
    async fn open(
        &self,
        store: &Store,
        (bucket, key, id): (&str, &Key, Option<VersionId>),
        piece: Piece,
        reading: &Reading<'_>,
        headers: &HeaderMap,
    ) -> S3Result<(Opened, ResolvedRange)> {
        let requested = piece;
        for _ in 0..ATTEMPTS {
            let mut piece = requested;
            let mut resumed = None;
            if matches!(requested, Piece::Bytes(_)) && headers.contains_key(http::header::IF_RANGE) {
                let meta = self.head_of(store, bucket, key, id).await?;
                reading.check(&meta)?;
                piece = requested.unless_replaced(headers, &meta);
                resumed = Some(meta.version);
            }
            let (range, looked) = match piece {
                Piece::Whole => (None, None),
                // The store cuts a range at the object's end, so the size need not be read first.
                Piece::Bytes(dto::Range::Int { first, last }) => (
                    Some(first..last.map_or(u64::MAX, |last| last.saturating_add(1))),
                    None,
                ),
                Piece::Bytes(dto::Range::Suffix { .. }) | Piece::Part(_) => {
                    let meta = self.head_of(store, bucket, key, id).await?;
                    reading.check(&meta)?;
                    let found = find(piece, &meta)?;
                    // A range cannot be empty, unlike an object or a part.
                    (
                        Some(found.range).filter(|range| !range.is_empty()),
                        Some(meta.version),
                    )
                }
            };
            let opened = match get(store, key, id, range).await {
                Ok(opened) => opened,
                // Conditions take precedence over the range (RFC 9110, section 14.2): 304 and 412
                // replace 416.
                Err(StoreError::Range { size, .. }) if looked.is_none() => {
                    reading.check(&self.head_of(store, bucket, key, id).await?)?;
                    return Err(unsatisfiable(size));
                }
                Err(error) => return Err(self.explain_version(bucket, key, id, error).await),
            };
            refuse_marker(opened.meta.clone())?;
            let mut looked = looked.into_iter().chain(resumed);
            if looked.all(|version| version == opened.meta.version) {
                // The conditions are checked on the opened version and not on the one examined
                // before, so that condition and content belong to one version.
                reading.check(&opened.meta)?;
                let found = find(piece, &opened.meta)?;
                return Ok((opened, found));
            }
        }
        Err(fault(
            "ServiceUnavailable",
            "the object is being replaced too often to be read: retry",
        ))
    }

    /// Opens an object, or a range of it, as the source of a copy.
    pub(super) async fn open_source(
        &self,
        bucket: &str,
        key: &Key,
        id: Option<VersionId>,
        range: Option<Range<u64>>,
    ) -> S3Result<Opened> {
        match get(&self.store, key, id, range).await {
            Ok(opened) => refuse_marker(opened.meta.clone()).map(|_| opened),
            Err(error) => Err(self.explain_version(bucket, key, id, error).await),
        }
    }
}

async fn get(
    store: &Store,
    key: &Key,
    id: Option<VersionId>,
    range: Option<Range<u64>>,
) -> Result<Opened, StoreError> {
    match id {
        None => store.get(key, range).await,
        Some(id) => store.get_version(key, id, range).await,
    }
}

/// Returns which versions a client accepts: the current one, unless it sends `x-weft-read: any`.
fn requested_reading(headers: &HeaderMap) -> S3Result<store::ReadMode> {
    match headers.get(READ).map(HeaderValue::as_bytes) {
        None => Ok(store::ReadMode::Current),
        Some(b"any") => Ok(store::ReadMode::Any),
        Some(_) => Err(fault("InvalidArgument", "x-weft-read: expected any")),
    }
}

fn piece(range: Option<dto::Range>, part: Option<i32>) -> S3Result<Piece> {
    match (range, part) {
        (Some(_), Some(_)) => Err(fault(
            "InvalidRequest",
            "a range and a part number cannot both be given",
        )),
        (Some(range), None) => Ok(Piece::Bytes(range)),
        (None, Some(number)) => Ok(Piece::Part(number)),
        (None, None) => Ok(Piece::Whole),
    }
}

fn find(piece: Piece, meta: &Meta) -> S3Result<ResolvedRange> {
    match piece {
        Piece::Whole => Ok(ResolvedRange {
            range: 0..meta.size,
            parts: None,
            partial: false,
        }),
        Piece::Bytes(range) => {
            let range = range.check(meta.size).map_err(|_| unsatisfiable(meta.size))?;
            Ok(ResolvedRange {
                range,
                parts: None,
                partial: true,
            })
        }
        Piece::Part(number) => match meta.attributes.get(attributes::PARTS) {
            Some(text) => {
                let (range, count) = part_sizes::range(text, number)?;
                Ok(ResolvedRange {
                    range,
                    parts: Some(count),
                    partial: true,
                })
            }
            // As in S3, an object that was not uploaded in parts is its own part 1.
            None if number == 1 => Ok(ResolvedRange {
                range: 0..meta.size,
                parts: None,
                partial: meta.size > 0,
            }),
            None => Err(fault(
                "InvalidPart",
                format!("there is no part {number}, the object has none"),
            )),
        },
    }
}

fn content_range(found: &ResolvedRange, meta: &Meta) -> Option<String> {
    let Range { start, end } = found.range;
    (found.partial && end > start).then(|| format!("bytes {start}-{}/{}", end - 1, meta.size))
}

fn unsatisfiable(size: u64) -> S3Error {
    let mut error = fault(
        "InvalidRange",
        format!("the range is outside the object's {size} bytes"),
    );
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{size}")) {
        headers.insert(http::header::CONTENT_RANGE, value);
        headers.insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/xml"),
        );
    }
    error.set_headers(headers);
    error
}

/// Returns the stored checksum of the requested object or part. A range has none, because the
/// checksum of the whole would mislead.
fn sums(piece: Piece, found: &ResolvedRange, meta: &Meta) -> Option<Checksum> {
    match piece {
        _ if !found.partial => Some(checksum::stored(&meta.attributes)),
        Piece::Part(number) if found.parts.is_some() => {
            checksum::of_part(&meta.attributes, usize::try_from(number).ok()?)
        }
        Piece::Part(_) => Some(checksum::stored(&meta.attributes)),
        Piece::Whole | Piece::Bytes(_) => None,
    }
}

fn wants_checksum(mode: Option<&ChecksumMode>) -> bool {
    mode.is_some_and(|mode| mode.as_str().eq_ignore_ascii_case(ChecksumMode::ENABLED))
}

fn refuse_encryption(algorithm: Option<&str>) -> S3Result<()> {
    match algorithm {
        None => Ok(()),
        Some(_) => Err(not_implemented("server-side encryption")),
    }
}

fn list_parts(
    text: &str,
    meta: &Meta,
    (marker, max): (Option<i32>, Option<i32>),
) -> S3Result<GetObjectAttributesParts> {
    let sizes = part_sizes::decode(text)?;
    let after = usize::try_from(marker.unwrap_or(0)).unwrap_or(0);
    let limit = usize::try_from(max.unwrap_or(1000)).unwrap_or(0).min(1000);
    let page = sizes.iter().enumerate().skip(after).take(limit);
    let listed: Vec<_> = page
        .map(|(index, size)| {
            let mut part = ObjectPart {
                part_number: i32::try_from(index + 1).ok(),
                size: Some(signed(*size)),
                ..ObjectPart::default()
            };
            if let Some(sums) = checksum::of_part(&meta.attributes, index + 1) {
                set_sums!(part, sums);
            }
            part
        })
        .collect();
    Ok(GetObjectAttributesParts {
        is_truncated: Some(after + listed.len() < sizes.len()),
        max_parts: i32::try_from(limit).ok(),
        next_part_number_marker: i32::try_from(after + listed.len()).ok(),
        part_number_marker: marker,
        parts: Some(listed),
        total_parts_count: i32::try_from(sizes.len()).ok(),
    })
}
