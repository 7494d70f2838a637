//! Tags of objects and buckets, stored as an attribute in the form of the header that sets them.

use std::collections::{BTreeMap, BTreeSet};

use http::Extensions;
use s3s::dto::{
    DeleteBucketTaggingInput, DeleteBucketTaggingOutput, DeleteObjectTaggingInput, DeleteObjectTaggingOutput,
    GetBucketTaggingInput, GetBucketTaggingOutput, GetObjectTaggingInput, GetObjectTaggingOutput,
    PutBucketTaggingInput, PutBucketTaggingOutput, PutObjectTaggingInput, PutObjectTaggingOutput, Tag,
};
use s3s::{S3Request, S3Result};
use store::{Key, Meta, VersionId};
use url::form_urlencoded;

use super::StoreService;
use super::versions::{requested_version, version_id_of};
use crate::access::{confirm, refuse_pending};
use crate::attributes::TAGGING;
use crate::error::fault;
use crate::names;

/// Most tags of an object, as in S3.
const TAGS_MAX: usize = 10;

/// Most tags of a bucket, as in S3.
const BUCKET_TAGS_MAX: usize = 50;

/// Attribute of a bucket: its tags, as a query string.
const BUCKET_TAGGING: &str = "weft-bucket-tagging";

/// Longest tag name in characters, as in S3.
const NAME_CHARS_MAX: usize = 128;

/// Longest tag value in characters, as in S3.
const VALUE_CHARS_MAX: usize = 256;

impl StoreService {
    /// Returns the tags of an object.
    pub(super) async fn get_object_tagging(
        &self,
        request: S3Request<GetObjectTaggingInput>,
    ) -> S3Result<GetObjectTaggingOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let meta = self.head_of(&self.store, &input.bucket, &key, id).await?;
        confirm(&request.extensions, &meta)?;
        let text = meta.attributes.get(TAGGING).map(String::as_str);
        let tag_set = tags_to_s3(text.unwrap_or_default());
        Ok(GetObjectTaggingOutput {
            tag_set,
            version_id: version_id_of(&meta, id),
        })
    }

    /// Replaces an object's tags.
    pub(super) async fn put_object_tagging(
        &self,
        request: S3Request<PutObjectTaggingInput>,
    ) -> S3Result<PutObjectTaggingOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        refuse_pending(&request.extensions)?;
        let tags = write(&input.tagging.tag_set);
        let key = names::object(&input.bucket, &input.key)?;
        let meta = self
            .retag((&input.bucket, &key, id), &request.extensions, Some(tags))
            .await?;
        Ok(PutObjectTaggingOutput {
            version_id: version_id_of(&meta, id),
        })
    }

    /// Removes an object's tags.
    pub(super) async fn delete_object_tagging(
        &self,
        request: S3Request<DeleteObjectTaggingInput>,
    ) -> S3Result<DeleteObjectTaggingOutput> {
        let input = request.input;
        let id = requested_version(input.version_id.as_deref())?;
        let key = names::object(&input.bucket, &input.key)?;
        let meta = self
            .retag((&input.bucket, &key, id), &request.extensions, None)
            .await?;
        Ok(DeleteObjectTaggingOutput {
            version_id: version_id_of(&meta, id),
        })
    }

    /// Returns the tags of a bucket.
    pub(super) async fn get_bucket_tagging(
        &self,
        request: S3Request<GetBucketTaggingInput>,
    ) -> S3Result<GetBucketTaggingOutput> {
        let bucket = self.bucket(&request.input.bucket).await?;
        let text = bucket.attributes.get(BUCKET_TAGGING);
        let text = text.ok_or_else(|| fault("NoSuchTagSet", "the bucket has no tags"))?;
        Ok(GetBucketTaggingOutput {
            tag_set: tags_to_s3(text),
        })
    }

    /// Replaces a bucket's tags.
    pub(super) async fn put_bucket_tagging(
        &self,
        request: S3Request<PutBucketTaggingInput>,
    ) -> S3Result<PutBucketTaggingOutput> {
        let input = request.input;
        let text = write(&input.tagging.tag_set);
        check_text(&text, BUCKET_TAGS_MAX)?;
        self.change_bucket(&input.bucket, |_, attributes| {
            attributes.insert(BUCKET_TAGGING.to_owned(), text.clone());
            Ok(())
        })
        .await?;
        Ok(PutBucketTaggingOutput::default())
    }

    /// Removes a bucket's tags.
    pub(super) async fn delete_bucket_tagging(
        &self,
        request: S3Request<DeleteBucketTaggingInput>,
    ) -> S3Result<DeleteBucketTaggingOutput> {
        self.change_bucket(&request.input.bucket, |_, attributes| {
            attributes.remove(BUCKET_TAGGING);
            Ok(())
        })
        .await?;
        Ok(DeleteBucketTaggingOutput::default())
    }

    async fn retag(
        &self,
        target: (&str, &Key, Option<VersionId>),
        extensions: &Extensions,
        tags: Option<String>,
    ) -> S3Result<Meta> {
        let tags = tags.filter(|tags| !tags.is_empty());
        self.rewrite(target, extensions, |_, attributes| {
            attributes.remove(TAGGING);
            let tags = tags.clone();
            attributes.extend(tags.map(|tags| (TAGGING.to_owned(), tags)));
            check(attributes)
        })
        .await
    }
}

/// Refuses tags of an object that exceed S3's limits.
pub(super) fn check(attributes: &BTreeMap<String, String>) -> S3Result<()> {
    let text = attributes.get(TAGGING);
    text.map_or(Ok(()), |text| check_text(text, TAGS_MAX))
}

fn check_text(text: &str, tags_max: usize) -> S3Result<()> {
    let tags = parse(text);
    let names: BTreeSet<_> = tags.iter().map(|(name, _)| name).collect();
    if names.len() < tags.len() {
        return Err(fault("InvalidTag", "a tag occurs twice"));
    }
    if tags.len() > tags_max {
        return Err(fault(
            "InvalidTag",
            format!("at most {tags_max} tags are allowed"),
        ));
    }
    let short = |(name, value): &(String, String)| {
        !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX && value.chars().count() <= VALUE_CHARS_MAX
    };
    if !tags.iter().all(short) {
        return Err(fault("InvalidTag", "a tag's name or value is empty or too long"));
    }
    Ok(())
}

/// Returns the number of tags, unless it is zero.
pub(super) fn count(text: Option<&str>) -> Option<i32> {
    let count = text.map(|text| parse(text).len()).filter(|count| *count > 0);
    count.and_then(|count| i32::try_from(count).ok())
}

/// Returns tags sorted by name.
fn tags_to_s3(text: &str) -> Vec<Tag> {
    let mut tags = parse(text);
    tags.sort();
    let tag = |(key, value)| Tag {
        key: Some(key),
        value: Some(value),
    };
    tags.into_iter().map(tag).collect()
}

fn write(tags: &[Tag]) -> String {
    let pair = |tag: &Tag| {
        (
            tag.key.clone().unwrap_or_default(),
            tag.value.clone().unwrap_or_default(),
        )
    };
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(tags.iter().map(pair))
        .finish()
}

fn parse(text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_limited() {
        let check = |text: String| check(&BTreeMap::from([(TAGGING.to_owned(), text)]));
        assert!(check("a=1&b=&c=%C3%A4+x".to_owned()).is_ok());
        assert!(check("a=1&a=2".to_owned()).is_err());
        assert!(check((0..11).map(|n| format!("k{n}=v&")).collect()).is_err());
        assert!(check(format!("{}=v", "k".repeat(129))).is_err());
        assert!(check(format!("k={}", "v".repeat(257))).is_err());
        assert_eq!(count(Some("a=1&b=2")), Some(2));
        assert_eq!(count(Some("")), None);
    }
}
