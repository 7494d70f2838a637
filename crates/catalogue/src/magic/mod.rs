//! Formats by the first bytes of a file.
//!
//! Invariants:
//!  - Input may be arbitrary bytes, truncated anywhere: nothing panics, and at most
//!    [`INFLATED_BYTES`] bytes are decompressed.
//!  - A vague signature yields to the file name. The name wins if it says what a container or an
//!    unreadable compressed file holds, or which of several formats with the same signature the
//!    file has.

mod archive;
mod unpack;

use crate::format::Format;

/// Maximum number of bytes read from a file.
pub(crate) const HEAD_BYTES: usize = 4096;

/// Maximum number of bytes that a compressed head is inflated to.
const INFLATED_BYTES: usize = 1024;

/// The format found in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detected {
    format: Format,
    /// Whether it is compressed in a format that is not decompressed here.
    is_opaque: bool,
}

/// Returns the format found in the first bytes of a file, if any.
pub(crate) fn detect(head: &[u8]) -> Option<Detected> {
    let open = |format| {
        Some(Detected {
            format,
            is_opaque: false,
        })
    };
    if let Some(format) = archive::of_text(head) {
        return open(format);
    }
    if archive::is_wacz(head) {
        return open(named("wacz"));
    }
    if unpack::is_web_archive(head) {
        return open(named("warc"));
    }
    if let Some(inside) = unpack::inside(head) {
        let compressed = named("compressed");
        let is_tar = || general(&inside).filter(|format| *format == named("package"));
        return open(archive::of_text(&inside).or_else(is_tar).unwrap_or(compressed));
    }
    general(head).map(|format| Detected {
        format,
        is_opaque: format == named("compressed"),
    })
}

/// Decides the format of a file from its name and its first bytes.
pub(crate) fn choose_format(by_name: Format, detected: Option<Detected>) -> Format {
    match detected {
        Some(detected) if by_name.says_nothing() || !name_wins(by_name, detected) => detected.format,
        _ => by_name,
    }
}

/// Returns whether the format by name wins over a different signature.
fn name_wins(by_name: Format, detected: Detected) -> bool {
    let name = by_name.name();
    match detected.format.name() {
        // WAT and WET files consist of WARC records.
        "warc" => matches!(name, "wat" | "wet"),
        "compressed" => detected.is_opaque,
        // Office documents, tables and programs for virtual machines are zip files.
        "package" => matches!(name, "office" | "wacz" | "table" | "program" | "database"),
        "html" => matches!(name, "text" | "source" | "data" | "office"),
        "data" => matches!(
            name,
            "text" | "source" | "html" | "image" | "office" | "database" | "cdx"
        ),
        "source" => matches!(name, "text" | "data" | "program" | "html"),
        // Containers shared by both.
        "audio" | "video" => matches!(name, "audio" | "video"),
        "image" | "scan" => matches!(name, "image" | "scan"),
        "cdx" => matches!(name, "text" | "data"),
        _ => false,
    }
}

/// Returns the format with this name. A test checks all names used in this module.
fn named(name: &'static str) -> Format {
    Format::named(name).unwrap_or_default()
}

/// Recognizes formats other than web archives.
fn general(head: &[u8]) -> Option<Format> {
    use infer::MatcherType;
    let kind = infer::get(head)?;
    let matcher = kind.matcher_type();
    // Some signatures have only two bytes, and any text may start with them.
    if matches!(
        matcher,
        MatcherType::App | MatcherType::Image | MatcherType::Audio
    ) && is_text(head)
    {
        return None;
    }
    if let Some(format) = Format::of_end(kind.extension()) {
        return Some(format);
    }
    Some(named(match (matcher, kind.extension()) {
        (_, "bz3" | "lz") => "compressed",
        (_, "elf" | "mach" | "dex" | "dey" | "bc" | "obj") => "program",
        (_, "par2" | "crx" | "cab" | "ar" | "msi" | "cpio") => "package",
        (MatcherType::Image, _) => "image",
        (MatcherType::Video, _) => "video",
        (MatcherType::Audio, _) => "audio",
        (MatcherType::Book | MatcherType::Doc, _) => "office",
        _ => return None,
    }))
}

/// Returns whether the bytes start like text: no control characters except white space.
fn is_text(head: &[u8]) -> bool {
    let is_of_text = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    head.iter().take(64).all(is_of_text) && std::str::from_utf8(head.get(..32).unwrap_or(head)).is_ok()
}

#[cfg(test)]
mod tests;
