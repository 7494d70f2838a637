//! Conditions of a policy: an operator, a key, and the values to compare with.
//!
//! An unknown key, an unknown operator or a value of the wrong type is refused when the policy is
//! put, so that no condition is ignored. If the request lacks the key, a comparison is false, a
//! negated comparison is true, and a comparison with `IfExists` is true.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use time::OffsetDateTime;
use time::format_description::well_known::Iso8601;

use super::error::PolicyError;
use super::json::{OneOrMany, Scalar};
use crate::glob::fits;

/// A request's values, by condition keys in the form of [`normal`].
pub(crate) type Facts = BTreeMap<String, String>;

/// Condition keys with one text value.
const TEXT_KEYS: [&str; 18] = [
    "aws:referer",
    "aws:useragent",
    "aws:username",
    "s3:delimiter",
    "s3:prefix",
    "s3:x-amz-acl",
    "s3:x-amz-copy-source",
    "s3:x-amz-grant-full-control",
    "s3:x-amz-grant-read",
    "s3:x-amz-grant-read-acp",
    "s3:x-amz-grant-write",
    "s3:x-amz-grant-write-acp",
    "s3:x-amz-metadata-directive",
    "s3:x-amz-server-side-encryption",
    "s3:x-amz-server-side-encryption-aws-kms-key-id",
    "s3:x-amz-server-side-encryption-customer-algorithm",
    "s3:x-amz-storage-class",
    "s3:x-amz-website-redirect-location",
];

/// Prefix of the keys for an object's tags.
pub(crate) const EXISTING_TAG: &str = "s3:existingobjecttag/";

/// Prefix of the keys for a request's tags.
pub(crate) const REQUEST_TAG: &str = "s3:requestobjecttag/";

/// Key of the client's address.
pub(crate) const SOURCE_IP: &str = "aws:sourceip";

/// Key for whether the connection uses TLS.
pub(crate) const SECURE: &str = "aws:securetransport";

/// Key of the time of the request.
pub(crate) const TIME: &str = "aws:currenttime";

/// Key of the number of objects that a listing requests.
pub(crate) const MAX_KEYS: &str = "s3:max-keys";

/// Returns the condition keys that refer to headers, with those headers.
pub(crate) fn header_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_amz = TEXT_KEYS.into_iter().filter(|key| key.starts_with("s3:x-amz-"));
    let of_amz = of_amz.map(|key| (key, key.trim_start_matches("s3:")));
    of_amz.chain([("aws:referer", "referer"), ("aws:useragent", "user-agent")])
}

/// A parsed condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    key: String,
    if_exists: bool,
    test: Test,
}

/// The comparison with the key's value.
#[derive(Debug, Clone, PartialEq)]
enum Test {
    Text {
        how: Likeness,
        not: bool,
        values: Vec<String>,
    },
    Number {
        how: Order,
        values: Vec<f64>,
    },
    Date {
        how: Order,
        values: Vec<OffsetDateTime>,
    },
    Flag(bool),
    Address {
        not: bool,
        nets: Vec<IpNet>,
    },
    Absent(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    Equal,
    EqualButForCase,
    Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Type of a key's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Date,
    Flag,
    Address,
}

impl Condition {
    /// Parses `operator: {key: values}`.
    pub(super) fn read(operator: &str, key: &str, values: OneOrMany<Scalar>) -> Result<Self, PolicyError> {
        let key = normal(key);
        let kind =
            kind(&key).ok_or_else(|| PolicyError(format!("the condition key {key:?} is not supported")))?;
        let values: Vec<String> = values.into_vec().iter().map(Scalar::to_string).collect();
        if values.is_empty() {
            return Err(PolicyError(format!("the condition on {key:?} has no value")));
        }
        if values.iter().any(|value| value.contains("${")) {
            return Err(PolicyError("variables in policies are not supported".to_owned()));
        }
        let bare = operator.strip_suffix("IfExists").unwrap_or(operator);
        Ok(Self {
            if_exists: bare.len() < operator.len(),
            test: Test::read(bare, kind, values).ok_or_else(|| {
                PolicyError(format!("the condition {operator:?} on {key:?} cannot be parsed"))
            })?,
            key,
        })
    }

    /// Reports whether the condition is true for a request.
    pub(super) fn holds(&self, facts: &Facts) -> bool {
        let found = facts.get(&self.key);
        match (&self.test, found) {
            (Test::Absent(absent), found) => found.is_none() == *absent,
            // As in S3, a negated comparison is true if the request lacks the key.
            (_, None) => self.if_exists || self.test.is_negative(),
            (test, Some(found)) => test.holds(found),
        }
    }

    /// Reports whether it depends on the tags of the existing object.
    pub(super) fn asks_tags(&self) -> bool {
        self.key.starts_with(EXISTING_TAG)
    }

    /// Reports whether it limits access to some networks or to named users, so that a policy with
    /// it is not public.
    pub(super) fn narrows(&self) -> bool {
        match &self.test {
            // With IfExists the condition is true for every request that lacks the key.
            _ if self.if_exists => false,
            Test::Address { not: false, nets } => nets.iter().all(|net| match net {
                // S3's limits: a policy for a wider network is public.
                IpNet::V4(net) => net.prefix_len() >= 8,
                IpNet::V6(net) => net.prefix_len() >= 32,
            }),
            Test::Text {
                how: Likeness::Equal,
                not: false,
                ..
            } => self.key == "aws:username",
            _ => false,
        }
    }
}

impl Test {
    fn read(operator: &str, kind: Kind, values: Vec<String>) -> Option<Self> {
        if operator == "Null" {
            return Some(Self::Absent(flag(&values)?));
        }
        let text = |how, not| {
            (kind == Kind::Text).then_some(Self::Text {
                how,
                not,
                values: values.clone(),
            })
        };
        match operator {
            "StringEquals" => return text(Likeness::Equal, false),
            "StringNotEquals" => return text(Likeness::Equal, true),
            "StringEqualsIgnoreCase" => return text(Likeness::EqualButForCase, false),
            "StringNotEqualsIgnoreCase" => return text(Likeness::EqualButForCase, true),
            "StringLike" => return text(Likeness::Pattern, false),
            "StringNotLike" => return text(Likeness::Pattern, true),
            _ => {}
        }
        match kind {
            Kind::Text => None,
            Kind::Flag => (operator == "Bool").then_some(Self::Flag(flag(&values)?)),
            Kind::Number => Some(Self::Number {
                how: order(operator.strip_prefix("Numeric")?)?,
                values: values.iter().map(|value| number(value)).collect::<Option<_>>()?,
            }),
            Kind::Date => Some(Self::Date {
                how: order(operator.strip_prefix("Date")?)?,
                values: values.iter().map(|value| date(value)).collect::<Option<_>>()?,
            }),
            Kind::Address => Some(Self::Address {
                not: match operator {
                    "IpAddress" => false,
                    "NotIpAddress" => true,
                    _ => return None,
                },
                nets: values.iter().map(|value| net(value)).collect::<Option<_>>()?,
            }),
        }
    }

    fn is_negative(&self) -> bool {
        match self {
            Self::Text { not, .. } | Self::Address { not, .. } => *not,
            Self::Number { how, .. } | Self::Date { how, .. } => *how == Order::NotEqual,
            Self::Flag(_) | Self::Absent(_) => false,
        }
    }

    fn holds(&self, found: &str) -> bool {
        match self {
            Self::Text { how, not, values } => values.iter().any(|value| how.holds(value, found)) != *not,
            Self::Number { how, values } => number(found).is_some_and(|found| how.holds_any(found, values)),
            Self::Date { how, values } => date(found).is_some_and(|found| how.holds_any(found, values)),
            Self::Flag(wanted) => found.parse() == Ok(*wanted),
            Self::Address { not, nets } => found
                .parse::<IpAddr>()
                // A dual-stack socket reports IPv4 clients as ::ffff:a.b.c.d, which no IPv4 network
                // contains.
                .is_ok_and(|found| nets.iter().any(|net| net.contains(&found.to_canonical())) != *not),
            // The value is present here; `Condition::holds` handles missing ones.
            Self::Absent(absent) => !absent,
        }
    }
}

impl Likeness {
    fn holds(self, value: &str, found: &str) -> bool {
        match self {
            Self::Equal => value == found,
            Self::EqualButForCase => value.to_lowercase() == found.to_lowercase(),
            Self::Pattern => fits(value, found),
        }
    }
}

impl Order {
    fn holds_any<T: PartialOrd>(self, found: T, values: &[T]) -> bool {
        let mut values = values.iter();
        match self {
            Self::Equal => values.any(|value| found == *value),
            Self::NotEqual => values.all(|value| found != *value),
            Self::Less => values.any(|value| found < *value),
            Self::LessOrEqual => values.any(|value| found <= *value),
            Self::Greater => values.any(|value| found > *value),
            Self::GreaterOrEqual => values.any(|value| found >= *value),
        }
    }
}

/// Converts a key to lower case; tag names keep their case.
pub(super) fn normal(key: &str) -> String {
    match key.split_once('/') {
        Some((name, tag)) => format!("{}/{tag}", name.to_lowercase()),
        None => key.to_lowercase(),
    }
}

fn kind(key: &str) -> Option<Kind> {
    let tag = |prefix| key.strip_prefix(prefix).is_some_and(|tag: &str| !tag.is_empty());
    match key {
        SOURCE_IP => Some(Kind::Address),
        SECURE => Some(Kind::Flag),
        TIME => Some(Kind::Date),
        MAX_KEYS => Some(Kind::Number),
        _ if TEXT_KEYS.contains(&key) || tag(EXISTING_TAG) || tag(REQUEST_TAG) => Some(Kind::Text),
        _ => None,
    }
}

fn order(name: &str) -> Option<Order> {
    Some(match name {
        "Equals" => Order::Equal,
        "NotEquals" => Order::NotEqual,
        "LessThan" => Order::Less,
        "LessThanEquals" => Order::LessOrEqual,
        "GreaterThan" => Order::Greater,
        "GreaterThanEquals" => Order::GreaterOrEqual,
        _ => return None,
    })
}

fn flag(values: &[String]) -> Option<bool> {
    match values {
        [value] => value.parse().ok(),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses ISO 8601 with date, time and offset, or seconds since 1970.
fn date(text: &str) -> Option<OffsetDateTime> {
    match text.parse() {
        Ok(seconds) => OffsetDateTime::from_unix_timestamp(seconds).ok(),
        Err(_) => OffsetDateTime::parse(text, &Iso8601::DEFAULT).ok(),
    }
}

/// Parses a network, or one address.
fn net(text: &str) -> Option<IpNet> {
    match text.parse::<IpNet>() {
        Ok(net) => Some(net),
        Err(_) => text.parse::<IpAddr>().ok().map(IpNet::from),
    }
}
