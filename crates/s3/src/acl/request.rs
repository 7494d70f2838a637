//! The ACL that a client requests: a canned ACL, grants in headers, or a document.

use s3s::S3Result;
use s3s::dto::{self, AccessControlPolicy};

use super::{Acl, GRANTS_MAX, Grant, Grantee, Permission};
use crate::error::fault;
use crate::keys::Keys;

/// S3's group URI for everybody.
pub(crate) const EVERYBODY_URI: &str = "http://acs.amazonaws.com/groups/global/AllUsers";

/// S3's group URI for all signed requests.
pub(crate) const AUTHENTICATED_URI: &str = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";

/// The parts of a request that specify an ACL.
#[derive(Debug, Clone, Default)]
pub(crate) struct AclRequest {
    /// Name of a canned ACL.
    pub(crate) canned: Option<String>,
    /// `x-amz-grant-...` headers: `id="...", uri="...", emailAddress="..."`.
    pub(crate) headers: Vec<(Permission, String)>,
    /// The request's body.
    pub(crate) document: Option<AccessControlPolicy>,
}

/// Reads the requested ACL from an s3s input. Inputs for objects lack `x-amz-grant-write`, so it is
/// read from the headers.
macro_rules! acl_request_of {
    ($input:expr, $headers:expr) => {{
        use $crate::acl::{AclRequest, Permission};
        let write = $headers.get("x-amz-grant-write");
        let write = write.and_then(|text| text.to_str().ok()).map(str::to_owned);
        let given = [
            (Permission::Read, &$input.grant_read),
            (Permission::Write, &write),
            (Permission::ReadAcp, &$input.grant_read_acp),
            (Permission::WriteAcp, &$input.grant_write_acp),
            (Permission::FullControl, &$input.grant_full_control),
        ];
        let headers = given.into_iter();
        AclRequest {
            canned: $input.acl.as_ref().map(|acl| acl.as_str().to_owned()),
            headers: headers
                .filter_map(|(permission, text)| Some((permission, text.clone()?)))
                .collect(),
            document: None,
        }
    }};
}

pub(crate) use acl_request_of;

impl AclRequest {
    /// Reports whether no ACL is specified.
    pub(crate) fn is_empty(&self) -> bool {
        self.canned.as_deref().is_none_or(str::is_empty) && self.headers.is_empty() && self.document.is_none()
    }

    /// Reports whether exactly this canned ACL is specified.
    pub(crate) fn is(&self, canned: &str) -> bool {
        self.canned.as_deref() == Some(canned) && self.headers.is_empty() && self.document.is_none()
    }

    /// Returns the ACL for something that belongs to `owner` in a bucket of `bucket_owner`; private
    /// if none is specified.
    pub(crate) fn resolve(&self, owner: &str, bucket_owner: &str, keys: &Keys) -> S3Result<Acl> {
        let canned = self.canned.as_deref().filter(|name| !name.is_empty());
        let grants = match (canned, self.headers.is_empty(), &self.document) {
            (None, true, None) => return Ok(Acl::private(owner)),
            (Some(name), true, None) => of_canned(name, owner, bucket_owner)?,
            (None, false, None) => of_headers(&self.headers, keys)?,
            (None, true, Some(document)) => of_document(document, owner, keys)?,
            _ => {
                let detail =
                    "an ACL must be given in one way only: by its name, by grant headers or in the body";
                return Err(fault("InvalidRequest", detail));
            }
        };
        if grants.len() > GRANTS_MAX {
            let detail = format!("{} grants, at most {GRANTS_MAX} are allowed", grants.len());
            return Err(fault("MalformedACLError", detail));
        }
        Ok(Acl { grants })
    }
}

fn of_canned(name: &str, owner: &str, bucket_owner: &str) -> S3Result<Vec<Grant>> {
    let user = |name: &str| Grantee::User(name.to_owned());
    let own = || Grant::new(user(owner), Permission::FullControl);
    let also = |grantee: Grantee, permission| vec![own(), Grant::new(grantee, permission)];
    Ok(match name {
        "private" => vec![own()],
        "public-read" => also(Grantee::Everybody, Permission::Read),
        "public-read-write" => vec![
            own(),
            Grant::new(Grantee::Everybody, Permission::Read),
            Grant::new(Grantee::Everybody, Permission::Write),
        ],
        "authenticated-read" => also(Grantee::Authenticated, Permission::Read),
        "bucket-owner-read" | "bucket-owner-full-control" if owner == bucket_owner => vec![own()],
        "bucket-owner-read" => also(user(bucket_owner), Permission::Read),
        "bucket-owner-full-control" => also(user(bucket_owner), Permission::FullControl),
        other => {
            let detail = format!("there is no canned ACL {other:?}");
            return Err(fault("InvalidArgument", detail));
        }
    })
}

fn of_headers(headers: &[(Permission, String)], keys: &Keys) -> S3Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for (permission, text) in headers {
        for one in text.split(',') {
            let grantee = of_header(one.trim(), keys)?;
            grants.push(Grant::new(grantee, *permission));
        }
    }
    Ok(grants)
}

/// Parses a grantee like `id="ann"`; quotes are optional.
fn of_header(text: &str, keys: &Keys) -> S3Result<Grantee> {
    let wrong = || {
        fault(
            "InvalidArgument",
            format!("{text:?}: expected id=, uri= or emailAddress="),
        )
    };
    let (kind, value) = text.split_once('=').ok_or_else(wrong)?;
    let value = value.trim().trim_matches('"');
    match kind.trim() {
        "id" => user(value, keys),
        "uri" => group(value),
        "emailAddress" => by_email(value, keys),
        _ => Err(wrong()),
    }
}

fn of_document(document: &AccessControlPolicy, owner: &str, keys: &Keys) -> S3Result<Vec<Grant>> {
    let named = document.owner.as_ref().and_then(|owner| owner.id.as_deref());
    if named.is_some_and(|named| named != owner) {
        return Err(fault("AccessDenied", "the owner cannot be changed by an ACL"));
    }
    let grants = document.grants.iter().flatten();
    grants.map(|grant| of_line(grant, owner, keys)).collect()
}

fn of_line(grant: &dto::Grant, owner: &str, keys: &Keys) -> S3Result<Grant> {
    let malformed = |detail: &str| fault("MalformedACLError", detail);
    let permission = grant.permission.as_ref().map(dto::Permission::as_str);
    let permission = permission
        .and_then(Permission::by_name)
        .ok_or_else(|| malformed("a grant has no valid permission"))?;
    let grantee = grant
        .grantee
        .as_ref()
        .ok_or_else(|| malformed("a grant has no grantee"))?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let grantee = match grantee.type_.as_str() {
        // The owner is a valid grantee even if the keys file has no such user any longer.
        dto::Type::CANONICAL_USER if grantee.id.as_deref() == Some(owner) => Grantee::User(owner.to_owned()),
        dto::Type::CANONICAL_USER => user(&text(&grantee.id), keys)?,
        dto::Type::GROUP => group(&text(&grantee.uri))?,
        dto::Type::AMAZON_CUSTOMER_BY_EMAIL => by_email(&text(&grantee.email_address), keys)?,
        _ => return Err(malformed("the grantee is neither a user nor a group")),
    };
    Ok(Grant::new(grantee, permission))
}

fn user(name: &str, keys: &Keys) -> S3Result<Grantee> {
    if keys.is_user(name) {
        Ok(Grantee::User(name.to_owned()))
    } else {
        Err(fault(
            "InvalidArgument",
            format!("there is no user with id {name:?}"),
        ))
    }
}

fn group(uri: &str) -> S3Result<Grantee> {
    match uri {
        EVERYBODY_URI => Ok(Grantee::Everybody),
        AUTHENTICATED_URI => Ok(Grantee::Authenticated),
        _ => Err(fault("InvalidArgument", format!("there is no group {uri:?}"))),
    }
}

fn by_email(email: &str, keys: &Keys) -> S3Result<Grantee> {
    keys.user_of_email(email).map(Grantee::User).ok_or_else(|| {
        let detail = format!("no user, or more than one, has the address {email:?}");
        fault("UnresolvableGrantByEmailAddress", detail)
    })
}

/// Converts a grant to S3's form.
pub(super) fn show(grant: &Grant) -> dto::Grant {
    let (kind, user, uri) = match &grant.grantee {
        Grantee::User(user) => (dto::Type::CANONICAL_USER, Some(user.clone()), None),
        Grantee::Everybody => (dto::Type::GROUP, None, Some(EVERYBODY_URI.to_owned())),
        Grantee::Authenticated => (dto::Type::GROUP, None, Some(AUTHENTICATED_URI.to_owned())),
    };
    dto::Grant {
        grantee: Some(dto::Grantee {
            display_name: user.clone(),
            email_address: None,
            id: user,
            type_: dto::Type::from_static(kind),
            uri,
        }),
        permission: Some(dto::Permission::from_static(grant.permission.name())),
    }
}

impl Acl {
    /// Converts the grants to S3's form, groups first.
    pub(crate) fn show(&self) -> Vec<dto::Grant> {
        let mut grants: Vec<_> = self.grants.iter().collect();
        grants.sort_by_key(|grant| !grant.grantee.is_public());
        grants.into_iter().map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> (tempfile::TempDir, Keys) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        let text = "[keys.ann]\nsecret = \"s\"\nemail = \"ann@example.org\"\nrights = {}\n[keys.B]\nsecret = \"s\"\nuser = \"bob\"\nrights = {}\n";
        std::fs::write(&path, text).unwrap();
        let keys = Keys::open(&path).unwrap().0;
        (dir, keys)
    }

    /// Checks the resolved ACL as text, or the error's code.
    fn check(requested: AclRequest, expected: &str) {
        let (_dir, keys) = keys();
        let found = match requested.resolve("ann", "bob", &keys) {
            Ok(acl) => serde_json::to_string(&acl.grants)
                .unwrap()
                .replace(['"', '{', '}', '[', ']'], "")
                .replace("to:", "")
                .replace(",may", ""),
            Err(error) => error.code().as_str().to_owned(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn canned() {
        let canned = |name: &str| AclRequest {
            canned: Some(name.to_owned()),
            ..AclRequest::default()
        };
        check(AclRequest::default(), "user:ann:FULL_CONTROL");
        check(canned(""), "user:ann:FULL_CONTROL");
        check(canned("private"), "user:ann:FULL_CONTROL");
        check(canned("public-read"), "user:ann:FULL_CONTROL,everybody:READ");
        check(
            canned("public-read-write"),
            "user:ann:FULL_CONTROL,everybody:READ,everybody:WRITE",
        );
        check(
            canned("authenticated-read"),
            "user:ann:FULL_CONTROL,authenticated:READ",
        );
        check(canned("bucket-owner-read"), "user:ann:FULL_CONTROL,user:bob:READ");
        check(
            canned("bucket-owner-full-control"),
            "user:ann:FULL_CONTROL,user:bob:FULL_CONTROL",
        );
        check(canned("aws-exec-read"), "InvalidArgument");
    }

    #[test]
    fn headers() {
        let read = |text: &str| AclRequest {
            headers: vec![(Permission::Read, text.to_owned())],
            ..AclRequest::default()
        };
        check(read("id=bob"), "user:bob:READ");
        check(
            read("id=\"bob\", emailAddress=\"ann@example.org\""),
            "user:bob:READ,user:ann:READ",
        );
        check(read(&format!("uri={EVERYBODY_URI}")), "everybody:READ");
        check(read("uri=http://example.org/"), "InvalidArgument");
        check(read("id=nobody"), "InvalidArgument");
        check(read("bob"), "InvalidArgument");
        check(read("emailAddress=x"), "UnresolvableGrantByEmailAddress");
        let mut both = read("id=bob");
        both.canned = Some("private".to_owned());
        check(both, "InvalidRequest");
        check(read(&["id=bob"; 101].join(",")), "MalformedACLError");
    }

    #[test]
    fn documents() {
        let document = |owner: &str, grants: Vec<dto::Grant>| AclRequest {
            document: Some(AccessControlPolicy {
                grants: Some(grants),
                owner: Some(dto::Owner {
                    display_name: None,
                    id: Some(owner.to_owned()),
                }),
            }),
            ..AclRequest::default()
        };
        check(document("ann", Vec::new()), "");
        check(document("bob", Vec::new()), "AccessDenied");
        let grant = show(&Grant::new(Grantee::User("bob".to_owned()), Permission::WriteAcp));
        check(document("ann", vec![grant.clone()]), "user:bob:WRITE_ACP");
        let mut other = grant.clone();
        other.permission = Some(dto::Permission::from_static("EVERYTHING"));
        check(document("ann", vec![other]), "MalformedACLError");
        let mut nobody = grant;
        nobody.grantee = None;
        check(document("ann", vec![nobody]), "MalformedACLError");
    }
}
