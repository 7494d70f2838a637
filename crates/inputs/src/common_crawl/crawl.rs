//! The addresses of the files of a crawl.

use std::fmt;

/// A crawl, identified by its name and its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawl {
    base: String,
    name: String,
}

/// Why a text is not the name of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is not the name of a crawl: expected one such as CC-MAIN-2026-43 (https://index.commoncrawl.org lists them)"
)]
pub struct CrawlNameError {
    found: String,
}

/// The form in which captures are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The captures themselves.
    Warc,
    /// Their metadata and links, as JSON.
    Wat,
    /// Their texts.
    Wet,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Warc => "warc",
            Kind::Wat => "wat",
            Kind::Wet => "wet",
        })
    }
}

impl Crawl {
    /// Makes the crawl with this name on the server at `base` (`https://data.commoncrawl.org`).
    ///
    /// # Errors
    /// [`CrawlNameError`] if `name` contains characters other than letters, digits and hyphens: it
    /// becomes part of addresses and paths.
    pub fn new(base: &str, name: &str) -> Result<Crawl, CrawlNameError> {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_name {
            Ok(Crawl {
                base: base.trim_end_matches('/').to_owned(),
                name: name.to_owned(),
            })
        } else {
            Err(CrawlNameError {
                found: name.to_owned(),
            })
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of `cluster.idx`.
    pub fn cluster(&self) -> String {
        self.in_indexes("cluster.idx")
    }

    /// Returns the address of a file of the index.
    pub fn in_indexes(&self, file: &str) -> String {
        format!("{}/cc-index/collections/{}/indexes/{file}", self.base, self.name)
    }

    /// Returns the address of a file of the crawl, from its path in the index.
    pub fn file(&self, path: &str) -> String {
        format!("{}/{}", self.base, path.trim_start_matches('/'))
    }
}

/// Returns the path of the file with the same captures in another form; `None` if `path` is not
/// that of a file of captures.
///
/// `crawl-data/CC-MAIN-2026-43/segments/1.1/warc/x.warc.gz` corresponds to `.../wat/x.warc.wat.gz`
/// and `.../wet/x.warc.wet.gz`.
pub(crate) fn sibling_path(path: &str, kind: Kind) -> Option<String> {
    if kind == Kind::Warc {
        return Some(path.to_owned());
    }
    let (folder, file) = path.rsplit_once('/')?;
    let segment = folder.strip_suffix("/warc")?;
    let stem = file.strip_suffix(".warc.gz")?;
    Some(format!("{segment}/{kind}/{stem}.warc.{kind}.gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_where_common_crawl_has_them() {
        let crawl = Crawl::new("https://data.commoncrawl.org/", "CC-MAIN-2024-22").expect("a name");
        assert_eq!(
            crawl.cluster(),
            "https://data.commoncrawl.org/cc-index/collections/CC-MAIN-2024-22/indexes/cluster.idx"
        );
        let path = "crawl-data/CC-MAIN-2024-22/segments/1715971057216.39/warc/a-00001.warc.gz";
        assert_eq!(crawl.file(path), format!("https://data.commoncrawl.org/{path}"));
        assert_eq!(
            sibling_path(path, Kind::Wat).as_deref(),
            Some("crawl-data/CC-MAIN-2024-22/segments/1715971057216.39/wat/a-00001.warc.wat.gz")
        );
        assert_eq!(
            sibling_path(path, Kind::Wet).as_deref(),
            Some("crawl-data/CC-MAIN-2024-22/segments/1715971057216.39/wet/a-00001.warc.wet.gz")
        );
        assert_eq!(sibling_path("segments/1/robotstxt/a.warc.gz", Kind::Wat), None);
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", "../x", "CC/MAIN", "a b", "x?y"] {
            assert!(Crawl::new("https://a.example", name).is_err(), "{name}");
        }
    }
}
