//! Multipart uploads.
//!
//! Parts are received in any order and stored as durably as objects; completion joins them in one
//! pass.

use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, Timestamp,
};
use s3s::{S3Request, S3Result};
use store::{Key, Multipart, StoreError};

use self::planned::Planned;
use super::Face;
use crate::acl::asked_of;
use crate::attributes::{at, headers_of};
use crate::error::from_store;
use crate::lock::lock_of;
use crate::{names, preconditions};

mod complete;
mod list;
mod planned;
mod receive;

impl Face {
    /// Begins an upload.
    pub(in crate::face) async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<CreateMultipartUploadOutput> {
        let writer = self.writer(request.credentials.as_ref());
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let mut attributes = headers_of!(input)?.into_attributes()?;
        super::tags::check(&attributes)?;
        let planned = Planned::of(input.checksum_algorithm.as_ref(), input.checksum_type.as_ref())?;
        let record = self.bucket(&input.bucket).await?;
        let asked = asked_of!(input, request.headers);
        attributes.extend(self.belonging(&record, &input.bucket, writer, &asked)?);
        let lock = lock_of!(input)?;
        lock.resolve(&record)?;
        // These attributes protect the future object, not the upload.
        lock.protection().write_to(&mut attributes);
        attributes.extend(planned.map(Planned::encode));
        let upload = self
            .store
            .create_multipart(&key, attributes)
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

    /// Aborts an upload.
    pub(in crate::face) async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<AbortMultipartUploadOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        if let Some(time) = &input.if_match_initiated_time
            && preconditions::seconds(time) != preconditions::seconds(&begun(&upload))
        {
            return Err(preconditions::failed());
        }
        self.store
            .abort_multipart(&key, &upload.id)
            .await
            .map_err(from_store)?;
        Ok(AbortMultipartUploadOutput::default())
    }

    async fn upload(&self, bucket: &str, key: &Key, id: &str) -> S3Result<Multipart> {
        match self.store.multipart(key, id).await {
            Ok(upload) => Ok(upload),
            Err(error) => {
                if let StoreError::NoMultipart { .. } = error {
                    self.bucket(bucket).await?;
                }
                Err(from_store(error))
            }
        }
    }
}

/// Returns when an upload was begun.
fn begun(upload: &Multipart) -> Timestamp {
    at(upload.created_ms)
}
