//! Copies objects within the store.

use std::collections::BTreeMap;

use s3s::dto::{CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource};
use s3s::{S3Request, S3Result};
use store::{Key, Meta, StoreError, VersionId};

use super::versions::{requested_version, version_id_of};
use super::{StoreService, etag};
use crate::access::confirm_source;
use crate::acl::{ACL, acl_request_of};
use crate::attributes::{self, MADE, OWNER, PART_SUMS, PARTS, TAGGING, UPLOAD, VERSION, headers_of};
use crate::checksum::{self, Algorithm, set_sums};
use crate::content::UploadContent;
use crate::error::{fault, not_implemented};
use crate::lock::lock_of;
use crate::names;
use crate::preconditions::{self, Reading, Writing};

/// Names and values of an object's attributes.
type Attributes = BTreeMap<String, String>;

impl StoreService {
    /// Copies an object, with its own headers or with new ones.
    pub(super) async fn copy_object(
        &self,
        request: S3Request<CopyObjectInput>,
    ) -> S3Result<CopyObjectOutput> {
        let input = request.input;
        refuse_options(&input)?;
        let (bucket, from, id) = source(&input.copy_source)?;
        let to = names::object(&input.bucket, &input.key)?;
        let record = self.bucket(&input.bucket).await?;
        let writer = self.writer(request.credentials.as_ref());
        let protect = lock_of!(input)?.resolve(&record)?;
        let acl = acl_request_of!(input, request.headers);
        let ownership_attributes = self.ownership_attributes(&record, &input.bucket, writer, &acl)?;
        let replaced = Replaced::of(&input)?;
        if from == to && id.is_none() && !replaced.anything && input.website_redirect_location.is_none() {
            let detail = "a copy onto itself must change the object's metadata";
            return Err(fault("InvalidRequest", detail));
        }
        let condition = Writing::of_headers(&request.headers)?;
        let condition = condition.resolve(&self.store, &to).await?;
        let opened = self.open_source(&bucket, &from, id, None).await?;
        confirm_source(&request.extensions, &opened.meta)?;
        source_conditions(&input).check_source(&opened.meta)?;
        let from_request = headers_of!(input)?.into_attributes()?;
        let algorithm = match &input.checksum_algorithm {
            Some(algorithm) => Some(Algorithm::by_name(algorithm.as_str())?),
            None => Algorithm::of(&opened.meta.attributes).map(|kept| kept.0),
        };
        let source_id = version_id_of(&opened.meta, id);
        let mut attributes = replaced.attributes(opened.meta.attributes, from_request);
        // Checked before the owner is set, because the limits apply to the client's values only.
        super::tags::check(&attributes)?;
        attributes.extend(ownership_attributes);
        let content = UploadContent::of_store(opened.body, opened.meta.size, algorithm);
        let (stream, mut put, explain) = content.into_parts();
        put.attributes = attributes;
        put.condition = condition.clone();
        put.versioning = record.versioning();
        put.protect = protect;
        let written = self.store.put(&to, stream, put).await;
        let meta = written.map_err(|error| match error {
            StoreError::Condition { .. } => preconditions::refused(&condition, error),
            error => explain(error),
        })?;
        Ok(CopyObjectOutput {
            copy_object_result: Some(result(&meta)),
            copy_source_version_id: source_id,
            version_id: version_id_of(&meta, None),
            ..CopyObjectOutput::default()
        })
    }
}

/// Which attributes a copy takes from the request instead of from its source.
struct Replaced {
    metadata: bool,
    tags: bool,
    /// Whether any of these is replaced.
    anything: bool,
}

impl Replaced {
    fn of(input: &CopyObjectInput) -> S3Result<Self> {
        let metadata = input.metadata_directive.as_ref();
        let metadata = is_replace(metadata.map(|directive| directive.as_str()))?;
        let tags = input.tagging_directive.as_ref();
        let tags = is_replace(tags.map(|directive| directive.as_str()))?;
        Ok(Self {
            metadata,
            tags,
            anything: metadata || tags,
        })
    }

    /// Returns the attributes of the copy, from those of its source and of the request.
    fn attributes(&self, kept: Attributes, mut from_request: Attributes) -> Attributes {
        let kept_tags = kept.get(TAGGING).cloned();
        let given_tags = from_request.remove(TAGGING);
        let mut attributes = if self.metadata { from_request } else { kept };
        attributes.retain(|name, _| !is_of_the_writing(name));
        let tags = if self.tags { given_tags } else { kept_tags };
        attributes.extend(tags.map(|tags| (TAGGING.to_owned(), tags)));
        attributes
    }
}

/// Returns the conditions on the source.
fn source_conditions(input: &CopyObjectInput) -> Reading<'_> {
    Reading {
        if_match: input.copy_source_if_match.as_ref(),
        if_none_match: input.copy_source_if_none_match.as_ref(),
        if_modified_since: input.copy_source_if_modified_since.as_ref(),
        if_unmodified_since: input.copy_source_if_unmodified_since.as_ref(),
    }
}

fn result(meta: &Meta) -> CopyObjectResult {
    let mut result = CopyObjectResult {
        e_tag: etag(meta),
        last_modified: Some(attributes::modified(meta)),
        ..CopyObjectResult::default()
    };
    let sums = checksum::stored(&meta.attributes);
    result.checksum_type.clone_from(&sums.checksum_type);
    set_sums!(result, sums);
    result
}

/// Returns the bucket, the key and the version that a copy reads from.
pub(super) fn source(source: &CopySource) -> S3Result<(String, Key, Option<VersionId>)> {
    let CopySource::Bucket {
        bucket,
        key,
        version_id,
    } = source
    else {
        return Err(fault("InvalidArgument", "x-amz-copy-source must be bucket/key"));
    };
    let id = requested_version(version_id.as_deref())?;
    Ok((bucket.to_string(), names::object(bucket, key)?, id))
}

/// Reports whether an attribute describes how an object was written or who owns it. A copy does not
/// inherit these.
fn is_of_the_writing(name: &str) -> bool {
    [UPLOAD, PARTS, PART_SUMS, OWNER, ACL, MADE, VERSION].contains(&name)
        || name.starts_with("x-amz-checksum-")
}

/// Reports whether a directive is `REPLACE`.
fn is_replace(directive: Option<&str>) -> S3Result<bool> {
    match directive {
        None | Some("" | "COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(other) => Err(fault(
            "InvalidArgument",
            format!("{other:?} is neither COPY nor REPLACE"),
        )),
    }
}

fn refuse_options(input: &CopyObjectInput) -> S3Result<()> {
    match input.copy_source_sse_customer_algorithm {
        None => Ok(()),
        Some(_) => Err(not_implemented("server-side encryption")),
    }
}
