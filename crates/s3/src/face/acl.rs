//! ACLs: there are none but "the owner may do everything"; rights stand in the keys file.

use s3s::dto::*;
use s3s::{S3Request, S3Result};

use super::{Face, owner};
use crate::attributes::check_acl;
use crate::error::{from_store, not_implemented};
use crate::names;

impl Face {
    /// The owner's full control.
    pub(super) async fn get_bucket_acl(
        &self,
        request: S3Request<GetBucketAclInput>,
    ) -> S3Result<GetBucketAclOutput> {
        let owner = owner(&self.bucket(&request.input.bucket).await?);
        Ok(GetBucketAclOutput {
            grants: Some(vec![full_control(&owner)]),
            owner: Some(owner),
        })
    }

    /// Accepts what is true already.
    pub(super) async fn put_bucket_acl(
        &self,
        request: S3Request<PutBucketAclInput>,
    ) -> S3Result<PutBucketAclOutput> {
        let input = request.input;
        let owner = owner(&self.bucket(&input.bucket).await?);
        let granted = input.grant_full_control.is_some()
            || input.grant_read.is_some()
            || input.grant_read_acp.is_some()
            || input.grant_write.is_some()
            || input.grant_write_acp.is_some();
        check_acl(input.acl.as_ref().map(|acl| acl.as_str()), granted)?;
        check_policy(input.access_control_policy, &owner)?;
        Ok(PutBucketAclOutput::default())
    }

    /// The owner's full control.
    pub(super) async fn get_object_acl(
        &self,
        request: S3Request<GetObjectAclInput>,
    ) -> S3Result<GetObjectAclOutput> {
        let input = request.input;
        let owner = self.owner_of_object(&input.bucket, &input.key).await?;
        Ok(GetObjectAclOutput {
            grants: Some(vec![full_control(&owner)]),
            owner: Some(owner),
            request_charged: None,
        })
    }

    /// Accepts what is true already.
    pub(super) async fn put_object_acl(
        &self,
        request: S3Request<PutObjectAclInput>,
    ) -> S3Result<PutObjectAclOutput> {
        let input = request.input;
        let owner = self.owner_of_object(&input.bucket, &input.key).await?;
        let granted = input.grant_full_control.is_some()
            || input.grant_read.is_some()
            || input.grant_read_acp.is_some()
            || input.grant_write.is_some()
            || input.grant_write_acp.is_some();
        check_acl(input.acl.as_ref().map(|acl| acl.as_str()), granted)?;
        check_policy(input.access_control_policy, &owner)?;
        Ok(PutObjectAclOutput::default())
    }

    async fn owner_of_object(&self, bucket: &str, name: &str) -> S3Result<Owner> {
        let record = self.bucket(bucket).await?;
        self.store
            .head(&names::object(bucket, name)?)
            .await
            .map_err(from_store)?;
        Ok(owner(&record))
    }
}

fn full_control(owner: &Owner) -> Grant {
    Grant {
        grantee: Some(Grantee {
            display_name: owner.display_name.clone(),
            email_address: None,
            id: owner.id.clone(),
            type_: Type::from_static(Type::CANONICAL_USER),
            uri: None,
        }),
        permission: Some(Permission::from_static(Permission::FULL_CONTROL)),
    }
}

fn check_policy(policy: Option<AccessControlPolicy>, owner: &Owner) -> S3Result<()> {
    let theirs = |grant: &Grant| {
        let grantee = grant.grantee.as_ref().and_then(|grantee| grantee.id.as_ref());
        let all = grant
            .permission
            .as_ref()
            .is_some_and(|right| right.as_str() == Permission::FULL_CONTROL);
        grantee == owner.id.as_ref() && all
    };
    match policy.and_then(|policy| policy.grants) {
        Some(grants) if grants.len() != 1 || !grants.iter().all(theirs) => {
            Err(not_implemented("an ACL other than private"))
        }
        _ => Ok(()),
    }
}
