//! Compares decisions with a second implementation of the rule, for random keys files, ACLs,
//! policies and owners; every operation by every user.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::acl::{ACL, Grant, Grantee};
use crate::attributes::OWNER;
use crate::settings::Ownership;

/// Keys of the test; one user has two.
const KEYS: [(&str, &str); 4] = [("A", "ann"), ("A2", "ann"), ("B", "bob"), ("C", "eve")];

/// Operations with the right, the permission (on the bucket or the object) and the action that they
/// need.
#[rustfmt::skip]
const OPERATIONS: [(&str, Option<&str>, &str, &str, &str); 16] = [
    ("GetObject", Some("read"), "object", "READ", "s3:GetObject"),
    ("HeadObject", Some("read"), "object", "READ", "s3:GetObject"),
    ("GetObjectAcl", Some("read"), "object", "READ_ACP", "s3:GetObjectAcl"),
    ("PutObjectAcl", None, "object", "WRITE_ACP", "s3:PutObjectAcl"),
    ("GetObjectTagging", Some("read"), "object", "FULL_CONTROL", "s3:GetObjectTagging"),
    ("PutObject", Some("write"), "bucket", "WRITE", "s3:PutObject"),
    ("CompleteMultipartUpload", Some("write"), "bucket", "WRITE", "s3:PutObject"),
    ("DeleteObject", Some("delete"), "bucket", "WRITE", "s3:DeleteObject"),
    ("ListObjectsV2", Some("list"), "bucket", "READ", "s3:ListBucket"),
    ("ListMultipartUploads", Some("list"), "bucket", "READ", "s3:ListBucketMultipartUploads"),
    ("GetBucketAcl", Some("list"), "bucket", "READ_ACP", "s3:GetBucketAcl"),
    ("PutBucketAcl", None, "bucket", "WRITE_ACP", "s3:PutBucketAcl"),
    ("GetBucketPolicy", None, "owner", "", "s3:GetBucketPolicy"),
    ("PutBucketPolicy", None, "owner", "", "s3:PutBucketPolicy"),
    ("PutPublicAccessBlock", None, "owner", "", "s3:PutBucketPublicAccessBlock"),
    ("DeleteBucket", Some("delete"), "owner", "", "s3:DeleteBucket"),
];

#[derive(Debug, Clone)]
struct World {
    /// Rights by key of [`KEYS`].
    rights: Vec<Vec<&'static str>>,
    anonymous: Vec<&'static str>,
    blocked_by_file: bool,
    bucket_owner: &'static str,
    object_owner: Option<&'static str>,
    bucket_list: Option<Vec<(&'static str, &'static str)>>,
    object_list: Option<Vec<(&'static str, &'static str)>>,
    enforced: bool,
    block: Option<Block>,
    /// Statements: whether it denies; the user, or everybody; the action, or all actions.
    policy: Vec<(bool, Option<&'static str>, Option<&'static str>)>,
}

fn world() -> impl Strategy<Value = World> {
    let rights = || subsequence(vec!["read", "write", "list", "delete", "own", "own"], 0..=3);
    let user = || select(vec!["ann", "bob"]);
    let to = select(vec!["ann", "bob", "signed", "all"]);
    let may = select(vec!["READ", "WRITE", "READ_ACP", "WRITE_ACP", "FULL_CONTROL"]);
    let list = proptest::option::of(proptest::collection::vec((to, may), 0..3));
    let switches = proptest::collection::vec(any::<bool>(), 2);
    let block = proptest::option::of(switches.prop_map(|on| Block {
        ignore_acls: on[0],
        restrict: on[1],
        ..Block::default()
    }));
    let actions: Vec<_> = OPERATIONS
        .iter()
        .map(|operation| Some(operation.4))
        .chain([None])
        .collect();
    let statement = (
        any::<bool>(),
        select(vec![None, Some("ann"), Some("bob")]),
        select(actions),
    );
    (
        proptest::collection::vec(rights(), KEYS.len()),
        subsequence(vec!["read", "list"], 0..=1),
        proptest::bool::weighted(0.2),
        (user(), proptest::option::of(user())),
        (list.clone(), list),
        proptest::bool::weighted(0.2),
        block,
        proptest::collection::vec(statement, 0..3),
    )
        .prop_map(
            |(rights, anonymous, blocked_by_file, owners, lists, enforced, block, policy)| World {
                rights,
                anonymous,
                blocked_by_file,
                bucket_owner: owners.0,
                object_owner: owners.1,
                bucket_list: lists.0,
                object_list: lists.1,
                enforced,
                block,
                policy,
            },
        )
}

impl World {
    fn keys(&self) -> Arc<Keys> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        let mut text = String::new();
        for ((id, user), rights) in KEYS.iter().zip(&self.rights) {
            text += &format!(
                "[keys.{id}]\nsecret = \"s\"\nuser = \"{user}\"\nrights = {{ \"b\" = {rights:?} }}\n"
            );
        }
        let (anonymous, blocked) = (&self.anonymous, self.blocked_by_file);
        text += &format!("[buckets.b]\nanonymous = {anonymous:?}\nblock_public = {blocked}\n");
        std::fs::write(&path, text).unwrap();
        Arc::new(Keys::open(&path).unwrap().0)
    }

    fn list(list: &Option<Vec<(&str, &str)>>, owner: &str) -> Acl {
        let Some(list) = list else {
            return Acl::private(owner);
        };
        let grants = list.iter().map(|(to, may)| {
            let grantee = match *to {
                "all" => Grantee::Everybody,
                "signed" => Grantee::Authenticated,
                user => Grantee::User(user.to_owned()),
            };
            Grant::new(grantee, Permission::by_name(may).unwrap())
        });
        Acl {
            grants: grants.collect(),
        }
    }

    fn settings(&self) -> BucketSettings {
        let mut settings = BucketSettings::of_new(self.bucket_owner.to_owned());
        settings.acl = Self::list(&self.bucket_list, self.bucket_owner);
        settings.ownership = self.enforced.then_some(Ownership::BucketOwnerEnforced);
        settings.block = self.block;
        let statements = self.policy.iter().map(|(deny, user, action)| {
            serde_json::json!({
                "Effect": if *deny { "Deny" } else { "Allow" },
                "Principal": {"AWS": user.unwrap_or("*")},
                "Action": action.unwrap_or("*"),
                "Resource": "*",
            })
        });
        let statements: Vec<_> = statements.collect();
        settings.policy =
            (!statements.is_empty()).then(|| serde_json::json!({"Statement": statements}).to_string());
        settings
    }

    fn object(&self) -> BTreeMap<String, String> {
        let owner = self
            .object_owner
            .map(|owner| (OWNER.to_owned(), owner.to_owned()));
        let list =
            serde_json::to_string(&Self::list(&self.object_list, self.owner_of_object()).grants).unwrap();
        owner.into_iter().chain([(ACL.to_owned(), list)]).collect()
    }

    fn owner_of_object(&self) -> &'static str {
        match self.object_owner {
            Some(owner) if !self.enforced => owner,
            _ => self.bucket_owner,
        }
    }

    fn has(&self, key: Option<usize>, right: &str) -> bool {
        let open = right != "own" && self.anonymous.contains(&right);
        open || key.is_some_and(|key| self.rights[key].contains(&right))
    }

    fn owns(&self, user: &str) -> bool {
        (0..KEYS.len()).any(|key| KEYS[key].1 == user && self.has(Some(key), "own"))
    }

    /// The rule as stated in the doc comment of `access`.
    fn expected(&self, key: Option<usize>, operation: usize) -> bool {
        let (name, right, on, permission, action) = OPERATIONS[operation];
        let user = key.map(|key| KEYS[key].1);
        let is_owner = user == Some(self.bucket_owner) && self.has(key, "own");
        if !self.owns(self.bucket_owner) {
            // Only the keys file counts, and the ACLs of objects whose owners have `own`.
            let plain = right.unwrap_or(match name {
                "GetBucketPolicy" => "list",
                _ => "write",
            });
            return self.has(key, plain) || (on == "object" && self.listed(key, on, permission));
        }
        let about = self.policy.iter().filter(|(_, who, what)| {
            who.is_none_or(|who| user == Some(who)) && what.is_none_or(|what| what == action)
        });
        let about: Vec<_> = about.collect();
        let denied = about.iter().any(|(deny, _, _)| *deny);
        if denied && !(is_owner && name.ends_with("BucketPolicy")) {
            return false;
        }
        let public = self.policy.iter().any(|(deny, who, _)| !deny && who.is_none());
        let restricted = public && (self.blocked_by_file || self.block.is_some_and(|block| block.restrict));
        let reached = on != "object" || self.owner_of_object() == self.bucket_owner;
        right.is_some_and(|right| self.has(key, right))
            || (!about.is_empty() && !denied && reached && !restricted)
            || match on {
                "owner" => is_owner,
                _ => self.listed(key, on, permission),
            }
    }

    fn listed(&self, key: Option<usize>, on: &str, permission: &str) -> bool {
        let user = key.map(|key| KEYS[key].1);
        let (owner, list) = match on {
            "bucket" => (self.bucket_owner, &self.bucket_list),
            _ => (self.owner_of_object(), &self.object_list),
        };
        if !self.owns(owner) {
            return false;
        }
        let full = user == Some(owner) && self.has(key, "own");
        if full && (permission.ends_with("_ACP") || self.enforced || list.is_none()) {
            return true;
        }
        let ignored = self.blocked_by_file || self.block.is_some_and(|block| block.ignore_acls);
        let list: &[_] = if self.enforced {
            &[]
        } else {
            list.as_deref().unwrap_or_default()
        };
        list.iter().any(|(to, may)| {
            let named = match *to {
                "all" => !ignored,
                "signed" => !ignored && user.is_some(),
                name => user == Some(name) && (name != owner || full),
            };
            named && (*may == permission || *may == "FULL_CONTROL")
        })
    }
}

proptest! {
    #[test]
    fn admits_what_the_rule_says(world in world()) {
        let keys = world.keys();
        let object = world.object();
        for (operation, needed) in OPERATIONS.iter().enumerate() {
            for key in [None, Some(0), Some(1), Some(2), Some(3)] {
                let asking = Asking {
                    who: Requester::of(key.map(|key| KEYS[key].0), &keys),
                    operation: needed.0.to_owned(),
                    need: needs::need(needed.0),
                    bucket: "b".to_owned(),
                    key: (needed.2 == "object" || needed.0.contains("Object") && !needed.0.starts_with("List"))
                        .then(|| "k".to_owned()),
                    version: None,
                };
                let admission = Admission::new(keys.clone(), asking, world.settings(), Facts::new).unwrap();
                let found = admission.allows(Some(&object));
                prop_assert_eq!(found, world.expected(key, operation), "{} by {:?}", needed.0, key);
            }
        }
    }
}
