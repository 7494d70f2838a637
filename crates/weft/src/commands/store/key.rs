//! Objects as people write them: `store://bucket/name` or `bucket/name`.

use anyhow::Context as _;
use store::{Key, Store, bucket};

use crate::exit::WrongUse;
use crate::stderr::progress_line;

/// The beginning of addresses of objects; it may be left out.
const SCHEME: &str = "store://";

/// Returns the object that `text` names.
///
/// # Errors
/// [`WrongUse`] if `text` is not a valid name of an object.
pub(crate) fn object(text: &str) -> Result<Key, WrongUse> {
    Key::parse(bare(text)).map_err(|error| WrongUse(error.to_string()))
}

/// Returns the beginning of keys that `text` names; a bucket alone means all of it.
///
/// # Errors
/// [`WrongUse`] if the name of the bucket is not valid.
pub(super) fn prefix(text: &str) -> Result<String, WrongUse> {
    let bare = bare(text);
    let (bucket, name) = bare.split_once('/').unwrap_or((bare, ""));
    // The name after the bucket does not matter for the check; an empty one means all names.
    Key::new(bucket, "any").map_err(|error| WrongUse(error.to_string()))?;
    Ok(format!("{bucket}/{name}"))
}

/// Returns the object for `file` in `destination`: the destination itself, or the name of the file below it
/// if the destination ends in a slash, is only a bucket, or takes several files.
///
/// # Errors
/// [`WrongUse`] if the result is no valid name, or if the object needs the name of the file and that has
/// none, like standard input.
pub(super) fn destination(destination: &str, file: &str, several: bool) -> Result<Key, WrongUse> {
    let key = named(bare(destination), file, several)?;
    bucket::check_name(key.bucket()).map_err(|error| WrongUse(error.to_string()))?;
    Ok(key)
}

fn named(bare: &str, file: &str, several: bool) -> Result<Key, WrongUse> {
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
            "{file:?} has no name to take over: give the whole key, {SCHEME}{}/NAME",
            bare.trim_end_matches('/')
        ))),
    }
}

/// Makes the bucket for writing, if it does not exist, and reports that.
///
/// # Errors
/// The name of the bucket is not valid, or the store cannot make it.
pub(crate) async fn make_bucket(store: &Store, name: &str) -> anyhow::Result<()> {
    let made = store.ensure_bucket(name).await;
    if made.with_context(|| format!("make bucket {name}"))? {
        progress_line(&format!("made bucket {}", shown(name)));
    }
    Ok(())
}

/// A key as it is shown.
pub(super) fn shown(key: &str) -> String {
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
