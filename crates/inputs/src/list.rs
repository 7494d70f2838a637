//! Reads path lists: one path or address on each line, as Common Crawl publishes them. `#` begins a
//! comment line.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use warc::Decompressed;

use super::file::{is_inherited, open_stream};
use super::path::{is_address, split};
use crate::byte_order_mark::without_bom;

/// Limit of the size of a list in bytes, decompressed. This is about a million paths.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Address(String),
    /// Paths are bytes.
    Path(PathBuf),
}

/// Returns whether a file is a path list by its name.
pub(super) fn is_path_list(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.ends_with(b".paths") || name.ends_with(b".paths.gz")
}

/// Returns the lines of a list that this process inherited open, such as `@/dev/stdin`. No other
/// process can read it. Returns `None` for every other argument.
pub fn read_inherited_list(argument: &OsStr) -> Option<io::Result<Vec<OsString>>> {
    let path = Path::new(OsStr::from_bytes(argument.as_bytes().strip_prefix(b"@")?));
    let line = |entry: Entry| match entry {
        Entry::Address(address) => OsString::from(address),
        Entry::Path(path) => path.into_os_string(),
    };
    let lines = |entries: Vec<Entry>| entries.into_iter().map(line).collect();
    is_inherited(path).then(|| open_stream(path).and_then(read).map(lines))
}

/// Reads the entries of a list. Its content shows whether it is compressed.
pub(super) fn read(list: impl Read) -> io::Result<Vec<Entry>> {
    let mut bytes = Vec::new();
    let content = Decompressed::new(list);
    content.take(LIST_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    check(&bytes)?;
    let lines = without_bom(&bytes)
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii);
    Ok(lines
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .map(entry)
        .collect())
}

/// Refuses a file that is not a list, because each of its lines would become an input that fails.
fn check(bytes: &[u8]) -> io::Result<()> {
    let wrong = |kind, text: String| Err(io::Error::new(kind, text));
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    if bytes.len() as u64 > LIST_BYTES_MAX {
        wrong(
            ErrorKind::FileTooLarge,
            format!("longer than {LIST_BYTES_MAX} bytes"),
        )
    } else if warc::is_record_start(bytes) {
        wrong(ErrorKind::InvalidData, "it holds records, not paths".into())
    } else if bytes.iter().any(is_control) {
        wrong(ErrorKind::InvalidData, "it holds control characters".into())
    } else {
        Ok(())
    }
}

fn entry(line: &[u8]) -> Entry {
    match std::str::from_utf8(line) {
        Ok(text) if is_address(text) => Entry::Address(text.to_owned()),
        _ => Entry::Path(OsString::from_vec(line.to_vec()).into()),
    }
}

/// Resolves a path in the list at `list`. It is relative to the list's folder. If it begins with a
/// slash or repeats the folder, as in the lists of Common Crawl, it is relative to the root of the
/// host or bucket.
pub(super) fn resolve(list: &str, entry: &str) -> String {
    let (root, path) = split(list);
    let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
    match entry.strip_prefix('/') {
        Some(entry) => format!("{root}/{entry}"),
        None if !folder.is_empty() && entry.starts_with(folder) => format!("{root}/{entry}"),
        None => format!("{root}/{folder}{entry}"),
    }
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn entries_of_lists() {
        let list = "https://data.example.org/crawl-data/CC-1/warc.paths.gz";
        let pairs = [
            ("x.warc.gz", "https://data.example.org/crawl-data/CC-1/x.warc.gz"),
            (
                "crawl-data/CC-1/s/x.warc.gz",
                "https://data.example.org/crawl-data/CC-1/s/x.warc.gz",
            ),
            ("/other/x.warc.gz", "https://data.example.org/other/x.warc.gz"),
        ];
        for (entry, expected) in pairs {
            assert_eq!(resolve(list, entry), expected);
        }
        assert_eq!(resolve("s3://b/l.paths", "x"), "s3://b/x");
    }
}
