//! Writes a folder of HTML, Markdown, text and related files as a WARC (`weft pack`): one
//! `response` record per file, as if a server had sent the folder.
//!
//! Invariants:
//! - The same folder gives the same bytes: files are sorted by URL, dates are those of the files or
//!   a given one, and ids are derived from the content.
//! - Every file that is not hidden is in the WARC or in the report's list of skipped files.

use std::io;
use std::path::Path;

use ::warc::{Compression, Draft, Writer};
use serde::Serialize;

mod content;
mod folder;

pub use folder::Skipped;

#[cfg(test)]
mod tests;

/// Settings of a pack.
#[derive(Debug, Clone)]
pub struct Settings {
    /// URL of the folder, http or https.
    pub url_prefix: String,
    /// Date of all records, in milliseconds since 1970; `None` uses the modification time of each
    /// file.
    pub date_ms: Option<i64>,
}

/// The result of a pack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Number of files in the WARC.
    pub files: u64,
    /// Size of the WARC in bytes.
    pub bytes: u64,
    /// Files that could not be read, with the reason.
    pub skipped: Vec<Skipped>,
}

/// Why packing failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The prefix is not the URL of a folder.
    #[error("URL prefix is {0:?}, expected an http or https URL without query and fragment")]
    Prefix(String),
    /// The folder itself cannot be read.
    #[error("read {path}: {source}")]
    Read {
        /// The folder.
        path: String,
        /// The I/O error.
        source: io::Error,
    },
    /// The WARC cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The WARC.
        path: String,
        /// The I/O error.
        source: io::Error,
    },
}

/// Packs the files under `folder` into the WARC `out`: gzip, or uncompressed if its name ends in
/// `.warc`.
///
/// # Errors
/// [`Error`] if the prefix is not a URL, the folder cannot be read or the WARC cannot be written.
/// An unreadable file inside the folder is not an error: the report names it.
pub fn write(folder: &Path, out: &Path, settings: &Settings) -> Result<Report, Error> {
    let prefix = prefix(&settings.url_prefix)?;
    let mut report = Report::default();
    let mut files = folder::files(folder, &mut report.skipped).map_err(|source| Error::Read {
        path: folder.display().to_string(),
        source,
    })?;
    let written = |source| Error::Write {
        path: out.display().to_string(),
        source,
    };
    let plain = out
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("warc"));
    let compression = if plain {
        Compression::Plain
    } else {
        Compression::GZIP
    };
    let mut writer = Writer::create(out, compression).map_err(written)?;
    // The WARC may be in the folder, but must not contain itself.
    let own = std::fs::canonicalize(out).map_err(written)?;
    files.retain(|file| std::fs::canonicalize(&file.path).map_or(true, |path| path != own));
    writer.write(&warcinfo(&files, settings)).map_err(written)?;
    for file in files {
        match response(&file, &prefix, settings) {
            Ok(draft) => {
                writer.write(&draft).map_err(written)?;
                report.files += 1;
            }
            // An unreadable file does not end the pack: the report names it.
            Err(error) => {
                report.skipped.push(Skipped {
                    path: file.path,
                    reason: error.to_string(),
                });
            }
        }
    }
    report.bytes = writer.position();
    writer.finish().map_err(written)?;
    Ok(report)
}

/// Returns the prefix with a trailing slash.
fn prefix(url: &str) -> Result<String, Error> {
    if urlkey::host_of_url(url).is_none() || url.contains(['?', '#']) {
        return Err(Error::Prefix(url.to_owned()));
    }
    Ok(format!("{}/", url.trim_end_matches('/')))
}

fn warcinfo(files: &[folder::File], settings: &Settings) -> Draft {
    // The clock is not used, because the same folder must give the same bytes.
    let newest_ms = files.iter().map(|file| file.changed_ms).max().unwrap_or_default();
    let fields = [
        ("software", concat!("weft/", env!("CARGO_PKG_VERSION"))),
        ("format", "WARC File Format 1.1"),
    ];
    Draft::warcinfo(settings.date_ms.unwrap_or(newest_ms), &fields)
}

fn response(file: &folder::File, prefix: &str, settings: &Settings) -> io::Result<Draft> {
    let bytes = std::fs::read(&file.path)?;
    let (content_type, body) = content::of(&file.path, bytes);
    let mut block = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    block.extend_from_slice(&body);
    let url = format!("{prefix}{}", file.url_path);
    Ok(Draft::response(
        &url,
        settings.date_ms.unwrap_or(file.changed_ms),
        block,
    ))
}
