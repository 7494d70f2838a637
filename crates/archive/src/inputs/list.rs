//! Path lists: one path or address a line, as Common Crawl publishes them; `#` begins a comment line.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// Longest list, decompressed: about a million paths.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// Whether a file is a path list by its name.
pub(super) fn is_path_list(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".paths") || name.ends_with(".paths.gz")
}

/// The paths in a list, gzip or plain by content.
pub(super) fn read(list: impl Read) -> io::Result<Vec<String>> {
    let mut file = BufReader::new(list);
    let gzip = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let content: Box<dyn Read + '_> = if gzip {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut text = String::new();
    content.take(LIST_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LIST_BYTES_MAX {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("longer than {LIST_BYTES_MAX} bytes"),
        ));
    }
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
