//! Object names on the command line: `store://bucket/name` or `bucket/name`.

use anyhow::Context as _;
use store::{Key, Store, bucket};

use crate::outcome::WrongUse;
use crate::stderr::progress_line;

/// Optional scheme of object addresses.
const SCHEME: &str = "store://";

/// Parses the name of an object.
///
/// # Errors
/// Fails with [`WrongUse`] if `text` is not a valid name of an object.
pub(crate) fn object(text: &str) -> Result<Key, WrongUse> {
    Key::parse(bare(text)).map_err(|error| WrongUse(error.to_string()))
}

/// Parses a prefix of keys; a bucket alone means all its objects.
///
/// # Errors
/// Fails with [`WrongUse`] if the name of the bucket is invalid.
pub(super) fn prefix(text: &str) -> Result<String, WrongUse> {
    let bare = bare(text);
    let (bucket, name) = bare.split_once('/').unwrap_or((bare, ""));
    // The check ignores the name after the bucket, and an empty prefix is allowed.
    Key::new(bucket, "any").map_err(|error| WrongUse(error.to_string()))?;
    Ok(format!("{bucket}/{name}"))
}

/// Returns the object that `file` is stored as: the destination itself, or the file's name below it
/// if the destination ends in a slash, is only a bucket, or takes several files.
///
/// # Errors
/// Fails with [`WrongUse`] if the result is not a valid name, or if the object needs the file's
/// name but has none, as for standard input.
pub(super) fn destination(destination: &str, file: &str, several: bool) -> Result<Key, WrongUse> {
    let key = key_for_file(bare(destination), file, several)?;
    bucket::check_name(key.bucket()).map_err(|error| WrongUse(error.to_string()))?;
    Ok(key)
}

fn key_for_file(bare: &str, file: &str, several: bool) -> Result<Key, WrongUse> {
    let folder = several || bare.ends_with('/') || !bare.contains('/');
    if !folder {
        return object(bare);
    }
    let name = std::path::Path::new(file)
        .file_name()
        .and_then(|name| name.to_str());
    match name {
        Some(name) if file != "-" => object(&format!("{}/{name}", bare.trim_end_matches('/'))),
        _ => Err(WrongUse(format!(
            "{file:?} has no file name to use: give the whole key, {SCHEME}{}/NAME",
            bare.trim_end_matches('/')
        ))),
    }
}

/// Creates the bucket for writing if it does not exist, and reports that.
///
/// # Errors
/// Fails if the name of the bucket is invalid, or the store cannot create it.
pub(crate) async fn make_bucket(store: &Store, name: &str) -> anyhow::Result<()> {
    let made = store.ensure_bucket(name).await;
    if made.with_context(|| format!("create bucket {name}"))? {
        progress_line(&format!("created bucket {}", display_key(name)));
    }
    Ok(())
}

/// Formats a key for display.
pub(super) fn display_key(key: &str) -> String {
    format!("{SCHEME}{key}")
}

fn bare(text: &str) -> &str {
    text.strip_prefix(SCHEME).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_names_below_a_folder() {
        let key = |to, file, several| destination(to, file, several).map(|key| key.to_string()).ok();
        assert_eq!(
            key("store://crawls/2014/", "/data/a.warc.gz", false).as_deref(),
            Some("crawls/2014/a.warc.gz")
        );
        assert_eq!(
            key("crawls", "a.warc.gz", false).as_deref(),
            Some("crawls/a.warc.gz")
        );
        assert_eq!(
            key("crawls/b.warc.gz", "a.warc.gz", false).as_deref(),
            Some("crawls/b.warc.gz")
        );
        assert_eq!(
            key("crawls/b", "a.warc.gz", true).as_deref(),
            Some("crawls/b/a.warc.gz")
        );
        assert_eq!(key("crawls/b", "-", false).as_deref(), Some("crawls/b"));
        assert_eq!(key("crawls/", "-", false), None);
        for bucket in ["UPPER/", "ab/", ".s3/", "10.0.0.1/"] {
            assert_eq!(key(bucket, "a", false), None, "{bucket}");
        }
    }

    #[test]
    fn prefixes_may_be_a_bucket_alone() {
        assert_eq!(prefix("store://crawls").ok().as_deref(), Some("crawls/"));
        assert_eq!(prefix("crawls/20").ok().as_deref(), Some("crawls/20"));
        assert!(prefix("no_bucket/x").is_err());
        assert!(object("crawls").is_err());
        assert!(object("ab/x").is_ok(), "written when two letters would do");
    }
}
