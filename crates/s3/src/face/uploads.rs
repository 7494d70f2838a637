//! Uploads in parts.
//!
//! Parts are received in any order and lie in the store as safe as objects. Completing joins them in one pass; when that
//! takes long, the answer begins before it is done and is kept alive with white space, as in S3: then the outcome
//! stands in the answer's body, whatever its status.

use std::collections::BTreeMap;
use std::time::Duration;

use s3s::dto::{self, *};
use s3s::{S3Request, S3Result};
use store::key::Key;
use store::meta::Meta;
use store::store::{Complete, Condition, Part as Received, Store, StoreError, Upload};

use super::lists::{Spelling, limit};
use super::{Face, copies, etag, signed};
use crate::attributes::{self, OWNER, PARTS, UPLOAD, headers_of};
use crate::checksum::{self, Algorithm, COMPOSITE, FULL_OBJECT, TYPE, set_sums, sums_of};
use crate::conditions::{self, Reading, Writing};
use crate::content::{Carried, Content};
use crate::error::{fault, from_store, not_implemented};
use crate::{names, parts};

/// Highest number of a part, as in S3.
const PART_NUMBER_MAX: i32 = 10_000;

/// Smallest part but for the last, in bytes, as in S3.
const PART_BYTES_MIN: u64 = 5 * 1024 * 1024;

/// Attribute of an upload: algorithm and type of its checksum, `CRC32 COMPOSITE`.
const CHECKSUM: &str = "weft-checksum";

/// How long a client waits for the outcome of completing before its answer begins without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The checksum that an upload is to have.
#[derive(Clone, Copy)]
struct Planned {
    algorithm: Algorithm,
    full: bool,
}

impl Face {
    /// Begins an upload.
    pub(super) async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<CreateMultipartUploadOutput> {
        let user = self.user(request.credentials.as_ref());
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let mut attributes = headers_of!(input)?.into_attributes()?;
        super::tags::check(&attributes)?;
        let planned = Planned::of(input.checksum_algorithm.as_ref(), input.checksum_type.as_ref())?;
        self.bucket(&input.bucket).await?;
        attributes.insert(OWNER.to_owned(), user);
        attributes.extend(planned.map(|planned| (CHECKSUM.to_owned(), planned.encode())));
        let upload = self
            .store
            .create_upload(&key, attributes)
            .await
            .map_err(from_store)?;
        Ok(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(upload.id),
            checksum_algorithm: planned.map(Planned::name),
            checksum_type: planned.map(Planned::kind),
            ..CreateMultipartUploadOutput::default()
        })
    }

    /// Receives a part.
    pub(super) async fn upload_part(
        &self,
        request: S3Request<UploadPartInput>,
    ) -> S3Result<UploadPartOutput> {
        let input = request.input;
        if input.sse_customer_algorithm.is_some() {
            return Err(not_implemented("server-side encryption"));
        }
        let key = names::object(&input.bucket, &input.key)?;
        let number = part_number(input.part_number)?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        let carried = Carried {
            sums: sums_of!(input),
            body: input.body,
            length: input.content_length,
            md5: input.content_md5,
            headers: &request.headers,
            trailers: request.trailing_headers,
            extensions: &request.extensions,
        };
        let algorithm = Planned::of_upload(&upload).map(|planned| planned.algorithm);
        let content = Content::of_request(carried, algorithm, self.body_bytes_max)?;
        let meta = self.put_part(&key, &upload.id, number, content).await?;
        let mut output = UploadPartOutput {
            e_tag: etag(&meta),
            ..UploadPartOutput::default()
        };
        set_sums!(output, checksum::kept(&meta.attributes));
        Ok(output)
    }

    /// Takes a part from an object, or a range of one.
    pub(super) async fn upload_part_copy(
        &self,
        request: S3Request<UploadPartCopyInput>,
    ) -> S3Result<UploadPartCopyOutput> {
        let input = request.input;
        if input.sse_customer_algorithm.is_some() || input.copy_source_sse_customer_algorithm.is_some() {
            return Err(not_implemented("server-side encryption"));
        }
        let key = names::object(&input.bucket, &input.key)?;
        let number = part_number(input.part_number)?;
        let (bucket, from) = copies::source(&input.copy_source)?;
        let range = input.copy_source_range.as_deref().map(copy_range).transpose()?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        let opened = self.open_source(&bucket, &from, range.clone()).await?;
        let reading = Reading {
            if_match: input.copy_source_if_match.as_ref(),
            if_none_match: input.copy_source_if_none_match.as_ref(),
            if_modified_since: input.copy_source_if_modified_since.as_ref(),
            if_unmodified_since: input.copy_source_if_unmodified_since.as_ref(),
        };
        reading.check_source(&opened.meta)?;
        if range.is_some_and(|range| range.end > opened.meta.size) {
            let detail = format!("the range is outside of the source's {} bytes", opened.meta.size);
            return Err(fault("InvalidRange", detail));
        }
        let algorithm = Planned::of_upload(&upload).map(|planned| planned.algorithm);
        let size = opened.range.end - opened.range.start;
        let content = Content::of_store(opened.body, size, algorithm);
        let meta = self.put_part(&key, &upload.id, number, content).await?;
        let mut result = CopyPartResult {
            e_tag: etag(&meta),
            last_modified: Some(attributes::modified(&meta)),
            ..CopyPartResult::default()
        };
        set_sums!(result, checksum::kept(&meta.attributes));
        Ok(UploadPartCopyOutput {
            copy_part_result: Some(result),
            ..UploadPartCopyOutput::default()
        })
    }

    /// Joins the parts.
    pub(super) async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let upload = match self.upload(&input.bucket, &key, &input.upload_id).await {
            Ok(upload) => upload,
            // The answer to an earlier request may have been lost: the object says what it was made from.
            Err(error) => return self.completed(&key, &input.upload_id).await.ok_or(error),
        };
        let received = self.received(&upload).await?;
        let listed = input
            .multipart_upload
            .clone()
            .and_then(|list| list.parts)
            .unwrap_or_default();
        let chosen = choose(&listed, &received)?;
        let size: u64 = chosen.iter().map(|part| part.meta.size).sum();
        if input
            .mpu_object_size
            .is_some_and(|declared| declared != signed(size))
        {
            let detail = format!("the parts have {size} bytes together, not as x-amz-mp-object-size says");
            return Err(fault("InvalidRequest", detail));
        }
        let sizes: Vec<_> = chosen.iter().map(|part| part.meta.size).collect();
        let mut attributes = BTreeMap::from([
            (UPLOAD.to_owned(), upload.id.clone()),
            (PARTS.to_owned(), parts::encode(&sizes)),
        ]);
        attributes.extend(join_sums(Planned::of_upload(&upload), &chosen, &input)?);
        let writing = Writing {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
        };
        let condition = writing.resolve(&self.store, &key).await?;
        let complete = Complete {
            parts: chosen
                .iter()
                .map(|part| (part.number, part.meta.etag.clone()))
                .collect(),
            attributes,
            condition: condition.clone(),
            finisher: None,
        };
        finish(self.store.clone(), upload, complete, condition).await
    }

    /// Gives an upload up.
    pub(super) async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<AbortMultipartUploadOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        if let Some(time) = &input.if_match_initiated_time
            && conditions::seconds(time) != conditions::seconds(&begun(&upload))
        {
            return Err(conditions::failed());
        }
        self.store
            .abort_upload(&key, &upload.id)
            .await
            .map_err(from_store)?;
        Ok(AbortMultipartUploadOutput::default())
    }

    /// The parts received so far.
    pub(super) async fn list_parts(&self, request: S3Request<ListPartsInput>) -> S3Result<ListPartsOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        let limit = limit(input.max_parts)?;
        let after = u32::try_from(input.part_number_marker.unwrap_or(0)).unwrap_or(0);
        let page = self
            .store
            .list_parts(&key, &upload.id, after, limit)
            .await
            .map_err(from_store)?;
        let planned = Planned::of_upload(&upload);
        let user = upload.attributes.get(OWNER).cloned();
        let last = page.parts.last().map_or(after, |part| part.number);
        Ok(ListPartsOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(upload.id),
            checksum_algorithm: planned.map(Planned::name),
            checksum_type: planned.map(Planned::kind),
            initiator: Some(Initiator {
                display_name: user.clone(),
                id: user.clone(),
            }),
            owner: Some(Owner {
                display_name: user.clone(),
                id: user,
            }),
            is_truncated: Some(page.more),
            max_parts: i32::try_from(limit).ok(),
            next_part_number_marker: i32::try_from(last).ok(),
            part_number_marker: input.part_number_marker.or(Some(0)),
            parts: Some(page.parts.iter().map(part).collect()),
            storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
            ..ListPartsOutput::default()
        })
    }

    /// The uploads that stand open in a bucket.
    pub(super) async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<ListMultipartUploadsOutput> {
        let input = request.input;
        let spelling = Spelling::of(input.encoding_type.as_ref())?;
        self.bucket(&input.bucket).await?;
        let limit = limit(input.max_uploads)?;
        let page = self.open_uploads(&input, limit).await?;
        let last = page.last.filter(|_| page.more);
        let (next_key, next_id) = last.unzip();
        let uploads = page.uploads.iter().map(|upload| {
            let planned = Planned::of_upload(upload);
            let user = upload.attributes.get(OWNER).cloned();
            MultipartUpload {
                checksum_algorithm: planned.map(Planned::name),
                checksum_type: planned.map(Planned::kind),
                initiated: Some(begun(upload)),
                initiator: Some(Initiator {
                    display_name: user.clone(),
                    id: user.clone(),
                }),
                owner: Some(Owner {
                    display_name: user.clone(),
                    id: user,
                }),
                key: spelling.write(Some(upload.key.name().to_owned())),
                storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
                upload_id: Some(upload.id.clone()),
            }
        });
        Ok(ListMultipartUploadsOutput {
            uploads: Some(uploads.collect()),
            common_prefixes: Some(
                page.prefixes
                    .iter()
                    .map(|prefix| CommonPrefix {
                        prefix: spelling.write(Some(prefix.clone())),
                    })
                    .collect(),
            ),
            bucket: Some(input.bucket),
            delimiter: spelling.write(input.delimiter),
            encoding_type: input.encoding_type,
            is_truncated: Some(page.more),
            key_marker: spelling.write(input.key_marker.or_else(|| Some(String::new()))),
            max_uploads: i32::try_from(limit).ok(),
            next_key_marker: spelling.write(next_key),
            next_upload_id_marker: next_id,
            prefix: spelling.write(input.prefix.or_else(|| Some(String::new()))),
            request_charged: None,
            upload_id_marker: input.upload_id_marker,
        })
    }

    async fn upload(&self, bucket: &str, key: &Key, id: &str) -> S3Result<Upload> {
        match self.store.upload(key, id).await {
            Ok(upload) => Ok(upload),
            Err(error) => {
                if let StoreError::NoUpload { .. } = error {
                    self.bucket(bucket).await?;
                }
                Err(from_store(error))
            }
        }
    }

    async fn put_part(&self, key: &Key, id: &str, number: u32, content: Content) -> S3Result<Meta> {
        let (stream, put, explain) = content.into_parts();
        self.store
            .put_part(key, id, number, stream, put)
            .await
            .map_err(explain)
    }

    /// All parts received, by number.
    async fn received(&self, upload: &Upload) -> S3Result<BTreeMap<u32, Received>> {
        let mut received = BTreeMap::new();
        let mut after = 0;
        loop {
            let page = self
                .store
                .list_parts(&upload.key, &upload.id, after, 1000)
                .await
                .map_err(from_store)?;
            let Some(last) = page.parts.last() else {
                return Ok(received);
            };
            after = last.number;
            received.extend(page.parts.into_iter().map(|part| (part.number, part)));
            if !page.more {
                return Ok(received);
            }
        }
    }

    /// The outcome of an upload that was completed before.
    async fn completed(&self, key: &Key, id: &str) -> Option<CompleteMultipartUploadOutput> {
        let meta = self.store.head(key).await.ok()?;
        (meta.attributes.get(UPLOAD)? == id).then(|| outcome(&meta))
    }

    /// A page of open uploads. The store lists them in order of `key/id`; rolling up is done here, because a delimiter
    /// must not be found in an id.
    async fn open_uploads(&self, input: &ListMultipartUploadsInput, limit: usize) -> S3Result<OpenUploads> {
        let bucket = format!("{}/", input.bucket);
        let prefix = format!("{bucket}{}", input.prefix.as_deref().unwrap_or_default());
        let delimiter = input
            .delimiter
            .as_deref()
            .filter(|delimiter| !delimiter.is_empty());
        let marker = input.key_marker.as_deref().filter(|marker| !marker.is_empty());
        let id_marker = input
            .upload_id_marker
            .as_deref()
            .filter(|marker| !marker.is_empty());
        let mut after = match (marker, id_marker) {
            (Some(key), Some(id)) => Some(format!("{bucket}{key}/{id}")),
            _ => None,
        };
        let past = marker.filter(|_| id_marker.is_none());
        let mut page = OpenUploads::default();
        if limit == 0 {
            return Ok(page);
        }
        loop {
            let uploads = self
                .store
                .list_uploads(&prefix, after.as_deref(), 1000)
                .await
                .map_err(from_store)?;
            for upload in uploads.uploads {
                let name = upload.key.name();
                if past.is_some_and(|past| name <= past) {
                    continue;
                }
                let rolled = delimiter.and_then(|delimiter| {
                    let rest = upload.key.as_str().strip_prefix(&prefix)?;
                    let end = rest.find(delimiter)? + delimiter.len();
                    name.get(..name.len() - rest.len() + end).map(str::to_owned)
                });
                if rolled
                    .as_ref()
                    .is_some_and(|rolled| page.prefixes.contains(rolled))
                {
                    page.last = Some((name.to_owned(), upload.id));
                    continue;
                }
                if page.uploads.len() + page.prefixes.len() == limit {
                    page.more = true;
                    return Ok(page);
                }
                page.last = Some((name.to_owned(), upload.id.clone()));
                match rolled {
                    Some(rolled) => page.prefixes.push(rolled),
                    None => page.uploads.push(upload),
                }
            }
            after = uploads.next;
            if after.is_none() {
                return Ok(page);
            }
        }
    }
}

/// A page of open uploads.
#[derive(Default)]
struct OpenUploads {
    uploads: Vec<Upload>,
    prefixes: Vec<String>,
    /// Key and id of the last upload looked at.
    last: Option<(String, String)>,
    more: bool,
}

impl Planned {
    fn of(algorithm: Option<&ChecksumAlgorithm>, kind: Option<&ChecksumType>) -> S3Result<Option<Self>> {
        let Some(algorithm) = algorithm.map(ChecksumAlgorithm::as_str) else {
            return match kind {
                None => Ok(None),
                Some(_) => Err(fault(
                    "InvalidRequest",
                    "a checksum type needs a checksum algorithm",
                )),
            };
        };
        let algorithm = Algorithm::by_name(algorithm)?;
        let kind = kind.map(ChecksumType::as_str);
        let full = match (algorithm, kind) {
            (Algorithm::Crc64Nvme, None | Some(FULL_OBJECT)) => true,
            (Algorithm::Crc32 | Algorithm::Crc32c, Some(FULL_OBJECT)) => true,
            (Algorithm::Crc32 | Algorithm::Crc32c, None | Some(COMPOSITE)) => false,
            (Algorithm::Sha1 | Algorithm::Sha256, None | Some(COMPOSITE)) => false,
            (_, kind) => {
                let kind = kind.unwrap_or_default();
                let detail = format!(
                    "the checksum type {kind:?} cannot be used with {}",
                    algorithm.name()
                );
                return Err(fault("InvalidRequest", detail));
            }
        };
        Ok(Some(Self { algorithm, full }))
    }

    fn of_upload(upload: &Upload) -> Option<Self> {
        let (algorithm, kind) = upload.attributes.get(CHECKSUM)?.split_once(' ')?;
        Some(Self {
            algorithm: Algorithm::by_name(algorithm).ok()?,
            full: kind == FULL_OBJECT,
        })
    }

    fn encode(self) -> String {
        format!("{} {}", self.algorithm.name(), self.kind().as_str())
    }

    fn name(self) -> ChecksumAlgorithm {
        ChecksumAlgorithm::from_static(self.algorithm.name())
    }

    fn kind(self) -> ChecksumType {
        ChecksumType::from_static(if self.full { FULL_OBJECT } else { COMPOSITE })
    }
}

/// Joins the parts apart from the request, so that the answer can begin before it is done.
async fn finish(
    store: Store,
    upload: Upload,
    complete: Complete,
    condition: Condition,
) -> S3Result<CompleteMultipartUploadOutput> {
    let mut joining = tokio::spawn(async move {
        let joined = store.complete_upload(&upload.key, &upload.id, complete).await;
        joined
            .map(|meta| outcome(&meta))
            .map_err(|error| conditions::refused(&condition, error))
    });
    let ended = |ended: Result<S3Result<_>, tokio::task::JoinError>| {
        ended.unwrap_or_else(|error| Err(fault("InternalError", format!("joining the parts: {error}"))))
    };
    match tokio::time::timeout(PATIENCE, &mut joining).await {
        Ok(done) => ended(done),
        Err(_) => Ok(CompleteMultipartUploadOutput {
            future: Some(Box::pin(async move { ended(joining.await) })),
            ..CompleteMultipartUploadOutput::default()
        }),
    }
}

fn outcome(meta: &Meta) -> CompleteMultipartUploadOutput {
    let sums = checksum::kept(&meta.attributes);
    let mut output = CompleteMultipartUploadOutput {
        bucket: Some(meta.key.bucket().to_owned()),
        key: Some(meta.key.name().to_owned()),
        e_tag: etag(meta),
        location: Some(format!("/{}", meta.key)),
        checksum_type: sums.checksum_type.clone(),
        ..CompleteMultipartUploadOutput::default()
    };
    set_sums!(output, sums);
    output
}

/// The parts that the client lists, as they were received.
fn choose<'a>(
    listed: &[CompletedPart],
    received: &'a BTreeMap<u32, Received>,
) -> S3Result<Vec<&'a Received>> {
    if listed.is_empty() {
        return Err(fault("MalformedXML", "no part is listed"));
    }
    if !listed.is_sorted_by(|a, b| a.part_number < b.part_number) {
        return Err(fault(
            "InvalidPartOrder",
            "the parts are not listed in rising order",
        ));
    }
    let mut chosen = Vec::with_capacity(listed.len());
    for part in listed {
        let number = part.part_number.unwrap_or_default();
        let found = u32::try_from(number)
            .ok()
            .and_then(|number| received.get(&number));
        let wanted = part.e_tag.as_ref().map(ETag::value);
        let Some(found) = found.filter(|found| wanted == Some(found.meta.etag.as_str())) else {
            let detail = format!("part {number} was not received with entity tag {wanted:?}");
            return Err(fault("InvalidPart", detail));
        };
        if let Some((algorithm, kept)) = Algorithm::of(&found.meta.attributes)
            && algorithm
                .value(&sums_of!(part))
                .is_some_and(|declared| declared != kept)
        {
            let detail = format!("the {} of part {number} is {kept}", algorithm.name());
            return Err(fault("InvalidPart", detail));
        }
        chosen.push(found);
    }
    let small = chosen
        .iter()
        .rev()
        .skip(1)
        .find(|part| part.meta.size < PART_BYTES_MIN);
    match small {
        None => Ok(chosen),
        Some(part) => {
            let (number, size) = (part.number, part.meta.size);
            let detail = format!("part {number} has {size} bytes, all but the last need {PART_BYTES_MIN}");
            Err(fault("EntityTooSmall", detail))
        }
    }
}

/// The attributes of the object's checksum, made from those of its parts and compared with what the client declared.
fn join_sums(
    planned: Option<Planned>,
    chosen: &[&Received],
    input: &CompleteMultipartUploadInput,
) -> S3Result<Vec<(String, String)>> {
    let declared = sums_of!(input);
    let other = |planned: Option<Algorithm>| {
        let all = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"]
            .into_iter()
            .flat_map(Algorithm::by_name);
        let mut others = all.filter(|algorithm| Some(*algorithm) != planned);
        others.any(|algorithm| algorithm.value(&declared).is_some())
    };
    let kind = input.checksum_type.as_ref();
    if other(planned.map(|planned| planned.algorithm))
        || kind.is_some_and(|kind| planned.is_none_or(|planned| planned.kind() != *kind))
    {
        return Err(fault(
            "InvalidRequest",
            "the checksum is not of the type that the upload was begun with",
        ));
    }
    let Some(planned) = planned else {
        return Ok(Vec::new());
    };
    let header = planned.algorithm.header();
    let sum_of = |part: &&Received| {
        let sum = part.meta.attributes.get(header).cloned();
        sum.ok_or_else(|| {
            fault(
                "InternalError",
                format!("part {} was kept without its checksum", part.number),
            )
        })
    };
    let sums = chosen.iter().map(sum_of).collect::<S3Result<Vec<_>>>()?;
    let sum = match planned.full {
        true => {
            let parts: Vec<_> = sums
                .into_iter()
                .zip(chosen)
                .map(|(sum, part)| (sum, part.meta.size))
                .collect();
            checksum::combined(planned.algorithm, &parts)?
        }
        false => checksum::composite(planned.algorithm, &sums)?,
    };
    let bare = sum.split('-').next().unwrap_or_default();
    if let Some(declared) = planned.algorithm.value(&declared)
        && declared != sum
        && declared != bare
    {
        let detail = format!(
            "the {} is {sum}, {header} says {declared}",
            planned.algorithm.name()
        );
        return Err(fault("BadDigest", detail));
    }
    Ok(vec![
        (header.to_owned(), sum),
        (TYPE.to_owned(), planned.kind().as_str().to_owned()),
    ])
}

fn part(part: &Received) -> Part {
    let mut listed = Part {
        e_tag: etag(&part.meta),
        last_modified: Some(attributes::modified(&part.meta)),
        part_number: i32::try_from(part.number).ok(),
        size: Some(signed(part.meta.size)),
        ..Part::default()
    };
    set_sums!(listed, checksum::kept(&part.meta.attributes));
    listed
}

fn begun(upload: &Upload) -> Timestamp {
    let nanos = i128::from(upload.created_ms) * 1_000_000;
    time::OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
        .into()
}

fn part_number(number: i32) -> S3Result<u32> {
    let number = Some(number).filter(|number| (1..=PART_NUMBER_MAX).contains(number));
    number
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| {
            fault(
                "InvalidArgument",
                format!("a part number is not 1 to {PART_NUMBER_MAX}"),
            )
        })
}

/// `bytes=FIRST-LAST`, both ends given.
fn copy_range(text: &str) -> S3Result<std::ops::Range<u64>> {
    match dto::Range::parse(text) {
        Ok(dto::Range::Int {
            first,
            last: Some(last),
        }) => Ok(first..last.saturating_add(1)),
        _ => Err(fault(
            "InvalidArgument",
            format!("{text:?} is not bytes=FIRST-LAST"),
        )),
    }
}
