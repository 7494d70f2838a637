//! Creates the content of `weft demo`: the crates that Weft was built from, as a small web.
//!
//! Every crate whose source Cargo left on this machine becomes a page: the data of its manifest,
//! its dependencies as links, its README. The normal writer writes the pages as a WARC. The file
//! has the same bytes every time, so a second demo adds nothing to the archive of the first.

mod manifest;
mod page;
mod sources;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use extract::{Documents, Extracted, LinkScope};
use warc::{Compression, Draft, Entry, ReadError, Reader, ReaderSettings, Writer};

use sources::Crate;

use crate::synth;

/// Why the WARC could not be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The WARC cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The I/O error.
        source: io::Error,
    },
    /// The generated web cannot be written.
    #[error(transparent)]
    Synth(#[from] synth::Error),
    /// The generated web cannot be read back.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The generated web has no page to query.
    #[error("{0} contains no pages")]
    NoPage(String),
}

/// A written WARC, and questions that its archive must answer.
#[derive(Debug)]
pub struct Web {
    /// Number of pages in it.
    pub pages: u64,
    /// The page on which most others depend.
    pub url: String,
    /// Number of pages that certainly link there.
    pub inlinks_min: u64,
    /// A query that must find this page.
    pub query: String,
}

/// Writes the pages of the crates to `path`. Returns `None` if no sources are found.
///
/// # Errors
/// If `path` cannot be written. A crate whose source cannot be read is left out.
pub fn write_crates(path: &Path) -> Result<Option<Web>, Error> {
    let crates = sources::find();
    let Some((name, dependents)) = most_used(&crates) else {
        return Ok(None);
    };
    let web = Web {
        pages: crates.len() as u64,
        url: page::url_of(name),
        inlinks_min: dependents,
        query: name.to_owned(),
    };
    write(path, &crates)?;
    Ok(Some(web))
}

/// Number of visits of the generated web.
const SYNTH_PAGES: u64 = 500;

/// Writes a generated web to `path`, for machines without sources.
///
/// # Errors
/// If `path` cannot be written and read back.
pub fn write_synth(path: &Path) -> Result<Web, Error> {
    let settings = synth::Settings {
        pages: SYNTH_PAGES,
        seed: 1,
        format: synth::Format::Warc,
        recrawls_permille: 100,
        files: 1,
        threads: 1,
    };
    let report = synth::write(&settings, path, &mut |_| {})?;
    let (url, query) = synth_example(path)?;
    Ok(Web {
        // A re-crawl visits a known page, so it adds no page.
        pages: report.pages - report.recrawls,
        url,
        // The generated web does not guarantee any links to the example.
        inlinks_min: 0,
        query,
    })
}

/// Returns the first page of a file, and the first words of its title.
fn synth_example(path: &Path) -> Result<(String, String), Error> {
    let mut reader = Reader::open(path, ReaderSettings::default())?;
    let settings = extract::Settings {
        links: LinkScope::All,
        text: false,
        documents: Documents::NONE,
    };
    while let Some(entry) = reader.next_entry()? {
        if let Entry::Record(record) = entry
            && let Extracted::Capture(capture) = extract::extract(&record, &settings)
            && let Some(page) = capture.page
        {
            let words: Vec<&str> = page.title.split_whitespace().take(3).collect();
            return Ok((capture.url, words.join(" ")));
        }
    }
    Err(Error::NoPage(path.display().to_string()))
}

/// Returns the name of the crate on which most others depend, and the number of pages that link to
/// it.
fn most_used(crates: &[Crate]) -> Option<(&str, u64)> {
    let mut dependents: BTreeMap<&str, u64> = BTreeMap::new();
    for dependency in crates.iter().flat_map(|of| &of.dependencies) {
        *dependents.entry(&dependency.name).or_default() += 1;
    }
    crates
        .iter()
        .filter_map(|of| Some((of.name.as_str(), *dependents.get(of.name.as_str())?)))
        .max_by_key(|(_, number)| *number)
}

/// The head of every response, up to its media type.
const HTTP_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: ";

/// Returns a response as a server sends it.
fn response(media: &str, content: &str) -> Vec<u8> {
    format!(
        "{HTTP_HEAD}{media}\r\nContent-Length: {}\r\n\r\n{content}",
        content.len()
    )
    .into_bytes()
}

fn write(path: &Path, crates: &[Crate]) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.display().to_string(),
        source,
    };
    let mut writer = Writer::create(path, Compression::GZIP).map_err(failed)?;
    let about = [
        ("software", concat!("weft/", env!("CARGO_PKG_VERSION"))),
        ("format", "WARC File Format 1.1"),
    ];
    // The clock is not used, because the same sources must give the same bytes.
    let newest_ms = crates.iter().map(|of| of.fetched_ms).max().unwrap_or_default();
    writer
        .write(&Draft::warcinfo(newest_ms, &about))
        .map_err(failed)?;
    for of in crates {
        let block = response("text/html; charset=utf-8", &page::html(of));
        let draft = Draft::response(&page::url(of), of.fetched_ms, block);
        writer.write(&draft).map_err(failed)?;
    }
    // The style and the picture of the pages, for replay.
    for (url, media, content) in [
        (page::STYLE_URL, "text/css", page::STYLE),
        (page::PICTURE_URL, "image/svg+xml", page::PICTURE),
    ] {
        let draft = Draft::response(url, newest_ms, response(media, content));
        writer.write(&draft).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::sources::Dependency;
    use super::*;

    fn of(name: &str, dependencies: &[&str]) -> Crate {
        let dependencies = dependencies
            .iter()
            .map(|name| Dependency {
                name: (*name).into(),
                ..Dependency::default()
            })
            .collect();
        Crate {
            name: name.into(),
            version: "1.0.0".into(),
            dependencies,
            ..Crate::default()
        }
    }

    #[test]
    fn the_most_used_crate_is_one_that_is_here() {
        let crates = [
            of("a", &["b", "elsewhere"]),
            of("b", &["elsewhere"]),
            of("c", &["b"]),
        ];
        assert_eq!(most_used(&crates), Some(("b", 2)));
        assert_eq!(most_used(&[]), None);
    }

    #[test]
    fn the_same_crates_are_the_same_bytes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let crates = [of("a", &["b"]), of("b", &[])];
        let bytes = ["one", "two"].map(|name| {
            let path = folder.path().join(name);
            write(&path, &crates).expect("written");
            std::fs::read(path).expect("read")
        });
        assert!(!bytes[0].is_empty());
        assert_eq!(bytes[0], bytes[1]);
    }
}
