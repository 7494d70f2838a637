//! Packages: ZIP files of XML parts, such as office files and EPUB.

use std::io::{self, Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::bounded::Bounded;
use crate::xml_text::{self, Rules};

/// Maximum size of one unpacked part, in bytes. Parts of real documents are smaller; zip bombs are
/// larger.
const PART_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of bytes unpacked from a package.
const PACKAGE_BYTES_MAX: u64 = 128 << 20;

/// An open package.
pub(crate) struct Package<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Number of bytes that may still be unpacked.
    bytes_left: u64,
}

/// Why a part of a package cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartError {
    #[error("{0}: {1}")]
    Open(String, ZipError),
    #[error("{0}: {1}")]
    Unpack(String, io::Error),
    #[error("{name} unpacks to more than {bytes_max} bytes")]
    Length { name: String, bytes_max: u64 },
}

impl<'a> Package<'a> {
    /// Opens a package.
    ///
    /// # Errors
    /// If it is no ZIP file.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Package<'a>, ZipError> {
        Ok(Package {
            zip: ZipArchive::new(Cursor::new(bytes))?,
            bytes_left: PACKAGE_BYTES_MAX,
        })
    }

    /// Returns the names of parts with this prefix and suffix, in the order of the numbers between
    /// them.
    pub(crate) fn numbered(&self, begin: &str, end: &str) -> Vec<String> {
        let number =
            |name: &str| -> Option<u32> { name.strip_prefix(begin)?.strip_suffix(end)?.parse().ok() };
        let mut names: Vec<(u32, String)> = self
            .zip
            .file_names()
            .filter_map(Result::ok)
            .filter_map(|name| Some((number(&name)?, name.into_owned())))
            .collect();
        names.sort();
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns a part as text; `None` if it is missing.
    ///
    /// # Errors
    /// If it cannot be unpacked or is too long.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<String>, PartError> {
        let most = PART_BYTES_MAX.min(self.bytes_left);
        let part = match self.zip.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(PartError::Open(name.to_owned(), error)),
        };
        let mut bytes = Vec::new();
        part.take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| PartError::Unpack(name.to_owned(), error))?;
        if bytes.len() as u64 > most {
            return Err(PartError::Length {
                name: name.to_owned(),
                bytes_max: most,
            });
        }
        self.bytes_left -= bytes.len() as u64;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the text of an element of a part; empty if it is missing or the part cannot be read.
    pub(crate) fn element(&mut self, part: &str, texts: &'static [&'static str]) -> String {
        let xml = self.part(part).ok().flatten().unwrap_or_default();
        first_text(&xml, texts)
    }
}

/// Returns the text of the first element with one of these names.
pub(crate) fn first_text(xml: &str, texts: &'static [&'static str]) -> String {
    let rules = Rules {
        texts,
        skipped: &[],
        lines: texts,
        blanks: &[],
    };
    let mut text = Bounded::default();
    // The text before the first XML error counts.
    let _ = xml_text::read(xml, rules, &mut text);
    let text = text.into_text();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.unwrap_or_default().to_owned()
}

/// Returns the `dc:title` of a document's metadata.
pub(crate) fn title_of_rdf(xml: &str) -> String {
    first_text(xml, &["title"])
}
