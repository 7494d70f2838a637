use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

/// Returns the verdict of a policy with one statement of these elements, or its error.
fn check(elements: &str, user: Option<&str>, action: &str, resource: &str, facts: &[(&str, &str)]) -> String {
    let text = format!(r#"{{"Version":"2012-10-17","Statement":[{{{elements}}}]}}"#);
    let facts = facts
        .iter()
        .map(|(key, value)| (conditions::normal(key), (*value).to_owned()));
    match Policy::read(&text, "b") {
        Err(error) => error.to_string(),
        Ok(policy) => format!(
            "{:?}",
            policy.evaluate(Query {
                user,
                action,
                resource,
                facts: &facts.collect(),
            })
        ),
    }
}

/// Returns the verdict of a condition on a statement that lets everybody read.
fn check_condition(condition: &str, facts: &[(&str, &str)]) -> String {
    let elements = format!(
        r#""Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*","Condition":{condition}"#
    );
    check(&elements, None, "s3:GetObject", "b/k", facts)
}

#[test]
fn principals() {
    let with = |principal: &str, user| {
        let elements = format!(
            r#""Effect":"Allow","Principal":{principal},"Action":"s3:*","Resource":"arn:aws:s3:::b/*""#
        );
        check(&elements, user, "s3:GetObject", "b/k", &[])
    };
    for everybody in [
        r#""*""#,
        r#"{"AWS":"*"}"#,
        r#"{"AWS":["*"]}"#,
        r#"{"CanonicalUser":"*"}"#,
    ] {
        assert_eq!(with(everybody, None), "Allow", "{everybody}");
    }
    for ann in [
        r#"{"AWS":"arn:aws:iam::1:user/ann"}"#,
        r#"{"AWS":"arn:aws:iam:::user/ann"}"#,
        r#"{"AWS":"arn:aws:iam::ann:root"}"#,
        r#"{"AWS":["bob","ann"]}"#,
        r#"{"CanonicalUser":"ann"}"#,
    ] {
        assert_eq!(with(ann, Some("ann")), "Allow", "{ann}");
        assert_eq!(with(ann, Some("eve")), "Silent", "{ann}");
        assert_eq!(with(ann, None), "Silent", "{ann}");
    }
    for wrong in [
        r#""ann""#,
        r#"{"AWS":"arn:aws:iam::1:role/x"}"#,
        r#"{"AWS":"arn:aws:iam::1:user/*"}"#,
        r#"{"AWS":[]}"#,
        r#"{"Service":"logging.s3.amazonaws.com"}"#,
        "{}",
    ] {
        assert!(with(wrong, Some("ann")).contains(' '), "{wrong}");
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    let base = r#""Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*""#;
    assert_eq!(check(base, None, "s3:GetObject", "b/k", &[]), "Allow");
    for (from, to) in [
        (r#""Allow""#, r#""Perhaps""#),
        (r#""Principal""#, r#""NotPrincipal""#),
        (r#""Principal":"*","#, ""),
        ("s3:GetObject", "s3:GetObjekt"),
        ("s3:GetObject", "iam:GetUser"),
        (r#""s3:GetObject""#, "[]"),
        ("arn:aws:s3:::b/*", "arn:aws:s3:::other/*"),
        ("arn:aws:s3:::b/*", "b/*"),
        ("arn:aws:s3:::b/*", "arn:aws:s3:::b/${aws:username}"),
        (r#""Effect""#, r#""Efect":1,"Effect""#),
        (r#""Effect""#, r#""NotAction":"s3:PutObject","Effect""#),
        (
            r#""Effect""#,
            r#""Condition":{"StringEquals":{"aws:PrincipalOrgID":"o"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"StringMatches":{"s3:prefix":"o"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"ForAllValues:StringLike":{"s3:prefix":"o"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"StringEquals":{"aws:SourceIp":"10.0.0.1"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"IpAddress":{"aws:SourceIp":"10.0.0/8"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"StringLike":{"s3:prefix":"${aws:username}/"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"StringLike":{"s3:prefix":"a","s3:prefix":"b"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"StringLike":{"s3:ExistingObjectTag/":"a"}},"Effect""#,
        ),
        (
            r#""Effect""#,
            r#""Condition":{"Bool":{"aws:SecureTransport":"maybe"}},"Effect""#,
        ),
    ] {
        let text = base.replacen(from, to, 1);
        assert_ne!(text, base, "{from}");
        let found = check(&text, None, "s3:GetObject", "b/k", &[]);
        assert!(found.contains(' '), "{text}: {found}");
    }
    assert!(Policy::read(r#"{"Version":"2013-01-01","Statement":[]}"#, "b").is_err());
    assert!(Policy::read(&" ".repeat(BYTES_MAX + 1), "b").is_err());
    assert!(Policy::read("", "b").is_err());
}

#[test]
fn conditions() {
    let ip = r#"{"IpAddress":{"aws:SourceIp":["10.0.0.0/8","2001:db8::/32"]}}"#;
    for (condition, facts, expected) in [
        (ip, &[("aws:SourceIp", "10.1.2.3")][..], true),
        (ip, &[("aws:SourceIp", "::ffff:10.1.2.3")], true),
        (ip, &[("aws:SourceIp", "2001:db8::7")], true),
        (ip, &[("aws:SourceIp", "11.1.2.3")], false),
        (ip, &[], false),
        (
            r#"{"NotIpAddress":{"aws:sourceip":"10.0.0.0/8"}}"#,
            &[("aws:SourceIp", "10.1.2.3")],
            false,
        ),
        (r#"{"NotIpAddress":{"aws:sourceip":"10.0.0.0/8"}}"#, &[], true),
        (
            r#"{"StringLike":{"s3:prefix":["a/*","b?"]}}"#,
            &[("s3:prefix", "a/b")],
            true,
        ),
        (
            r#"{"StringLike":{"s3:prefix":["a/*","b?"]}}"#,
            &[("s3:prefix", "bcc")],
            false,
        ),
        (r#"{"StringLike":{"s3:prefix":"*"}}"#, &[], false),
        (r#"{"StringLikeIfExists":{"s3:prefix":"a"}}"#, &[], true),
        (
            r#"{"StringLikeIfExists":{"s3:prefix":"a"}}"#,
            &[("s3:prefix", "b")],
            false,
        ),
        (
            r#"{"StringNotLike":{"s3:prefix":["a*","b*"]}}"#,
            &[("s3:prefix", "bc")],
            false,
        ),
        (
            r#"{"StringNotLike":{"s3:prefix":["a*","b*"]}}"#,
            &[("s3:prefix", "c")],
            true,
        ),
        (r#"{"StringNotEquals":{"s3:prefix":"a"}}"#, &[], true),
        (
            r#"{"StringEquals":{"s3:prefix":"A"}}"#,
            &[("s3:prefix", "a")],
            false,
        ),
        (
            r#"{"StringEqualsIgnoreCase":{"s3:prefix":"A"}}"#,
            &[("s3:prefix", "a")],
            true,
        ),
        (
            r#"{"StringEquals":{"s3:ExistingObjectTag/Key":"v"}}"#,
            &[("s3:ExistingObjectTag/Key", "v")],
            true,
        ),
        (
            r#"{"StringEquals":{"s3:ExistingObjectTag/Key":"v"}}"#,
            &[("s3:ExistingObjectTag/key", "v")],
            false,
        ),
        (
            r#"{"NumericLessThanEquals":{"s3:max-keys":10}}"#,
            &[("s3:max-keys", "10")],
            true,
        ),
        (
            r#"{"NumericLessThanEquals":{"s3:max-keys":"10"}}"#,
            &[("s3:max-keys", "11")],
            false,
        ),
        (
            r#"{"NumericLessThanEquals":{"s3:max-keys":10}}"#,
            &[("s3:max-keys", "ten")],
            false,
        ),
        (
            r#"{"NumericNotEquals":{"s3:max-keys":[1,2]}}"#,
            &[("s3:max-keys", "2")],
            false,
        ),
        (
            r#"{"Bool":{"aws:SecureTransport":true}}"#,
            &[("aws:SecureTransport", "true")],
            true,
        ),
        (
            r#"{"Bool":{"aws:SecureTransport":"false"}}"#,
            &[("aws:SecureTransport", "true")],
            false,
        ),
        (r#"{"Bool":{"aws:SecureTransport":"true"}}"#, &[], false),
        (r#"{"Null":{"s3:x-amz-acl":"true"}}"#, &[], true),
        (
            r#"{"Null":{"s3:x-amz-acl":true}}"#,
            &[("s3:x-amz-acl", "")],
            false,
        ),
        (
            r#"{"DateLessThan":{"aws:CurrentTime":"2026-01-01T00:00:00Z"}}"#,
            &[("aws:CurrentTime", "1700000000")],
            true,
        ),
        (
            r#"{"DateGreaterThan":{"aws:CurrentTime":"2026-01-01T00:00:00Z"}}"#,
            &[("aws:CurrentTime", "1700000000")],
            false,
        ),
        (
            r#"{"StringLike":{"s3:prefix":"a*"},"Bool":{"aws:SecureTransport":true}}"#,
            &[("s3:prefix", "ab"), ("aws:SecureTransport", "false")],
            false,
        ),
    ] {
        let expected = if expected { "Allow" } else { "Silent" };
        assert_eq!(
            check_condition(condition, facts),
            expected,
            "{condition} {facts:?}"
        );
    }
}

#[test]
fn what_is_public() {
    let public = |principal: &str, condition: &str| {
        let text = format!(
            r#"{{"Statement":{{"Effect":"Allow","Principal":{principal},"Action":"*","Resource":"*"{condition}}}}}"#
        );
        Policy::read(&text, "b").unwrap().is_public()
    };
    let ip = |net: &str| format!(r#","Condition":{{"IpAddress":{{"aws:SourceIp":"{net}"}}}}"#);
    assert!(public(r#""*""#, ""));
    assert!(public(r#""*""#, &ip("0.0.0.0/1")));
    assert!(public(
        r#""*""#,
        r#","Condition":{"StringLike":{"aws:Referer":"x"}}"#
    ));
    assert!(!public(r#""*""#, &ip("10.0.0.0/8")));
    assert!(!public(r#"{"AWS":"ann"}"#, ""));
}

/// A statement that the model can evaluate without patterns.
#[derive(Debug, Clone)]
struct Simple {
    deny: bool,
    users: Option<Vec<&'static str>>,
    actions: (bool, Vec<&'static str>),
    resources: (bool, Vec<&'static str>),
    secure: Option<bool>,
}

/// Patterns of actions, and the actions that match them.
const ACTIONS: [(&str, &[&str]); 5] = [
    ("s3:GetObject", &["s3:GetObject"]),
    ("s3:getobject*", &["s3:GetObject", "s3:GetObjectAcl"]),
    ("s3:Put*", &["s3:PutObject"]),
    ("s3:*Object", &["s3:GetObject", "s3:PutObject"]),
    (
        "*",
        &["s3:GetObject", "s3:GetObjectAcl", "s3:PutObject", "s3:ListBucket"],
    ),
];

/// Patterns of resources, and the resources that match them.
const RESOURCES: [(&str, &[&str]); 5] = [
    ("arn:aws:s3:::b", &["b"]),
    ("arn:aws:s3:::b/*", &["b/x", "b/dir/x"]),
    ("arn:aws:s3:::b/dir/*", &["b/dir/x"]),
    ("arn:aws:s3:::*", &["b", "b/x", "b/dir/x"]),
    ("arn:aws:s3:::b/?", &["b/x"]),
];

fn simple() -> impl Strategy<Value = Simple> {
    let of = |table: [(&'static str, &'static [&'static str]); 5]| {
        let patterns: Vec<_> = table.iter().map(|(pattern, _)| *pattern).collect();
        (any::<bool>(), subsequence(patterns, 1..=2))
    };
    (
        any::<bool>(),
        proptest::option::of(subsequence(vec!["ann", "bob"], 1..=2)),
        of(ACTIONS),
        of(RESOURCES),
        proptest::option::of(any::<bool>()),
    )
        .prop_map(|(deny, users, actions, resources, secure)| Simple {
            deny,
            users,
            actions,
            resources,
            secure,
        })
}

impl Simple {
    fn text(&self) -> serde_json::Value {
        let name = |name: &str, not: bool| format!("{}{name}", if not { "Not" } else { "" });
        let mut statement = serde_json::json!({
            "Effect": if self.deny { "Deny" } else { "Allow" },
            "Principal": self.users.as_ref().map_or("*".into(), |users| serde_json::json!({"AWS": users})),
            name("Action", self.actions.0): self.actions.1,
            name("Resource", self.resources.0): self.resources.1,
        });
        if let Some(secure) = self.secure {
            statement["Condition"] = serde_json::json!({"Bool": {"aws:SecureTransport": secure}});
        }
        statement
    }

    fn is_about(&self, user: Option<&str>, action: &str, resource: &str, secure: bool) -> bool {
        let selected = |(not, chosen): &(bool, Vec<&str>), table: [(&str, &[&str]); 5], one: &str| {
            let fits = |pattern| {
                table
                    .iter()
                    .any(|(name, all)| *name == pattern && all.contains(&one))
            };
            chosen.iter().any(|pattern| fits(*pattern)) != *not
        };
        self.users
            .as_ref()
            .is_none_or(|users| user.is_some_and(|user| users.contains(&user)))
            && selected(&self.actions, ACTIONS, action)
            && selected(&self.resources, RESOURCES, resource)
            && self.secure.is_none_or(|wanted| wanted == secure)
    }
}

proptest! {
    #[test]
    fn evaluates_as_the_model_says(
        statements in proptest::collection::vec(simple(), 0..5),
        user in select(vec![None, Some("ann"), Some("bob"), Some("eve")]),
        action in select(vec!["s3:GetObject", "s3:GetObjectAcl", "s3:PutObject", "s3:ListBucket"]),
        resource in select(vec!["b", "b/x", "b/dir/x"]),
        secure in any::<bool>(),
    ) {
        let about: Vec<_> = statements.iter().filter(|one| one.is_about(user, action, resource, secure)).collect();
        let expected = match (about.iter().any(|one| one.deny), about.is_empty()) {
            (true, _) => Verdict::Deny,
            (false, false) => Verdict::Allow,
            (false, true) => Verdict::Silent,
        };
        let statements: Vec<_> = statements.iter().map(Simple::text).collect();
        let text = serde_json::json!({"Statement": statements}).to_string();
        let facts = Facts::from([(SECURE.to_owned(), secure.to_string())]);
        let found = Policy::read(&text, "b").unwrap().evaluate(Query { user, action, resource, facts: &facts });
        prop_assert_eq!(found, expected, "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}:,\"a-zA-Z0-9*?$/.]{0,80}") {
        let _ = Policy::read(&text, "b");
    }
}
