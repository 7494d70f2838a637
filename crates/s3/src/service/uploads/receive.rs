//! Receives parts from a client or from another object.

use s3s::dto::{self, *};
use s3s::{S3Request, S3Result};
use store::{Key, Meta};

use super::upload_checksum::UploadChecksum;
use crate::access::confirm_source;
use crate::attributes;
use crate::checksum::{self, set_sums, sums_of};
use crate::content::{RequestContent, UploadContent};
use crate::error::{fault, not_implemented};
use crate::names;
use crate::preconditions::Reading;
use crate::service::versions::version_id_of;
use crate::service::{StoreService, copies, etag};

/// Highest part number, as in S3.
const PART_NUMBER_MAX: i32 = 10_000;

impl StoreService {
    /// Receives a part.
    pub(in crate::service) async fn upload_part(
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
        let request_content = RequestContent {
            sums: sums_of!(input),
            body: input.body,
            length: input.content_length,
            md5: input.content_md5,
            headers: &request.headers,
            trailers: request.trailing_headers,
            extensions: &request.extensions,
        };
        let algorithm = UploadChecksum::of_upload(&upload).map(|upload_checksum| upload_checksum.algorithm);
        let content = UploadContent::of_request(request_content, algorithm, self.body_bytes_max)?;
        let meta = self.put_part(&key, &upload.id, number, content).await?;
        let mut output = UploadPartOutput {
            e_tag: etag(&meta),
            ..UploadPartOutput::default()
        };
        set_sums!(output, checksum::stored(&meta.attributes));
        Ok(output)
    }

    /// Copies a part from an object or a range of it.
    pub(in crate::service) async fn upload_part_copy(
        &self,
        request: S3Request<UploadPartCopyInput>,
    ) -> S3Result<UploadPartCopyOutput> {
        let input = request.input;
        if input.sse_customer_algorithm.is_some() || input.copy_source_sse_customer_algorithm.is_some() {
            return Err(not_implemented("server-side encryption"));
        }
        let key = names::object(&input.bucket, &input.key)?;
        let number = part_number(input.part_number)?;
        let (bucket, from, id) = copies::source(&input.copy_source)?;
        let range = input.copy_source_range.as_deref().map(copy_range).transpose()?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        let opened = self.open_source(&bucket, &from, id, range.clone()).await?;
        confirm_source(&request.extensions, &opened.meta)?;
        let reading = Reading {
            if_match: input.copy_source_if_match.as_ref(),
            if_none_match: input.copy_source_if_none_match.as_ref(),
            if_modified_since: input.copy_source_if_modified_since.as_ref(),
            if_unmodified_since: input.copy_source_if_unmodified_since.as_ref(),
        };
        reading.check_source(&opened.meta)?;
        if range.is_some_and(|range| range.end > opened.meta.size) {
            let detail = format!("the range is outside the source's {} bytes", opened.meta.size);
            return Err(fault("InvalidRange", detail));
        }
        let algorithm = UploadChecksum::of_upload(&upload).map(|upload_checksum| upload_checksum.algorithm);
        let size = opened.range.end - opened.range.start;
        let source_id = version_id_of(&opened.meta, id);
        let content = UploadContent::of_store(opened.body, size, algorithm);
        let meta = self.put_part(&key, &upload.id, number, content).await?;
        let mut result = CopyPartResult {
            e_tag: etag(&meta),
            last_modified: Some(attributes::modified(&meta)),
            ..CopyPartResult::default()
        };
        set_sums!(result, checksum::stored(&meta.attributes));
        Ok(UploadPartCopyOutput {
            copy_part_result: Some(result),
            copy_source_version_id: source_id,
            ..UploadPartCopyOutput::default()
        })
    }

    async fn put_part(&self, key: &Key, id: &str, number: u32, content: UploadContent) -> S3Result<Meta> {
        let (stream, put, explain) = content.into_parts();
        self.store
            .put_part(key, id, number, stream, put)
            .await
            .map_err(explain)
    }
}

fn part_number(number: i32) -> S3Result<u32> {
    let number = Some(number).filter(|number| (1..=PART_NUMBER_MAX).contains(number));
    number
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| {
            fault(
                "InvalidArgument",
                format!("a part number must be 1 to {PART_NUMBER_MAX}"),
            )
        })
}

/// Parses `bytes=FIRST-LAST`; both ends are required.
fn copy_range(text: &str) -> S3Result<std::ops::Range<u64>> {
    match dto::Range::parse(text) {
        Ok(dto::Range::Int {
            first,
            last: Some(last),
        }) => Ok(first..last.saturating_add(1)),
        _ => Err(fault(
            "InvalidArgument",
            format!("{text:?}: expected bytes=FIRST-LAST"),
        )),
    }
}
