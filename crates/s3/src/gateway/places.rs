//! Maps clients' names to names in the upstream, and back.
//!
//! A client's name equals the upstream's, unless a [`Map`] changes it. If several maps match, the
//! one with the longest prefix applies. Names outside the [`Scope`] that no map covers are not
//! served.

use std::fmt;
use std::str::FromStr;

/// A bucket, or a folder in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketPrefix {
    /// Name of the bucket.
    pub bucket: String,
    /// Empty, or ends with a slash.
    pub prefix: String,
}

impl BucketPrefix {
    /// Parses `BUCKET` or `BUCKET/PREFIX`.
    fn parse(text: &str) -> Result<Self, BucketPrefixError> {
        let (bucket, prefix) = text.split_once('/').unwrap_or((text, ""));
        if !s3s::path::check_bucket_name(bucket) {
            return Err(BucketPrefixError::Bucket(bucket.to_owned()));
        }
        let mut prefix = prefix.to_owned();
        if !prefix.is_empty() && !prefix.ends_with('/') {
            prefix.push('/');
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix,
        })
    }

    fn of_bucket(bucket: &str) -> Self {
        Self {
            bucket: bucket.to_owned(),
            prefix: String::new(),
        }
    }

    fn has(&self, bucket: &str, key: &str) -> bool {
        self.bucket == bucket && key.starts_with(&self.prefix)
    }
}

/// Why an S3 address or a map is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BucketPrefixError {
    /// The address has a different scheme.
    #[error("{0:?} is not an S3 address: expected s3://, s3://BUCKET or s3://BUCKET/PREFIX")]
    Scheme(String),
    /// The bucket name is invalid.
    #[error("{0:?} is not a bucket name")]
    Bucket(String),
    /// The map lacks one side.
    #[error("{0:?} is not a mapping: expected BUCKET/PREFIX=s3://BUCKET/PREFIX")]
    Map(String),
    /// Two maps have the same client name.
    #[error("{0} is mapped twice")]
    Twice(String),
}

/// The part of the upstream that the gateway serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// `s3://`: every bucket.
    Everything,
    /// `s3://BUCKET` or `s3://BUCKET/PREFIX`: only objects below it, under their own names.
    Below(BucketPrefix),
}

impl FromStr for Scope {
    type Err = BucketPrefixError;

    fn from_str(text: &str) -> Result<Self, BucketPrefixError> {
        match text.strip_prefix("s3://") {
            None => Err(BucketPrefixError::Scheme(text.to_owned())),
            Some("") => Ok(Self::Everything),
            Some(place) => BucketPrefix::parse(place).map(Self::Below),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("s3://"),
            Self::Below(BucketPrefix { bucket, prefix }) if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::Below(BucketPrefix { bucket, prefix }) => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

/// `BUCKET/PREFIX=s3://BUCKET/PREFIX`: maps clients' names below the first to upstream names below
/// the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    client: BucketPrefix,
    upstream: BucketPrefix,
}

impl FromStr for Map {
    type Err = BucketPrefixError;

    fn from_str(text: &str) -> Result<Self, BucketPrefixError> {
        // Not at the first equals sign: partition folders have one in their names.
        let (client, upstream) = text
            .split_once("=s3://")
            .ok_or_else(|| BucketPrefixError::Map(text.to_owned()))?;
        Ok(Self {
            client: BucketPrefix::parse(client)?,
            upstream: BucketPrefix::parse(upstream)?,
        })
    }
}

/// The scope and maps of a gateway.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    scope: Scope,
    /// The longest prefix comes first.
    maps: Vec<Map>,
}

/// The client and upstream names of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) client: BucketPrefix,
    pub(crate) upstream: BucketPrefix,
}

impl Places {
    /// Creates the mapping.
    ///
    /// # Errors
    /// If two maps have the same client name.
    pub(crate) fn new(scope: Scope, mut maps: Vec<Map>) -> Result<Self, BucketPrefixError> {
        maps.sort_by_key(|map| std::cmp::Reverse(map.client.prefix.len()));
        for (index, map) in maps.iter().enumerate() {
            if maps[..index].iter().any(|other| other.client == map.client) {
                let BucketPrefix { bucket, prefix } = &map.client;
                return Err(BucketPrefixError::Twice(format!("{bucket}/{prefix}")));
            }
        }
        Ok(Self { scope, maps })
    }

    /// Returns the route of a key, or of all keys with the prefix `key`; `None` if the gateway does
    /// not serve it.
    pub(crate) fn route(&self, bucket: &str, key: &str) -> Option<Route> {
        if let Some(map) = self.maps.iter().find(|map| map.client.has(bucket, key)) {
            let Map { client, upstream } = map.clone();
            return Some(Route { client, upstream });
        }
        let is_shown = match &self.scope {
            Scope::Everything => true,
            Scope::Below(place) => place.has(bucket, key),
        };
        is_shown.then(|| Route::of_bucket(bucket))
    }

    /// Returns the route of a request about a whole bucket. There is no route if the gateway serves
    /// only a folder of the bucket, unless the request just checks whether the bucket exists.
    pub(crate) fn bucket_route(&self, bucket: &str, asks_whether_it_is_there: bool) -> Option<Route> {
        let found = self.route(bucket, "");
        let in_part = || matches!(&self.scope, Scope::Below(place) if place.bucket == bucket);
        found.or_else(|| (asks_whether_it_is_there && in_part()).then(|| Route::of_bucket(bucket)))
    }

    /// Reports whether a listing of the upstream's buckets may include this one.
    pub(crate) fn shows_bucket(&self, bucket: &str) -> bool {
        match &self.scope {
            Scope::Everything => true,
            Scope::Below(place) => place.bucket == bucket,
        }
    }
}

impl Route {
    fn of_bucket(bucket: &str) -> Self {
        Self {
            client: BucketPrefix::of_bucket(bucket),
            upstream: BucketPrefix::of_bucket(bucket),
        }
    }

    /// Returns the route of a request without a bucket.
    pub(crate) fn without_bucket() -> Self {
        Self::of_bucket("")
    }

    /// Reports whether client and upstream names differ.
    pub(crate) fn renames(&self) -> bool {
        self.client != self.upstream
    }

    /// Returns the upstream key of a client's key; unchanged if it is not on this route.
    pub(crate) fn to_upstream(&self, key: &str) -> String {
        replace(key, &self.client.prefix, &self.upstream.prefix)
    }

    /// Returns the upstream marker of a client's listing marker, which may lack the prefix.
    pub(crate) fn marker_to_upstream(&self, marker: &str) -> String {
        if marker.starts_with(&self.client.prefix) {
            self.to_upstream(marker)
        } else if marker < self.client.prefix.as_str() {
            String::new()
        } else {
            // After everything with the prefix: no keys are left to list.
            format!("{}{}", self.upstream.prefix, char::MAX)
        }
    }
}

/// Replaces a prefix of a text; returns it unchanged if it lacks the prefix.
fn replace(text: &str, from: &str, to: &str) -> String {
    match text.strip_prefix(from) {
        Some(rest) => format!("{to}{rest}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(scope: &str, maps: &[&str]) -> Places {
        let maps = maps.iter().map(|map| map.parse().unwrap()).collect();
        Places::new(scope.parse().unwrap(), maps).unwrap()
    }

    fn upstream(places: &Places, bucket: &str, key: &str) -> Option<String> {
        let route = places.route(bucket, key)?;
        Some(format!("{}/{}", route.upstream.bucket, route.to_upstream(key)))
    }

    #[test]
    fn the_longest_prefix_wins() {
        let places = places(
            "s3://",
            &[
                "lake=s3://old",
                "lake/sales=s3://new/tables/sales",
                "lake/sales/year=2026/=s3://hot/",
            ],
        );
        for (key, expected) in [
            ("x", "old/x"),
            ("sales", "old/sales"),
            ("sales-too/x", "old/sales-too/x"),
            ("sales/a=s3://b", "new/tables/sales/a=s3://b"),
            ("sales/year=2026/p", "hot/p"),
        ] {
            assert_eq!(upstream(&places, "lake", key).as_deref(), Some(expected));
        }
        assert_eq!(upstream(&places, "other", "x").as_deref(), Some("other/x"));
    }

    #[test]
    fn what_is_outside_has_no_place() {
        let places = places("s3://lake/public", &["more=s3://lake/private"]);
        assert_eq!(
            upstream(&places, "lake", "public/x").as_deref(),
            Some("lake/public/x")
        );
        assert_eq!(upstream(&places, "more", "x").as_deref(), Some("lake/private/x"));
        for (bucket, key) in [
            ("lake", "private/x"),
            ("lake", ""),
            ("lake", "publicity"),
            ("other", "public/x"),
        ] {
            assert_eq!(upstream(&places, bucket, key), None, "{bucket}/{key}");
        }
        assert!(places.bucket_route("lake", true).is_some());
        assert!(places.bucket_route("lake", false).is_none());
        assert!(places.bucket_route("other", true).is_none());
        assert!(places.shows_bucket("lake") && !places.shows_bucket("other"));
    }

    #[test]
    fn markers_keep_their_order() {
        let places = places("s3://", &["bbb/m=s3://ccc/x/y"]);
        let route = places.route("bbb", "m/").unwrap();
        assert!(route.renames());
        for (marker, expected) in [("a", ""), ("m/k", "x/y/k"), ("n", "x/y/\u{10ffff}")] {
            assert_eq!(route.marker_to_upstream(marker), expected);
        }
    }

    #[test]
    fn wrong_addresses_are_told() {
        for right in ["s3://", "s3://bbb", "s3://bbb/c/"] {
            assert_eq!(right.parse::<Scope>().unwrap().to_string(), right);
        }
        for wrong in ["", "b", "http://b", "s3://B", "s3:///x"] {
            assert!(wrong.parse::<Scope>().is_err(), "{wrong}");
        }
        for wrong in ["a", "a=b", "=s3://b", "a=s3://", "A=s3://bbb"] {
            assert!(wrong.parse::<Map>().is_err(), "{wrong}");
        }
        let twice = ["bbb/x=s3://ccc", "bbb/x/=s3://ddd"].map(|map| map.parse().unwrap());
        let refused = Places::new(Scope::Everything, twice.to_vec());
        assert_eq!(
            refused.unwrap_err(),
            BucketPrefixError::Twice("bbb/x/".to_owned())
        );
    }
}
