//! Bucket policies and public access blocks.

use s3s::dto::{
    DeleteBucketPolicyInput, DeleteBucketPolicyOutput, DeletePublicAccessBlockInput,
    DeletePublicAccessBlockOutput, GetBucketPolicyInput, GetBucketPolicyOutput, GetBucketPolicyStatusInput,
    GetBucketPolicyStatusOutput, GetPublicAccessBlockInput, GetPublicAccessBlockOutput, PolicyStatus,
    PublicAccessBlockConfiguration, PutBucketPolicyInput, PutBucketPolicyOutput, PutPublicAccessBlockInput,
    PutPublicAccessBlockOutput,
};
use s3s::{S3Request, S3Result};

use super::StoreService;
use crate::access::block;
use crate::error::fault;
use crate::policy::Policy as Read;
use crate::settings::{Block, BucketSettings};

impl StoreService {
    /// Returns the policy document as the client sent it.
    pub(super) async fn get_bucket_policy(
        &self,
        request: S3Request<GetBucketPolicyInput>,
    ) -> S3Result<GetBucketPolicyOutput> {
        let settings = self.settings(&request.input.bucket).await?;
        let none = || fault("NoSuchBucketPolicy", "the bucket has no policy");
        Ok(GetBucketPolicyOutput {
            policy: Some(settings.policy.ok_or_else(none)?),
        })
    }

    /// Sets a bucket's policy. A policy with unknown elements is refused.
    pub(super) async fn put_bucket_policy(
        &self,
        request: S3Request<PutBucketPolicyInput>,
    ) -> S3Result<PutBucketPolicyOutput> {
        let input = request.input;
        let bucket = input.bucket.as_str();
        let malformed = |error: crate::policy::PolicyError| fault("MalformedPolicy", error.to_string());
        let policy = Read::read(&input.policy, bucket).map_err(malformed)?;
        self.change_rights(bucket, |settings| {
            // Checked within the change, so that a public access block set concurrently is
            // respected.
            if policy.is_public() && block(&self.keys, bucket, settings).public_policy {
                return Err(fault(
                    "AccessDenied",
                    "public policies of this bucket are blocked",
                ));
            }
            settings.policy = Some(input.policy.clone());
            Ok(())
        })
        .await?;
        Ok(PutBucketPolicyOutput::default())
    }

    /// Removes a bucket's policy.
    pub(super) async fn delete_bucket_policy(
        &self,
        request: S3Request<DeleteBucketPolicyInput>,
    ) -> S3Result<DeleteBucketPolicyOutput> {
        self.change_rights(&request.input.bucket, |settings| {
            settings.policy = None;
            Ok(())
        })
        .await?;
        Ok(DeleteBucketPolicyOutput::default())
    }

    /// Returns whether the bucket's policy or ACL grants anything to everybody.
    pub(super) async fn get_bucket_policy_status(
        &self,
        request: S3Request<GetBucketPolicyStatusInput>,
    ) -> S3Result<GetBucketPolicyStatusOutput> {
        let bucket = request.input.bucket.as_str();
        let settings = self.settings(bucket).await?;
        let block = block(&self.keys, bucket, &settings);
        let policy = settings.policy.as_deref();
        let policy = policy.and_then(|text| Read::read(text, bucket).ok());
        let public = self.keys.owns(&settings.owner, bucket)
            && (policy.is_some_and(|policy| policy.is_public()) && !block.restrict
                || settings.acl.is_public() && !block.ignore_acls && !settings.is_enforced());
        Ok(GetBucketPolicyStatusOutput {
            policy_status: Some(PolicyStatus {
                is_public: Some(public),
            }),
        })
    }

    /// Returns the bucket's public access block.
    pub(super) async fn get_public_access_block(
        &self,
        request: S3Request<GetPublicAccessBlockInput>,
    ) -> S3Result<GetPublicAccessBlockOutput> {
        let settings = self.settings(&request.input.bucket).await?;
        let block = settings.block.ok_or_else(no_block)?;
        Ok(GetPublicAccessBlockOutput {
            public_access_block_configuration: Some(PublicAccessBlockConfiguration {
                block_public_acls: Some(block.public_acls),
                block_public_policy: Some(block.public_policy),
                ignore_public_acls: Some(block.ignore_acls),
                restrict_public_buckets: Some(block.restrict),
            }),
        })
    }

    /// Sets the bucket's public access block.
    pub(super) async fn put_public_access_block(
        &self,
        request: S3Request<PutPublicAccessBlockInput>,
    ) -> S3Result<PutPublicAccessBlockOutput> {
        let requested = request.input.public_access_block_configuration;
        let block = Block {
            public_acls: requested.block_public_acls.unwrap_or(false),
            ignore_acls: requested.ignore_public_acls.unwrap_or(false),
            public_policy: requested.block_public_policy.unwrap_or(false),
            restrict: requested.restrict_public_buckets.unwrap_or(false),
        };
        self.change_rights(&request.input.bucket, |settings| {
            settings.block = Some(block);
            Ok(())
        })
        .await?;
        Ok(PutPublicAccessBlockOutput::default())
    }

    /// Removes the bucket's public access block. `block_public` in the keys file remains in force.
    pub(super) async fn delete_public_access_block(
        &self,
        request: S3Request<DeletePublicAccessBlockInput>,
    ) -> S3Result<DeletePublicAccessBlockOutput> {
        self.change_rights(&request.input.bucket, |settings| {
            settings.block = None;
            Ok(())
        })
        .await?;
        Ok(DeletePublicAccessBlockOutput::default())
    }

    /// Changes a bucket's access settings. Refused if the owner lacks `own`, because the change
    /// would have no effect.
    pub(super) async fn change_rights(
        &self,
        bucket: &str,
        mut change: impl FnMut(&mut BucketSettings) -> S3Result<()> + Send,
    ) -> S3Result<()> {
        self.change_bucket(bucket, |record, attributes| {
            let mut settings = BucketSettings::of(record)?;
            self.check_owned(&settings.owner, bucket)?;
            change(&mut settings)?;
            settings.write(attributes);
            Ok(())
        })
        .await
    }
}

fn no_block() -> s3s::S3Error {
    let mut error = fault(
        "NoSuchPublicAccessBlockConfiguration",
        "the bucket has no public access block",
    );
    error.set_status_code(http::StatusCode::NOT_FOUND);
    error
}
