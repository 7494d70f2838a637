//! Writing and deleting objects.

use futures_util::{StreamExt, stream};
use http::Extensions;
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject,
    ETagCondition, Error, ObjectIdentifier, PutObjectInput, PutObjectOutput, Timestamp,
};
use s3s::{S3Request, S3Result};
use store::bucket::Bucket;
use store::{Condition, Key, Meta, StoreError, VersionId};

use super::versions::{refuse_marker, requested_version, version_id_of};
use super::{StoreService, etag, signed};
use crate::access::{admit_deletion, may_bypass, refuse_pending};
use crate::acl::acl_request_of;
use crate::attributes::{self, headers_of};
use crate::checksum::{self, set_sums, sums_of};
use crate::content::{RequestContent, UploadContent};
use crate::error::{fault, from_store, not_implemented};
use crate::lock::lock_of;
use crate::names;
use crate::preconditions::{self, Writing};

/// Most keys in one `DeleteObjects` request, as in S3.
const DELETE_MAX: usize = 1000;

/// Parallel deletions of one request. In sequence, a thousand deletions would each wait for disks
/// to sync; many more in parallel would make other clients wait.
const DELETE_WIDTH: usize = 16;

impl StoreService {
    /// Writes an object.
    pub(super) async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<PutObjectOutput> {
        refuse_pending(&request.extensions)?;
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        if input.write_offset_bytes.is_some() {
            return Err(not_implemented("PutObject with an offset"));
        }
        let mut attributes = headers_of!(input)?.into_attributes()?;
        crate::service::tags::check(&attributes)?;
        let record = self.bucket(&input.bucket).await?;
        let writer = self.writer(request.credentials.as_ref());
        let protect = lock_of!(input)?.resolve(&record)?;
        let acl = acl_request_of!(input, request.headers);
        attributes.extend(self.ownership_attributes(&record, &input.bucket, writer, &acl)?);
        let request_content = RequestContent {
            sums: sums_of!(input),
            body: input.body,
            length: input.content_length,
            md5: input.content_md5,
            headers: &request.headers,
            trailers: request.trailing_headers,
            extensions: &request.extensions,
        };
        let content = UploadContent::of_request(request_content, None, self.body_bytes_max)?;
        let writing = Writing {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
        };
        let condition = writing.resolve(&self.store, &key).await?;
        let (stream, mut put, explain) = content.into_parts();
        put.attributes = attributes;
        put.condition = condition.clone();
        put.versioning = record.versioning();
        put.protect = protect;
        let written = self.store.put(&key, stream, put).await;
        let meta = written.map_err(|error| match error {
            StoreError::Condition { .. } => preconditions::refused(&condition, error),
            error => explain(error),
        })?;
        let mut output = PutObjectOutput {
            e_tag: etag(&meta),
            checksum_type: checksum::stored(&meta.attributes).checksum_type,
            version_id: version_id_of(&meta, None),
            ..PutObjectOutput::default()
        };
        set_sums!(output, checksum::stored(&meta.attributes));
        Ok(output)
    }

    /// Deletes an object. As in S3, a missing object is not an error.
    pub(super) async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<DeleteObjectOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let record = self.bucket(&input.bucket).await?;
        let conditions = DeleteConditions {
            etag: input.if_match,
            modified: input.if_match_last_modified_time,
            size: input.if_match_size,
        };
        if let Some(id) = id
            && input.bypass_governance_retention == Some(true)
            && may_bypass(&request.extensions)
        {
            self.lift(&key, id, &request.extensions).await?;
        }
        let deleted = self.delete_if(&record, &key, id, conditions).await?;
        Ok(DeleteObjectOutput {
            delete_marker: deleted.is_marker.then_some(true),
            version_id: deleted.id.map(|id| id.to_string()),
            ..DeleteObjectOutput::default()
        })
    }

    /// Deletes up to a thousand objects and reports the result for each.
    pub(super) async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<DeleteObjectsOutput> {
        let input = request.input;
        if input.delete.objects.len() > DELETE_MAX {
            return Err(fault(
                "MalformedXML",
                format!("more than {DELETE_MAX} keys to delete"),
            ));
        }
        let record = &self.bucket(&input.bucket).await?;
        let extensions = &request.extensions;
        let bypass = input.bypass_governance_retention == Some(true) && may_bypass(extensions);
        let deletions = input.delete.objects.into_iter().map(|object| async move {
            let name = object.key.clone();
            let version = object.version_id.clone();
            let outcome = match admit_deletion(extensions, &self.store, &name, version.as_deref()).await {
                Ok(()) => {
                    self.delete_one(record, object, bypass.then_some(extensions))
                        .await
                }
                Err(refused) => Err(refused),
            };
            (name, version, outcome)
        });
        let outcomes: Vec<_> = stream::iter(deletions).buffered(DELETE_WIDTH).collect().await;
        let quiet = input.delete.quiet.unwrap_or(false);
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        for (key, version_id, outcome) in outcomes {
            match outcome {
                Ok(_) if quiet => {}
                Ok(done) => deleted.push(DeletedObject {
                    delete_marker: done.is_marker.then_some(true),
                    delete_marker_version_id: done.id.filter(|_| done.is_marker).map(|id| id.to_string()),
                    key: Some(key),
                    version_id,
                }),
                Err(error) => errors.push(Error {
                    code: Some(error.code().as_str().to_owned()),
                    message: error.message().map(str::to_owned),
                    key: Some(key),
                    version_id,
                }),
            }
        }
        Ok(DeleteObjectsOutput {
            deleted: Some(deleted),
            errors: Some(errors),
            request_charged: None,
        })
    }

    /// Deletes one object out of many. `bypass` is given if retentions of mode `governance` may be
    /// bypassed.
    async fn delete_one(
        &self,
        record: &Bucket,
        object: ObjectIdentifier,
        bypass: Option<&Extensions>,
    ) -> S3Result<Deleted> {
        let id = requested_version(object.version_id.as_deref())?;
        let key = names::object(&record.name, &object.key)?;
        if let (Some(id), Some(extensions)) = (id, bypass) {
            self.lift(&key, id, extensions).await?;
        }
        let conditions = DeleteConditions {
            etag: object.e_tag.map(ETagCondition::ETag),
            modified: object.last_modified_time,
            size: object.size,
        };
        self.delete_if(record, &key, id, conditions).await
    }

    /// Deletes an object, or removes one version permanently. A missing object counts as deleted.
    async fn delete_if(
        &self,
        record: &Bucket,
        key: &Key,
        id: Option<VersionId>,
        conditions: DeleteConditions,
    ) -> S3Result<Deleted> {
        if let Some(id) = id {
            let removed = self
                .store
                .remove_version(key, id, |meta| conditions.fits(meta))
                .await;
            let removed = removed.map_err(from_store)?;
            return Ok(Deleted {
                is_marker: removed.is_some_and(|meta| refuse_marker(meta).is_err()),
                id: Some(id),
            });
        }
        let Some(condition) = conditions.resolve(self, key).await? else {
            // There is no object to check the conditions against, which counts as deleted.
            return Ok(Deleted {
                is_marker: false,
                id: None,
            });
        };
        let deletion = self
            .store
            .delete_versioned(key, condition.clone(), record.versioning())
            .await;
        let deletion = deletion.map_err(|error| preconditions::refused(&condition, error))?;
        Ok(Deleted {
            is_marker: deletion.marker.is_some(),
            id: deletion.marker,
        })
    }
}

/// The result of a deletion.
struct Deleted {
    /// Whether a delete marker was created or removed.
    is_marker: bool,
    /// Id of the delete marker, or of the version that was removed.
    id: Option<VersionId>,
}

/// The conditions for deleting an object.
struct DeleteConditions {
    etag: Option<ETagCondition>,
    modified: Option<Timestamp>,
    size: Option<i64>,
}

impl DeleteConditions {
    /// Returns the condition for the store: on the version that was found to meet the client's
    /// conditions. `None` if there are conditions and no object.
    async fn resolve(&self, service: &StoreService, key: &Key) -> S3Result<Option<Condition>> {
        if self.etag.is_none() && self.modified.is_none() && self.size.is_none() {
            return Ok(Some(Condition::Always));
        }
        let meta = match service.store.head(key).await {
            Ok(meta) => meta,
            Err(StoreError::NotFound(_)) => {
                let marker = service.store.hiding_marker(key).await.map_err(from_store)?;
                return match marker {
                    None => Ok(None),
                    Some(marker) if self.fits(&marker.meta) => Ok(Some(Condition::Absent)),
                    Some(_) => Err(preconditions::failed()),
                };
            }
            Err(error) => return Err(from_store(error)),
        };
        if self.fits(&meta) {
            Ok(Some(Condition::Etag(meta.etag)))
        } else {
            Err(preconditions::failed())
        }
    }

    /// Reports whether a version meets the conditions.
    fn fits(&self, meta: &Meta) -> bool {
        let etag = self.etag.as_ref();
        etag.is_none_or(|etag| preconditions::holds(etag, &meta.etag))
            && self.size.is_none_or(|size| size == signed(meta.size))
            && self.modified.as_ref().is_none_or(|time| {
                preconditions::seconds(time) == preconditions::seconds(&attributes::modified(meta))
            })
    }
}
