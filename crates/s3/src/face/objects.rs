//! Objects written and deleted.

use futures_util::{StreamExt, stream};
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject,
    ETagCondition, Error, ObjectIdentifier, PutObjectInput, PutObjectOutput, Timestamp,
};
use s3s::{S3Request, S3Result};
use store::{Condition, Key, StoreError};

use super::{Face, check_version, etag, signed};
use crate::access::{admit_deletion, refuse_pending};
use crate::acl::asked_of;
use crate::attributes::{self, headers_of};
use crate::checksum::{self, set_sums, sums_of};
use crate::content::{Carried, Content};
use crate::error::{fault, from_store, not_implemented};
use crate::names;
use crate::preconditions::{self, Writing};

/// Most keys in one request to delete many, as in S3.
const DELETE_MAX: usize = 1000;

/// Deletions of one request that run in parallel. One after another, a thousand deletions would each wait for
/// disks to sync; many more would make other clients wait.
const DELETE_WIDTH: usize = 16;

impl Face {
    /// Writes an object.
    pub(super) async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<PutObjectOutput> {
        refuse_pending(&request.extensions)?;
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        if input.write_offset_bytes.is_some() {
            return Err(not_implemented("PutObject with an offset"));
        }
        let mut attributes = headers_of!(input)?.into_attributes()?;
        crate::face::tags::check(&attributes)?;
        let record = self.bucket(&input.bucket).await?;
        let writer = self.writer(request.credentials.as_ref());
        let asked = asked_of!(input, request.headers);
        attributes.extend(self.belonging(&record, &input.bucket, writer, &asked)?);
        let carried = Carried {
            sums: sums_of!(input),
            body: input.body,
            length: input.content_length,
            md5: input.content_md5,
            headers: &request.headers,
            trailers: request.trailing_headers,
            extensions: &request.extensions,
        };
        let content = Content::of_request(carried, None, self.body_bytes_max)?;
        let writing = Writing {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
        };
        let condition = writing.resolve(&self.store, &key).await?;
        let (stream, mut put, explain) = content.into_parts();
        put.attributes = attributes;
        put.condition = condition.clone();
        let written = self.store.put(&key, stream, put).await;
        let meta = written.map_err(|error| match error {
            StoreError::Condition { .. } => preconditions::refused(&condition, error),
            error => explain(error),
        })?;
        let mut output = PutObjectOutput {
            e_tag: etag(&meta),
            checksum_type: checksum::kept(&meta.attributes).checksum_type,
            ..PutObjectOutput::default()
        };
        set_sums!(output, checksum::kept(&meta.attributes));
        Ok(output)
    }

    /// Deletes an object; a missing object is not an error, as in S3.
    pub(super) async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<DeleteObjectOutput> {
        let input = request.input;
        check_version(input.version_id.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let asked = Asked {
            etag: input.if_match,
            modified: input.if_match_last_modified_time,
            size: input.if_match_size,
        };
        self.delete_if(&input.bucket, &key, asked).await?;
        Ok(DeleteObjectOutput::default())
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
        self.bucket(&input.bucket).await?;
        let bucket = input.bucket.as_str();
        let extensions = &request.extensions;
        let deletions = input.delete.objects.into_iter().map(|object| async move {
            let name = object.key.clone();
            let version = object.version_id.clone();
            let outcome = match admit_deletion(extensions, &self.store, &name).await {
                Ok(()) => self.delete_one(bucket, object).await,
                refused => refused,
            };
            (name, version, outcome)
        });
        let outcomes: Vec<_> = stream::iter(deletions).buffered(DELETE_WIDTH).collect().await;
        let quiet = input.delete.quiet.unwrap_or(false);
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        for (key, version_id, outcome) in outcomes {
            match outcome {
                Ok(()) if quiet => {}
                Ok(()) => deleted.push(DeletedObject {
                    key: Some(key),
                    version_id,
                    ..DeletedObject::default()
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

    async fn delete_one(&self, bucket: &str, object: ObjectIdentifier) -> S3Result<()> {
        check_version(object.version_id.as_deref())?;
        let key = names::object(bucket, &object.key)?;
        let asked = Asked {
            etag: object.e_tag.map(ETagCondition::ETag),
            modified: object.last_modified_time,
            size: object.size,
        };
        self.delete_if(bucket, &key, asked).await
    }

    async fn delete_if(&self, bucket: &str, key: &Key, asked: Asked) -> S3Result<()> {
        let condition = asked.resolve(self, key).await?;
        match self.store.delete(key, condition.clone()).await {
            Ok(Some(_)) => Ok(()),
            // Nothing was there. That is success, unless the bucket is missing too.
            Ok(None) => self.bucket(bucket).await.map(drop),
            Err(error) => Err(preconditions::refused(&condition, error)),
        }
    }
}

/// The conditions for deleting an object.
struct Asked {
    etag: Option<ETagCondition>,
    modified: Option<Timestamp>,
    size: Option<i64>,
}

impl Asked {
    /// The condition for the store: on the version that was found to meet the client's conditions.
    async fn resolve(&self, face: &Face, key: &Key) -> S3Result<Condition> {
        if self.etag.is_none() && self.modified.is_none() && self.size.is_none() {
            return Ok(Condition::Always);
        }
        let meta = match face.store.head(key).await {
            Ok(meta) => meta,
            // A missing object counts as deleted.
            Err(StoreError::NotFound(_)) => return Ok(Condition::Absent),
            Err(error) => return Err(from_store(error)),
        };
        let etag = self.etag.as_ref();
        let as_asked = etag.is_none_or(|etag| preconditions::holds(etag, &meta.etag))
            && self.size.is_none_or(|size| size == signed(meta.size))
            && self.modified.as_ref().is_none_or(|time| {
                preconditions::seconds(time) == preconditions::seconds(&attributes::modified(&meta))
            });
        match as_asked {
            true => Ok(Condition::Etag(meta.etag)),
            false => Err(preconditions::failed()),
        }
    }
}
