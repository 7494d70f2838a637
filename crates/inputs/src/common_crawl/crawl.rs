//! Where the files of a crawl are.

use std::fmt;

/// A crawl, by its name and the server that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawl {
    base: String,
    name: String,
}

/// Why a text is no name of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is no name of a crawl: one as CC-MAIN-2026-43 is expected (https://index.commoncrawl.org lists them)"
)]
pub struct CrawlNameError {
    found: String,
}

/// What of a capture is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The capture itself.
    Warc,
    /// Its metadata and links, as JSON.
    Wat,
    /// Its text.
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
    /// A crawl of this name on the server at `base` (`https://data.commoncrawl.org`).
    ///
    /// # Errors
    /// [`CrawlNameError`] if `name` has other characters than letters, digits and hyphens: it becomes part of addresses and paths.
    pub fn new(base: &str, name: &str) -> Result<Crawl, CrawlNameError> {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        match is_name {
            true => Ok(Crawl {
                base: base.trim_end_matches('/').to_owned(),
                name: name.to_owned(),
            }),
            false => Err(CrawlNameError {
                found: name.to_owned(),
            }),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Address of the index of its index's blocks.
    pub fn cluster(&self) -> String {
        self.in_indexes("cluster.idx")
    }

    /// Address of a file of the index.
    pub fn in_indexes(&self, file: &str) -> String {
        format!("{}/cc-index/collections/{}/indexes/{file}", self.base, self.name)
    }

    /// Address of a file of the crawl, by the path that the index gives.
    pub fn file(&self, path: &str) -> String {
        format!("{}/{}", self.base, path.trim_start_matches('/'))
    }
}

/// The path of the file that has the same captures in another form; `None` if the path is not one of a file of captures.
///
/// `crawl-data/CC-MAIN-2026-43/segments/1.1/warc/x.warc.gz` stands beside `.../wat/x.warc.wat.gz` and `.../wet/x.warc.wet.gz`.
pub(crate) fn beside(path: &str, kind: Kind) -> Option<String> {
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
            beside(path, Kind::Wat).as_deref(),
            Some("crawl-data/CC-MAIN-2024-22/segments/1715971057216.39/wat/a-00001.warc.wat.gz")
        );
        assert_eq!(
            beside(path, Kind::Wet).as_deref(),
            Some("crawl-data/CC-MAIN-2024-22/segments/1715971057216.39/wet/a-00001.warc.wet.gz")
        );
        assert_eq!(beside("segments/1/robotstxt/a.warc.gz", Kind::Wat), None);
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", "../x", "CC/MAIN", "a b", "x?y"] {
            assert!(Crawl::new("https://a.example", name).is_err(), "{name}");
        }
    }
}
