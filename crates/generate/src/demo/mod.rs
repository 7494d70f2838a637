//! Creates the content of `weft demo`: the documentation of Weft as a web site in three editions,
//! with a blog and pages of other sites that link to it.
//!
//! The sources are in the program: the texts of `docs/` at three commits ([`bundle`]), styles,
//! scripts and pictures (`site/`). Each edition becomes a WARC whose dates are those of the commit.
//! The files have the same bytes every time, so a second demo adds nothing to the archive of the
//! first. All hosts are below `.example`, which is reserved (RFC 2606).

mod article;
mod book;
mod bundle;
mod crawl;
mod documentation;
mod neighbours;
mod resource;

use std::io;
use std::path::{Path, PathBuf};

use bundle::Edition;
use crawl::Crawls;
use resource::Resource;

#[cfg(test)]
mod tests;

/// Why the WARCs could not be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A WARC cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The I/O error.
        source: io::Error,
    },
    /// The sources in the program are damaged.
    #[error("read the sources of the demo: {0}")]
    Bundle(String),
}

/// The written site, and questions that its archive must answer.
#[derive(Debug)]
pub struct Web {
    /// A WARC of each edition, oldest first.
    pub files: Vec<PathBuf>,
    /// Start of each crawl in milliseconds since 1970.
    pub crawled_ms: Vec<i64>,
    /// Number of pages in the newest edition.
    pub pages: u64,
    /// Address of the start page.
    pub start_url: String,
    /// A page that other sites link to, and whose text differs in all editions.
    pub page_url: String,
    /// Number of pages of other sites that link there.
    pub inlinks_min: u64,
    /// A query that must find this page.
    pub query: String,
}

/// Writes the WARCs into `folder`.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path) -> Result<Web, Error> {
    let mut crawls = Crawls::default();
    let (mut files, mut crawled_ms, mut newest) = (Vec::new(), Vec::new(), Vec::new());
    for (edition, resources) in site()? {
        let path = folder.join(format!("demo-{}.warc.gz", files.len() + 1));
        crawls
            .write(&path, edition.date_ms, &resources)
            .map_err(|source| Error::Write {
                path: path.display().to_string(),
                source,
            })?;
        files.push(path);
        crawled_ms.push(edition.date_ms);
        newest = resources;
    }
    let page_url = documentation::url("search.md");
    Ok(Web {
        files,
        crawled_ms,
        pages: count(&newest, Resource::is_page),
        start_url: documentation::START_URL.to_owned(),
        inlinks_min: count(&newest, |resource| links_from_elsewhere(resource, &page_url)),
        page_url,
        query: "past versions".to_owned(),
    })
}

fn count(resources: &[Resource], counted: impl Fn(&Resource) -> bool) -> u64 {
    resources.iter().filter(|resource| counted(resource)).count() as u64
}

fn links_from_elsewhere(resource: &Resource, page_url: &str) -> bool {
    !resource.url.contains("weft.example")
        && String::from_utf8_lossy(&resource.body).contains(&format!("href=\"{page_url}"))
}

/// Returns the editions with all their answers, oldest first.
fn site() -> Result<Vec<(Edition, Vec<Resource>)>, Error> {
    let editions = bundle::editions()?;
    let summary = editions
        .last()
        .and_then(|newest| newest.files.get("SUMMARY.md"))
        .cloned()
        .ok_or_else(|| Error::Bundle("no table of contents".to_owned()))?;
    let mut site: Vec<(Edition, Vec<Resource>)> = Vec::new();
    for (number, edition) in editions.into_iter().enumerate() {
        let parts = book::parts(&summary, &edition);
        let earlier = site.last().map(|(earlier, _)| earlier);
        let mut resources = documentation::resources(number, &edition, earlier, &parts);
        resources.extend(neighbours::resources(number));
        site.push((edition, resources));
    }
    Ok(site)
}
