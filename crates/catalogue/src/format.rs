//! File formats by name, and their names in reports.

/// A format recognized by the end of a name or by the first bytes of a file. Reports group by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Format(u8);

/// Name and file extensions (lower case, without the dot) of each format. The position is the
/// number in rows, so new formats go at the end.
const FORMATS: &[(&str, &[&str])] = &[
    ("other", &[]),
    ("warc", &["warc", "warc.gz", "warc.zst", "warc.lz4"]),
    ("arc", &["arc", "arc.gz"]),
    ("wacz", &["wacz"]),
    ("wat", &["wat", "wat.gz", "warc.wat.gz"]),
    ("wet", &["wet", "wet.gz", "warc.wet.gz"]),
    ("cdx", &["cdx", "cdx.gz", "cdxj", "cdxj.gz"]),
    ("html", &["html", "htm", "xhtml"]),
    ("pdf", &["pdf"]),
    ("text", &["txt", "md", "rst", "tex", "log"]),
    (
        "office",
        &[
            "doc", "docx", "odt", "rtf", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "epub",
        ],
    ),
    (
        "image",
        &[
            "jpg", "jpeg", "png", "gif", "webp", "svg", "bmp", "ico", "avif", "heic",
        ],
    ),
    ("scan", &["tif", "tiff", "jp2", "j2k", "dng", "djvu"]),
    (
        "video",
        &[
            "mp4", "mkv", "webm", "avi", "mov", "mpg", "mpeg", "wmv", "m4v", "mxf",
        ],
    ),
    (
        "audio",
        &["mp3", "wav", "flac", "ogg", "m4a", "opus", "aac", "aiff"],
    ),
    (
        "data",
        &[
            "json", "jsonl", "csv", "tsv", "xml", "yaml", "yml", "toml", "sql", "ini",
        ],
    ),
    (
        "table",
        &[
            "parquet", "arrow", "feather", "orc", "avro", "h5", "hdf5", "nc", "npy", "npz",
        ],
    ),
    ("database", &["sqlite", "sqlite3", "db", "mdb", "dump"]),
    (
        "package",
        &[
            "zip", "tar", "tar.gz", "tgz", "tar.zst", "tar.xz", "tar.bz2", "7z", "rar", "deb", "rpm", "jar",
            "whl", "iso",
        ],
    ),
    ("compressed", &["gz", "bz2", "xz", "zst", "lz4", "br"]),
    (
        "program",
        &["so", "a", "o", "exe", "dll", "class", "pyc", "wasm", "rlib", "ko"],
    ),
    (
        "source",
        &[
            "rs", "c", "h", "cc", "cpp", "hpp", "py", "js", "mjs", "ts", "go", "java", "sh", "rb", "pl",
            "pm", "php", "css",
        ],
    ),
    ("partial", &["tmp", "part", "open", "swp", "bak", "crdownload"]),
];

/// Maximum length of an extension.
const END_LENGTH_MAX: usize = 12;

impl Format {
    /// Returns the format by file name.
    pub fn of_name(name: &[u8]) -> Format {
        // The longest extension wins: `.warc.gz` is not `.gz`. A leading dot hides a file and
        // starts no extension.
        let mut format = Format(0);
        let mut lower = [0u8; END_LENGTH_MAX];
        for dot in (1..name.len()).rev().filter(|&at| name[at] == b'.') {
            let end = &name[dot + 1..];
            if end.len() > END_LENGTH_MAX {
                break;
            }
            let lower = &mut lower[..end.len()];
            lower.copy_from_slice(end);
            lower.make_ascii_lowercase();
            if let Some(found) = by_end(lower) {
                format = found;
            }
        }
        format
    }

    /// Returns the format with this extension, in lower case and without the dot.
    pub(crate) fn of_end(end: &str) -> Option<Format> {
        by_end(end.as_bytes())
    }

    /// Returns whether the format from a name says nothing about the content.
    pub(crate) fn says_nothing(self) -> bool {
        matches!(self.name(), "other" | "compressed" | "partial")
    }

    /// Returns its name, one word in lower case; `other` if the format is unknown.
    pub fn name(self) -> &'static str {
        FORMATS[usize::from(self.0)].0
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<Format> {
        let place = FORMATS.iter().position(|row| row.0 == name)?;
        Some(Format(place as u8))
    }

    /// Returns the names of all formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|row| row.0)
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn of_number(number: u8) -> Option<Format> {
        (usize::from(number) < FORMATS.len()).then_some(Format(number))
    }
}

fn by_end(end: &[u8]) -> Option<Format> {
    use std::sync::OnceLock;
    static ENDS: OnceLock<rustc_hash::FxHashMap<&'static [u8], u8>> = OnceLock::new();
    let ends = ENDS.get_or_init(|| {
        let rows = FORMATS.iter().enumerate();
        rows.flat_map(|(place, (_, ends))| ends.iter().map(move |end| (end.as_bytes(), place as u8)))
            .collect()
    });
    ends.get(end).map(|&number| Format(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("CC-MAIN-2026.warc.gz", "warc"),
            ("A.WARC", "warc"),
            ("a.warc.wat.gz", "wat"),
            ("a.gz", "compressed"),
            ("a.tar.gz", "package"),
            (".gz", "other"),
            ("gz", "other"),
            ("", "other"),
            ("a.", "other"),
            ("a.b.c.d.pdf", "pdf"),
            ("index.of-a-very-long-end", "other"),
        ] {
            assert_eq!(Format::of_name(name.as_bytes()).name(), format, "{name}");
        }
    }

    #[test]
    fn no_end_stands_for_two_formats_and_each_fits() {
        let mut seen = std::collections::BTreeSet::new();
        for (name, ends) in FORMATS {
            assert_eq!(Format::named(name).unwrap().name(), *name);
            for end in *ends {
                assert!(seen.insert(end), "{end}");
                assert!(end.len() <= END_LENGTH_MAX, "{end}");
            }
        }
    }
}
