//! ACLs of buckets and objects, and the owners of objects.

use s3s::dto::{
    GetBucketAclInput, GetBucketAclOutput, GetObjectAclInput, GetObjectAclOutput, PutBucketAclInput,
    PutBucketAclOutput, PutObjectAclInput, PutObjectAclOutput,
};
use s3s::{S3Request, S3Result};
use store::bucket::Bucket;

use super::versions::requested_version;
use super::{StoreService, owner_named};
use crate::access::{block, confirm};
use crate::acl::{ACL, Acl, AclRequest, acl_request_of};
use crate::attributes::OWNER;
use crate::error::fault;
use crate::names;
use crate::settings::{BucketSettings, Ownership};

impl StoreService {
    /// Returns the bucket's ACL.
    pub(super) async fn get_bucket_acl(
        &self,
        request: S3Request<GetBucketAclInput>,
    ) -> S3Result<GetBucketAclOutput> {
        let settings = self.settings(&request.input.bucket).await?;
        Ok(GetBucketAclOutput {
            grants: Some(settings.acl.show()),
            owner: Some(owner_named(&settings.owner)),
        })
    }

    /// Replaces a bucket's ACL.
    pub(super) async fn put_bucket_acl(
        &self,
        request: S3Request<PutBucketAclInput>,
    ) -> S3Result<PutBucketAclOutput> {
        let input = request.input;
        let mut requested = acl_request_of!(input, request.headers);
        requested.document = input.access_control_policy;
        let bucket = input.bucket.as_str();
        self.change_bucket(bucket, |record, attributes| {
            let mut settings = BucketSettings::of(record)?;
            refuse_if_enforced(&settings)?;
            settings.acl = requested.resolve(&settings.owner, &settings.owner, &self.keys)?;
            self.check_list(&settings.acl, &settings.owner, bucket, &settings)?;
            settings.write(attributes);
            Ok(())
        })
        .await?;
        Ok(PutBucketAclOutput::default())
    }

    /// Returns the object's ACL.
    pub(super) async fn get_object_acl(
        &self,
        request: S3Request<GetObjectAclInput>,
    ) -> S3Result<GetObjectAclOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let settings = self.settings(&input.bucket).await?;
        let key = names::object(&input.bucket, &input.key)?;
        let meta = self.head_of(&self.store, &input.bucket, &key, id).await?;
        confirm(&request.extensions, &meta)?;
        Ok(GetObjectAclOutput {
            grants: Some(settings.acl_of(&meta.attributes).show()),
            owner: Some(owner_named(settings.owner_of(&meta.attributes))),
            request_charged: None,
        })
    }

    /// Replaces an object's ACL, which rewrites the object.
    pub(super) async fn put_object_acl(
        &self,
        request: S3Request<PutObjectAclInput>,
    ) -> S3Result<PutObjectAclOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let mut requested = acl_request_of!(input, request.headers);
        requested.document = input.access_control_policy;
        let settings = self.settings(&input.bucket).await?;
        refuse_if_enforced(&settings)?;
        let bucket = input.bucket.as_str();
        let key = names::object(bucket, &input.key)?;
        self.rewrite((bucket, &key, id), &request.extensions, |meta, attributes| {
            let owner = settings.owner_of(&meta.attributes).to_owned();
            let acl = requested.resolve(&owner, &settings.owner, &self.keys)?;
            self.check_list(&acl, &owner, bucket, &settings)?;
            attributes.remove(ACL);
            attributes.extend(acl.attribute(&owner));
            Ok(())
        })
        .await?;
        Ok(PutObjectAclOutput::default())
    }

    /// Returns a bucket's settings.
    pub(super) async fn settings(&self, bucket: &str) -> S3Result<BucketSettings> {
        BucketSettings::of(&self.bucket(bucket).await?)
    }

    /// Returns the attributes for the owner and the ACL of a new object. The bucket's owner owns
    /// unsigned writes.
    pub(super) fn ownership_attributes(
        &self,
        record: &Bucket,
        bucket: &str,
        writer: Option<String>,
        requested: &AclRequest,
    ) -> S3Result<Vec<(String, String)>> {
        let settings = BucketSettings::of(record)?;
        let handed_over = requested.is("bucket-owner-full-control");
        let owner = match settings.ownership {
            Some(Ownership::BucketOwnerEnforced) if handed_over || requested.is_empty() => None,
            Some(Ownership::BucketOwnerEnforced) => return Err(no_lists()),
            Some(Ownership::BucketOwnerPreferred) if handed_over => None,
            _ => writer,
        };
        let owner = owner.unwrap_or_else(|| settings.owner.clone());
        let acl = requested.resolve(&owner, &settings.owner, &self.keys)?;
        self.check_list(&acl, &owner, bucket, &settings)?;
        let list = acl.attribute(&owner);
        Ok([(OWNER.to_owned(), owner)].into_iter().chain(list).collect())
    }

    /// Refuses an ACL that the public access block forbids, or that would have no effect because
    /// its owner lacks `own`.
    pub(super) fn check_list(
        &self,
        acl: &Acl,
        owner: &str,
        bucket: &str,
        settings: &BucketSettings,
    ) -> S3Result<()> {
        if acl.is_public() && block(&self.keys, bucket, settings).public_acls {
            return Err(fault("AccessDenied", "public access to this bucket is blocked"));
        }
        if acl.gives_only(&[owner, &settings.owner]) {
            Ok(())
        } else {
            self.check_owned(owner, bucket)
        }
    }

    /// Refuses a change that would have no effect because this user lacks `own`.
    pub(super) fn check_owned(&self, owner: &str, bucket: &str) -> S3Result<()> {
        if self.keys.owns(owner, bucket) {
            return Ok(());
        }
        let detail = format!("the keys file gives user {owner:?} no right to own in this bucket");
        Err(fault("AccessDenied", detail))
    }

    /// Returns the user of a signed request.
    pub(super) fn writer(&self, credentials: Option<&s3s::auth::Credentials>) -> Option<String> {
        credentials.map(|credentials| self.keys.user(&credentials.access_key))
    }
}

fn refuse_if_enforced(settings: &BucketSettings) -> S3Result<()> {
    if settings.is_enforced() {
        Err(no_lists())
    } else {
        Ok(())
    }
}

fn no_lists() -> s3s::S3Error {
    fault(
        "AccessControlListNotSupported",
        "the bucket owner owns all objects of this bucket: it has no ACLs",
    )
}
