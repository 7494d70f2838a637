//! Whether a request is admitted: the one place where the keys file and lists meet.
//!
//! Where that depends on the object - its list, its owner - the version that was looked at is remembered, and
//! [`Admission::confirm`] decides again when another one was opened: nobody reads a private object because its predecessor
//! was public.

use std::collections::BTreeMap;
use std::sync::Arc;

use s3s::S3Result;
use store::clock::Version;
use store::meta::Meta;
use store::store::{Store, StoreError};

use super::denied;
use super::needs::{self, Listed, Need};
use crate::acl::{Acl, Permission};
use crate::error::from_store;
use crate::keys::{Keys, Right};
use crate::names;
use crate::settings::{Block, BucketSettings};

/// Who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Who {
    /// The access key, if the request is signed.
    pub(crate) id: Option<String>,
    /// Whose it is.
    pub(crate) user: Option<String>,
}

impl Who {
    /// Of an access key, or anybody.
    pub(crate) fn of(id: Option<&str>, keys: &Keys) -> Self {
        Self {
            id: id.map(str::to_owned),
            user: id.map(|id| keys.user(id)),
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) who: Who,
    pub(crate) operation: String,
    pub(crate) need: Need,
    pub(crate) bucket: String,
    /// The object's name, if the operation is about one.
    pub(crate) key: Option<String>,
}

/// A request beside everything that decides about it.
#[derive(Clone)]
pub(crate) struct Admission {
    keys: Arc<Keys>,
    asking: Asking,
    settings: BucketSettings,
    /// What was looked at, when the decision depended on it: no version if there was no object.
    looked: Option<Option<Version>>,
}

/// The admission of what a copy reads from, beside that of the copy itself.
#[derive(Clone)]
pub(crate) struct SourceAdmission(pub(crate) Admission);

impl Admission {
    pub(crate) fn new(keys: Arc<Keys>, asking: Asking, settings: BucketSettings) -> Self {
        Self {
            keys,
            asking,
            settings,
            looked: None,
        }
    }

    /// Admits the request, or refuses it.
    ///
    /// # Errors
    /// `AccessDenied`, or what the store says when the object cannot be looked at.
    pub(crate) async fn settle(&mut self, store: &Store) -> S3Result<()> {
        if self.allows(None) {
            return Ok(());
        }
        let (Listed::Object(_), Some(name)) = (self.asking.need.listed, &self.asking.key) else {
            return Err(denied());
        };
        let (version, allowed) = match store.head(&names::object(&self.asking.bucket, name)?).await {
            Ok(meta) => (Some(meta.version), self.allows(Some(&meta.attributes))),
            // Who may list may know that there is no such object.
            Err(StoreError::NotFound(_)) => (None, self.may_list()),
            Err(error) => return Err(from_store(error)),
        };
        self.looked = Some(version);
        allowed.then_some(()).ok_or_else(denied)
    }

    /// Decides again if the version that was opened is not the one that was looked at.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub(crate) fn confirm(&self, opened: &Meta) -> S3Result<()> {
        match self.looked {
            Some(version) if version != Some(opened.version) && !self.allows(Some(&opened.attributes)) => {
                Err(denied())
            }
            _ => Ok(()),
        }
    }

    /// Whether the request is allowed, given the attributes of the object it is about, if those are known.
    fn allows(&self, object: Option<&BTreeMap<String, String>>) -> bool {
        let Asking {
            need, bucket, who, ..
        } = &self.asking;
        if self
            .right()
            .is_some_and(|right| self.keys.may(who.id.as_deref(), bucket, right))
        {
            return true;
        }
        match need.listed {
            Listed::Owner => self.is_owner(),
            Listed::Bucket(permission) => {
                let settings = &self.settings;
                match settings.is_enforced() {
                    true => self.listed(&settings.owner, &Acl::private(&settings.owner), permission),
                    false => self.listed(&settings.owner, &settings.acl, permission),
                }
            }
            Listed::Object(permission) => object.is_some_and(|attributes| {
                let owner = self.settings.owner_of(attributes);
                self.listed(owner, &self.settings.acl_of(attributes), permission)
            }),
        }
    }

    /// The right of the keys file that is enough. Where the bucket's owner may not own, the keys file says everything.
    fn right(&self) -> Option<Right> {
        let Asking {
            need,
            operation,
            bucket,
            ..
        } = &self.asking;
        match self.keys.owns(&self.settings.owner, bucket) {
            true => need.right,
            false => Some(needs::plain_right(operation)),
        }
    }

    /// Whether the bucket's owner asks, with a key that may own.
    fn is_owner(&self) -> bool {
        let Asking { who, bucket, .. } = &self.asking;
        who.user.as_deref() == Some(self.settings.owner.as_str())
            && self.keys.may(who.id.as_deref(), bucket, Right::Own)
    }

    /// Whether the list of something that belongs to `owner` gives the permission.
    fn listed(&self, owner: &str, acl: &Acl, permission: Permission) -> bool {
        let Asking { who, bucket, .. } = &self.asking;
        if !self.keys.owns(owner, bucket) {
            return false;
        }
        let public = !self.block().ignore_acls;
        let signed = who.user.is_some();
        match who.user.as_deref() {
            Some(user) if user == owner => {
                // A user may have keys for less than everything: those get what everybody gets.
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
        listing.allows(None)
    }
}

/// What must not be opened to everybody in a bucket: what the bucket says, and all of it if the keys file says so.
pub(crate) fn block(keys: &Keys, bucket: &str, settings: &BucketSettings) -> Block {
    match keys.blocks_public(bucket) {
        true => Block::ALL,
        false => settings.block.unwrap_or_default(),
    }
}
