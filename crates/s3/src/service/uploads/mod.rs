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

use self::upload_checksum::UploadChecksum;
use super::StoreService;
use crate::acl::acl_request_of;
use crate::attributes::{at, headers_of};
use crate::error::from_store;
use crate::lock::lock_of;
use crate::{names, preconditions};

mod complete;
mod list;
mod receive;
mod upload_checksum;

impl StoreService {
    /// Begins an upload.
    pub(in crate::service) async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<CreateMultipartUploadOutput> {
        let writer = self.writer(request.credentials.as_ref());
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let mut attributes = headers_of!(input)?.into_attributes()?;
        super::tags::check(&attributes)?;
        let upload_checksum =
            UploadChecksum::of(input.checksum_algorithm.as_ref(), input.checksum_type.as_ref())?;
        let record = self.bucket(&input.bucket).await?;
        let acl = acl_request_of!(input, request.headers);
        attributes.extend(self.ownership_attributes(&record, &input.bucket, writer, &acl)?);
        let lock = lock_of!(input)?;
        lock.resolve(&record)?;
        // These attributes protect the future object, not the upload.
        lock.protection().write_to(&mut attributes);
        attributes.extend(upload_checksum.map(UploadChecksum::encode));
        let upload = self
            .store
            .create_multipart(&key, attributes)
            .await
            .map_err(from_store)?;
        Ok(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(upload.id),
            checksum_algorithm: upload_checksum.map(UploadChecksum::name),
            checksum_type: upload_checksum.map(UploadChecksum::kind),
            ..CreateMultipartUploadOutput::default()
        })
    }

    /// Aborts an upload.
    pub(in crate::service) async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<AbortMultipartUploadOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        if let Some(time) = &input.if_match_initiated_time
            && preconditions::seconds(time) != preconditions::seconds(&created_at(&upload))
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
fn created_at(upload: &Multipart) -> Timestamp {
    at(upload.created_ms)
}
