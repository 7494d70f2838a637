//! Access control lists (ACLs): permissions on a bucket or an object, in addition to the keys file.
//!
//! An ACL is stored as an attribute of the bucket's record or of the object's version. The default
//! is private. Invariants:
//!  - an ACL only adds permissions: the keys file or a policy may allow what it does not grant;
//!  - an ACL counts only while the keys file gives `own` to its owner (see [`crate::access`]);
//!  - permissions are S3's, and `FULL_CONTROL` combines the other four.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod request;

pub(crate) use request::{AclRequest, acl_request_of};

/// Attribute that stores an ACL.
pub(crate) const ACL: &str = "weft-acl";

/// Most grants in an ACL, as in S3.
pub(crate) const GRANTS_MAX: usize = 100;

/// A permission in S3's ACLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Permission {
    /// List a bucket; read an object.
    Read,
    /// Write and delete objects of a bucket; no meaning for an object.
    Write,
    /// Read the ACL.
    ReadAcp,
    /// Change the ACL.
    WriteAcp,
    /// All of the above.
    FullControl,
}

impl Permission {
    /// Returns the name in S3's spelling.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::ReadAcp => "READ_ACP",
            Self::WriteAcp => "WRITE_ACP",
            Self::FullControl => "FULL_CONTROL",
        }
    }

    /// Parses S3's spelling.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [
            Self::Read,
            Self::Write,
            Self::ReadAcp,
            Self::WriteAcp,
            Self::FullControl,
        ]
        .into_iter()
        .find(|permission| permission.name() == name)
    }

    fn covers(self, wanted: Self) -> bool {
        self == wanted || self == Self::FullControl
    }
}

/// The receiver of a grant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Grantee {
    /// Everybody, with or without a signature.
    Everybody,
    /// Every signed request.
    Authenticated,
    /// A user of the keys file.
    User(String),
}

impl Grantee {
    /// Reports whether the grantee is public in S3's sense: everybody, or every signed request.
    pub(crate) fn is_public(&self) -> bool {
        !matches!(self, Self::User(_))
    }

    fn is(&self, user: Option<&str>, signed: bool) -> bool {
        match self {
            Self::Everybody => true,
            Self::Authenticated => signed,
            Self::User(name) => user == Some(name.as_str()),
        }
    }
}

/// One grant in an ACL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// The receiver.
    #[serde(rename = "to")]
    pub(crate) grantee: Grantee,
    /// The permission.
    #[serde(rename = "may")]
    pub(crate) permission: Permission,
}

impl Grant {
    pub(crate) fn new(grantee: Grantee, permission: Permission) -> Self {
        Self { grantee, permission }
    }
}

/// An ACL: at most [`GRANTS_MAX`] grants, in the order in which the client gave them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Acl {
    pub(crate) grants: Vec<Grant>,
}

impl Acl {
    /// Returns the default ACL: full control for the owner only.
    pub(crate) fn private(owner: &str) -> Self {
        let grants = vec![Grant::new(
            Grantee::User(owner.to_owned()),
            Permission::FullControl,
        )];
        Self { grants }
    }

    /// Returns the ACL of something that belongs to `owner`. An ACL that cannot be parsed grants
    /// nothing.
    pub(crate) fn of(attributes: &BTreeMap<String, String>, owner: &str) -> Self {
        let Some(text) = attributes.get(ACL) else {
            return Self::private(owner);
        };
        let grants = serde_json::from_str(text).unwrap_or_else(|error| {
            tracing::error!(%error, "a stored access control list cannot be parsed and grants nothing");
            Vec::new()
        });
        Self { grants }
    }

    /// Returns the attribute that stores the ACL; `None` for a private one.
    pub(crate) fn attribute(&self, owner: &str) -> Option<(String, String)> {
        if *self == Self::private(owner) {
            return None;
        }
        // Names and enumerations always serialize to JSON.
        let text = serde_json::to_string(&self.grants).unwrap_or_else(|_| "[]".to_owned());
        Some((ACL.to_owned(), text))
    }

    /// Reports whether the ACL grants the permission to this user, to signed requests, or to
    /// everybody. Unless `public`, grants to everybody and to all signed requests are ignored.
    pub(crate) fn gives(&self, user: Option<&str>, signed: bool, wanted: Permission, public: bool) -> bool {
        self.grants.iter().any(|grant| {
            grant.permission.covers(wanted)
                && grant.grantee.is(user, signed)
                && (public || !grant.grantee.is_public())
        })
    }

    /// Reports whether only these users have grants.
    pub(crate) fn gives_only(&self, users: &[&str]) -> bool {
        self.grants
            .iter()
            .all(|grant| matches!(&grant.grantee, Grantee::User(user) if users.contains(&user.as_str())))
    }

    /// Reports whether anything is granted to everybody, or to all signed requests.
    pub(crate) fn is_public(&self) -> bool {
        self.grants.iter().any(|grant| grant.grantee.is_public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_and_read_again() {
        let acl = Acl {
            grants: vec![
                Grant::new(Grantee::Everybody, Permission::Read),
                Grant::new(Grantee::Authenticated, Permission::Write),
                Grant::new(Grantee::User("ann \"x\"".to_owned()), Permission::WriteAcp),
            ],
        };
        let attributes: BTreeMap<_, _> = acl.attribute("ann").into_iter().collect();
        let expected = r#"[{"to":"everybody","may":"READ"},{"to":"authenticated","may":"WRITE"},{"to":{"user":"ann \"x\""},"may":"WRITE_ACP"}]"#;
        assert_eq!(attributes[ACL], expected);
        assert_eq!(Acl::of(&attributes, "ann"), acl);
        assert_eq!(Acl::private("ann").attribute("ann"), None);
        assert_eq!(Acl::of(&BTreeMap::new(), "ann"), Acl::private("ann"));
        let broken = BTreeMap::from([(ACL.to_owned(), "[{".to_owned())]);
        assert_eq!(Acl::of(&broken, "ann"), Acl::default());
    }

    #[test]
    fn grants_are_to_whom_they_name() {
        let acl = Acl {
            grants: vec![
                Grant::new(Grantee::Everybody, Permission::Read),
                Grant::new(Grantee::Authenticated, Permission::ReadAcp),
                Grant::new(Grantee::User("ann".to_owned()), Permission::FullControl),
            ],
        };
        for (user, permission, public, expected) in [
            (None, Permission::Read, true, true),
            (None, Permission::Read, false, false),
            (None, Permission::ReadAcp, true, false),
            (Some("bob"), Permission::Read, true, true),
            (Some("bob"), Permission::ReadAcp, true, true),
            (Some("bob"), Permission::ReadAcp, false, false),
            (Some("bob"), Permission::Write, true, false),
            (Some("ann"), Permission::Write, false, true),
            (Some("ann"), Permission::WriteAcp, true, true),
        ] {
            let found = acl.gives(user, user.is_some(), permission, public);
            assert_eq!(found, expected, "{user:?} {permission:?}");
        }
        assert!(acl.is_public() && !Acl::private("ann").is_public());
    }
}
