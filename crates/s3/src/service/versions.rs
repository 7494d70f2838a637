//! Versions: the versioning of buckets, listings of versions, and requests with a `versionId`.

use http::{HeaderMap, HeaderName, HeaderValue};
use s3s::dto::{
    BucketVersioningStatus, DeleteMarkerEntry, GetBucketVersioningInput, GetBucketVersioningOutput,
    MFADelete, ObjectVersion as Version, ObjectVersionStorageClass, PutBucketVersioningInput,
    PutBucketVersioningOutput,
};
use s3s::{S3Error, S3Request, S3Result};
use store::{Key, Meta, ObjectVersion, Store, StoreError, VersionId, Versioning, is_delete_marker};

use super::key_encoding::KeyEncoding;
use super::{StoreService, etag, owner_named, signed};
use crate::attributes;
use crate::error::{fault, invalid_state, not_implemented};
use crate::lock::ObjectLock;
use crate::settings::BucketSettings;

/// Header that reports a delete marker.
const DELETE_MARKER: HeaderName = HeaderName::from_static("x-amz-delete-marker");

/// Header with the id of a version.
const VERSION_ID: HeaderName = HeaderName::from_static("x-amz-version-id");

impl StoreService {
    /// Returns the bucket's versioning; empty if it was never set.
    pub(super) async fn get_bucket_versioning(
        &self,
        request: S3Request<GetBucketVersioningInput>,
    ) -> S3Result<GetBucketVersioningOutput> {
        let record = self.bucket(&request.input.bucket).await?;
        let status = match record.versioning() {
            Versioning::Unversioned => None,
            Versioning::Enabled => Some(BucketVersioningStatus::ENABLED),
            Versioning::Suspended => Some(BucketVersioningStatus::SUSPENDED),
        };
        Ok(GetBucketVersioningOutput {
            status: status.map(BucketVersioningStatus::from_static),
            ..GetBucketVersioningOutput::default()
        })
    }

    /// Enables or suspends versioning of a bucket.
    pub(super) async fn put_bucket_versioning(
        &self,
        request: S3Request<PutBucketVersioningInput>,
    ) -> S3Result<PutBucketVersioningOutput> {
        let input = request.input;
        let requested = input.versioning_configuration;
        if requested
            .mfa_delete
            .is_some_and(|requested| requested.as_str() == MFADelete::ENABLED)
        {
            return Err(not_implemented("MFA delete"));
        }
        let versioning = match requested.status.as_ref().map(BucketVersioningStatus::as_str) {
            Some(BucketVersioningStatus::ENABLED) => Versioning::Enabled,
            Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
            _ => {
                let detail = "the versioning status must be Enabled or Suspended";
                return Err(fault("IllegalVersioningConfigurationException", detail));
            }
        };
        self.change_bucket(&input.bucket, |record, attributes| {
            if versioning != Versioning::Enabled && ObjectLock::of(record)?.is_some() {
                return Err(invalid_state(
                    "the bucket has object lock: its versioning stays enabled",
                ));
            }
            let (name, value) = versioning.attribute();
            attributes.insert(name, value);
            Ok(())
        })
        .await?;
        Ok(PutBucketVersioningOutput::default())
    }

    /// Returns the metadata of an object, or of the requested version.
    pub(super) async fn head_of(
        &self,
        store: &Store,
        bucket: &str,
        key: &Key,
        id: Option<VersionId>,
    ) -> S3Result<Meta> {
        let found = match id {
            None => store.head(key).await,
            Some(id) => store.head_version(key, id).await,
        };
        match found {
            Ok(meta) => refuse_marker(meta),
            Err(error) => Err(self.explain_version(bucket, key, id, error).await),
        }
    }

    /// Converts a store error about an object or the requested version.
    pub(super) async fn explain_version(
        &self,
        bucket: &str,
        key: &Key,
        id: Option<VersionId>,
        error: StoreError,
    ) -> S3Error {
        if !matches!(error, StoreError::NotFound(_)) {
            return self.explain(bucket, error).await;
        }
        let absent = self.explain(bucket, error).await;
        if absent.code().as_str() != "NoSuchKey" {
            return absent;
        }
        match id {
            Some(id) => fault("NoSuchVersion", format!("there is no version {id}")),
            None => self.with_marker(bucket, key, absent).await,
        }
    }

    /// Adds the delete marker that hides an object, if any, to the error for the missing object.
    async fn with_marker(&self, bucket: &str, key: &Key, mut absent: S3Error) -> S3Error {
        let is_versioned = match self.store.bucket_as_known(bucket).await {
            Ok(Some(record)) => record.versioning() != Versioning::Unversioned,
            _ => false,
        };
        if !is_versioned {
            return absent;
        }
        // The response is correct without the marker as well.
        if let Ok(Some(marker)) = self.store.hiding_marker(key).await {
            absent.set_headers(marker_headers(marker.id));
        }
        absent
    }
}

/// Parses the version that a client requests; `None` if it requests none.
pub(crate) fn requested_version(text: Option<&str>) -> S3Result<Option<VersionId>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match VersionId::parse(text) {
        Some(id) => Ok(Some(id)),
        None => Err(fault(
            "InvalidArgument",
            format!("{text:?} is not the id of a version"),
        )),
    }
}

/// Returns a version's id for an output. The id of an object written without versioning is returned
/// only if the client named a version.
pub(super) fn version_id_of(meta: &Meta, requested: Option<VersionId>) -> Option<String> {
    let id = VersionId::of(meta);
    (requested.is_some() || id != VersionId::NULL).then(|| id.to_string())
}

/// Refuses a delete marker: it can be removed, but not read or changed.
pub(super) fn refuse_marker(meta: Meta) -> S3Result<Meta> {
    if !is_delete_marker(&meta.attributes) {
        return Ok(meta);
    }
    let mut error = fault("MethodNotAllowed", "the version is a delete marker");
    let mut headers = marker_headers(VersionId::of(&meta));
    headers.insert(http::header::ALLOW, HeaderValue::from_static("DELETE"));
    let date = attributes::http_date(&attributes::modified(&meta)).ok();
    if let Some(date) = date.and_then(|date| HeaderValue::try_from(date).ok()) {
        headers.insert(http::header::LAST_MODIFIED, date);
    }
    error.set_headers(headers);
    Err(error)
}

fn marker_headers(id: VersionId) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(DELETE_MARKER, HeaderValue::from_static("true"));
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        headers.insert(VERSION_ID, value);
    }
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static("application/xml"),
    );
    headers
}

/// Converts a version for the listing.
pub(super) fn version(version: &ObjectVersion, encoding: KeyEncoding, settings: &BucketSettings) -> Version {
    let (class, meta) = (
        ObjectVersionStorageClass::from_static(ObjectVersionStorageClass::STANDARD),
        &version.meta,
    );
    Version {
        e_tag: etag(meta),
        is_latest: Some(version.is_latest),
        key: encoding.write(Some(meta.key.name().to_owned())),
        last_modified: Some(attributes::modified(meta)),
        owner: Some(owner_named(settings.owner_of(&meta.attributes))),
        size: Some(signed(meta.size)),
        storage_class: Some(class),
        version_id: Some(version.id.to_string()),
        ..Version::default()
    }
}

/// Converts a delete marker for the listing.
pub(super) fn marker(
    version: &ObjectVersion,
    encoding: KeyEncoding,
    settings: &BucketSettings,
) -> DeleteMarkerEntry {
    let meta = &version.meta;
    DeleteMarkerEntry {
        is_latest: Some(version.is_latest),
        key: encoding.write(Some(meta.key.name().to_owned())),
        last_modified: Some(attributes::modified(meta)),
        owner: Some(owner_named(settings.owner_of(&meta.attributes))),
        version_id: Some(version.id.to_string()),
    }
}
