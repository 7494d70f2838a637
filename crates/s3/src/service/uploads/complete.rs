//! Completes an upload by joining its parts to an object.
//!
//! If this takes long, the response begins early and is kept alive with white space, as in S3. The
//! response's body then has the outcome, independently of the status.

use std::collections::BTreeMap;
use std::time::Duration;

use s3s::dto::{CompleteMultipartUploadInput, CompleteMultipartUploadOutput, CompletedPart, ETag};
use s3s::{S3Request, S3Result};
use store::{Complete, Condition, Key, Meta, Multipart, Part as Received, Protection, Store};

use super::upload_checksum::{UploadChecksum, join};
use crate::attributes::{PARTS, UPLOAD};
use crate::checksum::{self, Algorithm, set_sums, sums_of};
use crate::error::{fault, from_store};
use crate::lock::LockRequest;
use crate::preconditions::{self, Writing};
use crate::service::versions::version_id_of;
use crate::service::{StoreService, etag, signed};
use crate::{names, part_sizes};

/// Fewest bytes of a part other than the last, as in S3.
const PART_BYTES_MIN: u64 = 5 * 1024 * 1024;

/// How long the response waits for the outcome before it begins without it. A shorter time would
/// hide more errors in responses of status 200; after a longer silence, clients or proxies give up.
const PATIENCE: Duration = Duration::from_secs(5);

impl StoreService {
    /// Joins the parts.
    ///
    /// If several requests complete one upload, only one of them joins its parts. The others, and a
    /// client that retries after a lost response, find the upload or its parts removed, or an
    /// object that their condition forbids. Therefore any error is followed by a check of the
    /// object: if it was made from this upload, the request succeeds.
    pub(in crate::service) async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let id = input.upload_id.clone();
        match self.join_parts(input, &key).await {
            Ok(output) => Ok(output),
            Err(error) => completed(&self.store, &key, &id).await.ok_or(error),
        }
    }

    async fn join_parts(
        &self,
        input: CompleteMultipartUploadInput,
        key: &Key,
    ) -> S3Result<CompleteMultipartUploadOutput> {
        let upload = self.upload(&input.bucket, key, &input.upload_id).await?;
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
            let detail = format!("the parts have {size} bytes in total, which is not x-amz-mp-object-size");
            return Err(fault("InvalidRequest", detail));
        }
        let sizes: Vec<_> = chosen.iter().map(|part| part.meta.size).collect();
        let mut attributes = BTreeMap::from([
            (UPLOAD.to_owned(), upload.id.clone()),
            (PARTS.to_owned(), part_sizes::encode(&sizes)),
        ]);
        attributes.extend(join(UploadChecksum::of_upload(&upload), &chosen, &input)?);
        let writing = Writing {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
        };
        let condition = writing.resolve(&self.store, key).await?;
        let record = self.bucket(&input.bucket).await?;
        let lock = LockRequest::of_upload(Protection::of(&upload.attributes));
        let complete = Complete {
            parts: chosen
                .iter()
                .map(|part| (part.number, part.meta.etag.clone()))
                .collect(),
            attributes,
            condition: condition.clone(),
            versioning: record.versioning(),
            protect: lock.resolve(&record)?,
            ..Complete::default()
        };
        finish(self.store.clone(), upload, complete, condition).await
    }

    /// Returns all received parts by number.
    async fn received(&self, upload: &Multipart) -> S3Result<BTreeMap<u32, Received>> {
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
}

/// Returns the outcome of an upload that was completed earlier.
async fn completed(store: &Store, key: &Key, id: &str) -> Option<CompleteMultipartUploadOutput> {
    let meta = store.head(key).await.ok()?;
    (meta.attributes.get(UPLOAD)? == id).then(|| outcome(&meta))
}

/// Joins the parts in a separate task, so that the response can begin before it has finished.
async fn finish(
    store: Store,
    upload: Multipart,
    complete: Complete,
    condition: Condition,
) -> S3Result<CompleteMultipartUploadOutput> {
    let mut joining = tokio::spawn(async move {
        match store.complete_multipart(&upload.key, &upload.id, complete).await {
            Ok(meta) => Ok(outcome(&meta)),
            // Checked here as well, because the response may already have begun.
            Err(error) => completed(&store, &upload.key, &upload.id)
                .await
                .ok_or_else(|| preconditions::refused(&condition, error)),
        }
    });
    let ended = |ended: Result<S3Result<_>, tokio::task::JoinError>| {
        ended.unwrap_or_else(|error| Err(fault("InternalError", format!("cannot join the parts: {error}"))))
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
    let sums = checksum::stored(&meta.attributes);
    let mut output = CompleteMultipartUploadOutput {
        bucket: Some(meta.key.bucket().to_owned()),
        key: Some(meta.key.name().to_owned()),
        e_tag: etag(meta),
        location: Some(format!("/{}", meta.key)),
        checksum_type: sums.checksum_type.clone(),
        version_id: version_id_of(meta, None),
        ..CompleteMultipartUploadOutput::default()
    };
    set_sums!(output, sums);
    output
}

/// Returns the received parts that the client lists.
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
    // The last listed part may have any length.
    let small = chosen
        .iter()
        .rev()
        .skip(1)
        .find(|part| part.meta.size < PART_BYTES_MIN);
    match small {
        None => Ok(chosen),
        Some(part) => {
            let (number, size) = (part.number, part.meta.size);
            let detail = format!("part {number} has {size} bytes, all but the last require {PART_BYTES_MIN}");
            Err(fault("EntityTooSmall", detail))
        }
    }
}
