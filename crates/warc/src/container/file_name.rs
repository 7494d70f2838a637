//! File names and HTTP media types of files with records.

use super::{COMPRESSED, Container, UNSUPPORTED};
use crate::record::Format;

/// Returns the file extension for records of this format, without the dot, for example `warc.gz`.
pub(crate) fn extension(container: Container, format: Format) -> String {
    let records = match format {
        Format::Warc(..) => "warc",
        Format::Arc(_) => "arc",
    };
    match container.row() {
        Some(row) => format!("{records}.{}", row.extension),
        None => records.to_owned(),
    }
}

const WARC_MEDIA_TYPE: &str = "application/warc";
const ARC_MEDIA_TYPE: &str = "application/x-internet-archive";

/// Returns the media type of a file with records of this format.
pub(crate) fn media_type(container: Container, format: Format) -> &'static str {
    match (container.row(), format) {
        (Some(row), _) => row.media_type,
        (None, Format::Warc(..)) => WARC_MEDIA_TYPE,
        (None, Format::Arc(_)) => ARC_MEDIA_TYPE,
    }
}

/// Returns all media types of files with records.
pub fn record_media_types() -> impl Iterator<Item = &'static str> {
    let compressed = COMPRESSED.iter().map(|row| row.media_type);
    [WARC_MEDIA_TYPE]
        .into_iter()
        .chain(compressed)
        .chain([ARC_MEDIA_TYPE])
}

/// Returns the media type of a file with records by its name, one of [`record_media_types`]. Names
/// that say nothing have the type of uncompressed WARC.
pub fn media_type_of_name(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let last = name.trim_end_matches(".open").rsplit('.').next();
    match COMPRESSED.iter().find(|row| last == Some(row.extension)) {
        Some(row) => row.media_type,
        None if last == Some("arc") => ARC_MEDIA_TYPE,
        None => WARC_MEDIA_TYPE,
    }
}

/// Returns whether a file of this name should contain only records: `x.warc.gz`, `x.arc`,
/// `x.warc.wat.gz`, `x.warc.zst.open` and the like, but not `x.warc.gz.md5`. This includes
/// `x.warc.xz`, for which a reader reports the unsupported compression.
pub fn is_record_file_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let is_wrapping = |word: &[u8]| {
        // Crawlers add this extension while they write the file.
        word == b"open"
            || COMPRESSED.iter().any(|row| row.extension.as_bytes() == word)
            || UNSUPPORTED
                .iter()
                .any(|unsupported| unsupported.extension.as_bytes() == word)
    };
    let mut words = name
        .rsplit(|byte| *byte == b'.')
        .skip_while(|word| is_wrapping(word));
    let last = words.next().unwrap_or_default();
    matches!(last, b"warc" | b"arc" | b"wat" | b"wet") && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_record_files() {
        for name in [
            "x.warc",
            "x.warc.gz",
            "x.WARC.GZ",
            "x.arc.gz.open",
            "x.warc.wat.gz",
            "x.warc.zst",
            "x.warc.xz",
            "x.arc.bz2",
        ] {
            assert!(is_record_file_name(name.as_bytes()), "{name}");
        }
        for name in ["warc", "x.warc.gz.md5", "x.warc.cdx.gz", "x.gz", "", "warc.gz"] {
            assert!(!is_record_file_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_have_the_media_types_of_their_containers() {
        for (name, expected) in [
            ("a.warc", "application/warc"),
            ("a.warc.gz", "application/gzip"),
            ("a.warc.gz.open", "application/gzip"),
            ("a.WARC.ZST", "application/zstd"),
            ("a.warc.lz4", "application/x-lz4"),
            ("a.arc", "application/x-internet-archive"),
            ("a.arc.gz", "application/gzip"),
            ("a", "application/warc"),
        ] {
            assert_eq!(media_type_of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn every_container_has_names_of_its_own() {
        let containers = [Container::Plain, Container::Gzip, Container::Zstd, Container::Lz4];
        let names = containers.map(|container| extension(container, Format::Warc(1, 1)));
        assert_eq!(names, ["warc", "warc.gz", "warc.zst", "warc.lz4"]);
        assert!(
            names
                .iter()
                .all(|name| is_record_file_name(format!("x.{name}").as_bytes()))
        );
        assert_eq!(extension(Container::Gzip, Format::Arc(1)), "arc.gz");
        let media = containers.map(|container| media_type(container, Format::Warc(1, 1)));
        assert!(
            media
                .iter()
                .all(|media| record_media_types().any(|known| known == *media))
        );
    }

    #[test]
    fn media_types_are_those_of_records() {
        for name in [
            "a.warc",
            "a.warc.gz",
            "a.warc.gz.open",
            "a.WARC.ZST",
            "a.warc.lz4",
            "a.arc",
            "a.arc.gz",
            "a",
        ] {
            let media = media_type_of_name(name);
            assert!(
                record_media_types().any(|known| known == media),
                "{name}: {media}"
            );
        }
    }
}
