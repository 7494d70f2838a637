//! Decides whether a request is admitted, by the keys file, ACLs and policies together.
//!
//! If the decision depends on the object (its ACL, owner or tags), the admission stores the version
//! that was examined. [`Admission::confirm`] decides again if a different version was opened, so
//! nobody reads a private object because its predecessor was public.

use std::collections::BTreeMap;
use std::sync::Arc;

use s3s::S3Result;
use store::{Meta, Store, StoreError, Version, VersionId};
use url::form_urlencoded;

use super::facts::{LOCK_HOLD, LOCK_MODE};
use super::needs::{self, Listed, Need};
use crate::acl::{Acl, Permission};
use crate::attributes::TAGGING;
use crate::error::{fault, from_store};
use crate::keys::{Keys, Right};
use crate::names;
use crate::policy::{EXISTING_TAG, Facts, Policy, Query, REQUEST_TAG, Verdict};
use crate::settings::{Block, BucketSettings};

/// Returns the error for every request that is not allowed. It gives no reason, because a reason
/// would reveal what exists.
pub(super) fn denied() -> s3s::S3Error {
    fault("AccessDenied", "access denied")
}

/// The sender of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requester {
    /// The access key, if the request is signed.
    pub(crate) id: Option<String>,
    /// The user of the access key.
    pub(crate) user: Option<String>,
}

impl Requester {
    /// Returns the sender with this access key; anonymous if `None`.
    pub(crate) fn of(id: Option<&str>, keys: &Keys) -> Self {
        Self {
            id: id.map(str::to_owned),
            user: id.map(|id| keys.user(id)),
        }
    }
}

/// The requested operation and its target.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) who: Requester,
    pub(crate) operation: String,
    pub(crate) need: Need,
    pub(crate) bucket: String,
    /// The object's name, if the operation is about one.
    pub(crate) key: Option<String>,
    /// The version that the request names.
    pub(crate) version: Option<VersionId>,
}

/// A request with everything that the decision depends on.
#[derive(Clone)]
pub(crate) struct Admission {
    keys: Arc<Keys>,
    asking: Asking,
    settings: BucketSettings,
    /// The bucket's policy, if it has one and the keys file gives `own` to the bucket's owner.
    policy: Option<Policy>,
    /// The request's properties for the policy's conditions.
    facts: Facts,
    /// The version that was examined, if the decision depended on it; the inner `None` means no
    /// object.
    looked: Option<Option<Version>>,
}

/// The admission to read the source of a copy, in addition to that of the copy itself.
#[derive(Clone)]
pub(crate) struct SourceAdmission(pub(crate) Admission);

/// An admission that cannot be decided before the request's body is read.
#[derive(Clone)]
pub(crate) struct PendingAdmission(pub(crate) Admission);

/// An admission that is decided separately for each of many objects.
#[derive(Clone)]
pub(crate) struct EachAdmission(pub(crate) Admission);

impl Admission {
    /// Prepares an admission. Calls `facts` only if there is a policy.
    ///
    /// # Errors
    /// If the stored policy cannot be parsed; the request is refused then.
    pub(crate) fn new(
        keys: Arc<Keys>,
        asking: Asking,
        settings: BucketSettings,
        facts: impl FnOnce() -> Facts,
    ) -> S3Result<Self> {
        let live = keys.owns(&settings.owner, &asking.bucket);
        let text = settings.policy.as_deref().filter(|_| live);
        let policy = text.map(|text| Policy::read(text, &asking.bucket)).transpose();
        let unreadable = |error| fault("InternalError", format!("invalid stored policy: {error}"));
        let policy = policy.map_err(unreadable)?;
        Ok(Self {
            facts: policy.is_some().then(facts).unwrap_or_default(),
            policy,
            keys,
            asking,
            settings,
            looked: None,
        })
    }

    /// Returns the bucket's owner.
    pub(crate) fn owner(&self) -> &str {
        &self.settings.owner
    }

    /// Reports whether the sender may end retentions of mode `governance` early: the bucket's
    /// owner, and users allowed by the policy.
    pub(crate) fn may_bypass(&self) -> bool {
        let mut bypass = self.clone();
        needs::BYPASS.clone_into(&mut bypass.asking.operation);
        bypass.asking.need = needs::need(needs::BYPASS);
        bypass.allows(None)
    }

    /// Reports whether a policy applies.
    pub(crate) fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Adds the facts from the request's body.
    pub(crate) fn learn(&mut self, key: Option<String>, facts: Facts) {
        self.asking.key = key.or(self.asking.key.take());
        let also = &mut self.asking.need.also;
        if facts
            .keys()
            .any(|key| key == "s3:x-amz-acl" || key.starts_with("s3:x-amz-grant-"))
        {
            also.push("s3:PutObjectAcl");
        }
        for (fact, action) in [
            (LOCK_MODE, "s3:PutObjectRetention"),
            (LOCK_HOLD, "s3:PutObjectLegalHold"),
        ] {
            if facts.contains_key(fact) {
                also.push(action);
            }
        }
        if facts.keys().any(|key| key.starts_with(REQUEST_TAG)) {
            also.push("s3:PutObjectTagging");
        }
        self.facts.extend(facts);
    }

    /// Sets the version that the request is about.
    pub(crate) fn name_version(&mut self, id: VersionId) {
        if self.asking.version.replace(id).is_none() {
            self.asking.need.of_version();
        }
    }

    /// Admits the request, or refuses it.
    ///
    /// # Errors
    /// `AccessDenied`, or the store's error if the object cannot be read.
    pub(crate) async fn settle(&mut self, store: &Store) -> S3Result<()> {
        let asks_tags = self.policy.as_ref().is_some_and(Policy::asks_tags);
        // Most requests are decided without their object, which saves reading its metadata.
        if !asks_tags && self.allows(None) {
            return Ok(());
        }
        let by_object = matches!(self.asking.need.listed, Listed::Object(_));
        let Some(name) = self.asking.key.as_ref().filter(|_| by_object || asks_tags) else {
            return self.allows(None).then_some(()).ok_or_else(denied);
        };
        let key = names::object(&self.asking.bucket, name)?;
        let found = match self.asking.version {
            None => store.head(&key).await,
            Some(id) => store.head_version(&key, id).await,
        };
        let (version, allowed) = match found {
            Ok(meta) => (Some(meta.version), self.allows(Some(&meta.attributes))),
            // A user who may list the bucket may learn that the object does not exist.
            Err(StoreError::NotFound(_)) => (None, self.allows(None) || (by_object && self.may_list())),
            Err(error) => return Err(from_store(error)),
        };
        self.looked = Some(version);
        allowed.then_some(()).ok_or_else(denied)
    }

    /// Decides again if a different version was opened than was examined.
    ///
    /// # Errors
    /// `AccessDenied` if the sender may not read the opened version.
    pub(crate) fn confirm(&self, opened: &Meta) -> S3Result<()> {
        match self.looked {
            Some(version) if version != Some(opened.version) && !self.allows(Some(&opened.attributes)) => {
                Err(denied())
            }
            _ => Ok(()),
        }
    }

    /// Reports whether the request is allowed, given the attributes of its object if they are
    /// known.
    fn allows(&self, object: Option<&BTreeMap<String, String>>) -> bool {
        let Asking {
            need, bucket, who, ..
        } = &self.asking;
        let verdict = self.verdict(object);
        // A Deny overrides the keys file and the ACLs, so the policy is evaluated first. As in S3,
        // the owner can still replace a policy that locks everybody out.
        if verdict == Verdict::Deny && !(self.is_about_policy() && self.is_owner()) {
            return false;
        }
        if self
            .right()
            .is_some_and(|right| self.keys.may(who.id.as_deref(), bucket, right))
        {
            return true;
        }
        if verdict == Verdict::Allow && self.policy_reaches(object) {
            return true;
        }
        match need.listed {
            Listed::Owner => self.is_owner(),
            Listed::Bucket(permission) => {
                let settings = &self.settings;
                if settings.is_enforced() {
                    self.listed(&settings.owner, &Acl::private(&settings.owner), permission)
                } else {
                    self.listed(&settings.owner, &settings.acl, permission)
                }
            }
            Listed::Object(permission) => object.is_some_and(|attributes| {
                let owner = self.settings.owner_of(attributes);
                self.listed(owner, &self.settings.acl_of(attributes), permission)
            }),
        }
    }

    /// Returns the policy's verdict, given the attributes of the object if they are known.
    fn verdict(&self, object: Option<&BTreeMap<String, String>>) -> Verdict {
        let Some(policy) = &self.policy else {
            return Verdict::Silent;
        };
        let Asking {
            need,
            bucket,
            who,
            key,
            ..
        } = &self.asking;
        let mut facts = self.facts.clone();
        let tags = object.and_then(|attributes| attributes.get(TAGGING));
        for (name, value) in form_urlencoded::parse(tags.map_or("", String::as_str).as_bytes()) {
            facts.insert(format!("{EXISTING_TAG}{name}"), value.into_owned());
        }
        let resource = match key {
            Some(key) => format!("{bucket}/{key}"),
            None => bucket.clone(),
        };
        let says = |action: &str| {
            policy.evaluate(Query {
                user: who.user.as_deref(),
                action,
                resource: &resource,
                facts: &facts,
            })
        };
        if need.also.iter().any(|action| says(action) == Verdict::Deny) {
            Verdict::Deny
        } else {
            says(&need.action)
        }
    }

    /// Reports whether an `Allow` of the policy counts: the object belongs to the bucket's owner,
    /// and public access is not blocked.
    fn policy_reaches(&self, object: Option<&BTreeMap<String, String>>) -> bool {
        let owner = &self.settings.owner;
        let blocked = self.block().restrict && self.policy.as_ref().is_some_and(Policy::is_public);
        let of_owner = match self.asking.need.listed {
            Listed::Object(_) => object.is_some_and(|attributes| self.settings.owner_of(attributes) == owner),
            Listed::Bucket(_) | Listed::Owner => true,
        };
        of_owner && !blocked
    }

    fn is_about_policy(&self) -> bool {
        matches!(
            self.asking.operation.as_str(),
            "GetBucketPolicy" | "PutBucketPolicy" | "DeleteBucketPolicy"
        )
    }

    /// Returns the right in the keys file that is sufficient. If the bucket's owner lacks `own`,
    /// the keys file alone decides.
    fn right(&self) -> Option<Right> {
        let Asking {
            need,
            operation,
            bucket,
            ..
        } = &self.asking;
        if self.keys.owns(&self.settings.owner, bucket) {
            need.right
        } else {
            Some(needs::plain_right(operation))
        }
    }

    /// Reports whether the sender is the bucket's owner, with a key that has `own`.
    fn is_owner(&self) -> bool {
        let Asking { who, bucket, .. } = &self.asking;
        !self.settings.owner.is_empty()
            && who.user.as_deref() == Some(self.settings.owner.as_str())
            && self.keys.may(who.id.as_deref(), bucket, Right::Own)
    }

    /// Reports whether an ACL grants the permission on something that belongs to `owner`.
    fn listed(&self, owner: &str, acl: &Acl, permission: Permission) -> bool {
        let Asking { who, bucket, .. } = &self.asking;
        if !self.keys.owns(owner, bucket) {
            return false;
        }
        let public = !self.block().ignore_acls;
        let signed = who.user.is_some();
        match who.user.as_deref() {
            Some(user) if user == owner => {
                // A user may also have keys with fewer rights; those get only the public grants.
                let full = self.keys.may(who.id.as_deref(), bucket, Right::Own);
                let always = matches!(permission, Permission::ReadAcp | Permission::WriteAcp);
                (full && always) || acl.gives(Some(user).filter(|_| full), signed, permission, public)
            }
            user => acl.gives(user, signed, permission, public),
        }
    }

    fn block(&self) -> Block {
        block(&self.keys, &self.asking.bucket, &self.settings)
    }

    fn may_list(&self) -> bool {
        let mut listing = self.clone();
        "ListObjects".clone_into(&mut listing.asking.operation);
        listing.asking.need = needs::need("ListObjects");
        listing.asking.version = None;
        let key = listing.asking.key.take().unwrap_or_default();
        // A policy may allow listings only below some prefix. The key is the narrowest prefix that
        // shows the object.
        listing.facts.insert("s3:prefix".to_owned(), key);
        listing.allows(None)
    }
}

/// Returns the public access block of a bucket: its own setting, or all switches if the keys file
/// has `block_public`.
pub(crate) fn block(keys: &Keys, bucket: &str, settings: &BucketSettings) -> Block {
    if keys.blocks_public(bucket) {
        Block::ALL
    } else {
        settings.block.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
