//! Ownership controls of buckets: who owns the objects that other users write.

use s3s::dto::{
    DeleteBucketOwnershipControlsInput, DeleteBucketOwnershipControlsOutput, GetBucketOwnershipControlsInput,
    GetBucketOwnershipControlsOutput, ObjectOwnership, OwnershipControls, OwnershipControlsRule,
    PutBucketOwnershipControlsInput, PutBucketOwnershipControlsOutput,
};
use s3s::{S3Request, S3Result};

use super::StoreService;
use crate::error::fault;
use crate::settings::{BucketSettings, Ownership};

impl StoreService {
    /// Returns the setting.
    pub(super) async fn get_bucket_ownership_controls(
        &self,
        request: S3Request<GetBucketOwnershipControlsInput>,
    ) -> S3Result<GetBucketOwnershipControlsOutput> {
        let settings = self.settings(&request.input.bucket).await?;
        let none = || {
            fault(
                "OwnershipControlsNotFoundError",
                "the bucket has no ownership controls",
            )
        };
        let rule = OwnershipControlsRule {
            object_ownership: ObjectOwnership::from_static(settings.ownership.ok_or_else(none)?.name()),
        };
        Ok(GetBucketOwnershipControlsOutput {
            ownership_controls: Some(OwnershipControls { rules: vec![rule] }),
        })
    }

    /// Sets who owns the objects of a bucket. `BucketOwnerEnforced` needs a bucket whose ACL grants
    /// nothing to others.
    pub(super) async fn put_bucket_ownership_controls(
        &self,
        request: S3Request<PutBucketOwnershipControlsInput>,
    ) -> S3Result<PutBucketOwnershipControlsOutput> {
        let input = request.input;
        let [rule] = input.ownership_controls.rules.as_slice() else {
            return Err(fault("MalformedXML", "ownership controls need exactly one rule"));
        };
        let ownership = Ownership::by_name(rule.object_ownership.as_str())?;
        self.change_ownership(&input.bucket, Some(ownership)).await?;
        Ok(PutBucketOwnershipControlsOutput::default())
    }

    /// Removes the setting: objects then belong to their writers.
    pub(super) async fn delete_bucket_ownership_controls(
        &self,
        request: S3Request<DeleteBucketOwnershipControlsInput>,
    ) -> S3Result<DeleteBucketOwnershipControlsOutput> {
        self.change_ownership(&request.input.bucket, None).await?;
        Ok(DeleteBucketOwnershipControlsOutput::default())
    }

    async fn change_ownership(&self, bucket: &str, ownership: Option<Ownership>) -> S3Result<()> {
        self.change_rights(bucket, |settings| {
            settings.ownership = ownership;
            check_enforceable(settings)
        })
        .await
    }
}

/// Refuses to disable ACLs while the bucket's ACL grants anything to others.
pub(super) fn check_enforceable(settings: &BucketSettings) -> S3Result<()> {
    if settings.is_enforced() && !settings.acl.gives_only(&[&settings.owner]) {
        let detail = "the bucket's ACL grants access to others: make it private first";
        return Err(fault("InvalidBucketAclWithObjectOwnership", detail));
    }
    Ok(())
}
