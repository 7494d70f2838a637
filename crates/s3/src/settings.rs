//! Access settings stored with a bucket: its owner and its permissions.
//!
//! They are attributes of the store's bucket ([`store::bucket`]). Concurrent changes do not
//! overwrite each other.

use std::collections::BTreeMap;

use s3s::S3Result;
use serde::{Deserialize, Serialize};
use store::Store;
use store::bucket::Bucket;

use crate::acl::{ACL, Acl};
use crate::attributes::OWNER;
use crate::error::{fault, from_bucket};

/// Attribute: object ownership in a bucket.
const OWNERSHIP: &str = "weft-object-ownership";

/// Attribute: the public access block.
const BLOCK: &str = "weft-public-access-block";

/// Attribute: the policy document as the client sent it.
pub(crate) const POLICY: &str = "weft-policy";

/// The rule that decides who owns an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Its writer owns it. This is a bucket's default.
    ObjectWriter,
    /// Its writer owns it, unless the canned ACL `bucket-owner-full-control` transfers it to the
    /// bucket's owner.
    BucketOwnerPreferred,
    /// The bucket's owner owns it; ACLs are disabled.
    BucketOwnerEnforced,
}

impl Ownership {
    /// Returns the name in S3's spelling.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ObjectWriter => "ObjectWriter",
            Self::BucketOwnerPreferred => "BucketOwnerPreferred",
            Self::BucketOwnerEnforced => "BucketOwnerEnforced",
        }
    }

    /// Parses S3's spelling.
    pub(crate) fn by_name(name: &str) -> S3Result<Self> {
        [
            Self::ObjectWriter,
            Self::BucketOwnerPreferred,
            Self::BucketOwnerEnforced,
        ]
        .into_iter()
        .find(|ownership| ownership.name() == name)
        .ok_or_else(|| {
            fault(
                "InvalidArgument",
                format!("there is no object ownership {name:?}"),
            )
        })
    }
}

/// A public access block, with S3's four switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Block {
    /// Refuse ACLs that grant to everybody.
    pub(crate) public_acls: bool,
    /// Ignore grants to everybody.
    pub(crate) ignore_acls: bool,
    /// Refuse policies that allow everybody.
    pub(crate) public_policy: bool,
    /// Let a policy that allows everybody apply to the owner only.
    pub(crate) restrict: bool,
}

impl Block {
    /// A block with all four switches on.
    pub(crate) const ALL: Self = Self {
        public_acls: true,
        ignore_acls: true,
        public_policy: true,
        restrict: true,
    };
}

/// The access settings of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketSettings {
    /// The user who created the bucket.
    pub(crate) owner: String,
    /// The bucket's own ACL.
    pub(crate) acl: Acl,
    /// Object ownership; `None` if never set.
    pub(crate) ownership: Option<Ownership>,
    /// The public access block; `None` if never set.
    pub(crate) block: Option<Block>,
    /// The policy document as the client sent it.
    pub(crate) policy: Option<String>,
}

impl BucketSettings {
    /// Reads the settings from a bucket's record.
    pub(crate) fn of(record: &Bucket) -> S3Result<Self> {
        let attributes = &record.attributes;
        let owner = attributes.get(OWNER).cloned().unwrap_or_default();
        let block = attributes.get(BLOCK).map(|text| serde_json::from_str(text));
        let wrong = |error| fault("InternalError", format!("invalid stored access block: {error}"));
        Ok(Self {
            acl: Acl::of(attributes, &owner),
            ownership: attributes
                .get(OWNERSHIP)
                .map(|name| Ownership::by_name(name))
                .transpose()?,
            block: block.transpose().map_err(wrong)?,
            policy: attributes.get(POLICY).cloned(),
            owner,
        })
    }

    /// Replaces the record's attributes that hold these settings.
    pub(crate) fn write(&self, attributes: &mut BTreeMap<String, String>) {
        for name in [ACL, OWNERSHIP, BLOCK, POLICY] {
            attributes.remove(name);
        }
        attributes.insert(OWNER.to_owned(), self.owner.clone());
        attributes.extend(self.acl.attribute(&self.owner));
        attributes.extend(
            self.ownership
                .map(|ownership| (OWNERSHIP.to_owned(), ownership.name().to_owned())),
        );
        // Four switches always serialize to JSON.
        let block = self.block.and_then(|block| serde_json::to_string(&block).ok());
        attributes.extend(block.map(|text| (BLOCK.to_owned(), text)));
        attributes.extend(self.policy.clone().map(|text| (POLICY.to_owned(), text)));
    }

    /// Returns the settings of a new bucket.
    pub(crate) fn of_new(owner: String) -> Self {
        Self {
            acl: Acl::private(&owner),
            owner,
            ownership: None,
            block: None,
            policy: None,
        }
    }

    /// Reports whether ACLs are disabled, because the bucket's owner owns all objects.
    pub(crate) fn is_enforced(&self) -> bool {
        self.ownership == Some(Ownership::BucketOwnerEnforced)
    }

    /// Returns the owner of an object in this bucket.
    pub(crate) fn owner_of<'a>(&'a self, attributes: &'a BTreeMap<String, String>) -> &'a str {
        match attributes.get(OWNER) {
            Some(owner) if !self.is_enforced() => owner,
            _ => &self.owner,
        }
    }

    /// Returns the ACL of an object in this bucket.
    pub(crate) fn acl_of(&self, attributes: &BTreeMap<String, String>) -> Acl {
        let owner = self.owner_of(attributes);
        if self.is_enforced() {
            Acl::private(owner)
        } else {
            Acl::of(attributes, owner)
        }
    }
}

/// Changes a bucket's record: `change` receives its attributes, and is called again if a concurrent
/// change was committed first.
pub(crate) async fn change(
    store: &Store,
    bucket: &str,
    mut change: impl FnMut(&Bucket, &mut BTreeMap<String, String>) -> S3Result<()> + Send,
) -> S3Result<()> {
    let changed = store.change_bucket(bucket, |before| {
        let mut attributes = before.attributes.clone();
        change(before, &mut attributes)?;
        Ok(attributes)
    });
    changed.await.map_err(from_bucket)?.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::{Grant, Grantee, Permission};

    #[test]
    fn owners_of_objects() {
        let mut settings = BucketSettings::of_new("ann".to_owned());
        let theirs = BTreeMap::from([(OWNER.to_owned(), "bob".to_owned())]);
        assert_eq!(settings.owner_of(&theirs), "bob");
        assert_eq!(settings.owner_of(&BTreeMap::new()), "ann");
        settings.ownership = Some(Ownership::BucketOwnerEnforced);
        assert_eq!(settings.owner_of(&theirs), "ann");
        assert_eq!(settings.acl_of(&theirs), Acl::private("ann"));
    }

    #[test]
    fn written_over_what_was_there() {
        let mut settings = BucketSettings::of_new("ann".to_owned());
        settings
            .acl
            .grants
            .push(Grant::new(Grantee::Everybody, Permission::Read));
        settings.ownership = Some(Ownership::BucketOwnerPreferred);
        settings.block = Some(Block {
            restrict: true,
            ..Block::default()
        });
        settings.policy = Some("{}".to_owned());
        let mut attributes = BTreeMap::from([("other".to_owned(), "kept".to_owned())]);
        settings.write(&mut attributes);
        assert_eq!(attributes.len(), 6);
        BucketSettings::of_new("ann".to_owned()).write(&mut attributes);
        let expected = [("other", "kept"), (OWNER, "ann")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(attributes, BTreeMap::from(expected));
    }
}
